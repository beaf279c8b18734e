"""Energies and momenta of the user's own bodies, as expressions for outputs.

They are built body by body from each body's velocity in its own axes, so their cost grows linearly with the
number of bodies; nothing is computed unless an output asks for it. They never see regrouped inertia.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from armillary.algebra import functions as fn
from armillary.algebra.expression import HALF, ZERO, Expr, as_expr, number
from armillary.algebra.triples import (
    Triple,
    add,
    cross_triples,
    is_zero,
    matrix_vector,
    plus,
    scaled,
    sum_of_products,
    transposed,
)
from armillary.algebra.units.dimension import MASS
from armillary.algebra.vectors import Frame, Vector, cross, direction_cosines
from armillary.errors import ModelError
from armillary.model import motion
from armillary.model.body import Body, Point
from armillary.model.flexible.energy import (
    first_moment,
    flexible_kinetic_energy,
    flexible_momenta,
    flexible_strain_energy,
)
from armillary.model.origins import told_verb

if TYPE_CHECKING:
    from armillary.model.records import Gravity


class Energies:
    """Energy and momentum of a system; a part of ``System``."""

    bodies: dict[str, Body]
    gravities: list[Gravity]
    armatures: dict[Expr, Expr]
    ground: Body

    @told_verb
    def kinetic_energy(self, about: str | None = None) -> Expr:
        """Σ ½ m v·v + ½ ω·I·ω over all bodies, v of the mass centre, and ½ a u² over all armatures;
        about="mass centre" leaves out the motion of the system's mass centre, to full precision however fast
        that is."""
        if about is not None and not (isinstance(about, str) and about == "mass centre"):
            raise ModelError(f"kinetic_energy: about={about!r} is not 'mass centre' or None")
        still = None if about is None else self._first_with_mass("kinetic_energy")
        result: Any = ZERO
        for body, w, v_origin in self._motions(still):
            v = _at_centre(body, w, v_origin)
            spin = matrix_vector(body.inertia, w)
            result = plus(result, HALF * body.mass * sum_of_products(zip(v, v, strict=True)))
            result = plus(result, HALF * sum_of_products(zip(w, spin, strict=True)))
            if body.flex is not None:
                result = plus(result, flexible_kinetic_energy(body, w, v_origin))
        for u, inertia in self.armatures.items():
            result = plus(result, HALF * inertia * u * u)
        if still is not None:
            drift = named_triple(self._momentum(still).components(self.ground.frame), "p_centre")
            square = sum_of_products(zip(drift, drift, strict=True))
            result = plus(result, -HALF * square / self.total_mass())
        return as_expr(result)

    @told_verb
    def potential_energy(self) -> Expr:
        """−Σ m g·r over all bodies: uniform gravity alone; add the energy of your own springs, and
        ``strain_energy()`` of flexible bodies."""
        result: Any = ZERO
        for gravity in self.gravities:
            # The field's direction is carried outwards in each body's axes, so the cost stays linear on a
            # long chain.
            fall = {self.ground.frame: gravity.direction.components(self.ground.frame)}
            depth: dict[str, Any] = {"ground": ZERO}
            for body in self.bodies.values():
                assert body.parent is not None
                place = body.displacement.components(body.parent.frame)
                step = sum_of_products(zip(place, fall[body.parent.frame], strict=True))
                reached = as_expr(plus(depth[body.parent.name], step))
                depth[body.name] = fn.named(reached, f"{body.name}_depth")
                fall[body.frame] = carried(body, fall[body.parent.frame], "fall")
                centre = sum_of_products(zip(body.com_coordinates, fall[body.frame], strict=True))
                height = plus(depth[body.name], centre)
                result = plus(result, -gravity.magnitude * body.mass * height)
                if body.flex is not None:
                    sunk = sum_of_products(zip(first_moment(body), fall[body.frame], strict=True))
                    sunk = plus(sunk, depth[body.name] * number(body.flex.part.mass, MASS))
                    result = plus(result, -gravity.magnitude * sunk)
        return as_expr(result)

    @told_verb
    def total_energy(self) -> Expr:
        """Kinetic energy, potential energy of gravity, and strain energy of flexible bodies."""
        potential = plus(self.potential_energy(), self.strain_energy())
        return as_expr(plus(self.kinetic_energy(), potential))

    @told_verb
    def strain_energy(self) -> Expr:
        """½ η·Kη of all flexible bodies."""
        result: Any = ZERO
        for body in self.bodies.values():
            if body.flex is not None:
                result = plus(result, flexible_strain_energy(body))
        return as_expr(result)

    @told_verb
    def total_mass(self) -> Expr:
        """Σ m."""
        return as_expr(sum((whole_mass(b) for b in self.bodies.values()), ZERO))

    @told_verb
    def mass_centre(self) -> Vector:
        """Position of the system's mass centre."""
        moment = sum((mass_moment(b, None) for b in self.bodies.values()), Vector({}))
        if is_zero(self.total_mass()):
            raise ModelError("a system without mass has no mass centre")
        return moment / self.total_mass()

    def composites(self) -> dict[str, tuple[Expr, Triple]]:
        """(mass, first moment about the origin in own axes) of each body with all that hangs on it, by name;
        of the whole system by "ground". Summed up from the leaves as intermediate values."""
        found: dict[str, tuple[Any, Triple]] = {}
        nothing: tuple[Any, Triple] = (ZERO, (ZERO, ZERO, ZERO))
        for body in [*reversed(self.bodies.values()), self.ground]:
            mass, moment = found.get(body.name, nothing)
            mass = as_expr(plus(mass, whole_mass(body)))
            own = add(scaled(body.com_coordinates, body.mass), first_moment(body))
            moment = named_triple(add(moment, own), f"h_{body.name}")
            found[body.name] = mass, moment
            if body.parent is not None:
                for frame in reversed(_joint_frames(body)):
                    moment = named_triple(matrix_vector(frame.rotation, moment), f"h_{frame.name}")
                shift = scaled(body.displacement.components(body.parent.frame), mass)
                above_mass, above = found.get(body.parent.name, nothing)
                found[body.parent.name] = plus(above_mass, mass), add(above, moment, shift)
        return found

    @told_verb
    def momentum(self) -> Vector:
        """Linear momentum Σ m v."""
        return self._momentum(None)

    def _momentum(self, still: Body | None) -> Vector:
        return self._moment_of_momentum(still)[1]

    @told_verb
    def angular_momentum(self, about: Point | Body | str | None = None) -> Vector:
        """Angular momentum Σ (I·ω + m r × v), about the ground's origin, a point, or "mass centre"."""
        if isinstance(about, str) and about == "mass centre":
            return self._central_momentum()
        if about is None:
            start = Vector({})
        elif isinstance(about, Point | Body):
            start = motion.position(about)
        else:
            raise ModelError(f"angular_momentum: about={about!r} is not a point, a body or 'mass centre'")
        total, moving = self._moment_of_momentum(None)
        return total - cross(start, moving) if start.terms else total

    def _central_momentum(self) -> Vector:
        """About the mass centre, from places and velocities relative to a body: on an orbit the products of
        absolute ones are 10¹¹ times what they leave."""
        still = self._first_with_mass("angular_momentum")
        total, moving = self._moment_of_momentum(still)
        places = (mass_moment(b, still.origin) for b in self.bodies.values())
        return total - cross(sum(places, Vector({})), moving / self.total_mass())

    def _moment_of_momentum(self, still: Body | None) -> tuple[Vector, Vector]:
        """(Σ I·ω + m r × v, Σ m v), relative to the origin of a body that counts as still where one is
        given."""
        total = Vector({})
        moving = Vector({})
        start = None if still is None else still.origin
        for body, w, v in self._motions(still):
            p = body.frame.vector(_at_centre(body, w, v)) * body.mass
            place = motion.position(body.com, start)
            total = total + body.frame.vector(matrix_vector(body.inertia, w)) + cross(place, p)
            moving = moving + p
            if body.flex is not None:
                p, L = flexible_momenta(body, w, v)
                total = total + L + cross(motion.position(body, start), p)
                moving = moving + p
        return total, moving

    def _first_with_mass(self, verb: str) -> Body:
        for body in self.bodies.values():
            if not is_zero(whole_mass(body)):
                return body
        raise ModelError(f"{verb}: a system without mass has no mass centre")

    def _motions(self, still: Body | None = None) -> Iterator[tuple[Body, Triple, Triple]]:
        """(body, ω, velocity of its origin), both in the body's axes, parents first; velocities relative
        to the origin of a body that counts as still, where one is given."""
        zero: Triple = (ZERO, ZERO, ZERO)
        back = zero if still is None else (-motion.velocity(still)).components(self.ground.frame)
        known: dict[Frame, tuple[Triple, Triple]] = {self.ground.frame: (zero, back)}
        for body in self.bodies.values():
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
    """Velocity of a body's mass centre from its origin's."""
    swept = cross_triples(w, body.com_coordinates)
    return named_triple(add(v, swept), f"vc_{body.name}")


