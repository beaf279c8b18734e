"""The described solver (runtime/solver) as a kernel that makes many runs, one per thread, from a queue.

Enters: the programs of a system's configurations, the method and the features of the runs. Leaves: one text
that NVRTC takes. A thread's record of its run is in local memory, which a card interleaves over the threads
by itself; sections of the program are functions of their own, chosen by the number of the configuration.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from armillary.export.c.printer import CSolverPrinter
from armillary.export.cuda.ensemble import (
    NO_METRICS,
    PRECISIONS,
    Kernel,
    MetricsCode,
    row_texts,
    written_kernel,
)
from armillary.export.cuda.sections import SectionWriter, on_device
from armillary.export.text.configurations import ChangeTables, has_function, tables_of
from armillary.export.text.printer import wrap_statement
from armillary.program.equations import DerivedEquations
from armillary.program.program import Program
from armillary.runtime.integrators.records import Method
from armillary.runtime.language.fields import Field
from armillary.runtime.language.translator import Solver, in_single, read_solver
from armillary.runtime.models.run_changes import configuration_numbers


@dataclass(frozen=True)
class Configured:
    """A configuration: its equations, and its program with the outputs of the runs; of each event whether the
    loop returns there, and whether the run ends there for the user.
    """

    equations: DerivedEquations
    program: Program
    stops: Sequence[bool]
    ends: Sequence[bool]


@dataclass(frozen=True)
class Features:
    """Parts of the solver that runs need in addition to their program's."""

    method: Method
    dense: bool  # values inside steps
    jumps: bool  # of inputs over time


def solver_kernel(
    configured: Sequence[Configured],
    features: Features,
    varying: Sequence[str],
    precision: str = "double",
    history: Sequence[int] = (),
    metrics: MetricsCode = NO_METRICS,
) -> Kernel:
    """Return the kernel for runs that differ in the parameters ``varying``; the columns ``history``
    are kept.
    """
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
    solver = _needed_solver([w.program for w in writers], features)
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


def _needed_solver(programs: Sequence[Program], features: Features) -> Solver:
    """Return the functions of the solver that runs need."""
    method, adaptive = features.method, features.method.adaptive
    needed = {name for program in programs for name, there in has_function(program).items() if there}
    has = {
        "EVENTS": "events" in needed, "UPDATE": "update" in needed, "NORMALISE": "normalise" in needed,
        "JUMPS": features.jumps, "ADAPTIVE": adaptive, "LANDING_EVENTS": True,
        **dict.fromkeys(("CONFIGURATIONS", "LOCKING_EVENTS", "SETTINGS"), len(programs) > 1),
        **dict.fromkeys(("CHOICES", "RATED"), len(programs) > 1),
        "ADJUSTING": len(programs) > 1 and "adjust" in needed,
    }  # fmt: skip
    facts = {
        "dense": features.dense, "adaptive": adaptive, "JUMP_HARD": True, "every_step": False,
        "end_enters_error": method.coefficients.end_enters_error,
        "has_two_errors": len(method.coefficients.errors) > 1,
    }  # fmt: skip
    present = [name for name, there in has.items() if there]
    return read_solver(present, [method], ("start_run", "turn"), facts=facts, given=("next_due",))


class _KernelPrinter(CSolverPrinter):
    """The solver's functions in C, with sections that are chosen by configuration."""

    def __init__(self, solver: Solver, stem: str) -> None:
        super().__init__(solver, stem)
        tables = {name: f"T_{name}" for name in _TABLES}
        self.names = {**self.names, **tables, "JUMP_TIME": "every.jumps"}

    def of_present(self, name: str, index: ast.expr) -> str:
        widths = {"LOCKED": "LOCKABLE", "SETTING_ACTS": "SETTINGS", "STATE_SIZE": "OWN_MOTION"}
        table, width = "LOCKED_IN" if name == "LOCKED" else name, widths.get(name, "EVENTS_ROOM")
        return f"T_{table}[run->configuration * MODEL_{width} + {self.expression(index, 6)}]"

    def report_change(self) -> list[str]:
        return []

    def fields(self) -> Sequence[Field]:
        """Fields that the solver's functions do not decide while they are printed."""
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
    """Functions that are called, not put in where they are needed: for a fall that ends at an event, by
    dop853, nvcc took 6.7 s without that and 1.1 s with it.
    """
    return code.replace("DEVICE static ", "DEVICE static CALLED ")


def _size_lines(program: Program, changes: ChangeTables | None) -> str:
    """Lengths of arrays, by the names of export/c/solver.py."""
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


_TABLES = (
    *("DIRECTION", "STOPS", "LANDS", "ROLE", "LOCKED_IN", "LOCKS", "UNLOCKS", "STRIKES", "CHOICE_EVENT"),
    *("RANK_EVENT", "GROUP_SIZE", "MEMBER", "SETS", "MOVES", "SETTING_EVENT", "SETTING_SPEED"),
    *("SETTING_ACTS", "STATE_SIZE"),
)


def _constant_tables(one: Configured, changes: ChangeTables | None) -> str:
    """Numbers that the solver reads, in constant memory."""
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


_OF_CHANGES = ("leave", "enter", "impulse", "adjust", "ratings")


def _sections(writers: Sequence[SectionWriter]) -> str:
    """Return a function for each section, of the run and of what the solver gives."""
    found = [{"derivatives": True, "outputs": True, **has_function(w.program)} for w in writers]
    needed = _OF_CHANGES if len(writers) > 1 else ()
    names = [n for n in found[0] if n in needed or (n not in _OF_CHANGES and any(one[n] for one in found))]
    having = {n: [w for w, one in zip(writers, found, strict=True) if one[n]] for n in names}
    return "\n".join(_section_switch(name, having[name], writers) for name in names)


def _section_switch(name: str, having: Sequence[SectionWriter], writers: Sequence[SectionWriter]) -> str:
    given = _GIVEN.get(name, "t, state, {0}, run->memory, out")
    calls = [f"{w.stem}_{name}({given.format(f'run->constants + {w.first_own}')});" for w in having]
    counted = ["    run->evaluations++;"] if name == "derivatives" else []
    kind = "" if name == "derivatives" else "const "
    arguments = _ARGUMENTS.get(name, _STATE)
    lines = [f"    {call}" for call in calls]
    if len(writers) > 1:
        cases = [f"    case {writers.index(w)}: {call} break;" for w, call in zip(having, calls, strict=True)]
        chosen = "c" if arguments.startswith("int c") else "run->configuration"
        lines = [f"    switch ({chosen}) {{", *cases, "    default: break;", "    }"]
    head = f"DEVICE static CALLED void at_{name}({kind}model_run *run, {arguments})"
    return "\n".join([head, "{", *counted, *lines, "}", ""])


def _own_constants(writers: Sequence[SectionWriter], real: str) -> str:
    """Constants of a run, computed in double precision."""
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
