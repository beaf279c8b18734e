"""Constraints as rows of linear equations in the speeds, and their elimination.

A constraint i of any kind gives the equations

    Σ_j J_ij u_j + b_i = 0          Σ_j J_ij u̇_j + γ_i = 0          Φ_i(q, t) = 0

The last one applies only to constraints of positions; Φ_i is their gap. The rows are taken in order. In each
row the dependent speeds of earlier rows are substituted; then the row is solved for one speed (Sayers 1990,
section 8.3). The results are the dependent speeds as functions of the independent ones,

    u_d = Σ_r A_dr u_r + b_d        u̇_d = Σ_r A_dr u̇_r + c_d

The steps of the elimination are stored. With J_d, the columns of J of the dependent speeds, these steps solve
J_d z = −g for any right side g: this gives c from γ, and corrections of the coordinates from Φ. The
transposed steps in reverse order solve J_dᵀ λ = τ, which gives the constraint forces.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from armillary.algebra import functions as fn
from armillary.algebra.calculus import gradient
from armillary.algebra.expression import ZERO, Expr, as_expr, total
from armillary.algebra.triples import Scalar, is_constant, is_zero, plus, times
from armillary.algebra.walk import Undimensioned, substitute, symbols
from armillary.mechanics.tree.tree import Tree
from armillary.model.bodies.motion import time_derivative
from armillary.model.description import Constraint, Description, Prescription


@dataclass(frozen=True, eq=False)
class ConstraintRow:
    """One constraint: coefficients J_ij by speed index j, ``known`` part b, and ``gap`` Φ, if it has one."""

    constraint: Constraint
    coefficients: dict[int, Scalar]
    known: Scalar
    gap: Expr | None = None


def rows(system: Description, plain: Undimensioned) -> list[ConstraintRow]:
    """Return the constraints of a system, in the order of their description."""
    index = speed_indices(system, plain)
    found = []
    for constraint in system.constraints.values():
        speed = plain(constraint.speed)
        held = [s for s in symbols(speed) if s in index]
        held.sort(key=index.__getitem__)
        coefficients = dict(zip([index[u] for u in held], gradient(speed, held), strict=True))
        known = substitute(speed, dict.fromkeys(held, ZERO))
        gap = None if constraint.position is None else plain(constraint.position)
        found.append(
            ConstraintRow(constraint, {j: a for j, a in coefficients.items() if a is not ZERO}, known, gap)
        )
    return found


def speed_indices(system: Description, plain: Undimensioned) -> dict[Expr, int]:
    """Return the index of each speed, by its symbol from ``plain``.

    Speeds that ``plain`` replaces by other expressions are left out.
    """
    read = [(plain(u), i) for i, u in enumerate(system.speeds)]
    return {u: i for u, i in read if u.kind == "symbol" and u.data.role == "speed"}


def remainders(
    system: Description,
    kept: Sequence[ConstraintRow],
    plain: Undimensioned,
    given: Mapping[Expr, Prescription],
) -> list[Scalar]:
    """Return γ of each row: the constraint's acceleration if the rates of all unknown speeds are zero."""
    rates = {u: as_expr(time_derivative(p.value)) for u, p in given.items()}
    known = {plain(a): plain(rates.get(u, ZERO)) for u, a in system.accelerations.items()}
    return [substitute(plain(row.constraint.acceleration), known) for row in kept]


@dataclass(frozen=True, eq=False)
class EliminationStep:
    """One step: p·z_speed = −(g_row + Σ uses_d z_d), then z_d += back_d z_speed for each d in ``back``."""

    row: int  # index among the kept rows
    speed: int  # the speed that becomes dependent
    inverse: Scalar  # 1/p
    uses: dict[int, Scalar]
    back: dict[int, Scalar]


