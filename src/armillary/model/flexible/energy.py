"""Energy and momentum of flexible parts, in the symbols of ``part.py``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from armillary.algebra.expression import HALF, ZERO, Expr, as_expr, number
from armillary.algebra.intermediate import measured
from armillary.algebra.triples import (
    Matrix,
    Scalar,
    Triple,
    add,
    combination,
    combined,
    cross_triples,
    inner,
    joined,
    matrix_vector,
    plus,
    product,
)
from armillary.algebra.units import ENERGY, INERTIA, LENGTH, MASS, SPEED, Dimension
from armillary.algebra.vectors import Vector
from armillary.model.bodies.body import Body
from armillary.model.flexible.deformation import Deformation, deformation


def _shape(body: Body) -> Deformation:
    flex = body.flex
    assert flex is not None
    return deformation(body.name, flex.part, flex.coordinates, flex.speeds)


def first_moment(body: Body) -> Triple:
    """c(η) of a body's flexible part in body axes; zero for a rigid body."""
    if body.flex is None:
        return (ZERO, ZERO, ZERO)
    return _named(add(body.flex.part.first.tolist(), _shape(body).first), f"c_{body.name}", MASS * LENGTH)


@dataclass(frozen=True, eq=False)
class Central:
    """A flexible part about its present mass centre, in body axes: where that is from the body's origin, the
    inertia, and how both change with the modes."""

    mass: Expr
    centre: Triple
    inertia: Matrix
    shifts: tuple[Triple, ...]  # ∂centre/∂η_p = P_p/m
    slopes: tuple[Matrix, ...]  # ∂inertia/∂η_p


def central(body: Body) -> Central:
    """The flexible part of a body, which has mass, about its mass centre: J − (c·c 1 − c cᵀ)/m."""
    flex = body.flex
    assert flex is not None
    part, shape, name = flex.part, _shape(body), body.name
    c = first_moment(body)
    share = 1.0 / part.mass
    J = [add(a, b) for a, b in zip(part.inertia.tolist(), shape.inertia, strict=True)]
    slopes = []
    for p, (P, S) in enumerate(zip(shape.P, shape.slopes, strict=True)):
        both = [[_product(c[i], P[j]) + _product(P[i], c[j]) for j in range(3)] for i in range(3)]
        slopes.append(_less(S, both, share, f"Ic_{name}_{p + 1}"))
    square = [[_product(c[i], c[j]) for j in range(3)] for i in range(3)]
    return Central(
        number(part.mass, MASS),
        _named(joined(product(x, share) for x in c), f"cm_{name}", LENGTH),
        _less(J, square, share, f"Ic_{name}"),
        tuple(joined(product(as_expr(x), share) for x in P) for P in shape.P),
        tuple(slopes),
    )


def _less(J: Sequence[Triple], square: Sequence[Sequence[Scalar]], share: float, name: str) -> Matrix:
    """J − share (tr(square) 1 − square), of dimension inertia."""
    trace = square[0][0] + square[1][1] + square[2][2]
    rows = []
    for i in range(3):
        row = []
        for j in range(3):
            moved = trace - square[i][j] if i == j else -square[i][j]
            value = plus(as_expr(J[i][j]), product(as_expr(moved), -share))
            row.append(measured(value, INERTIA, f"{name}_{i + 1}{j + 1}"))
        rows.append(joined(row))
    return joined(rows)


def _product(a: object, b: object) -> Expr:
    return as_expr(a) * as_expr(b)


def flexible_strain_energy(body: Body) -> Expr:
    """½ η·Kη."""
    flex = body.flex
    assert flex is not None
    eta = flex.coordinates
    energy = HALF * as_expr(inner([combination(row, eta) for row in flex.part.K.tolist()], eta))
    return measured(energy, ENERGY, f"strain_{body.name}")


def flexible_kinetic_energy(body: Body, w: Triple, v: Triple) -> Expr:
    """T of a body's flexible part: ½ (v·p + ω·L + ξ·π), half the speeds times their momenta."""
    flex = body.flex
    assert flex is not None
    shape, xi = _shape(body), flex.speeds
    p, L = _momenta(body, shape, w, v)
    modal = [
        plus(plus(inner(P, v), inner(H, w)), combination(row, xi))
        for P, H, row in zip(shape.P, shape.H, shape.M, strict=True)
    ]
    energy = HALF * as_expr(plus(plus(inner(v, p), inner(w, L)), inner(xi, modal)))
    return measured(energy, ENERGY, f"kinetic_{body.name}")


def flexible_momenta(body: Body, w: Triple, v: Triple) -> tuple[Vector, Vector]:
    """(momentum, angular momentum about the body's origin) of a body's flexible part."""
    p, L = _momenta(body, _shape(body), w, v)
    return body.frame.vector(p), body.frame.vector(L)


def _momenta(body: Body, shape: Deformation, w: Triple, v: Triple) -> tuple[Triple, Triple]:
    """p = m v + ω × c + Pξ and L = Jω + c × v + Hξ in body axes."""
    flex = body.flex
    assert flex is not None
    part, xi = flex.part, flex.speeds
    c = first_moment(body)
    J = joined(add(a, b) for a, b in zip(part.inertia.tolist(), shape.inertia, strict=True))
    mass = tuple(product(x, part.mass) if part.mass else ZERO for x in v)
    p = add(mass, cross_triples(w, c), combined(shape.P, xi))
    L = add(matrix_vector(J, w), cross_triples(c, v), combined(shape.H, xi))
    momentum = MASS * SPEED
    return _named(p, f"p_{body.name}", momentum), _named(L, f"L_{body.name}", momentum * LENGTH)


def _named(v: Triple, name: str, dimension: Dimension) -> Triple:
    x, y, z = (measured(a, dimension, f"{name}_{axis}") for a, axis in zip(v, "xyz", strict=True))
    return x, y, z
