"""CUDA kernels of ensembles: many runs, one per thread, with fixed steps or by the described solver.

Kernel with fixed steps. Enters: a program, the parameters that differ between runs, the number of a method's
stages, and the outputs to keep. Leaves: a text for NVRTC and the indices of the numbers in its constant
memory.

Registers decide the speed: a thread holds the state, one stage, the sum of the stages, and the live values of
an evaluation. Constants that all runs share are in constant memory, from which a multiplication reads an
operand at no cost; each run computes and keeps its own constants, in double precision. Events are not
handled: if the sign of an event function changes, the run is left to other engines. In single precision
rounding errors of the state are compensated: the state is the sum of a base, which is renewed every few
steps, and a rest, to which steps are added. Measured on an H200: errors after 1000 steps of four models are 6
to 100 times smaller. Renewing the base in every step takes 3 % of the time; renewing it every few steps
instead makes the arm 1 to 3 % faster, the spinning boom 8 % and the car 11 %.

Kernel of the described solver (``solver/``), whose threads take runs from a queue. Enters: the programs of a
system's configurations, the method and the features of the runs. Leaves: a text for NVRTC. A thread's
record of its run is in local memory, which the card interleaves over the threads; sections of the program are
functions, chosen by the number of the configuration.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from armillary.algebra.block_functions import is_block
from armillary.export.c.printer import CSolverPrinter, comment, counts
from armillary.export.cuda.device_functions import SectionWriter, in_double, inline_functions, on_device
from armillary.export.cuda.teams import MOST_ROOM, Team, best_team
from armillary.export.text.configurations import SolverTables, has_function, tables_of
from armillary.export.text.files import fill, template
from armillary.export.text.printer import wrap_statement
from armillary.export.text.source import solver_features
from armillary.program.equations import DerivedEquations
from armillary.program.program import Program
from armillary.runtime.models.run_changes import configuration_numbers
from armillary.solver.language.translator import Field, Solver, in_single, read_solver
from armillary.solver.methods.tableau import Method
from armillary.solver.tables import EXPORTED, PRESENT
from armillary.solver.thresholds import CHOICE_MARGIN
from armillary.version import VERSION

# Sines by increments: within a step of fixed size the derivatives compute sines from the sines of the first
# stage (increments.txt), with 12 operations instead of the 19 of a sine from its angle, called a whole sine.
#
# If an angle of a warp changes by more than 1/64 rad in a step, the warp repeats this step and makes all
# further steps with whole sines, in a second loop, so that neither loop holds the other's registers. Whole
# sines are also computed in every fourth step, so that rounding errors do not add up. Measured on an H200 in
# double precision: arm 8 % and car 10 % faster, 1 % slower if all runs go to the second loop. In single
# precision shorter series are enough up to 1/16 rad, and whole sines are computed in every step: arm 2 to 4 %
# and car 7 % faster. In "fast" precision increments are not used: the card's own sines take fewer operations.

# Most angles whose sines are kept: each takes six registers in double precision.
MOST = 6
_ONE = re.compile(r"\bsine_cosine\(")
_FOUR = re.compile(r"\bsines_cosines\(([^;]*)\);")


def near_sines(text: str) -> tuple[str, int]:
    """Replace sines in the function of derivatives by increments from the sines of the first stage.

    Return the text and the number of angles. Return the text unchanged and 0 if there are no angles or more
    than MOST, or if some functions are not inlined.
    """
    calls = len(_ONE.findall(text)) + 4 * len(_FOUR.findall(text))
    if not 0 < calls <= MOST or "APART" in text:
        return text, 0
    places = iter(range(calls))

    def four(call: re.Match[str]) -> str:
        *angles, sines, cosines = (word.strip() for word in call[1].split(","))
        given = enumerate(angles)
        lines = [
            f"sine_cosine(near, how, {next(places)}, {x}, &{sines}[{i}], &{cosines}[{i}]);" for i, x in given
        ]
        return "\n    ".join(lines)

    text = _ONE.sub(lambda _: f"sine_cosine(near, how, {next(places)}, ", text)
    text = _FOUR.sub(four, text)
    return text.replace("double *restrict out)", "double *restrict out, turned *near, int how)", 1), calls


PRECISIONS = {"double": "double", "single": "float", "fast": "float"}  # types of ``real``

# Threads of a block, and blocks that a multiprocessor must be able to hold. Measured on an H200 with five
# models: fewer registers than 255 in double and 168 in single precision cost more by spilled values than more
# threads gain.
BLOCK = 128
BLOCKS = {"double": 2, "float": 3}

# Most nodes for which the stages of a step are unrolled: 2 to 20 % faster, but code that does not fit into
# the instruction cache is slower, and takes four times as long to compile.
_UNROLLED = 900

# Nodes beyond which the pieces of long functions are not inlined: NVRTC would take minutes.
_APART = 6000


@dataclass(frozen=True)
class MetricsCode:
    """The update of metrics at a row of results, as C: ``text`` reads ``out``, ``t`` and ``slot``.

    The thread holds the slots at ``places``; the others are in memory.
    """

    text: str = ""
    places: tuple[int, ...] = ()


NO_METRICS = MetricsCode()


@dataclass(frozen=True)
class Kernel:
    """The text of a kernel, and the contents of its constant memory.

    For each program in it, ``shared`` are the indices in ``program.constants`` of the constants that all runs
    share, and ``given`` the indices of the parameters that a run's own constants need. ``varied`` are the
    indices of the parameters that differ between runs.
    """

    text: str
    shared: tuple[tuple[int, ...], ...]
    given: tuple[tuple[int, ...], ...]
    varied: tuple[int, ...]
    threads: int = 1  # threads per run
    room: int = 0  # bytes of shared memory per block


def kernel(
    program: Program,
    varying: Sequence[str],
    stages: int,
    precision: str = "double",
    history: Sequence[int] = (),
    metrics: MetricsCode = NO_METRICS,
    choice: int | None = None,
    threads: int | None = None,
    most_room: int = MOST_ROOM,
) -> Kernel:
    """Return the kernel for runs that differ in the parameters ``varying``; it keeps the columns ``history``.

    If event ``choice`` finds the choice of dependent speeds poor at the start, the run is left to other
    engines. ``threads`` compute a run together; by default the best number. A block uses at most
    ``most_room`` bytes of shared memory.
    """
    writer = _KernelWriter(program, frozenset(varying))
    return writer.kernel(stages, precision, history, metrics, choice, threads, most_room)


class _KernelWriter(SectionWriter):
    """A writer of the kernel of one program."""

    def kernel(
        self,
        stages: int,
        precision: str,
        history: Sequence[int],
        metrics: MetricsCode,
        choice: int | None,
        threads: int | None,
        most_room: int,
    ) -> Kernel:
        program, real = self.program, PRECISIONS[precision]
        rates, *others = self.ordinary()
        resident = BLOCK * BLOCKS[real]
        if any(is_block(node) for node in program.derivatives.nodes):
            threads = 1  # the threads of a team cannot share block functions
        team = best_team(self, real, resident) if threads is None else Team.of(self, threads)
        room = team.room(real, BLOCK, BLOCKS[real], most_room)
        if team.threads > 1:
            rates = team.function()
        short = len(program.derivatives.nodes) <= _UNROLLED
        angles = 0
        if short and stages > 1 and precision != "fast" and team.threads == 1:
            rates, angles = near_sines(rates)
        # The compensated sum with a base takes more registers and fewer operations.
        based = real == "float" and short and not room and team.threads == 1
        single = {"single"} if real == "float" else set[str]()
        functions = "\n".join([rates, *others, *self.normalise()])
        shown = "renewed" if program.update.results else "stored"
        values = {
            "states": str(len(program.state)),
            "memory": str(len(program.memory)),
            "outputs": str(len(program.outputs.results)),
            "events": str(len(program.events.results)),
            "choice": str(choice),
            "margin": repr(CHOICE_MARGIN),
            "stages": str(stages),
            "shown_memory": shown,
            **row_texts(history, metrics),
            "stage_loop": "UNROLL" if short else "ROLLED",
            "near": fill(template(__package__, "increments.txt"), {"angles": str(angles)}, single),
            "loops": "2" if angles else "1",
            **team.values(bool(room)),
            "held": str(len(team.held)),
        }
        if angles:
            values["more"] = ", &near, how"
        values["rates"] = f"{values['rates']}, " if program.row_rates else ""
        features = {
            "based": based,
            "team": team.threads > 1,
            "alone": team.threads == 1,
            "room": bool(room),
            "near": bool(angles),
            "remains": real == "float" and not based,
            "rated": bool(program.row_rates),
            "own": bool(self.own),
            "slots": bool(metrics.places),
            "update": bool(program.update.results),
            "outputs": bool(history or metrics.text),
            "history": bool(history),
            "looks": bool(metrics.text),
            "normalise": program.normalises,
            "watched": bool(program.events.results),
            "chosen": choice is not None,
        }
        has = single | {name for name, present in features.items() if present}
        made = written_kernel("ensemble.cu.txt", [self], functions, precision, values, has)
        return replace(made, threads=team.threads, room=room)


def written_kernel(
    rest: str,
    writers: Sequence[SectionWriter],
    functions: str,
    precision: str,
    values: Mapping[str, str],
    has: Collection[str],
) -> Kernel:
    """Return a kernel of several programs: the common beginning, ``functions``, and the template ``rest``."""
    first, last, real = writers[0], writers[-1], PRECISIONS[precision]
    program, nodes = first.program, max(len(w.program.derivatives.nodes) for w in writers)
    constants = "\n".join(w.precompute() for w in writers)
    helping, functions = with_constants(first, constants, functions, real)
    common = {
        "title": comment(program.name),
        "version": VERSION,
        "cost": counts(program.derivatives.operations),
        "constants_text": f"{len(first.shared)} constants of all runs, {len(first.own)} of each",
        "real": real,
        "fast": "#define FAST\n" if precision == "fast" else "",
        "apart": "__noinline__" if nodes > _APART else "__forceinline__",
        "own": str(last.first_own + len(last.own)),
        **last.rooms(),
        "arithmetic": template(__package__, "arithmetic.txt"),
        "signals": template(__package__, "signals.txt"),
        "helpers": helping,
        "functions": functions,
        "block": str(BLOCK),
        "blocks": str(BLOCKS[real]),
    }
    text = template(__package__, "kernel.cu.txt") + template(__package__, rest)
    text = fill(text, {**common, **values}, {*has, "driven"} if program.driven else has)
    return Kernel(text, tuple(w.shared for w in writers), tuple(w.given for w in writers), first.varied)


def row_texts(
    history: Sequence[int], metrics: MetricsCode, indents: tuple[int, int] = (4, 4)
) -> dict[str, str]:
    """Return template values for the use of rows of results: kept columns, metrics, and their slots."""
    slots = [(f"slot[{k}]", f"slots[{i} * count + run]") for k, i in enumerate(metrics.places)]
    return {
        "slots": str(len(metrics.places)),
        "kept": str(len(history)),
        "keeping": _indent_lines(
            16, [f"row[{k} * count] = out[{column}];" for k, column in enumerate(history)]
        ),
        "metrics": metrics.text,
        "slots_taken": _indent_lines(indents[0], [f"{own} = {place};" for own, place in slots]),
        "slots_given": _indent_lines(indents[1], [f"{place} = {own};" for own, place in slots]),
    }


def with_constants(writer: SectionWriter, constants: str, functions: str, real: str) -> tuple[str, str]:
    """Return the helper functions, and all other functions, for the device.

    Constants of runs are computed in double precision even if the runs are in single precision; their helper
    functions are overloaded.
    """
    texts = (constants, functions) if real == "float" else ("", constants + functions)
    doubled, helping = (writer.helpers(text) for text in texts)
    return (
        in_double(inline_functions(doubled)) + inline_functions(helping) + writer.contacts(),
        "\n".join([in_double(inline_functions(constants)), inline_functions(functions)]),
    )


def _indent_lines(indent: int, lines: Sequence[str]) -> str:
    return "\n".join(" " * indent + line for line in lines)


@dataclass(frozen=True)
class Configured:
    """A configuration: its equations, and its program with the outputs of the runs.

    For each event ``stops`` says whether the integration loop returns there, ``ends`` whether the run ends.
    """

    equations: DerivedEquations
    program: Program
    stops: Sequence[bool]
    ends: Sequence[bool]


@dataclass(frozen=True)
class Features:
    """Parts of the solver that runs need in addition to the parts that their program needs."""

    method: Method
    dense: bool  # values inside steps are needed
    jumps: bool  # inputs over time can jump


def solver_kernel(
    configured: Sequence[Configured],
    features: Features,
    varying: Sequence[str],
    precision: str = "double",
    history: Sequence[int] = (),
    metrics: MetricsCode = NO_METRICS,
) -> Kernel:
    """Return the kernel of the solver for runs that differ in ``varying``; it keeps columns ``history``."""
    writers: list[SectionWriter] = []
    for c, one in enumerate(configured):
        before = writers[-1] if writers else None
        writers.append(SectionWriter(one.program, frozenset(varying), f"model_{c}", before))
    real, program, changing = PRECISIONS[precision], writers[0].program, len(writers) > 1
    functions = [
        text
        for w in writers
        for text in (*w.ordinary(), *w.fire(), *w.normalise(), *(w.changes() if changing else []))
    ]
    changes = tables_of([one.equations for one in configured]) if changing else None
    solver = _needed_solver([one.equations for one in configured], features)
    solver = in_single(solver) if real == "float" else solver
    printer = _KernelPrinter(solver, "model")
    code = printer.text()
    vectors = [f.name for f in printer.fields() if f.type == "States"]
    values = {
        "methods": f"MODEL_{features.method.name.upper()}, MODEL_METHOD = 0",
        "sizes": _size_lines(program, changes),
        "fields": on_device("\n".join(printer.record())),
        "solver_constants": on_device("\n".join(printer.constants())),
        "tables": _constant_tables(configured[0], changes),
        "sections": on_device(_sections(writers)),
        "solver": _call_functions(on_device(code)),
        "own_constants": _own_constants(writers, real),
        "ended_by": "T_STOPS[own.configuration * MODEL_EVENTS_ROOM + own.failed]"
        if changing
        else "T_ENDS[own.failed]",
        "cleared": " = ".join(f"run->{name}[i]" for name in vectors),
        **row_texts(history, metrics, (12, 8)),
    }
    has = {
        "queue": True,
        "adaptive": features.method.adaptive,
        "events": bool(program.events.results),
        "configurations": changing,
        "history": bool(history),
        "looks": bool(metrics.text),
    }
    present = {name for name, there in has.items() if there}
    return written_kernel("solver.cu.txt", writers, "\n".join(functions), precision, values, present)


def _needed_solver(configurations: Sequence[DerivedEquations], features: Features) -> Solver:
    """Return the functions of the solver that runs need."""
    method, adaptive = features.method, features.method.adaptive
    more = {
        "LANDING_EVENTS": True, "JUMPS": features.jumps, "ADAPTIVE": adaptive,
        **dict.fromkeys(("CONFIGURATIONS", "SETTINGS"), len(configurations) > 1),
    }  # fmt: skip
    present = {name.upper() for name in solver_features(configurations)}
    present |= {name for name, there in more.items() if there}
    facts = {
        "dense": features.dense, "adaptive": adaptive, "JUMP_HARD": True, "every_step": False,
        "end_enters_error": method.coefficients.end_enters_error,
        "has_two_errors": len(method.coefficients.errors) > 1,
    }  # fmt: skip
    return read_solver(present, [method], ("start_run", "turn"), facts=facts, given=("next_due",))


class _KernelPrinter(CSolverPrinter):
    """The solver's functions in C, which choose sections by the configuration."""

    def __init__(self, solver: Solver, stem: str) -> None:
        super().__init__(solver, stem)
        tables = {name: f"T_{name}" for name in EXPORTED}
        self.names = {**self.names, **tables, "JUMP_TIME": "every.jumps"}

    def of_present(self, name: str, index: ast.expr) -> str:
        table, size = PRESENT[name]
        width = "EVENTS_ROOM" if size == "N_EVENTS" else size.removeprefix("N_")
        return f"T_{table}[run->configuration * MODEL_{width} + {self.expression(index, 6)}]"

    def report_change(self) -> list[str]:
        return []

    def fields(self) -> Sequence[Field]:
        """Return the fields of the record, without three that are constants of a kernel."""
        return [f for f in self.solver.fields if f.name not in ("sample", "every_step", "dense")]

    def value_of(self, name: str, call: ast.Call) -> str:
        return "next_due(run)" if name == "next_due" else super().value_of(name, call)

    def report(self, k: str) -> list[str]:
        return []

    def model(self, name: str, targets: Sequence[str], arguments: Sequence[str]) -> list[str]:
        if name == "fire":
            return [
                f"at_fire(run, {', '.join(arguments)}, run->new_memory, run->stage);",
                "copy(MODEL_MEMORY, run->new_memory, run->memory);",
                "copy(N, run->stage, run->state);",
            ]
        out = () if name == "normalise" else (targets[0],)
        return self.lines(f"at_{name}({', '.join(['run', *arguments, *out])});")


