"""Equations in the description's own coordinates and speeds: Kane's, recursive, and by back substitution.

"auto" derives the equations by the promising formalisms and keeps those with the shortest estimated time.

Kane's equations nest the sums over bodies along the tree:

    Σ_s M_rs u̇_s = f_r      M_rs = Σ_b ( m v_r·v_s + ω_r·I·ω_s )      f_r = active − inertia forces

(Sayers 1990, eqs. 6.2.1 to 6.3.9.) A partial velocity is the same for all bodies beyond its joint, so the
sums over those bodies are made once, leaves first: composite mass, first moment and inertia, about each
joint's point. A unit speed gives the composite body beyond its joint a momentum (J k, k × h). The momentum is
carried towards the ground; its component along each joint on the way is an element of a column of M. For a
turn about k the column is computed from the composite in the parent's axes: k is the same in both axes.

The linear speeds of free bodies may be replaced by other states if these make the equations cheaper. The
description's speeds u of a body with ``Free(velocity="auto")`` are the velocity of its origin in the
ground's axes. The program may integrate another velocity s, of the origin or of the composite mass centre c
(of the body with the mass that regrouping adds to it), in the ground's axes or in the body's axes:

    u = s − R (ω × c)        s = u + R (ω × c)         ground's axes
    u = R (s − ω × c)        s = Rᵀ u + ω × c          body's axes

About its mass centre a body's equations of translation and rotation are uncoupled. Velocities in body axes
need no rotation for loads that depend on components in the body. The cheapest choice depends on the system,
so all are derived and their operations are counted. Users give and see only u; runs convert u to s.

Source: Sayers (1990), section 8.1, where the program introduces such speeds automatically.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import islice
from typing import ClassVar

from armillary.algebra import functions as fn
from armillary.algebra.calculus import directional_derivatives
from armillary.algebra.expression import UNIT, Expr, as_expr, symbol
from armillary.algebra.functions import freeze_long_sum
from armillary.algebra.node import truncate_new_nodes
from armillary.algebra.triples import (
    ZEROS,
    Scalar,
    Triple,
    add,
    cross_triples,
    is_zero,
    joined,
    matrix_sum,
    minus,
    scaled,
    times,
)
from armillary.algebra.truncation import NeglectedTerms
from armillary.algebra.walk import Undimensioned
from armillary.errors import ModelError
from armillary.mechanics.constraints.constrained_equations import (
    TreeFormalism,
    constrained_accelerations,
    dependent_rates,
    reduced_equations,
)
from armillary.mechanics.constraints.reduction import Reduction, reduce_system
from armillary.mechanics.constraints.rows import GearedTree, embed_gears
from armillary.mechanics.massless import MotionWithoutMass
from armillary.mechanics.tree.kinematics import (
    AppliedLoads,
    accumulated_wrenches,
    applied_loads,
    component_along,
    components_along_modes,
    modal_forces,
    net_wrenches,
    wrench_at_parent,
    wrench_sum,
)
from armillary.mechanics.tree.mass_matrix import (
    ImplicitEquations,
    Order,
    eliminate,
    pivot_inverse,
    separated_masses,
    speed_rates,
    uncouple,
    unknown_freedoms,
)
from armillary.mechanics.tree.tree import LINEAR, Link, Tree, point_mass_inertia
from armillary.model.bodies.body import Body
from armillary.model.description import Description
from armillary.model.joints import Drift
from armillary.program.equations import Considered, DerivedEquations
from armillary.program.formalisms import recursive
from armillary.program.formalisms.formalism import Clock, Derivation, DerivedConvertedEquations, Formalism
from armillary.program.passes import Constants, Gain, Graph, hoist
from armillary.program.program import critical_path
from armillary.program.targets.targets import (
    Judged,
    Targets,
    check_vanished,
    converted_targets,
    explain_singular,
    reader,
    targets,
    truncated_targets,
)
from armillary.untyped import DataTable


def implicit_equations(
    tree: Tree, applied: AppliedLoads, separable: Collection[int] = ()
) -> ImplicitEquations:
    """Return the mass matrix and force array of a tree under loads.

    Turns of ``separable`` speeds that can be eliminated beforehand are in the field ``separate``, not in M.
    """
    matrix, turns = separated_masses(tree, separable)
    force = force_array(tree, applied, {turn.freedom.index for turn in turns})
    names = {d.index: d.name for link in tree.links for d in link.degrees if not d.prescribed}
    separate = []
    for turn in turns:
        k = turn.freedom.index
        value = times(force.pop(k), pivot_inverse(turn.inertia, names.pop(k), k))
        separate.append((k, value, turn.row))
    return ImplicitEquations(matrix, force, names, tuple(separate))


def separable_speeds(tree: Tree, factors: Mapping[int, Mapping[int, Scalar]]) -> set[int]:
    """Return the indices of independent speeds, without an armature, on which no dependent speed depends.

    ``factors`` has the rows of A, by dependent speed: dependent speeds = A · independent speeds.
    """
    held = {*factors, *(r for row in factors.values() for r, a in row.items() if not is_zero(a))}
    free = [d for link in tree.links for d in unknown_freedoms(link)]
    return {d.index for d in free if d.index not in held and is_zero(d.armature)}


def force_array(tree: Tree, applied: AppliedLoads, separate: Collection[int] = ()) -> dict[int, Scalar]:
    """Return f_r: applied generalised forces less the inertia forces of the acceleration remainders.

    Joints of ``separate`` speeds transmit the applied force instead of the accumulated component.
    """
    own = net_wrenches(tree, applied)
    efforts = {k: applied.forces.get(k, 0) for k in separate}
    passed = accumulated_wrenches(tree, own, known=efforts)
    force = modal_forces(tree, applied)
    for i, link in enumerate(tree.links):
        for d in unknown_freedoms(link):
            wrench = passed[i]
            if d.index in separate:
                beyond = [j for j, child in enumerate(tree.links) if child.parent == i]
                wrench = reduce(wrench_sum, (wrench_at_parent(tree, j, *passed[j]) for j in beyond), own[i])
            value = minus(applied.forces.get(d.index, 0), component_along(d, *wrench))
            force[d.index] = minus(value, d.armature_effort)
        for mode, value in components_along_modes(tree, i, passed[i]).items():
            force[mode] = minus(force[mode], value)
    unknown = [d.index for link in tree.links for d in link.degrees if not d.prescribed]
    return {k: fn.named(force[k], f"f_{k + 1}") for k in unknown}


# Mean depth of the tree above which the recursion is always cheaper: the cost of a mass matrix grows with
# (number of speeds) × (mean depth).
_DEEP = 5.0
TRIED = 2  # most formalisms that "auto" tries
_CHAIN = 0.35  # share of the longest chain of dependent operations in the time of an evaluation


def _kane(reduction: Reduction, loads: AppliedLoads, order: Order = "fewest neighbours") -> dict[int, Scalar]:
    equations = _kanes_equations(reduction, loads)
    return dependent_rates(reduction.tree, uncouple(equations, order), reduction.elimination.factors)


def _kanes_equations(reduction: Reduction, loads: AppliedLoads) -> ImplicitEquations:
    tree, factors = reduction.tree, reduction.elimination.factors
    return reduced_equations(implicit_equations(tree, loads, separable_speeds(tree, factors)), factors)


def _by_tree(accelerations: TreeFormalism) -> Callable[[Reduction, AppliedLoads], dict[int, Scalar]]:
    """Return a function that solves a tree by a formalism and adds the constraints by multipliers."""

    def solve_tree(reduction: Reduction, loads: AppliedLoads) -> dict[int, Scalar]:
        tree, kept = reduction.free_tree or reduction.tree, reduction.elimination.kept
        x = constrained_accelerations(accelerations, tree, loads, kept, reduction.remainders)
        return _with_dependent_rates(reduction, x)

    return solve_tree


def _with_dependent_rates(reduction: Reduction, x: dict[int, Scalar]) -> dict[int, Scalar]:
    """Return the accelerations, with dependent accelerations computed from the independent ones.

    With multipliers a dependent acceleration is the unconstrained one less the effect of the constraint
    forces. Near a dead centre this difference of two large terms is nearly zero, mostly a rounding error.
    """
    return dependent_rates(reduction.tree, x, reduction.elimination.factors)


def _recursive(reduction: Reduction, loads: AppliedLoads) -> dict[int, Scalar]:
    """Return the accelerations by the recursion with gears; multipliers add the other constraints."""
    found = geared_tree(reduction)
    accelerations = partial(recursive.accelerations, gears=found.gears)
    x = constrained_accelerations(accelerations, found.tree, loads, found.rows, found.remainders)
    return _with_dependent_rates(reduction, x)


def geared_tree(reduction: Reduction) -> GearedTree:
    return embed_gears(reduction.free_tree or reduction.tree, reduction.elimination, reduction.remainders)


def _back_substitution(tree: Tree, applied: AppliedLoads, *, at_rest: bool = False) -> dict[int, Scalar]:
    from armillary.program.formalisms.back_substitution import accelerations  # the import takes some 6 ms

    return accelerations(tree, applied, at_rest=at_rest)


def derive_tree(d: Derivation) -> DerivedEquations:
    """Derive equations by one of these formalisms; for "auto" by the cheapest."""
    system, clock = d.system, d.clock
    plain = reader(d.declared, d.keep)
    with truncate_new_nodes(plain.truncation):
        reduction = reduce_system(system, plain, d.configuration)
        clock.stage("plant")
        reduction = reduction.regroup() if d.regroup else reduction
        loads = applied_loads(system, reduction.tree, reduction.plain)
        clock.stage("regroup")
    formalisms = _worth_trying(reduction, d.formalism, d.massless, contacts=bool(system.contacts))[:TRIED]
    try:
        candidates = [_candidate(f, loads, system, reduction, clock) for f in formalisms]
        for chosen in [] if d.named else _choices(system, reduction, d.regroup):
            candidates += [_chosen_candidate(f, system, chosen, clock) for f in formalisms]
    except ModelError as error:
        raise explain_singular(
            error, Judged(d.declared, d.keep), lambda: d.again(formalism=d.formalism.name, small=False)
        ) from None
    considered = _candidate_costs(candidates) if len(candidates) > 1 else []
    cycles = [c.cycles for c in considered]
    best = candidates[cycles.index(min(cycles))] if considered else candidates[0]
    made: DataTable = {}
    if d.effort == "high" and best.formalism is KANE and best.chosen is None:
        best, made["searched"] = _search_order(best, loads, system, reduction)
        clock.stage("search orders")
    judged = _truncation_record(d.declared, plain, best)
    check_vanished(judged, best.targets, lambda: d.again(formalism=best.formalism.name, small=False).targets)
    made |= {"judged": judged, "considered": tuple(considered)}
    if best.chosen is not None:
        own, made["kind"] = speed_symbols(system, best.chosen), DerivedFreeSpeedEquations
        reduction = best.chosen.reduction
        made["solved"] = tuple(own[system.speeds.index(u)] for u in reduction.independent(system))
    options = {"regroup": d.regroup, "small": d.small, "keep": d.keep, "named": d.named, "effort": d.effort}
    return d.finish(best.targets, reduction, options, name=best.formalism.name, **made)


@dataclass(frozen=True, eq=False)
class AccelerationFormalism(Formalism):
    """A formalism with a function that gives the accelerations."""

    rates: Callable[[Reduction, AppliedLoads], dict[int, Scalar]] = _kane
    gears: bool = False  # whether it eliminates gears itself, without multipliers
    massless: bool = False  # whether it accepts motions without mass that constraints prevent


KANE = AccelerationFormalism("kane", "kane", derive_tree, contacts=True, elimination=True, massless=True)
RECURSIVE = AccelerationFormalism(
    "recursive", "recursive", derive_tree, contacts=True, rates=_recursive, gears=True
)
BACK_SUBSTITUTION = AccelerationFormalism(
    "back_substitution", "back-substitution", derive_tree, contacts=True, rates=_by_tree(_back_substitution)
)
AUTO = Formalism("auto", "kane", derive_tree, contacts=True)  # the cheaper one of KANE and RECURSIVE


@dataclass(frozen=True)
class _Candidate:
    formalism: AccelerationFormalism
    targets: Targets
    neglected: NeglectedTerms | None
    chosen: Chosen | None = None  # other states than the description's speeds


def _choices(system: Description, reduction: Reduction, regrouped: bool) -> list[Chosen]:
    """Return other states for the speeds that Free(velocity="auto") leaves open; none with contacts."""
    steps = [step for body in system.bodies.values() for step in body.assembly.steps]
    if system.contacts or not any(isinstance(step, Drift) and step.chosen for step in steps):
        return []

    return choices(system, reduction, regrouped=regrouped)


def _chosen_candidate(
    formalism: AccelerationFormalism, system: Description, chosen: Chosen, clock: Clock
) -> _Candidate:

    reduction = chosen.reduction
    loads = applied_loads(system, reduction.tree, reduction.plain)
    rates = speed_rates(reduction.tree, formalism.rates(reduction, loads))
    clock.stage(f"{formalism.name}, {chosen.words}")
    return _Candidate(formalism, chosen_targets(system, rates, chosen), None, chosen)


def _candidate(
    formalism: AccelerationFormalism,
    loads: AppliedLoads,
    system: Description,
    reduction: Reduction,
    clock: Clock,
    solve: Callable[[Reduction, AppliedLoads], dict[int, Scalar]] | None = None,
) -> _Candidate:
    def wanted_of() -> Targets:
        rates = speed_rates(reduction.tree, (solve or formalism.rates)(reduction, loads))
        return targets(system, rates, reduction)

    wanted, neglected = truncated_targets(reduction.plain, wanted_of)
    clock.stage(formalism.name)
    return _Candidate(formalism, wanted, neglected)


def _search_order(
    best: _Candidate, loads: AppliedLoads, system: Description, reduction: Reduction
) -> tuple[_Candidate, tuple[Gain, ...]]:
    """Return Kane's equations in the cheapest order of elimination that was tried, and the gain."""
    from armillary.program.sections import best_order

    def rates(order: Order) -> Sequence[Expr]:
        return try_order(order).targets.rates

    def try_order(order: Order) -> _Candidate:
        return _candidate(best.formalism, loads, system, reduction, Clock(), partial(_kane, order=order))

    equations = _kanes_equations(reduction, loads)
    first = tuple(k for k, _, _ in eliminate(equations, "fewest neighbours").steps)
    order, gain = best_order(first, rates)
    return (best if order == first else try_order(order)), (gain,)


