"""The choice of branch packs, packs of calls, and sines by increments, for code that uses vector registers.

Packs of calls combine independent calls of one elementary function, such as arctangents, into one call on a
vector. The Magic Formula of a tyre has 25 arctangents, 14 sines and cosines and few other expensive
operations, and its curves all differ, so it has no branch packs. But many of its calls do not depend on each
other. Such calls are grouped in rounds: a call that is not urgent waits for a later round if the present
round has no partner for it.

Within a step, sines of coordinates are computed by increments from the sines of the first stage. With an
angle x near the angle q of the first stage, and d = x − q,

    sin x = sin q + (cos q sin d + sin q (cos d − 1)),    cos x = cos q − (sin q sin d − cos q (cos d − 1)).

Taylor's series of sin d and cos d − 1 to the fifth and sixth order are exact to rounding for |d| ≤ 1/64; they
take 12 vector operations instead of 38. CUDA kernels do the same (``export/cuda/templates/increments.txt``).
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from armillary.algebra.expression import Expr, symbol
from armillary.algebra.functions import cos, let, maximum, sin
from armillary.algebra.walk import transform
from armillary.program.branch_packs import Column, Pack, possible_packs, strip_lets
from armillary.program.passes.graph import product_operations
from armillary.program.program import Program, ProgramSection, section
from armillary.program.repeated_parts import repeated_packs

# The choice of packs: the instructions that packs save must exceed those that move values between lanes.
#
# A pack saves the instructions of all its nodes but one. A column of operands that is not a pack must be
# assembled to a vector, and a lane that a single operation (one outside all packs) uses must be extracted;
# only lane 0 needs no instruction. A pack, or a set of connected packs, that costs more than it saves is
# dropped. All packs are dropped if they save less than SHARE of the instructions.

# A Stewart platform, whose packs save 0.14, takes 0.77 of the time on arm64 and 0.73 on x86-64; a hub with
# four antennas, whose packs save 0.12, takes 0.87 and 0.76.
SHARE = 0.1
_ROUNDS = 8  # most rounds in which packs are dropped
_FUNCTION = 20  # instructions of a sine that is computed where it is used


def worthwhile(
    packs: Sequence[Pack],
    nodes: Sequence[Expr],
    results: Iterable[Expr],
    places: Mapping[Expr, object],
    own_sines: bool = False,
) -> tuple[list[Pack], float]:
    """Return the profitable packs and the instructions that they save.

    ``places`` has (array, index) for each input. With ``own_sines``, sines and cosines of symbols cost
    instructions, too; otherwise they are computed all together before the nodes.
    """
    choice = _Choice(packs, nodes, results, places, own_sines)
    chosen = choice.choose_packs()
    saved = sum(map(choice.net, chosen))
    enough = SHARE * sum([choice.instructions(node) for node in nodes if node.kind != "let"])
    return (chosen, saved) if saved > enough else ([], 0.0)


def neighbours(column: Column, places: Mapping[Expr, object]) -> bool:
    """Return whether inputs are neighbours in an array, in order, so that one instruction loads all."""
    first = places.get(column[0])
    if not isinstance(first, tuple):
        return False
    array, start = first
    return [places.get(node) for node in column] == [(array, start + i) for i in range(len(column))]


class _Choice:
    """The packs that are still in use, and the users of their lanes."""

    def __init__(
        self,
        packs: Sequence[Pack],
        nodes: Sequence[Expr],
        results: Iterable[Expr],
        places: Mapping[Expr, object],
        own_sines: bool,
    ) -> None:
        self.places, self.own_sines = places, own_sines
        self.home = {node: pack for pack in packs for node in pack.lanes}
        self.users: dict[Expr, list[Expr]] = {}
        for node in nodes:
            if node.kind != "let":
                for a in node.args:
                    self.users.setdefault(strip_lets(a), []).append(node)
        self.results = {strip_lets(r) for r in results}
        self._out: dict[Pack, int] = {}
        self.saved = {pack: self._saved_instructions(pack) for pack in packs}
        self.column_users: dict[Column, list[Pack]] = {}
        for pack in packs:
            for column in pack.operands:
                self.column_users.setdefault(column, []).append(pack)
        # Numbers of active users, kept because a column of a flexible body may have hundreds of users.
        self.sharing = {column: len(users) for column, users in self.column_users.items()}

    def choose_packs(self) -> list[Pack]:
        packs = waiting = list(self.saved)
        for _ in range(_ROUNDS):
            waiting = [near for pack in waiting if not self._pays_off(pack) for near in self._drop(pack)]
            if not waiting:
                break
        packs = [pack for pack in packs if self._active(pack)]
        for group in self._connect_packs(packs):
            if sum(map(self.net, group)) <= 0:
                for pack in group:
                    self._drop(pack)
        return [pack for pack in packs if self._active(pack)]

    def _active(self, pack: Pack) -> bool:
        return pack.lanes[0] in self.home

    def _drop(self, pack: Pack) -> list[Pack]:
        """Drop a pack; return the active packs whose lanes are its operands or users."""
        for node in pack.lanes:
            del self.home[node]
        for column in pack.operands:
            self.sharing[column] -= 1
        operands = [self._pack_of(column) for column in pack.operands]
        near = [p for p in operands if p is not None]
        for p in near:
            self._out.pop(p, None)
        return near + [p for p in self.column_users.get(pack.lanes, ()) if self._active(p)]

    def _pays_off(self, pack: Pack) -> bool:
        """Return whether a pack saves instructions with the other active packs, or was dropped before."""
        if not self._active(pack):
            return True
        gain = self.saved[pack] - self._extraction_cost(pack)
        for column in pack.operands:
            operand = self._pack_of(column)
            if operand is None:
                gain -= self._assembly_cost(column, pack) if self.sharing[column] == 1 else 0
            elif not self._extraction_cost(operand):
                gain += len(column) - 1  # without this pack, single operations would need its lanes
        if self.sharing.get(pack.lanes, 0):
            gain += len(pack.lanes) - 1
        return gain >= 0

    def net(self, pack: Pack) -> float:
        net: float = self.saved[pack] - self._extraction_cost(pack)
        for column in pack.operands:
            if self._pack_of(column) is None:
                net -= self._assembly_cost(column, pack) / self.sharing[column]
        return net

    def _pack_of(self, column: Column) -> Pack | None:
        """Return the active pack whose lanes are this column, in order."""
        pack = self.home.get(column[0])
        return pack if pack is not None and pack.lanes == column else None

    def _assembly_cost(self, column: Column, pack: Pack) -> int:
        """Return the number of instructions that assemble a vector from a column that is not a pack."""
        first = column[0]
        if all([node is first for node in column]):
            return int(pack.kind == "sum")  # a product takes one factor for all lanes, without an instruction
        if first.kind == "number":
            return 0
        if neighbours(column, self.places):
            return 0
        whole = self.home.get(first)
        return 1 if whole is not None and {*column} <= {*whole.lanes} else len(column) - 1

    def _extraction_cost(self, pack: Pack) -> int:
        """Return the number of instructions that extract lanes for single operations."""
        count, home = self._out.get(pack, -1), self.home
        if count >= 0:
            return count
        count = 0
        for node in pack.lanes[1:]:
            if node in self.results:
                count += 1
                continue
            for user in self.users[node]:
                if user not in home and not self._is_sum_of_lanes(user, pack):
                    count += 1
                    break
        self._out[pack] = count
        return count

    def _is_sum_of_lanes(self, user: Expr, pack: Pack) -> bool:
        """Return whether a single operation is a sum of all lanes of a pack."""
        return user.kind == "sum" and {*pack.lanes} <= {*map(strip_lets, user.args)}

    def _saved_instructions(self, pack: Pack) -> int:
        return (len(pack.lanes) - 1) * self.instructions(pack.lanes[0])

    def instructions(self, node: Expr) -> int:
        """Return the number of instructions of a node.

        If one sum is the only user of a product, the last multiplication is fused into the sum.
        """
        if node.kind == "call":
            if node.data in ("sin", "cos"):
                grouped = node.args[0].kind == "symbol" and not self.own_sines
                return 0 if grouped else _FUNCTION
            return 1
        if node.kind == "sum":
            return len(node.args) - (0 if node.data[0] else 1)
        users = self.users.get(node, ())
        fused = len(users) == 1 and users[0].kind == "sum"
        return max(product_operations(node.data[1], abs(node.data[0]) != 1)[0] - fused, 0)

    def _connect_packs(self, packs: Sequence[Pack]) -> list[list[Pack]]:
        """Return the packs in groups that are connected through operands."""
        above: dict[Pack, Pack] = {pack: pack for pack in packs}

        def top(pack: Pack) -> Pack:
            while above[pack] is not pack:
                above[pack] = pack = above[above[pack]]
            return pack

        for pack in packs:
            for column in pack.operands:
                operand = self._pack_of(column)
                if operand is not None:
                    above[top(operand)] = top(pack)
        groups: dict[Pack, list[Pack]] = {}
        for pack in packs:
            groups.setdefault(top(pack), []).append(pack)
        return list(groups.values())


# Sections with packs: the last pass, for machine code with vector registers.


def in_lanes(alike: Sequence[Column], width: int) -> tuple[Column, ...]:
    """Split columns of corresponding states for packs of at most ``width`` lanes."""
    if width < 2:
        return ()
    return tuple([column[i : i + width] for column in alike for i in range(0, len(column), width)])


def pack_section(
    section: ProgramSection,
    alike: Sequence[Column],
    places: Mapping[Expr, object],
    *,
    own_sines: bool = False,
    width: int = 0,
) -> ProgramSection:
    """Return the section with the profitable packs, each pack's nodes side by side, if there are any.

    With ``own_sines``, sines of symbols are computed where they are used, not all together beforehand. With a
    ``width``, packs of at most ``width`` lanes are also searched for in repeated parts of the section.
    """
    nodes, results = section.nodes, section.results
    best: tuple[list[Pack], float] = ([], 0.0)
    pairs: list[Pack] | None = None
    for n in sorted({len(column) for column in alike}):  # four lanes need not be better than two
        possible = possible_packs(nodes, in_lanes(alike, n))
        pairs = possible if n == 2 else pairs
        best = max(best, worthwhile(possible, nodes, results, places, own_sines), key=lambda b: b[1])
    # With two lanes there is no search: the encoder for arm64 lacks such packs, so LLVM would make the code.
    if width > 2 and any([n.kind == "call" and n.data in PACKED_CALLS - ANGLES for n in nodes]):
        if pairs is None:
            pairs = possible_packs(nodes, in_lanes(alike, 2)) if alike else []
        possible = repeated_packs(
            nodes, width, pairs, lambda wide: worthwhile(wide, nodes, results, places, own_sines)[0]
        )
        best = max(best, worthwhile(possible, nodes, results, places, own_sines), key=lambda b: b[1])
    return _with_packs(section, best[0])


def pack_as(section: ProgramSection, other: ProgramSection, places: Mapping[Expr, object]) -> ProgramSection:
    """Return the section with the profitable packs of ``other`` whose nodes are all in the section, too.

    For example, outputs that are accelerations repeat most of the nodes of the derivatives.
    """
    own = set(section.nodes)
    possible = [pack for pack in other.packs if own.issuperset(pack.lanes)]
    return _with_packs(section, worthwhile(possible, section.nodes, section.results, places)[0])


def _with_packs(section: ProgramSection, packs: Sequence[Pack]) -> ProgramSection:
    if not packs:
        return section
    return replace(section, nodes=side_by_side(section.nodes, packs), packs=tuple(packs))


def side_by_side(nodes: Sequence[Expr], packs: Sequence[Pack]) -> tuple[Expr, ...]:
    """Return the nodes in nearly the same order, each pack's nodes together after all of their operands."""
    home = {node: pack for pack in packs for node in pack.lanes}
    listed = set(nodes)
    order: dict[Expr, None] = {}
    for wanted in nodes:
        waiting = [] if wanted in order else [wanted]
        while waiting:
            node = waiting[-1]
            if node in order:
                waiting.pop()
                continue
            pack = home.get(node)
            together = pack.lanes if pack is not None else (node,)
            missing = [a for n in together for a in n.args if a not in order and a in listed]
            if missing:
                waiting += missing
            else:
                order.update(dict.fromkeys(together))
                waiting.pop()
    return tuple(order)


