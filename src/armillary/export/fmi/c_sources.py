"""C sources of an FMU: the equations with their partial derivatives, and variables.h and variables.c.

The equations are written as in export/c. sources/fmu.c reads the numbers in variables.h and variables.c.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial

from armillary.algebra.block_functions import is_block
from armillary.algebra.calculus import directional_derivatives, gradient
from armillary.algebra.expression import UNIT, Expr, symbol, total
from armillary.algebra.walk import operands_first
from armillary.export.c.model import INPUTS, RESULT, USUAL, CModel
from armillary.export.c.printer import (
    WIDTH,
    CSolverPrinter,
    Signature,
    block,
    counts,
    function,
    helpers,
    lookup_function,
    string_literal,
    trigonometry,
)
from armillary.export.c.solver import APART, assembly_code, configuration_files, solver_texts
from armillary.export.fmi.variables import Interface, configuration_sources, motion_rates
from armillary.export.text.body import Place, section_text
from armillary.export.text.configurations import has_function
from armillary.export.text.files import fill, template
from armillary.export.text.printer import wrap_statement
from armillary.export.text.source import Source
from armillary.program.configurations import adjustable, speed_settings
from armillary.program.equations import DerivedEquations
from armillary.program.program import ProgramSection, section
from armillary.runtime.integrators.settings import IntegrationSettings
from armillary.solver.language.translator import Solver

# The solver of co-simulation: the solver of exported C programs, with inputs that may change within a step.
#
# An FMU calls the parts of the solver one by one, since an importer may act between them: at the end of every
# inner step, and before an event.

_MEMBERS = """\
    double inputs[{upper}_MEMORY_ROOM]; /* at the time `since`, by index in the memory */
    double input_slopes[{upper}_MEMORY_ROOM]; /* their first and second derivatives */
    double input_bends[{upper}_MEMORY_ROOM];
    double since;
    int moving;  /* whether inputs change within the communication step */
    int waiting; /* inputs have changed in a step across a singular configuration, and do not act yet */"""


class FmuSolverPrinter(CSolverPrinter):
    """Printer of the solver with inputs that are polynomials of time, at given indices in the memory."""

    def __init__(self, solver: Solver, stem: str, places: Sequence[int], calls: str) -> None:
        super().__init__(solver, stem)
        self.places, self.calls = places, calls

    def record(self) -> list[str]:
        return [*super().record(), *_MEMBERS.format(upper=self.upper).splitlines()]

    def model(self, name: str, targets: Sequence[str], arguments: Sequence[str]) -> list[str]:
        lines = super().model(name, targets, arguments)
        if not self.places or name == "pivot_shares":
            return lines
        return [f"feed(run, {arguments[1] if name == 'fire' else arguments[0]});", *lines]

    def text(self) -> str:
        before, _, after = self.calls.partition("@functions@\n")
        return "\n".join([before, super().text(), after])


def solver_files(model: CModel) -> dict[str, str]:
    """Return the solver's header and source by name."""
    places = [i for i, m in enumerate(model.description.memory) if m.input]
    values = model.values | {"places": ", ".join(map(str, places)), "count": str(len(places))}
    has = model.has | ({"inputs"} if places else set())
    calls = fill(template(__package__, "calls.c.txt"), values | {"functions": "@functions@"}, has)
    printer = partial(FmuSolverPrinter, places=places, calls=calls)
    also = ("change_inputs",) if "passing" in model.has else ()
    return solver_texts(model, kind=printer, also=also).files(model.stem)


# Sections of derivatives of rates, outputs and event functions f, at the cost of a few evaluations of f.
#
#     directional   δf = Σ ∂f/∂z · δz      z: time, state, memory
#     adjoint       λᵀ ∂f/∂z               for weights λ of the functions
#
# The direction δz and the weights λ are further symbols: one evaluation gives the product of the whole
# Jacobian with δz or λ, at about three times the cost of the functions themselves.


@dataclass(frozen=True, eq=False)
class SeededSection:
    """A section and the symbols of its seeds: a direction of time, state and memory, or weights."""

    section: ProgramSection
    seeds: tuple[Expr, ...]


