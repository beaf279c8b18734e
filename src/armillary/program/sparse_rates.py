"""The linear equations of implicit steps as sparse equations for states and intermediate values.

In relative coordinates ∂f/∂y of a chain is full, although the cost of the rates grows linearly with the
length. So the increments of intermediate values z of the rates are unknowns, in addition to the increments w
of the states,

    w/g − ∂f/∂y w − ∂f/∂z z = r
        −∂z/∂y w − ∂z/∂z z + z = 0

with g and r of solver/linearly_implicit.py (Griewank, Walther (2008), Evaluating Derivatives, section 9.3).
Intermediate values with few operands and few users are eliminated here, symbolically, by the chain rule. The
other unknowns are eliminated numerically in each step, in levels from one end of the graph to the other;
within a level the unknown with the fewest neighbours comes first (Markowitz 1957). In a tree this order leads
from the leaves to the root: a cable takes 480 operations per segment, and its factors have 200 elements per
segment. Without levels it takes twice as many operations: elimination then begins in several places, and the
values between two of them are coupled from both sides.

Pivots are on the diagonal, which is never structurally zero: it is 1 or 1/g before elimination. The step
detects a pivot that cancels (solver/linearly_implicit.py).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, fields
from heapq import heapify, heappop, heappush
from typing import NamedTuple

import numpy as np

from armillary.algebra.calculus import partial_derivative
from armillary.algebra.expression import UNIT, ZERO, Expr
from armillary.algebra.functions import let
from armillary.algebra.walk import operands_first

# An intermediate value with p operands and s users is eliminated symbolically if (p − 1)(s − 1) is not above
# this limit. With the limits 0, 1 and 2 a step takes 820, 460 and 1,050 operations per segment of a cable:
# higher limits couple values of bodies that are not neighbours.
_FEW = 1
_LEVELS = (1, 4)  # numbers of levels that are merged into one on trial; the cheapest elimination is kept
_HUB = 4  # a value with more neighbours than this many times the mean is left out of distances
SOLUTIONS = 8  # solutions with each factorisation, in rodas5p


@dataclass(frozen=True)
class SparseStructure:
    """Positions of the elements of sparse equations, in the order of elimination; indices begin with zero.

    Row i of the factors has the elements `row_start[i]` … `row_start[i + 1]`; from `upper_start[i]` on they
    lie to the right of the diagonal. `column` has their columns. `entry_start` and `entry_column` are the
    same for the elements of the equations, which are the results of the section of partial derivatives.
    `state_of` is the state of a row, −1 if the row belongs to an intermediate value. `forward` lists the rows
    of intermediate values, operands before users, and then those of states.
    """

    row_start: tuple[int, ...]
    upper_start: tuple[int, ...]
    column: tuple[int, ...]
    entry_start: tuple[int, ...]
    entry_column: tuple[int, ...]
    state_of: tuple[int, ...]
    forward: tuple[int, ...]
    operations: int  # products of an elimination

    @property
    def unknowns(self) -> int:
        return len(self.state_of)

    @property
    def extent(self) -> tuple[int, int]:
        """Unknowns and entries."""
        return self.unknowns, len(self.entry_column)

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Unknowns, entries and factors."""
        return self.unknowns, len(self.entry_column), len(self.column)

    def tables(self) -> dict[str, tuple[int, ...]]:
        """Return all tables by name."""
        return {name: getattr(self, name) for name in TABLES}

    def packed_tables(self) -> np.ndarray:
        """Return all tables in one array, after the indices at which they begin."""
        tables = list(self.tables().values())
        starts = np.cumsum([len(tables), *(len(table) for table in tables[:-1])])
        return np.concatenate([starts, *tables]).astype(np.int32)


TABLES = ("extent", *(f.name for f in fields(SparseStructure) if f.name != "operations"))


class _Graph:
    """Values that depend on states, with their partial derivatives by their operands.

    Nodes are numbered: states first, then intermediate values (operands before users), then rates.
    """

    def __init__(self, rates: Sequence[Expr], state: Sequence[Expr]) -> None:
        number = {s: i for i, s in enumerate(state)}
        self.states = len(state)
        self.sources: dict[int, dict[int, Expr]] = {}
        self.users: dict[int, dict[int, None]] = {i: {} for i in range(self.states)}
        for node in operands_first(rates):
            if node in number or all([a not in number for a in node.args]):
                continue
            number[node] = made = len(number)
            self.users[made] = {}
            moving = {a: number[a] for a in node.args if a in number}
            found = {k: partial_derivative(node, a) for a, k in moving.items()}
            self._add(made, {k: p for k, p in found.items() if p is not ZERO})
        self.first_rate = len(number)
        for i, rate in enumerate(rates):
            self._add(self.first_rate + i, {number[rate]: UNIT} if rate in number else {})

    def _add(self, made: int, sources: dict[int, Expr]) -> None:
        self.sources[made] = sources
        for k in sources:
            self.users[k][made] = None

    def values(self) -> list[int]:
        """Return the intermediate values that are not eliminated."""
        return [k for k in self.sources if k < self.first_rate]

    def eliminate_few(self) -> None:
        """Eliminate intermediate values with few operands and few users."""
        for most in range(_FEW + 1):
            waiting = dict.fromkeys(self.values())
            while waiting:
                k = next(iter(waiting))
                del waiting[k]
                if (len(self.sources[k]) - 1) * (len(self.users[k]) - 1) <= most:
                    near = self._eliminate(k)
                    waiting |= dict.fromkeys(j for j in near if self.states <= j < self.first_rate)

    def _eliminate(self, k: int) -> list[int]:
        """Eliminate a value; return its neighbours."""
        sources, users = self.sources.pop(k), self.users.pop(k)
        for i in sources:
            del self.users[i][k]
        for j in users:
            own = self.sources[j]
            outer = own.pop(k)
            for i, inner in sources.items():
                found = _product(outer, inner)
                own[i] = _name_partial(own[i] + found) if i in own else found
                self.users[i][j] = None
        return [*sources, *users]