# Functions of one argument that have vector code without branches.
PACKED_CALLS = frozenset(("sin", "cos", "tan", "asin", "acos", "atan", "exp", "log", "tanh"))
ANGLES = frozenset(("sin", "cos", "tan"))
LARGEST_ANGLE = 8.0e5  # largest angle for which the code of ANGLES has no branches
_DEPTH = 6  # levels of an expression that are used for a bound of its value


def pack_calls(
    section: ProgramSection, width: int, functions: Container[str] = PACKED_CALLS
) -> ProgramSection:
    """Return the section with packs of at most ``width`` independent calls of these functions.

    Sines, cosines and tangents of angles that may be large remain single calls. Symbols count as large, but
    their sines and cosines are computed all together before other operations.
    """
    if width < 2:
        return section
    taken = {node for pack in section.packs for node in pack.lanes}
    calls = [n for n in section.nodes if _is_packed(n) and n.data in functions and n not in taken]
    if len(calls) < 2:
        return section
    found = [
        Pack(lanes, (tuple([strip_lets(n.args[0]) for n in lanes]),))
        for lanes in _Rounds(section, calls, width)
    ]
    if not found:
        return section
    return _with_packs(section, (*section.packs, *found))


def calls_side_by_side(section: ProgramSection) -> ProgramSection:
    """Return the section in an order in which up to eight independent calls are adjacent.

    In this order a processor can begin a call before the preceding call has ended. Run lanes of a car with 14
    degrees of freedom, whose tyres call 26 arctangents each, take 0.77 of the time (x86-64).
    """
    return replace(section, nodes=pack_calls(section, 8).nodes)