def directional(source: Source, clocks: Collection[int]) -> SeededSection:
    """Return the changes of the functions along a direction; ``clocks`` are numbers of omitted events."""
    program = source.program
    known = [program.time, *program.state, *program.memory]
    seeds = tuple(symbol(f"d_{s.data.name}", "variable", owner=program) for s in known)
    labels, functions = _seeded_functions(source, clocks)
    found = directional_derivatives(functions, dict(zip(known, seeds, strict=True)))
    # Derivatives have few constants: these are computed at each call, not once per parameter set.
    return SeededSection(section("directional", labels, found, constant=True), seeds)


def state_rates(source: Source) -> SeededSection:
    """Return the rates of the states of an FMU with several configurations."""
    return SeededSection(section("motion_rates", *motion_rates(source), constant=True), ())


def adjoints(source: Source, clocks: Collection[int]) -> SeededSection:
    """Return the derivatives of a weighted sum of the functions by time, state and memory."""
    program = source.program
    known = [program.time, *program.state, *program.memory]
    _, functions = _seeded_functions(source, clocks)
    seeds = tuple(symbol(f"weight_{i}", "variable", owner=program) for i in range(len(functions)))
    labels = ["time", *(s.data.name for s in known[1:])]
    return SeededSection(
        section("adjoint", labels, _weighted_slopes(functions, seeds, known), constant=True), seeds
    )


def _weighted_slopes(functions: Sequence[Expr], weights: Sequence[Expr], known: Sequence[Expr]) -> list[Expr]:
    """Return the derivatives of a weighted sum of functions.

    Block functions have no gradients. If there are any, one directional derivative is computed for each known
    quantity.
    """

    def weighted_sum(values: Sequence[Expr]) -> Expr:
        return total((1, w * f) for w, f in zip(weights, values, strict=True))

    if not any(is_block(node) for node in operands_first(functions)):
        return gradient(weighted_sum(functions), known)
    return [weighted_sum(directional_derivatives(functions, {z: UNIT})) for z in known]


def _seeded_functions(source: Source, clocks: Collection[int]) -> tuple[list[str], list[Expr]]:
    """Return the labels and expressions of rates, outputs and event functions."""
    program = source.program
    watched = [g for k, g in enumerate(program.events.results) if k not in clocks]
    events = [f"event {k}" for k in range(len(watched))]
    labels, rates = motion_rates(source)
    return [*labels, *program.outputs.labels, *events], [*rates, *program.outputs.results, *watched]


def model_files(source: Source, clocks: Collection[int], adjoint: bool) -> dict[str, str]:
    """Return headers and sources by file name; ``clocks`` are the event numbers of periodic updates."""
    model = CModel(source, USUAL)
    texts = {
        f"{model.stem}.h": model.header(),
        f"{model.stem}.c": model.code(),
        **solver_files(model),
        **configuration_files(model),
    }
    if source.assembly is not None:
        texts[f"{model.stem}_assembly.c"] = assembly_code(source)
    for one in configuration_sources(source):
        texts[f"{one.stem}_directional.c"] = _derivatives_source(
            one, directional(one, clocks), "directional derivatives", _FORWARDS
        )
        if source.changing:
            texts[f"{one.stem}_motion_rates.c"] = _derivatives_source(
                one, state_rates(one), "rates of all coordinates, speeds and states", ()
            )
        if adjoint:
            texts[f"{one.stem}_adjoint.c"] = _derivatives_source(
                one, adjoints(one, clocks), "adjoint derivatives", _BACKWARDS
            )
    return texts


_FORWARDS = (
    "The seed is a change of time, state and memory, in this order; the result is the change of the",
    "rates of the state, of the outputs and of the event functions except for clocks, to first order.",
)
_BACKWARDS = (
    "The seed weights the rates of the state, the outputs and the event functions except for clocks, in this",
    "order; the result is the change of their weighted sum with time, state and memory.",
)


