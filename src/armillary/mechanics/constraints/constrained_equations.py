"""Equations under constraints: for independent speeds or with multipliers; impulses; reactions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from armillary.algebra import functions as fn
from armillary.algebra.calculus import derivative
from armillary.algebra.expression import Expr, as_expr
from armillary.algebra.triples import (
    ZEROS,
    Scalar,
    Triple,
    is_zero,
    joined,
    matrix_vector,
    minus,
    plus,
    times,
    transposed,
)
from armillary.errors import ModelError
from armillary.mechanics.constraints.reduction import Reduction
from armillary.mechanics.constraints.rows import ConstraintRow, Elimination
from armillary.mechanics.tree.build import build_tree
from armillary.mechanics.tree.inverse_dynamics import joint_efforts
from armillary.mechanics.tree.kinematics import (
    AppliedLoads,
    Wrench,
    accumulated_wrenches,
    applied_loads,
    load_wrenches,
    net_wrenches,
)
from armillary.mechanics.tree.mass_matrix import ImplicitEquations, mass_matrix, uncouple
from armillary.mechanics.tree.tree import Tree
from armillary.model.description import Description

# Equations of motion of the independent speeds alone.
#
# The rates of the dependent speeds are u̇_d = Σ A_dr u̇_r + c_d. The right sides f already include the effect
# of the known parts c_d, so
#
#     (M_rs + Σ_d A_dr M_ds + …) u̇_s = f_r + Σ_d A_dr f_d,     in matrices AᵀM A u̇ = Aᵀ f
#
# These are Kane's equations with the partial velocities of a nonholonomic system (Kane & Levinson 1985,
# sections 2.13 and 2.14).


def reduced_equations(
    equations: ImplicitEquations, factors: Mapping[int, Mapping[int, Scalar]]
) -> ImplicitEquations:
    """Return the equations of the independent speeds; ``factors[d][r]`` is A_dr."""
    if not factors:
        return equations
    independent = [k for k in sorted(equations.force) if k not in factors]
    columns = _products(equations, factors, independent)
    matrix: dict[tuple[int, int], Scalar] = {}
    for position, r in enumerate(independent):
        mine = [(d, a[r]) for d, a in factors.items() if not is_zero(a.get(r, 0))]
        for s in independent[position:]:
            value = columns[r].get(s, 0)
            for d, a in mine:
                value = plus(value, times(a, columns[d].get(s, 0)))
            if not is_zero(value):
                matrix[r, s] = fn.named(value, f"R_{r + 1}_{s + 1}")
    separate = tuple((k, b, _reduced_row(c, factors)) for k, b, c in equations.separate)
    return ImplicitEquations(matrix, reduced_forces(equations.force, factors), equations.names, separate)


def reduced_forces(
    force: Mapping[int, Scalar], factors: Mapping[int, Mapping[int, Scalar]]
) -> dict[int, Scalar]:
    """Aᵀ f: generalised forces of the independent speeds."""
    if not factors:
        return dict(force)
    found: dict[int, Scalar] = {}
    for r in (k for k in sorted(force) if k not in factors):
        value = force[r]
        for d, a in factors.items():
            value = plus(value, times(a.get(r, 0), force[d]))
        found[r] = fn.named(value, f"g_{r + 1}")
    return found


def _reduced_row(row: Mapping[int, Scalar], factors: Mapping[int, Mapping[int, Scalar]]) -> dict[int, Scalar]:
    """c A: a row c in terms of the independent speeds."""
    found = {r: c for r, c in row.items() if r not in factors}
    for d in row.keys() & factors.keys():
        for r, a in factors[d].items():
            found[r] = plus(found.get(r, 0), times(row[d], a))
    return found


def dependent_rates(
    tree: Tree, x: Mapping[int, Scalar], factors: Mapping[int, Mapping[int, Scalar]]
) -> dict[int, Scalar]:
    """Return the rates x of all speeds; for dependent speeds x_d = Σ A_dr x_r + c_d."""
    result = dict(x)
    for link in tree.links:
        for d in link.degrees:
            if d.dependent:
                assert d.rate is not None
                value = d.rate
                for r, a in factors[d.index].items():
                    value = plus(value, times(a, x[r]))
                result[d.index] = fn.named(value, f"x_{d.index + 1}")
    return result


def _products(
    equations: ImplicitEquations, factors: Mapping[int, Mapping[int, Scalar]], independent: list[int]
) -> dict[int, dict[int, Scalar]]:
    """Return M A, by row and then by independent speed."""
    rows: dict[int, dict[int, Scalar]] = {k: {} for k in equations.force}
    for (i, j), value in equations.matrix.items():
        if not is_zero(value):
            rows[i][j] = rows[j][i] = value
    result: dict[int, dict[int, Scalar]] = {}
    for k, row in rows.items():
        products: dict[int, Scalar] = {s: row[s] for s in independent if s in row}
        for d, a in factors.items():
            if d in row:
                for s, factor in a.items():
                    products[s] = plus(products.get(s, 0), times(row[d], factor))
        result[k] = {s: fn.named(v, f"MA_{k + 1}_{s + 1}") for s, v in products.items()}
    return result


# Accelerations under constraints, from the forces λ of the constraints, with any formalism for trees.
#
# x₀ are the accelerations of the tree without constraints. X_k are the accelerations that a unit force of
# constraint k causes at rest and without loads. Then
#
#     x = x₀ + Σ_k X_k λ_k        Σ_k (J_i X_k) λ_k = −(γ_i + J_i x₀)
#
# The matrix J_i X_k (J M⁻¹ Jᵀ) has one row for each constraint, so a long chain that is closed once costs
# little more than an open one. The terms of inertia are the same in x₀ and in all X_k.


class TreeFormalism(Protocol):
    """A function that returns the accelerations of a tree under loads."""

    def __call__(self, tree: Tree, applied: AppliedLoads, *, at_rest: bool = False) -> dict[int, Scalar]:
        """Return the accelerations x by speed index; if ``at_rest``, with zero speeds and without gravity."""


def constrained_accelerations(
    accelerations: TreeFormalism,
    tree: Tree,
    applied: AppliedLoads,
    constraints: Sequence[ConstraintRow],
    remainders: Sequence[Scalar],
) -> dict[int, Scalar]:
    """Return the accelerations x by speed index, under ``constraints`` with the ``remainders`` γ.

    In ``tree`` the dependent speeds are unknowns, as if there were no constraints; their values must satisfy
    the constraints.
    """
    free = accelerations(tree, applied)
    if not constraints:
        return free
    rows = [row.coefficients for row in constraints]
    columns = [accelerations(tree, AppliedLoads({}, dict(row)), at_rest=True) for row in rows]
    matrix: dict[tuple[int, int], Scalar] = {}
    right: dict[int, Scalar] = {}
    for i, row in enumerate(rows):
        for k in range(i, len(rows)):
            matrix[i, k] = fn.named(_dot(row, columns[k]), f"S_{i + 1}_{k + 1}")
        missing = plus(remainders[i], _dot(row, free))
        right[i] = fn.named(times(missing, -1), f"s_{i + 1}")
    names = {i: row.constraint.name for i, row in enumerate(constraints)}
    force = uncouple(ImplicitEquations(matrix, right, names), "fewest neighbours")
    result = dict(free)
    for k, column in enumerate(columns):
        for j, value in column.items():
            result[j] = plus(result[j], times(value, force[k]))
    return {j: fn.named(value, f"x_{j + 1}") for j, value in result.items()}


def _dot(row: dict[int, Scalar], x: dict[int, Scalar]) -> Scalar:
    value: Scalar = 0
    for j, a in row.items():
        value = plus(value, times(a, x[j]))
    return value


# Speeds after a constraint begins suddenly: its impulse Λ changes all speeds from u⁻ to u⁺ at once.
#
#     M (u⁺ − u⁻) = Jᵀ Λ        J u⁺ + b = 0
#
# For locked joints the rows of J are unit vectors. Loads are finite, so they do not change speeds at once.
#
# In the configuration after the impulse, u = P u' + k with the independent speeds u'. The elements of k are
# the known parts of dependent and given speeds, and zero for locked speeds. Constraints do no work on the
# motions P that they allow, Pᵀ Jᵀ Λ = 0, so
#
#     Pᵀ M (u⁺ − u⁻) = 0,      PᵀM P (u'⁺ − u'⁻) = Pᵀ M (u⁻ − P u'⁻ − k)
#
# where M is the mass matrix of all speeds. The elements of u⁻ − P u'⁻ − k are zero for independent speeds. In
# a tree without loops, the only other elements are the speeds of the joints that are locked, before the
# impulse.


def speeds_after_impulse(
    tree: Tree,
    elimination: Elimination,
    before: Sequence[Scalar],
    locked: frozenset[int],
    names: Sequence[str],
) -> dict[int, Scalar]:
    """Return u⁺ by index, of all speeds that are not prescribed.

    ``tree`` is the system without constraints and locks. ``elimination`` belongs to the configuration after
    the impulse, ``before`` are the speeds u⁻, and ``locked`` the indices of the speeds that are locked.
    """
    matrix = mass_matrix(tree)
    unknown = [d.index for link in tree.links for d in link.degrees if not d.prescribed]
    free = [i for i in unknown if i not in locked]
    off: dict[int, Scalar] = {i: before[i] for i in locked if i in unknown}
    for d, value in elimination.speeds(dict(enumerate(before))).items():
        off[d] = minus(before[d], value)
    force = {i: _row_product(matrix, i, off) for i in free}
    within = {(i, j): v for (i, j), v in matrix.items() if i not in locked and j not in locked}
    equations = ImplicitEquations(within, force, {i: names[i] for i in free})
    gained = uncouple(reduced_equations(equations, elimination.factors), "fewest neighbours")
    after: dict[int, Scalar] = {r: plus(before[r], value) for r, value in gained.items()}
    return after | elimination.speeds(after) | dict.fromkeys(locked & set(unknown), 0)


def _row_product(matrix: Mapping[tuple[int, int], Scalar], i: int, vector: Mapping[int, Scalar]) -> Scalar:
    value: Scalar = 0
    for j, x in vector.items():
        element = matrix.get((min(i, j), max(i, j)), 0)
        if not is_zero(element) and not is_zero(x):
            value = plus(value, times(element, x))
    return value


# The smallest changes δ of speeds u after which the constraints hold, while some speeds keep their values.
#
#     J (u + δ) + b = 0,   Σ (δ_j/s_j)² least:   δ = −W Jᵀ λ,   J W Jᵀ λ = J u + b,   W = diag(f_j s_j²)
#
# where s_j are the sizes of speeds (loop_closing.py) and f_j is 1 for a speed that may change, else 0. Runs
# compute these changes if an event sets a dependent speed. At the start of a run solver/assembly.py does this
# instead, also with redundant rows and near singular positions.


def least_changes(
    rows: Sequence[ConstraintRow], before: Sequence[Scalar], free: Sequence[Scalar], sizes: Sequence[Scalar]
) -> dict[int, Scalar]:
    """Return δ by speed index, for the speeds that occur in ``rows``; the rows must be independent.

    ``before``, ``free`` and ``sizes`` are u, f and s of all speeds.
    """
    coupled = sorted({j for row in rows for j in row.coefficients})
    weight = {j: fn.named(times(free[j], times(sizes[j], sizes[j])), f"weight_{j + 1}") for j in coupled}
    matrix: dict[tuple[int, int], Scalar] = {}
    left: dict[int, Scalar] = {}
    for i, row in enumerate(rows):
        left[i] = row.known
        weighed = {j: times(a, weight[j]) for j, a in row.coefficients.items()}
        for j, a in row.coefficients.items():
            left[i] = plus(left[i], times(a, before[j]))
        for k in range(i, len(rows)):
            value: Scalar = 0
            for j, a in rows[k].coefficients.items():
                value = plus(value, times(a, weighed.get(j, 0)))
            if not is_zero(value):
                matrix[i, k] = value
    names = {i: row.constraint.name for i, row in enumerate(rows)}
    multipliers = uncouple(ImplicitEquations(matrix, left, names), "fewest neighbours")
    changes: dict[int, Scalar] = {}
    for j in coupled:
        pulled: Scalar = 0
        for i, row in enumerate(rows):
            pulled = plus(pulled, times(row.coefficients.get(j, 0), multipliers[i]))
        changes[j] = minus(0, times(weight[j], pulled))
    return changes


# Reactions in joints, forces of constraints, and efforts of prescribed motion, from known accelerations.
#
# The wrench that passes through a joint is the inertia force of all links beyond it less the loads on them.
# The component τ_d of this wrench along a dependent speed comes from the constraints, τ_d = Σ λ_i J_id; these
# equations determine the constraint forces λ. The component along a prescribed speed is the effort. The tree
# is used without regrouping (regroup.py): inertia that regrouping moves across a joint would be missing from
# the joint's reaction.


def placeholders(system: Description) -> set[Expr]:
    """Return the symbols of the description for reactions, efforts and forces of constraints."""
    joints = {s for six in system.reactions.values() for s in six}
    return joints | set(system.efforts.values()) | {c.force for c in system.constraints.values()}


def reaction_values(
    system: Description, reduction: Reduction, rates: Mapping[int, Scalar], wanted: Collection[Expr]
) -> dict[Expr, Expr]:
    """Return expressions for the wanted symbols, from the rates of all speeds by index."""
    if not wanted:
        return {}
    bodies = [name for name, six in system.reactions.items() if set(six) & set(wanted)]
    tree = build_tree(
        system, reduction.plain, given=reduction.given, split_free_bodies=True, separate_welds=bodies
    ).with_degrees(lambda d: replace(d, rate=rates[d.index], dependent=False))
    applied = applied_loads(system, tree, reduction.plain, whole=True)
    own = net_wrenches(tree, applied)
    passed = accumulated_wrenches(tree, own, "r")
    tau = joint_efforts(tree, applied, passed)
    forces = constraint_forces(reduction, tau)
    values: dict[Expr, Scalar] = {c.force: forces.get(c.name, 0) for c in system.constraints.values()}
    for speed, stands_for in system.efforts.items():
        values[stands_for] = held_effort(system, reduction, tau, forces, speed)
    for name, both in joint_wrenches(system, reduction, tree, own, forces, bodies).items():
        values |= dict(zip(system.reactions[name], both, strict=True))
    return {s: as_expr(values[s]) for s in wanted}


def constraint_forces(reduction: Reduction, tau: Mapping[int, Scalar]) -> dict[str, Scalar]:
    """Return λ by constraint; redundant constraints are left out, since their forces are not determined."""
    elimination = reduction.elimination
    found = elimination.solve_transposed({d: tau[d] for d in elimination.factors})
    return {row.constraint.name: value for row, value in zip(elimination.kept, found, strict=True)}


def held_effort(
    system: Description,
    reduction: Reduction,
    tau: Mapping[int, Scalar],
    forces: Mapping[str, Scalar],
    speed: Expr,
) -> Scalar:
    """Return the effort along a prescribed or locked speed; ``forces`` are λ by constraint."""
    if speed not in reduction.given:
        return 0  # a free speed has no effort
    value = tau[system.speeds.index(speed)]
    for name, force in forces.items():
        factor = reduction.plain(derivative(system.constraints[name].speed, speed))
        value = minus(value, times(factor, force))
    return value


def joint_wrenches(
    system: Description,
    reduction: Reduction,
    tree: Tree,
    own: list[Wrench],
    forces: Mapping[str, Scalar],
    bodies: Collection[str],
) -> dict[str, tuple[Scalar, ...]]:
    """Return the force and moment of its joint on each of ``bodies``: six numbers in body axes.

    ``own`` are the net wrenches of the links, and ``forces`` the constraint forces λ.
    """
    if not bodies:
        return {}
    net = list(own)
    for name, force in forces.items():
        load = system.constraints[name].load
        if load is None:
            raise ModelError(
                f"the reaction at the joint of '{next(iter(bodies))}' requires the point where the force of "
                f"constraint '{name}' acts: give its point and direction, at= and along=, or close it "
                "with close_loop()"
            )
        for link, (n, f) in load_wrenches(load, tree, reduction.plain):
            if link >= 0:
                net[link] = (_less(net[link][0], n, force), _less(net[link][1], f, force))
    passed = accumulated_wrenches(tree, net, "r")
    values: dict[str, tuple[Scalar, ...]] = {}
    for name in bodies:
        placement = tree.placements[name]
        n, f = passed[placement.link] if placement.link >= 0 else (ZEROS, ZEROS)
        turned = transposed(placement.rotation)
        values[name] = (*matrix_vector(turned, f), *matrix_vector(turned, n))
    return values


def _less(a: Triple, b: Triple, factor: Scalar) -> Triple:
    """a − b·factor."""
    return joined(minus(x, times(y, factor)) for x, y in zip(a, b, strict=True))
