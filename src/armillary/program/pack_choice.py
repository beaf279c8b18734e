"""Packs that pay, and a section with packs: the last pass, for machine code with vector registers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from armillary.algebra.expression import Expr
from armillary.program.branch_packs import Column, Pack, possible_packs, strip_lets
from armillary.program.cost import product_operations

if TYPE_CHECKING:
    from armillary.program.program import ProgramSection


# Packs that pay: instructions that packs save, less those that move values between lanes and registers.
#
# A pack saves the instructions of all its nodes but one. A column of operands that is not a pack itself has
# to be put together, and a lane that a single operation needs has to be taken out (lane 0 is there without
# an instruction). A pack is given up where that costs more than it saves, and so is a set of connected
# packs. All are given up where they save less than SHARE of the instructions.

# At 0.14 a Stewart platform takes 0.77 of the time on arm64 and 0.73 on x86-64; at 0.12 a hub with four
# antennas takes 0.87 and 0.76.
SHARE = 0.1
_ROUNDS = 8
_FUNCTION = 20  # instructions of a sine that is not among the first ones


def worthwhile(
    packs: Sequence[Pack],
    nodes: Sequence[Expr],
    results: Iterable[Expr],
    places: Mapping[Expr, object],
    own_sines: bool = False,
) -> tuple[list[Pack], float]:
    """Return the profitable packs and the instructions that they save.

    ``places`` are the places (array, place) of inputs in arrays.
    """
    choice = _Choice(packs, nodes, results, places, own_sines)
    chosen = choice.choose_packs()
    saved = sum(map(choice.net, chosen))
    enough = SHARE * sum([choice.instructions(node) for node in nodes if node.kind != "let"])
    return (chosen, saved) if saved > enough else ([], 0.0)


def neighbours(column: Column, places: Mapping[Expr, object]) -> bool:
    """Whether inputs are neighbours in an array, in order, so that one instruction loads them."""
    first = places.get(column[0])
    if not isinstance(first, tuple):
        return False
    array, start = first
    return [places.get(node) for node in column] == [(array, start + i) for i in range(len(column))]


class _Choice:
    """Packs in use, and what uses their lanes."""

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
        self.saved = {pack: self._savings(pack) for pack in packs}
        self.column_users: dict[Column, list[Pack]] = {}
        for pack in packs:
            for column in pack.operands:
                self.column_users.setdefault(column, []).append(pack)
        # How many of them are in use: a column of a flexible body has hundreds.
        self.sharing = {column: len(users) for column, users in self.column_users.items()}

    def choose_packs(self) -> list[Pack]:
        packs = waiting = list(self.saved)
        for _ in range(_ROUNDS):
            waiting = [near for pack in waiting if not self._pays_off(pack) for near in self._given_up(pack)]
            if not waiting:
                break
        packs = [pack for pack in packs if self._active(pack)]
        for group in self._connect_packs(packs):
            if sum(map(self.net, group)) <= 0:
                for pack in group:
                    self._given_up(pack)
        return [pack for pack in packs if self._active(pack)]

    def _active(self, pack: Pack) -> bool:
        return pack.lanes[0] in self.home

    def _given_up(self, pack: Pack) -> list[Pack]:
        """Remove a pack; return the packs in use beside it."""
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
        """Whether a pack pays as things are, or is in use no more."""
        if not self._active(pack):
            return True
        gain = self.saved[pack] - self._taken_out(pack)
        for column in pack.operands:
            operand = self._pack_of(column)
            if operand is None:
                gain -= self._put_together(column, pack) if self.sharing[column] == 1 else 0
            elif not self._taken_out(operand):
                gain += len(column) - 1  # without this pack, single operations would need its lanes
        if self.sharing.get(pack.lanes, 0):
            gain += len(pack.lanes) - 1
        return gain >= 0

    def net(self, pack: Pack) -> float:
        net: float = self.saved[pack] - self._taken_out(pack)
        for column in pack.operands:
            if self._pack_of(column) is None:
                net -= self._put_together(column, pack) / self.sharing[column]
        return net

    def _pack_of(self, column: Column) -> Pack | None:
        """The pack in use whose lanes a column is, in order."""
        pack = self.home.get(column[0])
        return pack if pack is not None and pack.lanes == column else None

    def _put_together(self, column: Column, pack: Pack) -> int:
        """Instructions that make a vector of operands which are no pack."""
        first = column[0]
        if all([node is first for node in column]):
            return int(pack.kind == "sum")  # products take one number for all lanes
        if first.kind == "number":
            return 0
        if neighbours(column, self.places):
            return 0
        whole = self.home.get(first)
        return 1 if whole is not None and {*column} <= {*whole.lanes} else len(column) - 1

    def _taken_out(self, pack: Pack) -> int:
        """Instructions that take lanes out for single operations."""
        count, home = self._out.get(pack, -1), self.home
        if count >= 0:
            return count
        count = 0
        for node in pack.lanes[1:]:
            if node in self.results:
                count += 1
                continue
            for user in self.users[node]:
                if user not in home and not self._adds_up(user, pack):
                    count += 1
                    break
        self._out[pack] = count
        return count

    def _adds_up(self, user: Expr, pack: Pack) -> bool:
        """Whether a single operation adds up all lanes of a pack."""
        return user.kind == "sum" and {*pack.lanes} <= {*map(strip_lets, user.args)}

    def _savings(self, pack: Pack) -> int:
        return (len(pack.lanes) - 1) * self.instructions(pack.lanes[0])

    def instructions(self, node: Expr) -> int:
        """Of a node: a product that one sum alone uses is fused into it. A division of several numbers takes
        as long as several divisions.
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
        """Packs in groups that are connected through operands."""
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


# A section with packs: the last pass, for machine code with vector registers.


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
) -> ProgramSection:
    """Return the section with the profitable packs, the nodes of each side by side; itself if there are none.

    With ``own_sines``, sines of plain angles are computed at their use, not all of them together.
    """
    best: tuple[list[Pack], float] = ([], 0.0)
    for width in sorted({len(column) for column in alike}):  # four lanes need not be better than two
        possible = possible_packs(section.nodes, in_lanes(alike, width))
        best = max(
            best, worthwhile(possible, section.nodes, section.results, places, own_sines), key=lambda b: b[1]
        )
    packs = tuple(best[0])
    if not packs:
        return section
    return replace(section, nodes=side_by_side(section.nodes, packs), packs=packs)


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
