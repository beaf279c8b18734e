"""All configurations of a system in Python: their functions, and the tables that changes read."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from armillary.export.text.configurations import SENTENCE, TRUTHS, change_tables, has_function
from armillary.export.text.layout import wrapped
from armillary.export.text.source import Source

# Functions of every configuration, with what stands for one that it does not have.
_FUNCTIONS = {
    "precompute": "", "derivatives": "", "outputs": "", "events": "nothing", "update": "nothing",
    "fire": "nothing", "normalise": "unchanged", "geometry": "nothing", "leave": "nothing",
    "enter": "nothing", "impulse": "nothing", "ratings": "nothing",
}  # fmt: skip


def configuration_values(source: Source, named: Callable[[Source, str], str], width: int) -> dict[str, str]:
    """Sizes, tables and functions of all configurations, for the template of the solver."""
    if not source.others:
        return {}
    found = change_tables(source)
    lines = []
    for name, values in found.tables.items():
        kept: Sequence[object] = [bool(v) for v in values] if name in TRUTHS else values
        lines += wrapped(f"{name} = [{', '.join(map(str, kept))}]", width, "", "    ")
    every = []
    for one in (source, *source.others):
        has = has_function(one.program)
        entries = [
            f"{name!r}: {named(one, name) if has.get(name, True) else missing}"
            for name, missing in _FUNCTIONS.items()
        ]
        every.append("\n".join(wrapped("{" + ", ".join(entries) + "},", width, "    ", "     ")))
    return {
        "change_sizes": "\n".join(f"{name} = {value}" for name, value in found.sizes.items()),
        "change_tables": "\n".join(lines),
        "left": SENTENCE,
        "sections": "\n".join(every),
    }
