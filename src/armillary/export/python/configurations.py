"""All configurations of a system in Python: their functions, and the tables that changes read."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from armillary.export.text.configurations import (
    CHANGE_EXTENTS,
    TRUTHS,
    ChangeTables,
    change_tables,
    has_function,
)
from armillary.export.text.printing.layout import wrapped
from armillary.export.text.printing.solver_printer import CONSTRAINT_GEOMETRY
from armillary.export.text.source import Source

# Functions of every configuration, with what stands for one that it does not have.
_FUNCTIONS = {
    "precompute": "", "derivatives": "", "outputs": "", "events": "nothing", "update": "nothing",
    "fire": "nothing", "normalise": "unchanged", "leave": "nothing", "enter": "nothing",
    "impulse": "nothing", "adjust": "nothing", "ratings": "nothing", CONSTRAINT_GEOMETRY: "nothing",
    "partial_rates": "nothing",
}  # fmt: skip
# Sizes whose names belong to the start of a run.
OTHER_SIZES = {"N_SPEEDS": "N_ALL_SPEEDS"}
EXTENTS = {kind: OTHER_SIZES.get(name, name) for kind, name in CHANGE_EXTENTS.items()}
Named = Callable[[Source, str], str]


def configuration_values(source: Source, named: Named, width: int) -> dict[str, str]:
    """Sizes, tables and functions of all configurations, for the template of the solver."""
    if not source.changing:
        return {}
    found = change_tables(source)
    lines = []
    for name, values in found.tables.items():
        kept: Sequence[object] = [bool(v) for v in values] if name in TRUTHS else values
        lines += wrapped(f"{name} = [{', '.join(map(str, kept))}]", width, "", "    ")
    for name, reals in found.reals.items():
        lines += wrapped(f"{name} = [{', '.join(map(repr, reals))}]", width, "", "    ")
    return {
        "change_sizes": size_lines(found),
        "change_tables": "\n".join(lines),
        "sections": section_lines(source, named, width),
    }


def size_lines(found: ChangeTables) -> str:
    """Sizes by name."""
    return "\n".join(f"{OTHER_SIZES.get(name, name)} = {value}" for name, value in found.sizes.items())


def section_lines(source: Source, named: Named, width: int) -> str:
    """The functions of each configuration by their names."""
    every = []
    for one in (source, *source.others):
        has = has_function(one.program, one.passing)
        entries = [
            f"{name!r}: {named(one, name) if has.get(name, True) else missing}"
            for name, missing in _FUNCTIONS.items()
            if has.get(name, True) or source.changing
        ]
        every.append("\n".join(wrapped("{" + ", ".join(entries) + "},", width, "    ", "     ")))
    return "\n".join(every)