@dataclass(eq=False)
class Elimination:
    """The elimination of dependent speeds from rows, and measures of its conditioning."""

    kept: list[ConstraintRow] = field(default_factory=list)
    redundant: list[ConstraintRow] = field(default_factory=list)
    steps: list[EliminationStep] = field(default_factory=list)
    factors: dict[int, dict[int, Scalar]] = field(default_factory=dict)  # A_dr by indices d, then r
    known: dict[int, Scalar] = field(default_factory=dict)  # b_d by index
    qualities: list[Expr] = field(default_factory=list)  # one of them is small where this choice is singular
    strengths: list[Expr] = field(default_factory=list)  # one is small where rows are nearly dependent
    pivots: list[Expr] = field(default_factory=list)  # the pivots that vary, divided by their sizes
    sizes: Mapping[int, Scalar] = field(default_factory=dict)  # of speeds, in pivots and shares
    shares: list[Expr] = field(default_factory=list)  # those of the function ``shares``, of pivots that vary

    def reduce_row(self, row: ConstraintRow) -> tuple[dict[int, Scalar], Scalar, dict[int, Scalar]]:
        """Substitute earlier dependent speeds in a row; return its coefficients, its known part, and the
        factors that the substituted speeds had.
        """
        coefficients: dict[int, Scalar] = {}
        known = row.known
        uses: dict[int, Scalar] = {}
        for j, a in row.coefficients.items():
            if j in self.factors:
                uses[j] = a
                known = plus(known, times(a, self.known[j]))
                for r, factor in self.factors[j].items():
                    coefficients[r] = plus(coefficients.get(r, 0), times(a, factor))
            else:
                coefficients[j] = plus(coefficients.get(j, 0), a)
        return {j: a for j, a in coefficients.items() if not is_zero(a)}, known, uses

    def eliminate(
        self,
        row: ConstraintRow,
        speed: int,
        coefficients: dict[int, Scalar],
        known: Scalar,
        uses: dict[int, Scalar],
    ) -> None:
        """Solve the row for a speed, and substitute that speed in the results of earlier rows."""
        inverse = fn.named(1 / fn.named(coefficients[speed], f"J_{speed + 1}"), f"p_{speed + 1}")
        own = {
            r: fn.named(spread(a, times(inverse, -1)), f"A_{speed + 1}_{r + 1}")
            for r, a in coefficients.items()
            if r != speed
        }
        own_known = fn.named(times(times(known, inverse), -1), f"b_{speed + 1}")
        back: dict[int, Scalar] = {}
        for d, factors in self.factors.items():
            share = factors.pop(speed, 0)
            if is_zero(share):
                continue
            back[d] = share
            for r, a in own.items():
                value = plus(factors.get(r, 0), times(share, a))
                factors[r] = fn.named(value, f"A_{d + 1}_{r + 1}")
            self.known[d] = plus(self.known[d], times(share, own_known))
        self.factors[speed] = own
        self.known[speed] = own_known
        self.steps.append(EliminationStep(len(self.kept), speed, inverse, uses, back))
        self.kept.append(row)

    def speeds(self, symbols_by_index: Mapping[int, Scalar]) -> dict[int, Scalar]:
        """Return the dependent speeds u_d by index, as functions of the independent speeds."""
        found = {}
        for d, factors in self.factors.items():
            value = self.known[d]
            for r in sorted(factors):
                value = plus(value, times(factors[r], symbols_by_index[r]))
            found[d] = fn.named(value, f"u_{d + 1}")
        return found

    def solve(self, g: Sequence[Scalar], name: str) -> dict[int, Scalar]:
        """Return z with J_d z = −g, by speed index; ``g`` has an element for each kept row."""
        z: dict[int, Scalar] = {}
        for step in self.steps:
            value = g[step.row]
            for d, a in step.uses.items():
                value = plus(value, times(a, z[d]))
            z[step.speed] = fn.named(times(times(value, step.inverse), -1), f"{name}_{step.speed + 1}")
            for d, share in step.back.items():
                z[d] = fn.named(plus(z[d], times(share, z[step.speed])), f"{name}_{d + 1}")
        return z

    def solve_transposed(self, tau: Mapping[int, Scalar]) -> list[Scalar]:
        """Return λ with J_dᵀ λ = τ, an element for each kept row; ``tau`` is given by speed index."""
        z = dict(tau)
        result: list[Scalar] = [0] * len(self.kept)
        for step in reversed(self.steps):
            value = z[step.speed]
            for d, share in step.back.items():
                value = plus(value, times(share, z[d]))
            result[step.row] = fn.named(times(value, step.inverse), f"lambda_{step.row + 1}")
            for d, a in step.uses.items():
                z[d] = plus(z[d], times(times(a, result[step.row]), -1))
        return result


