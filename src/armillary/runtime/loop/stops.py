"""Times at which inputs over time jump: steps end there, and the next one begins beyond the jump.

A step to a stop s has the length s − δ − t with δ of a few roundings, so that all its stages see the input
before the jump; then the time is s, where the input is that after the jump, and the derivative is computed
anew. Without this every method has first order across a jump: its last stage takes the value that belongs to
the next step.
"""

from __future__ import annotations

from dataclasses import dataclass

from armillary.llvm.builder import Value, Variable
from armillary.runtime.loop.formulas import EPSILON
from armillary.runtime.loop.functions import LoopFunction
from armillary.runtime.loop.layout import SNAP

ROUNDINGS = 4.0  # δ, in units of the last place of the time


@dataclass(frozen=True)
class Reached:
    """Where a step leads: its length, the time after it, and that at which its last stage is evaluated.

    ``stop``: whether it ends at a stop; for a fixed step, at one before the next grid point.
    """

    h: Value
    t: Value
    before: Value
    stop: Value | None = None


def before_stop(t: float, stop: float, rounding: float = EPSILON) -> float:
    """The time just before a stop at which the last stage of a step from t is evaluated."""
    return stop - ROUNDINGS * rounding * max(abs(t), abs(stop))


def _to_stop(f: LoopFunction, stop: Value) -> Value:
    t = f["t"]
    return (stop - t) - ROUNDINGS * EPSILON * f.most(f.magnitude(t), f.magnitude(stop))


def stopped_step(f: LoopFunction, h: Value, t_new: Value) -> Reached:
    """An adaptive step of length h to t_new, shortened where a stop comes first. One that a sliver would
    follow is lengthened, as before the end of a run.
    """
    t, stop = f["t"], f.outside("stops")[f["stop_index"]]
    met = (stop - t <= f.least(1.01 * h, (1 + 1e-9) * f["max_step"])) & (stop < f["t_end"])
    h = f.choose(met, _to_stop(f, stop), h)
    return Reached(h, f.choose(met, stop, t_new), f.choose(met, t + h, t_new), met)


def stopped_fixed_step(f: LoopFunction, target: Value, h: Value) -> Reached:
    """A fixed step, shortened where a stop comes before its grid point; a stop that differs from the grid
    point by rounding alone is met there.
    """
    stop, near = f.outside("stops")[f["stop_index"]], SNAP * f["step"]
    met = stop <= target + near
    inside = met & (stop < target - near)
    h = f.choose(met, _to_stop(f, f.least(stop, target)), h)
    t_new = f.choose(inside, stop, f.choose(met, f.most(stop, target), target))
    return Reached(h, t_new, f.choose(met, f["t"] + h, t_new), inside)


def pass_stops(f: LoopFunction) -> None:
    """Stops at the time reached are behind; the derivative kept for the next step is not valid there."""
    index = Variable(f, f["stop_index"])
    with f.repeat() as loop:
        with f.when(f.outside("stops")[index.get()] > f["t"]):
            loop.leave()
        index.set(index.get() + 1)
        f["restart"] = 1
    f["stop_index"] = index.get()
