"""Motion, present shape and energy of a flexible part as functions of its modes.

The rotation b = Θη of a node by its modes is taken as the rotation vector of a finite rotation. So the node's
axes remain orthonormal, and energy is conserved for modes of any amplitude. Exp(b) is the rotation matrix, ω
the angular velocity in the axes before the rotation. With x = b·b,

    Exp(b) = 1 + A b̃ + B b̃b̃        Jl(b) = 1 + B b̃ + C b̃b̃        ω = Jl(b) ḃ

    A = sin √x/√x        B = (1 − cos √x)/x        C = (√x − sin √x)/(x √x)

The derivatives of B and C by x need two further functions D and E of the same family. A, B and C are computed
from these, without cancellation:

    D = (½ − B)/x        E = (⅙ − C)/x        C = ⅙ − xE        B = ½ − xD        A = 1 − xC
    dB/dx = D − C/2      dC/dx = (3E − D)/2

Up to 1 rad D and E are power series in x, which have no singularity at zero. Beyond 1 rad they are closed
forms with sines and cosines. So rotations by all angles are exact to rounding. Source: corrected statement of
momentum-state dynamics (Stoneking 2010), joints at flexible nodes.

The first moment, inertia, couplings, energy and momentum of a part in its present shape are functions of its
modes. The symbols are defined in ``part.py``; ∂J/∂η_p = J1_p + Σ η_q J2_pq. Let A_qp be the part of ∂H_p/∂η_q
that changes sign if p and q are exchanged, and B_qp the other part. Then 2 ω·Σ ξ_q A_qp is the Coriolis force
on mode p, and Σ ξ_p ξ_q B_qp = Ḣξ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import factorial
from typing import Any

import numpy as np

from armillary.algebra import functions as fn
from armillary.algebra.expression import HALF, ZERO, Expr, as_expr, number
from armillary.algebra.functions import with_stated_dimension
from armillary.algebra.triples import (
    IDENTITY,
    ZEROS,
    Matrix,
    Scalar,
    ScalarMap,
    Triple,
    add,
    combination,
    combined,
    cross_triples,
    inner,
    is_zero,
    joined,
    matrix_vector,
    named,
    negative,
    plus,
    product,
    scaled,
    skew,
    sum_of_products,
    times,
    transposed,
)
from armillary.algebra.units import ENERGY, INERTIA, LENGTH, MASS, ONE, SPEED, Dimension
from armillary.algebra.vectors import Vector
from armillary.model.bodies.body import Body
from armillary.model.flexible.part import FlexibleNode, FlexiblePart
from armillary.model.joints.base import Flexed, principal_rotation
from armillary.untyped import DataTable

# Numbers of terms of D and E, exact to rounding up to 1 rad: the first terms left out are 1/20! and 1/19!.
_TERMS = {4: 8, 5: 7}


def node_step(body: str, node: FlexibleNode, eta: Sequence[Expr], xi: Sequence[Expr]) -> Flexed:
    """Return the motion of a node's axes relative to its body's axes."""
    label = f"{body}_{node.name}"
    place, shapes, quick = _displace_node(node, eta, xi, label)
    turning = _Turning(_column_triples(node.rotation), eta, xi, label)
    inverse = transposed(turning.matrix)
    moving = tuple(named(matrix_vector(inverse, column), f"psi_{label}") for column in shapes)
    rates = turning.rates(-1)
    return Flexed(
        body,
        place,
        turning.matrix,
        tuple(xi),
        rates.columns,
        moving,
        turned=rates.bias,
        moved=matrix_vector(inverse, quick),
        axis=turning.axis,
        angle=turning.angle,
    )


def held_step(body: str, node: FlexibleNode, eta: Sequence[Expr], xi: Sequence[Expr]) -> Flexed:
    """Return the motion of a body's axes relative to the node that holds it: the inverse of ``node_step``."""
    label = f"{body}_{node.name}"
    displaced, shapes, quick = _displace_node(node, eta, xi, label)
    turning = _Turning(_column_triples(node.rotation), eta, xi, label)
    inverse = transposed(turning.matrix)
    rates = turning.rates(1)
    columns = tuple(negative(c) for c in rates.columns)
    bias = negative(rates.bias)
    moving = tuple(
        named(add(cross_triples(displaced, turn), negative(shape)), f"held_psi_{body}")
        for turn, shape in zip(columns, shapes, strict=True)
    )
    # v = −ω × x − Ψξ in the body's axes, and the rate of v relative to the node's axes
    spin, drift = combined(columns, xi), combined(shapes, xi)
    v = combined(moving, xi)
    moved = add(
        cross_triples(spin, v),
        cross_triples(displaced, bias),
        negative(cross_triples(spin, drift)),
        negative(quick),
    )
    position = negative(matrix_vector(inverse, displaced))
    return Flexed(
        body,
        position,
        inverse,
        tuple(xi),
        columns,
        moving,
        turned=bias,
        moved=named(moved, f"held_a_{body}"),
        axis=turning.axis,
        angle=None if turning.angle is None else -turning.angle,
    )


