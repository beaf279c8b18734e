"""The cost of a step of an embedded program: operations counted exactly, and instructions by QEMU."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Collection, Iterable, Mapping, Sequence
from math import ceil, log2
from pathlib import Path
from typing import Protocol

from armillary.errors import ArmillaryError
from armillary.export.c.printer import counts
from armillary.export.text.source import Source
from armillary.mechanics.constraints.closing_thresholds import MOST_SWEEPS
from armillary.program.passes.graph import Operations
from armillary.program.program import Program
from armillary.solver.methods.tableau import Method, Rosenbrock
from armillary.solver.tables import NESTS, STAGES
from armillary.solver.thresholds import LOOKS


class CountedModel(Protocol):
    """A model in some language, for which operations are counted."""

    source: Source
    precision: str

    @property
    def has(self) -> Collection[str]: ...


def step_table(model: CountedModel, method: Method, attempts: int) -> str:
    """Return rows of a Markdown table: operations of a usual step, of the longest step, and of rarer tasks.

    These tasks are the location of events, a step across a singular configuration, and a change of
    configuration.

    If there are several configurations, each number is the largest among them.
    """
    programs = [one.program for one in (model.source, *model.source.others)]
    changing, watched = model.source.changing, model.source.changing and "choices" in model.has
    looks = [look_ahead_operations(p) if watched else Operations() for p in programs]

    def most(found: Iterable[Operations]) -> Operations:
        return Operations(*(max(counts) for counts in zip(*map(_operation_counts, found), strict=True)))

    rows = [("a step", most(step_operations(p, model.has, method, 1) for p in programs))]
    longest = most(
        step_operations(p, model.has, method, attempts) + look
        for p, look in zip(programs, looks, strict=True)
    )
    if any(p.corrected for p in programs):
        rows.append(("a step, at most", longest))
    if any(p.events.results for p in programs):
        located = most(event_operations(p, model.precision, attempts) for p in programs)
        rows.append(("locating the events of a step, at most", located))
    if "passing" in model.has:
        every = (model.source, *model.source.others)
        across = most(across_operations(one, attempts) for one in every)
        rows.append(("a step across a singular configuration, at most", across))
    if changing:
        rows.append(("a change of configuration, at most", change_operations(programs)))
    return "\n".join(f"| {what} | {counts(found)} |" for what, found in rows)


def step_operations(program: Program, has: Collection[str], method: Method, attempts: int) -> Operations:
    """Return the operations of a step in which no event happens; ``attempts`` corrections close its loops."""
    t, n = method.coefficients, len(program.state)
    evaluations = t.stages
    if isinstance(t, Rosenbrock):
        evaluations = sum(any(row) for row in t.a) + 1
    # With events, the derivative at the end of a step is computed, too. It is kept for the next step, unless
    # inputs change.
    if program.events.results:
        evaluations += "inputs" in has
    rows = [*t.a[1:], t.b, *(t.couplings if isinstance(t, Rosenbrock) else ())]
    terms = [sum(1 for weight in row if weight) for row in rows]
    scaled = [sum(1 for weight in row if weight and abs(weight) != 1) for row in rows]
    stages = Operations(n * sum(terms), n * (sum(scaled) + len(rows)))
    finite = Operations(n, n)
    total = program.derivatives.operations * evaluations + stages + finite
    total += normalisation_operations(program, attempts)
    if isinstance(t, Rosenbrock):
        total += implicit_operations(program, t.stages)
    if program.events.results:
        total += program.events.operations
    return total + program.update.operations


def implicit_operations(program: Program, stages: int) -> Operations:
    """Return the operations of partial derivatives, of factors, and of a solution for each stage.

    Dense equations are counted with all states, although the solver leaves out states whose rates are
    multiples of other rates.
    """
    found, n = program.structure, len(program.state)
    if program.partial_rates:
        partial = program.partial_rates[0].operations
    else:
        partial = program.derivatives.operations * (n + 1) + Operations(n * n, 0, n * n, n)
    if found is None:
        factors = Operations(n**3 // 3 + n * n, n**3 // 3 + n * n, 2 * n)
        solution = Operations(n * n, n * n, n)
    else:
        m, elements = found.unknowns, len(found.column)
        factors = Operations(found.operations + len(found.entry_column), found.operations, 2 * m)
        solution = Operations(elements, elements + m)
    return partial + factors + solution * stages


def normalisation_operations(program: Program, attempts: int) -> Operations:
    """Return the operations of corrections after a step: Euler parameters, drift of contacts, loops."""
    units = program.normalise.operations if program.renewed else Operations()
    if not program.corrected:
        return units
    count = len(program.corrected)
    once = program.correct.operations + Operations(additions=count, divisions=count) + units
    return once * attempts


def event_operations(program: Program, precision: str, attempts: int) -> Operations:
    """Return the operations for locating events inside a step.

    For each event, at least every third iteration is a bisection, down to the last digits of the time. In the
    step that follows an event, a search comes first whose times from the start of the step double each time.
    """
    bits = 24 if precision == "single" else 53
    events, n = len(program.events.results), len(program.state)
    turns = 3 * ceil(log2(2.0 ** (bits - 1))) + 2
    normalisation = normalisation_operations(program, attempts)
    inside = Operations(4 * n, 3 * n) + normalisation + program.events.operations
    return inside * (events * turns + 2 * bits)


def look_ahead_operations(program: Program) -> Operations:
    """Return the operations of checks of the rank of constraints, at three later times and at the present."""
    return program.derivatives.operations * 8 + program.events.operations * 7


def across_operations(made: Source, attempts: int) -> Operations:
    """Return the operations of a step across a singular configuration.

    The step has stages with loop closing, an error estimate, dense output and event functions. Before the
    step, the smallest singular value of the constraint Jacobian J is computed twice, by rotations of pairs of
    rows.
    """
    program, n = made.program, len(made.program.state)
    closing, layout = normalisation_operations(program, attempts), made.equations.reduction.layout
    rows, speeds = (layout.rows, layout.speeds) if layout is not None else (0, 0)
    sums = n * (STAGES * (STAGES + 1) // 2 + (2 + NESTS) * STAGES + 12)
    total = (program.derivatives.operations + closing) * STAGES + Operations(sums, sums, 3 * n, 2)
    inside = Operations(2 * (NESTS + 3) * n, (NESTS + 3) * n) + closing + program.events.operations
    total += inside * len(LOOKS)
    values = program.geometry.operations + singular_value_operations(rows, speeds)
    return total + values * 2


def singular_value_operations(rows: int, speeds: int, sweeps: int = MOST_SWEEPS) -> Operations:
    """Return the operations for the lengths of J's rows and its least singular value in ``sweeps`` sweeps."""
    turn = Operations(5 * speeds + 6, 7 * speeds + 10, 3, 4)
    elements = rows * speeds
    sized = Operations(3 * elements, 3 * elements + rows, 3 * elements, 2 * rows)
    return sized + turn * (sweeps * rows * (rows - 1) // 2)


def change_operations(programs: Sequence[Program]) -> Operations:
    """Return the operations of a change of configuration (solver/changes.py).

    These are the operations for the motion, two adjustments of speeds, the impulse and the new state. Before
    the impulse and before the new state, a program computes the state in a configuration to check its choice
    of dependent speeds, and computes the ratings of the other choices.
    """

    def most(name: str) -> Operations:
        found = [s.operations for p in programs for s in (*p.changes, p.events) if s.name == name]
        return max(found, key=lambda o: sum(_operation_counts(o)), default=Operations())

    looked = most("enter") + most("events") + most("ratings")
    return most("leave") + most("adjust") * 2 + most("impulse") + looked * 2 + most("enter")


def _operation_counts(operations: Operations) -> tuple[int, int, int, int]:
    o = operations
    return o.additions, o.multiplications, o.divisions, o.functions


# Instructions of an embedded program, counted by QEMU: text for the README, or the command to count.

TARGETS = {
    "arm": ("Cortex-M4F", "arm-none-eabi-gcc", "qemu-system-arm"),
    "riscv": ("RISC-V, 32 bits", "riscv64-unknown-elf-gcc", "qemu-system-riscv32"),
}
_COLUMNS = {
    "flash": "flash, bytes",
    "ram": "RAM of a run, bytes",
    "stack": "stack, bytes",
    "step": "instructions per step",
    "longest": "the longest step",
}


def cost_table(files: Mapping[str, str], wanted: bool | None) -> str:
    """Return a Markdown table of the costs on targets whose tools are installed.

    Without tools, or if ``wanted`` is False, return a text that says how to measure. If ``wanted`` is True,
    raise an error without tools.
    """
    rows = {}
    if wanted is not False:
        rows = {name: found for name in TARGETS if (found := counts_on(name, files))}
    if wanted and not rows:
        tools = " or ".join(f"{compiler} with {emulator}" for _, compiler, emulator in TARGETS.values())
        raise ArmillaryError(
            f"measure=True needs make and {tools}, each compiler with its C library; install them, or leave "
            "measure out and run `make measure-arm` where they are"
        )
    if not rows:
        return (
            "Not measured: `make measure-arm` and `make measure-riscv` need a cross compiler\n"
            "(`arm-none-eabi-gcc`, `riscv64-unknown-elf-gcc`) with its C library, QEMU, and default values\n"
            "from which 200 steps succeed."
        )
    head = f"| | {' | '.join(_COLUMNS.values())} |\n| --- |{' ---: |' * len(_COLUMNS)}"
    lines = [f"| {TARGETS[t][0]} | {' | '.join(str(row[c]) for c in _COLUMNS)} |" for t, row in rows.items()]
    about = "Counted by `make measure-arm` and `make measure-riscv` over 200 steps, without the C library."
    return "\n".join([about, "", head, *lines])


def counts_on(target: str, files: Mapping[str, str]) -> dict[str, int]:
    """Return the numbers of one target by name; empty if a tool is missing or fails."""
    _, compiler, emulator = TARGETS[target]
    if not all(shutil.which(tool) for tool in ("make", compiler, emulator)):
        return {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path, text in files.items():
            place = folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")
        done = subprocess.run(
            ["make", f"measure-{target}"], cwd=folder, capture_output=True, text=True, check=False
        )
    return parse_counts(done.stdout) if done.returncode == 0 else {}


def parse_counts(text: str) -> dict[str, int]:
    """Return the numbers in the output of `make measure-…`: the table of `size`, then lines "word number"."""
    found: dict[str, int] = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) == 2 and words[1].isdigit():
            found[words[0]] = int(words[1])
        elif words[-1:] == ["(TOTALS)"]:
            found["flash"] = int(words[0]) + int(words[1])
    ended = found.get("status", 0) != 0  # the run failed, for example since parameters have no defaults
    return found if set(_COLUMNS) <= set(found) and not ended else {}
