"""Sizes and tables of the equations that linearly implicit steps solve (runtime/solver/linearly_implicit.py),
the same for all languages.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from armillary.export.text.source import Source
from armillary.program.derivatives.sparse_rates import TABLES as _OF_STRUCTURE

# Sparse equations of programs belong to the only configuration; with several, they are dense.
from armillary.program.derivatives.sparse_rates import SparseStructure

# Lengths of vectors by their kind, as names of sizes.
IMPLICIT_EXTENTS = {
    "StateNumbers": "N_STATES", "Partials": "N_PARTIALS",
    "Entries": "N_PARTIALS", "Factors": "N_FACTORS", "Unknowns": "N_UNKNOWNS",
}  # fmt: skip
TABLE_NAMES = tuple(name.upper() for name in _OF_STRUCTURE)


@dataclass(frozen=True)
class ImplicitTables:
    """Sizes by the names of runtime/language/language.py, and tables of whole numbers."""

    sizes: dict[str, int]
    tables: dict[str, tuple[int, ...]]

    def counted_from(self, first: int, code: str) -> dict[str, list[int]]:
        """Return the tables that a code reads, for a language whose indices begin with ``first``; NONE comes
        before it.
        """
        read = code.lower()
        return {
            name: [v + first for v in values]
            for name, values in self.tables.items()
            if any(f"{name.lower()}{bracket}" in read for bracket in "[(")
        }


def implicit_tables(source: Source) -> ImplicitTables:
    """Return the sizes and tables of a system with linearly implicit methods; without them, none."""
    if not source.stiff:
        return ImplicitTables({}, {})
    every = (source, *source.others)
    return ImplicitTables(_sizes(every), _tables([one.program.structure for one in every]))


def partial_count(source: Source) -> int:
    """Results of the section of partial derivatives, or the room for differences in their place."""
    made = source.program.partial_rates
    states = len(source.program.state)
    return len(made[0].results) if made else states * (states + 1)


def _sizes(every: Sequence[Source]) -> dict[str, int]:
    sizes = {"N_PARTIALS": max(map(partial_count, every))}
    found = [s for s in (one.program.structure for one in every) if s is not None]
    if found:
        sizes["N_UNKNOWNS"] = max(s.unknowns for s in found)
        sizes["N_ENTRIES"] = max(len(s.entry_column) for s in found)
        sizes["N_FACTORS"] = max(len(s.column) for s in found)
    return sizes


def _tables(every: Collection[SparseStructure | None]) -> dict[str, tuple[int, ...]]:
    found = [s for s in every if s is not None]
    return {name.upper(): v for s in found for name, v in s.tables().items() if name != "extent"}