def _derivatives_source(source: Source, wanted: SeededSection, what: str, about: Sequence[str]) -> str:
    """Return <name>_directional.c, <name>_adjoint.c or <name>_motion_rates.c."""
    model = CModel(source)  # a new model, which has only the tables of this file
    namer = model.sections.identifiers.namer.copy()
    identifiers, places = dict(model.sections.identifiers.of), _symbol_places(source)
    for i, seed in enumerate(wanted.seeds):
        identifiers[seed] = namer.fresh(seed.data.name)
        places[seed] = ("seed", i)
    text = section_text(wanted.section, model.printer, places, identifiers, namer)
    targets = [f"out[{i}]" for i in range(len(wanted.section.results))]
    name = f"{model.stem}_{wanted.section.name}"
    given = ", const double *restrict seed" if wanted.seeds else ""
    signature = Signature(name, f"{INPUTS}{given}, {RESULT}", targets)
    title = f"{what[0].upper()}{what[1:]}"
    code = function(signature, f"{title}: {counts(wanted.section.operations)}.", text)
    tables = [lookup_function(name, table, model.printer) for table, name in model.printer.tables.items()]
    tables.append(model.contacts(code))
    head = [f"{name}.c: {source.description.name}: {what}", "", *about]
    parts = [block(head), '#include "variables.h"', "#include <math.h>", APART]
    return (
        "\n\n".join(
            p.rstrip() for p in (*parts, trigonometry(code), helpers(code), *tables, code) if p.strip()
        )
        + "\n"
    )


def _symbol_places(source: Source) -> dict[Expr, Place]:
    program = source.program
    found: dict[Expr, Place] = {program.time: ("", 0)}
    for array, symbols in (
        ("state", program.state),
        ("memory", program.memory),
        ("constants", program.constants),
    ):
        found |= {s: (array, i) for i, s in enumerate(symbols)}
    return found


