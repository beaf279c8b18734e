"""The equations of a model in C: those of the C writer, and derivatives in the same manner."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from armillary.algebra.expression import Expr
from armillary.export.c.assembly import assembly_code
from armillary.export.c.configurations import configuration_files
from armillary.export.c.lanes import USUAL
from armillary.export.c.model import INPUTS, RESULT, CModel
from armillary.export.c.printer import helpers, lookup_function, trigonometry
from armillary.export.c.text import Signature, block, counts, function
from armillary.export.fmi.configurations import every
from armillary.export.fmi.directional import Seeded, adjoints, directional, rates
from armillary.export.fmi.solver import solver_files
from armillary.export.text.body import Place, body
from armillary.export.text.source import Source

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
                one, rates(one), "rates of all coordinates, speeds and states", ()
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
    identifiers, places = dict(model.sections.identifiers.of), _places(source)
    for i, seed in enumerate(wanted.seeds):
        identifiers[seed] = namer.fresh(seed.data.name)
        places[seed] = ("seed", i)
    text = body(wanted.section, model.printer, places, identifiers, namer)
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


def _places(source: Source) -> dict[Expr, Place]:
    program = source.program
    found: dict[Expr, Place] = {program.time: ("", 0)}
    for array, symbols in (
        ("state", program.state),
        ("memory", program.memory),
        ("constants", program.constants),
    ):
        found |= {s: (array, i) for i, s in enumerate(symbols)}
    return found
