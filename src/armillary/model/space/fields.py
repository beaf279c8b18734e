"""Gravity of attracting bodies: potentials, accelerations and their gradients, over any scalar.

A place r leads from the attracting body's centre, in any axes; a is the unit axis of its oblateness in the
same axes. Potentials are per unit mass, with acceleration g = −∇U:

    U = −μ/r + k (3 z² r⁻⁵ − r⁻³)         z = r·a,   k = ½ μ J₂ R²

Source: Montenbruck & Gill (2000), Satellite Orbits, sections 3.1 and 3.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from armillary.algebra import functions as fn
from armillary.algebra.vectors import (
    AXES,
    Matrix,
    Triple,
    cross_triples,
    is_zero,
    matrix_vector,
    plus,
    sum_of_products,
    times,
)

NOWHERE: Triple = (0, 0, 0)


@dataclass(frozen=True, eq=False)
class Source:
    """What attracts: μ, k = ½ μ J₂ R² (0 for a sphere), and the oblateness' axis."""

    mu: Any
    oblateness: Any = 0
    axis: Triple = NOWHERE

    def along(self, axis: Triple) -> Source:
        """The same source with its axis in other axes."""
        return Source(self.mu, self.oblateness, axis)

    @property
    def round(self) -> bool:
        """Whether nothing is known of an oblateness."""
        return is_zero(self.oblateness)


def potential(source: Source, r: Triple) -> Any:
    """U at a place."""
    near = _nearness(r)
    value = -source.mu * near
    if source.round:
        return value
    z = dot(r, source.axis)
    return value + source.oblateness * (3 * z * z * near**5 - near**3)


def acceleration(source: Source, r: Triple) -> Triple:
    """g = −∇U at a place."""
    near = _nearness(r)
    return add(scaled(r, -source.mu * near**3), _oblate_acceleration(source, r, near))


def acceleration_change(source: Source, base: Triple, step: Triple, square: Any = None) -> Triple:
    """g(base + step) − g(base), precise however short the step.

        Δ = −μ (s − F b)/|b + s|³,   q = s·(s + 2 b)/b²,   c = (1 + q)√(1 + q),   F = q (3 + 3 q + q²)/(1 + c)

    Two accelerations of 10 m/s² subtracted would leave 10⁻¹⁵ m/s² of noise, a relative 10⁻⁹ of the gradient
    over a metre. Oblateness is a thousandth of the field and its parts are subtracted as they are.
    ``square`` is b² where it is known already.

    Source: Battin (1999), An Introduction to the Mathematics and Methods of Astrodynamics, section 8.4.
    """
    square = fn.named(dot(base, base), "square") if square is None else square
    q = fn.named(dot(step, add(step, scaled(base, 2))) / square, "stretch")
    cube = fn.named((1 + q) * fn.sqrt(1 + q), "cube")
    excess = fn.named(q * (3 + 3 * q + q * q) / (1 + cube), "excess")
    strength = fn.named(source.mu / (square * fn.sqrt(square)), "strength")
    factor = fn.named(-strength / cube, "pull")
    change = scaled(add(step, scaled(base, -excess)), factor)
    if source.round:
        return change
    there = add(base, step)
    far = _oblate_acceleration(source, there, _nearness(there))
    return add(change, far, scaled(_oblate_acceleration(source, base, _nearness(base)), -1))


def _oblate_acceleration(source: Source, r: Triple, near: Any) -> Triple:
    """k (3 r⁻⁵ (5 z² r⁻² − 1) r − 6 z r⁻⁵ a)."""
    if source.round:
        return NOWHERE
    z = fn.named(dot(r, source.axis), "z")
    fifth = fn.named(source.oblateness * near**5, "oblate")
    radial = 3 * fifth * (5 * z * z * near * near - 1)
    return add(scaled(r, radial), scaled(source.axis, -6 * z * fifth))


@dataclass(frozen=True, eq=False)
class Extended:
    """What the extent of a body adds to second order: potential energy, force, and moment about its mass
    centre."""

    energy: Any
    force: Triple
    moment: Triple


