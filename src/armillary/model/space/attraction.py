"""Attractors, such as planets: their gravity on every body of a system, also on bodies added later.

The verb ``attractor`` makes no load. ``all_gravities`` and ``all_loads`` return its effects on the bodies
that exist when they are called. One part of these effects is a uniform field, the same for all bodies, which
does not affect their relative motion. The difference between the field at a body's mass centre and the
uniform field is a load in the body's own axes.

The formulas hold for any scalars. The vector r leads from the attractor's centre to a place, and the unit
vector a is the axis of its oblateness, both in the same axes. Potentials U are per unit mass, with g = −∇U:

    U = −μ/r + k (3 z² r⁻⁵ − r⁻³)         z = r·a,   k = ½ μ J₂ R²

Source: Montenbruck & Gill (2000), Satellite Orbits, sections 3.1 and 3.2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Annotated

from armillary.algebra import functions as fn
from armillary.algebra.arguments import one_of
from armillary.algebra.expression import Expr, as_expr
from armillary.algebra.functions import Operand
from armillary.algebra.triples import (
    ExprTriple,
    Matrix,
    Scalar,
    Triple,
    add,
    cross_triples,
    inner,
    is_zero,
    joined,
    matrix_vector,
    named,
    plus,
    scaled,
    times,
)
from armillary.algebra.units import LENGTH, ONE, TIME
from armillary.errors import ModelError, nearest
from armillary.model.bodies import motion
from armillary.model.bodies.body import Body, Point
from armillary.model.bodies.motion import (
    carry_to_child,
    composites,
    first_with_mass,
    named_triple,
    total_mass,
)
from armillary.model.description import Description, Gravity, Load
from armillary.model.flexible.deformation import Central, central
from armillary.model.joints import Free
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
from armillary.model.verbs import EntryForm, verb

ZERO_VECTOR: Triple = (0, 0, 0)


@dataclass(frozen=True, eq=False)
class GravitySource:
    """The field of an attractor: μ, the oblateness k = ½ μ J₂ R² (0 for a sphere), and its axis a."""

    mu: Operand
    oblateness: Operand = 0
    axis: Triple = ZERO_VECTOR

    def along(self, axis: Triple) -> GravitySource:
        """Return the same source with the vector ``axis`` in place of its own, for use in other axes."""
        return GravitySource(self.mu, self.oblateness, axis)

    @property
    def round(self) -> bool:
        """Whether the source has no oblateness."""
        return is_zero(self.oblateness)


def potential(source: GravitySource, r: Triple) -> Operand:
    """Return the potential U at a place r."""
    near = _nearness(r)
    value = term(-1, source.mu, near)
    if source.round:
        return value
    z = inner(r, source.axis)
    return sum_of_terms(
        value, term(3, source.oblateness, z, z, near**5), term(-1, source.oblateness, near**3)
    )


def acceleration(source: GravitySource, r: Triple) -> Triple:
    """Return the acceleration g = −∇U at a place r."""
    near = _nearness(r)
    return add(scaled(r, term(-1, source.mu, near**3)), _oblate_acceleration(source, r, near))


def acceleration_change(source: GravitySource, base: Triple, step: Triple, square: Operand = None) -> Triple:
    """Return Δ = g(b + s) − g(b) for the vectors b, ``base``, and s, ``step``, precisely also for short
    steps.

        Δ = −μ (s − F b)/|b + s|³,   q = s·(s + 2 b)/b²,   c = (1 + q)√(1 + q),   F = q (3 + 3 q + q²)/(1 + c)

    If two accelerations of 10 m/s² were subtracted, rounding errors of 10⁻¹⁵ m/s² would be left, 10⁻⁹ of the
    difference over a metre. The part due to oblateness is only a thousandth of the field, so its difference
    is found by subtraction. ``square`` is b², if it is known already.

    Source: Battin (1999), An Introduction to the Mathematics and Methods of Astrodynamics, section 8.4.
    """
    square = fn.named(inner(base, base), "square") if square is None else square
    q = fn.named(inner(step, add(step, scaled(base, 2))) / square, "stretch")
    longer = sum_of_terms(1, q)
    cube = fn.named(longer * fn.sqrt(longer), "cube")
    excess = fn.named(q * sum_of_terms(3, term(3, q), q * q) / sum_of_terms(1, cube), "excess")
    strength = fn.named(source.mu / (square * fn.sqrt(square)), "strength")
    pull = fn.named(strength / cube, "pull")
    change = scaled(add(scaled(base, excess), scaled(step, -1)), pull)
    if source.round:
        return change
    there = add(base, step)
    far = _oblate_acceleration(source, there, _nearness(there))
    return add(change, far, scaled(_oblate_acceleration(source, base, _nearness(base)), -1))


def _oblate_acceleration(source: GravitySource, r: Triple, near: Operand) -> Triple:
    """Return the part k (3 r⁻⁵ (5 z² r⁻² − 1) r − 6 z r⁻⁵ a) of g; ``near`` is 1/r."""
    if source.round:
        return ZERO_VECTOR
    z = fn.named(inner(r, source.axis), "z")
    fifth = fn.named(source.oblateness * near**5, "oblate")
    radial = term(3, fifth, sum_of_terms(term(5, z, z, near, near), -1))
    return add(scaled(r, radial), scaled(source.axis, term(-6, z, fifth)))


@dataclass(frozen=True, eq=False)
class Extended:
    """Effects of a field on a body because of the body's extent, to second order: potential energy, force,
    and moment about its mass centre."""

    energy: Operand
    force: Triple
    moment: Triple


def extended_body(source: GravitySource, r: Triple, inertia: Matrix) -> Extended:
    """Return the second-order effect of the field on a body with this inertia about its mass centre at r.

        V = −½ I : ∇∇U,     F = −∂V/∂r,     M = r × ∂V/∂r + a × ∂V/∂a

    With A = a·I·a, B = a·I·r, C = r·I·r, T = tr I, and n = 1/r,

        V = −½ μ (n³ T − 3 n⁵ C) − ½ k (6 n⁵ A − 60 z n⁷ B + (3 n⁵ − 15 z² n⁷) T + (105 z² n⁹ − 15 n⁷) C)

    and the moment without oblateness is 3 μ n⁵ r × I·r. V is the integral of the potential over the body,
    less that of a point mass. Terms of third and higher order in the body's size are neglected; for a
    symmetric body terms of third order vanish. Forces and moments are exact derivatives of V, so the total
    energy is conserved.

    Source: Hughes (1986), Spacecraft Attitude Dynamics, section 8.1, for the round part.
    """
    n = _nearness(r)
    n2 = fn.named(n * n, "near2")
    n3, n5 = fn.named(n2 * n, "near3"), fn.named(n2 * n2 * n, "near5")
    Ir = named(matrix_vector(inertia, r), "Ir")
    C = fn.named(inner(r, Ir), "rIr")
    T = sum_of_terms(inertia[0][0], inertia[1][1], inertia[2][2])
    strength = fn.named(term(3, source.mu, n5), "gradient")  # 3 μ n⁵
    energy = sum_of_terms(term(-0.5, source.mu, n3, T), term(0.5, strength, C))
    slope_r = add(
        scaled(r, term(0.5, strength, sum_of_terms(T, term(-5, n2, C)))),
        scaled(Ir, strength),
    )
    moment = scaled(cross_triples(r, Ir), strength)
    if source.round:
        return Extended(energy, scaled(slope_r, -1), moment)
    bent = _extended_oblate(source, r, inertia, Ir, C, T, n2, n5)
    return Extended(
        sum_of_terms(energy, bent.energy),
        add(scaled(slope_r, -1), bent.force),
        add(moment, bent.moment),
    )


def _extended_oblate(
    source: GravitySource,
    r: Triple,
    inertia: Matrix,
    Ir: Triple,
    C: object,
    T: object,
    n2: object,
    n5: object,
) -> Extended:
    """Return the part of ``extended_body`` that oblateness adds, the terms with the factor k."""
    a = source.axis
    z = fn.named(inner(r, a), "z")
    Ia = named(matrix_vector(inertia, a), "Ia")
    A, B = inner(a, Ia), fn.named(inner(r, Ia), "aIr")
    s = fn.named(term(1, z, z, n2), "latitude")  # sin² of the latitude
    k5 = fn.named(term(0.5, source.oblateness, n5), "oblate")
    k7 = fn.named(k5 * n2, "oblate7")
    in_brackets = sum_of_terms(
        term(6, A), term(-60, z, n2, B), term(3, T), term(-15, s, T), term(105, s, n2, C), term(-15, n2, C)
    )
    # ∂V/∂r = −½ k n⁷ ( along_r r + (−60 B − 30 z T + 210 z n² C) a − 60 z I·a + (210 s − 30) I·r )
    along_r = sum_of_terms(
        term(-30, A),
        term(-15, T),
        term(105, s, T),
        term(420, z, n2, B),
        term(105, n2, C),
        term(-945, s, n2, C),
    )
    along_a = sum_of_terms(term(-60, B), term(-30, z, T), term(210, z, n2, C))
    by_r = add(
        scaled(r, along_r),
        scaled(a, along_a),
        scaled(Ia, term(-60, z)),
        scaled(Ir, sum_of_terms(term(210, s), -30)),
    )
    # ∂V/∂a = −½ k ( 12 n⁵ I·a + n⁷ (−60 B − 30 z T + 210 z n² C) r − 60 z n⁷ I·r )
    by_a = add(scaled(Ia, term(12, k5)), scaled(r, k7 * along_a), scaled(Ir, term(-60, z, k7)))
    slope = scaled(by_r, k7)
    moment = add(cross_triples(r, slope), cross_triples(a, by_a))
    return Extended(term(-1, k5, in_brackets), slope, scaled(moment, -1))


# ---------------------------------------------------------------- scalars and triples


def term(coefficient: float, *factors: Operand) -> Operand:
    """Return a dimensionless number times a product."""
    return times(reduce(times, factors), coefficient)


def sum_of_terms(*terms: Operand) -> Operand:
    """Return the sum of terms; terms that are known to be zero are left out."""
    return reduce(plus, terms)


def _nearness(r: Triple) -> Operand:
    """Return 1/|r|."""
    square = inner(r, r)
    if is_zero(square):
        raise ModelError(
            "a mass centre is always at an attractor, where the attraction is infinite; move one of them"
        )
    return fn.named(square**-0.5, "near")


@dataclass(frozen=True, eq=False)
class Attractor:
    """A body that attracts but is not part of the system; ``place`` and ``axis`` are in the ground's axes."""

    name: str
    mu: Expr
    place: ExprTriple
    field: str
    indirect: bool
    J2: Expr
    radius: Expr | None
    axis: Triple

    @property
    def source(self) -> GravitySource:
        """Its field, in the ground's axes."""
        if is_zero(self.J2):
            return GravitySource(self.mu)
        assert self.radius is not None
        return GravitySource(
            self.mu,
            fn.named(term(0.5, self.mu, self.J2, self.radius, self.radius), self.name),
            self.axis,
        )


