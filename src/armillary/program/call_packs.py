"""Call packs: independent calls of one elementary function, such as arctangents, as one on a vector.

The Magic Formula of a tyre has 25 arctangents, 14 sines and cosines and few other expensive operations, and
no two of its curves are alike, so branch packs find nothing in it. But many of its calls do not wait for each
other. They are taken in rounds: a call that could wait is put off while its round has no partner for it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from armillary.algebra.expression import Expr
from armillary.program.branch_packs import Column, Pack, strip_lets
from armillary.program.pack_choice import side_by_side
from armillary.program.program import ProgramSection

# Functions of one number with code for vectors that has no branches.
PACKED_CALLS = frozenset(("sin", "cos", "tan", "asin", "acos", "atan", "exp", "log", "tanh"))
ANGLES = frozenset(("sin", "cos", "tan"))
LARGEST_ANGLE = 8.0e5  # up to which their code has no branches
_DEPTH = 6  # of an expression in which a bound of its value is searched


def pack_calls(section: ProgramSection, width: int) -> ProgramSection:
    """Return the section with packs of calls that do not depend on each other, at most ``width`` in one.

    Sines of symbols and of other angles that may be large stay: the former are taken together before all
    else, the latter are calls.
    """
    if width < 2:
        return section
    taken = {node for pack in section.packs for node in pack.lanes}
    calls = [n for n in section.nodes if _is_packed(n) and n not in taken]
    if len(calls) < 2:
        return section
    found = [
        Pack(lanes, (tuple([strip_lets(n.args[0]) for n in lanes]),))
        for lanes in _Rounds(section, calls, width)
    ]
    if not found:
        return section
    packs = (*section.packs, *found)
    return replace(section, nodes=side_by_side(section.nodes, packs), packs=packs)


def largest_size(node: Expr) -> float:
    """Return a bound of the size of a value that follows from its form alone, such as π of 2 atan x."""
    low, high = _range(node, _DEPTH)
    return max(-low, high)


def _range(node: Expr, depth: int) -> tuple[float, float]:
    """Numbers between which a value is, from its form down to some depth."""
    node = strip_lets(node)
    if node.kind == "number":
        return float(node.data), float(node.data)
    if not depth or node.kind == "symbol":
        return -math.inf, math.inf
    if node.kind == "call":
        return _range_of_call(node, depth)
    ranges = [_range(a, depth - 1) for a in node.args]
    number, factors = node.data
    if node.kind == "sum":
        ends = [(c * low, c * high) for c, (low, high) in zip(factors, ranges, strict=True)]
        return number + sum([min(x) for x in ends]), number + sum([max(x) for x in ends])
    sizes = [max(-low, high) for low, high in ranges]
    if min(factors) < 0 or math.inf in sizes:
        return -math.inf, math.inf
    size = abs(number) * math.prod([size**n for n, size in zip(factors, sizes, strict=True)])
    return -size, size


def _range_of_call(node: Expr, depth: int) -> tuple[float, float]:
    if node.data in ("min", "max"):
        (a, b), (c, d) = (_range(x, depth - 1) for x in node.args)
        choose = min if node.data == "min" else max
        return choose(a, c), choose(b, d)
    if node.data == "select":
        (a, b), (c, d) = (_range(x, depth - 1) for x in node.args[1:])
        return min(a, c), max(b, d)
    size = _SIZES.get(node.data, math.inf) if isinstance(node.data, str) else math.inf
    return -size, size


_SIZES = {
    **dict.fromkeys(("sin", "cos", "tanh", "sign"), 1.0),
    **dict.fromkeys(("atan", "asin"), math.pi / 2),
    **dict.fromkeys(("acos", "atan2"), math.pi),
}


def _is_packed(node: Expr) -> bool:
    """Whether a call has code without branches: angles that may be large do not."""
    if node.kind != "call" or node.data not in PACKED_CALLS:
        return False
    return node.data not in ANGLES or largest_size(node.args[0]) < LARGEST_ANGLE


class _Rounds:
    """Groups of calls. ``level`` of a node: the calls that must be over before it, in whole rounds; packs
    that exist already are one operation. Levels rise along every chain from call to call, so groups of one
    round cannot wait for each other.
    """

    def __init__(self, section: ProgramSection, calls: Sequence[Expr], width: int) -> None:
        self.nodes, self.width = section.nodes, width
        self.calls = set(calls)
        self.mates: Mapping[Expr, Column] = {n: pack.lanes for pack in section.packs for n in pack.lanes}
        self.behind = self._calls_behind()
        self.round: dict[Expr, int] = {}  # of calls that are in a group

    def __iter__(self) -> Iterator[tuple[Expr, ...]]:
        level = self._levels(0)
        last = max([level[n] + self.behind[n] for n in self.calls])
        now = 0
        while len(self.round) < len(self.calls):
            waiting: dict[str, list[Expr]] = {}
            for node in self.nodes:
                if node in self.calls and node not in self.round and level[node] <= now:
                    waiting.setdefault(node.data, []).append(node)
            for ready in waiting.values():
                ready.sort(key=self.behind.__getitem__, reverse=True)
                for group in self._groups(ready, last - now):
                    self.round |= dict.fromkeys(group, now)
                    if len(group) > 1:
                        yield group
            now += 1
            level = self._levels(now)

    def _groups(self, ready: list[Expr], left: int) -> Iterator[tuple[Expr, ...]]:
        """Full groups, and the rest if one of it cannot wait: ``left`` rounds are enough for all."""
        width = self.width
        while ready:
            if len(ready) < width:
                if self.behind[ready[0]] < left:
                    return
                while len(ready) < width:
                    width //= 2
            yield tuple(ready[:width])
            del ready[:width]

    def _levels(self, now: int) -> dict[Expr, int]:
        """The round from which on each node could be taken, if what waits is taken ``now`` at the soonest."""
        level: dict[Expr, int] = {}
        packs: dict[Column, int] = {}
        calls, mates = self.calls, self.mates
        for node in self.nodes:
            found = 0
            for a in node.args:
                if a in level:
                    here = level[a] + (a in calls)
                    found = here if here > found else found
            if node in mates:  # all lanes come before what needs one of them
                found = packs[mates[node]] = max(found, packs.get(mates[node], 0))
                for mate in mates[node]:
                    if mate in level:
                        level[mate] = found
            if node in calls:
                found = self.round[node] if node in self.round else max(found, now)
            level[node] = found
        return level

    def _calls_behind(self) -> dict[Expr, int]:
        """The calls on the longest chain from each node on, its own left out."""
        behind: dict[Expr, int] = {}
        for node in reversed(self.nodes):
            own = max([behind.get(n, 0) for n in self.mates.get(node, (node,))])
            here = own + (node in self.calls)
            for a in node.args:
                if here > behind.get(a, -1):
                    behind[a] = here
            behind.setdefault(node, own)
        return behind
