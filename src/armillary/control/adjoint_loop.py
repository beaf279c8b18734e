"""Runs of explicit Runge–Kutta methods, and their discrete adjoints, as compiled loops over many runs.

A step of length h from x to x⁺, with inputs vᵢ at its stages, is

    kᵢ = f( t + cᵢ h, x + h Σⱼ aᵢⱼ kⱼ, vᵢ ),   y = x + h Σᵢ bᵢ kᵢ,   x⁺ = π(y)

The map π normalises Euler parameters and closes loops. A running cost is integrated as one more state. The
backward step computes λ, the derivative of a scalar by x, from λ⁺, its derivative by x⁺:

    λ = (∂π/∂y)ᵀ λ⁺,   μᵢ = h ( bᵢ λ + Σⱼ aⱼᵢ νⱼ ),   νᵢ = (∂f/∂x)ᵀ μᵢ,   λ ← λ + Σᵢ νᵢ

Contributions to the derivatives by inputs and parameters are (∂f/∂v)ᵀ μᵢ, (∂f/∂p)ᵀ μᵢ and (∂π/∂p)ᵀ λ⁺. These
equations are the exact derivative of the discrete steps, not a discretised continuous adjoint equation.
Source: Hager (2000), Runge–Kutta methods in optimal control and the transformed adjoint system; Griewank and
Walther (2008), Evaluating Derivatives, 12 (checkpoints).

A run is cut into segments. The forward pass keeps the state at the beginning of each segment, and the states
of all stages in the last segment; the backward pass repeats each of the other segments once. In the loops a
row is one of the runs, k a step, and a slot the place of a step's stages in the array ``stored``.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from armillary.llvm.building.builder import Local, Span, Value
from armillary.llvm.building.emitter import NOTHING, WHOLE, IRModule
from armillary.llvm.building.routines import Routine, RoutineLayout, RoutineMethod, compiled_method, routine
from armillary.solver.llvm.compiled_loop import loop_sources
from armillary.solver.llvm.step_routines import STEP_WORK, StepRoutine
from armillary.solver.methods.tableau import Method

LAYOUT = RoutineLayout(
    numbers=(
        *("rows", "steps", "states", "costs", "inputs", "parameters", "stages", "settles"),
        *("segment", "segments", "samples", "row_constants"),
        "moved",  # number of values that follow the state: for tangents, directions of inputs and parameters
        *("row_inputs", "step_inputs", "stage_inputs"),  # strides in elements, 0 if shared
    ),
    addresses=(
        *("rates", "pull", "settle", "settle_pull"),  # functions of the model
        *("constants", "memory"),  # of one row
        *("all_constants", "places", "times", "lengths", "a", "b", "c", "kept"),
        *("start", "held", "moves", "out", "cost"),
        *("seeds", "cost_seed", "by_start", "by_inputs", "by_parameters"),
        *("x", "place", "pulled", "back", "shares", "stored", "checkpoints", *STEP_WORK),  # work
    ),
)
ENTRIES = ("run_rows", "pull_rows", "keep_one", "back_one")


def loop_text(method: Method) -> str:
    """Return the LLVM text of the loops, which are functions of the fields of `LAYOUT`.

    ``run_rows`` makes the forward pass of many runs, ``pull_rows`` the forward and the backward pass.
    ``keep_one`` and ``back_one`` are the two passes for a single run.
    """
    module = IRModule()
    step, back = _step(module, method), _step_back(module)
    _run_rows(module, step)
    _pull_rows(module, step, back)
    return str(module)


@cache
def adjoint_loops(method: Method) -> RoutineMethod:
    """Return the loops of a method, compiled once for all models."""
    name = f"adjoint {method.name} {loop_sources()}"
    return compiled_method(name, lambda: loop_text(method), [Path(__file__)], ENTRIES)


def _hold(f: Routine, row: Value, k: Value, i: Value) -> Value:
    """Emit: write a stage's inputs into the memory, and the directions behind the state.

    Return the offset of these inputs in ``held``.
    """
    moves, place = f.vector("moves"), f.vector("place")
    with f.each(f["moved"]) as j:
        place[f["states"] + j] = moves[(row * f["steps"] + k) * f["moved"] + j]
    first = row * f["row_inputs"] + k * f["step_inputs"] + i * f["stage_inputs"]
    held, memory = f.vector("held"), f.vector("memory")
    with f.each(f["inputs"]) as j:
        memory[f.index("places", j)] = held[first + j]
    return first


def _stored_state(f: Routine, slot: Value, i: Value) -> Span:
    """Return the kept state of stage i in a slot; an i beyond the stages is a state before a correction."""
    return Span(f, f.vector("stored").at((slot * (f["stages"] + f["settles"]) + i) * f["states"]))


class _KeptSteps(StepRoutine):
    """The function of (row, k, slot) that advances ``x`` by step k and, if slot ≥ 0, keeps its stages."""

    evaluated = 0  # stages of the step that is being written

    def width(self) -> Value:
        return self["states"] + self["costs"]

    def derivatives(self, t: Value, state: Span, result: Span) -> None:
        row, k, slot = (self.argument(i) for i in (1, 2, 3))
        place, i = self.vector("place"), self.whole(self.evaluated)
        self.copy(self["states"], state, place)
        with self.when(slot >= 0):
            self.copy(self["states"], place, _stored_state(self, slot, i))
        _hold(self, row, k, i)
        self.evaluate("rates", t, place, result)
        self.evaluated += 1


def _step(module: IRModule, method: Method) -> Routine:
    f = _KeptSteps(module, LAYOUT, method, "adjoint_step", WHOLE, WHOLE, WHOLE)
    k, slot = f.argument(2), f.argument(3)
    n, x, place = f["states"], f.vector("x"), f.vector("place")
    t, h = f.vector("times")[k], f.vector("lengths")[k]
    f.step(t, h, x, x)
    with f.each(f["settles"]) as i:
        with f.when(slot >= 0):
            f.copy(n, x, _stored_state(f, slot, i + f.stages))
        f.copy(n, x, place)
        f.evaluate("settle", t + h, place, f.vector("pulled"))
        f.copy(n, f.vector("pulled"), x)
    f.give()
    return f


def _step_back(module: IRModule) -> Routine:
    """Emit the function of (row, k, slot) that turns ``back``, λ⁺ after step k, into λ before it."""
    f = routine(module, LAYOUT, "adjoint_step_back", NOTHING, WHOLE, WHOLE, WHOLE)
    row, k, slot = (f.argument(i) for i in (1, 2, 3))
    n, s, settles = f["states"], f["stages"], f["settles"]
    width = n + f["inputs"] + f["parameters"]
    place, pulled, back, shares = (f.vector(name) for name in ("place", "pulled", "back", "shares"))
    t, h = f.vector("times")[k], f.vector("lengths")[k]
    a, b, c = f.vector("a"), f.vector("b"), f.vector("c")
    weights = Span(f, place.at(n))
    by_parameters = f.vector("by_parameters", row * f["parameters"])
    with f.each(settles) as i:
        first = _hold(f, row, k, s - 1)
        f.copy(n, _stored_state(f, slot, s + settles - 1 - i), place)
        f.copy(n, back, weights)
        f.evaluate("settle_pull", t + h, place, pulled)
        f.copy(n, pulled, back)
        _add_shares(f, first, by_parameters, pulled)
    with f.each(s) as later:
        i = s - 1 - later
        f.copy(n, _stored_state(f, slot, i), place)
        share = h * b[i]
        with f.each(n) as e:
            weights[e] = share * back[e]
        with f.each(later) as e:
            j = s - 1 - e
            factor = a[j * s + i]
            with f.when(factor.differs(0.0)):
                own, part = Span(f, shares.at(j * width)), h * factor
                with f.each(n) as r:
                    weights[r] = weights[r] + part * own[r]
        with f.each(f["costs"]):
            weights[n] = share * f.vector("cost_seed")[row]
        first, found = _hold(f, row, k, i), Span(f, shares.at(i * width))
        f.evaluate("pull", t + h * c[i], place, found)
        _add_shares(f, first, by_parameters, found)
    with f.each(s) as i:
        own = Span(f, shares.at(i * width))
        with f.each(n) as e:
            back[e] = back[e] + own[e]
    f.give()
    return f


def _add_shares(f: Routine, first: Value, by_parameters: Span, found: Span) -> None:
    """Emit: add the parts of a pullback for inputs and parameters to ``by_inputs`` and ``by_parameters``."""
    n, m, by_inputs = f["states"], f["inputs"], f.vector("by_inputs")
    with f.each(m) as j:
        by_inputs[first + j] = by_inputs[first + j] + found[n + j]
    with f.each(f["parameters"]) as j:
        by_parameters[j] = by_parameters[j] + found[n + m + j]


def _begin(f: Routine, row: Value) -> None:
    """Emit: set constants and start of a run; keep the first sample."""
    n, own = f["states"], f.vector("constants")
    everything, x = f.vector("all_constants"), f.vector("x")
    with f.each(f["row_constants"]) as i:
        own[i] = everything[row * f["row_constants"] + i]
    f.copy(n, f.vector("start", row * n), x)
    with f.each(f["costs"]):
        x[n] = f.real(0.0)
    _sample(f, row, f.whole(0))


def _sample(f: Routine, row: Value, k: Value) -> None:
    """Emit: keep the state after k steps, if it is a sample."""
    place = f.index("kept", k)
    with f.when(place >= 0):
        f.copy(f["states"], f.vector("x"), f.vector("out", (row * f["samples"] + place) * f["states"]))


def _seed(f: Routine, row: Value, k: Value) -> None:
    """Emit: if the state after k steps is a sample, add the scalar's derivative by it (``seeds``) to λ."""
    place, back = f.index("kept", k), f.vector("back")
    with f.when(place >= 0):
        own = f.vector("seeds", (row * f["samples"] + place) * f["states"])
        with f.each(f["states"]) as e:
            back[e] = back[e] + own[e]