def _truncation_record(declared: dict[Expr, int], plain: Undimensioned, best: _Candidate) -> Judged:
    if plain.truncation is None or best.neglected is None:
        return Judged()
    return Judged(declared, plain.truncation.keep, plain.truncation.neglected.join(best.neglected))


def _candidate_costs(candidates: Sequence[_Candidate]) -> list[Considered]:
    """Return the costs of candidates, roughly in cycles.

    A cost is the time of all operations on a current core, plus a share of the time of the longest chain of
    dependent operations, in which a core has to wait for results. The share was fitted to the times of 22
    models by two formalisms: with one exception the chosen formalism is the faster one or within a tenth of
    it. Constants of all candidates are named together, since most loads are the same nodes in each.
    """
    hoisted = iter(hoist(Graph([r for c in candidates for r in c.targets.rates]), Constants()).roots)
    found = []
    for candidate in candidates:
        graph = Graph(list(islice(hoisted, len(candidate.targets.rates))))
        operations = graph.operations
        cycles = operations.weight / 2.5 + _CHAIN * critical_path(graph.order)
        name = candidate.formalism.name
        if candidate.chosen is not None:
            name += f", {candidate.chosen.words}"
        found.append(Considered(name, operations, cycles))
    return found


def _worth_trying(
    reduction: Reduction, formalism: Formalism, held: list[MotionWithoutMass], *, contacts: bool = False
) -> list[AccelerationFormalism]:
    multipliers = len(geared_tree(reduction).rows)
    if isinstance(formalism, AccelerationFormalism):
        if held and not formalism.massless and (multipliers or not formalism.gears):
            raise ModelError(
                f"{held[0].line()} without constraints, but formalism '{formalism.name}' first solves for "
                "the motion without constraints; use formalism='kane'"
            )
        return [formalism]
    if held and multipliers:
        return [KANE]
    depths: list[int] = []
    for link in reduction.tree.links:
        floating = link.parent < 0 and link.step == "drift"  # its six speeds count as one level of depth
        own = 1 if floating else len(link.degrees)
        depths.append((depths[link.parent] if link.parent >= 0 else 0) + own)
    mean = sum(depths) / max(len(depths), 1)
    speeds = sum(len(link.degrees) for link in reduction.tree.links)
    if 2 * multipliers > speeds:
        return [KANE]  # few independent speeds: their equations are the shortest
    # Back substitution is not tried: on free hubs with 2 to 4 chains of 2 to 8 links it takes as many
    # operations as Kane's equations, 7 to 60 % more than the recursion, and no less time than the better of
    # these two.
    if mean > _DEEP:
        return [RECURSIVE]
    return [KANE] if contacts else [KANE, RECURSIVE]


