"""Coordinates and speeds that correspond, because the branches of the tree to which they belong are alike."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence

from armillary.algebra.expression import Expr
from armillary.model.body import Body
from armillary.model.description import Description


def corresponding(system: Description, state: Sequence[Expr]) -> tuple[tuple[Expr, ...], ...]:
    """Pairs of states of branches that hang on one body and have the same joints.

    Siblings are paired that have the same joints about the same axes, up to their sign; of the rest those
    with the same joints; of the rest those with the same first joint. Numbers are not looked at: which
    operations of two branches really are the same is left to the expressions.
    """
    by_name = {s.data.name: s for s in state}
    pairs = _Pairs(system)
    found = [(by_name.get(a.data.name), by_name.get(b.data.name)) for a, b in pairs.symbols]
    return tuple((a, b) for a, b in found if a is not None and b is not None)


class _Pairs:
    """Pairs of bodies, from the ground outwards."""

    def __init__(self, system: Description) -> None:
        self.symbols: list[tuple[Expr, Expr]] = []
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
        roots = [b for b in system.bodies.values() if b.parent is None or b.parent is system.ground]
        waiting = [roots]
        while waiting:
            waiting += self._paired(waiting.pop())

    def _paired(self, siblings: list[Body]) -> Iterable[list[Body]]:
        """Pairs among siblings and below them; returns lists of siblings that remain to be paired."""
        left = list(siblings)
        more: list[list[Body]] = []
        for key in self._likeness:
            single: dict[Hashable, Body] = {}
            for body in left:
                other = single.pop(key(body), None)
                if other is None:
                    single[key(body)] = body
                else:
                    more += self._together(other, body)
            left = list(single.values())
        return [*more, *(self._children[b] for b in left if b in self._children)]

    def _together(self, a: Body, b: Body) -> list[list[Body]]:
        """Two branches whose first bodies correspond; returns the children that have no counterpart."""
        more: list[list[Body]] = []
        waiting = [(a, b)]
        while waiting:
            a, b = waiting.pop()
            self.symbols += zip(a.coordinates, b.coordinates, strict=False)
            self.symbols += zip(a.speeds, b.speeds, strict=False)
            ours, theirs = list(self._children.get(a, ())), list(self._children.get(b, ()))
            for key in self._likeness:
                for child in list(ours):
                    other = next((t for t in theirs if key(t) == key(child)), None)
                    if other is not None:
                        ours.remove(child)
                        theirs.remove(other)
                        waiting.append((child, other))
            more += [c for c in (ours, theirs) if c]
        return more


def _joint(body: Body, exact: bool) -> Hashable:
    """The joint of a body; ``exact`` with its axes, whichever way they point."""
    about = body.joint.describe().replace("-", "") if exact else type(body.joint).__name__
    return about, len(body.coordinates), len(body.speeds)
