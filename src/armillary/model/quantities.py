"""Energies, momenta, reactions and Jacobians as expressions for outputs; small and large quantities.

Energies and momenta are sums over bodies, from each body's velocity in its own axes, so their cost grows
linearly with the number of bodies. They are computed only if an output uses them. They do not depend on the
regrouping of inertia (mechanics/tree/regroup.py).

Forces of joints and constraints follow from the accelerations. So in outputs, events and memory updates they
are symbols that the derivation replaces, and a model that uses none of them does not compute them. Loads
cannot depend on them.

The functions of vectors and motion that users call are here too, in versions that record their calls for
saved models.

Which quantities are small or large is the engineer's judgement, which a declaration records. The derivation
neglects terms accordingly, or on request ignores the declarations, so that one description gives both the
model of small motions and the full model.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from armillary.algebra import functions as fn
from armillary.algebra import vectors as vec
from armillary.algebra.calculus import gradient
from armillary.algebra.expression import HALF, ZERO, Expr, as_expr, number
from armillary.algebra.triples import (
    Scalar,
    Triple,
    add,
    cross_triples,
    matrix_vector,
    plus,
    sum_of_products,
    transposed,
)
from armillary.algebra.units import MASS
from armillary.algebra.vectors import Frame, Vector, direction_cosines
from armillary.errors import ModelError, nearest, shown
from armillary.model.bodies import motion
from armillary.model.bodies.body import Body, Point
from armillary.model.bodies.motion import (
    carry_to_child,
    first_with_mass,
    joint_frames,
    mass_moment,
    named_triple,
    total_mass,
)
from armillary.model.description import Description, effort_symbol, reaction_symbols
from armillary.model.flexible.deformation import (
    first_moment,
    flexible_kinetic_energy,
    flexible_momenta,
    flexible_strain_energy,
)
from armillary.model.joints import Assembly
from armillary.model.reading.expressions import read_expression
from armillary.model.reading.kinds import ExpressionLike
from armillary.model.reading.references import find_body, find_speed
from armillary.model.space.attraction import attraction_energy, sum_of_terms
from armillary.model.verbs import ListForm, quantity, records_calls, verb
from armillary.untyped import DataTable

if TYPE_CHECKING:
    from armillary.algebra.textbook_form import ExpressionMatrix
    from armillary.model.description import Description


@quantity(arguments=(0, 1))
def kinetic_energy(system: Description, about: str | None = None) -> Expr:
    """Return the kinetic energy: Σ (½ m v·v + ½ ω·I·ω) over all bodies, with the velocities v of their mass
    centres, plus Σ ½ a u² over all armatures. about="mass centre" leaves out the energy of the motion of the
    system's mass centre, without loss of precision if that motion is fast."""
    if about is not None and not (isinstance(about, str) and about == "mass centre"):
        raise ModelError(f"kinetic_energy: about={about!r} is not 'mass centre' or None")
    still = None if about is None else first_with_mass(system, "kinetic_energy")
    result: Scalar = ZERO
    for body, w, v_origin in body_motions(system, still):
        v = _at_centre(body, w, v_origin)
        spin = matrix_vector(body.inertia, w)
        result = plus(result, HALF * body.mass * sum_of_products(zip(v, v, strict=True)))
        result = plus(result, HALF * sum_of_products(zip(w, spin, strict=True)))
        if body.flex is not None:
            result = plus(result, flexible_kinetic_energy(body, w, v_origin))
    for u, inertia in system.armatures.items():
        result = plus(result, HALF * inertia * u * u)
    if still is not None:
        drift = named_triple(_linear_momentum(system, still).components(system.ground.frame), "p_centre")
        square = sum_of_products(zip(drift, drift, strict=True))
        result = plus(result, -HALF * square / total_mass(system))
    return as_expr(result)


@quantity()
def potential_energy(system: Description) -> Expr:
    """Return the potential energy of uniform gravity, −Σ m g·r, and of attractors; that of springs is not
    included.
    """
    parts = (attraction_energy(system, attractor) for attractor in system.attractors.values())
    return as_expr(sum_of_terms(_uniform_gravity_energy(system), *parts))