_HEADER = """\
/* variables.h: sizes and tables of this model. Value references run through time, parameters, memory, states,
 * rates, outputs, event functions and clocks of events.
 */
#ifndef VARIABLES_H
#define VARIABLES_H

#include "{stem}_solver.h"

/* The equations, by the names under which fmu.c calls them. */
{functions}
#define model_fire {stem}_fire
#define model_assemble(...) {stem}_assemble(__VA_ARGS__{first_configuration})
#define model_start {stem}_start
#define model_unphysical {stem}_unphysical
#define model_open_loops {stem}_open_loops

#define model_weak_mass {stem}_weak_mass

/* The solver: a run, its statuses and its parts. */
#define model_run {stem}_run
#define MODEL(status) {upper}_##status
#define METHOD {upper}_{method}
#define model_continue {stem}_continue
#define model_start_run {stem}_start_run
#define model_move {stem}_move
#define model_arrive {stem}_arrive
#define model_arrives {stem}_arrives
#define model_change_inputs {stem}_change_inputs
#define model_near_place {stem}_near_place
#define model_look {stem}_look
#define model_watch {stem}_watch
#define model_follow {stem}_follow
#define model_land {stem}_land
#define model_judge {stem}_judge
#define model_renew {stem}_renew
#define model_end_at {stem}_end_at
#define model_next_jump {stem}_next_jump
#define model_record {stem}_record
#define model_happen {stem}_happen
#define model_adopt_signs {stem}_adopt_signs

{derivatives}
void {stem}_start_run({stem}_run *run);
void {stem}_move({stem}_run *run);
void {stem}_arrive({stem}_run *run);
int {stem}_arrives(const {stem}_run *run);
void {stem}_change_inputs({stem}_run *run);
int {stem}_near_place(const {stem}_run *run);
const double *{stem}_look({stem}_run *run, int i, double *t, double *weight);
double {stem}_watch({stem}_run *run);
void {stem}_follow({stem}_run *run);
void {stem}_land({stem}_run *run);
void {stem}_judge({stem}_run *run);
void {stem}_renew({stem}_run *run);
void {stem}_end_at({stem}_run *run, double t_end);
double {stem}_next_jump({stem}_run *run, double *after, double *before);
void {stem}_record({stem}_run *run);
void {stem}_happen({stem}_run *run);
void {stem}_adopt_signs({stem}_run *run);

#define MODEL_NAME {name}
#define TOKEN {token}
#define STEP {step} /* the longest inner step of co-simulation, in seconds */
#define ADAPTIVE {adaptive} /* the method chooses its steps, by these tolerances */
#define RTOL {rtol}
#define ATOL {atol}

#define N_PARAMETERS {parameters}
#define N_CONSTANTS {constants}
#define N_STATES {states}
#define CHANGING {changing} /* configurations can change, and the states are all coordinates and speeds */
#define N_BEYOND {beyond} /* numbers after the states in a motion: speeds that events set or may change */
#define N_PACKED {packed} /* states of the equations of a configuration, at most */
#define N_FIRST {first} /* states of the equations of the first configuration */
#define N_MEMORY {memory}
#define N_OUTPUTS {outputs}
#define N_EVENTS {events}
#define N_INDICATORS {indicators} /* events without the clocks of periodic updates */

#define HAS_UPDATE {update}
#define HAS_NORMALISE {normalise}
#define HAS_PASSAGES {passages} /* steps lead across singular configurations */
#define N_LOOKS {looks} /* points from which values near such a configuration are interpolated */
#define HAS_JUMPS {jumps} /* data of inputs over time jump or bend */
#define HAS_PHYSICAL {physical}
#define HAS_START {start} /* the first state follows from other values, such as momenta from speeds */
#define N_COORDINATES {coordinates} /* the first of the states */
#define N_GAPS {gaps} /* of loops that have to close; 0: none */
#define HAS_MASSES {masses} /* motions without mass are found */
#define HAS_RUN_PARAMETERS {run_parameters}
#define HAS_ADJOINT {adjoint}
#define HAS_EXCHANGE {exchange}
#define HAS_COSIMULATION {cosimulation}
#define TUNABLE {tunable}

typedef struct {{
    const char *name;
    int direction; /* of the sign change that matters; 0: both */
    int stop;      /* whether the run ends there */
    int guard;     /* of the choice of dependent speeds, or of the rank of constraints */
    int clock;     /* index of its clock in the memory; -1: none */
    double period;
}} event_description;

extern const double START_PARAMETERS[];             /* in their own units */
extern const double START_STATE[], STATE_FACTORS[]; /* in the model's units; factors from stated units */
extern const double START_GIVEN[]; /* values from which the first state follows */
extern const int CONVERTED[];      /* 1 for states that differ from these values, such as momenta */
extern const double FIRST_GUESS[]; /* coordinates from which loops are closed */
extern const double START_MEMORY[], MEMORY_FACTORS[];
extern const double MEMORY_PERIODS[]; /* of clocks: the first tick is one period after the start; -1: none */
extern const int INPUTS[]; /* 1 for memory that is set from outside */
extern const char *const STATE_NAMES[];
{events_declared}

#endif
"""


_NO_EVENT = '{"", 0, 0, 0, -1, 0.0}'
_ORDINARY = ("derivatives", "outputs", "events", "update")
_SEED = "const double *seed, "
_PROTOTYPE = """\
void {name}(double t, const double *state, const double *constants, const double *memory,
    {seed}double *out);"""
_FUNCTION_TABLE = """\
/* Functions of the present configuration of an instance `me`. */
typedef void model_section(double t, const double *state, const double *constants, const double *memory,
                           double *out);
typedef void model_seeded(double t, const double *state, const double *constants, const double *memory,
                          const double *seed, double *out);
typedef struct {{
    model_section *derivatives, *outputs, *events, *update, *leave, *motion_rates;
    void (*normalise)(double t, double *state, const double *constants, const double *memory);
    model_seeded *directional, *adjoint;
}} configuration_functions;
extern const configuration_functions FUNCTIONS[];
#define PRESENT (FUNCTIONS[me->now.run.configuration])
#define model_outputs PRESENT.outputs
#define model_events PRESENT.events
#define model_update PRESENT.update
#define model_leave PRESENT.leave
#define model_motion_rates PRESENT.motion_rates
#define model_normalise PRESENT.normalise
#define model_directional PRESENT.directional
#define model_adjoint PRESENT.adjoint
#define model_prepare {stem}_prepare
void {stem}_prepare({stem}_run *run, const double *parameters);"""
_EVENT_TABLES = """\
extern const event_description *const EVENTS_OF[]; /* of each configuration */
#define EVENTS (EVENTS_OF[me->now.run.configuration])
extern const int STATE_PLACES[][N_PACKED]; /* of each: indices of its states in the FMU's states */"""


