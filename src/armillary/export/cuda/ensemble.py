"""CUDA for ensembles: the kernel that makes many runs with fixed steps, one per thread.

Enters: a program, the parameters that differ between runs, the number of a method's stages, and what is kept
of the outputs. Leaves: one text that NVRTC takes, and the places of the numbers that its constant memory
wants.

Registers decide the speed: a thread holds the state, one stage, the sum of the stages, and what an evaluation
needs at a time. Constants that are the same in all runs lie in constant memory, from where an operand of a
multiplication costs nothing; those that differ are computed by each run, in double precision, and kept by it.
Events are not handled: their functions guard the program, and a run whose signs change is left to others.
Single precision carries along what rounding takes from the state. Measured on an H200: errors after 1000
steps of four models are 6 to 100 times smaller, for 3 % of the time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from armillary.algebra.expression import Expr
from armillary.algebra.walk import symbols
from armillary.export.c.model import CLOSING, INPUTS, RESULT
from armillary.export.c.printer import CPrinter, helpers, lookup_function
from armillary.export.c.text import Signature, comment, counts, function
from armillary.export.cuda import on_device
from armillary.export.text.body import Place, body
from armillary.export.text.names import Namer
from armillary.export.text.source import ARGUMENTS
from armillary.export.text.template import fill, template
from armillary.program.program import Program, Section, section
from armillary.version import VERSION

# The arguments of a function that changes the state.
STATE_INPUTS = INPUTS.replace("const double *restrict state", "double *restrict state", 1)

PRECISIONS = {"double": "double", "single": "float", "fast": "float"}

# Threads of a block, and blocks that a multiprocessor must hold. Measured on an H200 with five models: fewer
# registers than 255 in double and 168 in single precision cost more in spilled values than more threads gain.
BLOCK = 128
BLOCKS = {"double": 2, "float": 3}

# Nodes up to which the stages of a step are written one after another: 2 to 20 % faster, but code that does
# not fit into the instruction cache is slower, and takes four times as long to compile.
_UNROLLED = 900

_CONSTANT_BYTES = 60_000

# Nodes beyond which the pieces of long functions are called, not put in: NVRTC would take minutes.
_APART = 6000

_RESERVED = (
    *("shared", "given", "turn", "reciprocal", "sine", "cosine", "sine_cosine", "sines_cosines", "method"),
    *("STATES", "MEMORY", "OUTPUTS", "STAGES", "SLOTS", "OWN", "RUNNING", "FINISHED", "DIVERGED", "LEFT"),
    *("runs", "step", "varied", "count", "data", "signal_at", "DRIVEN", "CONSTANT"),
    *("DEVICE", "APART", "UNROLL", "ROLLED", "FAST"),
    *(f"{name}_{k}" for name in ("sines", "cosines") for k in range(1, 33)),
)  # fmt: skip


@dataclass(frozen=True)
class MetricsCode:
    """What metrics do at a row, as C: ``text`` reads ``out``, ``t`` and ``slot``. The thread holds the slots
    at these places, others it finds in memory.
    """

    text: str = ""
    places: tuple[int, ...] = ()


@dataclass(frozen=True)
class Kernel:
    """The text of a kernel, and what its constant memory holds.

    ``shared`` are the places in ``program.constants`` of what is the same in all runs, ``given`` those of the
    parameters from which a run's own constants come, and ``varied`` those of the parameters that differ.
    """

    text: str
    shared: tuple[int, ...]
    given: tuple[int, ...]
    varied: tuple[int, ...]


class _Printer(CPrinter):
    """C with the functions of arithmetic.txt."""

    functions = {**CPrinter.functions, "sin": "sine", "cos": "cosine"}  # noqa: RUF012

    def quotient(self, above: str, below: Sequence[str]) -> str:
        inverse = f"reciprocal({'*'.join(below)})"
        return inverse if above == self.literal(1.0) else f"{above}*{inverse}"


def kernel(
    program: Program,
    varying: Sequence[str],
    stages: int,
    precision: str = "double",
    history: Sequence[int] = (),
    metrics: MetricsCode = MetricsCode(),  # noqa: B008
) -> Kernel:
    """The kernel for runs that differ in the parameters ``varying``; the columns ``history`` are kept."""
    return _Writer(program, frozenset(varying)).kernel(stages, precision, history, metrics)


def cpu_header() -> str:
    """cpu.h for this kernel: what plain C++ compilers need beside it."""
    return template(__package__, "cpu.h.txt") + template(__package__, "ensemble_cpu.h.txt")


class _Writer:
    def __init__(self, program: Program, varying: frozenset[str]) -> None:
        self.program, self.printer = program, _Printer()
        names = [p.data.name for p in program.parameters]
        self.varied = tuple(i for i, name in enumerate(names) if name in varying)
        wanted = (
            program.derivatives, program.outputs, program.update, program.events, program.normalise,
            program.correct,
        )  # fmt: skip
        used = symbols(*[result for one in wanted for result in one.results], *program.correction_sizes)
        results = program.precompute.results
        own = [any(s.data.name in varying for s in symbols(r)) for r in results]
        places = [i for i, constant in enumerate(program.constants) if constant in used]
        self.own = [i for i in places if own[i]]
        self.shared = tuple(i for i in places if not own[i])
        entering = symbols(*[results[i] for i in self.own])
        self.given = tuple(
            i for i, p in enumerate(program.parameters) if p in entering and i not in self.varied
        )
        self._names()

    def _names(self) -> None:
        """What symbols are called, and where they stand."""
        program, printer = self.program, self.printer
        tables = (f"table_{k + 1}" for k in range(_tables(program)))
        self.namer = Namer({*printer.keywords, *ARGUMENTS, *_RESERVED, *printer.functions.values(), *tables})
        self.identifiers: dict[Expr, str] = {program.time: "t"}
        for s in dict.fromkeys((*program.parameters, *program.state, *program.memory, *program.constants)):
            self.identifiers[s] = self.namer.fresh(s.data.name)
        self.places: dict[Expr, Place] = {program.time: ("", 0)}
        self.places |= {s: ("state", i) for i, s in enumerate(program.state)}
        self.places |= {s: ("memory", i) for i, s in enumerate(program.memory)}
        self.places |= {program.constants[i]: ("shared", k) for k, i in enumerate(self.shared)}
        self.places |= {program.constants[i]: ("constants", k) for k, i in enumerate(self.own)}
        self.parameters: dict[Expr, Place] = {
            program.parameters[i]: ("given", k) for k, i in enumerate(self.given)
        }
        self.parameters |= {program.parameters[i]: ("varied", k) for k, i in enumerate(self.varied)}

    # ---------------------------------------------------------------- the text

    def kernel(self, stages: int, precision: str, history: Sequence[int], metrics: MetricsCode) -> Kernel:
        program, real = self.program, PRECISIONS[precision]
        functions = "\n".join([*self.ordinary(), *self.normalise()])
        own = self.precompute()
        # Constants are computed in double precision whatever the runs are in; functions are overloaded.
        texts = (own, functions) if real == "float" else ("", own + functions)
        doubled, helping = (self.helpers(text) for text in texts)
        shown = "renewed" if program.update.results else "stored"
        values = {
            "title": comment(program.name),
            "version": VERSION,
            "cost": counts(program.derivatives.operations),
            "constants_text": f"{len(self.shared)} constants of all runs, {len(self.own)} of each",
            "real": real,
            "states": str(len(program.state)),
            "memory": str(len(program.memory)),
            "outputs": str(len(program.outputs.results)),
            "events": str(len(program.events.results)),
            "stages": str(stages),
            "slots": str(len(metrics.places)),
            "own": str(len(self.own)),
            "shared_space": "CONSTANT" if self._fits_constant_memory() else "__device__",
            "shared_room": str(max(1, len(self.shared))),
            "given_room": str(max(1, len(self.given))),
            "arithmetic": template(__package__, "arithmetic.txt"),
            "fast": "#define FAST\n" if precision == "fast" else "",
            "apart": "__noinline__" if len(program.derivatives.nodes) > _APART else "__forceinline__",
            "signals": template(__package__, "signals.txt"),
            "helpers": _in_double(_placed(doubled)) + _placed(helping),
            "functions": "\n".join([_in_double(_placed(own)), _placed(functions)]),
            "block": str(BLOCK),
            "blocks": str(BLOCKS[real]),
            "shown_memory": shown,
            "kept": str(len(history)),
            "keeping": _lines(16, [f"row[{k} * count] = out[{column}];" for k, column in enumerate(history)]),
            "metrics": metrics.text,
            "slots_taken": _lines(
                4, [f"slot[{k}] = slots[{i} * count + run];" for k, i in enumerate(metrics.places)]
            ),
            "slots_given": _lines(
                4, [f"slots[{i} * count + run] = slot[{k}];" for k, i in enumerate(metrics.places)]
            ),
            "next_start": "rest[i]" if real == "float" else "y[i]",
            "stage_loop": "UNROLL" if len(program.derivatives.nodes) <= _UNROLLED else "ROLLED",
        }
        features = {
            "single": real == "float",
            "driven": bool(program.driven),
            "own": bool(self.own),
            "slots": bool(metrics.places),
            "update": bool(program.update.results),
            "outputs": bool(history or metrics.text),
            "history": bool(history),
            "looks": bool(metrics.text),
            "normalise": bool(program.quaternions or program.corrected),
            "watched": bool(program.events.results),
        }
        has = {name for name, present in features.items() if present}
        text = fill(template(__package__, "ensemble.cu.txt"), values, has)
        return Kernel(text, self.shared, self.given, self.varied)

    def _fits_constant_memory(self) -> bool:
        """Whether the card's 64 KiB of it are enough; what does not fit is read through caches."""
        return 8 * (len(self.shared) + len(self.given)) < _CONSTANT_BYTES

    def helpers(self, text: str) -> str:
        """The functions that a text calls."""
        tables = [
            lookup_function(name, table, self.printer) + "\n"
            for table, name in self.printer.tables.items()
            if f"{name}(" in text
        ]
        return "\n".join(part for part in (helpers(text), *tables) if part)

    def precompute(self) -> str:
        """Constants of one run from its parameters; neighbours of a run are neighbours in memory."""
        if not self.own:
            return ""
        program = self.program
        labels = [program.constants[i].data.name for i in self.own]
        found = section(
            "precompute", labels, [program.precompute.results[i] for i in self.own], constant=True
        )
        arguments = "const double *restrict varied, long long count, double *restrict out"
        text = self.function(
            found,
            "precompute",
            "Constants of a run",
            arguments,
            _places("out", len(self.own)),
            self.parameters,
        )
        return re.sub(r"\bvaried\[(\d+)\]", r"varied[\1 * count]", text)

    def ordinary(self) -> list[str]:
        """Functions of time, state, constants and memory."""
        program = self.program
        wanted = [
            (program.derivatives, "Rates of the state"),
            (program.outputs, "Outputs, in their units"),
            (program.update, "Memory with which a step begins"),
            (program.events, "Functions that guard this program"),
        ]
        arguments = f"{INPUTS}, {RESULT}"
        return [
            self.function(one, one.name, about, arguments, _places("out", len(one.results)))
            for one, about in wanted
            if one.results
        ]

    def normalise(self) -> list[str]:
        """Euler parameters of unit length, and loops closed."""
        program, texts = self.program, []
        if program.quaternions:
            places = [f"state[{q + i}]" for q in program.quaternions for i in range(4)]
            about = "Euler parameters divided by their length"
            texts.append(self.function(program.normalise, "unit_length", about, STATE_INPUTS, places))
        if program.corrected:
            places = _places("out", len(program.corrected))
            about = "Dependent coordinates after one step of Newton's method towards closed loops"
            texts.append(self.function(program.correct, "correct", about, f"{INPUTS}, {RESULT}", places))
        if texts:
            values = {
                "name": "model",
                "places": ", ".join(map(str, program.corrected)) or "0",
                "count": str(len(program.corrected)),
                "sizes": ", ".join(map(self._size, program.correction_sizes)),
                **CLOSING,
            }
            has = {
                name
                for name, present in (("corrected", program.corrected), ("quaternions", program.quaternions))
                if present
            }
            texts.append(fill(template("armillary.export.c", "normalise.c.txt"), values, has))
        return texts

    def _size(self, size: Expr) -> str:
        """A size, a number or a constant, where it is used."""
        if size.kind == "number":
            return repr(float(size.data))
        array, place = self.places[size]
        return f"{array}[{place}]"

    def function(
        self,
        found: Section,
        name: str,
        about: str,
        arguments: str,
        targets: Sequence[str],
        places: dict[Expr, Place] | None = None,
    ) -> str:
        made = body(found, self.printer, places or self.places, self.identifiers, self.namer)
        if found.name == "update":  # it keeps the number of an input's data
            kept = zip(found.results, made.results, strict=True)
            made = replace(made, results=tuple(self._kept.get(symbol, text) for symbol, text in kept))
        signature = Signature(f"model_{name}", arguments, targets)
        text = function(signature, f"{about}: {counts(found.operations)}.", made)
        for place in self._kept.values():
            text = re.sub(rf"(const \w+ \w+ = ){re.escape(place)};", rf"\1signal_at(t, {place});", text)
        return text

    @cached_property
    def _kept(self) -> dict[Expr, str]:
        """Inputs over time, and where their memory has the number of their data."""
        return {s: f"memory[{self.program.memory.index(s)}]" for s in self.program.driven}


def _places(array: str, count: int) -> list[str]:
    return [f"{array}[{i}]" for i in range(count)]


def _placed(code: str) -> str:
    """C text for the device, its functions put in where they are called."""
    return on_device(code).replace("DEVICE static inline", "DEVICE static __forceinline__")


def _in_double(code: str) -> str:
    """Text for the device in double precision, whatever ``real`` is."""
    return re.sub(r"\breal\b", "double", code)


def _lines(indent: int, lines: Sequence[str]) -> str:
    return "\n".join(" " * indent + line for line in lines)


def _tables(program: Program) -> int:
    """How many lookup tables a program calls."""
    calls = (node.data for one in program.sections() for node in one.nodes if node.kind == "call")
    return len({table for table in calls if hasattr(table, "breaks")})
