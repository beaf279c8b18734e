"""Places of contacts, stops and brakes in the user's words: coordinates of bodies, points and planes."""

from __future__ import annotations

from armillary.algebra import functions as fn
from armillary.algebra.arguments import item_count
from armillary.algebra.expression import Expr
from armillary.algebra.triples import Triple, cross_triples, is_zero
from armillary.algebra.units import FORCE, LENGTH, MOMENT, ONE, Dimension
from armillary.algebra.vectors import Vector, cross, dot
from armillary.algebra.walk import symbols
from armillary.errors import ModelError, nearest
from armillary.model.bodies import motion
from armillary.model.bodies.body import Body, Point
from armillary.model.description import Description
from armillary.model.joints.base import UNIT_AXES, across
from armillary.model.loads.forces import add_load
from armillary.model.reading.expressions import read_expression
from armillary.model.reading.references import find_point, unit_direction
from armillary.model.recording.records import Load
from armillary.untyped import Given


def travel(system: Description, coordinate: object, where: str) -> tuple[Expr, Expr, Body]:
    """(coordinate, the speed that is its rate, its body)."""
    q = read_expression(system, coordinate, where)
    body = next((b for b in system.bodies.values() if q in b.coordinates), None)
    if body is None:
        hint = nearest(str(q), [str(c) for c in system.coordinates])
        raise ModelError(f"{where}: '{q}' is not a coordinate of this system{hint}")
    u = system.rates[q]
    if u not in body.speeds:
        raise ModelError(
            f"{where}: the rate of '{q}' ({body.joint.describe()}) is not one of its speeds; use a contact "
            "of a point with a plane, or a load of your own with arm.contact_force or arm.friction_force"
        )
    return q, u, body


def travel_end(system: Description, value: object, where: str, coordinate: Expr) -> Expr:
    """An end of a coordinate's travel, which may move with time."""
    node = read_expression(system, value, where, coordinate.dimension)
    moving = [s for s in symbols(node) if s.data.role not in ("parameter", "time", "memory")]
    if moving:
        raise ModelError(
            f"{where}: '{node}' depends on '{moving[0]}'; it may depend on time, memory and parameters only"
        )
    return node


def load_on(system: Description, name: str, value: Expr, u: Expr, body: Body, where: str) -> Expr:
    """A load between a body and its parent that does work on one of the joint's speeds and on no other.

    Among partial velocities a, b, c of the joint's speeds, along which the load must do no work but on the
    first, it is along (b × c) / (a · b × c): along a itself where they are at right angles.
    """
    assert body.parent is not None
    turning = motion.angular_velocity(body, body.parent)
    turns = {s: axis for s in body.speeds if (axis := motion.partial(turning, s)).terms}
    slides = {s: axis for s in body.speeds if (axis := motion.partial(body.drift, s)).terms}
    if turns.keys() & slides.keys():
        raise ModelError(
            f"{where}: the joint of body '{body.name}' slides after it turns; put the slide on another body"
        )
    axes = turns if u in turns else slides
    if u not in axes:
        raise ModelError(f"{where}: '{u}' is the speed of a mode; it acts on the coordinate of a joint")
    vector = _dual(axes[u], [axis for s, axis in axes.items() if s is not u])
    kind, at = ("moment", None) if u in turns else ("force", body.origin)
    effort = read_expression(system, value, where, MOMENT if u in turns else FORCE)
    return add_load(system, Load(name, kind, effort, vector * fn.named(effort, name), body, at, body.parent))


def _dual(axis: Vector, others: list[Vector]) -> Vector:
    """The vector whose products with the others vanish, and whose product with the axis is one."""
    if all(is_zero(dot(axis, other)) for other in others):
        return axis
    across_both = cross(others[0], others[1] if len(others) > 1 else cross(axis, others[0]))
    found: Vector = across_both / dot(axis, across_both)
    return found


def read_plane(system: Description, plane: Given, where: str) -> tuple[Point, Vector]:
    """(a point of the plane, its unit normal in the axes of the point's body)."""
    if item_count(plane) != 2:
        raise ModelError(f"{where}: plane={plane!r} is not a point and a normal, e.g. (ground, ground.z)")
    base = find_point(system, plane[0], f"plane of {where}")
    normal = unit_direction(system, plane[1], f"plane of {where}")
    own = normal.components(base.body.frame)
    if any(isinstance(x, Expr) and not x.constant for x in own):
        raise ModelError(
            f"plane of {where}: its normal {plane[1]} is not fixed in '{base.body.name}', whose point "
            f"'{base.name}' is in the plane; give a normal such as {base.body.name}.z"
        )
    return base, base.body.frame.vector(own)


def axes_in_plane(normal: Vector, body: Body) -> tuple[Vector, Vector]:
    """Two unit vectors that complete the normal to a right-handed triad; the body's own axes if possible."""
    own: Triple = normal.components(body.frame)
    start = next(i for i in range(3) if not is_zero(own[i]))
    flat = [i % 3 for i in (start + 1, start + 2) if is_zero(own[i % 3])]
    first: Triple = UNIT_AXES["xyz"[flat[0]]] if flat else across(own)
    return body.frame.vector(first), body.frame.vector(cross_triples(own, first))


def dimension_of(node: Expr) -> Dimension:
    """That of a coordinate or speed; amplitudes of modes are numbers."""
    return ONE if node.dimension is None else node.dimension


def effort_of(coordinate: Expr) -> Dimension:
    """That of the load on a coordinate."""
    return FORCE if coordinate.dimension is LENGTH else MOMENT
