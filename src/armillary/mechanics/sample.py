"""A few places of a motion with its loops closed, where expressions can be looked at as numbers.

Parameters have their defaults, or arbitrary values where they have none; the coordinates start as described
and, for the further places, a little away from there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from armillary.algebra.calculus import directional_derivatives, evaluate_all
from armillary.algebra.expression import UNIT, ZERO, Expr
from armillary.algebra.units import parse_unit
from armillary.algebra.walk import Undimensioned, symbols
from armillary.mechanics.assembly import Geometry, Layout
from armillary.mechanics.constraints import Row
from armillary.model.system import System

_AWAY = 0.2  # how far the further places are from the first
_TIMES = (0.0, 0.37, 1.13, 2.9)


def geometry_expressions(
    system: System, found: Sequence[Row], plain: Undimensioned
) -> tuple[list[Expr], Layout, list[Expr]]:
    """What a Geometry needs of the rows, where it stands, and the coordinates that are free to move."""
    given = {p.coordinate for p in system.prescriptions.values() if p.coordinate is not None}
    free = [q for q in system.coordinates if q not in given]
    speeds = {plain(u): j for j, u in enumerate(system.speeds)}
    J = [((i, j), a) for i, row in enumerate(found) for j, a in row.coefficients.items()]
    N: list[tuple[tuple[int, int], Any]] = []
    for i, q in enumerate(free):
        rate = plain(system.rates[q])
        held = [s for s in symbols(rate) if s in speeds]
        N += [((i, speeds[u]), directional_derivatives([rate], {u: UNIT})[0]) for u in held]
    gaps = [(i, row.gap) for i, row in enumerate(found) if row.gap is not None]
    values = [*(g for _, g in gaps), *(row.known for row in found), *(a for _, a in J), *(a for _, a in N)]
    index = {q: i for i, q in enumerate(free)}
    quaternions = [
        index[body.coordinates[start]]
        for body in system.bodies.values()
        for start in body.assembly.quaternions
    ]
    layout = Layout(
        len(free),
        len(system.speeds),
        tuple(i for i, _ in gaps),
        len(found),
        tuple(place for place, _ in J),
        tuple(place for place, _ in N),
        tuple(quaternions),
    )
    return values, layout, [plain(q) for q in free]


class Sample:
    """Values of all that constraints depend on, at several places at once; the first is where runs start."""

    def __init__(self, system: System, found: Sequence[Row], plain: Undimensioned) -> None:
        chance = np.random.default_rng(1990)
        time = plain(system.time)
        self.values: dict[Expr, Any] = {}
        for node in system.parameters.values():
            self.values[plain(node)] = _default(system, node, chance)
        for memory in system.memories.values():
            self.values[plain(memory.symbol)] = memory.initial
        expressions, layout, coordinates = geometry_expressions(system, found, plain)
        fixed = dict(self.values)
        geometry = Geometry(
            layout,
            lambda t, q: np.array(
                [
                    float(v)
                    for v in evaluate_all(
                        expressions, fixed | {time: t} | dict(zip(coordinates, q.tolist(), strict=True))
                    )
                ]
            ),
        )
        start = np.array([system.initial[q] for q in system.coordinates if plain(q) in set(coordinates)])
        moving = np.ones(layout.speeds, dtype=bool)
        places = []
        for k in range(len(_TIMES)):
            away = (
                start if k == 0 else geometry.normalised(start + chance.uniform(-_AWAY, _AWAY, start.shape))
            )
            places.append(geometry.close(_TIMES[k], away, moving)[0])
        self.values |= {time: np.array(_TIMES)} | dict(zip(coordinates, np.array(places).T, strict=True))

    def __call__(self, expressions: Sequence[Any]) -> list[np.ndarray]:
        """Values of expressions, an array each, one number per place."""
        nodes = [e if isinstance(e, Expr) else ZERO + e for e in expressions]
        with np.errstate(all="ignore"):  # a place may be singular for some of the choices
            known = [np.broadcast_to(v, (len(_TIMES),)) for v in evaluate_all(nodes, self.values)]
        return [np.nan_to_num(np.asarray(v, dtype=float)) for v in known]


def _default(system: System, node: Expr, chance: np.random.Generator) -> float:
    symbol = node.data
    if symbol.default is None:
        return float(chance.uniform(0.5, 1.5))
    return symbol.default * (system.units.factor(parse_unit(symbol.units)) if symbol.units else 1.0)
