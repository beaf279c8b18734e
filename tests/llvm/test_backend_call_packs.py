"""Elementary functions that are computed together: which ones, and their numbers against NumPy's."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.llvm import sections
from armillary.llvm.jit import Compiled
from armillary.llvm.sines import SHORT_ANGLES
from armillary.llvm.vector_math import bounded_sine, function
from armillary.program.packs import largest_size, pack_calls
from armillary.runtime.models.compilation import compile_equations
from armillary.runtime.models.compiled import CompiledModel
from tests.llvm.vector_runner import Runner

NAMES = ("x", "y", "z", "w")


def curves(s: arm.System) -> dict[str, arm.Expr]:
    """Rates of four states: chains of functions of different lengths, choices, tables, time and an input."""
    x, y, z, w = (s.state(name, initial=0.3) for name in NAMES)
    steer, t = s.input("steer"), s.expression("t")
    table = arm.Table([-2, -1, 0, 1, 3], [1.0, 0.2, 0.5, -0.3, 2.0], kind="smooth", name="curve")
    bent = [
        arm.sin(1.6 * arm.atan(4 * a - 0.7 * (4 * a - arm.atan(4 * a)))) for a in (x, y - 0.2, z * w, x + z)
    ]
    weight = arm.cos(1.1 * arm.atan(3 * x * y)) / arm.cos(1.1 * arm.atan(0.1 * w))
    size = arm.select(bent[0] >= bent[1], bent[0], -z) + arm.sign(y - 0.25) * arm.max(w, 0)
    slow = arm.exp(-x * x) * arm.log(1.5 + y * y) + arm.tanh(z) * arm.asin(w / 3) + arm.tan(arm.atan(x) / 2)
    return {
        "x": bent[0] * weight + size + steer,
        "y": bent[1] * arm.atan(bent[3] * slow) + arm.sin(x) * arm.cos(z),
        "z": slow * arm.sin(2e9 * x) + arm.cos(40 * arm.atan(w)) + arm.exp(arm.min(bent[2], 0.4)),
        "w": bent[2] - table(x * y) + arm.sin(3 * t) * arm.abs(z) + arm.tan(arm.min(arm.max(y, -1.5), 1.5)),
    }


@cache
def described() -> tuple[object, dict[str, arm.Expr]]:
    s = arm.System("curves")
    s.body("b", joint=arm.Prismatic("x"), mass=1, inertia=0)
    rates = curves(s)
    for name, rate in rates.items():
        s.rate(name, rate)
    return s.derive(), rates


def test_packed_calls_do_not_wait_for_each_other() -> None:
    equations, _ = described()
    section = equations.program.derivatives
    for width in (2, 4):
        found = pack_calls(section, width)
        assert {len(pack.lanes) for pack in found.packs} <= {2, width}
        assert sum(len(pack.lanes) for pack in found.packs) >= 20
        assert sorted(map(id, found.nodes)) == sorted(map(id, section.nodes))
        before: set[object] = set()
        together = {node: pack for pack in found.packs for node in pack.lanes}
        for node in found.nodes:
            lanes = together[node].lanes if node in together else (node,)
            assert not any(a in lanes for n in lanes for a in n.args)
            assert all(a in before for n in lanes for a in n.args if a in set(found.nodes))
            before.add(node)
            if node in together and node is lanes[0]:
                before.update(lanes)
    assert pack_calls(section, 1) is section


@pytest.mark.parametrize("lanes", [1, 2, 4])
def test_functions_have_the_numbers_of_numpy_however_many_are_together(lanes: int) -> None:
    """Angles of 1e9 too; the sum of ten terms near 1 is right to 1e-13."""
    equations, rates = described()
    text = sections.llvm_text(equations.program, 0, call_lanes=lanes)
    _compare(CompiledModel(core_of(equations), Compiled(text), 0.0, compile_equations), rates)


def test_code_for_this_processor_has_the_numbers_of_numpy() -> None:
    """On arm64 a piece of tables, time and input, and one of all else, which is written here."""
    equations, rates = described()
    _compare(equations.compile(), rates)


def _compare(model: object, rates: dict[str, arm.Expr]) -> None:
    random = np.random.default_rng(3)
    for _ in range(20):
        values = dict(zip(NAMES, random.uniform(-1.2, 1.2, 4), strict=True))
        found = model.derivatives(0.7, np.array([0.0, 0.0, *values.values()]), memory={"steer": 0.4})[2:]
        at = {**values, "steer": 0.4, "t": 0.7}
        expected = [float(arm.evaluate(rates[name], at)) for name in NAMES]
        assert np.allclose(found, expected, rtol=1e-13, atol=1e-13)


def test_two_runs_at_once_have_the_bits_of_each() -> None:
    """A batch of five runs, of two of them, and of all in another order."""
    equations, _ = described()
    model = equations.compile()
    starts = np.linspace(-0.4, 0.6, 5)

    def batch(order: list[int]) -> np.ndarray:
        found = model.simulate_batch(
            0.05, step=1e-2, initial={"x": starts[order], "w": starts[order][::-1] * 0 + starts[order]},
            memory={"steer": 0.1}, outputs=list(NAMES), progress=False, threads=1,
        )  # fmt: skip
        return np.array([np.asarray(found[name]) for name in NAMES])

    whole = batch([0, 1, 2, 3, 4])
    assert np.all(np.isfinite(whole)) and np.ptp(whole[:, :, -1], axis=1).min() > 1e-3
    for order in ([0], [3, 1], [4, 3, 2, 1, 0]):
        np.testing.assert_array_equal(batch(order), whole[:, order])
    single = model.simulate(0.05, step=1e-2, initial={"x": starts[1], "w": starts[1]}, memory={"steer": 0.1})
    assert np.allclose([single[name][-1] for name in NAMES], whole[:, 1, -1], rtol=1e-12, atol=1e-12)


def test_bounds_of_values_follow_from_their_form() -> None:
    s = arm.System("bounds")
    x, y = s.state("x"), s.state("y")
    for value, bound in (
        (3 * arm.atan(x) - 1, 1.5 * np.pi + 1), (arm.sin(x) * arm.tanh(y) * 2, 2), (x, np.inf),
        (arm.min(arm.max(x, -3), 2), 3), (arm.select(x > y, arm.acos(x), 4), 4), (arm.atan(x) * y, np.inf),
        (arm.atan2(x, y) + arm.asin(x) ** 2, np.pi + np.pi**2 / 4), (1 / arm.atan(x), np.inf),
    ):  # fmt: skip
        assert np.isclose(largest_size(value), bound) or largest_size(value) == bound


@pytest.mark.parametrize("exact", ["sin", "cos"])
def test_sines_by_half_turns_are_right_to_the_last_place(exact: str) -> None:
    """Against 50 digits, beside their zeros too; 2.2 of the last place and 1e-31 are claimed."""
    mpmath = pytest.importorskip("mpmath")
    random = np.random.default_rng(5)
    zeros = np.arange(-30, 31) * np.pi / 2
    angles = np.concatenate([random.uniform(-8, 8, 400), zeros, random.uniform(-50, 50, 101)])
    found = Runner(*function(f"near_{exact}", 2), 2, 1)(angles)
    with mpmath.workdps(50):
        for x, y in zip(angles, found, strict=True):
            true = getattr(mpmath, exact)(mpmath.mpf(float(x)))
            place = mpmath.mpf(float(np.spacing(abs(float(true)))))
            assert abs(mpmath.mpf(float(y)) - true) <= 2.2 * place + mpmath.mpf(1e-31)


@pytest.mark.parametrize("exact", ["sin", "cos"])
def test_sines_of_short_angles_are_right_to_some_roundings(exact: str) -> None:
    """Against 50 digits; 1.5e-15 is claimed, 2.2e-16 being the rounding of 1."""
    mpmath = pytest.importorskip("mpmath")
    angles = np.concatenate([np.linspace(-SHORT_ANGLES, SHORT_ANGLES, 801), [0.0, 1e-300, np.pi, np.pi / 2]])
    found = Runner(*function(f"short_{exact}", 2), 2, 1)(angles)
    with mpmath.workdps(50):
        for x, y in zip(angles, found, strict=True):
            true = getattr(mpmath, exact)(mpmath.mpf(float(x)))
            assert abs(mpmath.mpf(float(y)) - true) <= 1.5e-15 * min(1, abs(x) if exact == "sin" else 1)


def test_sines_are_chosen_by_the_bounds_of_their_angles() -> None:
    """C atan x is at most C π/2."""
    x = arm.System("bounds").state("x")
    for factor, wanted in ((2.2, "short_sin"), (2.3, "near_sin"), (31, "near_sin"), (32, "")):
        assert bounded_sine("sin", largest_size(factor * arm.atan(x))) == wanted
    assert bounded_sine("tan", 1.0) == bounded_sine("cos", np.inf) == ""
