"""Mass and inertia as users give them, checked against what a body can have."""

from __future__ import annotations

import math
from collections.abc import Callable

from armillary.algebra.arguments import item_count
from armillary.algebra.expression import ZERO, Expr, number
from armillary.algebra.node import plain_float
from armillary.algebra.triples import SIX, ExprMatrix
from armillary.algebra.units import INERTIA, MASS, parse_unit
from armillary.errors import ModelError
from armillary.untyped import Given

Reader = Callable[[Given, Given], Expr]
Maker = Callable[[str, Given, str], Expr]


def read_mass(value: object, body: str, read: Reader, make: Maker) -> Expr:
    """The mass; a parameter named after the body where it is left out."""
    if value is None:
        return make(f"{body}.mass", MASS, f"mass of {body}")
    mass = read(value, MASS)
    known = _number(mass)
    if known is not None and known < 0:
        raise ModelError(f"body '{body}': its mass {known:g} is negative; a mass is zero or more")
    return mass


def read_inertia(value: Given, body: str, read: Reader, make: Maker, *, check: bool) -> ExprMatrix:
    """The inertia about the mass centre in body axes: 0, three moments, six elements or a 3×3."""
    if value is None:
        moments = [
            make(f"{body}.I{i}{i}", INERTIA, f"moment of inertia of {body} about its own {a}")
            for i, a in _AXES
        ]
        return _symmetric([*moments, ZERO, ZERO, ZERO])
    if _is_scalar(value):
        if isinstance(value, int | float) and value == 0:
            return _symmetric([ZERO] * 6)
        raise ModelError(
            f"body '{body}': inertia={value!r} is not an inertia; give 0, three moments, six elements "
            "(11, 22, 33, 12, 13, 23) or a 3×3"
        )
    entries = list(value)
    if len(entries) == 3 and not any(_is_scalar(e) for e in entries):
        matrix = [[read(e, INERTIA) for e in row] for row in entries]
        if any(len(row) != 3 for row in matrix):
            raise ModelError(
                f"body '{body}': an inertia matrix is 3×3; its rows have {[len(r) for r in matrix]} elements"
            )
        _check_symmetric(matrix, body)
        six = [matrix[i][j] for i, j in SIX]
    elif len(entries) in (3, 6):
        six = [read(e, INERTIA) for e in entries] + [ZERO] * (6 - len(entries))
    else:
        raise ModelError(
            f"body '{body}': an inertia has three moments, six elements (11, 22, 33, 12, 13, 23) or is 3×3; "
            f"this one has {len(entries)} elements"
        )
    if check:
        _check_possible(six, body)
    return _symmetric(six)


_AXES = ((1, "x"), (2, "y"), (3, "z"))


def _is_scalar(value: object) -> bool:
    return item_count(value) < 0


def _symmetric(six: list[Expr]) -> ExprMatrix:
    i11, i22, i33, i12, i13, i23 = six
    return ((i11, i12, i13), (i12, i22, i23), (i13, i23, i33))


def _check_symmetric(matrix: list[list[Expr]], body: str) -> None:
    """Elements are equal; numbers may differ by rounding, as those of a tensor that was turned do."""
    rounding = 1e-12 * max([abs(e.data) for row in matrix for e in row if e.kind == "number"], default=0)
    for i in range(3):
        for j in range(i):
            a, b = matrix[i][j], matrix[j][i]
            if a.kind == b.kind == "number" and abs(a.data - b.data) <= rounding:
                continue
            if a is not b:
                raise ModelError(
                    f"body '{body}': its inertia matrix is not symmetric: "
                    f"element {j + 1}{i + 1} is {matrix[j][i]}, element {i + 1}{j + 1} is {matrix[i][j]}"
                )


def _check_possible(six: list[Expr], body: str) -> None:
    """Principal moments of a real body are not negative and satisfy the triangle inequality."""
    known = [_number(e) for e in six]
    if any(v is None for v in known):
        return
    i11, i22, i33, i12, i13, i23 = (float(v) for v in known if v is not None)
    moments = sorted(_eigenvalues(i11, i22, i33, i12, i13, i23))
    slack = 1e-9 * max(moments[-1], 0.0)
    if moments[0] < -slack or moments[0] + moments[1] < moments[2] - slack:
        shown = ", ".join(f"{m:.6g}" for m in moments)
        raise ModelError(
            f"body '{body}': no body has the principal moments of inertia {shown}: each must be at most the "
            "sum of the other two and none negative; correct it, or pass check_inertia=False to allow it"
        )


def _eigenvalues(a: float, b: float, c: float, d: float, e: float, f: float) -> list[float]:
    import numpy as np

    return [float(v) for v in np.linalg.eigvalsh([[a, d, e], [d, b, f], [e, f, c]])]


def _number(value: Expr) -> float | None:
    if value.kind == "number":
        return float(value.data)
    if value.kind == "symbol" and value.data.default is not None:
        found: float | None = value.data.default * (
            parse_unit(value.data.units).scale if value.data.units else 1.0
        )
        return found
    return None


def finite_number(value: object, what: str) -> float:
    """A plain number; an error for NaN and infinity, which no quantity can be, and for anything else."""
    found = plain_float(value)
    if found is None:
        raise ModelError(f"{what} is {value!r}; give a number")
    if not math.isfinite(found):
        raise ModelError(f"{what} is {found}; give a finite number")
    return found


def dimensioned(value: float, dimension: Given) -> Expr:
    """A number of the model's data with its dimension; zero stays plain zero, so that it vanishes."""
    return number(value, dimension) if value else ZERO