def extended(source: Source, r: Triple, inertia: Matrix) -> Extended:
    """Second-order effect of the field on a body with this inertia about its mass centre at r.

        V = −½ I : ∇∇U,     F = −∂V/∂r,     M = r × ∂V/∂r + a × ∂V/∂a

    of which the round part is V = −μ/2 (r⁻³ tr I − 3 r⁻⁵ r·I·r) and M = 3 μ r⁻⁵ r × I·r. The energy is the
    integral of the potential over the body up to terms of fourth order in its size (third where it has no
    symmetry), so that forces and moments derived from it keep the total energy exactly.

    Source: Hughes (1986), Spacecraft Attitude Dynamics, section 8.1, for the round part.
    """
    near = _nearness(r)
    second = fn.named(near * near, "near2")
    third, fifth = fn.named(second * near, "near3"), fn.named(second * second * near, "near5")
    turned = _named(matrix_vector(inertia, r), "Ir")
    along = fn.named(dot(r, turned), "rIr")
    spread = plus(plus(inertia[0][0], inertia[1][1]), inertia[2][2])
    half = source.mu * 0.5
    energy = -half * (times(spread, third) - 3 * fifth * along)
    slope_r = scaled(r, half * fifth * (3 * spread - 15 * second * along))
    slope_r = add(slope_r, scaled(turned, 6 * half * fifth))
    moment = scaled(cross_triples(r, turned), 6 * half * fifth)
    if source.round:
        return Extended(energy, scaled(slope_r, -1), moment)

    # V = −k/2 (6 r⁻⁵ A − 60 z r⁻⁷ B + (3 r⁻⁵ − 15 z² r⁻⁷) T + (105 z² r⁻⁹ − 15 r⁻⁷) C)
    # with A = a·I·a, B = a·I·r, C = r·I·r, T = tr I
    a, k = source.axis, source.oblateness
    z = fn.named(dot(r, a), "z")
    tilted = _named(matrix_vector(inertia, a), "Ia")
    A, B, C, T = dot(a, tilted), fn.named(dot(r, tilted), "aIr"), along, spread
    latitude = fn.named(z * z * second, "latitude")  # sin² of it
    scale = fn.named(k * fifth * 0.5, "oblate")
    oblate = -scale * (
        6 * A - 60 * z * second * B + (3 - 15 * latitude) * T + (105 * latitude - 15) * second * C
    )
    over = scale * second
    by_r = -30 * A - 15 * T + 105 * latitude * T + second * (420 * z * B + 105 * C - 945 * latitude * C)
    by_a = -60 * B - 30 * z * T + 210 * z * second * C
    by_Ia = -60 * z
    by_Ir = 210 * latitude - 30
    bent_r = scaled(
        add(scaled(r, by_r), scaled(a, by_a), scaled(tilted, by_Ia), scaled(turned, by_Ir)), -over
    )
    # ∂V/∂a = −k/2 (12 r⁻⁵ I·a − 60 r⁻⁷ (B r + z I·r) − 30 z r⁻⁷ T r + 210 z r⁻⁹ C r)
    bent_a = add(
        scaled(tilted, -12 * scale),
        scaled(turned, 60 * z * over),
        scaled(r, over * (60 * B + 30 * z * T - 210 * z * second * C)),
    )
    bent = add(cross_triples(r, bent_r), cross_triples(a, bent_a))
    return Extended(energy + oblate, scaled(add(slope_r, bent_r), -1), add(moment, bent))


# ---------------------------------------------------------------- triples


def _nearness(r: Triple) -> Any:
    """1/r."""
    return fn.named(1 / fn.sqrt(dot(r, r)), "near")


def dot(a: Sequence[Any], b: Sequence[Any]) -> Any:
    """a·b."""
    return sum_of_products(zip(a, b, strict=True))


def add(*triples: Sequence[Any]) -> Triple:
    """The sum of triples."""
    result: list[Any] = [0, 0, 0]
    for triple in triples:
        result = [plus(x, y) for x, y in zip(result, triple, strict=True)]
    return tuple(result)


def scaled(triple: Sequence[Any], factor: Any) -> Triple:
    """The triple times a scalar."""
    found: list[Any] = [0 if is_zero(x) or is_zero(factor) else times(x, factor) for x in triple]
    return tuple(found)


def _named(triple: Sequence[Any], name: str) -> Triple:
    return tuple(fn.named(x, f"{name}_{axis}") for x, axis in zip(triple, AXES, strict=True))
