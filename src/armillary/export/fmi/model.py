"""The equations of a model in C: the text of the C writer, and partial derivatives in the same form."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial

from armillary.algebra.block_functions import is_block
from armillary.algebra.calculus import directional_derivatives, gradient
from armillary.algebra.expression import UNIT, Expr, symbol, total
from armillary.algebra.walk import operands_first
from armillary.export.c.model import INPUTS, RESULT, USUAL, CModel
from armillary.export.c.printer import CSolverPrinter, helpers, lookup_function, trigonometry
from armillary.export.c.solver import assembly_code, configuration_files, solver_texts
from armillary.export.c.text import Signature, block, counts, function
from armillary.export.fmi.variables import every, motion_rates
from armillary.export.text.body import Place, section_text
from armillary.export.text.files import fill, template
from armillary.export.text.source import Source
from armillary.program.program import ProgramSection, section
from armillary.runtime.language.translator import Solver

# The solver of co-simulation: that of exported C programs, with inputs that may change within a step.
#
# An FMU calls the parts of the solver one by one, since an importer may take part between them: at the end
# of every inner step, and before an event happens.

_MEMBERS = """\
    double inputs[{upper}_MEMORY_ROOM]; /* at the time `since`, in their places of the memory */
    double input_slopes[{upper}_MEMORY_ROOM]; /* their first and second derivatives */
    double input_bends[{upper}_MEMORY_ROOM];
    double since;
    int moving;  /* whether inputs change within the communication step */
    int waiting; /* inputs have changed in a step across a place of lost rank, and do not act yet */"""


class FmuSolverPrinter(CSolverPrinter):
    """The solver with inputs that are polynomials of time, in these places of the memory."""

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
    header, code = solver_texts(model, kind=printer, also=also)
    return {f"{model.stem}_solver.h": header, f"{model.stem}_solver.c": code}


# Sections of derivatives of rates, outputs and event functions f, in one direction at the cost of a few f.
#
#     directional   δf = Σ ∂f/∂z · δz      z: time, state, memory
#     adjoint       λᵀ ∂f/∂z               for weights λ of the functions
#
# The direction δz and the weights λ enter as further symbols: one evaluation gives the product of the whole
# Jacobian with them, at about three times the cost of the functions themselves.


@dataclass(frozen=True, eq=False)
class Seeded:
    """A section and its seeds: a direction of time, state and memory, or weights of the functions."""

    section: ProgramSection
    seeds: tuple[Expr, ...]


def directional(source: Source, clocks: Collection[int]) -> Seeded:
    """Changes of the functions along a direction; ``clocks`` are the numbers of events that are left out."""
    program = source.program
    known = [program.time, *program.state, *program.memory]
    seeds = tuple(symbol(f"d_{s.data.name}", "variable", owner=program) for s in known)
    labels, functions = _seeded_functions(source, clocks)
    found = directional_derivatives(functions, dict(zip(known, seeds, strict=True)))
    # Constants of derivatives are few and not worth a place of their own: they are computed where they stand.
    return Seeded(section("directional", labels, found, constant=True), seeds)


def state_rates(source: Source) -> Seeded:
    """Rates of the states of an FMU with several configurations."""
    return Seeded(section("motion_rates", *motion_rates(source), constant=True), ())


def adjoints(source: Source, clocks: Collection[int]) -> Seeded:
    """Changes of the weighted sum of the functions with time, state and memory."""
    program = source.program
    known = [program.time, *program.state, *program.memory]
    _, functions = _seeded_functions(source, clocks)
    seeds = tuple(symbol(f"weight_{i}", "variable", owner=program) for i in range(len(functions)))
    labels = ["time", *(s.data.name for s in known[1:])]
    return Seeded(section("adjoint", labels, _weighted_slopes(functions, seeds, known), constant=True), seeds)


def _weighted_slopes(functions: Sequence[Expr], weights: Sequence[Expr], known: Sequence[Expr]) -> list[Expr]:
    """Derivatives of the weighted sum of functions. Block functions have derivatives along a direction alone:
    then it is one direction after the other.
    """

    def weighted_sum(values: Sequence[Expr]) -> Expr:
        return total((1, w * f) for w, f in zip(weights, values, strict=True))

    if not any(is_block(node) for node in operands_first(functions)):
        return gradient(weighted_sum(functions), known)
    return [weighted_sum(directional_derivatives(functions, {z: UNIT})) for z in known]


def _seeded_functions(source: Source, clocks: Collection[int]) -> tuple[list[str], list[Expr]]:
    """Rates, outputs and event functions, with their labels."""
    program = source.program
    watched = [g for k, g in enumerate(program.events.results) if k not in clocks]
    events = [f"event {k}" for k in range(len(watched))]
    labels, rates = motion_rates(source)
    return [*labels, *program.outputs.labels, *events], [*rates, *program.outputs.results, *watched]


_APART = """\
#if defined(__GNUC__)
#define APART __attribute__((noinline)) /* pieces of long functions stay apart: quicker to compile */
#else
#define APART
#endif
"""


def model_files(source: Source, clocks: Collection[int], adjoint: bool) -> dict[str, str]:
    """Headers and sources by name; ``clocks`` are the numbers of the events of periodic updates."""
    model = CModel(source, USUAL)
    texts = {
        f"{model.stem}.h": model.header(),
        f"{model.stem}.c": model.code(),
        **solver_files(model),
        **configuration_files(model),
    }
    if source.assembly is not None:
        texts[f"{model.stem}_assembly.c"] = assembly_code(source)
    for one in every(source):
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


def _derivatives_source(source: Source, wanted: Seeded, what: str, about: Sequence[str]) -> str:
    """<name>_directional.c or <name>_adjoint.c"""
    model = CModel(source)  # with tables of its own, for only those met here are written
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
    parts = [block(head), '#include "variables.h"', "#include <math.h>", _APART]
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
