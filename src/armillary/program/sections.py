"""The sections of a program, made from the expressions of a derivation.

A search reduces the number of operations. Outputs can be computed from rates that a step has computed
already.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from random import Random

from armillary import cache
from armillary.algebra.expression import Expr, multiply, power, scale, symbol, total
from armillary.algebra.functions import KeptName, trial_intermediates
from armillary.algebra.node import settle
from armillary.algebra.walk import Undimensioned, operands_first, symbols, transform
from armillary.model.description import Description
from armillary.program.branch_packs import corresponding
from armillary.program.passes import Constants, Gain, Graph, hoist, improve
from armillary.program.passes.graph import Operations
from armillary.program.program import Program, ProgramSection, critical_path, section
from armillary.program.targets.targets import StepSection, Targets
from armillary.version import VERSION

# Fewer operations by search, for ``derive(effort="high")``.
#
# The passes are greedy: their result depends on the order in which unknowns are eliminated and on the choice
# of intermediate values that are kept. All choices give correct equations, so random choices are tried, and
# the one with the fewest operations is kept. The numbers of trials and the seed are fixed: the result is the
# same on every machine. Choices are stored between processes under a digest of the expressions; a stored
# choice of another graph would cost operations, but the equations would be correct.

ORDERS_TRIED = 60
SETS_TRIED = 800
NODES = 3000
"""Most nodes of a graph for which sets of intermediate values are tried: each trial runs all passes."""


def cost(graph: Graph) -> tuple[float, float]:
    """Return the cost by which graphs are compared: the weight of operations, then their longest chain."""
    return graph.operations.weight, critical_path(graph.order)


def best_order(
    first: Sequence[int], rates: Callable[[Sequence[int]], Sequence[Expr]]
) -> tuple[tuple[int, ...], Gain]:
    """Return an order of elimination with few operations of ``rates(order)``, and its gain over ``first``.

    Each trial moves one unknown of the best order so far to another position.
    """

    def measure(order: Sequence[int]) -> tuple[tuple[float, float], Operations]:
        with trial_intermediates():
            graph, _ = improve(rates(order), Constants())
        return cost(graph), graph.operations

    best = tuple(first)
    (least, before), tried = measure(best), {best}
    after = before
    name = _name("order", ORDERS_TRIED, rates(best))
    if (kept := _fetch_choices(name)) is not None and sorted(kept) == sorted(first):
        best, (_, after) = tuple(kept), measure(kept)
    else:
        random = Random(len(first))
        for _ in range(ORDERS_TRIED if len(first) > 2 else 0):
            order = list(best)
            order.insert(random.randrange(len(order)), order.pop(random.randrange(len(order))))
            if tuple(order) in tried:
                continue
            tried.add(tuple(order))
            found, operations = measure(order)
            if found < least:
                best, least, after = tuple(order), found, operations
        _keep(name, best)
    return best, Gain(f"order of elimination, {ORDERS_TRIED} trials", before, after)


def fewest_operations(roots: Sequence[Expr], taken: Iterable[str]) -> tuple[Sequence[Expr], list[Gain]]:
    """Return the roots without the intermediate values that obstruct the passes, and the gains.

    Each trial inlines or restores up to three values. A trial that is as good as the best one replaces it, so
    that the search moves along plateaus. ``taken`` are names that constants must not have.
    """
    graph = Graph(roots)
    values = [n for n in graph.order if n.kind == "let" and not isinstance(n.data, KeptName)]
    if not values or len(graph.order) > NODES:
        return roots, []

    def measure(dissolved: set[int]) -> tuple[Operations, list[Expr]]:
        with trial_intermediates():
            opened = {values[i] for i in dissolved}
            trial = graph.rebuild_nodes(lambda node, args: args[0] if node in opened else None, opened).roots
            improved, _ = improve(trial, Constants(taken))
        return improved.operations, trial

    before, _ = measure(set())
    least = before.weight
    best: set[int] = set()
    name = _name("values", SETS_TRIED, roots)
    if (kept := _fetch_choices(name)) is not None and all(0 <= i < len(values) for i in kept):
        best = set(kept)
    else:
        random = Random(len(values))
        for _ in range(SETS_TRIED):
            changed = random.sample(range(len(values)), min(random.choice((1, 1, 2, 3)), len(values)))
            found, _ = measure(best.symmetric_difference(changed))
            if found.weight <= least:
                best, least = best.symmetric_difference(changed), found.weight
        _keep(name, sorted(best))
    after, trial = measure(best)
    return trial, [Gain(f"values dissolved, {SETS_TRIED} trials", before, after)]


def _name(what: str, trials: int, roots: Sequence[Expr]) -> str:
    """Return the key of a search in the cache, from its kind, number of trials and digests of expressions."""
    size = len(operands_first(roots))
    return cache.digest(
        "search", VERSION, what, str(trials), str(size), *(str(settle(r).digest) for r in roots)
    )


def _fetch_choices(name: str) -> list[int] | None:
    """Return the choices stored by an earlier search; `None` if there are none."""
    content = cache.fetch(name)
    try:
        found = None if content is None else json.loads(content)
    except ValueError:
        return None
    whole = isinstance(found, list) and all(type(i) is int for i in found)
    return found if whole else None


def _keep(name: str, choices: Iterable[int]) -> None:
    cache.keep(name, json.dumps(list(choices)).encode())


# The sections of a program, from the expressions of a derivation, with shared constants.


def program_of(
    system: Description, wanted: Targets, plain: Undimensioned, *, check: bool = False
) -> tuple[Program, list[Gain]]:
    """Return the program, with sections that share constants, and the gains of the passes.

    With ``check``, every pass and the program are tested.
    """
    constants = Constants(taken=system.parameters)
    parameters = tuple(plain(p) for p in system.parameters.values())
    checker = None
    if check:
        from armillary.program.checker import PassChecker

        checker = PassChecker(wanted, parameters, constants)

    def improve_section(name: str, roots: Sequence[Expr], *, search: bool) -> tuple[Graph, list[Gain]]:
        after = checker.section(name, roots) if checker is not None else None
        return improve(roots, constants, search=search, check=after)

    def hoist_section(name: str, roots: Sequence[Expr]) -> Graph:
        graph = hoist(Graph(roots), constants)
        if checker is not None:
            checker.section(name, roots)("hoist", graph)
        return graph

    rates, gains = improve_section("derivatives", wanted.rates, search=wanted.search)
    outputs = hoist_section("outputs", rates.improve_others([c.expression for c in wanted.columns]))
    # Rates and event functions of contacts have most values in common: J, D and the forces.
    with_rates = rates.improve_others if wanted.contacts else list
    events = hoist_section("events", with_rates(wanted.events))
    updates = hoist_section("update", wanted.updates)
    made: dict[tuple[Expr, ...], Graph] = {}  # events with the same effects have the same section
    for event, f in zip(wanted.watched, wanted.fires, strict=True):
        made[f] = made[f] if f in made else hoist_section(f"fire {event.name}", f)
    fires = [made[f] for f in wanted.fires]
    state = (*wanted.integrated, *wanted.carried)
    state_labels = [s.data.name for s in state]
    memory_labels = [m.data.name for m in wanted.memory]
    corrections = hoist_section("correct", wanted.corrections)
    renewed = hoist_section("normalise", with_rates(wanted.normalised))
    geometry = hoist_section("geometry", wanted.geometry)
    sizes = hoist_section("sizes", wanted.sizes)
    row_sizes = hoist_section("row sizes", wanted.row_sizes)
    stepping = [improve_section(s.name, s.results, search=s.search)[0] for s in wanted.stepping]
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
        from armillary.program.checker import check_program

        check_program(program)
    return program, gains


def with_change_sections(
    program: Program, system: Description, motion: Sequence[Expr], wanted: Sequence[StepSection]
) -> Program:
    """Return a program with sections for changes of configuration, which take ``motion``, not the state.

    Constants that only these sections use come after the others.
    """
    constants = _further_constants(program, system)
    graphs = [hoist(Graph(s.results), constants) for s in wanted]
    changes = tuple(section(s.name, s.labels, g) for s, g in zip(wanted, graphs, strict=True))
    return replace(_with_constants(program, constants, graphs), motion=tuple(motion), changes=changes)


def with_partial_section(
    program: Program, system: Description, wanted: StepSection, *, improved: bool = True
) -> Program:
    """Return a program with a section of its partial derivatives; constants of this section come last.

    Without ``improved``, no pass but the search for constants changes the section, whose results may contain
    constants of the program.
    """
    if improved:
        constants = _further_constants(program, system)
        graph, _ = improve(wanted.results, constants, search=wanted.search)
    else:
        constants = Constants.of(_definitions(program), system.parameters)
        graph = hoist(Graph(wanted.results), constants)
    found = _with_constants(program, constants, [graph])
    return replace(found, partial_rates=(section(wanted.name, wanted.labels, graph),))


def _definitions(program: Program) -> dict[Expr, Expr]:
    """Return the definitions of a program's constants."""
    return dict(zip(program.constants, program.precompute.results, strict=True))