def shares(
    coefficients: Mapping[int, Scalar], speed: int, sizes: Mapping[int, Scalar]
) -> tuple[Expr | None, Expr | None]:
    """Return the squared share of a pivot p in its row a, (p/s_p)² / Σ (a_j/s_j)², and the sum Σ (a_j/s_j)².

    s are sizes of speeds. The share falls to 0 where the pivot vanishes, and the sum where the whole row
    vanishes. A value that cannot vanish, because a coefficient is constant, is replaced by `None`.
    """

    def varies(j: int) -> bool:
        a = coefficients[j]
        return isinstance(a, Expr) and not a.constant

    if not varies(speed):
        return None, None
    squares = _squares(coefficients, sizes)
    whole = _sum_of(squares)
    share = as_expr(squares[speed] / whole)
    return share, as_expr(whole) if all(varies(j) for j in coefficients) else None


def square_sum(coefficients: Mapping[int, Scalar], sizes: Mapping[int, Scalar]) -> Scalar:
    """Σ (a_j/s_j)² of a row; s are sizes."""
    return _sum_of(_squares(coefficients, sizes))


def _squares(coefficients: Mapping[int, Scalar], sizes: Mapping[int, Scalar]) -> dict[int, Scalar]:
    return {
        j: fn.named(times(times(a, a), 1 / (sizes[j] * sizes[j])), f"share_{j + 1}")
        for j, a in coefficients.items()
    }


def _sum_of(squares: Mapping[int, Scalar]) -> Scalar:
    whole: Scalar = 0
    for value in squares.values():
        whole = plus(whole, value)
    return fn.named(whole, "row")


def has_constant_part(a: Scalar) -> bool:
    """Return whether a coefficient is a sum with a constant term, such as 1 + sin(q)."""
    while isinstance(a, Expr) and a.kind == "let":
        a = a.args[0]
    if not isinstance(a, Expr) or a.kind != "sum":
        return False
    return a.data[0] != 0 or any(term.constant for term in a.args)


def spread(a: Scalar, factor: Scalar) -> Scalar:
    """a·factor; a constant factor multiplies the terms of a sum, where it merges with other constants."""
    if isinstance(a, Expr) and a.kind == "sum" and isinstance(factor, Expr) and factor.constant:
        constant, coefficients = a.data
        terms = [(c, t * factor) for c, t in zip(coefficients, a.args, strict=True)]
        return total([*terms, (constant, factor)])
    return times(a, factor)


# Gears: constraints with constant factors, and the groups of links that they couple.
#
# A mimic joint, a gear or a differential is a row Σ J_j u_j + b(t) = 0 with constant J; all these are called
# gears here. The dependent speed of such a row is the same combination of other speeds at all positions. So
# it can be eliminated inside the recursion of the recursive formalism (recursive.py): the links that a gear
# couples are eliminated as one group, with one unknown for each independent speed. A group holds all links on
# the paths between the geared joints. The hub of a group is the link that is the parent of the whole group.
# Groups that share a link are merged.
#
# Source: Jain (2012), Multibody graph transformations and analysis, part II: constraint embedding.

# Most unknowns of a group with one gear. A group's mass matrix is full, so with more unknowns it costs less
# to treat the gear as a constraint with a multiplier. This was measured on two arms of n joints on a free
# body, whose last joints mimic each other (2n − 1 unknowns). For n = 2, 4, 6, 7, the number of products
# relative to the same tree without the gear is 0.99, 1.06, 1.19, 1.26 with a group, and 1.36, 1.30, 1.28,
# 1.27 with a multiplier. Each further multiplier costs as much as the first; the cost of a group grows with
# the square of its unknowns.
LARGEST = 13


@dataclass(frozen=True, eq=False)
class Cluster:
    """Links that are eliminated together, in the order of the tree, and their hub (−1: the ground)."""

    links: tuple[int, ...]
    hub: int
    unknowns: tuple[int, ...]  # indices of the independent speeds of these links
    gears: int  # number of dependent speeds


@dataclass(frozen=True, eq=False)
class Gears:
    """Dependent speeds with constant factors, by index, and their groups of links."""

    factors: Mapping[int, Mapping[int, Scalar]] = field(default_factory=dict)
    clusters: tuple[Cluster, ...] = ()


@dataclass(frozen=True, eq=False)
class GearedTree:
    """A tree in which speeds follow from others by gears, and the constraints that need multipliers."""

    tree: Tree
    gears: Gears
    rows: tuple[ConstraintRow, ...]
    remainders: tuple[Scalar, ...]


