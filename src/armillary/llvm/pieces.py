"""A long section cut into pieces: functions that exchange values through a work array.

LLVM's time grows faster than the length of a function, so long sections are cut.

Some operations, such as lookups in tables, have no machine code of Armillary's own for arm64. A section with
few of them, and few operations before them, is cut once: LLVM compiles a short first piece with them, and the
rest is one piece, all of whose operations are scheduled together. The operations of the four tyres of a car
are then interleaved: with pieces of the usual length a car with 14 degrees of freedom takes 1.3 times the
time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from itertools import chain
from typing import NamedTuple

from armillary.algebra.block_functions import is_block, is_block_part
from armillary.algebra.expression import Expr
from armillary.llvm.instructions import Places, fused_products
from armillary.llvm.node_writer import COMPARISONS, INSTANT
from armillary.llvm.pack_writer import fused_packs
from armillary.llvm.sines import LIMIT
from armillary.program.branch_packs import Column, Pack, strip_lets
from armillary.program.packs import ANGLES, PACKED_CALLS, largest_size
from armillary.program.program import ProgramSection

# Most operands of one piece: in long sums each takes about three instructions, and a branch can skip 260,000
# instructions.
OPERANDS = 60000
# Factor of the length of pieces in sections with packs, whose `let` nodes do not count: longer pieces do not
# make trees and legged robots faster, and LLVM takes 1.1 to 1.8 times the time to compile them.
PACKED = 0.56
# Numbers per operation above which pieces are half as long, since LLVM's scheduler scans all loads of a piece
# repeatedly. On arm64 a humanoid of 62 speeds and a fruitfly of 108 then compile in 0.82 of the time, and the
# fruitfly takes 3 % more time per run. A chain of 48 links whose numbers are parameters would take 4 % more.
RICH = 0.1
FUNCTION = 25  # rough number of operations of an elementary function of a vector
# Operations per cycle of the longest chain above which a section is wide: a processor cannot execute them in
# the time of the chain. In wide sections polynomials are evaluated by Horner's rule, with fewer operations in
# longer chains: two cars (3.0 and 4.3 operations per cycle) take 0.92 and 0.97 of the time; one tyre (1.8)
# would take 1.2 of it (x86-64).
WIDE = 2.5


def plain_angles(section: ProgramSection) -> list[Expr]:
    """Return the symbols whose sine or cosine the section needs, in order; a piece computes these first."""
    found: dict[Expr, None] = {}
    for node in section.nodes:
        if node.kind == "call" and is_grouped_call(node):
            found[node.args[0]] = None
    return list(found)


def is_grouped_call(node: Expr) -> bool:
    """Return whether a node is the sine or cosine of a symbol, which are computed together."""
    return node.data in ("sin", "cos") and node.args[0].kind == "symbol"


def _numbers(node: Expr) -> int:
    """Return how many constants a sum or product loads."""
    if node.kind == "sum":
        return sum([abs(x) not in INSTANT for x in (node.data[0], *node.data[1])])
    return int(node.kind == "product" and abs(node.data[0]) not in INSTANT)


class Cut(NamedTuple):
    """A section cut into pieces, with the data of the whole section that their writers need."""

    pieces: list[list[Expr]]
    results: list[list[int]]  # indices of the results that each piece stores
    packs: dict[Expr, Pack]  # by node
    arrival: Mapping[Expr, int]
    fused: Set[Expr]  # products that are fused into sums
    together: Set[Pack]  # packs of fused products
    crossing: dict[Expr, int]  # indices in the work array
    wide: bool  # whether elementary functions should take few instructions rather than little time


def cut(
    section: ProgramSection,
    size: int,
    whole: int = 0,
    *,
    loading: bool,
    first: Set[Expr] | None = None,
) -> Cut:
    """Return a section in pieces of about ``size`` operations, or in one piece if it has at most ``whole``.

    ``loading`` states that LLVM schedules the loads of numbers from an array. If ``first`` is given, its
    operations are a separate piece before the one piece.
    """
    pieces = _pieces(section, size, whole, loading=loading, first=first)
    packs = {node: pack for pack in section.packs for node in pack.lanes}
    arrival = section.arrival
    fused = fused_products(section.nodes, section.results, arrival, packs.keys())
    together = fused_packs(section, arrival)
    wide = sum(_weights(section)[1]) > WIDE * max(arrival.values(), default=0)
    if len(pieces) == 1:
        return Cut(pieces, [[*range(len(section.results))]], packs, arrival, fused, together, {}, wide)
    home = {node: k for k, piece in enumerate(pieces) for node in piece}
    crossing = _crossing(pieces, home, packs, fused | {node for pack in together for node in pack.lanes})
    results: list[list[int]] = [[] for _ in pieces]
    for i, result in enumerate(section.results):  # results that are inputs are stored by the last piece
        results[home.get(strip_lets(result), -1)].append(i)
    return Cut(pieces, results, packs, arrival, fused, together, crossing, wide)


def _weights(section: ProgramSection) -> tuple[Sequence[Expr], list[int], set[Expr]]:
    """Return nodes with their weights, and further nodes without weight: the other nodes of each pack.

    A weight is a rough number of instructions; its unit is a sum or product of a few operands. Sines that are
    computed first are left out.
    """
    rest = [n for n in section.nodes if not (n.kind == "call" and is_grouped_call(n))]
    following = {n for pack in section.packs for n in pack.lanes[1:]}
    if section.packs:
        following |= {n for n in rest if n.kind == "let"}
    own = [n for n in rest if n not in following] if following else rest
    calls = {pack.lanes[0] for pack in section.packs if pack.lanes[0].data in PACKED_CALLS}
    return own, [FUNCTION if n in calls else 1 + len(n.args) // 8 for n in own], following


def _pieces(
    section: ProgramSection, size: int, whole: int, *, loading: bool, first: Set[Expr] | None = None
) -> list[list[Expr]]:
    """Return the nodes of the pieces of `cut`."""
    early = [n for n in section.nodes if n.kind == "call" and is_grouped_call(n)]
    grouped = set(early)
    rest = [n for n in section.nodes if n not in grouped] if grouped else section.nodes
    own, weights, following = _weights(section)
    total = sum(weights)
    count = max(1, round(total / (PACKED * size if section.packs else size)))
    together = total <= whole and sum([len(n.args) for n in own]) <= OPERANDS
    if together and first is not None:
        nodes = [*early, *rest]
        return [[n for n in nodes if n in first], [n for n in nodes if n not in first]]
    if count == 1 or together:
        return [[*early, *rest]]
    if loading and sum(map(_numbers, own)) > RICH * total:
        count *= 2
    share = total / count
    # Results of a block are read in the piece that calls it, since its workspace is on that piece's stack.
    taken: dict[Expr, list[Expr]] = {n: [] for n in rest if is_block(n)}
    for n in rest if taken else ():
        if is_block_part(n):
            taken[n.args[0]].append(n)
    if taken:
        following |= {n for parts in taken.values() for n in parts}
        rest = [m for n in rest if not is_block_part(n) for m in (n, *taken.get(n, ()))]
    weight = dict(zip(own, weights, strict=True))
    sizes = [0 if n in following else weight[n] for n in rest]
    cut: list[list[Expr]] = [[]]
    filled = 0
    for node, size in zip(rest, sizes, strict=True):
        if filled >= share * len(cut) and len(cut) < count and size:
            cut.append([])
        cut[-1].append(node)
        filled += size
    return [early + cut[0], *cut[1:]]


def _crossing(
    pieces: list[list[Expr]], home: Mapping[Expr, int], packs: dict[Expr, Pack], fused: Set[Expr]
) -> dict[Expr, int]:
    """Return work-array indices of values that one piece computes and a later one uses.

    ``home`` has the piece of each node. Lanes of a pack have neighbouring indices; ``fused`` products are
    computed in the pieces that use them.
    """
    met: dict[Expr, Column] = {}  # the lanes of a pack, or a single value, by each of them

    def meet(a: Expr) -> None:
        if a not in met:
            lanes = packs[a].lanes if a in packs else (a,)
            met.update(dict.fromkeys(lanes, lanes))

    for k, piece in enumerate(pieces):
        for node in piece:
            if node.kind == "let" or node in fused:
                continue
            products = []
            for a in node.args:
                a = strip_lets(a) if a.kind == "let" else a
                if a in fused:
                    products.append(a)
                elif home.get(a, k) != k:
                    meet(a)
            for product in products:
                for a in product.args:
                    a = strip_lets(a) if a.kind == "let" else a
                    if home.get(a, k) != k and a not in fused:
                        meet(a)
    # The widest first, so that the index of a vector is a multiple of its length.
    widest = sorted(dict.fromkeys(met.values()), key=len, reverse=True)
    return {n: i for i, n in enumerate(chain.from_iterable(widest))}


# Largest share of a section's operations in the first piece, which LLVM compiles.
SHARE = 0.25

_SIMPLE = frozenset(("min", "max", "abs", "select", "sign", "and", "or", "not", *COMPARISONS))
_LIBRARY = frozenset(("acos",))  # needs an instruction that copies signs, which is not encoded here


def first_operations(section: ProgramSection, places: Places) -> set[Expr] | None:
    """Return the operations that only LLVM can encode, with their operands; `None` if these are many."""
    needed = [n for n in section.nodes if _is_foreign(n, places)]
    packs = {node: pack for pack in section.packs for node in pack.lanes}
    found: set[Expr] = set()
    listed = set(section.nodes)
    while needed:
        node = needed.pop()
        if node in found or node not in listed:
            continue
        together = packs[node].lanes if node in packs else (node,)
        found.update(together)
        needed += [a for n in together for a in n.args]
    return found if len(found) <= SHARE * len(section.nodes) else None


def _is_foreign(node: Expr, places: Places) -> bool:
    """Return whether only LLVM can encode an operation."""
    if node.kind == "product":
        return not all([2 * n == int(2 * n) for n in node.data[1]])
    if node.kind != "call":
        return False
    kind = node.data
    if not isinstance(kind, str):
        return True
    if kind in _SIMPLE:
        return False
    if kind not in PACKED_CALLS or kind in _LIBRARY:
        return True
    angle = strip_lets(node.args[0])
    if kind in ("sin", "cos") and angle.kind == "symbol":
        place = places.get(angle)
        return not (isinstance(place, tuple) and place[0] == "state")
    return kind in ANGLES and largest_size(angle) >= LIMIT