FIELDS = ("mass centre", "gradient", "bodies")
GRAVITATION = LENGTH**3 / TIME**2


@dataclass(frozen=True, eq=False)
class _Spot:
    """The mass centre of a body or of its flexible part.

    ``base`` leads from the attractor's centre to the origin of the reference body, ``step`` from there to the
    mass centre; both vectors are in the body's axes.
    """

    body: Body
    at: Point
    mass: Expr
    inertia: Matrix
    source: GravitySource
    base: Triple
    step: Triple
    square: Scalar  # base·base
    part: Central | None = None

    @property
    def place(self) -> Triple:
        return named_triple(add(self.base, self.step), f"r_{self.body.name}")


def find_attractor(system: Description, name: object, where: str) -> Attractor:
    """Return an attractor by its name."""
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
    """Add a planet, moon or star that attracts all bodies, with gravitational parameter ``mu`` in m³/s².

    ``at`` is its centre in the ground's axes, which may be a function of time. ``J2`` with the equatorial
    ``radius`` is its oblateness about ``axis`` (by default the ground's z). ``field`` is one of:

    - "mass centre": the field at the system's mass centre acts uniformly on all bodies, so that the attitude
      has no effect on the orbit, nor the orbit on the attitude.
    - "gradient": each body is subject to the field at its own mass centre, and to the moment and force that
      the field's gradient causes by the body's inertia, to second order in the body's size.
    - "bodies": each body is subject only to the field at its own mass centre.

    ``indirect`` subtracts the acceleration that the field gives the ground's origin. This is needed for a
    third body, such as the Moon, if the ground's origin is a planet that falls freely, too. Several
    attractors add up.
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
            f"{where} is at the ground's origin, where its field is infinite; "
            "indirect= is for attractors elsewhere"
        )
    system.attractors[name] = Attractor(name, strength, place, field, bool(indirect), oblateness, size, own)


def all_gravities(system: Description) -> list[Gravity]:
    """Return the uniform fields: those of the verb ``gravity``, and the uniform parts of attractors."""
    found = list(system.gravities)
    for attractor in system.attractors.values():
        common = _common_acceleration(system, attractor)
        for axis, value in zip(system.ground.frame.axes, common, strict=True):
            found.append(Gravity(fn.named(as_expr(value), f"{attractor.name}_g"), axis))
    return found


def all_loads(system: Description) -> list[Load]:
    """Return the user's loads, and the loads of attractors on each body besides their uniform parts."""
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
    """Return the forces of attractors on modes, without those of the uniform fields, by modal speed.

    Q_p = −∂V/∂η_p is the force times ∂(mass centre)/∂η_p, less ∂V/∂(inertia) times ∂(inertia)/∂η_p.
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
                    change = extended_body(spot.source, spot.place, spot.part.slopes[p]).energy
                    value = sum_of_terms(value, term(-1, change))
                found[speed] = sum_of_terms(found.get(speed, 0), value)
    return {speed: as_expr(value) for speed, value in found.items()}


def attraction_energy(system: Description, attractor: Attractor) -> Operand:
    """Return the potential energy in the field; with moving attractors it depends on time."""
    source, parts = attractor.source, []
    if attractor.field == "mass centre":
        place = add(_mass_place(system), scaled(attractor.place, -1))
        here = named_triple(place, f"r_{attractor.name}")
        parts.append(total_mass(system) * potential(source, here))
    for spot in _spots(system, attractor):
        parts.append(spot.mass * potential(spot.source, spot.place))
        if attractor.field == "gradient":
            parts.append(extended_body(spot.source, spot.place, spot.inertia).energy)
    if attractor.indirect:
        fall = acceleration(source, scaled(attractor.place, -1))
        parts.append(total_mass(system) * inner(fall, _mass_place(system)))
    return sum_of_terms(*parts)


def _common_acceleration(system: Description, attractor: Attractor) -> Triple:
    """Return the acceleration that all bodies share, in the ground's axes."""
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
    """Yield the mass centres at which the field may differ from the uniform field."""
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
        base[body.name] = carry_to_child(body, base[above], f"r_{attractor.name}")
        pole[body.name] = carry_to_child(body, pole[above], f"axis_{attractor.name}")
        if body is reference:
            step[body.name] = ZERO_VECTOR
        else:
            reached = add(step[above], body.displacement.components(body.parent.frame))
            step[body.name] = carry_to_child(body, reached, "step")
        source = attractor.source.along(pole[body.name])
        # A wheel may have no mass, since the user has added it to the carrier's mass; the gradient still acts
        # on the wheel's inertia.
        if not is_zero(body.mass) or _extends(body.inertia):
            way = named_triple(add(step[body.name], body.com_coordinates), f"step_{body.name}")
            yield _Spot(body, body.com, body.mass, body.inertia, source, base[body.name], way, square)
        if body.flex is not None:
            part = central(body)
            way = named_triple(add(step[body.name], part.centre), f"step_{body.name}")
            at = Point("centre", body, part.centre)
            yield _Spot(body, at, part.mass, part.inertia, source, base[body.name], way, square, part)


