"""Newton's method for operating points: c(x) = 0, with as many conditions as unknowns or more.

Starts may be rough.

With sizes s of the unknowns and w of the conditions, J = ∂c/∂x is scaled to A = J_ij s_j / w_i, and a step
x + s p minimises |c/w + A p| over |p| ≤ Δ: a Gauss–Newton step if it is short enough, else one of Levenberg
and Marquardt,

    p = − (AᵀA + μ)⁻¹ Aᵀ c/w            μ ≥ 0 so that |p| = Δ

The radius Δ begins at one size, or at the length of the first step if no angle turns by more than a radian in
it, and follows the agreement of the model with the conditions (Moré 1978, "The Levenberg-Marquardt algorithm:
implementation and theory", Lecture Notes in Mathematics 630). Directions without effect (d below 1e-11 of the
largest) are not moved along, so that what the conditions leave open stays at its start. Bounds are kept by
projection, and an unknown that a step would lead out of its bounds is held there.

The code is compiled once for all systems; Python prepares the arrays. Steps come from factors of the
derivatives: `factors.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from armillary.analysis.operating.conditions import ConditionValues
from armillary.analysis.operating.factors import (
    ENTRIES,
    SEARCH,
    emit_chord,
    emit_damped_step,
    emit_factorise,
    emit_turn_back,
    search_routine,
)
from armillary.llvm.building.builder import Local, Value
from armillary.llvm.building.emitter import NOTHING, REAL, IRModule
from armillary.llvm.building.routines import Routine, RoutineMethod, compiled_method, real_array, whole_array
from armillary.llvm.jit import machine_settings

MET = 1e-9  # of the size of a condition: what is above this is not met
ROUNDING = 1e-15
NO_EFFECT = 1e-11  # singular value, as a part of the largest, of a direction without effect
NEWTON, REST = 80, 200  # steps
CHORD = 1e-3  # of the size of a condition: below this the last derivatives are good for another step
ROUNDED = 1e-13  # where such a step gains nothing, rounding is all that is left
OPEN = 1e-9  # singular value of a direction that the conditions leave open
EPSILON = 2.0**-52


def search_text() -> str:
    """The LLVM text of ``armillary_newton(fields)`` and the other entries."""
    module = IRModule()
    values, slopes = _emit_values(module), _emit_slopes(module)
    factorise, turned = emit_factorise(module), emit_turn_back(module)
    damped, chord = emit_damped_step(module), emit_chord(module, turned)
    _emit_newton(module, values, slopes, factorise, damped, turned, chord)
    _emit_outlook(module, slopes, factorise, turned)
    _emit_rest(module, values, slopes, factorise, turned)
    return str(module)


def _emit_values(module: IRModule) -> Routine:
    """`conditions()`: c at x, and |w (c − wanted)|²; the scaled residuals are left in r_trial."""
    f = search_routine(module, "conditions", REAL)
    c, r, wanted, weights = f.vector("c"), f.vector("r_trial"), f.vector("wanted"), f.vector("weights")
    f.evaluate("values", f.vector("settings")[0], f.vector("x"), c)
    with f.each(f["rows"]) as i:
        r[i] = (c[f.index("row_list", i)] - wanted[i]) * weights[i]
    f.give(f.sum(f["rows"], lambda i: r[i] * r[i]))
    return f


def _emit_slopes(module: IRModule) -> Routine:
    """`slopes()`: the derivatives C of all conditions by all columns, at x, by rows."""
    f = search_routine(module, "slopes", NOTHING)
    t, x, out, C = f.vector("settings")[0], f.vector("x"), f.vector("out"), f.vector("C")
    width = f["columns"]
    with f.when(f["directions"].equals(0)):
        f.evaluate("slopes", t, x, out)
        with f.each(f["entries"]) as k:
            C[f.index("flat", k)] = out[k]
    column, element = Local(f, f.whole(0)), Local(f, f.whole(0))
    with f.each(f["directions"]) as k:
        first, end = column.get(), f.index("direction_ends", k)
        with f.span(first, end) as j:
            x[width + f.index("direction_columns", j)] = 1.0
        f.evaluate("slopes", t, x, out)
        with f.span(first, end) as j:
            x[width + f.index("direction_columns", j)] = 0.0
        last = f.index("element_ends", k)
        with f.span(element.get(), last) as e:
            C[f.index("flat", e)] = out[f.index("element_rows", e)]
        column.set(end)
        element.set(last)
    f.give()
    return f


def _slope(f: Routine) -> Callable[[Value, Value], Value]:
    """A_ij of the conditions to be met and the unknowns."""
    C, sizes, weights = (f.vector(k) for k in ("C", "sizes", "weights"))

    def slope(i: Value, j: Value) -> Value:
        place = f.index("row_list", i) * f["columns"] + f.index("unknown_list", j)
        return C[place] * weights[i] * sizes[j]

    return slope


def _emit_outlook(module: IRModule, slopes: Routine, factorise: Routine, turned: Routine) -> Routine:
    """`outlook()`: C at x, and what part of each unknown is along directions which the rows leave open."""
    f = search_routine(module, "outlook", NOTHING)
    m, n, A, p, shares = f["rows"], f["unknowns"], *(f.vector(k) for k in ("A", "p", "shares"))
    slope = _slope(f)
    f.run(slopes)
    with f.each(n) as j:
        shares[j] = 0.0
        with f.each(m) as i:
            A[j * m + i] = slope(i, j)
    with f.when(f.largest(n * m, lambda k: A[k]) < 1e300):
        f.run(factorise, m, n, f.real(OPEN))
        with f.span(f.index("order", n), n) as k:
            f.run(turned, m, n, k)
            with f.each(n) as j:
                shares[j] = shares[j] + p[j] * p[j]
    with f.each(n) as j:
        shares[j] = f.root(shares[j])
    f.give()
    return f


def _emit_newton(
    module: IRModule,
    values: Routine,
    slopes: Routine,
    factorise: Routine,
    damped: Routine,
    turned: Routine,
    chord: Routine,
) -> Routine:
    """`newton()`: the unknowns of x moved to a root, or to where the conditions are nearest to being met.

    Near a root steps go on with the last derivatives as long as each leaves a hundredth of the conditions: in
    a chain of 64 links the derivatives take a hundred times as long as the conditions. The report has the
    steps with derivatives of their own.
    """
    f = search_routine(module, "newton", NOTHING)
    m, n, slope = f["rows"], f["unknowns"], _slope(f)
    x, A, r, r_trial, p, kept = (f.vector(k) for k in ("x", "A", "r", "r_trial", "p", "kept"))
    sizes, low, high = (f.vector(k) for k in ("sizes", "low", "high"))

    def unknown(j: Value) -> Value:
        return f.index("unknown_list", j)

    def clip_to_bounds(value: Value, j: Value) -> Value:
        return f.least(f.most(value, low[j]), high[j])

    def length_of_p() -> Value:
        return f.root(f.sum(n, lambda j: p[j] * p[j]))

    with f.each(n) as j:
        x[unknown(j)] = clip_to_bounds(x[unknown(j)], j)
    merit = Local(f, f.run(values))
    f.move(m, r_trial, r)
    radius = Local(f, f.root(n.to_real()))
    steps, ended = Local(f, f.whole(0)), Local(f, f.whole(0))
    known = Local(f, f.real(0.0))  # 1 where there are factors of a step before
    with f.repeat() as loop:
        off = f.largest(m, lambda i: r[i])
        with f.when(~(merit.get() < 1e300) | (steps.get() >= NEWTON) | n.equals(0) | (off <= ROUNDING)):
            loop.leave()
        with f.when((known.get() > 0.0) & (off <= CHORD)):
            with f.each(n) as j:
                kept[j] = x[unknown(j)]
            f.run(chord)
            with f.each(n) as j:
                x[unknown(j)] = clip_to_bounds(kept[j] + sizes[j] * p[j], j)
            near = f.run(values)
            with f.when(near < 1e-4 * merit.get()):
                f.move(m, r_trial, r)
                merit.set(near)
                loop.again()
            with f.each(n) as j:
                x[unknown(j)] = kept[j]
            with f.when((off <= ROUNDED) & ~(near < 0.8 * merit.get())):
                loop.leave()
        f.run(slopes)
        with f.each(n) as j:
            with f.each(m) as i:
                A[j * m + i] = slope(i, j)
            downhill = f.sum(m, lambda i: A[j * m + i] * r[i])
            at = x[unknown(j)]
            stuck = ((at <= low[j]) & (downhill > 0.0)) | ((at >= high[j]) & (downhill < 0.0))
            f.put_index("held", j, f.whole(0))
            with f.when(stuck):
                f.put_index("held", j, f.whole(1))
                with f.each(m) as i:
                    A[j * m + i] = 0.0
        with f.when(~(f.largest(n * m, lambda k: A[k]) < 1e300)):
            loop.leave()
        longest = f.run(factorise, m, n, f.real(NO_EFFECT))
        held = f.largest(n, lambda j: f.index("held", j).to_real())
        known.set(f.choose(held > 0.0, 0.0, 1.0))
        with f.when(steps.get().equals(0)):
            f.run(turned, m, n, f.whole(-1))
            turn = f.largest(n, lambda j: f.choose(f.index("angles", j).equals(1), p[j], 0.0))
            # Sizes of lengths, speeds and inputs are guesses, that of an angle is not.
            with f.when((f.vector("settings")[1] > 0.0) & (turn <= 1.0)):
                radius.set(f.most(radius.get(), 1.01 * length_of_p()))
        steps.set(steps.get() + 1)
        with f.each(n) as j:
            kept[j] = x[unknown(j)]
        with f.repeat() as shorter:
            with f.when(longest > radius.get()):
                f.run(damped, radius.get())
            f.run(turned, m, n, f.whole(-1))
            with f.each(n) as j:
                there = clip_to_bounds(kept[j] + sizes[j] * p[j], j)
                x[unknown(j)] = there
                p[j] = (there - kept[j]) / sizes[j]
            length, new = length_of_p(), f.run(values)
            predicted = Local(f, f.real(0.0))
            with f.each(m) as i:
                # mypy does not infer a lambda with a default argument, which binds the variable of the loop.
                linear = r[i] + f.sum(n, lambda j, i=i: slope(i, j) * p[j])  # type: ignore[misc]
                predicted.set(predicted.get() + linear * linear)
            expected, gained = merit.get() - predicted.get(), merit.get() - new
            with f.when((new < merit.get()) & (gained > 1e-4 * expected)):
                shorter.leave()
            radius.set(0.25 * f.least(length, radius.get()))
            with f.when((radius.get() < 1e-12) | ((off <= MET) & (length <= 1e-6))):
                ended.set(f.whole(1))
                shorter.leave()
        with f.when(ended.get().equals(1)):
            with f.each(n) as j:
                x[unknown(j)] = kept[j]
            loop.leave()
        with f.when(gained > 0.75 * expected):
            radius.set(f.most(radius.get(), 3.0 * length))
        with f.when(gained < 0.25 * expected):
            radius.set(0.5 * length)
        stalled = (new > 0.9 * merit.get()) & (f.largest(m, lambda i: r_trial[i]) <= MET)
        f.move(m, r_trial, r)
        merit.set(new)
        with f.when(stalled):
            loop.leave()
    f.vector("report")[0] = steps.get().to_real()
    f.give()
    return f


def _emit_rest(
    module: IRModule, values: Routine, slopes: Routine, factorise: Routine, turned: Routine
) -> Routine:
    """`rest()`: x moved to where the damped motion comes to rest; the report is 0 where it does not stay
    finite. See `starts.py`.
    """
    f = search_routine(module, "rest", NOTHING)
    n, closed, width, speeds = f["moved"], f["closed"], f["columns"], f["speeds"]
    first, height = f["first_speed"], n + closed
    x, c, A, C = (f.vector(k) for k in ("x", "c", "A", "C"))
    r, rates, step, G, sizes = (f.vector(k) for k in ("r", "kept", "p", "G", "sizes"))

    def moved_index(j: Value) -> Value:
        return f.index("moved_list", j)

    delta, last = Local(f, f.real(0.0)), Local(f, f.real(0.0))
    turns, finite = Local(f, f.whole(0)), Local(f, f.real(1.0))
    with f.repeat() as loop:
        with f.when(turns.get() >= REST):
            loop.leave()
        turns.set(turns.get() + 1)
        f.run(values)
        f.run(slopes)
        with f.each(n) as i:
            start = moved_index(i) * width + first
            # mypy does not infer a lambda with a default argument, which binds the variable of the loop.
            rates[i] = f.sum(speeds, lambda s, start=start: C[start + s] * c[first + s])  # type: ignore[misc]
        size = f.largest(n, lambda i: rates[i])
        with f.when(~(size < 1e300)):
            finite.set(f.real(0.0))
            loop.leave()
        fastest = f.largest(speeds, lambda s: c[first + s])
        with f.when((size <= 1e-9 * (1.0 + fastest)) | size.equals(0.0)):
            loop.leave()
        growth = f.least(f.most(last.get() / size, 1.0), 2.0)
        fast = f.largest(n, lambda i: rates[i] / sizes[i])
        delta.set(f.choose(delta.get() > 0.0, delta.get() * growth, 0.1 / fast))
        last.set(size)
        with f.each(n) as i, f.each(n) as j:
            row, column = moved_index(i) * width + first, moved_index(j)
            G[j * n + i] = f.sum(
                speeds,
                # mypy does not infer a lambda with a default argument, which binds the variable of the loop.
                lambda s, row=row, column=column: C[row + s] * C[(first + s) * width + column],  # type: ignore[misc]
            )
        tries = Local(f, f.whole(0))
        with f.repeat() as shorter:  # a long step where the motion is unstable would lead backwards
            with f.each(n) as j:
                with f.each(n) as i:
                    A[j * height + i] = f.choose(i.equals(j), 1.0 / delta.get(), 0.0) - G[j * n + i]
                with f.each(closed) as i:
                    A[j * height + n + i] = C[f.index("closed_list", i) * width + moved_index(j)]
            with f.each(n) as i:
                r[i] = 0.0 - rates[i]
            with f.each(closed) as i:
                r[n + i] = c[f.index("closed_list", i)]
            f.run(factorise, height, n, EPSILON * height.to_real())
            f.run(turned, height, n, f.whole(-1))
            tries.set(tries.get() + 1)
            forward = f.sum(n, lambda i: step[i] * rates[i]) > 0.0
            with f.when(forward | (tries.get() >= 20)):
                shorter.leave()
            delta.set(0.25 * delta.get())
        longest = f.largest(n, lambda i: step[i] / sizes[i])
        with f.when(~(longest < 1e300)):
            finite.set(f.real(0.0))
            loop.leave()
        share = f.least(1.0, 0.5 / f.most(longest, 1e-300))
        with f.each(n) as i:
            x[moved_index(i)] = x[moved_index(i)] + step[i] * share
    f.vector("report")[0] = finite.get()
    f.give()
    return f


@dataclass(frozen=True, eq=False)
class RootProblem:
    """Conditions with wanted values, unknowns with sizes and bounds; other elements of x are fixed."""

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
    _search(machine_settings())("newton", SEARCH.fields(work))
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
    _search(machine_settings())("outlook", SEARCH.fields(work))
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
    """Return where coordinates come to rest that move with their accelerations; `None` if they do not.

    See ``starts.py``.
    """
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
    _search(machine_settings())("rest", SEARCH.fields(work))
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

    here = Path(__file__)
    return compiled_method("operating points", search_text, [here, here.with_name("factors.py")], ENTRIES)
