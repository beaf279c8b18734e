"""A body outside of a system that attracts the bodies of it."""

from __future__ import annotations

from dataclasses import dataclass

from armillary.algebra import functions as fn
from armillary.algebra.expression import Expr
from armillary.algebra.triples import ExprTriple, Triple, is_zero
from armillary.model.space.fields import GravitySource, term


@dataclass(frozen=True, eq=False)
class Attractor:
    """A body that attracts and is not itself part of the system; places and axis are in the ground's axes."""

    name: str
    mu: Expr
    place: ExprTriple
    field: str
    indirect: bool
    J2: Expr
    radius: Expr | None
    axis: Triple

    @property
    def source(self) -> GravitySource:
        """Its field, in the ground's axes."""
        if is_zero(self.J2):
            return GravitySource(self.mu)
        assert self.radius is not None
        return GravitySource(
            self.mu, fn.named(term(0.5, self.mu, self.J2, self.radius, self.radius), self.name), self.axis
        )
