"""Passes that make a program cheaper: each a pure function from graph to graph, exact up to rounding.

Enters: a ``Graph`` of root expressions whose ``let`` nodes are the intermediate values. Leaves: a graph that
computes the same roots with fewer operations. Equal expressions need no pass: they are the same node. Read
``graph.py`` first, then ``rewrites.py``; ``sequence.py`` runs the passes in order and undoes a pass that does
not reduce the count.
"""

from armillary.program.passes.graph import Graph
from armillary.program.passes.rewrites import (
    Constants,
    expand,
    factor,
    fold,
    hoist,
    inline,
    narrow,
    reciprocals,
    share,
    spread,
)

__all__ = [
    "Constants",
    "Graph",
    "expand",
    "factor",
    "fold",
    "hoist",
    "inline",
    "narrow",
    "reciprocals",
    "share",
    "spread",
]