def _run_rows(module: IRModule, step: Routine) -> None:
    f = routine(module, LAYOUT, "run_rows", NOTHING, public=True)
    with f.each(f["rows"]) as row:
        _begin(f, row)
        with f.each(f["steps"]) as k:
            f.run(step, row, k, f.whole(-1))
            _sample(f, row, k + 1)
        with f.each(f["costs"]):
            f.vector("cost")[row] = f.vector("x")[f["states"]]
    f.give()


def _keep_run(module: IRModule, step: Routine) -> Routine:
    """Emit the function of (row) that makes a run, with checkpoints and the stages of its last segment."""
    f = routine(module, LAYOUT, "adjoint_keep", NOTHING, WHOLE)
    row = f.argument(1)
    n, length = f["states"], f["segment"]
    width, last = n + f["costs"], f["segments"] - 1
    x, checkpoints = f.vector("x"), f.vector("checkpoints")
    _begin(f, row)
    with f.each(f["segments"]) as segment:
        first = segment * length
        f.copy(width, x, Span(f, checkpoints.at(segment * width)))
        with f.each(_steps_of(f, first)) as i:
            slot = Local(f, f.whole(-1))
            with f.when(segment >= last):
                slot.set(i)
            f.run(step, row, first + i, slot.get())
            _sample(f, row, first + i + 1)
    with f.each(f["costs"]):
        f.vector("cost")[row] = x[n]
    f.give()
    return f


