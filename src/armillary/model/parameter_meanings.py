"""Descriptions and units of parameters for which the user stated none.

A parameter is described by its first use in the description of the system, and by its role there:

    mass="m"                          m     mass of body A
    at=(0, 0, "-h")                   h     negative z coordinate of the joint of body A
    "-k*(x - x0) - c*v"  of strut S   k     stiffness in strut S
                                      x0    free length in strut S
                                      c     damping in strut S

Units follow from the expressions that contain the parameter. Source: Sayers (1990), Table 9.1.1, which
describes each parameter of the car in this way, in other words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from armillary.algebra.deduction import deduce
from armillary.algebra.expression import Expr, as_expr
from armillary.algebra.triples import Scalar
from armillary.algebra.units import (
    ACCELERATION,
    ENERGY,
    FORCE,
    INERTIA,
    LENGTH,
    MASS,
    MOMENT,
    RATE,
    SPEED,
    Dimension,
    parse_unit,
)
from armillary.algebra.walk import operands_first, symbols
from armillary.model.bodies.body import Body
from armillary.model.description import Description, Load
from armillary.model.signals import rate_dimension
from armillary.model.space.attraction import GRAVITATION


def parameter_units(system: Description) -> dict[str, str]:
    """Return the units of every parameter by name, stated or deduced; "" if they are unknown.

    Uses that contradict each other are an error.
    """
    found = parameter_dimensions(system)
    return {
        name: node.data.units or (system.units.unit_text(found[node]) if node in found else "")
        for name, node in system.parameters.items()
    }


def parameter_dimensions(system: Description) -> dict[Expr, Dimension]:
    """Return the dimensions of symbols without stated dimensions, as far as they can be deduced."""
    return deduce(_demands(system))


def _demands(system: Description) -> list[tuple[Expr, Dimension | None, str]]:
    """Return expressions with the dimensions that their uses require."""
    demands: list[tuple[Expr, Dimension | None, str]] = []
    for body in system.bodies.values():
        demands.append((body.mass, MASS, f"mass of body '{body.name}'"))
        demands += [(e, INERTIA, f"inertia of body '{body.name}'") for row in body.inertia for e in row]
        demands += [(e, LENGTH, f"mass centre of body '{body.name}'") for e in body.com_coordinates]
        demands += [(e, LENGTH, f"place of body '{body.name}'") for e in body.at]
    for gravity in system.gravities:
        demands.append((gravity.magnitude, ACCELERATION, "gravity"))
    demands += _space_demands(system)
    for load in system.loads.values():
        demands.append(
            (load.magnitude, FORCE if load.kind == "force" else MOMENT, f"{load.kind} '{load.name}'")
        )
    for output in system.outputs.values():
        dimension = parse_unit(output.units).dimension if output.units else None
        demands.append((output.expression, dimension, f"output '{output.name}'"))
    for memory in system.memories.values():
        if memory.update is not None:
            demands.append(
                (memory.update, memory.symbol.dimension, f"update of memory '{memory.symbol.name}'")
            )
    for state in system.states.values():
        if state.rate is not None:
            demands.append((state.rate, rate_dimension(state.symbol), f"rate of state '{state.symbol.name}'"))
    for event in system.events.values():
        demands.append((event.expression, None, f"event '{event.name}'"))
        for target, value in event.changes.items():
            demands.append((value, target.dimension, f"event '{event.name}', new value of '{target.name}'"))
    for given in system.prescriptions.values():
        demands.append((given.value, given.speed.dimension, f"prescribed speed '{given.speed.name}'"))
    for speed, inertia in system.armatures.items():
        if speed.dimension is not None:
            dimension = ENERGY / (speed.dimension * speed.dimension)
            demands.append((inertia, dimension, f"armature of '{speed.name}'"))
    return demands


def _space_demands(system: Description) -> list[tuple[Expr, Dimension | None, str]]:
    demands: list[tuple[Expr, Dimension | None, str]] = []
    for attractor in system.attractors.values():
        where = f"attractor '{attractor.name}'"
        demands.append((attractor.mu, GRAVITATION, f"mu of {where}"))
        demands += [(x, LENGTH, f"'at' of {where}") for x in attractor.place]
        if attractor.radius is not None:
            demands.append((attractor.radius, LENGTH, f"radius of {where}"))
    for name, (place, rate) in system.centres.items():
        demands += [(x, LENGTH, f"position in start_mass_centre of body '{name}'") for x in place]
        demands += [(x, SPEED, f"velocity in start_mass_centre of body '{name}'") for x in rate]
    return demands


_AXES = "xyz"
_UNNAMED = ("origin", "com")  # points that every body has; their parameters are described by other uses


class ParameterUse(NamedTuple):
    """An expression of the description, and its meaning in words."""

    expression: Expr
    phrase: str
    load: Load | None = None


def parameter_descriptions(system: Description) -> dict[str, str]:
    """Return the description of every parameter by name: the stated one, or one from its first use; "" if it
    is unused.
    """
    found = {name: node.data.about for name, node in system.parameters.items()}
    open_ones = {node for name, node in system.parameters.items() if not found[name]}
    if not open_ones:
        return found
    dimensions = parameter_dimensions(system)
    uses = [(place, symbols(place.expression)) for place in parameter_uses(system)]
    # An expression that is the parameter alone describes it best: if a parameter is the acceleration of
    # gravity and also a divisor in a mass, it is described as the acceleration of gravity.
    for place, held in [*((p, h) for p, h in uses if _alone(p.expression)), *uses]:
        for parameter in held:
            if parameter in open_ones:
                dimension = parameter.dimension or dimensions.get(parameter)
                found[parameter.data.name] = _describe_use(parameter, place, dimension)
                open_ones.discard(parameter)
    return found


def _alone(expression: Expr) -> bool:
    """Return whether an expression is a symbol or its negative."""
    node = _inner(expression)
    negative = node.kind == "product" and node.data == (-1, (1,))
    return (_inner(node.args[0]) if negative else node).kind == "symbol"


# --------------------------------------------------------------------------------------------------- uses


def parameter_uses(system: Description, without: Body | None = None) -> Iterator[ParameterUse]:
    """Yield all expressions that may contain a parameter, the most informative ones first. Those of the body
    ``without`` (its mass, inertia, points and axes) are left out.
    """
    for body in system.bodies.values():
        if body is not without:
            yield from _body_places(body)
            yield from _direction_places(body)
    for gravity in system.gravities:
        yield ParameterUse(gravity.magnitude, "acceleration of gravity")
    for load in system.loads.values():
        kind = "strut" if load.collinear else load.kind
        yield ParameterUse(load.magnitude, f"{kind} {load.name}", load)
    for attractor in system.attractors.values():
        yield ParameterUse(attractor.mu, f"gravitational parameter of {attractor.name}")
        yield from _uses_in_triple(attractor.place, "{} coordinate of " + attractor.name)
        if attractor.radius is not None:
            yield ParameterUse(attractor.radius, f"radius of {attractor.name}")
        yield ParameterUse(as_expr(attractor.J2), f"oblateness of {attractor.name}")
    for name, (place, rate) in system.centres.items():
        yield from _uses_in_triple(place, "initial {} coordinate of the mass centre of body " + name)
        yield from _uses_in_triple(rate, "initial {} velocity of the mass centre of body " + name)
    for given in system.prescriptions.values():
        if given.position is not None and given.coordinate is not None:
            yield ParameterUse(given.position, f"prescribed coordinate {given.coordinate.data.name}")
        yield ParameterUse(given.value, f"prescribed speed {given.speed.data.name}")
    for speed, inertia in system.armatures.items():
        yield ParameterUse(inertia, f"armature of {speed.data.name}")
    for constraint in system.constraints.values():
        held = constraint.speed if constraint.position is None else constraint.position
        yield ParameterUse(held, f"constraint {constraint.name}")
    for memory in system.memories.values():
        if memory.update is not None:
            yield ParameterUse(memory.update, f"update of memory {memory.symbol.data.name}")
    for state in system.states.values():
        if state.rate is not None:
            yield ParameterUse(state.rate, f"rate of state {state.symbol.data.name}")
    for event in system.events.values():
        yield ParameterUse(event.expression, f"condition of event {event.name}")
        for target, value in event.changes.items():
            yield ParameterUse(value, f"new value of {target.data.name} at event {event.name}")
    for output in system.outputs.values():
        yield ParameterUse(output.expression, f"output {output.name}")
    for contact in system.contacts.values():
        parts = {"friction": contact.friction, "friction at rest": contact.held}
        parts |= {"restitution": contact.restitution, "gap": contact.gap}
        for part, expression in parts.items():
            if expression is not None:
                yield ParameterUse(expression, f"{part} of {contact.name}")


def _body_places(body: Body) -> Iterator[ParameterUse]:
    parent = body.parent.name if body.parent is not None else "ground"
    yield ParameterUse(body.mass, f"mass of body {body.name}")
    for i, row in enumerate(body.inertia):
        for j, element in enumerate(row[i:], i):
            about = f"about its {_AXES[i]} axis" if i == j else f"for its {_AXES[i]} and {_AXES[j]} axes"
            kind = "moment" if i == j else "product"
            yield ParameterUse(element, f"{kind} of inertia of body {body.name} {about}")
    yield from _uses_in_triple(body.com_coordinates, "{} coordinate of the mass centre of body " + body.name)
    yield from _uses_in_triple(body.at, "{} coordinate of the joint of body " + f"{body.name} in {parent}")
    for point in body.points.values():
        if point.name not in _UNNAMED:
            yield from _uses_in_triple(
                point.coordinates, "{} coordinate of point " + f"{body.name}.{point.name}"
            )


def _direction_places(body: Body) -> Iterator[ParameterUse]:
    for row in body.orient or ():
        for element in row:
            yield ParameterUse(as_expr(element), f"orientation of body {body.name}")
    for step in body.assembly.steps:
        axis = getattr(step, "axis", None)  # the axis of a node that turns is an index, without parameters
        for component in axis if isinstance(axis, tuple | list) else ():
            yield ParameterUse(as_expr(component), f"axis of the joint of body {body.name}")


def _uses_in_triple(values: Iterable[Scalar], phrase: str) -> Iterator[ParameterUse]:
    for axis, value in zip(_AXES, values, strict=True):
        yield ParameterUse(as_expr(value), phrase.format(axis))


# ---------------------------------------------------------------------------------------- role in its use


def _describe_use(parameter: Expr, place: ParameterUse, dimension: Dimension | None) -> str:
    """Return words for the role of a parameter in an expression and for the expression, such as "stiffness in
    strut S". The role is found on the path from the expression's root to the parameter.
    """
    holders = _holders(parameter, place.expression)
    node, negative, words = _inner(place.expression), False, ""
    while node is not parameter:
        if node.kind == "sum":
            coefficient, part = next(
                (c, a) for c, a in zip(node.data[1], node.args, strict=True) if a in holders
            )
            negative = not words and coefficient < 0
            words = _as_term(parameter, node, place, dimension) if _inner(part) is parameter else words
        elif node.kind == "product":
            exponent, part = next(
                (e, a) for e, a in zip(node.data[1], node.args, strict=True) if a in holders
            )
            negative = negative != (node.data[0] < 0)
            if _inner(part) is parameter and (len(node.args) > 1 or exponent != 1):
                words = _as_factor(parameter, node, exponent, place, dimension)
        else:  # a call: a function by name, a table or foreign code
            part = next(a for a in node.args if a in holders)
            words = "angle in" if node.data in ("sin", "cos", "tan") else "quantity in"
        node = _inner(part)
    whole = place.phrase if not words else f"{words} {place.phrase}"
    return f"negative {whole}" if negative and not words else whole


def _inner(node: Expr) -> Expr:
    """Return the node that named intermediate values (`let`) around it stand for."""
    while node.kind == "let":
        node = node.args[0]
    return node


def _holders(parameter: Expr, root: Expr) -> set[Expr]:
    """Return the nodes of an expression that contain the parameter."""
    found = {parameter}
    for node in operands_first([root]):
        if any([a in found for a in node.args]):
            found.add(node)
    return found


def _as_term(parameter: Expr, node: Expr, place: ParameterUse, dimension: Dimension | None) -> str:
    """Return words for a parameter that is a term of a sum: a free length, if another term is the length of a
    load; a reference, if another term is a coordinate or speed.
    """
    others = [a for a in node.args if a is not parameter]
    lengths = [a for a in others if a.kind == "let" and place.load is not None
               and a.data == f"{place.load.name}_length"]  # fmt: skip
    if lengths and dimension in (LENGTH, None):
        return "free length in"
    joints = [a for a in others if a.kind == "symbol" and a.data.role in ("coordinate", "speed")]
    return f"reference of {joints[0].data.name} in" if len(joints) == 1 else "term in"


def _as_factor(
    parameter: Expr, node: Expr, exponent: float, place: ParameterUse, dimension: Dimension | None
) -> str:
    if exponent < 0:
        return "divisor in"
    partners = [a for a in node.args if a is not parameter]
    if all(a.constant for a in partners):
        return "factor in"
    if place.load is None:
        return "coefficient in"
    whole = FORCE if place.load.kind == "force" else MOMENT
    if dimension is whole / (SPEED if whole is FORCE else RATE):
        return "damping in"
    # A moment per angle has the dimension of a moment, so whether the parameter is a stiffness is decided by
    # the other factors: it is if they are a coordinate.
    roles = {s.data.role for a in partners for s in symbols(a)} - {"parameter"}
    stiff = dimension is FORCE / LENGTH if whole is FORCE else dimension is MOMENT and roles == {"coordinate"}
    return "stiffness in" if stiff else "coefficient in"
