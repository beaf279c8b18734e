"""Expressions as text, and as notebooks show them."""

from __future__ import annotations

from typing import NoReturn

from armillary.algebra import printing
from armillary.algebra.node import Node
from armillary.algebra.terms import short
from armillary.algebra.typesetting import latex
from armillary.errors import ExpressionError

# Characters that a notebook or debugger shows of an expression; str() gives all.
_SHOWN = 5000


class DisplayedNode(Node):
    """A node with its text."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """Name of a symbol; the text of anything else."""
        return self.data.name if self.kind == "symbol" else printing.text(self)

    def __str__(self) -> str:
        return printing.text(self)

    def __repr__(self) -> str:
        return printing.text(self, limit=_SHOWN)

    def __reduce__(self) -> NoReturn:
        raise ExpressionError(
            f"'{short(self)}' cannot be pickled: an expression belongs to its system in this process; "
            "send the system, or the expression as text, str(expression)"
        )

    def _repr_latex_(self) -> str | None:
        shown = latex(self, limit=_SHOWN)
        return f"${shown}$" if shown else None

    def _repr_html_(self) -> str | None:
        """MathML, which notebooks show without a network."""
        from armillary.algebra.mathml import mathml

        shown = mathml(self, limit=4 * _SHOWN)
        return f"<math>{shown}</math>" if shown else None