def _check_together(system: Description, attractor: Attractor) -> None:
    """Raise an error if several bodies move freely in the ground, since the field differs between them."""
    flying = [b for b in system.bodies.values() if b.parent is system.ground and isinstance(b.joint, Free)]
    if len(flying) > 1:
        raise ModelError(
            f"attractor '{attractor.name}' with field='mass centre' gives all bodies the field at their "
            f"common mass centre, but '{flying[0].name}' and '{flying[1].name}' fly apart from each "
            "other; use field='gradient' or 'bodies'"
        )


def _reference_body(system: Description) -> Body:
    """Return the first body with mass; the uniform field is the field at its origin."""
    return first_with_mass(system, "attractor")


def _mass_place(system: Description) -> Triple:
    """Return the position of the system's mass centre in the ground's axes."""
    first_with_mass(system, "attractor")
    mass, moment = composites(system)["ground"]
    return joined(x / mass for x in moment)


def _extends(inertia: Matrix) -> bool:
    """Return whether some element of an inertia is not zero."""
    return any(not is_zero(x) for row in inertia for x in row)


def _own_load(attractor: Attractor, spot: _Spot) -> tuple[Triple, Triple]:
    """Return the force and moment of an attractor on a body besides its uniform field, in the body's axes."""
    force, moment = ZERO_VECTOR, ZERO_VECTOR
    if any(not is_zero(x) for x in spot.step):
        force = scaled(acceleration_change(spot.source, spot.base, spot.step, spot.square), spot.mass)
    if attractor.field == "gradient" and _extends(spot.inertia):
        more = extended_body(spot.source, spot.place, spot.inertia)
        force, moment = add(force, more.force), more.moment
    return force, moment
