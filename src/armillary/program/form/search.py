"""Fewer operations by search, for ``derive(effort="high")``.

The passes are greedy: what they find depends on the order in which unknowns were eliminated and on which
intermediate values stay whole. Both are free choices, every one of which gives correct equations, so they are
tried at random and the best are kept, by exact counts. The numbers of trials are fixed and the generator has
a fixed seed: the result is the same on every machine. Choices are kept between processes by the digest of
what they are for; a choice that another graph had left there would cost operations, not correctness.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from random import Random

from armillary import cache
from armillary.algebra.expression import Expr
from armillary.algebra.intermediate import KeptName, trial_intermediates
from armillary.algebra.nodes.node import settle
from armillary.algebra.walk import operands_first
from armillary.program.form.cost import Operations
from armillary.program.form.schedule import critical_path
from armillary.program.passes import Constants, Graph
from armillary.program.passes.sequence import Gain, improve
from armillary.version import VERSION

ORDERS_TRIED = 60
SETS_TRIED = 800
NODES = 3000
"""Nodes of a graph up to which sets of intermediate values are tried: a trial runs all passes on it."""


def cost(graph: Graph) -> tuple[float, float]:
    """Operations by weight and, among equals, the longest chain of dependent ones."""
    return graph.operations.weight, critical_path(graph.order)


def best_order(
    first: Sequence[int], rates: Callable[[Sequence[int]], Sequence[Expr]]
) -> tuple[tuple[int, ...], Gain]:
    """An order of elimination with few operations of ``rates(order)``, and what it gains over the first one.

    Each trial takes one unknown from the best order so far and puts it elsewhere.
    """

    def measured(order: Sequence[int]) -> tuple[tuple[float, float], Operations]:
        with trial_intermediates():
            graph, _ = improve(rates(order), Constants())
        return cost(graph), graph.operations

    best = tuple(first)
    (least, before), tried = measured(best), {best}
    after = before
    name = _name("order", ORDERS_TRIED, rates(best))
    if (kept := _kept(name)) is not None and sorted(kept) == sorted(first):
        best, (_, after) = tuple(kept), measured(kept)
    else:
        random = Random(len(first))
        for _ in range(ORDERS_TRIED if len(first) > 2 else 0):
            order = list(best)
            order.insert(random.randrange(len(order)), order.pop(random.randrange(len(order))))
            if tuple(order) in tried:
                continue
            tried.add(tuple(order))
            found, operations = measured(order)
            if found < least:
                best, least, after = tuple(order), found, operations
        _keep(name, best)
    return best, Gain(f"order of elimination, {ORDERS_TRIED} trials", before, after)


def fewest_operations(roots: Sequence[Expr], taken: Iterable[str]) -> tuple[Sequence[Expr], list[Gain]]:
    """The roots with those intermediate values dissolved that stand in the way of the passes.

    Each trial dissolves or restores up to three of them; what is as good as the best so far replaces it, so
    that the search moves along plateaus. ``taken`` are names that constants must not have.
    """
    graph = Graph(roots)
    values = [n for n in graph.order if n.kind == "let" and not isinstance(n.data, KeptName)]
    if not values or len(graph.order) > NODES:
        return roots, []

    def measured(dissolved: set[int]) -> tuple[Operations, list[Expr]]:
        with trial_intermediates():
            opened = {values[i] for i in dissolved}
            trial = graph.remade(lambda node, args: args[0] if node in opened else None, opened).roots
            improved, _ = improve(trial, Constants(taken))
        return improved.operations, trial

    before, _ = measured(set())
    least = before.weight
    best: set[int] = set()
    name = _name("values", SETS_TRIED, roots)
    if (kept := _kept(name)) is not None and all(0 <= i < len(values) for i in kept):
        best = set(kept)
    else:
        random = Random(len(values))
        for _ in range(SETS_TRIED):
            changed = random.sample(range(len(values)), min(random.choice((1, 1, 2, 3)), len(values)))
            found, _ = measured(best.symmetric_difference(changed))
            if found.weight <= least:
                best, least = best.symmetric_difference(changed), found.weight
        _keep(name, sorted(best))
    after, trial = measured(best)
    return trial, [Gain(f"values dissolved, {SETS_TRIED} trials", before, after)]


def _name(what: str, trials: int, roots: Sequence[Expr]) -> str:
    """The name of a search in the cache: what is searched, how long, and the digests of its subject."""
    size = len(operands_first(roots))
    return cache.digest(
        "search", VERSION, what, str(trials), str(size), *(str(settle(r).digest) for r in roots)
    )


def _kept(name: str) -> list[int] | None:
    """The choices that an earlier search has left; None where there are none."""
    content = cache.fetch(name)
    try:
        found = None if content is None else json.loads(content)
    except ValueError:
        return None
    whole = isinstance(found, list) and all(type(i) is int for i in found)
    return found if whole else None


def _keep(name: str, choices: Iterable[int]) -> None:
    cache.keep(name, json.dumps(list(choices)).encode())