def whole_mass(body: Body) -> Expr:
    """A body's mass with that of its flexible part."""
    return as_expr(body.mass if body.flex is None else plus(body.mass, number(body.flex.part.mass, MASS)))


def mass_moment(body: Body, start: Point | None) -> Vector:
    """∫ r dm of a body, r from a point or the ground's origin."""
    rigid = motion.position(body.com, start) * body.mass
    if body.flex is None:
        return rigid
    flexible = motion.position(body, start) * number(body.flex.part.mass, MASS)
    return rigid + flexible + body.frame.vector(first_moment(body))


def _joint_frames(body: Body) -> list[Frame]:
    """Frames of a body's joint, from the first turn to the body's own."""
    assert body.parent is not None
    frames: list[Frame] = []
    walker: Frame | None = body.frame
    while walker is not None and walker is not body.parent.frame:
        frames.append(walker)
        walker = walker.parent
    return frames[::-1]


def carried(body: Body, vector: Triple, name: str) -> Triple:
    """A vector in a body's own axes from its components in the parent's, turn by turn."""
    for frame in _joint_frames(body):
        vector = named_triple(matrix_vector(transposed(frame.rotation), vector), f"{name}_{frame.name}")
    return vector


def _carried_rotation(body: Body, w: Triple) -> Triple:
    """ω of a body in its own axes from that of its parent, frame by frame through the turns of its joint."""
    for frame in _joint_frames(body):
        own = frame.rate.components(frame)
        turned = matrix_vector(transposed(frame.rotation), w)
        w = named_triple(add(turned, own), f"w_{frame.name}")
    return w


def named_triple(values: Sequence[Any], name: str) -> Triple:
    return tuple(fn.named(as_expr(v), f"{name}_{a}") for v, a in zip(values, "xyz", strict=True))