def _uniform_gravity_energy(system: Description) -> Expr:
    """Return −Σ m g·r over all bodies."""
    result: Scalar = ZERO
    for gravity in system.gravities:
        # The field's direction is carried outwards in each body's axes, so the cost stays linear on a
        # long chain.
        fall = {system.ground.frame: gravity.direction.components(system.ground.frame)}
        depth: DataTable = {"ground": ZERO}
        for body in system.bodies.values():
            assert body.parent is not None
            place = body.displacement.components(body.parent.frame)
            step = sum_of_products(zip(place, fall[body.parent.frame], strict=True))
            reached = as_expr(plus(depth[body.parent.name], step))
            depth[body.name] = fn.named(reached, f"{body.name}_depth")
            fall[body.frame] = carry_to_child(body, fall[body.parent.frame], "fall")
            centre = sum_of_products(zip(body.com_coordinates, fall[body.frame], strict=True))
            height = plus(depth[body.name], centre)
            result = plus(result, -gravity.magnitude * body.mass * height)
            if body.flex is not None:
                sunk = sum_of_products(zip(first_moment(body), fall[body.frame], strict=True))
                sunk = plus(sunk, depth[body.name] * number(body.flex.part.mass, MASS))
                result = plus(result, -gravity.magnitude * sunk)
    return as_expr(result)


@quantity()
def total_energy(system: Description) -> Expr:
    """Return the sum of kinetic energy, potential energy of gravity, and strain energy of flexible bodies."""
    potential = plus(potential_energy(system), strain_energy(system))
    return as_expr(plus(kinetic_energy(system), potential))


@quantity()
def strain_energy(system: Description) -> Expr:
    """Return the strain energy Σ ½ η·Kη of all flexible bodies."""
    result: Scalar = ZERO
    for body in system.bodies.values():
        if body.flex is not None:
            result = plus(result, flexible_strain_energy(body))
    return as_expr(result)


@quantity()
def momentum(system: Description) -> Vector:
    """Return the linear momentum Σ m v."""
    return _linear_momentum(system, None)


def _linear_momentum(system: Description, still: Body | None) -> Vector:
    return _moment_of_momentum(system, still)[1]


@quantity(arguments=(0, 1))
def angular_momentum(system: Description, about: Point | Body | str | None = None) -> Vector:
    """Return the angular momentum Σ (I·ω + m r × v), about the ground's origin, a point, or "mass centre"."""
    if isinstance(about, str) and about == "mass centre":
        return _central_momentum(system)
    if about is None:
        start = Vector({})
    elif isinstance(about, Point | Body):
        start = motion.position(about)
    else:
        raise ModelError(f"angular_momentum: about={about!r} is not a point, a body or 'mass centre'")
    total, moving = _moment_of_momentum(system, None)
    return total - vec.cross(start, moving) if start.terms else total


def _central_momentum(system: Description) -> Vector:
    """Return the angular momentum about the mass centre, from positions and velocities relative to a body. On
    an orbit, the products of absolute positions and velocities are 10¹¹ times as large as the difference that
    would be left of them.
    """
    still = first_with_mass(system, "angular_momentum")
    total, moving = _moment_of_momentum(system, still)
    places = (mass_moment(b, still.origin) for b in system.bodies.values())
    return total - vec.cross(sum(places, Vector({})), moving / total_mass(system))


def _moment_of_momentum(system: Description, still: Body | None) -> tuple[Vector, Vector]:
    """Return (Σ (I·ω + m r × v), Σ m v); if a body ``still`` is given, r and v are relative to its origin."""
    total = Vector({})
    moving = Vector({})
    start = None if still is None else still.origin
    for body, w, v in body_motions(system, still):
        p = body.frame.vector(_at_centre(body, w, v)) * body.mass
        place = motion.position(body.com, start)
        total = total + body.frame.vector(matrix_vector(body.inertia, w)) + vec.cross(place, p)
        moving = moving + p
        if body.flex is not None:
            p, L = flexible_momenta(body, w, v)
            total = total + L + vec.cross(motion.position(body, start), p)
            moving = moving + p
    return total, moving


def body_motions(system: Description, still: Body | None = None) -> Iterator[tuple[Body, Triple, Triple]]:
    """Yield (body, ω, velocity of its origin) for all bodies, parents first; both vectors are in the body's
    axes. If a body ``still`` is given, velocities are relative to its origin.
    """
    zero: Triple = (ZERO, ZERO, ZERO)
    back = zero if still is None else (-motion.velocity(still)).components(system.ground.frame)
    known: dict[Frame, tuple[Triple, Triple]] = {system.ground.frame: (zero, back)}
    for body in system.bodies.values():
        assert body.parent is not None
        w, v = known[body.parent.frame]
        w_own = _carried_rotation(body, w)
        place = body.displacement.components(body.parent.frame)
        swept = add(v, cross_triples(w, place))
        turned = matrix_vector(transposed(direction_cosines(body.parent.frame, body.frame)), swept)
        drift = body.drift.components(body.frame)
        v_own = named_triple(add(turned, drift), f"v_{body.name}")
        if body is still:
            v_own = zero
        known[body.frame] = (w_own, v_own)
        yield body, w_own, v_own


