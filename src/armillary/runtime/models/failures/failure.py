"""Runs that had to stop, or cannot start: what failed, where, and what would help.

At a place where some motion moves no mass a run divides by rounding errors: it may end with plausible
numbers, or not at all, in steps of 1e-10 s. Of joints with three angles the place is known beforehand. The
mass matrix itself takes long and is looked at only there, since constraints, or an angle that is given or
locked, may hold the loose motion, and for any system where steps of an adaptive method get nowhere at the
start. Such places on the way of a run are found in weak_masses.py.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from armillary.algebra.walk import symbols
from armillary.errors import SimulationError
from armillary.mechanics.contact.decision import IMPULSES, OVERLAPS
from armillary.model.recording.records import AMBIGUOUS, FAILED, JAMMED, JAMS, WITHOUT_REBOUND
from armillary.runtime.integrators import Integration
from armillary.runtime.loop.thresholds.mass_thresholds import NOWHERE
from armillary.runtime.models.failures.weak_masses import weak_start, weakness
from armillary.runtime.models.programs.instance import Instance
from armillary.runtime.start.place import Place
from armillary.untyped import Given

_REMEDIES = {
    "diverged": "a value is no longer finite: look for a singularity, or check the loads and parameters",
    "step too small": "no step is small enough for the tolerance: look for a singularity or a stiff part "
    "(method='rodas5p'), or loosen rtol and atol",
    "too many steps": "raise max_steps, or loosen rtol and atol; for a stiff part use method='rodas5p'",
    "too many rows": "give sample=, the time between rows",
}
_REMEDIES_FIXED_STEP = _REMEDIES | {
    "diverged": "a value is no longer finite: use a smaller step or check the loads and parameters",
    "too many steps": "raise max_steps, or use a larger step",
}
_OUT_OF_REACH = "; or a loop cannot follow what is prescribed any further: look where its points have to go"
_ACCUMULATES = "its effects come faster and faster; end the run there with stop=True, or use a contact force"


def raise_for(result: Integration, run: Given, instance: Instance, adaptive: bool) -> None:
    """An error for a run that had to stop, with the data so far."""
    if said := stuck_contacts(result, instance):
        raise SimulationError(f"{said}; the data so far are in the error's .run", run)
    culprit = _culprit(result, instance)
    if result.status == "events accumulate":
        what = f"event '{culprit}' accumulates at t = {result.t_stop:.6g} s: {_ACCUMULATES}"
    elif result.status in _REMEDIES:
        remedy = (_REMEDIES if adaptive else _REMEDIES_FIXED_STEP)[result.status]
        system = instance.equations.system
        if system.constraints and system.prescriptions:
            remedy += _OUT_OF_REACH
        remedy += "".join(f"; {said}" for said in _complaints(instance))
        if result.status in ("diverged", "step too small"):
            remedy = _unbounded_parameters(instance, run) or weakness(instance, result)[1] or remedy
        where = f" in '{culprit}'" if culprit else ""
        what = (
            f"simulation of '{run.system}' stopped at t = {result.t_stop:.6g} s "
            f"({result.status}{where}): {remedy}"
        )
    else:
        return
    raise SimulationError(f"{what}; the data so far are in the error's .run", run)


def stuck_contacts(result: Integration, instance: Instance) -> str:
    """Why no forces, or impulses, of contacts without compliance were admissible; "" where all was well."""
    system = instance.equations.system
    if not system.contacts:
        return ""
    stored = dict(zip(system.memories, result.final_memory.tolist(), strict=False))
    if not stored[FAILED]:
        return ""
    ways = {0: "is open", 1: "sticks", 2: "slides", -2: "slides", JAMS: "jams"}
    watched = instance.equations.targets.watched
    names = ", ".join(
        f"'{c.name}' {ways.get(int(stored[c.status.data.name]), 'begins')}" for c in system.contacts.values()
    )
    event = f" at event '{watched[result.events[-1][1]].name}'" if result.events else ""
    if stored[FAILED] == OVERLAPS:
        return f"contacts overlap at the start ({names}); start with every gap at zero or above"
    if stored[FAILED] == IMPULSES:
        return (
            f"no impulses are admissible in the impact at t = {result.t_stop:.6g} s{event} ({names}); use "
            "law='poisson', another friction=, or give the contacts a stiffness="
        )
    return (
        f"no forces are admissible at t = {result.t_stop:.6g} s{event} ({names}): a contact that slides can "
        "neither press on its surface nor leave it (Painlevé's paradox); use a smaller friction=, or give it "
        "a stiffness="
    )


def doubtful_contacts(result: Integration, instance: Instance) -> str:
    """How often contacts had more than one admissible outcome, or none, in words; "" for never."""
    system = instance.equations.system
    if AMBIGUOUS not in system.memories:
        return ""
    names = list(system.memories)
    told = (
        (AMBIGUOUS, "change", "of contact may have more than one admissible outcome, since the friction of a "
         "sliding contact makes its normal force grow (Painlevé's paradox); the one nearest to the statuses "
         "before was taken"),
        (JAMMED, "impact", "without collision: a contact that slid could neither press on its surface nor "
         "leave it, or its force grew without bound (Painlevé's paradox), so an impulse stopped it"),
        (WITHOUT_REBOUND, "impact", "without rebound, since rebounds contradicted each other or friction"),
    )  # fmt: skip
    counts = [int(result.final_memory[names.index(name)]) for name, _, _ in told]
    return "; ".join(
        f"{count} {what}{'s' if count > 1 else ''} {about}"
        for count, (_, what, about) in zip(counts, told, strict=True)
        if count
    )


def _unbounded_parameters(instance: Instance, run: Given) -> str:
    """The parameters with which a number made of parameters alone is not finite, "" where all are."""
    results = instance.equations.program.precompute.results
    known = {name for name, value in run.parameters.items() if np.isfinite(value)}
    names = [
        sorted(used)
        for x, value in zip(results, instance.constants, strict=False)
        if not np.isfinite(value) and (used := {s.data.name for s in symbols(x)}) <= known
    ]
    if not names:
        return ""
    values = ", ".join(f"{name} = {run.parameters[name]:g}" for name in min(names, key=len))
    return (
        f"a factor that is made of parameters alone is not finite with {values}; give other values, or "
        "describe the system so that nothing is divided by them"
    )


def _culprit(result: Integration, instance: Instance) -> str:
    """The event that accumulates, or the state that a run failed in: the one whose own rate is not finite,
    before those it spoiled.
    """
    if result.failed_event is not None:
        return instance.equations.targets.watched[result.failed_event].name
    if result.failed_state is None:
        return ""
    rates = instance.derivatives(result.t_stop, result.final_state, result.final_memory)
    strange = np.flatnonzero(~np.isfinite(rates))
    place = int(strange[0]) if strange.size and result.status == "diverged" else result.failed_state
    found: str = instance.equations.program.state[place].data.name
    return found


def _complaints(instance: Instance) -> list[str]:
    """Messages of imported FMUs that failed in this run."""
    memories = instance.equations.system.memories.values()
    handles = [m.start.data for m in memories if m.hidden and m.start is not None]
    # Handles of FMUs have it, whose package stands above this one.
    return [said for handle in handles if hasattr(handle, "complaint") and (said := handle.complaint())]


def refuse_locked(instance: Instance, start: Place) -> None:
    """Raise an error if a run would start with the axes of a joint in a plane."""
    for joint in instance.model.three_angles:
        if joint.is_locked(start.q[joint.middle]) and (why := weak_start(instance, start)):
            raise SimulationError(f"a run of '{instance.equations.system.name}' cannot start: {why}")


def watch_start(
    report: Callable[[float], None] | None, instance: Instance, start: Place, t_end: float
) -> Callable[[float], None]:
    """Return ``report`` with a check at its first call: has a motion without mass stopped the run?"""
    first = True

    def report_time(t: float) -> None:
        nonlocal first
        if first and t - start.t < NOWHERE * (t_end - start.t) and (why := weak_start(instance, start)):
            raise SimulationError(f"simulation of '{instance.equations.system.name}' does not advance: {why}")
        first = False
        if report is not None:
            report(t)

    return report_time
