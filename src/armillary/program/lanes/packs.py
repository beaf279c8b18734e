"""Pairs of nodes of a section that are the same operation in two branches.

Let σ exchange the states that correspond. Two numbers are given to every node: one for the node and one for
its image under σ, such that equal numbers mean equal expressions, up to the values of numbers, signs,
constants and other given values. A node whose image has the number of another node may be paired with it.
Equal numbers mean equal height above the leaves, so neither node of a pair depends on the other, and no pairs
depend on each other in a circle.

Where several nodes have the same number (they differ in constants), users decide: nodes are visited from the
results on, and the operands of a pair become pairs as they correspond.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from armillary.algebra.expression import Expr
from armillary.program.lanes.pack import Pack, meant

# Calls that have instructions for vectors, or (sines) functions of them.
CALLS = frozenset(("sin", "cos", "abs", "min", "max", "select", "lt", "le", "gt", "ge", "eq", "ne"))
_GIVEN, _NUMBER = -1, -2

Matched = list[tuple[Expr, Expr, float, float]]  # two operands with their coefficients or exponents


def possible_packs(nodes: Sequence[Expr], alike: Sequence[tuple[Expr, ...]]) -> list[Pack]:
    """All pairs of nodes that may be computed as one, users first."""
    numbering = _Numbering(nodes, alike)
    own, image, side = numbering.own, numbering.image, numbering.side
    real = [n for n in nodes if n.kind != "let"]
    of_number: dict[int, list[Expr]] = {}
    for node in real:
        of_number.setdefault(own[node], []).append(node)
    partner: dict[Expr, Expr] = {}
    lane: dict[Expr, int] = {}  # of a node in its pair, as its user has it

    def pair(a: Expr, b: Expr) -> None:
        if a is not b and a.args and a not in partner and b not in partner:
            partner[a], partner[b] = b, a
            lane[a], lane[b] = 0, 1

    packs = []
    done: set[Expr] = set()
    for node in reversed(real):
        if node in done or not _packable(node):
            continue
        number = image[node]
        if node not in partner:
            if number == own[node]:
                for x, y, _, _ in _matched(node, node, image, own, partner):
                    pair(x, y)
                continue
            others = [n for n in of_number.get(number, ()) if n not in partner]
            if not others:
                continue
            pair(node, min(others, key=lambda n: _difference(node, n)))
        other = partner[node]
        done |= {node, other}
        a, b = (node, other) if (side[node], -lane[node]) > (side[other], -lane[other]) else (other, node)
        matched = _matched(a, b, own if own[a] == own[b] else image, own, partner)
        for x, y, _, _ in matched:
            pair(x, y)
        columns = tuple([(x, y) for x, y, _, _ in matched])
        factors = tuple([(c, d) for _, _, c, d in matched]) if a.kind != "call" else ()
        packs.append(Pack((a, b), columns, factors))
    return packs


def _packable(node: Expr) -> bool:
    if node.kind == "product":
        return all([2 * n == int(2 * n) for n in node.data[1]])
    return node.kind == "sum" or (isinstance(node.data, str) and node.data in CALLS)


def _difference(a: Expr, b: Expr) -> int:
    """How many numbers of two nodes differ in size."""
    if a.kind == "call":
        return 0
    sizes = [sorted(map(abs, (n.data[0], *n.data[1]))) for n in (a, b)]
    return sum([x != y for x, y in zip(*sizes, strict=True)])


def _matched(
    a: Expr, b: Expr, image: Mapping[Expr, int], own: Mapping[Expr, int], partner: Mapping[Expr, Expr]
) -> Matched:
    """The operands of a with those of b that correspond: partners where these are chosen, else those with
    numbers of the same size before them.
    """
    ours, theirs = [meant(x) for x in a.args], [meant(y) for y in b.args]
    if a.kind == "call":
        return [(x, y, 1, 1) for x, y in zip(ours, theirs, strict=True)]
    free: dict[tuple[int, float], list[tuple[Expr, float]]] = {}
    for y, d in zip(theirs, b.data[1], strict=True):
        free.setdefault((own[y], _factor(b, d)), []).append((y, d))
    found: Matched = []
    for x, c in zip(ours, a.data[1], strict=True):
        left = free[image[x], _factor(a, c)]
        chosen = 0
        if len(left) > 1:
            mate = partner.get(x)
            ranks = [(y is not mate and y is not x, y in partner, abs(d) != abs(c)) for y, d in left]
            chosen = ranks.index(min(ranks))
        y, d = left.pop(chosen)
        found.append((x, y, c, d))
    return found


def _factor(node: Expr, factor: float) -> float:
    """What of a coefficient or exponent is the same in all lanes: whether there is a coefficient."""
    return float(abs(factor) == 1) if node.kind == "sum" else factor


class _Numbering:
    """Numbers of nodes and of their images, and the side to which each node belongs: 1, 0 or −1."""

    def __init__(self, nodes: Sequence[Expr], alike: Sequence[tuple[Expr, ...]]) -> None:
        self.own: dict[Expr, int] = {}
        self.image: dict[Expr, int] = {}
        self.side: dict[Expr, int] = {}
        self._numbers: dict[tuple[object, ...], int] = {}
        for a, b in alike:
            self.own[a] = self.image[b] = self._number("state", a)
            self.own[b] = self.image[a] = self._number("state", b)
            self.side[a], self.side[b] = 1, -1
        own, image, side = self.own, self.image, self.side
        for node in nodes:
            kind = node.kind
            if kind == "let":
                inner = meant(node)
                own[node], image[node], side[node] = own[inner], image[inner], side[inner]
                continue
            args = node.args
            for a in args:
                if a not in own:
                    own[a] = image[a] = self._leaf(a)
                    side[a] = 0
            head: tuple[object, ...]
            if kind == "call":
                head = (node.data,)
                ours: list[Any] = [own[a] for a in args]
                theirs: list[Any] = [image[a] for a in args]
            else:
                number, factors = node.data
                if kind == "sum":
                    head = ("+", number != 0)
                    factors = [abs(c) == 1 for c in factors]
                else:
                    head = ("*", number == 1 or number == -1)
                ours = sorted([(own[a], f) for a, f in zip(args, factors, strict=True)])
                theirs = sorted([(image[a], f) for a, f in zip(args, factors, strict=True)])
            own[node] = image[node] = self._number(*head, *ours)
            side[node] = 0
            if ours != theirs:
                image[node] = self._number(*head, *theirs)
                total = sum([side[a] for a in args])
                side[node] = (total > 0) - (total < 0)

    def _number(self, *key: object) -> int:
        return self._numbers.setdefault(key, len(self._numbers))

    def _leaf(self, node: Expr) -> int:
        if node.kind == "number":
            return _NUMBER
        role = node.data.role
        return _GIVEN if role in ("parameter", "memory") else self._number("state", node)