def _displace_node(
    node: FlexibleNode, eta: Sequence[Expr], xi: Sequence[Expr], label: str
) -> tuple[Triple, list[Triple], Triple]:
    """Return a node's position x, its derivatives ∂x/∂η_p (shapes), and its acceleration at constant ξ.

    The position is x = r + Ψη + ½ Σ η_p η_q G_pq, so the shapes are Ψ_p + Σ η_q G_pq.
    """
    straight = _column_triples(node.shape)
    if node.shortening is None:
        place = add(_number_triple(node.position), combined(straight, eta))
        return _lengths(place, f"at_{label}"), straight, (0, 0, 0)
    bent = [_column_triples(node.shortening[:, p, :]) for p in range(len(eta))]
    shapes = [
        named(add(column, combined(G, eta)), f"shape_{label}")
        for column, G in zip(straight, bent, strict=True)
    ]
    mean = [scaled(add(a, b), 0.5) for a, b in zip(straight, shapes, strict=True)]
    place = add(_number_triple(node.position), combined(mean, eta))
    quick = combined([combined(G, xi) for G in bent], xi)
    return _lengths(place, f"at_{label}"), shapes, named(quick, f"bent_{label}")


class _Rates:
    """Angular velocity per modal speed, and the angular acceleration at constant modal speeds."""

    def __init__(self, columns: tuple[Triple, ...], bias: Triple) -> None:
        self.columns = columns
        self.bias = bias


