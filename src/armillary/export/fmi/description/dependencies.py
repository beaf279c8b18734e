"""The dependencies of each result of a section, from its expression graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from armillary.algebra.expression import Expr
from armillary.algebra.walk import held_places


def dependencies(results: Sequence[Expr], references: Mapping[Expr, int]) -> list[tuple[int, ...]]:
    """For each result the value references of the symbols that it holds, in order."""
    order = sorted(references, key=references.__getitem__)
    return [tuple(references[order[i]] for i in places) for places in held_places(results, order)]
