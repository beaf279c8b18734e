"""The sequence of passes, with what each achieved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from armillary.algebra.expression import Expr
from armillary.program.cost import Operations
from armillary.program.passes import Constants, Graph, factor, hoist, inline, reciprocals, share


@dataclass(frozen=True)
class Gain:
    """Operations before and after a pass."""

    name: str
    before: Operations
    after: Operations


def improve(roots: Sequence[Expr], constants: Constants) -> tuple[list[Expr], list[Gain]]:
    """The roots after all passes, and the record of what each gained.

    ``inline`` and ``hoist`` always stay, as the later ones build on them; a search for factors or pairs that finds nothing
    is undone.
    """
    gains: list[Gain] = []
    graph = Graph(roots)
    for name, apply, always in (
        ("inline", inline, True),
        ("hoist", lambda g: hoist(g, constants), True),
        ("reciprocals", reciprocals, False),
        ("factor", factor, False),
        ("share", share, False),
        ("inline", inline, False),
        ("factor", factor, False),
    ):
        changed = apply(graph)
        if always or changed.operations.weight < graph.operations.weight:
            gains.append(Gain(name, graph.operations, changed.operations))
            graph = changed
    return graph.roots, gains