def _at_centre(body: Body, w: Triple, v: Triple) -> Triple:
    """Return the velocity of a body's mass centre, from the velocity of its origin."""
    swept = cross_triples(w, body.com_coordinates)
    return named_triple(add(v, swept), f"vc_{body.name}")


def _carried_rotation(body: Body, w: Triple) -> Triple:
    """Return ω of a body in its own axes, from ω ``w`` of its parent, by the frames of its joint in turn."""
    for frame in joint_frames(body):
        own = frame.rate.components(frame)
        turned = matrix_vector(transposed(frame.rotation), w)
        w = named_triple(add(turned, own), f"w_{frame.name}")
    return w


@quantity(arguments=1)
def reaction_force(system: Description, body: object) -> Vector:
    """Return the force that a body's parent exerts on the body through its joint, at the body's origin."""
    found = _jointed_body(system, body, "reaction_force")
    return found.frame.vector(reaction_symbols(system, found)[:3])


@quantity(arguments=1)
def reaction_moment(system: Description, body: object) -> Vector:
    """Return the moment that a body's parent exerts on it through its joint, about the body's origin."""
    found = _jointed_body(system, body, "reaction_moment")
    return found.frame.vector(reaction_symbols(system, found)[3:])


@quantity(arguments=1)
def effort(system: Description, variable: object) -> Expr:
    """Return the force or moment that keeps a prescribed or locked coordinate or speed at its given value."""
    return effort_symbol(system, find_speed(system, variable, "effort"))


def _jointed_body(system: Description, body: object, verb: str) -> Body:
    found = find_body(system, body, verb)
    if found is system.ground:
        raise ModelError(f"{verb}: the ground has no joint; name a body")
    return found


POINT_ROWS = ("vx", "vy", "vz")
BODY_ROWS = (*POINT_ROWS, "wx", "wy", "wz")
# With more frames between a body and the ground, velocities are computed from body to body. As one expression
# of all coordinates, a Jacobian at the end of a chain would grow with the square of the chain's length.
_LONG = 12


def jacobian(of: Point | Body, axes: Body | None = None) -> ExpressionMatrix:
    """Return the Jacobian of a point's velocity by all speeds of its system, J with v = J u + v₀.

    Rows are the components vx, vy, vz along the axes of the ground, or of the body ``axes``. For a body they
    are those of its origin's velocity, followed by wx, wy, wz of its angular velocity. v₀ comes from given
    motions. Columns are all speeds of the description; those of ``Equations.jacobian`` are the independent
    speeds.
    """
    if not isinstance(of, Point | Body):
        raise ModelError(f"jacobian: {shown(of)} is not a point or a body, such as body.com or body")
    system = (of.body if isinstance(of, Point) else of).system
    return jacobian_of_rows(of, velocity_rows(of, axes), system.speeds)


def velocity_rows(of: Point | Body, axes: Body | None = None) -> list[Expr]:
    """Return the components of a point's velocity; for a body, of its origin's velocity and its angular
    velocity.
    """
    body = of.body if isinstance(of, Point) else of
    if axes is not None and not isinstance(axes, Body):
        raise ModelError(f"jacobian: axes={shown(axes)} is not a body")
    if axes is not None and axes.system.identity is not body.system.identity:
        raise ModelError(f"jacobian: body '{axes.name}' belongs to another system than '{body.name}'")
    frame = (axes or body.system.ground).frame
    if body.frame.depth > _LONG:
        vectors = [*motion.motion_along_chain(of, frame)]
    else:
        vectors = [motion.velocity(of), motion.angular_velocity(body)]
    if isinstance(of, Point):
        del vectors[1]
    return [as_expr(x) for vector in vectors for x in vector.components(frame)]


def jacobian_of_rows(of: Point | Body, rows: Sequence[Expr], speeds: Sequence[Expr]) -> ExpressionMatrix:
    """Return the Jacobian ∂rows/∂speeds, with the components of ``velocity_rows`` as rows."""
    from armillary.algebra.textbook_form import ExpressionMatrix

    names = BODY_ROWS if isinstance(of, Body) else POINT_ROWS
    what = of.name if isinstance(of, Body) else f"{of.body.name}.{of.name}"
    elements = tuple(tuple(gradient(row, speeds)) for row in rows)
    return ExpressionMatrix(f"Jacobian of {what}", names, tuple(u.data.name for u in speeds), elements)


