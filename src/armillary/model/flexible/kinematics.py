"""The motion of a node of a flexible body by its modes, exactly.

A node's small rotation b = Θη is the vector of a finite one, so that its axes stay orthonormal and energy is
conserved however large the modes grow. With x = b·b

    Exp(b) = 1 + A b̃ + B b̃b̃        Jl(b) = 1 + B b̃ + C b̃b̃        ω = Jl(b) ḃ   (in the axes before)

    A = sin √x/√x        B = (1 − cos √x)/x        C = (√x − sin √x)/(x √x)

Their derivatives by x need two further functions of the same family, from which A, B and C follow without
cancellation:

    D = (½ − B)/x        E = (⅙ − C)/x        C = ⅙ − xE        B = ½ − xD        A = 1 − xC
    dB/dx = D − C/2      dC/dx = (3E − D)/2

D and E are power series in x up to 1 rad, without a singular place at zero, and sines and cosines beyond, so
that a rotation by any angle is exact to rounding. Source: corrected statement of momentum-state dynamics
(Stoneking 2010), joints at flexible nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import factorial

import numpy as np

from armillary.algebra import functions as fn
from armillary.algebra.expression import Expr, as_expr, number
from armillary.algebra.intermediate import measured
from armillary.algebra.triples import (
    IDENTITY,
    Matrix,
    Scalar,
    Triple,
    add,
    combined,
    cross_triples,
    is_zero,
    joined,
    matrix_vector,
    named,
    negative,
    plus,
    scaled,
    skew,
    sum_of_products,
    times,
    transposed,
)
from armillary.algebra.units import LENGTH, ONE
from armillary.model.flexible.part import FlexibleNode
from armillary.model.joints.base import principal_rotation
from armillary.model.joints.steps import Flexed

# Terms of D and E that reach rounding at 1 rad: the first ones left out are 1/20! and 1/19!.
_TERMS = {4: 8, 5: 7}


def node_step(body: str, node: FlexibleNode, eta: Sequence[Expr], xi: Sequence[Expr]) -> Flexed:
    """The motion of a node's axes in its body's."""
    label = f"{body}_{node.name}"
    place, shapes, quick = _displaced(node, eta, xi, label)
    turning = _Turning(_columns(node.rotation), eta, xi, label)
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
    """The motion of a body's axes in those of the node that holds it: the inverse of the node's motion."""
    label = f"{body}_{node.name}"
    place, shapes, quick = _displaced(node, eta, xi, label)
    turning = _Turning(_columns(node.rotation), eta, xi, label)
    inverse = transposed(turning.matrix)
    rates = turning.rates(1)
    columns = tuple(negative(c) for c in rates.columns)
    bias = negative(rates.bias)
    moving = tuple(
        named(add(cross_triples(place, turn), negative(shape)), f"held_psi_{body}")
        for turn, shape in zip(columns, shapes, strict=True)
    )
    # v = −ω × x − Ψξ in the body's axes, and its rate as seen from the node's
    spin, drift = combined(columns, xi), combined(shapes, xi)
    v = combined(moving, xi)
    moved = add(
        cross_triples(spin, v),
        cross_triples(place, bias),
        negative(cross_triples(spin, drift)),
        negative(quick),
    )
    position = negative(matrix_vector(inverse, place))
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


def _displaced(
    node: FlexibleNode, eta: Sequence[Expr], xi: Sequence[Expr], label: str
) -> tuple[Triple, list[Triple], Triple]:
    """(place, shapes, what their change adds to the acceleration), where the node's path bends to second
    order: x = r + Ψη + ½ Σ η_p η_q G_pq.
    """
    straight = _columns(node.shape)
    if node.shortening is None:
        place = add(_numbers(node.position), combined(straight, eta))
        return _lengths(place, f"at_{label}"), straight, (0, 0, 0)
    bent = [_columns(node.shortening[:, p, :]) for p in range(len(eta))]
    shapes = [
        named(add(column, combined(G, eta)), f"shape_{label}")
        for column, G in zip(straight, bent, strict=True)
    ]
    mean = [scaled(add(a, b), 0.5) for a, b in zip(straight, shapes, strict=True)]
    place = add(_numbers(node.position), combined(mean, eta))
    quick = combined([combined(G, xi) for G in bent], xi)
    return _lengths(place, f"at_{label}"), shapes, named(quick, f"bent_{label}")


class _Rates:
    """Angular velocity per modal speed, and the angular acceleration that remains at steady ones."""

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
            # a plain number, whatever the modes are measured in: judged small, it lies below 1
            self.x = measured(sum_of_products(zip(self.b, self.b, strict=True)), ONE, f"bb_{label}")
            self.D, self.E = _remainders(self.x, label)
            self.C = fn.named(1 / 6 - self.x * self.E, f"C_{label}")
            self.B = fn.named(0.5 - self.x * self.D, f"B_{label}")
            self.matrix = self._exponential()

    def _exponential(self) -> Matrix:
        A = fn.named(1.0 - self.x * self.C, f"A_{self.label}")
        tilde, square = skew(self.b), _tilde_squared(self.b, self.x)
        rows = []
        for i in range(3):
            row = []
            for j in range(3):
                value = plus(times(A, tilde[i][j]), times(self.B, square[i][j]))
                row.append(measured(plus(value, 1.0) if i == j else value, ONE, f"E_{self.label}"))
            rows.append(joined(row))
        return joined(rows)

    def rates(self, sign: int) -> _Rates:
        """Columns of Jl(±b)Θ and the bias of Jl(±b)ḃ."""
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
    """D = Σ (−x)^k/(2k + 4)! and E = Σ (−x)^k/(2k + 5)!, by these series up to x = 1, in closed form beyond.

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
    """Σ (−x)^k/(2k + first)!."""
    coefficients = [(-1.0) ** k / factorial(2 * k + first) for k in range(_TERMS[first])]
    value = number(coefficients[-1], None)
    for c in reversed(coefficients[:-1]):
        value = fn.named(value * x + number(c, None), "series")
    return value


def _columns(matrix: np.ndarray) -> list[Triple]:
    """Columns of a 3 × N array as triples of plain numbers, zeros exactly zero."""
    return [_numbers(column) for column in matrix.T]


def _numbers(triple: np.ndarray) -> Triple:
    return joined(float(a) if a else 0 for a in triple)


def _lengths(v: Triple, name: str) -> Triple:
    x, y, z = (
        0 if is_zero(a) else measured(a, LENGTH, f"{name}_{axis}") for a, axis in zip(v, "xyz", strict=True)
    )
    return x, y, z


def _tilde_squared(b: Triple, x: Scalar) -> Matrix:
    """b̃b̃ = b bᵀ − (b·b) 1."""
    rows = []
    for i in range(3):
        row = [times(b[i], b[j]) for j in range(3)]
        row[i] = plus(row[i], -x)
        rows.append(joined(row))
    return joined(rows)