@dataclass(frozen=True, eq=False, repr=False)
class DerivedFreeSpeedEquations(DerivedConvertedEquations):
    """Equations of motion in coordinates and speeds that the derivation chose."""

    hidden_states: ClassVar[bool] = True
    export_remarks: ClassVar[tuple[str, ...]] = (
        "States are the speeds of the description. Only runs in the process use the velocities that",
        "Free(velocity='auto') chooses in their place; their counts of operations are different.",
    )


@dataclass(frozen=True, eq=False)
class Chosen:
    """A reduction in which some speeds, by index, are functions of other states."""

    reduction: Reduction
    states: dict[int, Expr]
    speeds: dict[int, Expr]  # the description's, from coordinates and states
    by_speeds: dict[int, Expr]  # the states, from coordinates and the description's speeds
    words: str


def choices(system: Description, reduction: Reduction, *, regrouped: bool) -> list[Chosen]:
    """Return the alternatives for the states of free bodies; none with constraints or small variables."""
    if system.constraints or reduction.plain.truncation is not None:
        return []
    bodies = [body for body in system.bodies.values() if _is_free(body, reduction.tree)]
    centres = {body.name: _centre(reduction.tree, body) for body in bodies} if regrouped else {}
    off_centre = any(not all(map(is_zero, c)) for c in centres.values())
    tried = [("parent", centres)] if off_centre else []
    tried += [("body", {})] + ([("body", centres)] if off_centre else [])
    return [_velocity_states(system, reduction, bodies, axes, at) for axes, at in tried] if bodies else []