def _call_functions(code: str) -> str:
    """Return code whose functions are called, not inlined.

    For a fall that ends at an event, by dop853, nvcc took 6.7 s with inlining and 1.1 s without.
    """
    return code.replace("DEVICE static ", "DEVICE static CALLED ")


def _size_lines(program: Program, changes: SolverTables | None) -> str:
    """Return definitions of lengths of arrays, by the names of export/c/solver.py."""
    sizes = {
        "STATES": len(program.state),
        "MEMORY": len(program.memory),
        "MEMORY_ROOM": max(1, len(program.memory)),
        "OUTPUTS": len(program.outputs.results),
        "OUTPUTS_ROOM": max(1, len(program.outputs.results)),
        "EVENTS": len(program.events.results),
    }
    if changes:
        other = {"N_STATES": "STATES_ROOM", "N_EVENTS": "EVENTS_ROOM", "N_COORDINATES": "PLACES"}
        sizes |= {other.get(name, name.removeprefix("N_")): size for name, size in changes.sizes.items()}
    lines = [f"    MODEL_{name} = {size}" for name, size in sizes.items()]
    lines += [f"    N = MODEL_STATES{'_ROOM' if changes else ''}"]
    lines += ["    OWN_EVENTS = MODEL_OWN_EVENTS"] if changes else []
    return ",\n".join(lines)


