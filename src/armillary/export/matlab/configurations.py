"""All configurations of a system in MATLAB: the functions of each, and the tables that changes read."""

from __future__ import annotations

from armillary.export.text.configurations import change_tables, has_function
from armillary.export.text.printing.layout import wrapped
from armillary.export.text.printing.solver_printer import CONSTRAINT_GEOMETRY
from armillary.export.text.source import Source

_FUNCTIONS = (
    *("precompute", "derivatives", "outputs", "events", "update", "fire", "normalise"),
    *("leave", "enter", "impulse", "adjust", "ratings", CONSTRAINT_GEOMETRY),
)
_MISSING = {"normalise": "@(t, state, constants, memory) state", "events": "@(varargin) zeros(0, 1)"}


def structure(values: dict[str, str]) -> str:
    """A structure with these fields."""
    pairs = ", ".join(f"'{name}', {value}" for name, value in values.items())
    return "\n".join(wrapped(f"struct({pairs})", 100, "", " " * 13, " ..."))


def change_values(made: Source, package: str) -> dict[str, str]:
    """Sizes, tables and functions of all configurations, for the template of a run."""
    found = change_tables(made)
    sections = []
    for one in (made, *made.others):
        own = f"{package}.configuration{one.prefix}" if one.prefix else package
        had = has_function(one.program, one.passing)
        names = {name: had.get(name, True) for name in _FUNCTIONS}
        sections.append(
            structure({
                name: f"@{own}.{name}" if there else _MISSING[name]
                for name, there in names.items()
                if there or name in _MISSING
            })
        )  # fmt: skip
    tables = {name.lower(): f"[{' '.join(map(str, v))}]" for name, v in found.counted_from(1).items()}
    tables |= {name.lower(): f"[{' '.join(map(repr, reals))}]" for name, reals in found.reals.items()}
    return {
        "change_sizes": structure({name[2:].lower(): str(size) for name, size in found.sizes.items()}),
        "change_tables": structure(tables),
        "sections": "; ...\n  ".join(sections),
    }
