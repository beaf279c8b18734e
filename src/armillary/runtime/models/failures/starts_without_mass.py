"""Starts of runs at a place where some motion moves no mass: what a run divides by there is rounding error.

It may end with plausible numbers, or not at all, in steps of 1e-10 s. Of joints with three angles the place
is known beforehand. The mass matrix itself takes long and is looked at only there, since constraints, or an
angle that is given or locked, may hold what is loose, and for any system where steps of an adaptive method
get nowhere at the start. Such places on the way of a run are found in weak_masses.py.
"""

from __future__ import annotations

from collections.abc import Callable

from armillary.errors import SimulationError
from armillary.runtime.loop.thresholds.mass_thresholds import NOWHERE
from armillary.runtime.models.failures.weak_masses import weak_start
from armillary.runtime.models.programs.instance import Instance
from armillary.runtime.start.place import Place


def refuse_locked(instance: Instance, start: Place) -> None:
    """An error where a run would start with the axes of a joint in a plane."""
    for joint in instance.model.three_angles:
        if joint.locked(start.q[joint.middle]) and (why := weak_start(instance, start)):
            raise SimulationError(f"a run of '{instance.equations.system.name}' cannot start: {why}")


def watching_start(
    report: Callable[[float], None] | None, instance: Instance, start: Place, t_end: float
) -> Callable[[float], None]:
    """``report``, with an error at its first call where a motion without mass has stopped the run."""
    first = True

    def reached(t: float) -> None:
        nonlocal first
        if first and t - start.t < NOWHERE * (t_end - start.t) and (why := weak_start(instance, start)):
            raise SimulationError(f"simulation of '{instance.equations.system.name}' does not advance: {why}")
        first = False
        if report is not None:
            report(t)

    return reached
