"""Energies and momenta of the user's own bodies, as expressions for outputs.

They are built body by body from each body's velocity in its own axes, so their cost grows linearly with the
number of bodies; nothing is computed unless an output asks for it. They never see regrouped inertia.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from armillary.algebra import functions as fn
from armillary.algebra.expression import HALF, ZERO, Expr, as_expr
from armillary.algebra.vectors import (
    Frame,
    Triple,
    Vector,
    cross,
    cross_triples,
    direction_cosines,
    is_zero,
    matrix_vector,
    plus,
    sum_of_products,
    transposed,
)
from armillary.errors import ModelError
from armillary.model import motion
from armillary.model.body import Body, Point

if TYPE_CHECKING:
    from armillary.model.records import Gravity


class Energies:
    """Energy and momentum of a system; a part of ``System``."""

    bodies: dict[str, Body]
    gravities: list[Gravity]
    ground: Body

    def kinetic_energy(self) -> Expr:
        """Σ ½ m v·v + ½ ω·I·ω over all bodies, v of the mass centre."""
        result: Any = ZERO
        for body, w, v in self._motions():
            spin = matrix_vector(body.inertia, w)
            result = plus(result, HALF * body.mass * sum_of_products(zip(v, v, strict=True)))
            result = plus(result, HALF * sum_of_products(zip(w, spin, strict=True)))
        return as_expr(result)

    def potential_energy(self) -> Expr:
        """−Σ m g·r over all bodies: uniform gravity alone; add the energy of your own springs."""
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
                fall[body.frame] = _carried(body, fall[body.parent.frame], "fall")
                centre = sum_of_products(zip(body.com_coordinates, fall[body.frame], strict=True))
                height = plus(depth[body.name], centre)
                result = plus(result, -gravity.magnitude * body.mass * height)
        return as_expr(result)

    def total_energy(self) -> Expr:
        """Kinetic energy and potential energy of gravity."""
        return as_expr(plus(self.kinetic_energy(), self.potential_energy()))

    def total_mass(self) -> Expr:
        """Σ m."""
        return as_expr(sum((b.mass for b in self.bodies.values()), ZERO))

    def mass_centre(self) -> Vector:
        """Position of the system's mass centre."""
        moment = sum((motion.position(b.com) * b.mass for b in self.bodies.values()), Vector({}))
        if is_zero(self.total_mass()):
            raise ModelError("a system without mass has no mass centre")
        return moment / self.total_mass()

    def momentum(self) -> Vector:
        """Linear momentum Σ m v."""
        return sum((b.frame.vector(v) * b.mass for b, _, v in self._motions()), Vector({}))

    def angular_momentum(self, about: Point | Body | str | None = None) -> Vector:
        """Angular momentum Σ (I·ω + m r × v), about the ground's origin, a point, or "mass centre"."""
        if about is None:
            start = Vector({})
        elif about == "mass centre":
            start = self.mass_centre()
        elif isinstance(about, Point | Body):
            start = motion.position(about)
        else:
            raise ModelError(f"angular_momentum: about={about!r} is not a point, a body or 'mass centre'")
        total = Vector({})
        moving = Vector({})
        for body, w, v in self._motions():
            p = body.frame.vector(v) * body.mass
            total = (
                total
                + body.frame.vector(matrix_vector(body.inertia, w))
                + cross(motion.position(body.com), p)
            )
            moving = moving + p
        return total - cross(start, moving) if start.terms else total

    def _motions(self) -> Iterator[tuple[Body, Triple, Triple]]:
        """(body, ω, velocity of the mass centre), both in the body's axes, parents first."""
        zero: Triple = (ZERO, ZERO, ZERO)
        known: dict[Frame, tuple[Triple, Triple]] = {self.ground.frame: (zero, zero)}
        for body in self.bodies.values():
            assert body.parent is not None
            w, v = known[body.parent.frame]
            w_own = _carried_rotation(body, w)
            place = body.displacement.components(body.parent.frame)
            swept = [plus(a, b) for a, b in zip(v, cross_triples(w, place), strict=True)]
            turned = matrix_vector(transposed(direction_cosines(body.parent.frame, body.frame)), swept)
            drift = body.drift.components(body.frame)
            v_own = _named([plus(a, b) for a, b in zip(turned, drift, strict=True)], f"v_{body.name}")
            known[body.frame] = (w_own, v_own)
            at_centre = [
                plus(a, b) for a, b in zip(v_own, cross_triples(w_own, body.com_coordinates), strict=True)
            ]
            yield body, w_own, _named(at_centre, f"vc_{body.name}")


def _joint_frames(body: Body) -> list[Frame]:
    """Frames of a body's joint, from the first turn to the body's own."""
    assert body.parent is not None
    frames: list[Frame] = []
    walker: Frame | None = body.frame
    while walker is not None and walker is not body.parent.frame:
        frames.append(walker)
        walker = walker.parent
    return frames[::-1]


def _carried(body: Body, vector: Triple, name: str) -> Triple:
    """A vector in a body's own axes from its components in the parent's, turn by turn."""
    for frame in _joint_frames(body):
        vector = _named(list(matrix_vector(transposed(frame.rotation), vector)), f"{name}_{frame.name}")
    return vector


def _carried_rotation(body: Body, w: Triple) -> Triple:
    """ω of a body in its own axes from that of its parent, frame by frame through the turns of its joint."""
    for frame in _joint_frames(body):
        own = frame.rate.components(frame)
        turned = matrix_vector(transposed(frame.rotation), w)
        w = _named([plus(a, b) for a, b in zip(turned, own, strict=True)], f"w_{frame.name}")
    return w


def _named(values: list[Any], name: str) -> Triple:
    return tuple(fn.named(as_expr(v), f"{name}_{a}") for v, a in zip(values, "xyz", strict=True))