class _Turning:
    """A node's rotation by its modes."""

    def __init__(self, turns: Sequence[Triple], eta: Sequence[Expr], xi: Sequence[Expr], label: str) -> None:
        self.turns = turns
        self.label = label
        self.b = named(combined(turns, eta), f"b_{label}")
        self.v = named(combined(turns, xi), f"bd_{label}")
        axes = [i for i in range(3) if not is_zero(self.b[i])]
        self.single = len(axes) <= 1
        self.x: Scalar = 0
        self.axis: int | None = axes[0] if len(axes) == 1 else None
        self.angle = None if self.axis is None else as_expr(self.b[self.axis])
        if not axes:
            self.matrix: Matrix = IDENTITY
        elif self.axis is not None:
            self.matrix = principal_rotation(self.axis, fn.cos(self.angle), fn.sin(self.angle))
        else:
            # x is a dimensionless number, whatever the units of the modes.
            self.x = with_stated_dimension(
                sum_of_products(zip(self.b, self.b, strict=True)), ONE, f"bb_{label}"
            )
            self.D, self.E = _remainders(self.x, label)
            self.C = fn.named(1 / 6 - self.x * self.E, f"C_{label}")
            self.B = fn.named(0.5 - self.x * self.D, f"B_{label}")
            self.matrix = self._exponential()

    def _exponential(self) -> Matrix:
        A = fn.named(1.0 - self.x * self.C, f"A_{self.label}")
        tilde, square = skew(self.b), _squared_tilde(self.b, self.x)
        rows = []
        for i in range(3):
            row = []
            for j in range(3):
                value = plus(times(A, tilde[i][j]), times(self.B, square[i][j]))
                row.append(
                    with_stated_dimension(plus(value, 1.0) if i == j else value, ONE, f"E_{self.label}")
                )
            rows.append(joined(row))
        return joined(rows)

    def rates(self, sign: int) -> _Rates:
        """Return the columns of Jl(±b)Θ, and the rate of Jl(±b)ḃ at constant modal speeds; ``sign`` is ±1."""
        if self.single:
            return _Rates(tuple(self.turns), (0, 0, 0))
        label, b, v, B, C = self.label, self.b, self.v, self.B, self.C
        columns = []
        for turn in self.turns:
            once = cross_triples(b, turn)
            twice = cross_triples(b, once)
            column = add(turn, scaled(once, times(B, sign)), scaled(twice, C))
            columns.append(named(column, f"theta_{label}"))
        growth = fn.named(2.0 * sum_of_products(zip(b, v, strict=True)), f"xd_{label}")
        B_rate = times(self.D - 0.5 * C, growth)
        C_rate = times(1.5 * self.E - 0.5 * self.D, growth)
        once = named(cross_triples(b, v), f"bxv_{label}")
        bias = add(
            scaled(once, times(B_rate, sign)),
            scaled(cross_triples(b, once), C_rate),
            scaled(cross_triples(v, once), C),
        )
        return _Rates(tuple(columns), named(bias, f"bias_{label}"))


def _remainders(x: Expr, label: str) -> tuple[Expr, Expr]:
    """Return D = Σ (−x)^k/(2k + 4)! and E = Σ (−x)^k/(2k + 5)!, by series up to x = 1 and closed forms
    beyond.

    The closed forms are evaluated at max(x, 1), so that they are finite where the series are used.
    """
    near = x < 1.0
    y = fn.named(fn.maximum(x, 1.0), f"far_{label}")
    angle = fn.named(fn.sqrt(y), f"angle_{label}")
    inverse = fn.named(1.0 / y, f"inverse_{label}")
    B = (1.0 - fn.cos(angle)) * inverse
    C = (1.0 - fn.sin(angle) / angle) * inverse
    D = fn.select(near, _series(x, 4), (0.5 - B) * inverse)
    E = fn.select(near, _series(x, 5), (1 / 6 - C) * inverse)
    return fn.named(D, f"D_{label}"), fn.named(E, f"E_{label}")


def _series(x: Expr, first: int) -> Expr:
    """Return Σ (−x)^k/(2k + first)!."""
    coefficients = [(-1.0) ** k / factorial(2 * k + first) for k in range(_TERMS[first])]
    value = number(coefficients[-1], None)
    for c in reversed(coefficients[:-1]):
        value = fn.named(value * x + number(c, None), "series")
    return value


def _column_triples(matrix: np.ndarray) -> list[Triple]:
    """Return the columns of a 3 × N array as triples of plain numbers, with zeros exact."""
    return [_number_triple(column) for column in matrix.T]


def _number_triple(triple: np.ndarray) -> Triple:
    return joined(float(a) if a else 0 for a in triple)


def _lengths(v: Triple, name: str) -> Triple:
    x, y, z = (
        0 if is_zero(a) else with_stated_dimension(a, LENGTH, f"{name}_{axis}")
        for a, axis in zip(v, "xyz", strict=True)
    )
    return x, y, z


def _squared_tilde(b: Triple, x: Scalar) -> Matrix:
    """Return b̃b̃ = b bᵀ − x 1 with x = b·b."""
    rows = []
    for i in range(3):
        row = [times(b[i], b[j]) for j in range(3)]
        row[i] = plus(row[i], -x)
        rows.append(joined(row))
    return joined(rows)