def _product(a: Expr, b: Expr) -> Expr:
    return b if a is UNIT else a if b is UNIT else _name_partial(a * b)


def _name_partial(value: Expr) -> Expr:
    """Return a value as an intermediate value: products of products would otherwise repeat their factors."""
    return value if value.kind in ("number", "symbol", "let") else let(value, "partial")


def sparse_rates(rates: Sequence[Expr], state: Sequence[Expr]) -> tuple[SparseStructure, list[Expr]]:
    """Return the structure of the equations, and the partial derivatives in the order of its entries."""
    graph = _Graph(rates, state)
    graph.eliminate_few()
    values, states = graph.values(), len(state)
    unknown = {k: i for i, k in enumerate((*range(states), *values))}
    rows = [graph.sources[graph.first_rate + i] for i in range(states)] + [graph.sources[k] for k in values]
    known = [{unknown[k]: p for k, p in row.items()} for row in rows]
    order, factors, operations = _best_elimination(known)
    position = {i: m for m, i in enumerate(order)}
    row_start, upper_start, column = [0], [], list[int]()
    entry_start, entry_column, entries = [0], list[int](), list[Expr]()
    for m, i in enumerate(order):
        columns = sorted(position[j] for j in factors[i])
        upper_start.append(len(column) + sum(c < m for c in columns))
        column += columns
        row_start.append(len(column))
        for c, p in sorted((position[j], p) for j, p in known[i].items()):
            entry_column.append(c)
            entries.append(p)
        entry_start.append(len(entries))
    structure = SparseStructure(
        row_start=tuple(row_start),
        upper_start=tuple(upper_start),
        column=tuple(column),
        entry_start=tuple(entry_start),
        entry_column=tuple(entry_column),
        state_of=tuple(i if i < states else -1 for i in order),
        forward=tuple(position[i] for i in (*range(states, len(order)), *range(states))),
        operations=operations,
    )
    return structure, entries


def _best_elimination(known: Sequence[Iterable[int]]) -> _Elimination:
    """Return the cheapest elimination, by levels or without levels."""
    levels = _graph_levels(known)
    tried = [_eliminate_all(known, [level // size for level in levels]) for size in _LEVELS]
    tried.append(_eliminate_all(known, [0] * len(levels)))
    return min(tried, key=lambda found: found.operations + SOLUTIONS * sum(map(len, found.factors)))


def _graph_levels(known: Sequence[Iterable[int]]) -> list[int]:
    """Return each unknown's distance from an end of the graph; −1 for unknowns with many neighbours."""
    near: list[dict[int, None]] = [{} for _ in known]
    for i, row in enumerate(known):
        for j in row:
            if j != i:
                near[i][j] = near[j][i] = None
    most = _HUB * sum(map(len, near)) / max(len(near), 1)
    levels = [-1] * len(near)
    for i, others in enumerate(near):
        if levels[i] < 0 and len(others) <= most:
            found = _distances(near, i, most)
            for _ in range(3):  # the farthest unknown from the farthest one is nearly an end of the graph
                found = _distances(near, max(found, key=lambda k: (found[k], -len(near[k]))), most)
            for k, distance in found.items():
                levels[k] = distance
    return levels


def _distances(near: Sequence[Collection[int]], start: int, most: float) -> dict[int, int]:
    """Return distances from ``start``, on paths without unknowns that have more than ``most`` neighbours."""
    found, present = {start: 0}, [start]
    while present:
        following: dict[int, None] = {}
        for i in present:
            following |= dict.fromkeys(j for j in near[i] if j not in found and len(near[j]) <= most)
        distance = found[present[0]] + 1
        found |= dict.fromkeys(following, distance)
        present = list(following)
    return found


class _Elimination(NamedTuple):
    """The order of elimination, each row's columns of factors off the diagonal, the number of products."""

    order: list[int]
    factors: list[list[int]]
    operations: int


def _eliminate_all(known: Sequence[Iterable[int]], levels: Sequence[int]) -> _Elimination:
    """Eliminate all unknowns, higher levels first; within a level, unknowns with few neighbours first."""
    rows = [{i: None, **dict.fromkeys(row)} for i, row in enumerate(known)]
    columns: list[dict[int, None]] = [{i: None} for i in range(len(rows))]
    for i, row in enumerate(rows):
        for j in row:
            columns[j][i] = None

    def fill(i: int) -> int:
        return (len(rows[i]) - 1) * (len(columns[i]) - 1)

    factors: list[list[int]] = [[] for _ in rows]
    order: list[int] = []
    operations, gone = 0, [False] * len(rows)
    waiting = [(-levels[i], fill(i), i) for i in range(len(rows))]
    heapify(waiting)
    while waiting:
        _, most, i = heappop(waiting)
        if gone[i] or fill(i) != most:
            continue
        gone[i] = True
        order.append(i)
        operations += most
        row, column = rows[i], columns[i]
        del row[i], column[i]
        factors[i] += row
        for j in column:
            factors[j].append(i)
            del rows[j][i]
            rows[j] |= row
        for j in row:
            del columns[j][i]
            columns[j] |= column
        for j in {**row, **column}:
            heappush(waiting, (-levels[j], fill(j), j))
    return _Elimination(order, factors, operations)
