"""Forces and moments in joints, of constraints and of given motion, from accelerations that are known.

With all accelerations known, the wrench that passes through a joint is the inertia of everything beyond it
less the loads there. Along a dependent speed it is the sum of the constraints' shares, τ_d = Σ λ_i J_id, from
which their forces λ follow; along a prescribed one it is the effort. The inertia is that of the description:
what regrouping moves across a joint would be missing from its reaction.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from armillary.algebra.derivatives.calculus import derivative
from armillary.algebra.expression import Expr, as_expr
from armillary.algebra.vectors.matrices import matrix_vector, transposed
from armillary.algebra.vectors.scalars import Scalar, minus, times
from armillary.algebra.vectors.triples import ZEROS, Triple, joined
from armillary.errors import ModelError
from armillary.mechanics.constraints.reduction import Reduction
from armillary.mechanics.tree.inertia.inertia_force import net_wrenches
from armillary.mechanics.tree.inverse_dynamics import joint_efforts
from armillary.mechanics.tree.loads import Wrench, accumulated_wrenches, applied_loads, load_wrenches
from armillary.mechanics.tree.structure.build import build_tree
from armillary.mechanics.tree.tree import Tree
from armillary.model.description import Description


def placeholders(system: Description) -> set[Expr]:
    """Symbols of the description that stand for reactions."""
    joints = {s for six in system.reactions.values() for s in six}
    return joints | set(system.efforts.values()) | {c.force for c in system.constraints.values()}


def reaction_values(
    system: Description, reduction: Reduction, rates: Mapping[int, Scalar], wanted: Collection[Expr]
) -> dict[Expr, Expr]:
    """Expressions for the wanted symbols, from the rates of all speeds by index."""
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
    """λ by constraint; redundant ones have none: how they share the load is not determined."""
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
    """The effort along a prescribed or locked speed, with the forces of constraints by name."""
    if speed not in reduction.given:
        return 0  # free: nothing keeps it
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
    """Force and moment of the joints of bodies on them, in the bodies' axes, with forces of constraints."""
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