def largest_size(node: Expr) -> float:
    """Return a bound of the magnitude of an expression from its form, such as π for 2 atan x."""
    low, high = _value_bounds(node, _DEPTH)
    return max(-low, high)


def _value_bounds(node: Expr, depth: int) -> tuple[float, float]:
    """Return bounds (low, high) of a value, from the form of its expression down to some depth."""
    node = strip_lets(node)
    if node.kind == "number":
        return float(node.data), float(node.data)
    if not depth or node.kind == "symbol":
        return -math.inf, math.inf
    if node.kind == "call":
        return _range_of_call(node, depth)
    ranges = [_value_bounds(a, depth - 1) for a in node.args]
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
        (a, b), (c, d) = (_value_bounds(x, depth - 1) for x in node.args)
        choose = min if node.data == "min" else max
        return choose(a, c), choose(b, d)
    if node.data == "select":
        (a, b), (c, d) = (_value_bounds(x, depth - 1) for x in node.args[1:])
        return min(a, c), max(b, d)
    size = _SIZES.get(node.data, math.inf) if isinstance(node.data, str) else math.inf
    return -size, size


_SIZES = {
    **dict.fromkeys(("sin", "cos", "tanh", "sign"), 1.0),
    **dict.fromkeys(("atan", "asin"), math.pi / 2),
    **dict.fromkeys(("acos", "atan2"), math.pi),
}