def embed_gears(tree: Tree, elimination: Elimination, remainders: Sequence[Scalar]) -> GearedTree:
    """Return the tree with rows of constant coefficients treated as gears, if this is cheaper; and the other
    rows.
    """
    chosen = {row.constraint.name: step.speed for row, step in _steps(elimination)}
    candidates = [row for row in elimination.kept if all(is_constant(a) for a in row.coefficients.values())]
    found, clusters = _eliminate_gears(tree, candidates, chosen)
    while bad := {
        d for c in clusters if not _worthwhile(tree, c) for i in c.links for d in _indices(tree, i)
    }:
        candidates = [row for row in candidates if bad.isdisjoint(row.coefficients)]
        found, clusters = _eliminate_gears(tree, candidates, chosen)
    taken = {row.constraint.name for row in found.kept}
    gamma = {row.constraint.name: g for row, g in zip(elimination.kept, remainders, strict=True)}
    rates = found.solve([gamma[row.constraint.name] for row in found.kept], "c")

    others = tuple(row for row in elimination.kept if row.constraint.name not in taken)
    return GearedTree(
        tree.with_dependent_rates(rates) if taken else tree,
        Gears(found.factors, clusters),
        others,
        tuple(gamma[row.constraint.name] for row in others),
    )


def _steps(elimination: Elimination) -> list[tuple[ConstraintRow, EliminationStep]]:
    return [(elimination.kept[step.row], step) for step in elimination.steps]


def _eliminate_gears(
    tree: Tree, rows: Sequence[ConstraintRow], chosen: Mapping[str, int]
) -> tuple[Elimination, tuple[Cluster, ...]]:
    """Eliminate the speed that was ``chosen`` for each row, by the name of its constraint, if the row still
    contains it; return the elimination and its groups of links.
    """
    result = Elimination()
    for row in rows:
        coefficients, known, uses = result.reduce_row(row)
        if chosen[row.constraint.name] in coefficients:
            result.eliminate(row, chosen[row.constraint.name], coefficients, known, uses)
    return result, _clusters(tree, result.factors)


def _clusters(tree: Tree, factors: Mapping[int, Mapping[int, Scalar]]) -> tuple[Cluster, ...]:
    owner = {d: i for i in range(len(tree.links)) for d in _indices(tree, i)}
    groups: list[set[int]] = []
    for d, shares in factors.items():
        groups = _merge_overlapping_groups(groups, {owner[j] for j in (d, *shares)})
    while True:
        closed: list[set[int]] = []
        for group in groups:
            closed = _merge_overlapping_groups(closed, _paths(tree, group))
        if closed == groups:
            break
        groups = closed
    made = []
    for group in groups:
        links = tuple(sorted(group))
        indices = [d.index for i in links for d in tree.links[i].freedoms if not d.prescribed]
        unknowns = tuple(d for d in indices if d not in factors)
        made.append(Cluster(links, tree.links[links[0]].parent, unknowns, len(indices) - len(unknowns)))
    return tuple(made)


def _merge_overlapping_groups(groups: Sequence[set[int]], new: set[int]) -> list[set[int]]:
    """Add a group; merge it with every group that shares a link with it."""
    apart = [g for g in groups if g.isdisjoint(new)]
    return [*apart, new.union(*(g for g in groups if not g.isdisjoint(new)))]


def _paths(tree: Tree, links: set[int]) -> set[int]:
    """Return all links on paths between ``links``; their common ancestor only if it is one of ``links``."""
    lines = [tree.path_to_ground(i) for i in links]
    common = set(lines[0]).intersection(*lines[1:])
    top = max(common, default=-1)
    found = {i for line in lines for i in line if i > top}
    return found | ({top} if top in links else set())


def _indices(tree: Tree, i: int) -> list[int]:
    return [d.index for d in tree.links[i].degrees]


def _worthwhile(tree: Tree, cluster: Cluster) -> bool:
    """Return whether a group is cheaper than multipliers: its links are rigid, and its unknowns are few."""
    rigid = all(tree.links[i].modes is None and tree.links[i].carrier < 0 for i in cluster.links)
    return rigid and 0 < len(cluster.unknowns) <= LARGEST * math.sqrt(cluster.gears)
