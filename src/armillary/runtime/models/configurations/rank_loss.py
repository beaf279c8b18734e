"""Errors for runs that end at a place where the constraints lose rank: solver/singularities/passages.py."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from armillary.errors import ArmillaryError
from armillary.program.targets.targets import CONSTRAINT_RANK
from armillary.runtime.integrators.records import Integration
from armillary.runtime.loop.thresholds.change_thresholds import NO_STRENGTH, STRIDE
from armillary.runtime.models.programs.instance import Instance
from armillary.runtime.start.place import Place

TOO_NEAR = 2e-2  # sizes of motion from where a leg begins to a place that it cannot pass


def refuse_place(instance: Instance, t: float, begin: Place) -> NoReturn:
    """An error for a place that no step leads across, in a leg of a run from its beginning."""
    cause = _interruption(instance, t, begin)
    if not cause and instance.equations.system.prescriptions:
        cause = "a loop cannot follow what is prescribed any further: look where its points have to go"
    elif not cause:
        cause = (
            "if directions of close_loop() are fixed in different bodies, they may have become parallel: "
            "give directions of one body; if lengths are those of a mechanism that can fold but for 1e-11 to "
            "1e-6 of them, make them exactly so, or differ by more"
        )
    raise ArmillaryError(
        f"the constraints of '{instance.equations.system.name}' lose rank near t = {t:.6g} s "
        f"and the motion could not be carried across; {cause}"
    )


def _interruption(instance: Instance, t: float, begin: Place) -> str:
    """The reason for a step across that is too short for its accuracy: data that jump or bend near the place,
    or the beginning of the leg; "" where neither is near. Rounding grows with the third power of the
    distance.
    """
    rates, _ = instance.sized_rates(begin)
    usual = STRIDE / max(float(np.max(np.abs(rates), initial=0.0)), 1e-300)  # seconds
    pieces = instance.inputs.pieces if instance.inputs is not None else {}
    breaks = [(when, name) for name, p in pieces.items() for when in (*p.jumps(), *p.derivative().jumps())]
    apart, when, name = min(((abs(when - t), when, name) for when, name in breaks), default=(np.inf, 0.0, ""))
    if apart < usual:
        return (
            f"input '{name}' jumps or bends at t = {when:.6g} s, and no accurate step from before the place "
            "to beyond it leaves that out: let it be earlier or later"
        )
    if t - begin.t < TOO_NEAR / STRIDE * usual:
        return (
            f"the motion begins at t = {begin.t:.6g} s, so near before the place that rounding spoils a step "
            "across: begin farther before it, or beyond it"
        )
    return ""


def refuse(instance: Instance, result: Integration, begin: Place) -> NoReturn:
    """An error for a run that ended where no step leads across, or where an event cannot happen."""
    k, t, system = result.refused_event, result.t_stop, instance.equations.system
    assert k is not None
    event = instance.equations.targets.watched[k]
    if event.name == CONSTRAINT_RANK:
        refuse_place(instance, t, begin)
    raise ArmillaryError(
        f"event '{event.name}' changes the motion at t = {t:.6g} s, in a place where the constraints of "
        f"'{system.name}' lose rank: there the motion cannot begin again, for its accelerations are not "
        "determined; let the event happen a little earlier or later"
    )


def refuse_choice(instance: Instance, place: Place) -> None:
    """An error where other dependent speeds are required so near a place where rank is lost that none are
    better: a run that went on with others would leave its branch of motion there.
    """
    weak = instance.equations.reduction.strength is not None
    if weak and instance.strength(place.t, instance.pack_state(place), place.memory) <= NO_STRENGTH:
        refuse_place(instance, place.t, place)


def refuse_derivatives(instance: Instance, t: float) -> NoReturn:
    """An error for derivatives of a motion that leads across a place."""
    raise ArmillaryError(
        f"the constraints of '{instance.equations.system.name}' lose rank near t = {t:.6g} s, and "
        "the derivatives of the motion cannot be carried across; end the run before, or start beyond"
    )


def horizon(instance: Instance, place: Place, distance: float) -> float:
    """Seconds in which the quickest coordinate covers a distance, in terms of its size."""
    fast, quickens = (float(np.max(np.abs(part), initial=1e-300)) for part in instance.sized_rates(place))
    found: float = min(distance / fast, (2 * distance / quickens) ** 0.5)
    return found