def _is_packed(node: Expr) -> bool:
    """Return whether a call has vector code without branches; functions of large angles have none."""
    if node.kind != "call" or node.data not in PACKED_CALLS:
        return False
    return node.data not in ANGLES or largest_size(node.args[0]) < LARGEST_ANGLE


class _Rounds:
    """Groups of calls that can be computed as one.

    The level of a node is the number of rounds of calls before it; the lanes of an existing pack have one
    level. Levels rise along every chain of calls, so groups of one round do not depend on each other.
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
        """Yield full groups, and smaller groups if a call cannot wait longer; ``left`` rounds remain."""
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
        """Return the earliest round of each node if calls without a round come in round ``now`` or later."""
        level: dict[Expr, int] = {}
        packs: dict[Column, int] = {}
        calls, mates = self.calls, self.mates
        for node in self.nodes:
            found = 0
            for a in node.args:
                if a in level:
                    here = level[a] + (a in calls)
                    found = here if here > found else found
            if node in mates:  # all lanes come before the users of any lane
                found = packs[mates[node]] = max(found, packs.get(mates[node], 0))
                for mate in mates[node]:
                    if mate in level:
                        level[mate] = found
            if node in calls:
                found = self.round[node] if node in self.round else max(found, now)
            level[node] = found
        return level

    def _calls_behind(self) -> dict[Expr, int]:
        """Return the number of calls on the longest chain of users of each node."""
        behind: dict[Expr, int] = {}
        for node in reversed(self.nodes):
            own = max([behind.get(n, 0) for n in self.mates.get(node, (node,))])
            here = own + (node in self.calls)
            for a in node.args:
                if here > behind.get(a, -1):
                    behind[a] = here
            behind.setdefault(node, own)
        return behind


LARGEST = 1.0 / 64.0**2  # largest d² for which the series are exact to rounding


@dataclass(frozen=True)
class NearSines:
    """Two sections in place of ``derivatives``: for the first stage of a step, and for the further stages.

    The results of the section for the first stage end with the sine and cosine of every angle. The section
    for further stages has the angles and sines of the first stage as inputs; its last result is the largest
    d².
    """

    first: ProgramSection
    further: ProgramSection
    angles: dict[Expr, int]  # inputs: index in the state
    sines: tuple[Expr, ...]  # inputs: sine, cosine, sine, …


def near_sines(program: Program) -> NearSines | None:
    """Return the two sections of a program, or `None` if they would save little.

    They save little without sines or cosines of coordinates, or with many other elementary functions, such as
    those of tyres.
    """
    derivatives = program.derivatives
    index_of = {s: i for i, s in enumerate(program.state)}
    calls = [n for n in derivatives.nodes if n.kind == "call" and n.data in ("sin", "cos")]
    found = dict.fromkeys([n.args[0] for n in calls if n.args[0] in index_of])
    others = [n for n in derivatives.nodes if n.kind == "call" and n.data in PACKED_CALLS]
    if not found or len(others) > 2 * len(calls):
        return None
    whole = [function(x) for x in found for function in (sin, cos)]
    missing = [n for n in whole if n not in calls]
    first = replace(
        derivatives,
        labels=(*derivatives.labels, *map(str, whole)),
        results=(*derivatives.results, *whole),
        nodes=(*missing, *derivatives.nodes),
    )
    angles: dict[Expr, int] = {}
    sines: list[Expr] = []
    instead: dict[Expr, Expr] = {}
    squares = []
    for x in found:
        q, s, c = (symbol(f"{name} {len(angles)} of the first stage") for name in ("angle", "sine", "cosine"))
        angles[q] = index_of[x]
        sines += [s, c]
        d = let(x - q)
        z = let(d * d)
        sine = let(d + let(d * z) * let(z / 120 - 1 / 6))
        less = let(z * let(z * let(1 / 24 - z / 720) - 1 / 2))
        instead[sin(x)], instead[cos(x)] = let(s + s * less + c * sine), let(c + c * less - s * sine)
        squares.append(z)
    results = [*transform(derivatives.results, instead.get), reduce(maximum, squares)]
    further = section("derivatives_near", [*derivatives.labels, "largest d²"], results)
    return NearSines(first, further, angles, tuple(sines))