@dataclass(frozen=True, eq=False)
class Deformation:
    """The terms of the equations of motion that depend on a part's present shape and modal speeds."""

    first: Triple  # change of the first moment c by the deformation
    inertia: Matrix  # change of J
    P: tuple[Triple, ...]
    H: tuple[Triple, ...]
    M: tuple[tuple[Scalar, ...], ...]
    slopes: tuple[Matrix, ...]  # ∂J/∂η_p
    coriolis: tuple[Triple, ...]  # 2 Σ ξ_q A_qp
    bending: Triple  # Σ g_pq ξ_p ξ_q, a force
    twisting: Triple  # Ḣξ, a moment
    restoring: tuple[Scalar, ...]  # Kη + Cξ
    turn_slopes: tuple[Triple, ...]  # Σ ξ_q ∂H_q/∂η_p for each p
    shift_slopes: tuple[Triple, ...]  # Σ ξ_q ∂P_q/∂η_p for each p

    def fields(self, f: ScalarMap) -> DataTable:
        """Return all fields by name, with a function applied to every scalar."""

        def deep(x: Any) -> Any:  # a scalar, or tuples of them of any depth
            return tuple(map(deep, x)) if isinstance(x, tuple) else f(x)

        return {name: deep(getattr(self, name)) for name in Deformation.__dataclass_fields__}


def deformation(name: str, part: FlexiblePart, eta: Sequence[Expr], xi: Sequence[Expr]) -> Deformation:
    """Return the ``Deformation`` of a part with modal coordinates ``eta`` and modal speeds ``xi``."""
    shortening = None if part.g is None else np.transpose(part.g, (0, 2, 1))
    P = _add_change(part.P, shortening, eta, f"P_{name}")
    odd, even = _odd_and_even(part.H1)
    slopes = _slopes(part.J1, part.J2, eta, name)
    halves = [e * 0.5 for e in eta]
    mean = [
        tuple(add(a, b) for a, b in zip(x, y, strict=True))
        for x, y in zip(part.J1.tolist(), slopes, strict=True)
    ]
    both = [add(x, y) for x, y in zip(part.P.T.tolist(), P, strict=True)]
    shift_slopes = _apply_array(shortening, xi)
    return Deformation(
        first=named(combined(both, halves), f"dc_{name}"),
        inertia=weighted_sum(mean, halves, f"dJ_{name}"),
        P=P,
        H=_add_change(part.H, part.H1, eta, f"H_{name}"),
        M=tuple(tuple(_exact_zero(x) for x in row) for row in part.M.tolist()),
        slopes=slopes,
        coriolis=tuple(named(tuple(times(2, x) for x in v), f"cor_{name}") for v in _apply_array(odd, xi)),
        bending=named(combined(shift_slopes, xi), f"bend_{name}"),
        twisting=named(combined(_apply_array(even, xi), xi), f"tw_{name}"),
        restoring=tuple(
            fn.named(
                plus(combination(part.K[p].tolist(), eta), combination(part.C[p].tolist(), xi)), f"s_{name}"
            )
            for p in range(part.modes)
        ),
        turn_slopes=_apply_array(None if part.H1 is None else np.transpose(part.H1, (2, 1, 0)), xi),
        shift_slopes=shift_slopes,
    )


def _exact_zero(x: float) -> Scalar:
    return x if x else 0


