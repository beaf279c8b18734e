"""Attracting bodies and their fields of gravity.

Gravity of attracting bodies: potentials, accelerations and their gradients, over any scalar.

A place r leads from the attracting body's centre, in any axes; a is the unit axis of its oblateness in the
same axes. Potentials are per unit mass, with acceleration g = −∇U:

    U = −μ/r + k (3 z² r⁻⁵ − r⁻³)         z = r·a,   k = ½ μ J₂ R²

Source: Montenbruck & Gill (2000), Satellite Orbits, sections 3.1 and 3.2.

A body outside of a system that attracts the bodies of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from armillary.algebra import functions as fn
from armillary.algebra.expression import Expr
from armillary.algebra.functions import Operand
from armillary.algebra.triples import (
    ExprTriple,
    Matrix,
    Triple,
    add,
    cross_triples,
    inner,
    is_zero,
    matrix_vector,
    named,
    plus,
    scaled,
    times,
)
from armillary.errors import ModelError

NOWHERE: Triple = (0, 0, 0)


@dataclass(frozen=True, eq=False)
class GravitySource:
    """An attracting body: μ, k = ½ μ J₂ R² (0 for a sphere), and the oblateness' axis."""

    mu: Operand
    oblateness: Operand = 0
    axis: Triple = NOWHERE

    def along(self, axis: Triple) -> GravitySource:
        """The same source with its axis in other axes."""
        return GravitySource(self.mu, self.oblateness, axis)

    @property
    def round(self) -> bool:
        """Whether nothing is known of an oblateness."""
        return is_zero(self.oblateness)


def potential(source: GravitySource, r: Triple) -> Operand:
    """U at a place."""
    near = _nearness(r)
    value = term(-1, source.mu, near)
    if source.round:
        return value
    z = inner(r, source.axis)
    return sum_of_terms(
        value, term(3, source.oblateness, z, z, near**5), term(-1, source.oblateness, near**3)
    )


def acceleration(source: GravitySource, r: Triple) -> Triple:
    """g = −∇U at a place."""
    near = _nearness(r)
    return add(scaled(r, term(-1, source.mu, near**3)), _oblate_acceleration(source, r, near))


def acceleration_change(source: GravitySource, base: Triple, step: Triple, square: Operand = None) -> Triple:
    """g(base + step) − g(base), precise however short the step.

        Δ = −μ (s − F b)/|b + s|³,   q = s·(s + 2 b)/b²,   c = (1 + q)√(1 + q),   F = q (3 + 3 q + q²)/(1 + c)

    Two accelerations of 10 m/s² subtracted would leave 10⁻¹⁵ m/s² of noise, a relative 10⁻⁹ of the gradient
    over a metre. Oblateness is a thousandth of the field and its parts are subtracted directly. ``square`` is
    b², if known already.

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
    """k (3 r⁻⁵ (5 z² r⁻² − 1) r − 6 z r⁻⁵ a)."""
    if source.round:
        return NOWHERE
    z = fn.named(inner(r, source.axis), "z")
    fifth = fn.named(source.oblateness * near**5, "oblate")
    radial = term(3, fifth, sum_of_terms(term(5, z, z, near, near), -1))
    return add(scaled(r, radial), scaled(source.axis, term(-6, z, fifth)))


@dataclass(frozen=True, eq=False)
class Extended:
    """Second-order terms by the extent of a body: potential energy, force, and moment about its mass
    centre."""

    energy: Operand
    force: Triple
    moment: Triple


def extended_body(source: GravitySource, r: Triple, inertia: Matrix) -> Extended:
    """Second-order effect of the field on a body with this inertia about its mass centre at r.

        V = −½ I : ∇∇U,     F = −∂V/∂r,     M = r × ∂V/∂r + a × ∂V/∂a

    With A = a·I·a, B = a·I·r, C = r·I·r, T = tr I, and n = 1/r,

        V = −½ μ (n³ T − 3 n⁵ C) − ½ k (6 n⁵ A − 60 z n⁷ B + (3 n⁵ − 15 z² n⁷) T + (105 z² n⁹ − 15 n⁷) C)

    and the moment's round part is 3 μ n⁵ r × I·r. The energy is the integral of the potential over the body
    except for terms of third order in its size, of fourth if it is symmetric; forces and moments derive from
    it exactly, so that the total energy is kept.

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
    """The part of ``extended_body`` with k."""
    a = source.axis
    z = fn.named(inner(r, a), "z")
    Ia = named(matrix_vector(inertia, a), "Ia")
    A, B = inner(a, Ia), fn.named(inner(r, Ia), "aIr")
    s = fn.named(term(1, z, z, n2), "latitude")  # sin² of it
    k5 = fn.named(term(0.5, source.oblateness, n5), "oblate")
    k7 = fn.named(k5 * n2, "oblate7")
    in_brackets = sum_of_terms(
        term(6, A), term(-60, z, n2, B), term(3, T), term(-15, s, T), term(105, s, n2, C), term(-15, n2, C)
    )
    # ∂V/∂r = −½ k n⁷ ( … r + (−60 B − 30 z T + 210 z n² C) a − 60 z I·a + (210 s − 30) I·r )
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
    """A number times a product; the number is of no dimension."""
    return times(reduce(times, factors), coefficient)


def sum_of_terms(*terms: Operand) -> Operand:
    """The sum of terms, known zeros left out."""
    return reduce(plus, terms)


def _nearness(r: Triple) -> Operand:
    """1/r."""
    square = inner(r, r)
    if is_zero(square):
        raise ModelError(
            "an attractor stands where a mass centre always is, and attracts without bounds; move one"
        )
    return fn.named(square**-0.5, "near")


@dataclass(frozen=True, eq=False)
class Attractor:
    """A body that attracts and is not itself part of the system; places and axis are in the ground's axes."""

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
