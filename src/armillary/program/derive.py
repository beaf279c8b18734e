"""From a description to equations: the pipeline, as a list of stages."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from armillary.algebra.arguments import flag, text
from armillary.algebra.expression import Expr
from armillary.algebra.intermediate import own_intermediates
from armillary.algebra.neglected import NeglectedTerms
from armillary.algebra.node import truncated
from armillary.algebra.walk import Undimensioned, symbols
from armillary.errors import ModelError, nearest
from armillary.mechanics.constraints.gears import GearedTree, embed_gears
from armillary.mechanics.constraints.multipliers import Formalism as TreeFormalism
from armillary.mechanics.constraints.multipliers import constrained_accelerations
from armillary.mechanics.constraints.reduced_equations import dependent_rates, reduced_equations
from armillary.mechanics.constraints.reduction import (
    Configuration,
    Reduction,
    initial_configuration,
    reduce_system,
)
from armillary.mechanics.formalisms import recursive
from armillary.mechanics.formalisms.kane import implicit_equations
from armillary.mechanics.masses.massless import MotionWithoutMass, check_masses
from armillary.mechanics.tree.loads import AppliedLoads, applied_loads
from armillary.mechanics.tree.speed_rates import speed_rates
from armillary.mechanics.tree.tree import Tree
from armillary.mechanics.tree.uncouple import uncouple
from armillary.model.deduced_units import parameter_units
from armillary.model.joints import Drift
from armillary.model.judgement import judgements
from armillary.model.recording.snapshot import snapshot
from armillary.model.system import System
from armillary.program.equations import Considered, Equations, Stage
from armillary.program.passes import Constants, Graph, hoist
from armillary.program.passes.sequence import Gain, improve
from armillary.program.program import Program, section
from armillary.program.roots import Targets, targets
from armillary.program.schedule import critical_path
from armillary.program.small_quantities import (
    Judged,
    check_vanished,
    explain_singular,
    reader,
    truncated_targets,
)

if TYPE_CHECKING:
    from armillary.program.free_speeds import Chosen

# A mass matrix costs about (number of speeds) × (mean depth of the tree); beyond this the recursion always
# wins.
_DEEP = 5.0
_CHAIN = 0.35  # of the longest chain of dependent operations, as it is felt


def _kane(reduction: Reduction, loads: AppliedLoads) -> dict[int, Any]:
    factors = reduction.elimination.factors
    equations = reduced_equations(implicit_equations(reduction.tree, loads), factors)
    return dependent_rates(reduction.tree, uncouple(equations, "fewest neighbours"), factors)


def _by_tree(accelerations: TreeFormalism) -> Callable[[Reduction, AppliedLoads], dict[int, Any]]:
    """A formalism for trees; constraints by their forces on top of it."""

    def solved(reduction: Reduction, loads: AppliedLoads) -> dict[int, Any]:
        tree, kept = reduction.free_tree or reduction.tree, reduction.elimination.kept
        return constrained_accelerations(accelerations, tree, loads, kept, reduction.remainders)

    return solved


def _recursive(reduction: Reduction, loads: AppliedLoads) -> dict[int, Any]:
    """The recursion, with gears inside it; other constraints by their forces on top of it."""
    found = _geared(reduction)
    accelerations = partial(recursive.accelerations, gears=found.gears)
    return constrained_accelerations(accelerations, found.tree, loads, found.rows, found.remainders)


def _geared(reduction: Reduction) -> GearedTree:
    return embed_gears(reduction.free_tree or reduction.tree, reduction.elimination, reduction.remainders)


def _back_substituted(tree: Tree, applied: AppliedLoads, *, at_rest: bool = False) -> dict[int, Any]:
    from armillary.mechanics.formalisms.back_substitution import accelerations

    return accelerations(tree, applied, at_rest=at_rest)


# Formalisms that a derivation does not ask for are not imported: a tenth of a second when a program starts.
FORMALISMS: dict[str, Callable[[Reduction, AppliedLoads], dict[int, Any]]] = {
    "kane": _kane,
    "recursive": _recursive,
    "back_substitution": _by_tree(_back_substituted),
}
FORMULATIONS = ("mbdyfr", "mbdyfn", "mbdyfl")


def derive(
    system: System,
    formalism: str = "auto",
    *,
    regroup: bool = True,
    small: bool = True,
    keep: int = 1,
    axes: str = "ground",
    configuration: Configuration | None = None,
    named: bool = False,
    check: bool = False,
) -> Equations:
    """The equations of motion of a system, by the named formalism or the cheapest of those worth trying.

    Momenta and redundant coordinates have states of their own, so "auto" leaves them to who asks for them.
    What is declared small or large is used, unless ``small`` is False: sums keep their leading order and
    ``keep`` orders above it. ``axes`` are those of angular momenta as states.
    With ``named`` the speeds of the description are states, whatever Free(velocity="auto") leaves open.
    With ``check`` the program is tested after every pass; see checker.py.
    """
    regroup, small = flag(regroup, "regroup=", ModelError), flag(small, "small=", ModelError)
    check = flag(check, "check=", ModelError)
    text(axes, "axes=", ModelError)
    system = snapshot(system)
    declared = judgements(system) if small else {}
    with derivation():
        clock = _Clock()
        _check(system, formalism)
        units = parameter_units(system)
        clock.stage("check units")
        held = check_masses(system, configuration or initial_configuration(system))
        clock.stage("check masses")
        if formalism == "redundant":
            return _redundant(system, units, clock, check)
        if formalism == "momentum":
            from armillary.program.momentum import check_momentum

            check_momentum(system, declared, axes)
            return _momentum(
                system, units, clock, configuration or initial_configuration(system), regroup, axes, check
            )
        if axes != "ground":
            raise ModelError(f"axes={axes!r} is for formalism='momentum', not for '{formalism}'")
        if formalism in FORMULATIONS:
            from armillary.program.jpl import check_appendages

            check_appendages(formalism, declared)
            return _appendages(
                system, formalism, units, clock, configuration or initial_configuration(system), check
            )
        plain = reader(declared, keep)
        with truncated(plain.truncation):
            reduction = reduce_system(system, plain, configuration or initial_configuration(system))
            clock.stage("plant")
            reduction = reduction.regrouped() if regroup else reduction
            loads = applied_loads(system, reduction.tree, reduction.plain)
            clock.stage("regroup")
        names = _worth_trying(reduction, formalism, held)
        try:
            candidates = [_candidate(name, loads, system, reduction, clock) for name in names]
            for chosen in [] if named else _choices(system, reduction, regroup):
                candidates += [_chosen_candidate(name, system, chosen, clock) for name in names]
        except ModelError as error:
            raise explain_singular(
                error,
                Judged(declared, keep),
                lambda: derive(system, formalism, small=False, configuration=configuration),
            ) from None
        considered = [_considered(c) for c in candidates] if len(candidates) > 1 else []
        cycles = [c.cycles for c in considered]
        best = candidates[cycles.index(min(cycles))] if considered else candidates[0]
        judged = _judged(declared, plain, best)
        check_vanished(
            judged,
            best.targets,
            lambda: derive(system, best.formalism, small=False, configuration=configuration).targets,
        )
        program, gains = program_of(system, best.targets, plain, check=check)
        clock.stage("improve", program.derivatives.operations)
    made: dict[str, Any] = {}
    kind = Equations
    if best.chosen is not None:
        from armillary.program.free_speeds import FreeSpeedEquations, described

        own, kind = described(system, best.chosen), FreeSpeedEquations
        reduction = best.chosen.reduction
        made["solved"] = tuple(own[system.speeds.index(u)] for u in reduction.independent(system))
    return kind(
        system,
        best.formalism,
        program,
        best.targets,
        units,
        tuple(clock.stages),
        tuple(gains),
        reduction,
        configuration or initial_configuration(system),
        {"regroup": regroup, "small": small, "keep": keep, "named": named},
        judged,
        tuple(considered),
        **made,
    )


def _redundant(system: System, units: dict[str, str], clock: _Clock, check: bool) -> Equations:
    """Equations in absolute coordinates with multipliers; see program/redundant.py."""
    from armillary.program.redundant import RedundantEquations, redundant_targets

    plain = Undimensioned()
    wanted, redundant = redundant_targets(system, plain)
    clock.stage("redundant")
    program, gains = program_of(system, wanted, plain, check=check)
    clock.stage("improve", program.derivatives.operations)
    stages = tuple(clock.stages)
    reduction = Reduction(Tree((), (0, 0, 0), {}), plain, system.prescriptions)
    return RedundantEquations(
        system, "redundant", program, wanted, units, stages, tuple(gains), reduction, Configuration(), {},
        redundant=redundant,
    )  # fmt: skip


def _momentum(
    system: System,
    units: dict[str, str],
    clock: _Clock,
    configuration: Configuration,
    regrouped: bool,
    axes: str,
    check: bool,
) -> Equations:
    """Equations in coordinates and momenta; see program/momentum.py."""
    from armillary.program.momentum import MomentumEquations, momentum_targets

    plain = Undimensioned()
    reduction = reduce_system(system, plain, configuration)
    clock.stage("plant")
    wanted, more = momentum_targets(system, reduction, configuration, regrouped=regrouped, axes=axes)
    clock.stage("momentum")
    program, gains = program_of(system, wanted, plain, check=check)
    clock.stage("improve", program.derivatives.operations)
    stages, options = tuple(clock.stages), {"regroup": regrouped, "small": False, "axes": axes}
    return MomentumEquations(
        system,
        "momentum",
        program,
        wanted,
        units,
        stages,
        tuple(gains),
        configuration=configuration,
        options=options,
        **more,
    )


def _appendages(
    system: System,
    formalism: str,
    units: dict[str, str],
    clock: _Clock,
    configuration: Configuration,
    check: bool,
) -> Equations:
    """Equations by one of JPL's formulations; see program/jpl.py."""
    from armillary.program.jpl import appendage_targets

    wanted, reduction = appendage_targets(system, configuration, formalism)
    clock.stage(formalism)
    program, gains = program_of(system, wanted, reduction.plain)
    clock.stage("improve", program.derivatives.operations)
    stages = tuple(clock.stages)
    return Equations(
        system,
        formalism,
        program,
        wanted,
        units,
        stages,
        tuple(gains),
        reduction,
        configuration,
        {"small": False},
    )