def variables_header(
    interface: Interface,
    token: str,
    settings: IntegrationSettings,
    *,
    exchange: bool,
    cosimulation: bool,
    adjoint: bool,
) -> str:
    """Return variables.h; ``settings`` are the settings of co-simulation."""
    program, description = interface.source.program, interface.source.description
    stem, sources = interface.source.stem, configuration_sources(interface.source)
    several, loops = interface.source.changing, interface.source.assembly
    values = {
        "functions": _FUNCTION_TABLE.format(stem=stem) if several else _function_macros(stem, adjoint),
        "derivatives": "\n".join(
            _PROTOTYPE.format(name=f"{one.stem}_{name}", seed=seed)
            for one in sources
            for name, seed in (
                ("directional", _SEED),
                *((("adjoint", _SEED),) if adjoint else ()),
                *((("motion_rates", ""),) if several else ()),
            )
        ),
        "changing": int(several),
        "passages": int(interface.source.passing),
        "looks": f"{interface.source.stem.upper()}_LOOKS" if interface.source.passing else "0",
        "beyond": _beyond(interface.source.equations) if several else 0,
        "packed": max(len(one.program.state) for one in sources),
        "first": len(program.state),
        "events_declared": _EVENT_TABLES if several else "extern const event_description EVENTS[];",
        "stem": interface.source.stem,
        "name": string_literal(description.name),
        "token": string_literal(token),
        "step": repr(settings.step),
        "method": settings.integrator.name.upper(),
        "adaptive": int(settings.integrator.adaptive),
        "rtol": repr(settings.rtol),
        "atol": repr(settings.atol),
        "upper": interface.source.stem.upper(),
        "masses": int(interface.source.masses is not None),
        "jumps": int(bool(program.stops)),
        "run_parameters": int(interface.source.masses is not None or interface.source.start is not None),
        "adjoint": int(adjoint),
        "parameters": len(description.parameters),
        "constants": len(program.constants),
        "states": len(interface.states),
        "memory": len(program.memory),
        "outputs": len(description.outputs),
        "events": len(interface.events),
        "indicators": len(interface.indicators),
        "update": int(bool(program.update.results)),
        "normalise": int(program.normalises),
        "physical": int(interface.source.physical is not None),
        "start": int(interface.source.start is not None),
        "coordinates": len(interface.source.equations.coordinates),
        "gaps": len(loops.gaps) if loops is not None else 0,
        "first_configuration": ", 0" if loops is not None and loops.several else "",
        "exchange": int(exchange),
        "cosimulation": int(cosimulation),
        "tunable": int(interface.tunable),
    }
    return _HEADER.format(**values)


