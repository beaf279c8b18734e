"""Forces that joints and constraints exert, as quantities for outputs.

They are known once the accelerations are, so they stand in outputs, events and memory updates as symbols that
the derivation replaces; a model that uses none has no cost from them. Loads cannot depend on them.
"""

from __future__ import annotations

from armillary.algebra.expression import Expr
from armillary.algebra.vectors import Vector
from armillary.errors import ModelError
from armillary.model.bodies.body import Body
from armillary.model.description import Description
from armillary.model.quantities.variables import effort_symbol, reaction_symbols
from armillary.model.reading.references import find_body, find_speed
from armillary.model.recording.verbs import quantity


@quantity(arguments=1)
def reaction_force(system: Description, body: object) -> Vector:
    """Force of a body's joint on the body, from its parent, at the body's origin."""
    found = _jointed_body(system, body, "reaction_force")
    return found.frame.vector(reaction_symbols(system, found)[:3])


@quantity(arguments=1)
def reaction_moment(system: Description, body: object) -> Vector:
    """Moment of a body's joint on the body, from its parent, about the body's origin."""
    found = _jointed_body(system, body, "reaction_moment")
    return found.frame.vector(reaction_symbols(system, found)[3:])


@quantity(arguments=1)
def effort(system: Description, variable: object) -> Expr:
    """Force or moment that keeps a prescribed or locked coordinate or speed as it is given."""
    return effort_symbol(system, find_speed(system, variable, "effort"))


def _jointed_body(system: Description, body: object, verb: str) -> Body:
    found = find_body(system, body, verb)
    if found is system.ground:
        raise ModelError(f"{verb}: the ground has no joint; name a body")
    return found