@dataclass(frozen=True)
class _Candidate:
    formalism: str
    targets: Targets
    neglected: NeglectedTerms | None
    chosen: Chosen | None = None  # other states than the description's speeds


def _choices(system: System, reduction: Reduction, regrouped: bool) -> list[Chosen]:
    """Other states in place of the speeds of free bodies that leave this to the derivation."""
    steps = [step for body in system.bodies.values() for step in body.assembly.steps]
    if not any(isinstance(step, Drift) and step.chosen for step in steps):
        return []
    from armillary.program.free_speeds import choices

    return choices(system, reduction, regrouped=regrouped)


def _chosen_candidate(name: str, system: System, chosen: Chosen, clock: _Clock) -> _Candidate:
    from armillary.program.free_speeds import chosen_targets

    reduction = chosen.reduction
    loads = applied_loads(system, reduction.tree, reduction.plain)
    rates = speed_rates(reduction.tree, FORMALISMS[name](reduction, loads))
    clock.stage(f"{name}, {chosen.words}")
    return _Candidate(name, chosen_targets(system, rates, chosen), None, chosen)


def _candidate(
    name: str, loads: AppliedLoads, system: System, reduction: Reduction, clock: _Clock
) -> _Candidate:
    def wanted_of() -> Targets:
        rates = speed_rates(reduction.tree, FORMALISMS[name](reduction, loads))
        return targets(system, rates, reduction)

    wanted, neglected = truncated_targets(reduction.plain, wanted_of)
    clock.stage(name)
    return _Candidate(name, wanted, neglected)


