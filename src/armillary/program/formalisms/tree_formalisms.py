"""Equations in the description's own coordinates and speeds: Kane's, recursive, and by back substitution.

"auto" derives those worth trying and keeps the one with the shortest estimated time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from armillary.algebra.expression import Expr
from armillary.algebra.node import truncate_new_nodes
from armillary.algebra.triples import Scalar
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
from armillary.mechanics.tree.loads import AppliedLoads, applied_loads
from armillary.mechanics.tree.tree import Tree
from armillary.mechanics.tree.uncouple import ImplicitEquations, Order, eliminate, speed_rates, uncouple
from armillary.model.description import Description
from armillary.model.joints import Drift
from armillary.program.equations import Considered, DerivedEquations
from armillary.program.formalisms import recursive
from armillary.program.formalisms.formalism import Clock, Derivation, Formalism
from armillary.program.formalisms.kane import implicit_equations, separable_speeds
from armillary.program.passes import Constants, Graph, hoist
from armillary.program.passes.sequence import Gain
from armillary.program.program import critical_path
from armillary.program.targets.targets import (
    Judged,
    Targets,
    check_vanished,
    explain_singular,
    reader,
    targets,
    truncated_targets,
)
from armillary.untyped import DataTable

if TYPE_CHECKING:
    from armillary.program.formalisms.free_speeds import Chosen


# A mass matrix costs about (number of speeds) × (mean depth of the tree); beyond this the recursion always
# wins.
_DEEP = 5.0
TRIED = 2  # formalisms that "auto" tries at most
_CHAIN = 0.35  # share of the longest chain of dependent operations in the time of an evaluation


def _kane(reduction: Reduction, loads: AppliedLoads, order: Order = "fewest neighbours") -> dict[int, Scalar]:
    equations = _kanes_equations(reduction, loads)
    return dependent_rates(reduction.tree, uncouple(equations, order), reduction.elimination.factors)


def _kanes_equations(reduction: Reduction, loads: AppliedLoads) -> ImplicitEquations:
    tree, factors = reduction.tree, reduction.elimination.factors
    return reduced_equations(implicit_equations(tree, loads, separable_speeds(tree, factors)), factors)


def _by_tree(accelerations: TreeFormalism) -> Callable[[Reduction, AppliedLoads], dict[int, Scalar]]:
    """A formalism for trees; constraints by their forces on top of it."""

    def solve_tree(reduction: Reduction, loads: AppliedLoads) -> dict[int, Scalar]:
        tree, kept = reduction.free_tree or reduction.tree, reduction.elimination.kept
        x = constrained_accelerations(accelerations, tree, loads, kept, reduction.remainders)
        return _with_dependent_rates(reduction, x)

    return solve_tree


def _with_dependent_rates(reduction: Reduction, x: dict[int, Scalar]) -> dict[int, Scalar]:
    """Return the accelerations, with dependent ones computed from the independent ones.

    The forces of constraints give a dependent acceleration as the difference of a free and a constrained one.
    Near a dead centre it is nearly zero, and this difference leaves the rounding error of the load's effect.
    """
    return dependent_rates(reduction.tree, x, reduction.elimination.factors)


def _recursive(reduction: Reduction, loads: AppliedLoads) -> dict[int, Scalar]:
    """The recursion, with gears inside it; other constraints by their forces on top of it."""
    found = geared_tree(reduction)
    accelerations = partial(recursive.accelerations, gears=found.gears)
    x = constrained_accelerations(accelerations, found.tree, loads, found.rows, found.remainders)
    return _with_dependent_rates(reduction, x)


def geared_tree(reduction: Reduction) -> GearedTree:
    return embed_gears(reduction.free_tree or reduction.tree, reduction.elimination, reduction.remainders)


def _back_substitution(tree: Tree, applied: AppliedLoads, *, at_rest: bool = False) -> dict[int, Scalar]:
    from armillary.program.formalisms.back_substitution import accelerations  # takes some 6 ms

    return accelerations(tree, applied, at_rest=at_rest)


def derive_tree(d: Derivation) -> DerivedEquations:
    """Equations by one of these formalisms, or by the cheapest one for "auto"."""
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
    considered = [_candidate_cost(c) for c in candidates] if len(candidates) > 1 else []
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
        from armillary.program.formalisms.free_speeds import DerivedFreeSpeedEquations, speed_symbols

        own, made["kind"] = speed_symbols(system, best.chosen), DerivedFreeSpeedEquations
        reduction = best.chosen.reduction
        made["solved"] = tuple(own[system.speeds.index(u)] for u in reduction.independent(system))
    options = {"regroup": d.regroup, "small": d.small, "keep": d.keep, "named": d.named, "effort": d.effort}
    return d.finish(best.targets, reduction, options, name=best.formalism.name, **made)


@dataclass(frozen=True, eq=False)
class AccelerationFormalism(Formalism):
    """A formalism by its accelerations."""

    rates: Callable[[Reduction, AppliedLoads], dict[int, Scalar]] = _kane
    gears: bool = False  # whether it takes gears out itself, without multipliers
    massless: bool = False  # whether it takes motions without mass that constraints hold


KANE = AccelerationFormalism("kane", "kane", derive_tree, contacts=True, elimination=True, massless=True)
RECURSIVE = AccelerationFormalism(
    "recursive", "recursive", derive_tree, contacts=True, rates=_recursive, gears=True
)
BACK_SUBSTITUTION = AccelerationFormalism(
    "back_substitution", "back-substitution", derive_tree, contacts=True, rates=_by_tree(_back_substitution)
)
AUTO = Formalism("auto", "kane", derive_tree, contacts=True)  # the cheaper one of the first two


@dataclass(frozen=True)
class _Candidate:
    formalism: AccelerationFormalism
    targets: Targets
    neglected: NeglectedTerms | None
    chosen: Chosen | None = None  # other states than the description's speeds


def _choices(system: Description, reduction: Reduction, regrouped: bool) -> list[Chosen]:
    """Other states in place of the speeds of free bodies that leave this to the derivation."""
    steps = [step for body in system.bodies.values() for step in body.assembly.steps]
    if system.contacts or not any(isinstance(step, Drift) and step.chosen for step in steps):
        return []
    from armillary.program.formalisms.free_speeds import choices

    return choices(system, reduction, regrouped=regrouped)


def _chosen_candidate(
    formalism: AccelerationFormalism, system: Description, chosen: Chosen, clock: Clock
) -> _Candidate:
    from armillary.program.formalisms.free_speeds import chosen_targets

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
    """Kane's equations with the order of elimination that takes the fewest operations of those tried."""
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