def _odd_and_even(H1: np.ndarray | None) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Return the parts of H1 that are odd and even under exchange of two modes; `None` for a zero part."""
    if H1 is None:
        return None, None
    other = np.transpose(H1, (2, 1, 0))
    odd, even = (H1 - other) / 2, (H1 + other) / 2
    scale = np.abs(H1).max(initial=0.0) * 1e-13

    def keep_parity(a: np.ndarray) -> np.ndarray | None:
        return None if np.abs(a).max(initial=0.0) <= scale else a

    return keep_parity(odd), keep_parity(even)


def _add_change(
    base: np.ndarray, change: np.ndarray | None, eta: Sequence[Scalar], name: str
) -> tuple[Triple, ...]:
    """Return base[:, p] + Σ η_q change[q][:, p] for each p, as triples."""
    columns = [joined(_exact_zero(x) for x in column) for column in base.T.tolist()]
    if change is None:
        return tuple(columns)
    moved = _apply_array(change, eta)
    return tuple(
        named(add(c, m), f"{name}_{p + 1}") for p, (c, m) in enumerate(zip(columns, moved, strict=True))
    )


def _apply_array(array: np.ndarray | None, values: Sequence[Scalar]) -> tuple[Triple, ...]:
    """Return Σ_q array[q][:, p] values[q] for each p, as triples."""
    count = len(values)
    if array is None:
        return (ZEROS,) * count
    return tuple(joined(combination(array[:, i, p].tolist(), values) for i in range(3)) for p in range(count))


def _slopes(J1: np.ndarray, J2: np.ndarray | None, eta: Sequence[Scalar], name: str) -> tuple[Matrix, ...]:
    found: list[Matrix] = []
    for p in range(len(J1)):
        rows: list[list[Scalar]] = [[0] * 3 for _ in range(3)]
        for i in range(3):
            for j in range(i, 3):
                value = _exact_zero(float(J1[p, i, j]))
                if J2 is not None:
                    value = plus(value, combination(J2[p, :, i, j].tolist(), eta))
                rows[i][j] = rows[j][i] = fn.named(value, f"J_{name}_{p + 1}_{i + 1}{j + 1}")
        found.append(joined(joined(row) for row in rows))
    return tuple(found)


def weighted_sum(
    matrices: Sequence[Sequence[Sequence[Scalar]]] | np.ndarray, weights: Sequence[Scalar], name: str
) -> Matrix:
    """Return Σ weight·matrix of symmetric matrices."""
    rows: list[list[Scalar]] = [[0] * 3 for _ in range(3)]
    for i in range(3):
        for j in range(i, 3):
            value = combination([m[i][j] for m in matrices], weights)
            rows[i][j] = rows[j][i] = fn.named(value, f"{name}_{i + 1}{j + 1}")
    return joined(joined(row) for row in rows)


def _deformation_of(body: Body) -> Deformation:
    flex = body.flex
    assert flex is not None
    return deformation(body.name, flex.part, flex.coordinates, flex.speeds)


def first_moment(body: Body) -> Triple:
    """Return the first moment c(η) of a body's flexible part in body axes; zero for a rigid body."""
    if body.flex is None:
        return (ZERO, ZERO, ZERO)
    return _name_triple(
        add(body.flex.part.first.tolist(), _deformation_of(body).first), f"c_{body.name}", MASS * LENGTH
    )


@dataclass(frozen=True, eq=False)
class Central:
    """Mass, mass centre and central inertia of a flexible part in its present shape, in body axes.

    ``centre`` is the position of the mass centre from the body's origin.
    """

    mass: Expr
    centre: Triple
    inertia: Matrix
    shifts: tuple[Triple, ...]  # ∂centre/∂η_p = P_p/m
    slopes: tuple[Matrix, ...]  # ∂inertia/∂η_p


def central(body: Body) -> Central:
    """Return the ``Central`` of a body's flexible part, which must have mass: its inertia about the mass
    centre is J − (c·c 1 − c cᵀ)/m.
    """
    flex = body.flex
    assert flex is not None
    part, shape, name = flex.part, _deformation_of(body), body.name
    c = first_moment(body)
    share = 1.0 / part.mass
    J = [add(a, b) for a, b in zip(part.inertia.tolist(), shape.inertia, strict=True)]
    slopes = []
    for p, (P, S) in enumerate(zip(shape.P, shape.slopes, strict=True)):
        both = [[_multiply(c[i], P[j]) + _multiply(P[i], c[j]) for j in range(3)] for i in range(3)]
        slopes.append(_subtract_share(S, both, share, f"Ic_{name}_{p + 1}"))
    square = [[_multiply(c[i], c[j]) for j in range(3)] for i in range(3)]
    return Central(
        number(part.mass, MASS),
        _name_triple(joined(product(x, share) for x in c), f"cm_{name}", LENGTH),
        _subtract_share(J, square, share, f"Ic_{name}"),
        tuple(joined(product(as_expr(x), share) for x in P) for P in shape.P),
        tuple(slopes),
    )


