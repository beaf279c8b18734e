"""The record of neglected terms, with their orders and those of the leading terms."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from armillary.algebra.expression import Expr
from armillary.algebra.notation.printing import number_text, text

# Distinct terms that are kept with their text; further ones are only counted.
_KEPT = 2000
_SHOWN = 30  # lines of a printed table
_WIDTH = 72  # characters of a term


@dataclass(frozen=True)
class Neglected:
    """A term that sums left out: its order, the order of their leading terms, and how often."""

    term: str
    order: float
    leading: float
    count: int

    def __str__(self) -> str:
        times = f", {self.count} times" if self.count > 1 else ""
        return (
            f"{self.term}  (order {number_text(self.order)} beside order {number_text(self.leading)}{times})"
        )


class NeglectedTerms:
    """Everything that a derivation neglected: a table to print, records to go through."""

    def __init__(self) -> None:
        self._counts: dict[tuple[Expr, float, float], int] = {}
        self.by_order: dict[float, int] = {}  # number of terms left out, by their order above the leading one

    def add(self, term: Expr, leading: float, count: int = 1, order: float | None = None) -> None:
        """One more term, left out beside leading terms of this order."""
        own = term.smallness if order is None else order
        key = (term, own, leading)
        if key in self._counts or len(self._counts) < _KEPT:
            self._counts[key] = self._counts.get(key, 0) + count
        above = own - leading
        self.by_order[above] = self.by_order.get(above, 0) + count

    def joined(self, other: NeglectedTerms) -> NeglectedTerms:
        """This record joined with that of another part of the derivation."""
        result = NeglectedTerms()
        for part in (self, other):
            for (term, order, leading), count in part._counts.items():
                result.add(term, leading, count, order)
        result.by_order = {
            above: self.by_order.get(above, 0) + other.by_order.get(above, 0)
            for above in sorted({*self.by_order, *other.by_order})
        }
        return result

    @property
    def total(self) -> int:
        """Number of terms left out, all occurrences counted."""
        return sum(self.by_order.values())

    def __len__(self) -> int:
        return len(self._counts)

    def __iter__(self) -> Iterator[Neglected]:
        """Distinct terms, those nearest to being kept first."""
        ranked = sorted(self._counts.items(), key=lambda item: item[0][1] - item[0][2])
        for (term, order, leading), count in ranked:
            yield Neglected(text(term, limit=_WIDTH), order, leading, count)

    def summary(self) -> str:
        """One line: how many terms of which order."""
        if not self.by_order:
            return "none"
        terms = f"{self.total} term{'s' if self.total > 1 else ''}"
        parts = [
            f"{count} {'is' if count == 1 else 'are'} {number_text(above)}"
            for above, count in sorted(self.by_order.items())
        ]
        if len(parts) == 1:
            return f"{terms}, {number_text(next(iter(self.by_order)))} orders above the leading"
        return f"{terms}, of which {', '.join(parts[:-1])} and {parts[-1]} orders above the leading"

    def __str__(self) -> str:
        lines = [f"neglected: {self.summary()}"]
        for number, record in enumerate(self):
            if number == _SHOWN:
                lines.append(f"  ... and {len(self) - _SHOWN} more")
                break
            lines.append(f"  {record}")
        return "\n".join(lines)

    __repr__ = __str__
