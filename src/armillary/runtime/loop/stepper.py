"""Functions under construction that make steps: of one run, or of as many as there are lanes.

What a step is, runtime/solver says: machine code of it is written over any such function. Sums over states
are here, in one order for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from armillary.llvm.building.builder import Code, Span, Value


class Stepper(Code):
    """A function under construction with access to a run: its sizes, its numbers, and its derivatives."""

    @property
    def states(self) -> int:
        raise NotImplementedError

    def each_state(self) -> Iterator[Value]:
        """A loop over all states, one or several at a time."""
        with self.each(self.states) as m:
            yield m

    def total_of_states(self, term: Callable[[Value], Value]) -> Value:
        """Return a sum over all states."""
        return self.total(self.states, term)

    def __getitem__(self, name: str) -> Value:
        raise NotImplementedError

    def keeps(self, name: str) -> bool:
        """Return whether the loop has a place for a number of the run."""
        raise NotImplementedError

    def vector(self, name: str) -> Span:
        raise NotImplementedError

    def derivatives(self, t: Value, state: Span, result: Span) -> None:
        raise NotImplementedError

    def normalise_where(self, where: Value | None, t: Value, state: str) -> None:
        """A vector normalised, in lanes where a condition holds."""
        raise NotImplementedError

    def rates(self, name: str, m: Value) -> Value:
        """Of the state m in a vector of derivatives computed just before."""
        return self.vector(name)[m]


def not_finite(f: Stepper, *vectors: Span) -> Value:
    """Return whether some number of the vectors, each of as many as there are states, is not finite."""
    found = f.total_of_states(lambda m: 0.0 * sum((v[m] for v in vectors[1:]), vectors[0][m]))
    return found.differs(0.0)


def squares(f: Stepper, values: Span) -> Value:
    """Sum of (value / tolerated error)² over the states."""
    tolerated = f.vector("tolerated")

    def square(m: Value) -> Value:
        ratio = values[m] / tolerated[m]
        return ratio * ratio

    return f.total_of_states(square)
