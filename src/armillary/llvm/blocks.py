"""Calls of block functions (algebra/user_functions/blocks.py) in compiled code.

A block works on vectors in a workspace, which the caller has on its stack. Its code is one for all sizes: it
reads sizes, places of vectors in the workspace, and tables from a constant record.

    record    sizes, lengths of vectors, places of vectors, places of tables, the address of the tables

The implementations stand in packages above this one; each process compiles them once, and programs find them
by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from armillary.algebra.user_functions.blocks import BlockFunction

# The symbol under which LLVM finds an implementation in this process, which is made on the first call.
IMPLEMENTATIONS: dict[str, Callable[[], str]] = {}


def record_fields(
    block_sizes: Mapping[str, int], vectors: Mapping[str, int], tables: Mapping[str, object]
) -> list[str]:
    """Return the names of the fields of a record, in order."""
    lengths = [f"{name} length" for name in vectors]
    return [*block_sizes, *lengths, *vectors, *(f"{name} table" for name in tables), "tables"]


def vector_places(block: BlockFunction) -> dict[str, int]:
    """Return where each vector begins in the workspace."""
    places, first = {}, 0
    for name, length in block.vectors.items():
        places[name] = first
        first += length
    return places


def workspace_length(block: BlockFunction) -> int:
    """Return how many numbers the workspace holds."""
    return max(1, sum(block.vectors.values()))


def record_text(block: BlockFunction, name: str) -> str:
    """Return the constant record of a block and its tables, as LLVM text."""
    starts, first = {}, 0
    for table, entries in block.tables.items():
        starts[f"{table} table"] = first
        first += len(entries)
    values = {
        **block.sizes,
        **{f"{vector} length": length for vector, length in block.vectors.items()},
        **vector_places(block),
        **starts,
    }
    fields = record_fields(block.sizes, block.vectors, block.tables)[:-1]
    numbers = ", ".join(f"double {float(x)!r}" for table in block.tables.values() for x in table)
    kinds = ", ".join([*["i64"] * len(fields), "ptr"])
    given = ", ".join([*(f"i64 {values[field]}" for field in fields), f"ptr @{name}_tables"])
    return (
        f"@{name}_tables = internal constant [{first} x double] [{numbers}]\n"
        f"@{name} = internal constant {{ {kinds} }} {{ {given} }}"
    )
