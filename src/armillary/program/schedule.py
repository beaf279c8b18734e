"""The order in which a program's nodes are computed, chosen for few values alive at a time.

Operands first, of several operands the one that needs most values at hand goes first (Sethi and Ullman 1970, applied to a graph
as if it were a tree): what it leaves behind is one value, while the others would have to wait beside it.
"""

from __future__ import annotations

from collections.abc import Iterable

from armillary.algebra.expression import Expr
from armillary.algebra.walk import operands_first


def schedule(roots: Iterable[Expr], *, enter_constants: bool = False) -> tuple[Expr, ...]:
    """Nodes to compute for the roots, in order; symbols, numbers and (unless entered) constants left out."""
    roots = list(roots)
    need: dict[Expr, int] = {}
    for node in operands_first(roots):
        need[node] = 0 if _given(node, enter_constants) else _need(node, need)
    order: list[Expr] = []
    done: set[Expr] = set()
    for root in roots:
        stack = [root]
        while stack:
            node = stack[-1]
            if node in done or not need[node]:
                stack.pop()
                continue
            waiting = [a for a in node.args if need[a] and a not in done]
            if waiting:
                waiting.sort(key=need.__getitem__)
                stack.extend(waiting)
            else:
                stack.pop()
                done.add(node)
                order.append(node)
    return tuple(order)


def _given(node: Expr, enter_constants: bool) -> bool:
    return node.kind in ("number", "symbol") or (node.constant and not enter_constants)


def _need(node: Expr, need: dict[Expr, int]) -> int:
    """Values at hand that the node's subtree takes when its operands go in order of need."""
    ranked = sorted([need[a] for a in node.args], reverse=True)
    return max([1] + [n + i for i, n in enumerate(ranked) if n])
