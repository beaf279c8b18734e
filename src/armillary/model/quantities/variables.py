"""Symbols of a description that stand for quantities of its motion."""

from __future__ import annotations

from typing import TYPE_CHECKING

from armillary.algebra.expression import Expr, symbol
from armillary.algebra.units import FORCE, MOMENT, RATE

if TYPE_CHECKING:
    from armillary.model.bodies.body import Body
    from armillary.model.description import Description


def variables(system: Description) -> list[Expr]:
    """Symbols that stand for quantities of the motion; those of all joints' reactions too."""
    forces = [c.force for c in system.constraints.values()]
    joints = [s for body in system.bodies.values() for s in reaction_symbols(system, body)]
    efforts = [effort_symbol(system, u) for u in system.speeds]
    memories = [m.symbol for m in system.memories.values()]
    return [*system.moving(), *system.accelerations.values(), *memories, *forces, *joints, *efforts]


def reaction_symbols(system: Description, body: Body) -> tuple[Expr, ...]:
    """Components of the force and the moment of a body's joint on the body, in its axes."""
    if body.name not in system.reactions:
        system.reactions[body.name] = tuple(
            symbol(f"{body.name} joint {what} {axis}", "variable", dimension=dimension, owner=system.identity)
            for what, dimension in (("force", FORCE), ("moment", MOMENT))
            for axis in "xyz"
        )
    return system.reactions[body.name]


def effort_symbol(system: Description, speed: Expr) -> Expr:
    """The force or moment along a speed that keeps it as it is given."""
    if speed not in system.efforts:
        dimension = MOMENT if speed.dimension is RATE else FORCE
        system.efforts[speed] = symbol(
            f"effort of {speed}",
            "variable",
            dimension=dimension,
            owner=system.identity,
            about=f"effort along {speed}",
        )
    return system.efforts[speed]
