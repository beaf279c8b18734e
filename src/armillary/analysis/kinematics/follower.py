"""The compiled loop that follows a mechanism from row to row, built once for all systems.

For each row the conditions F(x) = 0 hold: gaps of loops, driven quantities and further conditions of the
caller. Unknown are small motions δ along the speeds and further unknowns: x += N δ with δ in terms of its
sizes. Two methods, by the field ``descend``:

    0   Newton's method from the position of another row, whose targets move to this row's targets in steps.
        A step is halved where its first move is longer than LIMIT or the moves do not shrink, so that a
        branch is kept. Source: Deuflhard (2011), Newton Methods for Nonlinear Problems, section 5.1.
    1   Damped least squares from the position of another row: (AᵀA + μ) δ = −Aᵀ F with A the derivatives of
        F by δ. It ends in a solution or where F is as small as it can be.
        Source: Marquardt (1963), SIAM J. Appl. Math. 11, 431–441.

Both solve [A; √μ 1] δ = [−F; 0] by Householder's reflections, so redundant conditions and more unknowns than
conditions need no special case: δ is the shortest. Rows of A are scaled to a largest element of one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from armillary.llvm.building.builder import Local, Value
from armillary.llvm.building.emitter import NOTHING, REAL, WHOLE, IRModule
from armillary.llvm.building.routines import (
    Routine,
    RoutineLayout,
    RoutineMethod,
    compiled_method,
    real_array,
    routine,
    whole_array,
)
from armillary.llvm.jit import machine_settings

# The fields through which the compiled follower is called: numbers, and addresses of arrays.

_COUNTS = (
    "count",  # rows to be found
    "starts",  # positions that are there already, before those of the rows
    "width",  # numbers of a position: state and inputs
    "targets",
    "first_target",  # their place in a position
    "rows",  # of F
    "directions",  # of motion, and further unknowns
    "entries",  # of A that are not always zero
    "motions",  # of N
    "quaternions",
    "descend",
)
_ADDRESSES = (
    *("function", "constants", "memory"),
    *("places", "moved", "along", "units", "stiff", "origins", "sources"),  # whole numbers
    *("sizes", "settings", "times", "wanted", "positions", "strengths", "report"),
    *("out", "weights", "matrix", "step", "trial", "kept", "good", "begin"),  # work
)
FOLLOWER = RoutineLayout(_COUNTS, _ADDRESSES)


LIMIT = 0.5  # radians, or the same in terms of sizes, that one step may move anything
SHRINK = 0.6  # of each move in terms of the last; one half at a double root, so that these are reached
NEWTON, DESCENTS = 40, 300  # turns
LEAST_STEP = 2.0**-16  # of the way from one row to another
CLOSED, SETTLED, EXACT = 1e-9, 1e-7, 1e-15  # of F and of δ, where Newton's method ends
WEAK = 1e-2  # of the least pivot of the row before: a position from which no path may go on
LEAST_ROW = 1e-4  # of the largest row: where a row vanishes, its scale does not
LEAST_DAMPING = 1e-20


def _routine(module: IRModule, name: str, result: str, *arguments: str) -> Routine:
    return routine(module, FOLLOWER, name, result, *arguments, public=name == "follow")


def follower_text() -> str:
    """The LLVM text of ``armillary_follow(fields)``."""
    module = IRModule()
    evaluate = _emit_evaluate(module)
    scale = _emit_scale(module)
    solve = _emit_solve(module)
    apply = _emit_apply(module)
    newton = _emit_newton(module, evaluate, scale, solve, apply)
    descend = _emit_descend(module, evaluate, scale, solve, apply)
    _emit_follow(module, newton, descend)
    return str(module)


def _emit_evaluate(module: IRModule) -> Routine:
    """`evaluate(t)`: F, A and N at the trial position."""
    f = _routine(module, "evaluate", NOTHING, REAL)
    f.evaluate("function", f.argument(1), f.vector("trial"), f.vector("out"))
    f.give()
    return f


def _emit_scale(module: IRModule) -> Routine:
    """`scale()`: the weight of each row, one over its largest element.

    The element of a gap counts for at least 1e-4 of the largest of all gaps. Targets of one group share one
    weight.
    """
    f = _routine(module, "scale", NOTHING)
    rows, directions, entries = f["rows"], f["directions"], f["entries"]
    weights, sizes, out = f.vector("weights"), f.vector("sizes"), f.vector("out")
    with f.each(rows) as i:
        weights[i] = 0.0
    with f.each(entries) as k:
        place = f.index("places", k)
        row = place.whole_quotient(directions)
        column = place - row * directions
        weights[row] = f.most(weights[row], f.magnitude(out[rows + k] * sizes[column]))
    most = Local(f, f.real(0.0))
    with f.each(rows) as i:
        kind = f.index("stiff", i)
        with f.when(kind.equals(1)):
            most.set(f.most(most.get(), weights[i]))
        with f.when(kind <= 0), f.each(rows) as j, f.when(f.index("stiff", j).equals(kind)):
            weights[i] = f.most(weights[i], weights[j])
    with f.each(rows) as i:
        kind = f.index("stiff", i)
        least = f.choose(kind.equals(1), LEAST_ROW * most.get(), 0.0)
        size = f.most(weights[i], least)
        weights[i] = f.choose(size > 0.0, 1.0 / f.choose(size > 0.0, size, 1.0), 1.0)
    f.give()
    return f


def _emit_solve(module: IRModule) -> Routine:
    """`solve(√μ)`: the step δ, by reflections of [A; √μ 1 | −F; 0]; its largest element.

    The least pivot is left in the second of the settings.
    """
    f = _routine(module, "solve", REAL, REAL)
    rows, n, entries = f["rows"], f["directions"], f["entries"]
    matrix, weights, sizes = f.vector("matrix"), f.vector("weights"), f.vector("sizes")
    out, step = f.vector("out"), f.vector("step")
    stride, height = n + 1, rows + n
    with f.each(height * stride) as i:
        matrix[i] = 0.0
    with f.each(entries) as k:
        place = f.index("places", k)
        row = place.whole_quotient(n)
        column = place - row * n
        matrix[row * stride + column] = weights[row] * out[rows + k] * sizes[column]
    with f.each(rows) as i:
        matrix[i * stride + n] = 0.0 - weights[i] * out[i]
    with f.each(n) as j:
        matrix[(rows + j) * stride + j] = f.argument(1)
    with f.each(n) as k:
        end = rows + k + 1  # below, the column is still empty
        count = end - k
        square = f.sum(count, lambda i: matrix[(i + k) * stride + k] * matrix[(i + k) * stride + k])
        top = matrix[k * stride + k]
        length = f.root(square)
        alpha = f.choose(top > 0.0, 0.0 - length, length)
        head = top - alpha
        scale = alpha * head  # −½ vᵀv
        with f.when(scale < 0.0):
            matrix[k * stride + k] = head
            with f.span(k + 1, stride) as j:
                along = f.sum(count, lambda i: matrix[(i + k) * stride + k] * matrix[(i + k) * stride + j])
                share = along / scale
                with f.each(count) as i:
                    place = (i + k) * stride
                    matrix[place + j] = matrix[place + j] + share * matrix[place + k]
            matrix[k * stride + k] = alpha
    weakest = Local(f, f.real(1e300))
    with f.each(n) as back:
        k = n - 1 - back
        known = f.sum(n - 1 - k, lambda i: matrix[k * stride + k + 1 + i] * step[k + 1 + i])
        pivot = matrix[k * stride + k]
        weakest.set(f.least(f.magnitude(pivot), weakest.get()))
        zero = pivot.equals(0.0)
        step[k] = f.choose(zero, 0.0, (matrix[k * stride + n] - known) / f.choose(zero, 1.0, pivot))
    f.vector("settings")[1] = weakest.get()
    f.give(f.largest(n, lambda i: step[i]))
    return f


def _emit_apply(module: IRModule) -> Routine:
    """`apply(share)`: trial += N δ · share, with unit Euler parameters."""
    f = _routine(module, "apply", NOTHING, REAL)
    first = f["rows"] + f["entries"]
    out, step, sizes, trial = f.vector("out"), f.vector("step"), f.vector("sizes"), f.vector("trial")
    with f.each(f["motions"]) as k:
        place, direction = f.index("moved", k), f.index("along", k)
        trial[place] = trial[place] + f.argument(1) * out[first + k] * step[direction] * sizes[direction]
    with f.each(f["quaternions"]) as k:
        start = f.index("units", k)
        e = [trial[start + i] for i in range(4)]
        length = f.root(e[0] * e[0] + e[1] * e[1] + e[2] * e[2] + e[3] * e[3])
        for i in range(4):
            trial[start + i] = e[i] / length
    f.give()
    return f


def _off(f: Routine) -> Value:
    weights, out = f.vector("weights"), f.vector("out")
    return f.largest(f["rows"], lambda i: weights[i] * out[i])


def _emit_newton(
    module: IRModule, evaluate: Routine, scale: Routine, solve: Routine, apply: Routine
) -> Routine:
    """`newton(t)`: 1 where the trial position was brought to F = 0 by moves that shrink."""
    f = _routine(module, "newton", WHOLE, REAL)
    t = f.argument(1)
    turns, last = Local(f, f.whole(0)), Local(f, f.real(LIMIT / SHRINK))
    found = Local(f, f.whole(0))
    with f.repeat() as loop:
        f.run(evaluate, t)
        f.run(scale)
        off = _off(f)
        length = f.run(solve, f.real(1e-10))
        exact = off <= EXACT
        shrinks = length <= SHRINK * last.get()
        with f.when(~(exact | shrinks)):  # false for NaN too
            loop.leave()
        f.run(apply, f.real(1.0))
        with f.when(exact | ((off <= CLOSED) & (length <= SETTLED))):
            found.set(f.whole(1))
            loop.leave()
        last.set(f.most(length, EXACT))
        turns.set(turns.get() + 1)
        with f.when(turns.get() >= NEWTON):
            loop.leave()
    f.give(found.get())
    return f


def _emit_descend(
    module: IRModule, evaluate: Routine, scale: Routine, solve: Routine, apply: Routine
) -> Routine:
    """`descend(t)`: the trial position moved to where Σ (w F)² is least; the largest w F there.

    Rows marked as stiff weigh ``weight`` times as much as the others.
    """
    f = _routine(module, "descend", REAL, REAL)
    t, width = f.argument(1), f["width"]
    weights, out, trial, kept = f.vector("weights"), f.vector("out"), f.vector("trial"), f.vector("kept")
    weight = f.vector("settings")[0]

    def cost() -> Value:
        return f.sum(f["rows"], lambda i: weights[i] * out[i] * weights[i] * out[i])

    f.run(evaluate, t)
    f.run(scale)
    with f.each(f["rows"]) as i:
        weights[i] = weights[i] * f.choose(f.index("stiff", i) > 0, weight, 1.0)
    damping, least, turns = Local(f, f.real(1e-3)), Local(f, cost()), Local(f, f.whole(0))
    with f.repeat() as loop:
        with f.when((turns.get() >= DESCENTS) | ~(least.get() > 0.0)):
            loop.leave()
        turns.set(turns.get() + 1)
        length = f.run(solve, f.root(damping.get()))
        f.move(width, trial, kept)
        f.run(apply, f.least(1.0, LIMIT / f.most(length, LIMIT)))
        f.run(evaluate, t)
        there = cost()
        better = there < least.get()
        with f.when(better):
            least.set(there)
            damping.set(f.most(damping.get() * 0.2, LEAST_DAMPING))
        with f.when(~better):
            f.move(width, kept, trial)
            f.run(evaluate, t)
            damping.set(f.most(damping.get() * 4.0, 1e-12))
        settled = f.choose(better, length, 1.0) <= 1e-13
        with f.when(settled | (damping.get() > 1e12)):
            loop.leave()
    f.give(_off(f))
    return f


def _emit_follow(module: IRModule, newton: Routine, descend: Routine) -> Routine:
    """`follow()`: find a position for every row, from the position of the row at which it starts."""
    f = _routine(module, "follow", NOTHING)
    width, targets, first = f["width"], f["targets"], f["first_target"]
    trial, good, times = f.vector("trial"), f.vector("good"), f.vector("times")
    with f.each(f["count"]) as row:
        origin, here = f.index("sources", f.index("origins", row)), f["starts"] + row
        f.move(width, f.vector("positions", origin * width), good)
        report = f.vector("report", row * 2)
        goal = f.vector("wanted", row * (targets + 1))
        begin = f.vector("begin")
        begin[0] = times[origin]
        with f.each(targets) as k:
            begin[k + 1] = good[first + k]
        with f.when(f["descend"].equals(1)):
            f.move(width, good, trial)
            with f.each(targets) as k:
                trial[first + k] = goal[k + 1]
            off = f.run(descend, goal[0])
            report[1] = off
            solved = Local(f, f.whole(0))
            with f.when(off <= 1e-5):
                f.move(width, trial, good)
                solved.set(f.run(newton, goal[0]))
                with f.when(solved.get().equals(0)):
                    f.move(width, good, trial)
            with f.when(solved.get().equals(0)):
                f.put_index("sources", here, origin)
            report[0] = f.choose(solved.get().equals(1), 1.0, 0.0)
            f.move(width, trial, f.vector("positions", here * width))
            times[here] = goal[0]
        with f.when(f["descend"].equals(0)):
            reached, share = Local(f, f.real(0.0)), Local(f, f.real(1.0))
            with f.repeat() as loop:
                s = f.least(reached.get() + share.get(), 1.0)
                f.move(width, good, trial)
                with f.each(targets) as k:
                    whole = goal[k + 1] - begin[k + 1]
                    trial[first + k] = f.choose(s < 1.0, begin[k + 1] + s * whole, goal[k + 1])
                t = f.choose(s < 1.0, begin[0] + s * (goal[0] - begin[0]), goal[0])
                done = f.run(newton, t)
                with f.when(done.equals(1)):
                    f.move(width, trial, good)
                    reached.set(s)
                    times[here] = t
                    share.set(2.0 * share.get())
                with f.when(done.equals(0)):
                    share.set(0.5 * share.get())
                with f.when((reached.get() >= 1.0) | (share.get() < LEAST_STEP)):
                    loop.leave()
            strengths = f.vector("strengths")
            strengths[here] = f.vector("settings")[1]
            singular = strengths[here] < WEAK * strengths[origin]
            with f.when((reached.get() < 1.0) | singular):
                f.put_index("sources", here, origin)
            with f.when(reached.get() <= 0.0):
                times[here] = begin[0]
            report[0], report[1] = reached.get(), strengths[here]
            f.move(width, good, f.vector("positions", here * width))
    f.give()
    return f


@dataclass(frozen=True, eq=False)
class PathConditions:
    """The function of all conditions as machine code, and where its results stand.

    Its results are F, then the entries of A at ``places`` (row, direction), then the entries of N: place
    ``moved`` of a position moves along direction ``along``. ``stiff`` marks rows that targets do not bend: 1
    for gaps of loops, 2 for others; targets of equal units have one number there, 0, −1, …
    """

    function: int
    width: int
    first_target: int
    targets: int
    stiff: tuple[int, ...]
    directions: int
    places: tuple[tuple[int, int], ...]
    moved: tuple[int, ...]
    along: tuple[int, ...]
    quaternions: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Followed:
    """Positions of all rows; ``reached`` is the share of the way to its targets that a row came, 1 where it
    arrived, and ``off`` what damped least squares left.
    """

    positions: np.ndarray
    times: np.ndarray
    reached: np.ndarray
    off: np.ndarray

    @property
    def found(self) -> np.ndarray:
        return self.reached >= 1.0


def follow(
    conditions: PathConditions,
    starts: np.ndarray,
    start_times: np.ndarray,
    origins: Sequence[int] | np.ndarray,
    times: np.ndarray,
    targets: np.ndarray,
    sizes: np.ndarray,
    constants: np.ndarray,
    memory: np.ndarray,
    *,
    descend: bool = False,
    weight: float = 1.0,
) -> Followed:
    """Positions where the conditions hold, one for each row of targets.

    Row i begins at position ``origins[i]``: one of ``starts``, or len(starts) + j for an earlier row j; where
    that was not reached, or is singular where the one before is not, at the one before.
    """
    c, count, first = conditions, len(targets), len(starts)
    rows, n = len(c.stiff), c.directions
    positions = np.zeros((first + count, c.width))
    positions[:first] = starts
    clock = np.concatenate([start_times, np.zeros(count)])
    report = np.zeros((count, 2))
    arrays = {
        "constants": real_array(constants),
        "memory": real_array(memory),
        "places": whole_array([i * n + j for i, j in c.places]),
        "moved": whole_array(c.moved),
        "along": whole_array(c.along),
        "units": whole_array(c.quaternions),
        "stiff": whole_array(c.stiff),
        "origins": whole_array(origins),
        "sources": np.arange(first + count, dtype=np.int64),
        "sizes": real_array(sizes),
        "settings": np.array([weight, 0.0]),
        "times": clock,
        "wanted": real_array(np.column_stack([times, targets])),
        "positions": positions,
        "strengths": np.zeros(first + count),
        "report": report,
        "out": np.zeros(rows + len(c.places) + len(c.moved) + 1),
        "weights": np.zeros(rows + 1),
        "matrix": np.zeros((rows + n + 1) * (n + 1)),
        "step": np.zeros(n + 1),
        "trial": np.zeros(c.width + 1),
        "kept": np.zeros(c.width + 1),
        "good": np.zeros(c.width + 1),
        "begin": np.zeros(c.targets + 1),
    }
    numbers = {
        "count": count, "starts": first, "width": c.width, "targets": c.targets,
        "first_target": c.first_target, "rows": rows, "directions": n, "entries": len(c.places),
        "motions": len(c.moved), "quaternions": len(c.quaternions), "descend": int(descend),
        "function": c.function,
    }  # fmt: skip
    _follower(machine_settings())("follow", FOLLOWER.fields({**arrays, **numbers}))
    return Followed(positions[first:], clock[first:], report[:, 0], report[:, 1])


@cache
def _follower(chosen: tuple[object, ...]) -> RoutineMethod:
    """The compiled loop, one for all systems, kept for this process."""

    return compiled_method("follower", follower_text, [Path(__file__)], ["follow"])
