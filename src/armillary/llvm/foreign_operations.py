"""Operations that machine code of arm64 is not written of here, such as lookups in tables.

A section with few of them, and little before them, is cut once: LLVM writes a short first piece with them,
and the rest is one piece, whose operations all are put in order together. The four tyres of a car then run
side by side: with pieces of the usual length a 14-freedom car takes 1.3 times as long.
"""

from __future__ import annotations

from armillary.algebra.expression import Expr
from armillary.llvm.instructions import Places
from armillary.llvm.node_writer import COMPARISONS
from armillary.llvm.sines import LIMIT
from armillary.program.branch_packs import strip_lets
from armillary.program.packs import ANGLES, PACKED_CALLS, largest_size
from armillary.program.program import ProgramSection

# Of all operations, those that LLVM may have to compute before the others.
SHARE = 0.25

_SIMPLE = frozenset(("min", "max", "abs", "select", "sign", "and", "or", "not", *COMPARISONS))
_LIBRARY = frozenset(("acos",))  # with a copy of a sign, which has no form here


def first_operations(section: ProgramSection, places: Places) -> set[Expr] | None:
    """Return the operations that cannot be written here and all that they need; `None` if these are many."""
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