def _run_back(module: IRModule, step: Routine, back: Routine) -> Routine:
    """Emit the function of (row) that computes derivatives by start, inputs, parameters from ``seeds``."""
    f = routine(module, LAYOUT, "adjoint_back", NOTHING, WHOLE)
    row = f.argument(1)
    n, length = f["states"], f["segment"]
    width, last = n + f["costs"], f["segments"] - 1
    x, found, checkpoints = f.vector("x"), f.vector("back"), f.vector("checkpoints")
    with f.each(n) as e:
        found[e] = f.real(0.0)
    with f.each(f["segments"]) as later:
        segment = last - later
        first = segment * length
        count = _steps_of(f, first)
        with f.when(later > 0):
            f.copy(width, Span(f, checkpoints.at(segment * width)), x)
            with f.each(count) as i:
                f.run(step, row, first + i, i)
        with f.each(count) as e:
            i = count - 1 - e
            _seed(f, row, first + i + 1)
            f.run(back, row, first + i, i)
    _seed(f, row, f.whole(0))
    f.copy(n, found, f.vector("by_start", row * n))
    f.give()
    return f


def _pull_rows(module: IRModule, step: Routine, step_back: Routine) -> None:
    keep, back = _keep_run(module, step), _run_back(module, step, step_back)
    f = routine(module, LAYOUT, "pull_rows", NOTHING, public=True)
    with f.each(f["rows"]) as row:
        f.run(keep, row)
        f.run(back, row)
    f.give()
    for name, part in (("keep_one", keep), ("back_one", back)):
        f = routine(module, LAYOUT, name, NOTHING, public=True)
        f.run(part, f.whole(0))
        f.give()


def _steps_of(f: Routine, first: Value) -> Value:
    """Return the number of steps in a segment; the last one may be shorter."""
    rest, found = f["steps"] - first, Local(f, f["segment"])
    with f.when(rest < found.get()):
        found.set(rest)
    return found.get()
