"""Newton's method for operating points: c(x) = 0, with as many conditions as unknowns or more.

Starts may be rough. The method is numerics/roots.py with the functions of search.py, compiled once for all
systems; this file prepares the arrays. Steps have no component along directions without effect, so that
unknowns which the conditions do not determine keep their start values. Steps are projected onto the bounds:
an unknown that would leave its bounds is held at the bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from armillary.analysis.operating.conditions import ConditionValues
from armillary.llvm.building.routines import real_array, whole_array
from armillary.llvm.jit import machine_settings
from armillary.solver.language.translator import ROOTS, ROOTS_RECORD, Description
from armillary.solver.llvm.described_method import DescribedMethod, MethodWork

MET = 1e-9  # a condition is met if its residual over its size is at most this
ROUNDING = 1e-15  # iteration stops if all residuals over their sizes are at most this
NO_EFFECT = 1e-11  # directions whose pivot is below this share of the largest have no effect
OPEN = 1e-9  # directions whose pivot is below this share are not determined by the conditions
NEWTON, REST = 80.0, 200.0  # most steps of `newton` and of `rest`
EPSILON = 2.0**-52
_HERE = "armillary.analysis.operating"
_DESCRIPTION = Description((ROOTS_RECORD, f"{_HERE}:search.py"), (*ROOTS, f"{_HERE}:search.py"))
_TABLES = (
    *("ROW_LIST", "UNKNOWN_LIST", "IS_ANGLE", "MOVED_LIST", "CLOSED_LIST", "FLAT"),
    *("DIRECTION_COLUMN", "DIRECTION_END", "ENTRY_ROW", "ENTRY_END"),
)


@dataclass(frozen=True, eq=False)
class RootProblem:
    """Conditions with wanted values, unknowns with sizes and bounds; other elements of x are fixed."""

    values: ConditionValues
    x: np.ndarray  # state and inputs
    rows: np.ndarray
    unknown: np.ndarray
    wanted: np.ndarray  # values of the rows
    sizes: np.ndarray  # of the unknowns
    weights: np.ndarray  # one over the sizes of the rows
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    angles: np.ndarray | None = None  # true for unknowns that are angles


@dataclass(frozen=True, eq=False)
class Root:
    """The end of Newton's method: x, whether the conditions are met, and their residuals."""

    of: RootProblem
    x: np.ndarray  # state and inputs
    unknowns: np.ndarray
    residual: np.ndarray
    relative: np.ndarray  # residuals over the sizes of their conditions
    steps: int
    held: np.ndarray  # unknowns that a bound holds

    @property
    def error(self) -> float:
        """The largest residual over the size of its condition."""
        found = float(np.max(np.abs(self.relative), initial=0.0))
        return found if np.isfinite(found) else np.inf

    @property
    def met(self) -> bool:
        return self.error <= MET


def newton(equations: RootProblem) -> Root:
    """Return a root near x or, if none is found, the point with the least residuals."""
    e, n = equations, len(equations.unknown)
    work = _work(
        e.values,
        e.x,
        len(e.rows),
        e.unknown,
        e.unknown,
        scalars={
            **_method_limits(NO_EFFECT, ROUNDING, NEWTON),
            "met": MET,
            "angles_known": 0 if e.angles is None else 1,
        },
        tables=_row_lists(e) | {"IS_ANGLE": np.zeros(n) if e.angles is None else e.angles},
        given=_size_arrays(e)
        | {
            "wanted": e.wanted,
            "low": np.full(n, -np.inf) if e.low is None else e.low,
            "high": np.full(n, np.inf) if e.high is None else e.high,
        },
    )
    _search(machine_settings())("find_point", work)
    x, r = work["x"][: len(e.x)].copy(), work["residual"][: len(e.rows)].copy()
    held = work["held"][:n].astype(bool)
    return Root(e, x, x[e.unknown], r / e.weights, r, int(work.number("moves")), held)


