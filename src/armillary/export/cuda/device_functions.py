"""Sections of a program as CUDA functions, for the kernels of ensembles.

Constants that all runs share are in the array ``shared``, a run's own constants in ``constants``; the
parameters from which a run's own constants are computed are in ``given`` and ``varied``. If there are several
programs, one per configuration of a system, each has a part of these arrays.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property

from armillary.algebra.expression import Expr
from armillary.algebra.walk import symbols
from armillary.export.c.model import INPUTS, RENEWED, RESULT, contact_code
from armillary.export.c.printer import (
    COMMENT,
    NUMBER,
    CPrinter,
    Signature,
    counts,
    function,
    helpers,
    lookup_function,
)
from armillary.export.text.body import Namer, Place, closing, section_text
from armillary.export.text.configurations import SINGLE as CONTACTS_IN_SINGLE
from armillary.export.text.configurations import ContactSource, contact_sources
from armillary.export.text.files import fill, template
from armillary.export.text.source import ARGUMENTS, renewal_text, reserved_names
from armillary.program.program import Program, ProgramSection, section
from armillary.solver.language.translator import SINGLE
from armillary.solver.methods.tableau import ChainedStage

# C text converted for a GPU: functions of the device, numbers of the type real.

_HEAD = re.compile(r"^(?:APART )?(static inline |static |)((?:void|int|double|const \w+ \*) ?\w+\()", re.M)


def on_device(code: str, apart: bool = False) -> str:
    """Return C text as device code, in which doubles and literals have the type real.

    ``apart``: functions are called, not inlined. A solver calls the model's functions in many places: with
    inlining, NVRTC took half a minute for a four-bar linkage.
    """
    heads = {"": "DEVICE static inline ", "static ": "DEVICE static "}
    if apart:
        heads = dict.fromkeys(heads, "DEVICE static APART ")

    def head(m: re.Match[str]) -> str:
        called = m[0].startswith("APART ") or m[1] not in heads
        return f"DEVICE {m[0]}" if called else heads[m[1]] + m[2]

    parts = COMMENT.split(code)
    for i in range(0, len(parts), 2):
        text = _HEAD.sub(head, parts[i])
        text = re.sub(r"^static const (?=\w+ \w+\[)", "DEVICE static const ", text, flags=re.M)
        text = re.sub(r"\bdouble\b(?! x, double)", "real", text)
        parts[i] = NUMBER.sub(r"real(\1)", text)
    return "".join(parts)


def in_both_precisions(code: str) -> str:
    """Return C text with thresholds that depend on the precision of the type real."""
    for threshold, single in {**SINGLE, **CONTACTS_IN_SINGLE}.items():
        known = rf"(static const double {threshold.lower()} =) ([^;]+);"
        code = re.sub(known, rf"\1 sizeof(real) == 4 ? {single!r} : \2;", code)
    return code


# The solver of contacts for a GPU is the C program's, in both precisions, without inlining.
#
# Inlined, its functions would be compiled once for each section that calls them.
_SEPARATE = """\
#ifdef __CUDACC__
#define SEPARATE __noinline__
#else
#define SEPARATE
#endif
"""


def chained_step(
    stages: Sequence[ChainedStage],
    derivatives: Callable[[float, str], str],
    times: Callable[[float], str],
    states: str,
    end: str,
) -> str:
    """Return the text of a step from state ``y`` to the vector ``end``, by a method whose stages are a chain.

    In a chain each stage needs only ``y`` and the rate of the stage before, so a thread keeps only one rate
    and one sum. ``derivatives`` returns a call that computes ``rate`` at a fraction of the step for a state;
    ``times`` returns the text of the step times a number.
    """
    lines, state, loop = [], "y", f"for (int i = 0; i < {states}; i++)"
    for s, stage in enumerate(stages):
        lines.append(derivatives(stage.time, state))
        weighted = f"{times(stage.weight)} * rate[i]"
        if s == len(stages) - 1:
            return "\n".join([*lines, "UNROLL", loop, f"    {end}[i] = sum[i] + {weighted};"])
        lines += ["UNROLL", f"{loop} {{", f"    sum[i] {'+=' if s else '= y[i] +'} {weighted};"]
        lines += [f"    stage[i] = y[i] + {times(stage.ahead)} * rate[i];", "}"]
        state = "stage"
    raise AssertionError("a method without stages")


def device_contacts(sources: Sequence[ContactSource], stem: str) -> str:
    """Return the block functions that sections call, and the functions that they need."""
    if not sources:
        return ""
    code = on_device(in_both_precisions(contact_code(sources, stem)))
    return _SEPARATE + re.sub(
        r"^DEVICE static (?=(?:void|int|real) \w+\()", "DEVICE static SEPARATE ", code, flags=re.M
    )


_CONSTANT_BYTES = 60_000  # of a card's 64 KiB of constant memory

_RESERVED = (
    *("shared", "given", "circle", "reciprocal", "sine", "cosine", "sine_cosine", "sines_cosines", "method"),
    *("STATES", "MEMORY", "OUTPUTS", "STAGES", "SLOTS", "OWN", "RUNNING", "FINISHED", "DIVERGED", "LEFT"),
    *("runs", "step", "varied", "count", "data", "signal_at", "DRIVEN", "CONSTANT"),
    *("near", "how", "series", "turned", "keep", "ANGLES", "WHOLE", "SHORT", "NEAR", "WHOLE_EVERY"),
    *("DEVICE", "APART", "UNROLL", "ROLLED", "FAST", "SOLVER", "CALLED"),
    *("TEAM", "lane", "from_lane", "across", "added"),
    *(f"{name}_{k}" for name in ("sines", "cosines") for k in range(1, 33)),
)  # fmt: skip


class CudaPrinter(CPrinter):
    """A printer of C with the functions of arithmetic.txt."""

    functions = {**CPrinter.functions, "sin": "sine", "cos": "cosine"}  # noqa: RUF012

    def quotient(self, above: str, below: Sequence[str]) -> str:
        inverse = f"reciprocal({'*'.join(below)})"
        return inverse if above == self.literal(1.0) else f"{above}*{inverse}"


class SectionWriter:
    """A writer of a program's functions, whose names begin with ``stem``.

    In the arrays of constants, the program's constants follow the constants of ``before``.
    """

    def __init__(
        self,
        program: Program,
        varying: frozenset[str],
        stem: str = "model",
        before: SectionWriter | None = None,
    ) -> None:
        self.program, self.stem, self.before = program, stem, before
        self.printer: CudaPrinter = before.printer if before else CudaPrinter()
        names = [p.data.name for p in program.parameters]
        self.varied = tuple(i for i, name in enumerate(names) if name in varying)
        wanted = (
            program.derivatives, program.outputs, program.update, program.events, program.normalise,
            program.correct, *program.fire, *program.changes, program.geometry,
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
        self.first_shared: int = before.first_shared + len(before.shared) if before else 0
        self.first_given: int = before.first_given + len(before.given) if before else 0
        self.first_own: int = before.first_own + len(before.own) if before else 0
        self._names()

    def rooms(self) -> dict[str, str]:
        """Return the lengths of the arrays of constants up to this program, and the memory that holds them.

        It is the card's constant memory if they fit there, else global memory, read through caches.
        """
        shared, given = self.first_shared + len(self.shared), self.first_given + len(self.given)
        return {
            "shared_space": "CONSTANT" if 8 * (shared + given) < _CONSTANT_BYTES else "__device__",
            "shared_room": str(max(1, shared)),
            "given_room": str(max(1, given)),
        }

    def _names(self) -> None:
        """Set the names of symbols, and the array elements that hold them."""
        program, printer = self.program, self.printer
        words = {*printer.keywords, *ARGUMENTS, *_RESERVED, *printer.functions.values()}
        self.namer = Namer(words | reserved_names(program))
        self.identifiers: dict[Expr, str] = {program.time: "t"}
        for s in dict.fromkeys((*program.parameters, *program.state, *program.memory, *program.constants)):
            self.identifiers[s] = self.namer.fresh(s.data.name)
        self.places: dict[Expr, Place] = {program.time: ("", 0)}
        self.places |= {s: ("state", i) for i, s in enumerate(program.state)}
        self.places |= {s: ("memory", i) for i, s in enumerate(program.memory)}
        self.places |= {
            program.constants[i]: ("shared", k) for k, i in enumerate(self.shared, self.first_shared)
        }
        self.places |= {program.constants[i]: ("constants", k) for k, i in enumerate(self.own)}
        self.identifiers |= {s: self.namer.fresh(s.data.name) for _, s in program.row_rates}
        self.with_rates = self.places | {s: ("rates", i) for i, s in program.row_rates}
        self.parameters: dict[Expr, Place] = {
            program.parameters[i]: ("given", k) for k, i in enumerate(self.given, self.first_given)
        }
        self.parameters |= {program.parameters[i]: ("varied", k) for k, i in enumerate(self.varied)}

    def helpers(self, text: str) -> str:
        """Return the functions that a text calls."""
        tables = [
            lookup_function(name, table, self.printer) + "\n"
            for table, name in self.printer.tables.items()
            if f"{name}(" in text
        ]
        return "\n".join(part for part in (helpers(text), *tables) if part)

    def contacts(self) -> str:
        """Return the solver of contacts, for all programs that share the printer."""
        return device_contacts(contact_sources(self.printer.blocks), "model")

    def precompute(self) -> str:
        """Return the function for a run's own constants.

        It reads a parameter of neighbouring runs from neighbouring elements of ``varied``.
        """
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
            _elements_of("out", len(self.own)),
            self.parameters,
        )
        return re.sub(r"\bvaried\[(\d+)\]", r"varied[\1 * count]", text)

    def ordinary(self) -> list[str]:
        """Return the functions of time, state, constants and memory; outputs may read rates, too."""
        program = self.program
        rates = "const double *restrict rates, " if program.row_rates else ""
        wanted = [
            (program.derivatives, "Rates of the state", "", self.places),
            (program.outputs, "Outputs, in their units", rates, self.with_rates),
            (program.update, "Memory with which a step begins", "", self.places),
            (program.events, "Functions that guard this program", "", self.places),
        ]
        return [
            self.function(
                one,
                one.name,
                about,
                f"{INPUTS}, {more}{RESULT}",
                _elements_of("out", len(one.results)),
                places,
            )
            for one, about, more, places in wanted
            if one.results
        ]

    def fire(self) -> list[str]:
        """Return a function per event with an effect, and the function that chooses among them."""
        arguments, program = f"{INPUTS}, {RENEWED}", self.program
        targets = [
            *_elements_of("new_memory", len(program.memory)),
            *_elements_of("new_state", len(program.state)),
        ]
        texts = []
        # Events of contacts have the same effects: one call for all of them, since NVRTC inlines each call.
        events: dict[tuple[Expr, ...], list[int]] = {}
        for k, found in enumerate(program.fire):
            if found.results not in events:
                texts.append(self.function(found, f"fire_{k}", "Effects of an event", arguments, targets))
            events.setdefault(found.results, []).append(k)
        choice = ["    switch (event) {"]
        for alike in events.values():
            call = f"{self.stem}_fire_{alike[0]}(t, state, constants, memory, new_memory, new_state);"
            choice += [*(f"    case {k}:" for k in alike), f"        {call}", "        break;"]
        choice += ["    default:", "        break;", "    }"]
        head = f"void {self.stem}_fire(int event, {arguments})"
        return [*texts, "\n".join([head, "{", *choice, "}", ""])] if texts else []

    def changes(self) -> list[str]:
        """Return the functions by which a run leaves and enters a configuration."""
        program = self.program
        moving = {**self.places, **{s: ("state", i) for i, s in enumerate(program.motion)}}
        for s in program.motion:
            if s not in self.identifiers:
                self.identifiers[s] = self.namer.fresh(s.data.name)
        texts = []
        for found in program.changes:
            own = self.places if found.name == "leave" else moving
            targets = _elements_of("out", len(found.results))
            about = "Change of configuration"
            texts.append(self.function(found, found.name, about, f"{INPUTS}, {RESULT}", targets, own))
        return texts

    def normalise(self) -> list[str]:
        """Return the functions that normalise Euler parameters, remove drift of contacts, and close loops."""
        program, texts = self.program, []
        if program.renewed:
            places = _elements_of("out", len(program.renewed))
            about = renewal_text(program)
            texts.append(
                self.function(program.normalise, "renew_states", about, f"{INPUTS}, {RESULT}", places)
            )
        if program.corrected:
            places = _elements_of("out", len(program.corrected))
            about = "Dependent coordinates after one step of Newton's method towards closed loops"
            texts.append(self.function(program.correct, "correct", about, f"{INPUTS}, {RESULT}", places))
        if texts:
            values = {
                "name": self.stem,
                "places": ", ".join(map(str, program.corrected)) or "0",
                "count": str(len(program.corrected)),
                "sizes": ", ".join(map(self._size, program.correction_sizes)),
                "renewed": str(len(program.renewed)),
                "renewed_places": ", ".join(map(str, program.renewed)),
                **closing("either"),
            }
            has = {
                name
                for name, present in (("corrected", program.corrected), ("renewed", program.renewed))
                if present
            }
            texts.append(fill(template("armillary.export.c", "normalise.c.txt"), values, has))
        return texts

    def _size(self, size: Expr) -> str:
        """Return the text of a size: a number, or the element of an array of constants."""
        if size.kind == "number":
            return repr(float(size.data))
        array, place = self.places[size]
        return f"{array}[{place}]"

    def function(
        self,
        found: ProgramSection,
        name: str,
        about: str,
        arguments: str,
        targets: Sequence[str],
        places: dict[Expr, Place] | None = None,
    ) -> str:
        made = section_text(found, self.printer, places or self.places, self.identifiers, self.namer)
        if name == "update" or name.startswith("fire"):  # memory keeps the number of an input's data
            kept, count = zip(found.results, made.results, strict=True), len(self.program.memory)
            results = [self._kept.get(s, text) if i < count else text for i, (s, text) in enumerate(kept)]
            made = replace(made, results=tuple(results))
        signature = Signature(f"{self.stem}_{name}", arguments, targets)
        return self.with_signals(function(signature, f"{about}: {counts(found.operations)}.", made))

    def with_signals(self, text: str) -> str:
        """Return a text in which inputs over time are read from their data."""
        for place in self._kept.values():
            text = re.sub(rf"(const \w+ \w+ = ){re.escape(place)};", rf"\1signal_at(t, {place});", text)
        return text

    @cached_property
    def _kept(self) -> dict[Expr, str]:
        """Inputs over time, each with the element of memory that holds the number of its data."""
        return {s: f"memory[{self.program.memory.index(s)}]" for s in self.program.driven}


def _elements_of(array: str, count: int) -> list[str]:
    return [f"{array}[{i}]" for i in range(count)]


def inline_functions(code: str) -> str:
    """Return C text for the device, with inlined functions."""
    return on_device(code).replace("DEVICE static inline", "DEVICE static __forceinline__")


def in_double(code: str) -> str:
    """Return text for the device in double precision, for any type ``real``."""
    return re.sub(r"\breal\b", "double", code)