def variables_source(interface: Interface, adjoint: bool) -> str:
    """Return variables.c."""
    description = interface.source.description
    parameters = interface.parameters
    sources = configuration_sources(interface.source)
    lines = [
        "/* variables.c: start values, names and factors of this model. */",
        '#include "variables.h"',
        "",
    ]
    lines += _table_lines("double", "START_PARAMETERS", [repr(v.start) for v in parameters])
    lines += _table_lines("double", "START_STATE", [repr(x) for x in interface.start_state])
    lines += _table_lines("double", "START_GIVEN", [repr(x) for x in interface.start_given])
    pairs = zip(description.states, description.starts, strict=True)  # of the first configuration
    lines += _table_lines("int", "CONVERTED", [str(int(a.name != b.name)) for a, b in pairs])
    lines += _table_lines("double", "FIRST_GUESS", [repr(x) for x in interface.first_guess])
    lines += _table_lines("double", "STATE_FACTORS", [repr(x) for x in interface.state_factors])
    lines += _table_lines("double", "START_MEMORY", [repr(x) for x in interface.start_memory])
    lines += _table_lines("double", "MEMORY_FACTORS", [repr(x) for x in interface.memory_factors])
    periods = [-1.0 if m.period is None else m.period for m in description.memory]
    lines += _table_lines("double", "MEMORY_PERIODS", [repr(x) for x in periods])
    lines += _table_lines("int", "INPUTS", [str(int(m.input)) for m in description.memory])
    lines += _table_lines("char *const", "STATE_NAMES", [string_literal(s.name) for s in interface.described])
    if not interface.source.changing:
        lines += _table_lines(
            "event_description", "EVENTS", _events(interface, interface.source), empty=_NO_EVENT
        )
        return "\n".join(lines) + "\n"
    room = max(len(own) for own in interface.places)
    lines[1] = f'#include "variables.h"\n#include "{interface.source.stem}_changes.h"'
    for c, one in enumerate(sources):
        own = _events(interface, one)
        own += [_NO_EVENT] * (len(interface.events) - len(own))
        lines += _table_lines("event_description", f"EVENTS_{c}", own, empty=_NO_EVENT, before="static ")
    names = ", ".join(f"EVENTS_{c}" for c in range(len(sources)))
    lines.append(f"const event_description *const EVENTS_OF[] = {{{names}}};")
    places = [", ".join(map(str, [*own, *[-1] * (room - len(own))])) for own in interface.places]
    lines.append(f"const int STATE_PLACES[][N_PACKED] = {{{', '.join('{' + p + '}' for p in places)}}};")
    lines.append("const configuration_functions FUNCTIONS[] = {")
    lines += [f"    {{{', '.join(_function_names(one, adjoint))}}}," for one in sources]
    return "\n".join([*lines, "};", ""])


def _function_macros(stem: str, adjoint: bool) -> str:
    names = (*_ORDINARY, "normalise", "directional", *(("adjoint",) if adjoint else ()))
    return "\n".join(f"#define model_{name} {stem}_{name}" for name in ("precompute", *names))


def _function_names(source: Source, adjoint: bool) -> list[str]:
    """Return a configuration's functions in the order of `configuration_functions` in C; 0 if missing."""
    has = {**has_function(source.program), "derivatives": True, "outputs": True, "adjoint": adjoint}
    names = (*_ORDINARY, "leave", "motion_rates", "normalise", "directional", "adjoint")
    return [f"{source.stem}_{name}" if has.get(name, True) else "0" for name in names]


def _events(interface: Interface, source: Source) -> list[str]:
    """Return the events of a configuration; clocks have the same event numbers in all configurations."""
    return [
        f"{{{string_literal(e.name)}, {e.direction}, {int(e.stop)}, {int(e.guard)}, "
        f"{interface.clocks[k].place if k in interface.clocks else -1}, "
        f"{repr(interface.clocks[k].period) if k in interface.clocks else '0.0'}}}"
        for k, e in enumerate(source.description.events)
    ]


def _table_lines(kind: str, name: str, items: Sequence[str], empty: str = "0", before: str = "") -> list[str]:
    """Return a table in C with one string per line; a table without items gets the entry ``empty``."""
    items = items or [empty]
    kind = f"{before}const {kind}"
    if any('"' in item for item in items):
        return [f"{kind} {name}[] = {{", *(f"    {item}," for item in items), "};"]
    return wrap_statement(f"{kind} {name}[] = {{{', '.join(items)}}};", WIDTH, "", "    ")


def _beyond(equations: DerivedEquations) -> int:
    """Return the number of quantities in a motion that are not states of an FMU: speeds that events set."""
    system = equations.system
    return len(speed_settings(system)) + (len(system.speeds) if adjustable(system) else 0)