def outlook(equations: RootProblem) -> tuple[np.ndarray, np.ndarray]:
    """Return C = ∂c/∂x at x, and the part of each unknown, from 0 to 1, in the null space of the conditions.

    An unknown with a part above zero is not determined by the conditions to first order.
    """
    e = equations
    work = _work(
        e.values,
        e.x,
        len(e.rows),
        e.unknown,
        np.arange(len(e.x)),
        scalars=_method_limits(OPEN, 0.0, 0.0),
        tables=_row_lists(e),
        given=_size_arrays(e),
    )
    _search(machine_settings())("find_shares", work)
    return work["slopes"][:-1].reshape(-1, len(e.x)), work["shares"][: len(e.unknown)]


def rest(
    values: ConditionValues, x: np.ndarray, moved: np.ndarray, closed: np.ndarray, sizes: np.ndarray
) -> np.ndarray | None:
    """Return x where the damped motion, q̇ = N u̇, comes to rest; `None` if it does not.

    ``trim.py`` defines this motion. ``moved`` has the columns of the coordinates that move, ``closed`` the
    conditions that keep loops closed.
    """
    found, height = values.of, len(moved) + len(closed)
    speeds = found.speeds
    columns = np.concatenate([moved, np.arange(speeds.start, speeds.stop)])
    work = _work(
        values,
        x,
        height,
        moved,
        columns,
        scalars={
            **_method_limits(EPSILON * height, 0.0, REST),
            "moved": len(moved),
            "closed": len(closed),
            "first_speed": speeds.start,
            "speeds": speeds.stop - speeds.start,
        },
        tables={"MOVED_LIST": moved, "CLOSED_LIST": closed},
        given={"sizes": sizes},
    )
    _search(machine_settings())("find_rest", work)
    return work["x"][: len(found.names)] if work.number("found") else None


def _method_limits(cut: float, exact: float, most: float) -> dict[str, float]:
    """Return the limits of the method; `longest` is infinite, so that only the trust radius limits steps."""
    return {"cut": cut, "least_cut": cut, "exact": exact, "longest": np.inf, "most_moves": most}


def _row_lists(e: RootProblem) -> dict[str, np.ndarray]:
    return {"ROW_LIST": e.rows, "UNKNOWN_LIST": e.unknown}


def _size_arrays(e: RootProblem) -> dict[str, np.ndarray]:
    return {"sizes": e.sizes, "weights": e.weights}


def _work(
    values: ConditionValues,
    x: np.ndarray,
    rows: int,
    unknown: np.ndarray,
    columns: np.ndarray,
    *,
    scalars: dict[str, float],
    tables: dict[str, np.ndarray],
    given: dict[str, np.ndarray],
) -> MethodWork:
    """Return the record and workspace of a search that needs these ``columns`` of C."""
    found, code, unknowns = values.of, values.code, len(unknown)
    m, n, flat = len(found.labels), len(found.names), code.flat
    entries = 0 if flat is None else len(flat)
    if flat is None:
        d = code.directions(columns)
        tables |= {"FLAT": d.places, "DIRECTION_COLUMN": d.columns, "DIRECTION_END": d.ends}
        tables |= {"ENTRY_ROW": d.rows, "ENTRY_END": d.element_ends}
        scalars["directions"] = len(d.ends)
    else:
        tables["FLAT"] = flat
    arrays = {name: whole_array(table) for name, table in tables.items()}
    return MethodWork(
        _search(machine_settings()),
        {
            "Position": 2 * n,
            "Conditions": m,
            "Results": max(entries, m),
            "ConditionSlopes": m * n + 1,
            "Sides": rows,
            "Steps": unknowns,
            "StepNumbers": unknowns,
            "StepFlags": unknowns,
            "Equations": rows * (unknowns + 1),
            "Square": unknowns**2,
        },
        {"rows": rows, "columns": unknowns, "width": n, "entries": entries, "t": values.t, **scalars},
        arrays | {"constants": real_array(values.constants), "memory": real_array(values.memory)},
        dict(zip(("condition_values", "condition_slopes"), code.addresses, strict=True)),
        {"x": x, **given},
    )


@cache
def _search(chosen: tuple[object, ...]) -> DescribedMethod:
    """Return the compiled search, one for all systems, kept for this process."""
    return DescribedMethod(
        "operating points",
        _DESCRIPTION,
        ("BOUNDED", "CHORDS"),
        ("find_point", "find_shares", "find_rest"),
        _TABLES,
        ("condition_values", "condition_slopes"),
    )
