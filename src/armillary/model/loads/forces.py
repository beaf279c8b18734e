"""Loads: gravity, forces at points, moments on bodies, and struts between two points."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Annotated

from armillary.algebra import functions as fn
from armillary.algebra import vectors as vec
from armillary.algebra.arguments import item_count
from armillary.algebra.expression import Expr, as_expr
from armillary.algebra.intermediate import Signed
from armillary.algebra.units import ACCELERATION, FORCE, LENGTH, MOMENT, SPEED
from armillary.errors import ModelError, outside
from armillary.model.bodies import motion
from armillary.model.bodies.body import Body, BodyLike, Point, PointLike
from armillary.model.description import Description
from armillary.model.loads.line_force import line_variables
from armillary.model.reading.argument_types import ExpressionLike, GivenScalar, VectorLike
from armillary.model.reading.expressions import parse_text, read_expression
from armillary.model.reading.kinds import POINT, ListOf, Written
from armillary.model.reading.names import check_new_name
from armillary.model.reading.references import find_body, find_point, unit_direction
from armillary.model.reading.text_functions import argument_range
from armillary.model.recording.records import Gravity, Load
from armillary.model.recording.verbs import EntryForm, TableForm, verb

_UNIT = 0.01  # by which the square of a unit vector's length may differ from one: 0.577 is written for 1/√3
LAW = Written("an expression", x=LENGTH, v=SPEED)


@verb(TableForm("gravity", "a field of gravity"))
def gravity(system: Description, magnitude: ExpressionLike, direction: VectorLike) -> None:
    """A uniform gravity field: acceleration ``magnitude`` along ``direction``, fixed in the ground.

    The length of the direction does not count. Several fields add up.
    """
    value = read_expression(system, magnitude, "gravity", ACCELERATION)
    axis = load_direction(system, direction, "gravity")
    if any(frame is not system.ground.frame for frame, _ in axis.terms):
        raise ModelError(f"gravity: its direction {axis} must be fixed in the ground, e.g. -system.ground.y")
    system.gravities.append(Gravity(value, axis))


@verb(EntryForm("loads", key="force", argument="magnitude"))
def force(
    system: Description,
    name: str,
    magnitude: ExpressionLike,
    direction: VectorLike,
    *,
    at: PointLike,
    reaction: PointLike | None = None,
) -> Expr:
    """A force of this magnitude along a direction at a point; opposite at the reaction point, or on the
    reaction body along the same line of action. Without a reaction the ground takes it. ``at`` a body
    means at its origin. The length of the direction does not count; ``force_vector`` takes whole vectors.

    A text may use ``x``, the distance of ``at`` along the direction from the reaction (a body's origin
    where it is one, the ground's without one), ``x0``, its value with all coordinates zero, and ``v``,
    the relative velocity along the direction: "-k*(x - x0) - c*v". Names of the model's own go first.
    """
    check_new_name(system, name, "force")
    point = find_point(system, at, f"force '{name}'")
    axis = load_direction(system, direction, f"force '{name}'")
    other_point: Point | None = None
    other: Body | None = None
    found = (
        parse_text(system, reaction, f"reaction of force '{name}'", {})
        if isinstance(reaction, str)
        else reaction
    )
    if isinstance(found, Body):
        other = find_reaction(system, found, point.body, f"force '{name}'")
    elif found is not None:
        other_point = find_point(system, found, f"reaction of force '{name}'")
        other = other_point.body
    local = {}
    if isinstance(magnitude, str):
        far = other_point or (other or system.ground).origin
        local = line_variables(system, name, magnitude, (far, point), axis)
    value = read_expression(system, magnitude, f"force '{name}'", FORCE, local)
    return add_load(
        system,
        Load(
            name,
            "force",
            value,
            axis * load_value(value, name),
            point.body,
            point,
            other,
            other_point,
            axis=axis,
        ),
    )


@verb(EntryForm("loads", key="moment", argument="magnitude", needs=("on",)))
def moment(
    system: Description,
    name: str,
    magnitude: ExpressionLike,
    direction: VectorLike,
    *,
    on: BodyLike | None = None,
    reaction: BodyLike | None = None,
) -> Expr:
    """A moment of this magnitude about a direction on a body; opposite on the reaction body, if given. The
    length of the direction does not count; ``moment_vector`` takes whole vectors.
    """
    check_new_name(system, name, "moment")
    if on is None:
        raise ModelError(f"moment '{name}' acts on no body; give one with on=body")
    body = find_body(system, on, f"moment '{name}'")
    value = read_expression(system, magnitude, f"moment '{name}'", MOMENT)
    axis = load_direction(system, direction, f"moment '{name}'")
    other = None if reaction is None else find_reaction(system, reaction, body, f"moment '{name}'")
    vector = axis * load_value(value, name)
    return add_load(system, Load(name, "moment", value, vector, body, None, other, axis=axis))


@verb(EntryForm("loads", key="strut", argument="law"))
def strut(
    system: Description,
    name: str,
    law: Annotated[GivenScalar | Callable[[Expr, Expr], GivenScalar], LAW],
    *,
    between: Annotated[Sequence[object], ListOf(POINT, 2)],
) -> Expr:
    """A force along the line between two points, by a law in their distance ``x`` and its rate ``v``,
    e.g. "-k*(x - x0) - c*v"; positive pushes the points apart. A function of (x, v) may be given in place
    of text."""
    check_new_name(system, name, "strut")
    if item_count(between) != 2:
        raise ModelError(
            f"strut '{name}': between={between!r} is not a pair of points, e.g. (A.origin, B.com)"
        )
    p, q = (find_point(system, end, f"strut '{name}'") for end in between)
    if p.body is q.body:
        raise ModelError(f"strut '{name}': both ends are on body '{p.body.name}', so it can do nothing")
    line = motion.position(q, p)
    if not line.terms:
        raise ModelError(f"strut '{name}': its two points always coincide, so it has no direction")
    length = fn.named(vec.length(line), f"{name}_length")
    along = line / length
    rate = fn.named(vec.dot(motion.velocity(q, p), along), Signed(f"{name}_rate"))
    if callable(law) and not isinstance(law, Expr):
        least, most = argument_range(law)
        if not least <= 2 <= most:
            raise ModelError(
                f"strut '{name}': its law must be a function of two arguments, length x and its rate v"
            )
        value = read_expression(system, law(length, rate), f"strut '{name}'", FORCE)
    else:
        value = read_expression(system, law, f"strut '{name}'", FORCE, {"x": length, "v": rate})
    vector = along * load_value(value, name)
    load = Load(name, "force", value, vector, q.body, q, p.body, p, collinear=True, axis=along)
    return add_load(system, load)


def load_direction(system: Description, direction: object, where: str) -> vec.Vector:
    """The unit vector of a load's direction, with a warning where its length is another number than one:
    it does not count, and ``3*ground.x + 4*ground.y`` may have been meant as the load itself.
    """
    given = parse_text(system, direction, where, {}) if isinstance(direction, str) else direction
    axis = unit_direction(system, given, where)
    squared = as_expr(vec.dot(given, given))
    if squared.kind == "number" and abs(squared.data - 1.0) > _UNIT:
        length = math.sqrt(squared.data)
        other = "force_vector or moment_vector" if where != "gravity" else "the magnitude"
        warnings.warn(
            f"{where}: its direction {given} has the length {length:.6g}, which does not count: the "
            f"magnitude alone is the size; give arm.direction(…), or the whole in {other}",
            stacklevel=outside(),
        )
    return axis


def find_reaction(system: Description, body: object, first: Body, where: str) -> Body:
    """The other body of a load."""
    other = find_body(system, body, f"reaction of {where}")
    if other is first:
        raise ModelError(f"{where}: its reaction is on the same body '{first.name}', so it can do nothing")
    return other


def load_value(value: Expr, name: str) -> Expr:
    """The size of a load under its name in the equations."""
    found: Expr = fn.named(value, Signed(name))
    return found


def add_load(system: Description, load: Load) -> Expr:
    """A load of the description; returns its size."""
    system.loads[load.name] = load
    return load.magnitude