def _is_free(body: Body, tree: Tree) -> bool:
    """Return whether a body has Free(velocity="auto") on the ground, and no prescribed motion."""
    link = tree.links[tree.placements[body.name].link] if tree.placements[body.name].link >= 0 else None
    return (
        any(isinstance(step, Drift) and step.chosen for step in body.assembly.steps)
        and link is not None
        and link.step == "drift"
        and link.parent < 0
        and len(link.freedoms) == 6
        and all(d.rate is None for d in link.freedoms)
    )


def _centre(tree: Tree, body: Body) -> Triple:
    """Return the vector from the origin of a body's link to its mass centre, in the link's axes.

    The vector is zero for a massless or flexible link, and in trees in which a flexible link carries others.
    """
    link = tree.links[tree.placements[body.name].link]
    flexible = link.modes is not None or any(other.carrier >= 0 for other in tree.links)
    if flexible or is_zero(link.mass):
        return ZEROS
    x, y, z = (0 if is_zero(h) else freeze_long_sum(as_expr(h) / as_expr(link.mass)) for h in link.first)
    return x, y, z


def _velocity_states(
    system: Description,
    reduction: Reduction,
    bodies: Sequence[Body],
    axes: str,
    centres: Mapping[str, Triple],
) -> Chosen:
    tree = reduction.tree
    states: dict[int, Expr] = {}
    speeds: dict[int, Expr] = {}
    by_speeds: dict[int, Expr] = {}
    for body in bodies:
        index = tree.placements[body.name].link
        link, c = tree.links[index], centres.get(body.name, ZEROS)
        linear = {d.direction - LINEAR: d for d in link.freedoms if d.direction >= LINEAR}
        spin = {d.direction: d.speed for d in link.freedoms if d.direction < LINEAR}
        around = cross_triples((spin[0], spin[1], spin[2]), c)
        s = {i: _speed_symbol(system, d.index, body, axes, c) for i, d in linear.items()}
        u = joined(linear[i].speed for i in range(3))
        moved = (s[0], s[1], s[2])
        if axes == "body":
            found = link.rotation.to_parent(add(moved, scaled(around, -1)))
            back = add(link.rotation.to_child(u), around)
        else:
            found = add(moved, scaled(link.rotation.to_parent(around), -1))
            back = add(u, link.rotation.to_parent(around))
        for i, d in linear.items():
            states[d.index], speeds[d.index], by_speeds[d.index] = s[i], as_expr(found[i]), as_expr(back[i])
        tree = _with_link(tree, index, _moved_by(link, s, axes, c), c)
    plain = reduction.plain.with_values({system.speeds[i]: u for i, u in speeds.items()})
    where = "mass centre" if centres else "origin"
    words = f"velocity of the {where} in {'body' if axes == 'body' else 'ground'} axes"
    return Chosen(replace(reduction, tree=tree, plain=plain), states, speeds, by_speeds, words)


