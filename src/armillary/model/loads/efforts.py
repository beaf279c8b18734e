"""Loads along the coordinates of joints, and loads that are given as vectors."""

from __future__ import annotations

from itertools import count

from armillary.algebra import functions as fn
from armillary.algebra import vectors as vec
from armillary.algebra.expression import Expr, as_expr
from armillary.algebra.intermediate import Signed
from armillary.algebra.units import FORCE, MOMENT, Dimension
from armillary.algebra.vectors import Vector
from armillary.errors import ModelError
from armillary.model.bodies.body import BodyLike, PointLike
from armillary.model.description import Description
from armillary.model.loads.forces import add_load, find_reaction
from armillary.model.loads.places import effort_of, load_on, travel
from armillary.model.reading.argument_types import ExpressionLike, VariableLike, VectorLike
from armillary.model.reading.expressions import parse_text, read_expression
from armillary.model.reading.names import check_new_name
from armillary.model.reading.references import find_body, find_point
from armillary.model.recording.records import Load
from armillary.model.recording.verbs import EntryForm, verb


def effort_on(
    system: Description, coordinate: VariableLike, effort: ExpressionLike, *, name: str | None = None
) -> Expr:
    """An effort along a coordinate of a joint, between its body and the parent: a moment for an angle, a
    force for a length, positive towards greater values. It works on this coordinate alone.

    ``s.effort_on("arm.q1", "-k*arm.q1 - c*arm.u1", name="servo")``; without a name it is ``effort_arm_q1``.
    Returns the effort.
    """
    where = "effort_on"
    q, _, _ = travel(system, coordinate, where)
    label = f"effort_{str(q).replace('.', '_')}"
    numbered = (label if i == 1 else f"{label}_{i}" for i in count(1))
    chosen = name if name is not None else next(n for n in numbered if n not in system.loads)
    return joint_effort(system, chosen, q, effort)


@verb(EntryForm("loads", key="effort"))
def joint_effort(system: Description, name: str, coordinate: VariableLike, effort: ExpressionLike) -> Expr:
    """The load of ``effort_on``, with a name."""
    where = f"effort '{name}'"
    check_new_name(system, name, "effort")
    q, u, body = travel(system, coordinate, where)
    value = read_expression(system, effort, where, effort_of(q))
    return load_on(system, name, value, u, body, where)


@verb(EntryForm("loads", key="force_vector", argument="vector"))
def force_vector(
    system: Description, name: str, vector: VectorLike, *, at: PointLike, reaction: PointLike | None = None
) -> Expr:
    """A force as a vector, ``3*ground.x + 4*ground.y`` in N, at a point; opposite at the reaction point.
    Without a reaction the ground takes it. Returns its size.
    """
    where = f"force '{name}'"
    check_new_name(system, name, "force")
    point = find_point(system, at, where)
    value = _vector(system, vector, where, FORCE)
    other = None if reaction is None else find_point(system, reaction, f"reaction of {where}")
    size = _size(value, name)
    body = None if other is None else other.body
    return add_load(system, Load(name, "force", size, value, point.body, point, body, other))


@verb(EntryForm("loads", key="moment_vector", argument="vector"))
def moment_vector(
    system: Description, name: str, vector: VectorLike, *, on: BodyLike, reaction: BodyLike | None = None
) -> Expr:
    """A moment as a vector, ``2*ground.z - 0.1*A.x`` in N·m, on a body; opposite on the reaction body, if
    given. Returns its size.
    """
    where = f"moment '{name}'"
    check_new_name(system, name, "moment")
    body = find_body(system, on, where)
    value = _vector(system, vector, where, MOMENT)
    other = None if reaction is None else find_reaction(system, reaction, body, where)
    return add_load(system, Load(name, "moment", _size(value, name), value, body, None, other))


def _vector(system: Description, value: object, where: str, dimension: Dimension) -> Vector:
    found = parse_text(system, value, where, {}) if isinstance(value, str) else value
    if not isinstance(found, Vector) or not found.terms:
        raise ModelError(f"{where}: {value!r} is not a vector; give one such as 3*ground.x + 4*ground.y")
    return found.map(lambda c: read_expression(system, c, where, dimension))


def _size(vector: Vector, name: str) -> Expr:
    found: Expr = fn.named(as_expr(vec.length(vector)), Signed(name))
    return found
