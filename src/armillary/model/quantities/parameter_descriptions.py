"""Descriptions of parameters that the analyst left without one, from where they stand.

A parameter is called by its first place in the description, and by how it stands there:

    mass="m"                          m     mass of body A
    at=(0, 0, "-h")                   h     negative z coordinate of the joint of body A
    "-k*(x - x0) - c*v"  of strut S   k     stiffness in strut S
                                      x0    free length in strut S
                                      c     damping in strut S

Source: Sayers (1990), Table 9.1.1, where each parameter of the car is so named; the words are our own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from armillary.algebra.expression import Expr, as_expr
from armillary.algebra.triples import Scalar
from armillary.algebra.units import FORCE, LENGTH, MOMENT, RATE, SPEED, Dimension
from armillary.algebra.walk import operands_first, symbols
from armillary.model.bodies.body import Body
from armillary.model.description import Description
from armillary.model.recording.records import Load
from armillary.model.units.deduced_units import parameter_dimensions

_AXES = "xyz"
_UNNAMED = ("origin", "com")  # points that every body has, described as what they are


class _ParameterUse(NamedTuple):
    """An expression of the description and what it is, in words."""

    expression: Expr
    phrase: str
    load: Load | None = None


def parameter_descriptions(system: Description) -> dict[str, str]:
    """The meaning of every parameter: as stated, else by the first use; empty for unused ones."""
    found = {name: node.data.about for name, node in system.parameters.items()}
    open_ones = {node for name, node in system.parameters.items() if not found[name]}
    if not open_ones:
        return found
    dimensions = parameter_dimensions(system)
    uses = [(place, symbols(place.expression)) for place in _places(system)]
    # A place that holds nothing but the parameter means most: gravity, rather than the divisor in a mass.
    for place, held in [*((p, h) for p, h in uses if _alone(p.expression)), *uses]:
        for parameter in held:
            if parameter in open_ones:
                dimension = parameter.dimension or dimensions.get(parameter)
                found[parameter.data.name] = _described(parameter, place, dimension)
                open_ones.discard(parameter)
    return found


def _alone(expression: Expr) -> bool:
    """Whether an expression is a symbol or its negative."""
    node = _inner(expression)
    negative = node.kind == "product" and node.data == (-1, (1,))
    return (_inner(node.args[0]) if negative else node).kind == "symbol"


# ------------------------------------------------------------------------------------------------- places


def _places(system: Description) -> Iterator[_ParameterUse]:
    """Everything that a parameter may stand in, the most informative first."""
    for body in system.bodies.values():
        yield from _body_places(body)
        yield from _direction_places(body)
    for gravity in system.gravities:
        yield _ParameterUse(gravity.magnitude, "acceleration of gravity")
    for load in system.loads.values():
        kind = "strut" if load.collinear else load.kind
        yield _ParameterUse(load.magnitude, f"{kind} {load.name}", load)
    for attractor in system.attractors.values():
        yield _ParameterUse(attractor.mu, f"gravitational parameter of {attractor.name}")
        yield from _triple(attractor.place, "{} coordinate of " + attractor.name)
        if attractor.radius is not None:
            yield _ParameterUse(attractor.radius, f"radius of {attractor.name}")
        yield _ParameterUse(as_expr(attractor.J2), f"oblateness of {attractor.name}")
    for name, (place, rate) in system.centres.items():
        yield from _triple(place, "initial {} coordinate of the mass centre of body " + name)
        yield from _triple(rate, "initial {} velocity of the mass centre of body " + name)
    for given in system.prescriptions.values():
        if given.position is not None and given.coordinate is not None:
            yield _ParameterUse(given.position, f"prescribed coordinate {given.coordinate.data.name}")
        yield _ParameterUse(given.value, f"prescribed speed {given.speed.data.name}")
    for speed, inertia in system.armatures.items():
        yield _ParameterUse(inertia, f"armature of {speed.data.name}")
    for constraint in system.constraints.values():
        held = constraint.speed if constraint.position is None else constraint.position
        yield _ParameterUse(held, f"constraint {constraint.name}")
    for memory in system.memories.values():
        if memory.update is not None:
            yield _ParameterUse(memory.update, f"update of memory {memory.symbol.data.name}")
    for state in system.states.values():
        if state.rate is not None:
            yield _ParameterUse(state.rate, f"rate of state {state.symbol.data.name}")
    for event in system.events.values():
        yield _ParameterUse(event.expression, f"condition of event {event.name}")
        for target, value in event.changes.items():
            yield _ParameterUse(value, f"new value of {target.data.name} at event {event.name}")
    for output in system.outputs.values():
        yield _ParameterUse(output.expression, f"output {output.name}")


def _body_places(body: Body) -> Iterator[_ParameterUse]:
    parent = body.parent.name if body.parent is not None else "ground"
    yield _ParameterUse(body.mass, f"mass of body {body.name}")
    for i, row in enumerate(body.inertia):
        for j, element in enumerate(row[i:], i):
            about = f"about its {_AXES[i]} axis" if i == j else f"for its {_AXES[i]} and {_AXES[j]} axes"
            kind = "moment" if i == j else "product"
            yield _ParameterUse(element, f"{kind} of inertia of body {body.name} {about}")
    yield from _triple(body.com_coordinates, "{} coordinate of the mass centre of body " + body.name)
    yield from _triple(body.at, "{} coordinate of the joint of body " + f"{body.name} in {parent}")
    for point in body.points.values():
        if point.name not in _UNNAMED:
            yield from _triple(point.coordinates, "{} coordinate of point " + f"{body.name}.{point.name}")


def _direction_places(body: Body) -> Iterator[_ParameterUse]:
    for row in body.orient or ():
        for element in row:
            yield _ParameterUse(as_expr(element), f"orientation of body {body.name}")
    for step in body.assembly.steps:
        axis = getattr(step, "axis", None)  # a letter's place where a node turns: no parameter in it
        for component in axis if isinstance(axis, tuple | list) else ():
            yield _ParameterUse(as_expr(component), f"axis of the joint of body {body.name}")


def _triple(values: Iterable[Scalar], phrase: str) -> Iterator[_ParameterUse]:
    for axis, value in zip(_AXES, values, strict=True):
        yield _ParameterUse(as_expr(value), phrase.format(axis))


# ---------------------------------------------------------------------------------------- how it stands there


def _described(parameter: Expr, place: _ParameterUse, dimension: Dimension | None) -> str:
    """The words for a parameter in an expression: found on the way from the whole down to it."""
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
    """The node behind names that were given to it."""
    while node.kind == "let":
        node = node.args[0]
    return node


def _holders(parameter: Expr, root: Expr) -> set[Expr]:
    """Nodes of an expression that hold the parameter."""
    found = {parameter}
    for node in operands_first([root]):
        if any([a in found for a in node.args]):
            found.add(node)
    return found


def _as_term(parameter: Expr, node: Expr, place: _ParameterUse, dimension: Dimension | None) -> str:
    """A parameter added to something: the zero of what it is compared with, if that is a joint or a strut."""
    others = [a for a in node.args if a is not parameter]
    lengths = [a for a in others if a.kind == "let" and place.load is not None
               and a.data == f"{place.load.name}_length"]  # fmt: skip
    if lengths and dimension in (LENGTH, None):
        return "free length in"
    joints = [a for a in others if a.kind == "symbol" and a.data.role in ("coordinate", "speed")]
    return f"reference of {joints[0].data.name} in" if len(joints) == 1 else "term in"


def _as_factor(
    parameter: Expr, node: Expr, exponent: float, place: _ParameterUse, dimension: Dimension | None
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
    # A moment per angle has the dimension of a moment: what it multiplies decides.
    roles = {s.data.role for a in partners for s in symbols(a)} - {"parameter"}
    stiff = dimension is FORCE / LENGTH if whole is FORCE else dimension is MOMENT and roles == {"coordinate"}
    return "stiffness in" if stiff else "coefficient in"