def _speed_symbol(system: Description, index: int, body: Body, axes: str, c: Triple) -> Expr:
    u = system.speeds[index].data
    where = "origin" if all(map(is_zero, c)) else "composite mass centre"
    about = f"state for {u.name}: velocity of {body.name}'s {where} in {axes} axes"
    return symbol(f"state of {u.name}", owner=system.identity, units=u.units, about=about)


def _moved_by(link: Link, s: Mapping[int, Expr], axes: str, c: Triple) -> Link:
    """Return the link with other linear speeds, and with its origin moved by c to its mass centre."""
    freedoms = tuple(
        replace(d, speed=s[d.direction - LINEAR]) if d.direction >= LINEAR else d for d in link.freedoms
    )
    link = replace(link, freedoms=freedoms, velocity=axes)
    if all(map(is_zero, c)):
        return link
    less = point_mass_inertia(link.mass, c)
    inertia = matrix_sum(link.inertia, joined(scaled(row, -1) for row in less))
    settled_inertia = joined(joined(freeze_long_sum(as_expr(x)) for x in row) for row in inertia)
    offset = add(link.offset, link.rotation.to_parent(c))
    return replace(link, first=ZEROS, inertia=settled_inertia, offset=offset)


def _with_link(tree: Tree, index: int, link: Link, c: Triple) -> Tree:
    """Return the tree with a link whose origin moved by c; links and bodies on it do not move."""
    back = scaled(c, -1)
    links = [
        replace(other, offset=add(other.offset, back)) if other.parent == index else other
        for other in tree.links
    ]
    links[index] = link
    placements = {
        name: replace(p, origin=add(p.origin, back)) if p.link == index else p
        for name, p in tree.placements.items()
    }
    return replace(tree, links=tuple(links), placements=placements)


