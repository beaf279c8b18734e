"""<name>_assembly.c: loops closed before a run, as in the process."""

from __future__ import annotations

from collections.abc import Iterable

from armillary.export.c.model import INPUTS, RESULT
from armillary.export.c.printer import CPrinter, helpers, lookup_function
from armillary.export.c.text import Signature, block, function, quoted
from armillary.export.text.assembly import Assembly
from armillary.export.text.layout import wrapped
from armillary.export.text.source import Sections, Source
from armillary.export.text.template import fill, template


class PlainPrinter(CPrinter):
    """C with the library's sines: assembly is no part of the loop."""

    paired_angles = 0


_OPENING = """\
#include "@name@.h"

#include <math.h>
#include <stdio.h>
"""


def assembly_code(source: Source, file: str = "", opening: str = _OPENING, closing: str = "") -> str:
    """The file of a system that has loops; the same text in C++ between other lines than these."""
    loops = source.assembly
    assert loops is not None
    stem = source.stem
    printer = PlainPrinter()
    body = Sections(source, printer).body(loops.section)
    targets = [f"out[{i}]" for i in range(len(loops.section.results))]
    signature = Signature(f"{stem}_geometry", f"{INPUTS}, {RESULT}", targets, "static ")
    geometry = function(signature, "Gaps, elements of J, elements of N, sizes of gaps.", body)
    tables = [lookup_function(name, table, printer) for table, name in printer.tables.items()]
    head = [
        f"{file or f'{stem}_assembly.c'}: {source.description.name}: loops closed before a run", "",
        "Coordinates that are given stay; others move: those of dependent speeds, then all that the loops",
        "depend on, then these from scattered starts. Only where more is given than the loops leave free,",
        "given dependent coordinates are first guesses.",
    ]  # fmt: skip
    values = {
        "name": stem,
        "NAME": stem.upper(),
        "head": block(head),
        "opening": opening.replace("@name@", stem),
        "closing": closing,
        "helpers": "\n".join([_APART, helpers(geometry), *tables]),
        "functions": geometry,
        **_numbers(loops),
        "before": _texts(before for before, _ in loops.gaps),
        "after": _texts(after for _, after in loops.gaps),
        "redundant": quoted(loops.redundant),
    }
    has = {"redundant"} if loops.redundant else set()
    has |= {"quaternions"} if loops.quaternions else set()
    return fill(template(__package__, "assembly.c.txt"), values, has)


_APART = """\
#if defined(__GNUC__)
#define APART __attribute__((noinline)) /* pieces of long functions stay apart: quicker to compile */
#else
#define APART
#endif
"""


def _numbers(loops: Assembly) -> dict[str, str]:
    counts = {"gaps": len(loops.gaps), "rows": loops.rows, "coordinates": len(loops.coordinates)}
    counts |= {"speeds": loops.speeds, "jacobian_count": len(loops.jacobian), "rates_count": len(loops.rates)}
    counts |= {"jacobian_room": max(1, len(loops.jacobian)), "rates_room": max(1, len(loops.rates))}
    counts["quaternion_count"] = len(loops.quaternions)
    lists = {
        "jacobian": [f"{{{i}, {j}}}" for i, j in loops.jacobian] or ["{0, 0}"],
        "rates": [f"{{{i}, {j}}}" for i, j in loops.rates] or ["{0, 0}"],
        "dependent": map(str, loops.dependent),
        "holding": map(str, loops.holding),
        "kept": map(str, loops.kept),
        "quaternion_places": map(str, loops.quaternions),
        "first": map(repr, loops.first),
        "whole": map(str, loops.whole),
    }
    found = {name: str(count) for name, count in counts.items()}
    return found | {name: _listed(items) for name, items in lists.items()}


def _listed(items: Iterable[str]) -> str:
    return "\n".join(wrapped(", ".join(items), 60, "", "    "))


def _texts(texts: Iterable[str]) -> str:
    return "".join(f"    {quoted(text)},\n" for text in texts)
