"""<name>_assembly.h and .c for microcontrollers: loops closed from rough values, in memory of the caller."""

from __future__ import annotations

from dataclasses import replace

from armillary.export.c.assembly import AssemblyPrinter, assembly_values, geometry_function, loop_features
from armillary.export.c.embedded.model import EmbeddedModel
from armillary.export.c.embedded.solver import BoundedPrinter
from armillary.export.c.text import comment
from armillary.export.text.files.template import fill, template
from armillary.export.text.printing.layout import wrapped
from armillary.export.text.start.assembly import AssemblySource
from armillary.runtime.solver.language.translator import Solver
from armillary.runtime.solver.precision import in_single

_OPENING = """\
#include "@name@_assembly.h"

#include <math.h>

#if defined(__cplusplus)
#define restrict
#endif
"""


def bounded_assembly(loops: AssemblySource, precision: str) -> Solver:
    """The functions that close loops, with their constants in a precision, and no loop without a bound."""
    solver = in_single(loops.solver) if precision == "single" else loops.solver
    numbers = dict(solver.constants)
    numbers["MOST_TURNS"] = int(numbers["DAMPED_TURNS"])  # of the longest
    return replace(solver, constants=numbers)


def open_sentences(loops: AssemblySource) -> dict[str, list[str]]:
    """The messages of runs in the process for starts whose loops are not closed, by the code of each case."""
    left = [f"    numbers[{i}]: {before}…{after}" for i, (before, after) in enumerate(loops.gaps)]
    found = {
        "NOT_CLOSED": [
            "the loops cannot be closed with what is given as it is; nearest to closed they leave",
            *left,
            "change what sets them, or give other initial coordinates to start from",
        ]
    }
    return found | ({"NOT_REDUNDANT": [loops.redundant]} if loops.redundant else {})


class EmbeddedAssemblyPrinter(AssemblyPrinter, BoundedPrinter):
    """The functions that close loops, with bounds."""

    def __init__(self, loops: AssemblySource, stem: str, described: Solver) -> None:
        super().__init__(loops, stem, described)
        self.record_type = f"{stem}_loops"
        self.names = {
            **self.names,
            "CLOSED": f"{self.upper}_CLOSED",
            "OPEN": f"{self.upper}_NOT_CLOSED",
            "NOT_REDUNDANT": f"{self.upper}_NOT_REDUNDANT",
        }


def loops_printer(model: EmbeddedModel) -> EmbeddedAssemblyPrinter | None:
    """The printer of the functions that close loops; None where there are none."""
    loops = model.source.assembly
    if loops is None:
        return None
    found = EmbeddedAssemblyPrinter(loops, model.stem, bounded_assembly(loops, model.precision))
    found.code = found.text().rstrip("\n") + "run->t run->start run->given run->place run->status"
    return found


def loops_record(model: EmbeddedModel) -> str:
    """The members of what is kept while loops are closed."""
    printer = loops_printer(model)
    fields = printer.record() if printer is not None else []
    return "\n".join(["    const double *constants;", "    const double *memory;", *fields])


def assembly_files(model: EmbeddedModel) -> dict[str, str]:
    """The files of a system with loops; none where it has none."""
    solved, stem = loops_printer(model), model.stem
    if solved is None:
        return {}
    loops = solved.loops
    own = EmbeddedModel(model.source, model.precision)  # with no other tables than those that it calls
    geometry = geometry_function(stem, loops, own.sections)
    values = model.values | assembly_values(model.source, solved, solved.text().rstrip("\n"))
    values |= {
        "loops": loops_record(model),
        "opening": _OPENING.replace("@name@", stem),
        "helpers": own.helper_functions(geometry),
        "functions": geometry,
        "sentences": "\n".join(_sentences(loops, model.upper)),
    }
    has = loop_features(loops) | {"embedded"} | (model.has & {"reclosing"})
    return {
        f"{stem}_assembly.h": fill(template(__package__, "assembly.h.txt"), values, has),
        f"{stem}_assembly.c": fill(template("armillary.export.c", "assembly.c.txt"), values, has),
    }


def _sentences(loops: AssemblySource, upper: str) -> list[str]:
    """The codes of errors, each with the message of a run in the process."""
    lines = []
    for code, texts in open_sentences(loops).items():
        said = [line for text in texts for line in wrapped(comment(text), 104, "     * ", "     *   ")]
        lines += ["    /*", *said, "     */", f"    {upper}_{code},"]
    return [*lines[:-1], lines[-1].rstrip(",")]