def _judged(declared: dict[Expr, int], plain: Undimensioned, best: _Candidate) -> Judged:
    if plain.truncation is None or best.neglected is None:
        return Judged()
    return Judged(declared, plain.truncation.keep, plain.truncation.neglected.joined(best.neglected))


def _considered(candidate: _Candidate) -> Considered:
    """A candidate's cost. Cycles, roughly: operations at the rate of a current core, and a share of the
    longest chain of dependent ones, which other work can fill in part.

    The share was fitted to times of 22 models by two formalisms: with it the choice is the faster one, or
    within a tenth of it, in all but one.
    """
    graph = hoist(Graph(candidate.targets.rates), Constants())
    operations = graph.operations
    cycles = operations.weight / 2.5 + _CHAIN * critical_path(graph.roots)
    name = candidate.formalism
    if candidate.chosen is not None:
        name += f", {candidate.chosen.words}"
    return Considered(name, operations, cycles)


def _worth_trying(reduction: Reduction, formalism: str, held: list[MotionWithoutMass]) -> list[str]:
    multipliers = len(_geared(reduction).rows)
    by_gears = not multipliers and formalism in ("auto", "recursive")  # the recursion takes them out itself
    if held and formalism not in ("auto", "kane") and not by_gears:
        raise ModelError(
            f"{held[0].line()} but for the constraints, and formalism '{formalism}' first solves for the "
            "motion without these; use formalism='kane'"
        )
    if formalism != "auto":
        return [formalism]
    if held and not by_gears:
        return ["kane"]
    depths: list[int] = []
    for link in reduction.tree.links:
        floating = link.parent < 0 and link.step == "drift"  # its six speeds are no deeper than one
        own = 1 if floating else len(link.degrees)
        depths.append((depths[link.parent] if link.parent >= 0 else 0) + own)
    mean = sum(depths) / max(len(depths), 1)
    speeds = sum(len(link.degrees) for link in reduction.tree.links)
    if 2 * multipliers > speeds:
        return ["kane"]  # few speeds are left: their equations are the shortest
    # Back substitution is not among them. On free hubs with 2 to 4 chains of 2 to 8 links it takes as many
    # operations as a mass matrix, 7 to 60 % more than the recursion, and no less time than the better one.
    return ["kane", "recursive"] if mean <= _DEEP else ["recursive"]


