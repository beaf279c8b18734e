"""Packs of operations that a section repeats with other values, such as four tyres with different inputs.

Branch packs (branch_packs.py) follow the states of branches that are alike; they end where the branches
differ, as a steered axle differs from a rigid one. This file compares the operations themselves:

1.  Every operation gets four numbers. The first stands for its kind; the others stand also for the operations
    around it, up to the distances one, two and three (after Weisfeiler and Leman).
2.  If a number occurs exactly as often as there are lanes, its operations are the lanes of a pack, a seed.
3.  Packs grow from seeds along operands and users that correspond in all lanes without ambiguity: by numbers
    of the largest distance, then by numbers of smaller distances and the packs around them.
4.  Packs with circular dependences are given up.

packs.py chooses the profitable ones.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from armillary.algebra.expression import Expr
from armillary.program.branch_packs import CALLS, Pack, factor_kinds, strip_lets

DISTANCE = 3  # largest distance at which other operations influence a number
PACKED_FUNCTIONS = CALLS | {"tan", "asin", "acos", "atan", "exp", "log", "tanh", "sign"}
_Edge = tuple[int, int]  # an operation, and the kind of its connection

# Constants of a mixing function of 64 bits (Steele, Lea & Flood 2014, SplitMix).
_STEP, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def repeated_packs(
    nodes: Sequence[Expr],
    width: int,
    branches: Sequence[Pack],
    choose: Callable[[Sequence[Pack]], Sequence[Pack]],
) -> list[Pack]:
    """Return packs without circular dependences, of at most ``width`` lanes (a power of two), users first.

    The widest packs are chosen first, by ``choose``. The other operations may become packs of two lanes:
    those in ``branches``, and others that grow from them.
    """
    graph = _Graph(nodes)
    found: dict[int, tuple[int, ...]] = {}
    while width > 2:
        _Growth(graph, width, found)
        chosen = [graph.indices(pack) for pack in choose(graph.packs(found))]
        found = {i: column for column in chosen for i in column}
        width //= 2
    for pack in branches:
        column = graph.indices(pack)
        if found.keys().isdisjoint(column):
            found.update(dict.fromkeys(column, column))
    _Growth(graph, 2, found)
    return graph.packs(found)


class _Graph:
    """The operations of a section by index, without names of intermediate values."""

    def __init__(self, nodes: Sequence[Expr]) -> None:
        self.nodes = [n for n in nodes if n.kind != "let"]
        self.index = {n: i for i, n in enumerate(self.nodes)}
        numbering: dict[object, int] = {}
        self.own: list[int] = []  # the kind of each operation
        self.operands: list[list[_Edge]] = []
        self.users: list[list[_Edge]] = [[] for _ in self.nodes]
        for i, node in enumerate(self.nodes):
            kinds = range(len(node.args)) if node.kind == "call" else factor_kinds(node)
            below: list[_Edge] = []
            given: list[object] = []
            for x, kind in zip(node.args, kinds, strict=True):
                edge = numbering.setdefault(kind, len(numbering))
                x = strip_lets(x)
                at = self.index.get(x)
                if at is None:
                    given.append((edge, "number" if x.kind == "number" else x.data.role == "state"))
                else:
                    below.append((at, edge))
                    self.users[at].append((i, edge))
            self.operands.append(below)
            sized = node.data[0] != 0 if node.kind == "sum" else node.kind == "call" or abs(node.data[0]) != 1
            what = node.data if node.kind == "call" else (node.kind, sized)
            key = (what, tuple(sorted(map(str, given))), tuple(sorted([edge for _, edge in below])))
            self.own.append(numbering.setdefault(key, len(numbering)))
        self.numbers = self._numbers()

    def packable(self, i: int) -> bool:
        node = self.nodes[i]
        if node.kind == "call":
            return isinstance(node.data, str) and node.data in PACKED_FUNCTIONS
        return node.kind == "sum" or all([2 * n == int(2 * n) for n in node.data[1]])

    def _numbers(self) -> list[list[int]]:
        """Return the numbers of operations, for each distance up to which other operations influence them."""
        own = np.array(self.own, dtype=np.uint64)
        edges = [(user, i, edge) for user, below in enumerate(self.operands) for i, edge in below]
        user, operand, edge = np.array(edges or [(0, 0, 0)], dtype=np.int64).T
        kind = edge.astype(np.uint64)
        found = [own]
        for _ in range(DISTANCE):
            mixed = _mix(found[-1])
            below, above = np.zeros_like(own), np.zeros_like(own)
            if edges:
                np.add.at(below, user, _mix(mixed[operand] ^ (kind << np.uint64(1))))
                np.add.at(above, operand, _mix(mixed[user] ^ (kind << np.uint64(1) | np.uint64(1))))
            found.append(_mix(_mix(own) + np.uint64(3) * below + np.uint64(5) * above))
        return [np.unique(numbers, return_inverse=True)[1].tolist() for numbers in found]

    def indices(self, pack: Pack) -> tuple[int, ...]:
        return tuple([self.index[n] for n in pack.lanes])

    def packs(self, home: dict[int, tuple[int, ...]]) -> list[Pack]:
        """Return the packs of columns, users first, without circular dependences."""
        return [self.pack(column, home) for column in _without_circles(self, home)]

    def pack(self, column: Sequence[int], home: dict[int, tuple[int, ...]]) -> Pack:
        """Return the pack of a column, with operands in the order in which they correspond best."""
        lanes = tuple([self.nodes[i] for i in column])
        first = lanes[0]
        ours = [strip_lets(x) for x in first.args]
        if first.kind == "call":
            rows = [[strip_lets(x) for x in node.args] for node in lanes]
            return Pack(lanes, tuple(zip(*rows, strict=True)))
        columns: list[list[Expr]] = [[x] for x in ours]
        factors: list[list[float]] = [[c] for c in first.data[1]]
        kinds = factor_kinds(first)
        for k, node in enumerate(lanes[1:], 1):
            free: dict[float, list[tuple[Expr, float]]] = {}
            for y, factor, kind in zip(node.args, node.data[1], factor_kinds(node), strict=True):
                free.setdefault(kind, []).append((strip_lets(y), factor))
            for x, kind, members, own in sorted(
                zip(ours, kinds, columns, factors, strict=True),
                key=lambda c: self._mate(c[0], 0, home) is None,
            ):
                left = free[kind]
                mate = self._mate(x, k, home)
                ranks = [self._rank(x, y, mate, home, own[0] == factor) for y, factor in left]
                y, factor = left.pop(ranks.index(min(ranks)))
                members.append(y)
                own.append(factor)
        return Pack(lanes, tuple(map(tuple, columns)), tuple(map(tuple, factors)))

    def _mate(self, x: Expr, lane: int, home: dict[int, tuple[int, ...]]) -> int | None:
        """Return the index of the operation ``lane`` lanes after x in the pack of x, or None."""
        at = self.index.get(x, -1)
        after = home.get(at, ())[lane:]
        return after[home[at].index(at)] if at in home and home[at].index(at) < len(after) else None

    def _rank(
        self, x: Expr, y: Expr, mate: int | None, home: dict[int, tuple[int, ...]], equal: bool
    ) -> tuple[bool, ...]:
        """Return the sort key of y as a counterpart of x: whether it fails each test, the main one first."""
        at = self.index.get(y, -1)
        alike = x.kind == y.kind and (x.kind != "symbol" or x.data.role == y.data.role)
        return mate != at or mate is None, y is not x, at in home, not alike, not equal


def _mix(x: np.ndarray) -> np.ndarray:
    """Scramble the bits of whole numbers."""
    x = x + np.uint64(_STEP)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(_FIRST)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(_SECOND)
    mixed: np.ndarray = x ^ (x >> np.uint64(31))
    return mixed


class _Growth:
    """Columns of corresponding operations; ``columns`` has the column of each operation."""

    def __init__(self, graph: _Graph, lanes: int, columns: dict[int, tuple[int, ...]]) -> None:
        self.graph, self.lanes, self.columns = graph, lanes, columns
        self.lane: dict[int, int] = {}
        self._waiting: deque[tuple[int, ...]] = deque()
        self._wider = set(columns)
        for column in dict.fromkeys(columns.values()):  # packs also grow from parts of wider columns
            self.lane.update((i, k % lanes) for k, i in enumerate(column))
            self._waiting.extend([column[k : k + lanes] for k in range(0, len(column), lanes)])
        self._grow()
        for seed in self._seeds():
            if self._take(self._in_lanes(seed)):
                self._grow()

    def _seeds(self) -> Iterator[tuple[int, ...]]:
        """Yield operations whose number occurs exactly as often as there are lanes.

        Numbers of the largest distance come first, and the last operations first, since these depend on the
        most other operations.
        """
        for numbers in reversed(self.graph.numbers[1:]):
            groups: dict[int, list[int]] = {}
            for i, number in enumerate(numbers):
                if i not in self._wider:
                    groups.setdefault(number, []).append(i)
            for group in reversed(groups.values()):
                if len(group) == self.lanes:
                    yield tuple(group)

    def _in_lanes(self, column: tuple[int, ...]) -> tuple[int, ...]:
        """Return operations in the order of their neighbours' lanes, if each lane occurs once."""
        seen = [self._lanes_beside(i) for i in column]
        order = [next(iter(lanes)) if len(lanes) == 1 else -1 for lanes in seen]
        if sorted(order) != list(range(self.lanes)):
            return column
        return tuple([column[order.index(lane)] for lane in range(self.lanes)])

    def _lanes_beside(self, i: int) -> set[int]:
        near = (*self.graph.operands[i], *self.graph.users[i])
        return {self.lane[x] for x, _ in near if x in self.lane}

    def _take(self, column: tuple[int, ...]) -> bool:
        """Take operations as a pack if they are distinct, of one kind and in no other pack."""
        own = self.graph.own
        if len({*column}) < self.lanes or any(
            [i in self.columns or own[i] != own[column[0]] for i in column]
        ):
            return False
        if not self.graph.packable(column[0]):
            return False
        self.columns.update(dict.fromkeys(column, column))
        self.lane.update(zip(column, range(self.lanes), strict=True))
        self._waiting.append(column)
        return True

    def _grow(self) -> None:
        """Take neighbours of packs that correspond in all lanes, until there are none."""
        again: list[tuple[int, ...]] = []
        while self._waiting:
            grown = 0
            while self._waiting:
                column = self._waiting.popleft()
                grown += self._beside(column, self.graph.operands) + self._beside(column, self.graph.users)
                again.append(column)
            if grown:  # the new packs may distinguish neighbours that were ambiguous
                self._waiting.extend(again)
                again = []

    def _beside(self, column: tuple[int, ...], edges: Sequence[list[_Edge]]) -> int:
        """Take packs among the operands or users of a column, as ``edges`` says; return their number."""
        taken = 0
        for distance in (DISTANCE, 1, 0):
            numbers = self.graph.numbers[distance]
            rows: list[dict[object, list[int]]] = []
            for i in column:
                rows.append(self._free_operations_beside(i, edges, numbers, distance))
                if not rows[-1]:
                    return taken
            for key, members in rows[0].items():
                others = [row.get(key, []) for row in rows[1:]]
                if all([len(found) == 1 for found in (members, *others)]):
                    taken += self._take(tuple([found[0] for found in (members, *others)]))
        return taken

    def _free_operations_beside(
        self, i: int, edges: Sequence[list[_Edge]], numbers: list[int], distance: int
    ) -> dict[object, list[int]]:
        """Return operations in no pack beside operation i, by their kind and the packs beside them."""
        found: dict[object, list[int]] = {}
        for x, edge in edges[i]:
            if x not in self.columns:
                touched = () if distance == DISTANCE else self._packs_beside(x)
                found.setdefault((edge, numbers[x], touched), []).append(x)
        return found

    def _packs_beside(self, x: int) -> tuple[int, ...]:
        near = (*self.graph.operands[x], *self.graph.users[x])
        return tuple(sorted({self.columns[y][0] for y, _ in near if y in self.columns}))


def _without_circles(graph: _Graph, home: dict[int, tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Return the columns, users first; remove columns from ``home`` whose operations wait for each other."""
    missing = [len({x for x, _ in below}) for below in graph.operands]
    open_lanes = {column[0]: len(column) for column in home.values()}
    ready = deque([i for i, count in enumerate(missing) if not count])
    waiting = dict.fromkeys(column for column in home.values())
    order: list[tuple[int, ...]] = []
    while ready or waiting:
        if not ready:  # give up the column with the fewest missing lanes
            column = min(waiting, key=lambda c: open_lanes[c[0]])
            del waiting[column]
            for i in column:
                del home[i]
            ready.extend([i for i in column if not missing[i]])
            continue
        i = ready.popleft()
        column = home.get(i, (i,))
        if i in home:
            open_lanes[column[0]] -= 1
            if open_lanes[column[0]]:
                continue
            del waiting[column]
            order.append(column)
        for lane in column:
            for user in {x for x, _ in graph.users[lane]}:
                missing[user] -= 1
                if not missing[user]:
                    ready.append(user)
    return order[::-1]