def _candidate_cost(candidate: _Candidate) -> Considered:
    """A candidate's cost. Cycles, roughly: operations at the rate of a current core, and a share of the
    longest chain of dependent ones, which other work can fill in part.

    The share was fitted to times of 22 models by two formalisms: with it the choice is the faster one, or
    within a tenth of it, in all but one.
    """
    graph = hoist(Graph(candidate.targets.rates), Constants())
    operations = graph.operations
    cycles = operations.weight / 2.5 + _CHAIN * critical_path(graph.order)
    name = candidate.formalism.name
    if candidate.chosen is not None:
        name += f", {candidate.chosen.words}"
    return Considered(name, operations, cycles)


def _worth_trying(
    reduction: Reduction, formalism: Formalism, held: list[MotionWithoutMass], *, contacts: bool = False
) -> list[AccelerationFormalism]:
    multipliers = len(geared_tree(reduction).rows)
    if isinstance(formalism, AccelerationFormalism):
        if held and not formalism.massless and (multipliers or not formalism.gears):
            raise ModelError(
                f"{held[0].line()} except for the constraints, and formalism '{formalism.name}' first solves "
                "for the motion without these; use formalism='kane'"
            )
        return [formalism]
    if held and multipliers:
        return [KANE]
    depths: list[int] = []
    for link in reduction.tree.links:
        floating = link.parent < 0 and link.step == "drift"  # its six speeds are no deeper than one
        own = 1 if floating else len(link.degrees)
        depths.append((depths[link.parent] if link.parent >= 0 else 0) + own)
    mean = sum(depths) / max(len(depths), 1)
    speeds = sum(len(link.degrees) for link in reduction.tree.links)
    if 2 * multipliers > speeds:
        return [KANE]  # few speeds are left: their equations are the shortest
    # Back substitution is not among them. On free hubs with 2 to 4 chains of 2 to 8 links it takes as many
    # operations as a mass matrix, 7 to 60 % more than the recursion, and no less time than the better one.
    if mean > _DEEP:
        return [RECURSIVE]
    return [KANE] if contacts else [KANE, RECURSIVE]
