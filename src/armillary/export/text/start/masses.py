"""Pivots of the mass matrix, for exported runs that may come to a place where some motion moves no mass.

Only systems whose links do not resist each of their freedoms by their own inertia can come to such a place;
others have none of this. With M = L D Lᵀ, the outermost speeds first, the share of speed r is D_r/M_rr: what
is left of the inertia that it meets when the speeds beyond it move freely. Each configuration has a matrix of
its own; all are functions of the coordinates, with which the states of every configuration begin.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from armillary.algebra.expression import ZERO, Expr, as_expr
from armillary.export.text.printing.layout import one_line
from armillary.mechanics.massless import places, tree_masses
from armillary.mechanics.tree.mass_matrix import mass_matrix
from armillary.program.equations import DerivedEquations
from armillary.program.program import ProgramSection, section
from armillary.runtime.models.failures.weak_masses import REMEDY, SINGULAR_THERE

_MOST = 24  # speeds of a system whose matrix is written out for this


@dataclass(frozen=True)
class WeakMasses:
    """The pivots as functions of time, state, parameters and memory, and the message for each."""

    section: ProgramSection  # shares
    texts: tuple[str, ...]  # after "near t = … s "
    kinds: tuple[int, ...]  # of each state, in each configuration: its kind of speeds from 0, or -1
    owners: tuple[int, ...]  # the configuration of each pivot

    @property
    def kind_count(self) -> int:
        return max(self.kinds) + 1


def weak_masses(every: Sequence[DerivedEquations]) -> WeakMasses | None:
    """The pivots of a system, in all its configurations, that may come to a place without mass; None for any
    other.
    """
    found = [_pivots(equations) for equations in every]
    pivots = [(c, *pivot) for c, own in enumerate(found) for pivot in own]
    if not pivots:
        return None
    free = [{u.data.name: u.dimension for u in e.reduction.independent(e.system)} for e in every]
    known = list(dict.fromkeys(d for own in free for d in own.values()))
    most = max(len(e.program.state) for e in every)
    kinds: list[int] = []
    for equations, own in zip(every, free, strict=True):
        states = [s.data.name for s in equations.program.state]
        kinds += [known.index(own[name]) if name in own else -1 for name in states]
        kinds += [-1] * (most - len(states))
    owners, names, shares, texts = zip(*pivots, strict=True)
    labels = [f"share of {name}" for name in names]
    return WeakMasses(section("pivot_shares", labels, shares, constant=True), texts, tuple(kinds), owners)


def _pivots(equations: DerivedEquations) -> list[tuple[str, Expr, str]]:
    """Speeds of one configuration, what is left of the pivot of each, and the message."""
    system, reduction = equations.system, equations.reduction
    free = reduction.independent(system)
    unfit = not equations.described_states or system.constraints or system.flexibles
    if unfit or not 0 < len(free) <= _MOST:
        return []
    masses, plain = tree_masses(system, equations.configuration)
    if masses.own_inertia_suffices(places(system, plain)):
        return []
    matrix = mass_matrix(masses.tree)
    indices = sorted({i for pair in matrix for i in pair})
    M = {(i, j): as_expr(matrix.get((min(i, j), max(i, j)), ZERO)) for i in indices for j in indices}
    shares: list[Expr] = []
    left = dict(M)
    for r in reversed(indices):
        shares.append(left[r, r] / M[r, r])
        for i in (i for i in indices if i < r):
            for j in (j for j in indices if j < r):
                if left[i, r] is not ZERO and left[r, j] is not ZERO:
                    left[i, j] = left[i, j] - left[i, r] * left[r, j] / left[r, r]
    owners = {u: body.name for body in system.bodies.values() for u in body.speeds}
    found = []
    for r, share in zip(reversed(indices), shares, strict=True):
        u = system.speeds[r]
        text = f"speed '{u.data.name}' moves no mass (body '{owners[u]}'): {SINGULAR_THERE}; {REMEDY}"
        found.append((u.data.name, share, one_line(text)))
    return found
