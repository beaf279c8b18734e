"""From M u̇ = f to the rates of the speeds: a sparse LDLᵀ factorisation, written out."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from armillary.algebra import functions as fn
from armillary.algebra.triples import Scalar, Triple, add, is_zero, joined, minus, times
from armillary.errors import ModelError
from armillary.mechanics.tree.kinematics import drift_correction, relative_spin
from armillary.mechanics.tree.tree import LINEAR, Link, Tree

# Uncoupling of M x = f: a sparse LDLᵀ factorisation, written out.
#
# The mass matrix is symmetric and positive definite, so every order of pivots is safe; the order decides the
# fill, and so the cost. A pivot that is known to be zero means a speed that moves no inertia, which is an
# error in the model.

ORDERS = ("leaves first", "fewest neighbours", "root first")
Order = str | Sequence[int]
"""One of ORDERS, or the unknowns themselves, in the order of their elimination."""


@dataclass(frozen=True, eq=False)
class ImplicitEquations:
    """M x = f: a sparse symmetric matrix by (row, column), row ≤ column, and the right side.

    Unknowns go by speed index. ``separate`` unknowns are in no other equation: x_k = b_k − Σ c_kj x_j with
    (k, b_k, c_k), each after the unknowns it needs.
    """

    matrix: dict[tuple[int, int], Scalar]
    force: dict[int, Scalar]
    names: dict[int, str]
    separate: tuple[tuple[int, Scalar, dict[int, Scalar]], ...] = ()


@dataclass(frozen=True, eq=False)
class Eliminated:
    """Unknowns taken out of M x = f one after the other, and the equations that this leaves of the others."""

    steps: tuple[tuple[int, Scalar, dict[int, Scalar]], ...]  # unknown, 1/pivot, its row
    rows: dict[int, dict[int, Scalar]]
    force: dict[int, Scalar]

    def solution(self, others: Mapping[int, Scalar]) -> dict[int, Scalar]:
        """x of the eliminated unknowns, from the other unknowns."""
        x = dict(others)
        for k, inverse, row in reversed(self.steps):
            value = self.force[k]
            for j in sorted(row):
                value = minus(value, times(row[j], x[j]))
            x[k] = fn.named(times(value, inverse), f"x_{k + 1}")
        return {k: x[k] for k in reversed([step[0] for step in self.steps])}


def uncouple(equations: ImplicitEquations, order: Order) -> dict[int, Scalar]:
    """x by speed index, eliminated in the given order."""
    x = eliminate(equations, order).solution({})
    for k, value, row in equations.separate:
        for j in sorted(row):
            value = minus(value, times(row[j], x[j]))
        x[k] = fn.named(value, f"x_{k + 1}")
    return x


def eliminate(equations: ImplicitEquations, order: Order, keep: Collection[int] = ()) -> Eliminated:
    """All unknowns but those to keep, eliminated in the given order; kept ones have negative numbers."""
    rows = _rows(equations)
    force = dict(equations.force)
    eliminated: list[tuple[int, Scalar, dict[int, Scalar]]] = []
    remaining = set(force).difference(keep)
    while remaining:
        k = _next(remaining, rows, order)
        remaining.discard(k)
        pivot = rows[k].pop(k, 0)
        inverse = pivot_inverse(pivot, equations.names[k], k)
        row = {j: v for j, v in rows.pop(k).items() if not is_zero(v)}
        _eliminate(k, row, inverse, rows, force)
        eliminated.append((k, inverse, row))
    return Eliminated(tuple(eliminated), rows, force)


def pivot_inverse(pivot: Scalar, speed: str, index: int) -> Scalar:
    """1/pivot; an error that names the speed where the pivot is known to be zero."""
    if is_zero(pivot):
        raise ModelError(
            f"speed '{speed}' moves no mass: the mass matrix is singular; give its body (or one that "
            "hangs on it) mass or inertia, or fix the joint"
        )
    found: Scalar = fn.named(1 / pivot, f"d_{index + 1}")
    return found


def _rows(equations: ImplicitEquations) -> dict[int, dict[int, Scalar]]:
    rows: dict[int, dict[int, Scalar]] = {k: {} for k in equations.force}
    for (i, j), value in equations.matrix.items():
        if not is_zero(value):
            rows[i][j] = rows[j][i] = value
    return rows


def _next(remaining: set[int], rows: dict[int, dict[int, Scalar]], order: Order) -> int:
    if not isinstance(order, str):
        return next(k for k in order if k in remaining)
    if order == "leaves first":
        return max(remaining)
    if order == "root first":
        return min(remaining)
    return min(remaining, key=lambda k: (len(rows[k]), -k))


def _eliminate(
    k: int,
    row: dict[int, Scalar],
    inverse: Scalar,
    rows: dict[int, dict[int, Scalar]],
    force: dict[int, Scalar],
) -> None:
    """M_ij −= M_ik M_kj / M_kk and f_i −= M_ik f_k / M_kk for all that couple with k.

    The equations of kept unknowns stay unnamed sums; the caller names them.
    """
    neighbours = sorted(row)
    for position, i in enumerate(neighbours):
        rows[i].pop(k, None)
        factor = fn.named(times(row[i], inverse), f"l_{_label(i)}_{k + 1}")
        for j in neighbours[position:]:
            value = minus(rows[i].get(j, 0), times(factor, row[j]))
            if j >= 0:
                value = fn.named(value, f"M_{_label(i)}_{j + 1}_{k + 1}")
            rows[i][j] = rows[j][i] = value
        rest = minus(force[i], times(factor, force[k]))
        force[i] = rest if i < 0 else fn.named(rest, f"f_{i + 1}_{k + 1}")


def _label(i: int) -> str:
    return f"{i + 1}" if i >= 0 else f"h{-i}"


# From solved accelerations to the rates of the user's speeds.
#
# Formalisms solve for accelerations along each link's own directions; only a drifting body's linear speeds
# differ from those:
#
#     speeds in body axes     u̇ = x + Rᵀg − ω × u
#     speeds in parent axes   u̇ = Rᵥᵀ (R x + g), with R from the link to its carrier, whose axes Rᵥ turns
#     from
#                             those of the parent body


def speed_rates(tree: Tree, x: dict[int, Scalar]) -> dict[int, Scalar]:
    """u̇ by speed index, prescribed ones included."""
    rates: dict[int, Scalar] = {}
    for link in tree.links:
        for d in link.degrees:
            rates[d.index] = x[d.index] if d.rate is None or d.dependent else d.rate
        if link.step == "drift":
            _drift_rates(tree, link, x, rates)
    return rates


def _drift_rates(tree: Tree, link: Link, x: dict[int, Scalar], rates: dict[int, Scalar]) -> None:
    linear = [d for d in link.freedoms if d.direction >= LINEAR]
    raw: list[Scalar] = [0, 0, 0]
    for d in linear:
        if not d.prescribed:
            raw[d.direction % 3] = x[d.index]
    if link.velocity == "body":
        gained: Triple = add(tuple(raw), drift_correction(link, relative_spin(link), tree))
    else:
        fall = tree.gravity if link.parent < 0 else (0, 0, 0)
        turned = link.rotation.to_parent(joined(fn.named(v, "x") for v in raw))
        gained = link.velocity_axes.to_child(add(turned, fall))
    for d in linear:
        if not d.prescribed:
            rates[d.index] = gained[d.direction % 3]
