"""The hand that pulls at a body of a live page: forces and moments from outside on every body.

The page holds a point r of a body by a spring and a damper, F = k (p − x) − c ẋ, with p the pointer and x the
point in the ground. In the equations a body has a force F on its origin and a moment T = r × F, both in its
own axes, as six inputs: that adds six terms to the loads of a body and no rotation.
"""

from __future__ import annotations

from armillary.algebra.units import FORCE, MOMENT
from armillary.model.bodies.body import Body
from armillary.model.loads.forces import force, moment
from armillary.model.recording.snapshot import changeable
from armillary.model.signals.memory import input as declare
from armillary.program.derive import derive
from armillary.program.equations import DerivedEquations
from armillary.program.functions import moving_bodies

_AXES = "xyz"


def hand_names(place: int) -> list[str]:
    """Inputs of the hand on a body, by its place among those that move: force, then moment, in its axes."""
    return [f"hand_{what}_{axis}_{place}" for what in ("force", "moment") for axis in _AXES]


def with_hand(equations: DerivedEquations) -> DerivedEquations:
    """The equations of the same system with the hand's loads on every body that moves."""
    system = changeable(equations.system)
    for place, moving in enumerate(moving_bodies(equations)):
        body: Body = system.bodies[moving.name]
        for i, load in enumerate(hand_names(place)):
            units = system.units.unit_text(FORCE if i < 3 else MOMENT)
            magnitude = declare(system, load, 0.0, units=units)
            direction = getattr(body, _AXES[i % 3])
            if i < 3:
                force(system, f"{load}_load", magnitude, direction, at=body.origin)
            else:
                moment(system, f"{load}_load", magnitude, direction, on=body)
    return derive(system, equations.formalism, configuration=equations.configuration, **equations.options)
