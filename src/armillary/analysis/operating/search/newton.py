"""Newton's method for c(x) = 0 with as many conditions as unknowns or more, from starts that may be rough.

With sizes s of the unknowns and w of the conditions, J = ∂c/∂x is scaled to A = J_ij s_j / w_i, and a step
x + s p minimises |c/w + A p| over |p| ≤ Δ: a Gauss–Newton step where it is that short, else one of Levenberg
and Marquardt,

    p = − (AᵀA + μ)⁻¹ Aᵀ c/w            μ ≥ 0 so that |p| = Δ

The radius Δ begins at one size, or at the length of the first step if no angle turns by more than a radian in
it, and follows the agreement of the model with the conditions (Moré 1978, "The Levenberg-Marquardt algorithm:
implementation and theory", Lecture Notes in Mathematics 630). Directions without effect (d below 1e-11 of the
largest) are not moved along, so that what the conditions leave open stays at its start. Bounds are kept by
projection, and an unknown that a step would lead out of its bounds is held there.

All of it is compiled code (`newton_code.py`), one for all systems; Python prepares the arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from armillary.analysis.operating.condition_values import ConditionValues
from armillary.analysis.operating.search.factors_code import ENTRIES
from armillary.analysis.operating.search.newton_code import MET
from armillary.analysis.operating.search.newton_layout import SEARCH
from armillary.llvm.building.routines import RoutineMethod, compiled_method, real_array, whole_array
from armillary.llvm.jit import chosen


@dataclass(frozen=True, eq=False)
class RootProblem:
    """Conditions with their wanted values, unknowns with their sizes and bounds; all else is as in x."""

    values: ConditionValues
    x: np.ndarray  # state and inputs
    rows: np.ndarray
    unknown: np.ndarray
    wanted: np.ndarray  # of the rows
    sizes: np.ndarray  # of the unknowns
    weights: np.ndarray  # one over the sizes of the rows
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    angles: np.ndarray | None = None  # which of the unknowns are angles


@dataclass(frozen=True, eq=False)
class Root:
    """Where Newton's method ended: whether the conditions are met, and what is left of each."""

    of: RootProblem
    x: np.ndarray  # state and inputs
    unknowns: np.ndarray
    residual: np.ndarray
    relative: np.ndarray  # residuals over the sizes of their conditions
    steps: int
    held: np.ndarray  # unknowns that a bound holds

    @property
    def error(self) -> float:
        """The largest of the residuals over their sizes."""
        found = float(np.max(np.abs(self.relative), initial=0.0))
        return found if np.isfinite(found) else np.inf

    @property
    def met(self) -> bool:
        return self.error <= MET


def newton(equations: RootProblem) -> Root:
    """A root near x, or the place where the conditions are nearest to being met."""
    e, n = equations, len(equations.unknown)
    work = _work(e.values, e.x, len(e.rows), n, e.unknown) | _conditions(e)
    none = np.full(n + 1, np.inf)
    work |= {
        "angles": whole_array(np.zeros(n) if e.angles is None else e.angles),
        "held": np.zeros(n + 1, dtype=np.int64),
        "settings": np.array([e.values.t, 0.0 if e.angles is None else 1.0]),
        "wanted": real_array(e.wanted),
        "low": -none if e.low is None else real_array(e.low),
        "high": none if e.high is None else real_array(e.high),
    }
    _search(chosen())("newton", SEARCH.fields(work))
    x, r, held, report = (work[name] for name in ("x", "r", "held", "report"))
    assert isinstance(x, np.ndarray) and isinstance(r, np.ndarray)
    assert isinstance(held, np.ndarray) and isinstance(report, np.ndarray)
    x, r = x[: len(e.x)], r[: len(e.rows)]
    return Root(e, x, x[e.unknown], r / e.weights, r, int(report[0]), held[:n].astype(bool))


def outlook(equations: RootProblem) -> tuple[np.ndarray, np.ndarray]:
    """C at x; and of each unknown the part, 0 to 1, along directions that the conditions leave open."""
    e = equations
    columns = np.arange(len(e.x))
    work = _work(e.values, e.x, len(e.rows), len(e.unknown), columns) | _conditions(e)
    work["settings"] = np.array([e.values.t, 0.0])
    _search(chosen())("outlook", SEARCH.fields(work))
    C, shares = work["C"], work["shares"]
    assert isinstance(C, np.ndarray) and isinstance(shares, np.ndarray)
    return C[:-1].reshape(-1, len(e.x)), shares[: len(e.unknown)]