def _further_constants(program: Program, system: Description) -> Constants:
    return Constants(taken={*system.parameters, *(c.data.name for c in program.constants)})


def _with_constants(program: Program, constants: Constants, graphs: Sequence[Graph]) -> Program:
    """Return a program with the constants of further sections after those that it has."""
    known = set(program.constants)
    more = [c for c in _constants_used(graphs) if c not in known]
    used = (*program.constants, *more)
    defined = [*program.precompute.results, *(constants.definitions.get(c, c) for c in more)]
    precompute = section("precompute", [c.data.name for c in used], defined, constant=True)
    return replace(program, constants=used, precompute=precompute)


def _fire_sections(wanted: Targets, fires: Sequence[Graph], labels: list[str]) -> tuple[ProgramSection, ...]:
    """Return the sections of the events; events with the same effects share a section."""
    made: dict[int, ProgramSection] = {}
    for event, graph in zip(wanted.watched, fires, strict=True):
        if id(graph) not in made:
            made[id(graph)] = section(f"fire {event.name}", labels, graph)
    return tuple(
        replace(made[id(graph)], name=f"fire {event.name}")
        for event, graph in zip(wanted.watched, fires, strict=True)
    )


def _constants_used(graphs: Iterable[Graph]) -> list[Expr]:
    """Return the parameters and named constants that sections read, in the order of first occurrence."""
    return list(
        dict.fromkeys(
            n for graph in graphs for n in graph.order if n.kind == "symbol" and n.data.role == "parameter"
        )
    )