def _constant_tables(one: Configured, changes: SolverTables | None) -> str:
    """Return tables that the solver reads, in constant memory."""
    if changes:
        found: dict[str, Sequence[int]] = dict(changes.tables)
    elif one.program.events.results:
        numbers = configuration_numbers(one.equations, ())
        found = {"DIRECTION": numbers["direction"], "LANDS": numbers["lands"]}
        found |= {"STOPS": [*map(int, one.stops)], "ENDS": [*map(int, one.ends)]}
    else:
        found = {}
    texts = [_array_text("int", f"T_{name}", values) for name, values in found.items()]
    reals = changes.reals if changes else {}
    return "\n".join(
        [*texts, *(_array_text("double", f"T_{name}", values) for name, values in reals.items())]
    )


def _array_text(kind: str, name: str, values: Iterable[float]) -> str:
    text = "\n".join(wrap_statement(", ".join(map(str, values)) or "0", 100, "    ", "    "))
    return f"CONSTANT {kind} {name}[] = {{\n{text}}};"


_STATE = "double t, const double *state, double *out"
_ARGUMENTS = {
    "outputs": "double t, const double *state, const double *memory, double *out",
    "fire": "int k, double t, const double *state, double *new_memory, double *new_state",
    "normalise": "double t, double *state",
    "enter": f"int c, {_STATE}",
    "impulse": f"int c, {_STATE}",
    "adjust": f"int c, {_STATE}",
}
_GIVEN = {
    "outputs": "t, state, {0}, memory, out",
    "fire": "k, t, state, {0}, run->memory, new_memory, new_state",
    "normalise": "t, state, {0}, run->memory",
}


