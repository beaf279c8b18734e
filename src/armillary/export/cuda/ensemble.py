"""CUDA for ensembles: the kernel that makes many runs with fixed steps, one per thread.

Enters: a program, the parameters that differ between runs, the number of a method's stages, and the outputs
to keep. Leaves: one text that NVRTC takes, and the places of the numbers in its constant memory.

Registers decide the speed: a thread holds the state, one stage, the sum of the stages, and what an evaluation
needs at a time. Constants that all runs share lie in constant memory, from where an operand of a
multiplication costs nothing; each run computes and keeps its own constants, in double precision.
Events are not handled: their functions guard the program, and a run whose signs change is left to others.
Single precision carries along what rounding takes from the state: it is the sum of a base, which is renewed
every few steps, and a rest, to which steps are added. Measured on an H200: errors after 1000 steps of four
models are 6 to 100 times smaller. With a base renewed in every step that took 3 % of the time; now the arm is
1 to 3 % faster, the spinning boom 8 and the car 11.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from armillary.algebra.block_functions import is_block
from armillary.export.c.text import comment, counts
from armillary.export.cuda.sections import SectionWriter, in_double, inline_functions
from armillary.export.cuda.teams import MOST_ROOM, Team, best_team
from armillary.export.text.files import fill, template
from armillary.program.program import Program
from armillary.runtime.loop.thresholds import CHOICE_MARGIN
from armillary.version import VERSION

# Sines by increments within a step of fixed size: text of the derivatives that takes them from those of the
# first stage (increments.txt), 12 operations in place of 19.
#
# A warp one of whose angles changes by more than 1/64 in a step takes this step again, and all further
# ones, with whole sines, in a second loop: so neither loop holds the other's registers. Whole sines are
# also taken in every fourth step, so that rounding does not add up. Measured on an H200 in double
# precision: arm 8 % and car 10 % faster, 1 % slower where all runs go to the second loop. In single
# precision shorter series do up to 1/16, and whole sines are taken in every step: arm 2 to 4 % and car 7 %
# faster. The card's own sines (``fast``) take fewer operations than increments.

# Angles whose sines are kept: each takes six registers in double precision.
MOST = 6
_ONE = re.compile(r"\bsine_cosine\(")
_FOUR = re.compile(r"\bsines_cosines\(([^;]*)\);")


def near_sines(text: str) -> tuple[str, int]:
    """Compute sines in the function of derivatives by increments from the sines of the first stage.

    Return the text and the number of angles; the text unchanged and 0 if increments do not pay.
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


PRECISIONS = {"double": "double", "single": "float", "fast": "float"}

# Threads of a block, and blocks that a multiprocessor must hold. Measured on an H200 with five models: fewer
# registers than 255 in double and 168 in single precision cost more in spilled values than more threads gain.
BLOCK = 128
BLOCKS = {"double": 2, "float": 3}

# Nodes up to which the stages of a step are written one after another: 2 to 20 % faster, but code that does
# not fit into the instruction cache is slower, and takes four times as long to compile.
_UNROLLED = 900

# Nodes beyond which the pieces of long functions are called, not put in: NVRTC would take minutes.
_APART = 6000


@dataclass(frozen=True)
class MetricsCode:
    """The update of metrics at a row, as C: ``text`` reads ``out``, ``t`` and ``slot``. The thread holds the
    slots at these places, others it finds in memory.
    """

    text: str = ""
    places: tuple[int, ...] = ()


NO_METRICS = MetricsCode()


@dataclass(frozen=True)
class Kernel:
    """The text of a kernel, and what its constant memory holds.

    For each program in it, ``shared`` are the places in ``program.constants`` of the constants that all runs
    share, and ``given`` the places of the parameters from which a run's own constants come. ``varied`` are
    the places of the parameters that differ.
    """

    text: str
    shared: tuple[tuple[int, ...], ...]
    given: tuple[tuple[int, ...], ...]
    varied: tuple[int, ...]
    threads: int = 1  # that make a run together
    room: int = 0  # bytes of shared memory that a block takes


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

    If event ``choice`` finds the choice of dependent speeds poor at the start, the run is left to others.
    ``threads`` compute a run together; left out, the best number. A block takes at most ``most_room`` bytes
    of shared memory.
    """
    writer = _KernelWriter(program, frozenset(varying))
    return writer.kernel(stages, precision, history, metrics, choice, threads, most_room)


class _KernelWriter(SectionWriter):
    """The kernel of one program."""

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
            threads = 1  # whose functions the threads of a team cannot share
        team = best_team(self, real, resident) if threads is None else Team.of(self, threads)
        room = team.room(real, BLOCK, BLOCKS[real], most_room)
        if team.threads > 1:
            rates = team.function()
        short = len(program.derivatives.nodes) <= _UNROLLED
        angles = 0
        if short and stages > 1 and precision != "fast" and team.threads == 1:
            rates, angles = near_sines(rates)
        # More registers, fewer operations.
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
            "remains": ", remains[HELD]" if real == "float" and not based else "",
        }
        features = {
            "based": based,
            "team": team.threads > 1,
            "alone": team.threads == 1,
            "room": bool(room),
            "near": bool(angles),
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
    """Return a kernel of some programs: what all kernels begin with, these functions, and a template of the
    rest.
    """
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
    """Return the use of rows in a kernel: the columns that are kept, the metrics, and where their
    slots lie.
    """
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
    """Return the functions that others call, and all others, for the device. Constants of runs are computed
    in double precision whatever the runs are in; functions are overloaded.
    """
    texts = (constants, functions) if real == "float" else ("", constants + functions)
    doubled, helping = (writer.helpers(text) for text in texts)
    return (
        in_double(inline_functions(doubled)) + inline_functions(helping) + writer.contacts(),
        "\n".join([in_double(inline_functions(constants)), inline_functions(functions)]),
    )


def _indent_lines(indent: int, lines: Sequence[str]) -> str:
    return "\n".join(" " * indent + line for line in lines)
