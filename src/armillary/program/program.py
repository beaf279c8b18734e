"""The generated program as data: sections of ordered assignments, and the constants that they share.

    precompute    constants from parameters, once per parameter set
    derivatives   q̇, u̇ and rates of the user's states from time, state, constants and memory
    outputs       the quantities of interest at a sample
    events        expressions whose zeros are events
    update        new memory, once per step
    fire          new memory and state when an event occurs, one section per event
    normalise     Euler parameters of unit length, closed contacts without drift
    correct       coordinates after one step of Newton's method towards closed loops
    geometry      gaps and speed relations of the constraints, which close the loops at the start of a run
    solve, …      sections for steps in redundant coordinates; see formalisms/redundant.py
    leave, …      sections for a change of configuration; see configurations.py

A section holds nodes in the order in which they are computed; each node refers to its operands.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from heapq import heapify, heappop, heappush
from typing import Any

from armillary.algebra.expression import Expr
from armillary.program.branch_packs import Pack
from armillary.program.passes import Graph, narrow
from armillary.program.passes.graph import Operations, sum_operations
from armillary.program.sparse_rates import SparseStructure

# The order in which a program's nodes are computed.
#
# A narrow program (few operations per cycle of its longest chain of dependent operations) waits for results.
# It is scheduled on a model machine that starts two operations per cycle: among the nodes whose operands are
# ready, the node with the longest chain of users goes first. Compared with an operands-first order, the
# Stanford arm is as fast, chains of 8 and 64 links are 5 % faster, and fewer values are spilled. A wide
# program is limited by registers, so it keeps the operands-first order, which finishes the operands of one
# result before those of the next. The floating tree of 31 bodies, a wide program, takes 1.5 times as long in
# the order of the model machine.

UNITS = 2  # operations that the model machine starts per cycle
WIDE = 3.5  # operations per cycle of the longest chain above which registers are the limit

# Cycles until a result can be used, typical of current 64-bit cores.
_ADD = _MULTIPLY = 4
_DIVIDE = 14
_FUNCTION = 20
_PLAIN_PRODUCT = (1, (1, 1))  # data of the most frequent product, of two values


def schedule(
    order: Iterable[Expr], *, enter_constants: bool = False
) -> tuple[tuple[Expr, ...], dict[Expr, int]]:
    """Return the nodes to compute, in order, and the cycle at which each is known.

    ``order`` has operands first. Symbols, numbers and, unless ``enter_constants``, constants are left out.
    """
    nodes = _computed_nodes(order, enter_constants)
    flow = _Flow(nodes)
    arrival = dict(zip(flow.nodes, flow.arrival, strict=True))
    for i, names in flow.names.items():
        arrival.update(dict.fromkeys(names, flow.arrival[i] if i is not None else 0))
    behind = flow.chains_behind()
    if len(nodes) > WIDE * max(behind, default=1):
        return tuple(nodes), arrival
    return flow.with_names(flow.longest_chain_first(behind)), arrival


def critical_path(order: Iterable[Expr]) -> int:
    """Return the cycles of the longest chain of dependent operations; ``order`` has operands first."""
    return max(_Flow(_computed_nodes(order, False)).arrival, default=0)


def _computed_nodes(order: Iterable[Expr], enter_constants: bool) -> list[Expr]:
    if enter_constants:
        return [n for n in order if n.kind != "symbol" and n.kind != "number"]
    return [n for n in order if not n.constant and n.kind != "symbol"]


class _Flow:
    """Operations by index, with their operands and latencies.

    ``arrival`` is the cycle at which a value is known if every operation starts as soon as its operands are
    known. ``names`` are the intermediate values by the operation that defines them. Sums and products combine
    operands in the order of their arrival, so that after the last arrival one operation remains.
    """

    def __init__(self, nodes: Sequence[Expr]) -> None:
        self.nodes: list[Expr] = []
        self.names: dict[int | None, list[Expr]] = {}  # None: names of given values
        self.operands: list[list[int]] = []
        self.own: list[int] = []
        self.arrival: list[int] = []
        waits_for: list[Any]  # integers; Any, because mypy does not see that None is removed below
        place: dict[Expr, int | None] = {}
        find = place.get
        arrival = self.arrival
        for node in nodes:
            kind, args = node.kind, node.args
            if kind == "let":
                place[node] = i = find(args[0])
                self.names.setdefault(i, []).append(node)
                continue
            place[node] = len(arrival)
            self.nodes.append(node)
            waits_for = list(map(find, args))
            if None in waits_for:
                waits_for = [i for i in waits_for if i is not None]
            self.operands.append(waits_for)
            latency = (
                _ADD if kind == "sum" else _MULTIPLY if node.data == _PLAIN_PRODUCT else _own_latency(node)
            )
            self.own.append(latency)
            waits = len(waits_for)
            if kind != "call" and (waits > 2 or waits < len(args)):
                times = [arrival[i] for i in waits_for]
                times.sort()
                arrival.append(_chain_end(node, times, len(args) - waits))
            elif waits == 1:
                arrival.append(arrival[waits_for[0]] + latency)
            elif waits == 2:
                first, second = arrival[waits_for[0]], arrival[waits_for[1]]
                arrival.append((first if first > second else second) + latency)
            else:
                arrival.append(max([arrival[i] for i in waits_for], default=0) + latency)

    def with_names(self, order: Iterable[int]) -> tuple[Expr, ...]:
        """Return the operations in this order, each followed by its intermediate values."""
        named = self.names.get
        found = list(named(None, ()))
        for i in order:
            found.append(self.nodes[i])
            found += named(i, ())
        return tuple(found)

    def chains_behind(self) -> list[int]:
        """Return the cycles of the longest chain that starts with each node."""
        arrival = self.arrival
        own = self.own
        behind = own.copy()
        for user in range(len(own) - 1, -1, -1):
            after, ranked = behind[user], self.operands[user]
            if len(ranked) > 2 and self.nodes[user].kind != "call":  # operands of a sum or product differ
                ranked = sorted(ranked, key=arrival.__getitem__)
                wait = _ADD * (len(ranked) - 2)  # for further operations of the chain
                for k, i in enumerate(ranked):
                    chain = own[i] + after + (wait if k < 2 else wait - _ADD * (k - 1))
                    if chain > behind[i]:
                        behind[i] = chain
            else:
                for i in ranked:
                    if own[i] + after > behind[i]:
                        behind[i] = own[i] + after
        return behind

    def longest_chain_first(self, behind: Sequence[int]) -> list[int]:
        """Return the indices of operations in the order in which the model machine starts them."""
        nodes, latency = self.nodes, self.own
        size = len(nodes)
        users: list[list[int]] = [[] for _ in nodes]
        waiting: list[int] = []
        for i, before in enumerate(self.operands):
            if len(before) > 1 and nodes[i].kind == "call":
                before = list(set(before))
            waiting.append(len(before))
            for a in before:
                users[a].append(i)
        # A number in the heap is i − chain · size: it sorts by the chain, and its remainder is the index i.
        priority = [i - chain * size for i, chain in enumerate(behind)]
        ready = [p for p, count in zip(priority, waiting, strict=True) if not count]
        heapify(ready)
        later: dict[int, list[int]] = {}  # priorities of nodes by the cycle at which operands are known
        start = [0] * size
        order: list[int] = []
        cycle = 0
        while ready or later:
            for p in later.pop(cycle, ()):
                heappush(ready, p)
            if not ready:
                cycle = min(later)
                continue
            started = 0
            while ready and started < UNITS:
                i = heappop(ready) % size
                order.append(i)
                started += 1
                finished = cycle + latency[i]
                for user in users[i]:
                    if finished > start[user]:
                        start[user] = finished
                    waiting[user] -= 1
                    if not waiting[user]:
                        begin = start[user]
                        if begin <= cycle:
                            heappush(ready, priority[user])
                        elif begin in later:
                            later[begin].append(priority[user])
                        else:
                            later[begin] = [priority[user]]
            cycle += 1
        return order


def _chain_end(node: Expr, times: list[int], given: int) -> int:
    """Return the cycle at which a sum or product is known.

    ``times`` are the cycles at which operands arrive; ``given`` further operands are known at the start.
    """
    step = _ADD if node.kind == "sum" else _MULTIPLY
    now = step * (given - 1)
    for t in times:
        now = (now if now > t else t) + step if given else t
        given = 1
    if node.kind == "sum":
        return now if len(node.args) > 1 else now + step
    coefficient, exponents = node.data
    return now + _beside_chain(exponents, coefficient != 1 and coefficient != -1)


@lru_cache(1024)
def _beside_chain(exponents: tuple[float, ...], scaled: bool) -> int:
    """Return the cycles that the number, powers and division of a product add to its chain."""
    extra = scaled + any([abs(n) > 1 for n in exponents])
    divided = any([n < 0 or n != int(n) for n in exponents])
    return _MULTIPLY * extra + (_DIVIDE if divided else 0)


def _own_latency(node: Expr) -> int:
    """Return the cycles from the last operand of a product or call to its value.

    Sines and cosines of symbols count 0: they are computed before all other operations.
    """
    if node.kind == "product":
        coefficient, exponents = node.data
        alone = len(exponents) == 1
        return (0 if alone else _MULTIPLY) + _beside_chain(exponents, coefficient != 1 and coefficient != -1)
    return 0 if node.data in ("sin", "cos") and node.args[0].kind == "symbol" else _FUNCTION


@dataclass(frozen=True, repr=False)
class ProgramSection:
    """Labelled results, and the nodes that compute them, operands first."""

    name: str
    labels: tuple[str, ...]
    results: tuple[Expr, ...]
    nodes: tuple[Expr, ...]
    operations: Operations
    arrival: Mapping[Expr, int] = field(compare=False)  # cycles at which nodes are known; see ``schedule``
    packs: tuple[Pack, ...] = ()  # nodes that are computed as one, on vectors; see branch_packs.py

    def __repr__(self) -> str:
        return f"Section({self.name!r}: {len(self.results)} results, {self.operations})"


def section(
    name: str, labels: Sequence[str], results: Graph | Sequence[Expr], *, constant: bool = False
) -> ProgramSection:
    """Return a section with its nodes in order; a ``constant`` section includes nodes that are constants."""
    graph = narrow(results if isinstance(results, Graph) else Graph(results))
    nodes, arrival = schedule(graph.order, enter_constants=constant)
    operations = sum_operations(nodes) if constant else graph.operations
    return ProgramSection(name, tuple(labels), tuple(graph.roots), nodes, operations, arrival)


@dataclass(frozen=True, repr=False)
class Program:
    """All sections of one system, and lists of their input symbols."""

    name: str
    parameters: tuple[Expr, ...]  # inputs of precompute, in order
    constants: tuple[Expr, ...]  # results of precompute, in order: inputs of all other sections
    state: tuple[Expr, ...]  # coordinates, the independent speeds, the user's own states
    memory: tuple[Expr, ...]
    time: Expr
    precompute: ProgramSection
    derivatives: ProgramSection
    outputs: ProgramSection
    events: ProgramSection
    update: ProgramSection
    fire: tuple[ProgramSection, ...]
    normalise: ProgramSection
    correct: ProgramSection
    corrected: tuple[int, ...]  # indices in the state that ``correct`` sets
    geometry: ProgramSection
    quaternions: tuple[int, ...]  # indices in the state where four Euler parameters start
    renewed: tuple[int, ...] = ()  # indices in the state that ``normalise`` sets
    correction_sizes: tuple[Expr, ...] = ()  # sizes of coordinates that ``correct`` sets: numbers, constants
    speed_sizes: tuple[Expr, ...] = ()  # sizes of all speeds in ``geometry``: numbers or constants
    row_sizes: tuple[Expr, ...] = ()  # sizes of the rows in ``geometry``: numbers or constants
    inputs: tuple[Expr, ...] = ()  # further inputs of the sections in `stepping`, after the state
    stepping: tuple[ProgramSection, ...] = ()  # further sections that integrators and the runtime call
    motion: tuple[Expr, ...] = ()  # inputs of ``changes`` except ``leave``, in place of the state
    changes: tuple[ProgramSection, ...] = ()  # sections for changes of configuration
    partial_rates: tuple[ProgramSection, ...] = ()  # one or none; ∂f/∂y by columns or sparse, then ∂f/∂t
    structure: SparseStructure | None = None  # of the equations of implicit steps, if they are sparse
    driven: tuple[Expr, ...] = ()  # inputs over time, whose memory holds the addresses of their data
    alike: tuple[tuple[Expr, ...], ...] = ()  # states of branches that are alike; see branch_packs.py
    tabled: tuple[tuple[Expr, Expr], ...] = ()  # (input, expression in time) if an export holds the data
    stops: tuple[tuple[float, bool], ...] = ()  # (time of a kink in data of inputs, whether they jump there)
    row_rates: tuple[tuple[int, Expr], ...] = ()  # (index of a state, its rate) for rates that outputs read

    @property
    def normalises(self) -> bool:
        """Whether a state is corrected after each step."""
        return bool(self.renewed or self.corrected)

    def sections(self) -> tuple[ProgramSection, ...]:
        """Return all sections in their fixed order."""
        return (
            self.precompute,
            self.derivatives,
            self.outputs,
            self.events,
            self.update,
            *self.fire,
            self.normalise,
            self.correct,
            self.geometry,
            *self.stepping,
            *self.changes,
            *self.partial_rates,
        )

    def __repr__(self) -> str:
        return f"Program({self.name!r}: {', '.join(s.name for s in self.sections())})"
