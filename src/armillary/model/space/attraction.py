"""Attracting bodies: their gravity on every body of a system, also on those added later.

Nothing is made when an attractor is declared: ``all_gravities`` and ``all_loads`` give what acts on the
bodies that there are when they are called. What all bodies share is a uniform field, which lets relative
motion be free of it; to a body far from the mass centre comes the difference, in the body's own axes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from armillary.algebra import functions as fn
from armillary.algebra.arguments import one_of
from armillary.algebra.expression import Expr, as_expr
from armillary.algebra.functions import Operand
from armillary.algebra.triples import Matrix, Scalar, Triple, add, inner, is_zero, joined, scaled
from armillary.algebra.units import LENGTH, ONE, TIME
from armillary.errors import ModelError, nearest
from armillary.model.bodies import motion
from armillary.model.bodies.body import Body, Point
from armillary.model.description import Description
from armillary.model.flexible.deformation import Central, central
from armillary.model.joints import Free
from armillary.model.mass_properties import (
    carried,
    composites,
    first_with_mass,
    named_triple,
    total_mass,
)
from armillary.model.reading.expressions import check_new_name
from armillary.model.reading.kinds import (
    TRIPLE,
    VECTOR,
    Either,
    ExpressionLike,
    Flag,
    GivenTriple,
    TripleLike,
    VectorLike,
    Words,
)
from armillary.model.reading.references import bounded_constant, constant_reader, ground_place, unit_direction
from armillary.model.recording.records import Gravity, Load
from armillary.model.recording.verbs import EntryForm, verb
from armillary.model.space.fields import (
    NOWHERE,
    Attractor,
    GravitySource,
    acceleration,
    acceleration_change,
    extended,
    potential,
    term,
    total,
)

FIELDS = ("mass centre", "gradient", "bodies")
GRAVITATION = LENGTH**3 / TIME**2


@dataclass(frozen=True, eq=False)
class _Spot:
    """A mass centre in its body's axes: from the attractor's centre to the reference point, and from there.

    A body's own, or that of its flexible part.
    """

    body: Body
    at: Point
    mass: Expr
    inertia: Matrix
    source: GravitySource
    base: Triple
    step: Triple
    square: Scalar  # of the base's length
    part: Central | None = None

    @property
    def place(self) -> Triple:
        return named_triple(add(self.base, self.step), f"r_{self.body.name}")


def find_attractor(system: Description, name: object, where: str) -> Attractor:
    """An attractor by its name."""
    if not isinstance(name, str) or name not in system.attractors:
        hint = nearest(name, system.attractors) if isinstance(name, str) else ""
        raise ModelError(f"{where}: there is no attractor {name!r}{hint}")
    return system.attractors[name]


@verb(EntryForm("attractors"))
def attractor(
    system: Description,
    name: str,
    mu: ExpressionLike,
    *,
    at: TripleLike = (0, 0, 0),
    J2: ExpressionLike = 0,
    radius: ExpressionLike | None = None,
    axis: Annotated[VectorLike | GivenTriple | None, Either((VECTOR, TRIPLE))] = None,
    field: Words = "mass centre",
    indirect: Flag = False,
) -> None:
    """A planet, moon or star that attracts all bodies, with gravitational parameter ``mu`` in m³/s².

    ``at``: its centre in the ground's axes, which may be a function of time. ``J2`` with the equatorial
    ``radius`` is its oblateness about ``axis`` (the ground's z where left out). ``field``:

    - "mass centre": the field at the system's mass centre acts uniformly on all bodies, so that orbit and
      attitude do not mix.
    - "gradient": each body feels the field at its own mass centre, and the moment and force that the
      field's gradient gives its inertia, to second order in its size.
    - "bodies": the field at each body's mass centre alone.

    ``indirect`` subtracts the acceleration that the ground's origin has in this field: for third bodies,
    where the ground falls with the planet at its origin. Several attractors add up.
    """
    where = f"attractor '{name}'"
    check_new_name(system, name, "attractor")
    one_of(field, FIELDS, f"{where}: there is no field ", ModelError)
    strength = bounded_constant(system, mu, f"mu of {where}", GRAVITATION)
    size = (
        None
        if radius is None
        else bounded_constant(system, radius, f"radius of {where}", LENGTH, positive=True)
    )
    oblateness = constant_reader(system, f"J2 of {where}", ONE)(J2)
    if not is_zero(oblateness) and size is None:
        raise ModelError(f"{where} has J2 but no radius; give its equatorial radius with radius=")
    pole = unit_direction(system, system.ground.z if axis is None else axis, f"axis of {where}")
    own = pole.components(system.ground.frame)
    if any(isinstance(x, Expr) and not x.constant for x in own):
        raise ModelError(f"{where}: its axis {axis} is not fixed in the ground; give one such as ground.z")
    place = ground_place(system, at, f"'at' of {where}")
    if indirect and all(is_zero(x) for x in place):
        raise ModelError(
            f"{where} is at the ground's origin, whose fall in its field is without bounds; "
            "indirect= is for attractors elsewhere"
        )
    system.attractors[name] = Attractor(name, strength, place, field, bool(indirect), oblateness, size, own)


def all_gravities(system: Description) -> list[Gravity]:
    """Uniform fields: those of ``gravity``, and what attractors give to all bodies alike."""
    found = list(system.gravities)
    for attractor in system.attractors.values():
        common = _common_acceleration(system, attractor)
        for axis, value in zip(system.ground.frame.axes, common, strict=True):
            found.append(Gravity(fn.named(as_expr(value), f"{attractor.name}_g"), axis))
    return found


def all_loads(system: Description) -> list[Load]:
    """The user's loads, and what attractors give to each body besides their uniform part."""
    found = list(system.loads.values())
    for attractor in system.attractors.values():
        for spot in _spots(system, attractor):
            force, moment = _own_load(attractor, spot)
            body, name = spot.body, f"{attractor.name}_{spot.body.name}"
            name += "" if spot.part is None else "_flexible"
            for kind, value in (("force", force), ("moment", moment)):
                if any(not is_zero(x) for x in value):
                    at = spot.at if kind == "force" else None
                    size = fn.sqrt(as_expr(inner(value, value)))
                    found.append(Load(f"{name}_{kind}", kind, size, body.frame.vector(value), body, at))
    return found


def modal_forces(system: Description) -> dict[Expr, Expr]:
    """Forces of attractors on modes besides their uniform part, by modal speed.

    Q_p = −∂V/∂η_p: the force times the mass centre's way, less the energy of the inertia's change.
    """
    found: dict[Expr, Scalar] = {}
    for attractor in system.attractors.values():
        for spot in _spots(system, attractor):
            if spot.part is None:
                continue
            force, _ = _own_load(attractor, spot)
            assert spot.body.flex is not None
            for p, speed in enumerate(spot.body.flex.speeds):
                value = inner(spot.part.shifts[p], force)
                if attractor.field == "gradient":
                    change = extended(spot.source, spot.place, spot.part.slopes[p]).energy
                    value = total(value, term(-1, change))
                found[speed] = total(found.get(speed, 0), value)
    return {speed: as_expr(value) for speed, value in found.items()}


def attraction_energy(system: Description, attractor: Attractor) -> Operand:
    """The energy whose gradient the field is; with moving attractors it depends on time."""
    source, parts = attractor.source, []
    if attractor.field == "mass centre":
        place = add(_mass_place(system), scaled(attractor.place, -1))
        here = named_triple(place, f"r_{attractor.name}")
        parts.append(total_mass(system) * potential(source, here))
    for spot in _spots(system, attractor):
        parts.append(spot.mass * potential(spot.source, spot.place))
        if attractor.field == "gradient":
            parts.append(extended(spot.source, spot.place, spot.inertia).energy)
    if attractor.indirect:
        fall = acceleration(source, scaled(attractor.place, -1))
        parts.append(total_mass(system) * inner(fall, _mass_place(system)))
    return total(*parts)


def _common_acceleration(system: Description, attractor: Attractor) -> Triple:
    """The acceleration that all bodies share, in the ground's axes."""
    if attractor.field == "mass centre":
        _check_together(system, attractor)
        here = _mass_place(system)
    else:
        here = motion.position(_reference_body(system).origin).components(system.ground.frame)
    here = named_triple(here, f"at_{attractor.name}")
    away = scaled(attractor.place, -1)
    if attractor.indirect:
        return acceleration_change(attractor.source, away, here)
    return acceleration(attractor.source, named_triple(add(here, away), f"r_{attractor.name}"))


def _spots(system: Description, attractor: Attractor) -> Iterator[_Spot]:
    """Bodies that feel more than the uniform part, each with its place in its own axes."""
    if attractor.field == "mass centre":
        return
    for body in system.bodies.values():
        if body.flex is not None and body.flex.part.mass == 0:
            raise ModelError(
                f"attractor '{attractor.name}' with field='{attractor.field}': the flexible part of body "
                f"'{body.name}' has no mass of its own, so the field's differences over it are unknown; "
                "use field='mass centre', or describe the part by its masses"
            )
    reference, ground = _reference_body(system), system.ground
    start = motion.position(reference.origin).components(ground.frame)
    base = {"ground": named_triple(add(start, scaled(attractor.place, -1)), f"r_{attractor.name}")}
    square = fn.named(as_expr(inner(base["ground"], base["ground"])), f"square_{attractor.name}")
    step = {"ground": scaled(start, -1)}
    pole = {"ground": attractor.axis}
    for body in system.bodies.values():
        assert body.parent is not None
        above = body.parent.name
        base[body.name] = carried(body, base[above], f"r_{attractor.name}")
        pole[body.name] = carried(body, pole[above], f"axis_{attractor.name}")
        if body is reference:
            step[body.name] = NOWHERE
        else:
            reached = add(step[above], body.displacement.components(body.parent.frame))
            step[body.name] = carried(body, reached, "step")
        source = attractor.source.along(pole[body.name])
        # A wheel whose mass is counted with its carrier's still has an inertia, which feels the gradient.
        if not is_zero(body.mass) or _extends(body.inertia):
            way = named_triple(add(step[body.name], body.com_coordinates), f"step_{body.name}")
            yield _Spot(body, body.com, body.mass, body.inertia, source, base[body.name], way, square)
        if body.flex is not None:
            part = central(body)
            way = named_triple(add(step[body.name], part.centre), f"step_{body.name}")
            at = Point("centre", body, part.centre)
            yield _Spot(body, at, part.mass, part.inertia, source, base[body.name], way, square, part)


def _check_together(system: Description, attractor: Attractor) -> None:
    """An error for bodies that fly apart from each other: one mass centre does not stand for both."""
    flying = [b for b in system.bodies.values() if b.parent is system.ground and isinstance(b.joint, Free)]
    if len(flying) > 1:
        raise ModelError(
            f"attractor '{attractor.name}' with field='mass centre' gives all bodies the field at their "
            f"common mass centre, but '{flying[0].name}' and '{flying[1].name}' fly apart from each "
            "other; use field='gradient' or 'bodies'"
        )


def _reference_body(system: Description) -> Body:
    """The first body with mass, at whose origin the uniform part is taken."""
    return first_with_mass(system, "attractor")


def _mass_place(system: Description) -> Triple:
    """Place of the system's mass centre in the ground's axes."""
    first_with_mass(system, "attractor")
    mass, moment = composites(system)["ground"]
    return joined(x / mass for x in moment)


def _extends(inertia: Matrix) -> bool:
    """Whether there is any inertia."""
    return any(not is_zero(x) for row in inertia for x in row)


def _own_load(attractor: Attractor, spot: _Spot) -> tuple[Triple, Triple]:
    """(force, moment) on a body besides its share of the uniform field, in its own axes."""
    force, moment = NOWHERE, NOWHERE
    if any(not is_zero(x) for x in spot.step):
        force = scaled(acceleration_change(spot.source, spot.base, spot.step, spot.square), spot.mass)
    if attractor.field == "gradient" and _extends(spot.inertia):
        more = extended(spot.source, spot.place, spot.inertia)
        force, moment = add(force, more.force), more.moment
    return force, moment
