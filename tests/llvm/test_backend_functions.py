"""Compiled functions give what `evaluate` gives, for every kind of node, on variables and on parameters."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.algebra.expression import Expr
from armillary.algebra.functions import let
from armillary.algebra.walk import Undimensioned
from armillary.stages.model import Model

pytestmark = pytest.mark.optimised

# Values of x and y: signs, zero, equal ones, near and far.
POINTS = [
    (0.3, 0.7),
    (-0.3, 0.7),
    (0.9, -0.2),
    (-0.5, -0.5),
    (0.25, 0.25),
    (0.0, 0.4),
    (0.6, 0.0),
    (0.999, 1e-8),
    (1e-12, 0.1),
]
WIDE_POINTS = [*POINTS, (3.7, -2.2), (-40.0, 17.5), (1e6, -3e5), (2.5, 1e9)]
POSITIVE = [(abs(x) + 0.01, y) for x, y in WIDE_POINTS]


@cache
def _table(kind: str, outside: str) -> Any:
    return arm.Table([-1, 0, 0.5, 2], [1, 0, 0.25, 4], kind=kind, outside=outside, name="one")


@cache
def _surface(kind: str, outside: str) -> Any:
    values = np.array([[1.0, 3.0, 2.0, 2.5], [0.0, -1.0, 4.0, 3.0], [2.0, 2.0, 1.0, -3.0]])
    return arm.Table2([-1, 0, 2], [-1, 0.5, 1, 3], values, kind=kind, outside=outside, name="two")


def tables() -> dict[str, Callable[[Expr, Expr], Expr]]:
    """Tables of one and two arguments of every kind, and their derivatives to the second."""
    found: dict[str, Callable[[Expr, Expr], Expr]] = {}

    def add(label: str, table: Callable[[], Any]) -> None:
        found[label] = lambda x, y: table()(*(x, y)[: table().arity])

    for kind in ("linear", "smooth"):
        for outside in ("clamp", "extend"):
            label = f"{kind} {outside}"
            one, two = partial(_table, kind, outside), partial(_surface, kind, outside)
            add(f"table {label}", one)
            add(f"table {label} ′", lambda one=one: one().derivative())
            add(f"table {label} ″", lambda one=one: one().derivative().derivative())
            add(f"surface {label}", two)
            add(f"surface {label} ∂x", lambda two=two: two().derivative(0))
            add(f"surface {label} ∂y", lambda two=two: two().derivative(1))
            add(f"surface {label} ∂x∂y", lambda two=two: two().derivative(0).derivative(1))
    return found


@ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_double)
def hypotenuse(x: float, y: float) -> float:
    return math.hypot(x, y)


FOREIGN = arm.ForeignFunction("hypotenuse", hypotenuse, 2)

# Name, function of x and y, points at which it has a value.
UNIT_RANGE: dict[str, Callable[[Expr, Expr], Any]] = {
    "asin": lambda x, y: arm.asin(x),
    "acos": lambda x, y: arm.acos(x),
}
ANYWHERE: dict[str, Callable[[Expr, Expr], Any]] = {
    "sin": lambda x, y: arm.sin(x),
    "cos": lambda x, y: arm.cos(x),
    "sin of a product": lambda x, y: arm.sin(2 * x * y),
    "tan": lambda x, y: arm.tan(x),
    "atan": lambda x, y: arm.atan(x),
    "atan2": lambda x, y: arm.atan2(x, y),
    "exp": lambda x, y: arm.exp(-arm.abs(x)),
    "abs": lambda x, y: arm.abs(x),
    "tanh": lambda x, y: arm.tanh(x),
    "floor": lambda x, y: arm.floor(x),
    "ceil": lambda x, y: arm.ceil(x + y),
    "mod": lambda x, y: arm.mod(x, 0.3),
    "mod by a negative": lambda x, y: arm.mod(x, -1.7),
    "hypot": lambda x, y: arm.hypot(x, y),
    "sign": lambda x, y: arm.sign(x),
    "min": lambda x, y: arm.min(x, y),
    "max": lambda x, y: arm.max(x, y),
    "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y,
    "gt": lambda x, y: x > y,
    "ge": lambda x, y: x >= y,
    "eq": lambda x, y: arm.equal(x, y),
    "ne": lambda x, y: arm.not_equal(x, y),
    "and": lambda x, y: arm.and_(x, y),
    "or": lambda x, y: arm.or_(x, y),
    "not": lambda x, y: arm.not_(x),
    "select": lambda x, y: arm.select(x < y, x - 1, 3 * y),
    "select by value": lambda x, y: arm.select(x, 2.0, y),
    "sum": lambda x, y: x - 2 * y + 0.5,
    "negative sum": lambda x, y: -x - y - 3,
    "product": lambda x, y: -2.5 * x * y,
    "x^2": lambda x, y: x**2,
    "x^3": lambda x, y: x**3,
    "x^4": lambda x, y: x**4,
    "x^9": lambda x, y: x**9,
    "let": lambda x, y: let(x * y + 1, "z") ** 2 + y,
    "foreign": lambda x, y: FOREIGN(x, 2 * y),
}
POSITIVE_X: dict[str, Callable[[Expr, Expr], Any]] = {
    "sqrt": lambda x, y: arm.sqrt(x),
    "log": lambda x, y: arm.log(x),
    "pow": lambda x, y: x ** arm.sin(y),
    "1/x": lambda x, y: 1 / x,
    "x^-2": lambda x, y: x**-2,
    "x^-3": lambda x, y: -(x**-3),
    "y/x": lambda x, y: y / x,
    "2/(x sqrt x)": lambda x, y: 2 * x**-1.5,
    "x^-1/2": lambda x, y: x**-0.5,
    "x^3/2": lambda x, y: x**1.5,
    "x^5/2": lambda x, y: y * x**2.5,
    "x^0.3": lambda x, y: x**0.3,
    "x^-2.2": lambda x, y: y * x**-2.2,
}
CASES = [
    *((name, make, [p for p in POINTS if abs(p[0]) <= 1]) for name, make in UNIT_RANGE.items()),
    *((name, make, WIDE_POINTS) for name, make in ANYWHERE.items()),
    *((name, make, POSITIVE) for name, make in POSITIVE_X.items()),
    *(
        (name, make, [*POINTS, (-3.0, 5.0), (5.0, -4.0), (2.0, 3.0), (-1.0, -1.0)])
        for name, make in tables().items()
    ),
]


@cache
def model() -> Model:
    """A slider whose outputs are all functions, once of its coordinate and speed, once of two parameters."""
    s = arm.System("functions")
    s.body("A", joint=arm.Prismatic("x"), mass=1)
    x, y = s.parameter("x"), s.parameter("y")
    q, u = (Undimensioned()(node) for node in (s.coordinates[0], s.speeds[0]))  # any function may take them
    for name, make, _ in CASES:
        s.output(f"{name} of state", make(q, u))
        s.output(f"{name} of parameters", make(x, y))
        s.output(f"{name} mixed", make(q, y))
    return s.derive().compile()


@pytest.mark.parametrize(("name", "make", "points"), CASES, ids=[name for name, _, _ in CASES])
def test_compiled_functions_equal_their_evaluation(
    name: str, make: Any, points: list[tuple[float, float]]
) -> None:
    """To 4 units in the last place: library functions and fused operations round differently."""
    columns = {c.name: c.expression for c in core_of(model().equations).targets.columns}
    for x, y in points:
        values = {"A.q1": x, "A.u1": y, "x": x, "y": y}
        found = model().outputs(0.0, [x, y], {"x": x, "y": y})
        with np.errstate(all="ignore"):
            expected = float(arm.evaluate(columns[f"{name} of state"], values))
        room = 4 * np.spacing(max(abs(expected), 1e-300))
        if name.startswith(("sum", "negative", "let", "table", "surface")):
            room = max(room, 1e-15 * max(1.0, abs(x), abs(y)) ** 6)  # terms may cancel
        for kind in ("of state", "of parameters", "mixed"):
            assert abs(found[f"{name} {kind}"] - expected) <= room, (name, kind, x, y)


NAN_GOES_THROUGH = (
    *("sin", "cos", "tan", "atan", "abs", "sign", "min", "max", "sum", "product", "x^3", "sqrt", "foreign"),
    *(name for name in tables() if not name.endswith("∂y")),
)


@pytest.mark.parametrize("name", NAN_GOES_THROUGH)
def test_nan_goes_through_as_in_evaluation(name: str) -> None:
    """A minimum that hides a NaN would hide a run that has diverged."""
    found = model().outputs(0.0, [math.nan, 0.5], {"x": 1.0, "y": 1.0})
    assert math.isnan(found[f"{name} of state"])
    expression = {c.name: c.expression for c in core_of(model().equations).targets.columns}[
        f"{name} of state"
    ]
    assert np.isnan(arm.evaluate(expression, {"A.q1": math.nan, "A.u1": 0.5}))


@pytest.mark.parametrize(
    "name", ["min", "max", "atan2", "product", *(n for n in tables() if n.startswith("surface"))]
)
def test_nan_as_the_second_argument_goes_through(name: str) -> None:
    assert math.isnan(model().outputs(0.0, [0.5, math.nan], {"x": 1.0, "y": 1.0})[f"{name} of state"])


def test_comparisons_with_nan_are_false_except_unequal() -> None:
    found = model().outputs(0.0, [math.nan, 0.5], {"x": 1.0, "y": 1.0})
    assert [found[f"{name} of state"] for name in ("lt", "le", "gt", "ge", "eq", "ne")] == [0, 0, 0, 0, 0, 1]


def test_equal_tables_are_compiled_once() -> None:
    from armillary.llvm.sections import llvm_text

    s = arm.System("tables")
    body = s.body("A", joint=arm.Revolute("z"), mass=1, inertia=(1, 1, 1))
    for i in range(3):
        table = arm.Table([0, 1, 2], [0, 1, 4], name="spring")
        s.output(f"o{i}", table(body.q1 * (i + 1)))
    text = llvm_text(s.derive().program)
    assert text.count("define internal double @table_") == 1
    assert text.count("call double @table_") == 3


def test_foreign_functions_are_called_by_address_and_kept_alive() -> None:
    calls: list[float] = []

    def make() -> arm.ForeignFunction:
        @ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)
        def twice(x: float) -> float:
            calls.append(x)
            return 2 * x

        return arm.ForeignFunction("twice", twice, 1)

    s = arm.System("foreign")
    body = s.body("A", joint=arm.Revolute("z"), mass=1, inertia=(1, 1, 1))
    s.function("twice", make())
    s.moment("tau", "-twice(A.q1)", "ground.z", on=body)
    compiled = s.derive().compile()
    assert compiled.accelerations(0.0, [0.3], [0.0]) == pytest.approx([-0.6], rel=1e-15)
    assert calls == [0.3]
