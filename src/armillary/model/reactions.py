"""Forces that joints and constraints exert, as quantities for outputs.

They are known once the accelerations are, so they stand in outputs, events and memory updates as symbols that
the derivation replaces; a model that asks for none pays nothing. Loads cannot depend on them.
"""

from __future__ import annotations

from typing import Any

from armillary.algebra.expression import Expr, symbol
from armillary.algebra.units.dimension import FORCE, MOMENT, RATE
from armillary.algebra.vectors import Vector
from armillary.errors import ModelError
from armillary.model.body import Body
from armillary.model.constraints import Constraints
from armillary.model.origins import told_verb


class Reactions(Constraints):
    """The part of a System that tells what holds it together."""

    reactions: dict[str, tuple[Expr, ...]]
    efforts: dict[Expr, Expr]
    ground: Body

    @told_verb
    def reaction_force(self, body: Any) -> Vector:
        """Force of a body's joint on the body, from its parent, at the body's origin."""
        return self._joint(body, "reaction_force").frame.vector(self._reaction(body)[:3])

    @told_verb
    def reaction_moment(self, body: Any) -> Vector:
        """Moment of a body's joint on the body, from its parent, about the body's origin."""
        return self._joint(body, "reaction_moment").frame.vector(self._reaction(body)[3:])

    def effort(self, variable: Any) -> Expr:
        """Force or moment that keeps a prescribed or locked coordinate or speed as it is given."""
        speed = self._speed_of(variable, "effort")
        if speed not in self.efforts:
            dimension = MOMENT if speed.dimension is RATE else FORCE
            self.efforts[speed] = symbol(
                f"effort of {speed}",
                "variable",
                dimension=dimension,
                owner=self.identity,
                about=f"effort along {speed}",
            )
        return self.efforts[speed]

    def _joint(self, body: Any, verb: str) -> Body:
        found = self._find_body(body, verb)
        if found is self.ground:
            raise ModelError(f"{verb}: the ground has no joint; name a body")
        return found

    def _reaction(self, body: Any) -> tuple[Expr, ...]:
        name = self._find_body(body, "reaction").name
        if name not in self.reactions:
            self.reactions[name] = tuple(
                symbol(f"{name} joint {what} {axis}", "variable", dimension=dimension, owner=self.identity)
                for what, dimension in (("force", FORCE), ("moment", MOMENT))
                for axis in "xyz"
            )
        return self.reactions[name]