# Outputs that read rates use the rates that the run keeps for its next step, if these belong to the shown
# state.
_RATES = """\
    const real *rates = run->k0;
    if (run->phase != SETTLED || run->status != MODEL_RUNNING || t != run->t) {
        at_derivatives(run, t, state, run->stage);
        rates = run->stage;
    }"""

_OF_CHANGES = ("leave", "enter", "impulse", "adjust", "ratings")


def _sections(writers: Sequence[SectionWriter]) -> str:
    """Return a function for each section; its arguments are the run and the solver's arguments."""
    found = [{"derivatives": True, "outputs": True, **has_function(w.program)} for w in writers]
    needed = _OF_CHANGES if len(writers) > 1 else ()
    names = [n for n in found[0] if n in needed or (n not in _OF_CHANGES and any(one[n] for one in found))]
    having = {n: [w for w, one in zip(writers, found, strict=True) if one[n]] for n in names}
    return "\n".join(_section_switch(name, having[name], writers) for name in names)


def _section_switch(name: str, having: Sequence[SectionWriter], writers: Sequence[SectionWriter]) -> str:
    given = _GIVEN.get(name, "t, state, {0}, run->memory, out")
    calls = [f"{w.stem}_{name}({given.format(f'run->constants + {w.first_own}')});" for w in having]
    first = ["    run->evaluations++;"] if name == "derivatives" else []
    if name == "outputs" and any(w.program.row_rates for w in having):
        first = [_RATES]
        calls = [
            call.replace(", out)", ", rates, out)") if w.program.row_rates else call
            for w, call in zip(having, calls, strict=True)
        ]
    kind = "" if first else "const "
    arguments = _ARGUMENTS.get(name, _STATE)
    lines = [f"    {call}" for call in calls]
    if len(writers) > 1:
        cases = [f"    case {writers.index(w)}: {call} break;" for w, call in zip(having, calls, strict=True)]
        chosen = "c" if arguments.startswith("int c") else "run->configuration"
        lines = [f"    switch ({chosen}) {{", *cases, "    default: break;", "    }"]
    head = f"DEVICE static CALLED void at_{name}({kind}model_run *run, {arguments})"
    return "\n".join([head, "{", *first, *lines, "}", ""])


def _own_constants(writers: Sequence[SectionWriter], real: str) -> str:
    """Return statements that compute a run's own constants, in double precision."""
    lines = []
    for w in writers:
        if not w.own:
            continue
        place = f"own.constants + {w.first_own}"
        if real == "double":
            lines.append(f"{w.stem}_precompute(varied + run, count, {place});")
            continue
        lines += [
            "{",
            f"    double found[{len(w.own)}];",
            f"    {w.stem}_precompute(varied + run, count, found);",
            f"    for (int i = 0; i < {len(w.own)}; i++)",
            f"        ({place})[i] = (real)found[i];",
            "}",
        ]
    return "\n".join(" " * 12 + line for line in lines)
