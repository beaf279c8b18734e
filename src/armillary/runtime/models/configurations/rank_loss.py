"""Errors for runs that end at a place where the constraints lose rank (runtime/solver/passages.py)."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from armillary.errors import ArmillaryError
from armillary.program.targets.targets import CONSTRAINT_RANK
from armillary.runtime.integrators.records import Integration
from armillary.runtime.loop.thresholds.change_thresholds import NO_STRENGTH
from armillary.runtime.models.instance import Instance
from armillary.runtime.start.place import Place


def refuse_place(instance: Instance, t: float) -> NoReturn:
    """An error for a place that no step leads across."""
    if instance.equations.system.prescriptions:
        cause = "a loop cannot follow what is prescribed any further: look where its points have to go"
    else:
        cause = (
            "if directions of close_loop() are fixed in different bodies, they may have become parallel: "
            "give directions of one body"
        )
    raise ArmillaryError(
        f"the constraints of '{instance.equations.system.name}' lose rank near t = {t:.6g} s "
        f"and the motion could not be carried across; {cause}"
    )


def refuse(instance: Instance, result: Integration) -> NoReturn:
    """An error for a run that ended where no step leads across, or where an event cannot happen."""
    k, t, system = result.refused_event, result.t_stop, instance.equations.system
    assert k is not None
    event = instance.equations.targets.watched[k]
    if event.name == CONSTRAINT_RANK:
        refuse_place(instance, t)
    raise ArmillaryError(
        f"event '{event.name}' changes the motion at t = {t:.6g} s, in a place where the constraints of "
        f"'{system.name}' lose rank: there the motion cannot begin anew, for its accelerations are not "
        "determined; let the event happen a little earlier or later"
    )


def refuse_choice(instance: Instance, place: Place) -> None:
    """An error where other dependent speeds are required so near a place where rank is lost that none are
    better: a run that went on with others would leave its branch of motion there.
    """
    weak = instance.equations.reduction.strength is not None
    if weak and instance.strength(place.t, instance.packed(place), place.memory) <= NO_STRENGTH:
        refuse_place(instance, place.t)


def refuse_derivatives(instance: Instance, t: float) -> NoReturn:
    """An error for derivatives of a motion that leads across a place."""
    raise ArmillaryError(
        f"the constraints of '{instance.equations.system.name}' lose rank near t = {t:.6g} s, and "
        "the derivatives of the motion cannot be carried across; end the run before, or start beyond"
    )


def horizon(instance: Instance, place: Place, distance: float) -> float:
    """Seconds in which a motion covers a distance, in radians or lengths of its quickest coordinate."""
    rate = np.abs(instance.derivatives(place.t, instance.packed(place), place.memory))
    n = len(place.q)
    fast, quickens = (float(np.max(part, initial=1e-300)) for part in (rate[:n], rate[n:]))
    found: float = min(distance / fast, (2 * distance / quickens) ** 0.5)
    return found