def _conditions(e: RootProblem) -> dict[str, int | np.ndarray]:
    """Fields of the rows and unknowns."""
    return {
        "rows": len(e.rows),
        "unknowns": len(e.unknown),
        "row_list": whole_array(e.rows),
        "unknown_list": whole_array(e.unknown),
        "sizes": real_array(e.sizes),
        "weights": real_array(e.weights),
    }


def rest(
    values: ConditionValues, x: np.ndarray, moved: np.ndarray, closed: np.ndarray, sizes: np.ndarray
) -> np.ndarray | None:
    """Where coordinates of these sizes come to rest that move with their accelerations; see ``starts.py``."""
    found = values.of
    speeds = found.speeds
    columns = np.concatenate([moved, np.arange(speeds.start, speeds.stop)])
    work = _work(values, x, 0, len(moved), columns, len(closed))
    work |= {
        "moved": len(moved),
        "closed": len(closed),
        "first_speed": speeds.start,
        "speeds": speeds.stop - speeds.start,
        "moved_list": whole_array(moved),
        "closed_list": whole_array(closed),
        "sizes": real_array(sizes),
        "settings": np.array([values.t, 0.0]),
    }
    _search(chosen())("rest", SEARCH.fields(work))
    there, report = work["x"], work["report"]
    assert isinstance(there, np.ndarray) and isinstance(report, np.ndarray)
    return there[: len(found.names)] if report[0] > 0 else None


_VECTORS = ("y", "w", "z", "b", "new", "heads", "p", "kept", "order")


def _work(
    values: ConditionValues, x: np.ndarray, rows: int, unknowns: int, columns: np.ndarray, closed: int = 0
) -> dict[str, int | np.ndarray]:
    """The fields that do not depend on the method: functions, constants, the place, work; ``columns`` of C
    are needed.
    """
    found, code = values.of, values.code
    m, n, flat = len(found.labels), len(found.names), code.flat
    entries = 0 if flat is None else len(flat)
    height = max(rows, unknowns + closed) + 1
    place = np.zeros(2 * n + 1)
    place[:n] = x
    sizes = {"c": m, "out": max(entries, m), "r_trial": height, "right": height}
    sizes |= dict.fromkeys(("A", "R"), height * unknowns) | dict.fromkeys(("T", "G"), unknowns**2)
    sizes |= dict.fromkeys(_VECTORS, unknowns + 1)
    ends = np.cumsum([*sizes.values()])
    room = np.empty(int(ends[-1]))
    work: dict[str, int | np.ndarray] = {
        "conditions": m,
        "columns": n,
        "entries": entries,
        "values": code.addresses[0],
        "slopes": code.addresses[1],
        "constants": real_array(values.constants),
        "memory": real_array(values.memory),
        "x": place,
        "C": np.zeros(m * n + 1),
        "r": np.empty(height),
        "shares": np.empty(unknowns + 1),
        "report": np.zeros(1),
        "room": room,
    }
    starts = (room.ctypes.data + 8 * (ends - [*sizes.values()])).tolist()
    work |= dict(zip(sizes, starts, strict=True))
    if flat is not None:
        work["flat"] = whole_array(flat)
    else:
        d = code.directions(columns)
        work |= {"directions": len(d.ends), "direction_columns": d.columns, "direction_ends": d.ends}
        work |= {"flat": d.places, "element_rows": d.rows, "element_ends": d.element_ends}
    return work


@cache
def _search(chosen: tuple[object, ...]) -> RoutineMethod:
    """The compiled search, one for all systems, kept for this process."""

    def text() -> str:
        from armillary.analysis.operating.search.newton_code import search_text

        return search_text()

    here = Path(__file__)
    written = [here.with_name(f"{name}.py") for name in ("newton_code", "factors_code", "newton_layout")]
    return compiled_method("operating points", text, written, ENTRIES)