def chosen_targets(system: Description, rates: Mapping[int, Scalar], chosen: Chosen) -> Targets:
    """Return the root expressions of all sections, for rates of the states by index."""
    reduction, plain = chosen.reduction, chosen.reduction.plain
    free = [system.speeds.index(u) for u in reduction.independent(system)]
    second = [chosen.states.get(i, plain(system.speeds[i])) for i in free]
    along = {plain(system.time): UNIT}
    along |= {plain(q): plain(system.rates[q]) for q in reduction.coordinates(system)}
    along |= {state: as_expr(rates[i]) for state, i in zip(second, free, strict=True)}
    turned = directional_derivatives(list(chosen.speeds.values()), along)
    accelerations = {**rates, **dict(zip(chosen.speeds, turned, strict=True))}
    wanted = targets(system, accelerations, reduction)
    own = speed_symbols(system, chosen)
    back = [chosen.by_speeds.get(i, own[i]) for i in free]
    # Inputs of the conversion: symbols with the names of speeds, distinct from the symbols of states.
    given = {own[i]: symbol(own[i].data.name, "variable", owner=system.identity) for i in free}
    return converted_targets(
        wanted,
        {state: as_expr(rates[i]) for state, i in zip(second, free, strict=True)},
        names=[s.data.name for s in second],
        speeds=[own[i] for i in free],
        by_states=wanted.speeds,
        by_speeds=back,
        accelerations=[as_expr(accelerations[i]) for i in free],
        inputs=given,
    )


def speed_symbols(system: Description, chosen: Chosen) -> dict[int, Expr]:
    """Return the description's speeds as symbols, by index."""
    plain = chosen.reduction.plain
    bare = plain.with_values({system.speeds[i]: _bare(system.speeds[i]) for i in chosen.states})
    return {i: bare(u) for i, u in enumerate(system.speeds)}


def _bare(u: Expr) -> Expr:
    s = u.data
    return symbol(s.name, s.role, owner=s.owner, units=s.units, about=s.about, default=s.default)
