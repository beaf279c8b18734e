"""<name>_assembly.c: loops closed before a run, as in the process."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from armillary.export.c.model import INPUTS, RESULT
from armillary.export.c.printer import CPrinter, helpers, lookup_function
from armillary.export.c.solver_printer import CSolverPrinter
from armillary.export.c.text import Signature, block, function, quoted
from armillary.export.text.files.template import fill, template
from armillary.export.text.printing.layout import wrapped
from armillary.export.text.source import Sections, Source
from armillary.export.text.start.assembly import AssemblySource
from armillary.runtime.solver.language.translator import Solver


class PlainPrinter(CPrinter):
    """C with the library's sines: assembly is not part of the loop."""

    paired_angles = 0


_OPENING = """\
#include "@name@.h"

#include <math.h>
#include <stdio.h>
"""


def assembly_code(
    source: Source, file: str = "", opening: str = _OPENING, closing: str = "", *, on_device: bool = False
) -> str:
    """The file of a system that has loops; the same text in C++ between other lines than these, for a GPU
    without what a host needs for messages.
    """
    loops = source.assembly
    assert loops is not None
    printer = PlainPrinter()
    geometry = geometry_function(source.stem, loops, Sections(source, printer))
    tables = [lookup_function(name, table, printer) for table, name in printer.tables.items()]
    solved = AssemblyPrinter(loops, source.stem, loops.solver)
    values = assembly_values(source, solved, solved.text().rstrip("\n"), file) | {
        "opening": opening.replace("@name@", source.stem),
        "closing": closing,
        "helpers": "\n".join([*([] if on_device else [_APART]), helpers(geometry), *tables]),
        "functions": geometry,
        "before": _texts(before for before, _ in loops.gaps),
        "after": _texts(after for _, after in loops.gaps),
        "redundant": quoted(loops.redundant),
    }
    has = loop_features(loops) | {"host", *(["device"] if on_device else ["messages"])}
    return fill(template(__package__, "assembly.c.txt"), values, has)


def geometry_function(stem: str, loops: AssemblySource, sections: Sections) -> str:
    """The function that finds gaps and their matrix."""
    targets = [f"out[{i}]" for i in range(len(loops.section.results))]
    signature = Signature(f"{stem}_geometry", f"{INPUTS}, {RESULT}", targets, "static ")
    about = "Gaps, elements of J, elements of N, sizes of gaps."
    return function(signature, about, sections.body(loops.section))


def loop_features(loops: AssemblySource) -> set[str]:
    """Parts of templates for these loops."""
    has = {"redundant"} if loops.redundant else set()
    has |= {"several"} if loops.several else set()
    return has | ({"quaternions"} if loops.quaternions else set())


def assembly_values(source: Source, solved: AssemblyPrinter, solver: str, file: str = "") -> dict[str, str]:
    """Values for templates, except those that depend on the program around them."""
    loops, stem = solved.loops, source.stem
    head = [
        f"{file or f'{stem}_assembly.c'}: {source.description.name}: loops closed before a run", "",
        "Coordinates that are given stay; others move: those of dependent speeds, then all that the loops",
        "depend on, then these from scattered starts. Only where more is given than the loops leave free,",
        "given dependent coordinates are first guesses.",
    ]  # fmt: skip
    return {
        "name": stem,
        "NAME": stem.upper(),
        "head": block(head),
        "sizes": _listed("enum { ", [f"{name} = {n}" for name, n in loops.sizes.items()], " };"),
        "coordinates": str(len(loops.coordinates)),
        "tables": solved.tables(),
        "record": solved.record_type,
        "fields": "\n".join(solved.record()),
        "constants": "\n".join(solved.constants()),
        "solver": solver,
        "first": _listed("", map(repr, loops.first)),
        "whole": _listed("", map(str, loops.whole)),
    }


_APART = """\
#if defined(__GNUC__)
#define APART __attribute__((noinline)) /* pieces of long functions stay apart: quicker to compile */
#else
#define APART
#endif
"""


class AssemblyPrinter(CSolverPrinter):
    """The functions that close loops."""

    def __init__(self, loops: AssemblySource, stem: str, described: Solver) -> None:
        super().__init__(described, stem)
        self.names = {name: name.lower() for name in self.solver.constants} | {
            "FIRST": "0",
            "INFINITY": "(double)INFINITY",
        }
        self.loops, self.record_type = loops, "loops"

    def extent(self, kind: str, room: bool = False) -> str:
        return str(self.loops.lengths[kind])

    def model(self, name: str, targets: Sequence[str], arguments: Sequence[str]) -> list[str]:
        return [f"{self.stem}_geometry({', '.join(arguments)}, run->constants, run->memory, {targets[0]});"]

    def tables(self) -> str:
        """Tables of the system."""
        tables: dict[str, Sequence[int]] = {**self.loops.whole_tables(0), **self.loops.truth_tables}
        return "\n".join(
            _listed(f"static const int {name}[{max(1, len(numbers))}] = {{", map(str, numbers or [0]), "};")
            for name, numbers in tables.items()
        )


def _listed(before: str, items: Iterable[str], after: str = "") -> str:
    return "\n".join(wrapped(f"{before}{', '.join(items)}{after}", 110, "", "    "))


def _texts(texts: Iterable[str]) -> str:
    return "".join(f"    {quoted(text)},\n" for text in texts)