dot = records_calls(vec.dot)
cross = records_calls(vec.cross)
magnitude = records_calls(vec.magnitude)
direction = records_calls(vec.direction)
project = records_calls(vec.project)
angle = records_calls(vec.angle)
position = records_calls(motion.position)
velocity = records_calls(motion.velocity)
acceleration = records_calls(motion.acceleration)
angular_velocity = records_calls(motion.angular_velocity)
angular_acceleration = records_calls(motion.angular_acceleration)
time_derivative = records_calls(motion.time_derivative)


SMALL, LARGE = 1, -1
_WORDS = {SMALL: "small", LARGE: "large"}


@verb(ListForm("small"))
def small(system: Description, *things: ExpressionLike) -> None:
    """Declare coordinates, speeds, parameters, memories or expressions small, that is, of first order. In a
    sum, terms whose order exceeds the lowest order in the sum by two or more are neglected.
    """
    _declare_order(system, things, SMALL)


@verb(ListForm("large"))
def large(system: Description, *things: ExpressionLike) -> None:
    """Declare quantities large, that is, of order −1. Their product with a small quantity is of order zero,
    as in the force of a stiff spring.
    """
    _declare_order(system, things, LARGE)


def judgements(system: Description) -> dict[Expr, int]:
    """Return the declared orders by expression: 1 for small, −1 for large quantities.

    The expression that a prescribed speed is given by has the order of the speed.
    """
    found = dict(system.smallness)
    for given in system.prescriptions.values():
        if given.speed in system.smallness and given.value.kind != "number":
            found[given.value] = system.smallness[given.speed]
    return found


def _declare_order(system: Description, things: tuple[object, ...], order: int) -> None:
    word = _WORDS[order]
    if not things:
        raise ModelError(f"{word}() names nothing; give quantities, e.g. system.{word}('A.q1', 'A.u1')")
    nodes = [_quantity_of(system, thing, word) for thing in things]
    for node in nodes:
        if system.smallness.get(node, order) != order:
            raise ModelError(f"'{node}' is declared both small and large; drop one of the two declarations")
    system.smallness.update(dict.fromkeys(nodes, order))


def _quantity_of(system: Description, thing: object, word: str) -> Expr:
    """Return the quantity that a declaration names, without a number that multiplies it."""
    known = set(system.parameters)
    node = read_expression(system, thing, f"declared {word}")
    for name in set(system.parameters) - known:  # a text would make a parameter of an unknown name
        del system.parameters[name]
        hint = nearest(name, [*system.parameters, *system.memories, *system.states, *system.loads])
        raise ModelError(f"declared {word}: there is no '{name}'{hint}; declare it with parameter() first")
    if node.kind == "product" and node.data[1] == (1,):
        node = node.args[0]
    if node.kind == "number":
        raise ModelError(
            f"declared {word}: '{thing}' is the number {node}, which has a size of its own; "
            "give it a name with parameter() and declare that"
        )
    if node.kind == "symbol" and node.data.role in ("time", "acceleration"):
        why = "time passes" if node.data.role == "time" else "the rate of a speed follows from the equations"
        raise ModelError(f"declared {word}: '{node}' cannot be: {why}")
    _check_euler_parameters(system, node, word)
    return node


def _check_euler_parameters(system: Description, node: Expr, word: str) -> None:
    for body in system.bodies.values():
        for start in body.assembly.quaternions:
            if node in body.coordinates[start : start + 4]:
                raise ModelError(
                    f"declared {word}: '{node}' is an Euler parameter of body '{body.name}', and the "
                    f"four are of unit length together; {_SEQUENCE}"
                )


def judge_joint(system: Description, body: str, assembly: Assembly, variables: tuple[Expr, ...]) -> None:
    """Declare all coordinates and speeds of a joint small; refuse Euler parameters."""
    if assembly.quaternions:
        raise ModelError(
            f"body '{body}': a joint with Euler parameters cannot be small, since the four are of unit "
            f"length together; {_SEQUENCE}"
        )
    system.smallness.update(dict.fromkeys(variables, SMALL))


_SEQUENCE = "give its joint a sequence of angles such as rotation='xyz'"