# Outputs that read the rates of the state, which a run with fixed steps has at each sample.
#
# An acceleration as an output repeats the equations of motion: in a batch whose metrics use every step it
# costs more than a stage, although the step has just computed these rates. Each rate is, up to cheap terms,
# one named intermediate value of the derivation; outputs that use this value compute it from the rate
# instead. The program keeps its constants, so that their tables can be used unchanged.

# Outputs read rates only if this reduces the weight of their operations to at most this share, since passing
# state and rates to the outputs takes time, too.
WORTHWHILE = 0.7


def with_outputs_of_rates(program: Program, targets: Targets, columns: Sequence[str]) -> Program:
    """Return the program with the outputs ``columns``, which read rates of the state if that saves time."""
    described = {c.name: c.expression for c in targets.columns}
    first = len(targets.coordinates)  # rates of coordinates are cheap to compute
    rates = {i: symbol(f"rate {i}") for i in range(first, len(targets.rates))}
    values = dict(pair for i, rate in rates.items() if (pair := _value_of_rate(targets.rates[i], rate)))
    expressions = transform([described[name] for name in columns], values.get)
    expressions = _with_known_constants(program, expressions)
    read = set(symbols(*expressions))
    outputs = section("outputs", columns, expressions)
    pays = outputs.operations.weight <= WORTHWHILE * program.outputs.operations.weight
    if not pays or not {s for s in read if s.data.role == "parameter"} <= set(program.constants):
        return program
    row_rates = tuple((i, rate) for i, rate in rates.items() if rate in read)
    return replace(program, outputs=outputs, row_rates=row_rates)


def _value_of_rate(rate: Expr, known: Expr) -> tuple[Expr, Expr] | None:
    """Return an intermediate value in the expression of a rate, and its expression by the symbol ``known``.

    A rate c (a·value + rest), whose symbol is ``known``, gives value = (known/c − rest)/a. Return `None` if
    the rate does not have this form.
    """
    while True:
        if rate.kind == "let":
            return rate, known
        if rate.kind == "product":
            moving = [k for k, factor in enumerate(rate.args) if not factor.constant]
            if len(moving) != 1 or rate.data[1][moving[0]] != 1:
                return None
            inner = rate.args[moving[0]]
            known, rate = multiply(known, power(multiply(rate, power(inner, -1)), -1)), inner
        elif rate.kind == "sum":
            named = [k for k, term in enumerate(rate.args) if term.kind == "let"]
            if not named:
                return None
            k = max(named, key=lambda k: len(operands_first([rate.args[k]])))
            coefficient, inner = rate.data[1][k], rate.args[k]
            rest = total([(1.0, rate), (-coefficient, inner)])
            known, rate = scale(total([(1.0, known), (-1.0, rest)]), 1 / coefficient), inner
        else:
            return None


def _with_known_constants(program: Program, outputs: Sequence[Expr]) -> list[Expr]:
    """Return outputs with the program's names for their constants, and no other names."""
    definitions = _definitions(program)
    constants = Constants.of(definitions)
    hoisted = hoist(Graph(outputs), constants).roots
    new: Mapping[Expr, Expr] = {
        name: value for name, value in constants.definitions.items() if name not in definitions
    }
    return transform(hoisted, new.get)