def formalisms() -> list[str]:
    """Names of all formalisms."""
    return [*FORMALISMS, "momentum", "redundant", *FORMULATIONS]


def _check(system: System, formalism: str) -> None:
    known = ["auto", *formalisms()]
    if not isinstance(formalism, str) or formalism not in known:
        raise ModelError(
            f"unknown formalism '{formalism}'{nearest(formalism, known)}; there are {', '.join(known)}"
        )
    if not system.speeds:
        raise ModelError(
            f"system '{system.name}' has no degree of freedom: give a body a joint such as Revolute('z')"
        )
    for name, flex in system.flexibles.items():
        if formalism != "mbdyfr" and (given := flex.part.complex_modes) is not None and not given.whole:
            raise ModelError(
                f"body '{name}' has {flex.part.modes} complex modes that move in more real shapes than that, "
                f"from which formalism '{formalism}' has no stiffness; use formalism='mbdyfr', or give all "
                "modes or the stiffness= between the nodes"
            )


def program_of(
    system: System, wanted: Targets, plain: Undimensioned, *, check: bool = False
) -> tuple[Program, list[Gain]]:
    """All sections, improved one by one over shared constants; with ``check``, tested after every pass."""
    constants = Constants(taken=system.parameters)
    parameters = tuple(plain(p) for p in system.parameters.values())
    checker = None
    if check:
        from armillary.program.checker import PassChecker

        checker = PassChecker(wanted, parameters, constants)

    def improved(name: str, roots: Sequence[Expr], *, search: bool) -> tuple[list[Expr], list[Gain]]:
        after = checker.section(name, roots) if checker is not None else None
        return improve(roots, constants, search=search, check=after)

    def hoisted(name: str, roots: Sequence[Expr]) -> list[Expr]:
        graph = hoist(Graph(roots), constants)
        if checker is not None:
            checker.section(name, roots)("hoist", graph)
        return graph.roots

    rates, gains = improved("derivatives", wanted.rates, search=wanted.search)
    outputs = hoisted("outputs", [c.expression for c in wanted.columns])
    events = hoisted("events", wanted.events)
    updates = hoisted("update", wanted.updates)
    fires = [hoisted(f"fire {event.name}", f) for event, f in zip(wanted.watched, wanted.fires, strict=True)]
    state = (*wanted.integrated, *wanted.carried)
    state_labels = [s.data.name for s in state]
    memory_labels = [m.data.name for m in wanted.memory]
    corrections = hoisted("correct", wanted.corrections)
    geometry = hoisted("geometry", wanted.geometry)
    sizes = hoisted("sizes", wanted.sizes)
    stepping = [improved(s.name, s.results, search=False)[0] for s in wanted.stepping]
    everything = [
        *rates,
        *outputs,
        *events,
        *updates,
        *(e for f in fires for e in f),
        *corrections,
        *geometry,
        *sizes,
        *(e for results in stepping for e in results),
    ]
    used = _constants_used(everything)
    defined = [constants.definitions.get(c, c) for c in used]
    rest = [
        section("outputs", [c.name for c in wanted.columns], outputs),
        section("events", [e.name for e in wanted.watched], events),
        section("update", memory_labels if updates else [], updates),
    ]
    program = Program(
        name=system.name,
        parameters=parameters,
        constants=tuple(used),
        state=state,
        memory=wanted.memory,
        time=wanted.time,
        precompute=section("precompute", [c.data.name for c in used], defined, constant=True),
        derivatives=section("derivatives", [f"{s}'" for s in state_labels], rates),
        outputs=rest[0],
        events=rest[1],
        update=rest[2],
        fire=tuple(
            section(f"fire {event.name}", [*memory_labels, *state_labels], f)
            for event, f in zip(wanted.watched, fires, strict=True)
        ),
        normalise=section(
            "normalise",
            [state_labels[q + i] for q in wanted.quaternions for i in range(4)],
            wanted.normalised,
        ),
        correct=section("correct", [state_labels[i] for i in wanted.corrected], corrections),
        corrected=wanted.corrected,
        geometry=section("geometry", [f"number {i + 1}" for i in range(len(geometry))], geometry),
        quaternions=wanted.quaternions,
        correction_sizes=tuple(sizes[: len(wanted.corrected)]),
        speed_sizes=tuple(sizes[len(wanted.corrected) :]),
        inputs=wanted.inputs,
        stepping=tuple(
            section(s.name, s.labels, results) for s, results in zip(wanted.stepping, stepping, strict=True)
        ),
    )
    if check:
        from armillary.program.checker import check_program

        check_program(program)
    return program, gains


def _constants_used(roots: list[Expr]) -> list[Expr]:
    """Parameters and named constants that sections read, in the order of first meeting."""
    return [s for s in symbols(*roots) if s.data.role == "parameter"]


class _Clock:
    """Seconds of each stage, with the operations that it left."""

    def __init__(self) -> None:
        self.stages: list[Stage] = []
        self._last = time.perf_counter()

    def stage(self, name: str, operations: Any = None) -> None:
        now = time.perf_counter()
        self.stages.append(Stage(name, now - self._last, operations))
        self._last = now


@contextmanager
def derivation() -> Iterator[None]:
    """Intermediate values of its own, and no cyclic garbage collection meanwhile: expressions hold no cycles,
    and scanning them took a third of the time.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        with own_intermediates():
            yield
    finally:
        if was_on:
            gc.enable()
