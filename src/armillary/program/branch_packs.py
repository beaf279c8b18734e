"""Branch packs: operations of similar branches, such as legs or panels, as one operation on a vector.

Input: a section, and the corresponding coordinates and speeds of branches of the tree. Output: packs of nodes
that can be computed together; packs.py chooses the packs that save time and rewrites the section with them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from armillary.algebra.expression import Expr
from armillary.algebra.node import DIFFERENCE, PRODUCT_OF_TWO, SUM_OF_TWO
from armillary.model.bodies.body import Body
from armillary.model.description import Description

# Coordinates and speeds that correspond, because the branches of the tree to which they belong are alike.


def corresponding(system: Description, state: Sequence[Expr]) -> tuple[tuple[Expr, ...], ...]:
    """Return tuples of corresponding states, from two or four branches on one body with the same joints.

    First, branches are grouped that have the same joints about the same axes, up to sign; then, of the
    others, those that have the same joints; then those that have the same first joint. Numbers are ignored:
    the comparison of expressions shows later which operations of the branches are the same.
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
            waiting += self._group_siblings(waiting.pop())

    def _group_siblings(self, siblings: list[Body]) -> list[list[Body]]:
        """Group siblings that are alike; return lists of their descendants that remain to be grouped."""
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
        """Record the corresponding states of branches that begin with the bodies ``first``.

        Return lists of children that have no counterparts in the other branches.
        """
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
    """Return a key of a body's joint; if ``exact``, with its axes up to their sign."""
    about = body.joint.describe().replace("-", "") if exact else type(body.joint).__name__
    return about, len(body.coordinates), len(body.speeds)


# A pack: nodes of one form that are computed as one operation on a vector, one node per lane.

WIDEST = 4  # most lanes of a branch pack

Column = tuple[Expr, ...]  # one node per lane


@dataclass(frozen=True, eq=False)
class Pack:
    """Nodes of one kind with corresponding operands; no node depends on another node of the pack.

    ``operands`` holds a tuple per operand, and ``factors`` the coefficients or exponents of the operands
    (empty for calls), each with an entry per lane. Intermediate names (``let``) are left out.
    """

    lanes: Column
    operands: tuple[Column, ...]
    factors: tuple[tuple[float, ...], ...] = ()

    @property
    def kind(self) -> str:
        return self.lanes[0].kind


def strip_lets(node: Expr) -> Expr:
    """Return a node without the names of intermediate values around it."""
    while node.kind == "let":
        node = node.args[0]
    return node


# Nodes of a section that are the same operation in several branches.
#
# Let σ map the states of each branch to the states of the next branch that is alike, and the states of the
# last to the states of the first. Every node and its images under σ, σ², … get integers, here called their
# numbers: equal numbers mean expressions that are equal but for coefficients, signs, constants and other
# given values. A node and the nodes with the numbers of its images may be a pack. Nodes of equal number are
# at equal height above the leaves (symbols and coefficients), so no node of a pack depends on another, and
# there are no circular dependences between packs.
#
# If several nodes have the same number (they differ in constants), their users decide which nodes form a
# pack: nodes are visited from the results on, and corresponding operands of a pack become packs.

# Calls that have vector instructions or, for sines and cosines, vector functions.
CALLS = frozenset(("sin", "cos", "abs", "min", "max", "select", "lt", "le", "gt", "ge", "eq", "ne"))
_GIVEN, _NUMBER = -1, -2
_PLAIN = frozenset((1, -1))