def _subtract_share(
    J: Sequence[Triple], square: Sequence[Sequence[Scalar]], share: float, name: str
) -> Matrix:
    """Return J − share (tr(square) 1 − square), which gets the dimension of an inertia."""
    trace = square[0][0] + square[1][1] + square[2][2]
    rows = []
    for i in range(3):
        row = []
        for j in range(3):
            moved = trace - square[i][j] if i == j else -square[i][j]
            value = plus(as_expr(J[i][j]), product(as_expr(moved), -share))
            row.append(with_stated_dimension(value, INERTIA, f"{name}_{i + 1}{j + 1}"))
        rows.append(joined(row))
    return joined(rows)


def _multiply(a: object, b: object) -> Expr:
    return as_expr(a) * as_expr(b)


def flexible_strain_energy(body: Body) -> Expr:
    """Return the strain energy ½ η·Kη of a body's flexible part."""
    flex = body.flex
    assert flex is not None
    eta = flex.coordinates
    energy = HALF * as_expr(inner([combination(row, eta) for row in flex.part.K.tolist()], eta))
    return with_stated_dimension(energy, ENERGY, f"strain_{body.name}")


def flexible_kinetic_energy(body: Body, w: Triple, v: Triple) -> Expr:
    """Return T = ½ (v·p + ω·L + ξ·π) of a body's flexible part, with the momenta p and L and the modal
    momenta π; ``w`` and ``v`` are ω and the velocity of the body's origin, in body axes.
    """
    flex = body.flex
    assert flex is not None
    shape, xi = _deformation_of(body), flex.speeds
    p, L = _momenta(body, shape, w, v)
    modal = [
        plus(plus(inner(P, v), inner(H, w)), combination(row, xi))
        for P, H, row in zip(shape.P, shape.H, shape.M, strict=True)
    ]
    energy = HALF * as_expr(plus(plus(inner(v, p), inner(w, L)), inner(xi, modal)))
    return with_stated_dimension(energy, ENERGY, f"kinetic_{body.name}")


def flexible_momenta(body: Body, w: Triple, v: Triple) -> tuple[Vector, Vector]:
    """Return (momentum, angular momentum about the body's origin) of a body's flexible part; ``w`` and ``v``
    are its angular velocity and the velocity of its origin, in body axes.
    """
    p, L = _momenta(body, _deformation_of(body), w, v)
    return body.frame.vector(p), body.frame.vector(L)


def _momenta(body: Body, shape: Deformation, w: Triple, v: Triple) -> tuple[Triple, Triple]:
    """Return p = m v + ω × c + Pξ and L = Jω + c × v + Hξ in body axes."""
    flex = body.flex
    assert flex is not None
    part, xi = flex.part, flex.speeds
    c = first_moment(body)
    J = joined(add(a, b) for a, b in zip(part.inertia.tolist(), shape.inertia, strict=True))
    mass = tuple(product(x, part.mass) if part.mass else ZERO for x in v)
    p = add(mass, cross_triples(w, c), combined(shape.P, xi))
    L = add(matrix_vector(J, w), cross_triples(c, v), combined(shape.H, xi))
    momentum = MASS * SPEED
    return _name_triple(p, f"p_{body.name}", momentum), _name_triple(L, f"L_{body.name}", momentum * LENGTH)


def _name_triple(v: Triple, name: str, dimension: Dimension) -> Triple:
    x, y, z = (
        with_stated_dimension(a, dimension, f"{name}_{axis}") for a, axis in zip(v, "xyz", strict=True)
    )
    return x, y, z
