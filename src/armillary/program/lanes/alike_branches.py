"""Coordinates and speeds that correspond, because the branches of the tree to which they belong are alike."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from armillary.algebra.expression import Expr
from armillary.model.bodies.body import Body
from armillary.model.description import Description
from armillary.program.lanes.pack import WIDEST


def corresponding(system: Description, state: Sequence[Expr]) -> tuple[tuple[Expr, ...], ...]:
    """States of two or four branches that hang on one body and have the same joints, in tuples.

    Siblings are taken together that have the same joints about the same axes, up to their sign; of the rest
    those with the same joints; of the rest those with the same first joint. Numbers are not looked at: which
    operations of the branches really are the same is left to the expressions.
    """
    by_name = {s.data.name: s for s in state}
    found = [[by_name.get(s.data.name) for s in column] for column in _Branches(system).symbols]
    return tuple(tuple([s for s in column if s is not None]) for column in found if None not in column)


class _Branches:
    """Branches that are alike, from the ground outwards."""

    def __init__(self, system: Description) -> None:
        self.symbols: list[tuple[Expr, ...]] = []
        self._children: dict[Body | None, list[Body]] = {}
        for body in system.bodies.values():
            self._children.setdefault(body.parent, []).append(body)
        self._shapes: dict[tuple[Body, bool], int] = {}
        numbers: dict[Hashable, int] = {}
        for body in reversed(system.bodies.values()):  # children come after their parents
            for exact in (True, False):
                below = sorted([self._shapes[c, exact] for c in self._children.get(body, ())])
                self._shapes[body, exact] = numbers.setdefault((_joint(body, exact), *below), len(numbers))
        self._likeness: tuple[Callable[[Body], Hashable], ...] = (
            lambda body: self._shapes[body, True],
            lambda body: self._shapes[body, False],
            lambda body: _joint(body, False),
        )
        waiting = [[b for b in system.bodies.values() if b.parent is None or b.parent is system.ground]]
        while waiting:
            waiting += self._grouped(waiting.pop())

    def _grouped(self, siblings: list[Body]) -> list[list[Body]]:
        """Groups of siblings, and of what is below them; returns siblings that remain to be grouped."""
        left = list(siblings)
        more: list[list[Body]] = []
        for key in self._likeness:
            same: dict[Hashable, list[Body]] = {}
            for body in left:
                same.setdefault(key(body), []).append(body)
            left = []
            for bodies in same.values():
                while len(bodies) > 1:
                    count = WIDEST if len(bodies) >= WIDEST else 2
                    more += self._together(bodies[:count])
                    bodies = bodies[count:]
                left += bodies
        return [*more, *(self._children[b] for b in left if b in self._children)]

    def _together(self, first: list[Body]) -> list[list[Body]]:
        """Branches whose first bodies correspond; returns the children that have no counterparts."""
        more: list[list[Body]] = []
        waiting = [first]
        while waiting:
            bodies = waiting.pop()
            self.symbols += zip(*(b.coordinates for b in bodies), strict=False)
            self.symbols += zip(*(b.speeds for b in bodies), strict=False)
            children = [list(self._children.get(b, ())) for b in bodies]
            for key in self._likeness:
                for child in list(children[0]):
                    mates = [next((c for c in ours if key(c) == key(child)), None) for ours in children]
                    found = [c for c in mates if c is not None]
                    if len(found) == len(bodies):
                        for ours, mate in zip(children, found, strict=True):
                            ours.remove(mate)
                        waiting.append(found)
            more += [ours for ours in children if ours]
        return more


def _joint(body: Body, exact: bool) -> Hashable:
    """The joint of a body; ``exact`` with its axes, whichever way they point."""
    about = body.joint.describe().replace("-", "") if exact else type(body.joint).__name__
    return about, len(body.coordinates), len(body.speeds)