def possible_packs(nodes: Sequence[Expr], alike: Sequence[Column]) -> list[Pack]:
    """Return all packs of nodes that may be computed as one; a pack comes before its operands."""
    numbering = _Numbering(nodes, alike)
    number_of, images = numbering.own, numbering.images
    real = [n for n in nodes if n.kind != "let"]
    of_number: dict[int, list[Expr]] = {}
    for node in real:
        of_number.setdefault(number_of[node], []).append(node)
    mates: dict[Expr, Column] = {}

    def take(column: Column) -> None:
        """Record a column of operands as lanes of a pack.

        If the lanes are images of one node, the node of the first branch becomes the first lane.
        """
        if column[0] in mates:
            return
        lanes = tuple(dict.fromkeys(column))
        count = len(lanes)
        if count == 1 or not lanes[0].args or column != lanes * (len(column) // count):
            return
        if any([n in mates for n in lanes]):
            return
        if number_of[lanes[0]] != number_of[lanes[1]]:
            if numbering.period(lanes[0]) != count:
                return
            start = -numbering.branch.get(lanes[0], 0) % count
            lanes = lanes[start:] + lanes[:start]
        mates.update(dict.fromkeys(lanes, lanes))

    packs = []
    done: set[Expr] = set()
    for node in reversed(real):
        if node in done or not _packable(node):
            continue
        if node not in mates:
            period = numbering.period(node)
            if period == 1:
                if node in numbering.lone or not any([numbering.period(a) > 1 for a in node.args]):
                    continue  # its operands are not images of each other
                for column, _ in _columns([node] * len(images), images, number_of, mates):
                    take(column)
                continue
            found = [node]
            for image in images[1:period]:
                others = [n for n in of_number.get(image[node], ()) if n not in mates]
                if others:
                    found.append(min(others, key=lambda n: _difference(node, n)))
            if len(found) == period:
                take(tuple(found))
            if node not in mates:
                continue
        lanes = mates[node]
        done.update(lanes)
        image_maps = images if number_of[lanes[1]] != number_of[lanes[0]] else [number_of] * len(lanes)
        columns = _columns(lanes, image_maps, number_of, mates)
        for column, _ in columns:
            take(column)
        factors = tuple([f for _, f in columns]) if node.kind != "call" else ()
        packs.append(Pack(lanes, tuple([c for c, _ in columns]), factors))
    return packs


def _levels(nodes: Sequence[Expr]) -> list[list[Expr]]:
    """Return nodes by their height above the leaves; names of intermediate values do not add to it."""
    height: dict[Expr, int] = {}
    levels: list[list[Expr]] = []
    for node in nodes:
        below = max([height.get(a, 0) for a in node.args], default=0)
        height[node] = reached = below if node.kind == "let" else below + 1
        while len(levels) <= reached:
            levels.append([])
        levels[reached].append(node)
    return levels


def _packable(node: Expr) -> bool:
    if node.kind == "product":
        return all([2 * n == int(2 * n) for n in node.data[1]])
    return node.kind == "sum" or (isinstance(node.data, str) and node.data in CALLS)


def _difference(a: Expr, b: Expr) -> int:
    """Return the number of coefficients of two nodes that differ in magnitude."""
    if a.kind == "call":
        return 0
    sizes = [sorted(map(abs, (n.data[0], *n.data[1]))) for n in (a, b)]
    return sum([x != y for x, y in zip(*sizes, strict=True)])


def _columns(
    lanes: Sequence[Expr],
    image_maps: Sequence[Mapping[Expr, int]],
    own: Mapping[Expr, int],
    mates: Mapping[Expr, Column],
) -> list[tuple[Column, tuple[float, ...]]]:
    """Return the columns of corresponding operands, with their coefficients or exponents.

    Of several candidates the counterpart in a chosen pack is preferred, then a node without a pack, then a
    coefficient of equal magnitude.
    """
    first = lanes[0]
    ours = [strip_lets(x) if x.kind == "let" else x for x in first.args]
    if first.kind == "call":
        found = [ours, *([strip_lets(y) for y in node.args] for node in lanes[1:])]
        return [(column, (1,) * len(lanes)) for column in zip(*found, strict=True)]
    columns: list[list[Expr]] = [[x] for x in ours]
    factors: list[list[float]] = [[c] for c in first.data[1]]
    kinds = factor_kinds(first)
    for lane, (node, image) in enumerate(zip(lanes[1:], image_maps[1:], strict=False), 1):
        free: dict[tuple[int, float], list[tuple[Expr, float]]] = {}
        for y, d, kind in zip(node.args, node.data[1], factor_kinds(node), strict=True):
            if y.kind == "let":
                y = strip_lets(y)
            free.setdefault((own[y], kind), []).append((y, d))
        for x, kind, column, numbers in zip(ours, kinds, columns, factors, strict=True):
            left = free[image[x], kind]
            chosen = 0
            if len(left) > 1:
                chosen = _best(left, _mate(x, lane, mates), mates, numbers[0])
            y, d = left.pop(chosen)
            column.append(y)
            numbers.append(d)
    return [(tuple(c), tuple(f)) for c, f in zip(columns, factors, strict=True)]


def _mate(node: Expr, lane: int, mates: Mapping[Expr, Column]) -> Expr:
    """Return the node ``lane`` lanes after this one in its pack, cyclically; itself if it has no pack."""
    lanes = mates.get(node)
    return node if lanes is None else lanes[(lanes.index(node) + lane) % len(lanes)]


def _best(
    left: Sequence[tuple[Expr, float]], mate: Expr, mates: Mapping[Expr, Column], coefficient: float
) -> int:
    ranks = [(y is not mate, y in mates, abs(d) != abs(coefficient)) for y, d in left]
    return ranks.index(min(ranks))


def factor_kinds(node: Expr) -> Sequence[float]:
    """Return what lanes must share for each operand: in a product its exponent, in a sum whether its
    coefficient is ±1.
    """
    factors: tuple[float, ...] = node.data[1]
    return _without_number(factors) if node.kind == "sum" else factors


@lru_cache(1024)
def _without_number(coefficients: tuple[float, ...]) -> tuple[bool, ...]:
    return tuple([c == 1 or c == -1 for c in coefficients])


class _Numbering:
    """Numbers of nodes and of their images, and the branch to which a node belongs."""

    def __init__(self, nodes: Sequence[Expr], alike: Sequence[Column]) -> None:
        self.images: list[dict[Expr, int]] = [{} for _ in range(max(map(len, alike)))]  # under σ⁰, σ¹, …
        self.own = self.images[0]
        self.branch: dict[Expr, int] = {}
        # Nodes of branches for which an image is missing; they count as their own images.
        self.lone: set[Expr] = set()
        self._periods: dict[Expr, int] = {}  # of nodes that are not their own images
        self._numbers: dict[tuple[object, ...], int] = {}
        for column in alike:
            numbers = [self._number("state", s) for s in column]
            for i, s in enumerate(column):
                self.branch[s] = i
                self._periods[s] = len(column)
                for k, image in enumerate(self.images):
                    image[s] = numbers[(i + k) % len(column)]
        for level in _levels(nodes):
            self._number_level(level)

    def _number_level(self, level: Sequence[Expr]) -> None:
        """Number the nodes of one height, then their images, which have the same height."""
        own, others = self.own, self.images[1:]
        first, known = others[0], self._numbers
        moved: list[Expr] = []
        for node in level:
            if node.kind == "let":
                continue
            for a in node.args:
                if a not in own:
                    self._enter_leaf(a)
            mine = [own[a] for a in node.args]
            number = own[node] = known.setdefault(self._key(node, mine), len(known))
            if mine == [first[a] for a in node.args]:  # the node is its own image: it belongs to no branch
                for image in others:
                    image[node] = number
            else:
                moved.append(node)
        for node in moved:
            found = [known.get(self._key(node, [image[a] for a in node.args])) for image in others]
            for image, other in zip(others, found, strict=True):
                image[node] = own[node] if None in found or other is None else other
            if None in found:
                self.lone.add(node)
            else:
                self._set_period(node)
        branch, periods = self.branch, self._periods
        for node in level:
            if node.kind != "let":
                continue
            inner = node.args[0]
            if inner not in own:
                self._enter_leaf(inner)
            for image in self.images:
                image[node] = image[inner]
            if inner in branch:
                branch[node] = branch[inner]
            if inner in periods:
                periods[node] = periods[inner]

    def period(self, node: Expr) -> int:
        """Return the number of applications of σ until a node is its own image."""
        return self._periods.get(node, 1)

    def _set_period(self, node: Expr) -> None:
        """Set the period of a node, and its branch, to which most of its operands belong."""
        number, period = self.own[node], 1
        for image in self.images[1:]:
            if image[node] == number:
                break
            period += 1
        if period == 1:
            return
        self._periods[node] = period
        branch, periods = self.branch, self._periods
        branches = [branch[a] % period for a in node.args if a in branch and periods[a] >= period]
        if branches and branches.count(branches[0]) == len(branches):  # most often
            branch[node] = branches[0]
            return
        votes = Counter(branches)
        best = max(votes.values(), default=0)
        chosen = [branch_number for branch_number, count in votes.items() if count == best]
        if len(chosen) == 1:
            branch[node] = chosen[0]

    def _key(self, node: Expr, operands: list[int]) -> tuple[object, ...]:
        """Return the key that nodes of one number share, from the numbers of their operands."""
        kind, data = node.kind, node.data
        if data is PRODUCT_OF_TWO or data is SUM_OF_TWO or data is DIFFERENCE:  # most often
            a, b = operands
            return (kind, False, a, b) if a <= b else (kind, False, b, a)
        if kind == "call":
            return data, *operands
        number, factors = data
        sized = number != 0 if kind == "sum" else number != 1 and number != -1
        if not _PLAIN.issuperset(factors) or (kind == "product" and -1 in factors):
            return kind, sized, *sorted(zip(operands, factor_kinds(node), strict=True))
        return kind, sized, *sorted(operands)

    def _number(self, *key: object) -> int:
        return self._numbers.setdefault(key, len(self._numbers))

    def _enter_leaf(self, node: Expr) -> None:
        """Number a leaf that belongs to no branch; it is a number or symbol, and its own image."""
        if node.kind == "number":
            number = _NUMBER
        else:
            given = node.data.role in ("parameter", "memory")
            number = _GIVEN if given else self._number("state", node)
        for image in self.images:
            image[node] = number
