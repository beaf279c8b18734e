"""The sections of a program from the expressions that a derivation makes, improved over shared constants."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from armillary.algebra.expression import Expr
from armillary.algebra.walk import Undimensioned
from armillary.model.description import Description
from armillary.program.form.program import Program, ProgramSection, section
from armillary.program.lanes.alike_branches import corresponding
from armillary.program.passes import Constants, Graph, hoist
from armillary.program.passes.sequence import Gain, improve
from armillary.program.targets.targets import StepSection, Targets


def program_of(
    system: Description, wanted: Targets, plain: Undimensioned, *, check: bool = False
) -> tuple[Program, list[Gain]]:
    """All sections, improved one by one over shared constants; with ``check``, tested after every pass."""
    constants = Constants(taken=system.parameters)
    parameters = tuple(plain(p) for p in system.parameters.values())
    checker = None
    if check:
        from armillary.program.form.checker import PassChecker

        checker = PassChecker(wanted, parameters, constants)

    def improved(name: str, roots: Sequence[Expr], *, search: bool) -> tuple[Graph, list[Gain]]:
        after = checker.section(name, roots) if checker is not None else None
        return improve(roots, constants, search=search, check=after)

    def hoisted(name: str, roots: Sequence[Expr]) -> Graph:
        graph = hoist(Graph(roots), constants)
        if checker is not None:
            checker.section(name, roots)("hoist", graph)
        return graph

    rates, gains = improved("derivatives", wanted.rates, search=wanted.search)
    outputs = hoisted("outputs", [c.expression for c in wanted.columns])
    events = hoisted("events", wanted.events)
    updates = hoisted("update", wanted.updates)
    made: dict[tuple[Expr, ...], Graph] = {}  # events with the same effects have the same section
    for event, f in zip(wanted.watched, wanted.fires, strict=True):
        made[f] = made[f] if f in made else hoisted(f"fire {event.name}", f)
    fires = [made[f] for f in wanted.fires]
    state = (*wanted.integrated, *wanted.carried)
    state_labels = [s.data.name for s in state]
    memory_labels = [m.data.name for m in wanted.memory]
    corrections = hoisted("correct", wanted.corrections)
    renewed = hoisted("normalise", wanted.normalised)
    geometry = hoisted("geometry", wanted.geometry)
    sizes = hoisted("sizes", wanted.sizes)
    row_sizes = hoisted("row sizes", wanted.row_sizes)
    stepping = [improved(s.name, s.results, search=s.search)[0] for s in wanted.stepping]
    everything = [rates, outputs, events, updates, *fires, corrections, renewed, geometry, sizes, row_sizes]
    everything += stepping
    used = _constants_used(everything)
    defined = [constants.definitions.get(c, c) for c in used]
    rest = [
        section("outputs", [c.name for c in wanted.columns], outputs),
        section("events", [e.name for e in wanted.watched], events),
        section("update", memory_labels if updates.roots else [], updates),
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
        fire=_fire_sections(wanted, fires, [*memory_labels, *state_labels]),
        normalise=section("normalise", [state_labels[i] for i in wanted.renewed], renewed),
        renewed=wanted.renewed,
        correct=section("correct", [state_labels[i] for i in wanted.corrected], corrections),
        corrected=wanted.corrected,
        geometry=section("geometry", [f"number {i + 1}" for i in range(len(geometry.roots))], geometry),
        quaternions=wanted.quaternions,
        correction_sizes=tuple(sizes.roots[: len(wanted.corrected)]),
        speed_sizes=tuple(sizes.roots[len(wanted.corrected) :]),
        row_sizes=tuple(row_sizes.roots),
        inputs=wanted.inputs,
        alike=corresponding(system, state),
        stepping=tuple(
            section(s.name, s.labels, results) for s, results in zip(wanted.stepping, stepping, strict=True)
        ),
    )
    if check:
        from armillary.program.form.checker import check_program

        check_program(program)
    return program, gains


def with_change_sections(
    program: Program, system: Description, motion: Sequence[Expr], wanted: Sequence[StepSection]
) -> Program:
    """A program with further sections of a motion; constants that only these need follow the others."""
    constants = _further_constants(program, system)
    graphs = [hoist(Graph(s.results), constants) for s in wanted]
    changes = tuple(section(s.name, s.labels, g) for s, g in zip(wanted, graphs, strict=True))
    return replace(_with_constants(program, constants, graphs), motion=tuple(motion), changes=changes)


def with_partial_section(program: Program, system: Description, wanted: StepSection) -> Program:
    """A program with a section of its partial derivatives; constants that only it needs follow the others."""
    constants = _further_constants(program, system)
    graph, _ = improve(wanted.results, constants, search=wanted.search)
    found = _with_constants(program, constants, [graph])
    return replace(found, partial_rates=(section(wanted.name, wanted.labels, graph),))


def _further_constants(program: Program, system: Description) -> Constants:
    return Constants(taken={*system.parameters, *(c.data.name for c in program.constants)})


def _with_constants(program: Program, constants: Constants, graphs: Sequence[Graph]) -> Program:
    """A program with the constants that further sections need after its own."""
    known = set(program.constants)
    more = [c for c in _constants_used(graphs) if c not in known]
    used = (*program.constants, *more)
    defined = [*program.precompute.results, *(constants.definitions.get(c, c) for c in more)]
    precompute = section("precompute", [c.data.name for c in used], defined, constant=True)
    return replace(program, constants=used, precompute=precompute)


def _fire_sections(wanted: Targets, fires: Sequence[Graph], labels: list[str]) -> tuple[ProgramSection, ...]:
    """Sections of the events; those with the same effects are ordered once."""
    made: dict[int, ProgramSection] = {}
    for event, graph in zip(wanted.watched, fires, strict=True):
        if id(graph) not in made:
            made[id(graph)] = section(f"fire {event.name}", labels, graph)
    return tuple(
        replace(made[id(graph)], name=f"fire {event.name}")
        for event, graph in zip(wanted.watched, fires, strict=True)
    )


def _constants_used(graphs: Iterable[Graph]) -> list[Expr]:
    """Parameters and named constants that sections read, in the order of first meeting."""
    return list(
        dict.fromkeys(
            n for graph in graphs for n in graph.order if n.kind == "symbol" and n.data.role == "parameter"
        )
    )
