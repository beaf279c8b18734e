"""A pack: nodes of one shape that are computed as one operation on a vector, a node per lane."""

from __future__ import annotations

from dataclasses import dataclass

from armillary.algebra.expression import Expr

WIDEST = 4  # lanes of a pack

Column = tuple[Expr, ...]  # a node per lane


@dataclass(frozen=True, eq=False)
class Pack:
    """Nodes of one kind with operands that correspond, none of which depends on another.

    ``operands`` holds a tuple per operand and ``factors`` the coefficients or exponents of it (of calls:
    none), each with an entry per lane. Intermediate names (``let``) are left out.
    """

    lanes: Column
    operands: tuple[Column, ...]
    factors: tuple[tuple[float, ...], ...] = ()

    @property
    def kind(self) -> str:
        return self.lanes[0].kind


def meant(node: Expr) -> Expr:
    """A node without the names of intermediate values around it."""
    while node.kind == "let":
        node = node.args[0]
    return node
