"""A few places of a motion with its loops closed, at which expressions are evaluated.

Parameters have their defaults, or arbitrary values where they have none; the coordinates start as described
and, for the further places, a little away from there.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from armillary.algebra.derivatives.calculus import (
    NumericValue,
    directional_derivatives,
    evaluate_all,
    evaluator,
)
from armillary.algebra.expression import UNIT, ZERO, Expr, as_expr
from armillary.algebra.units.dimension import ONE
from armillary.algebra.vectors.scalars import Scalar
from armillary.algebra.walk import Undimensioned, symbols, transform
from armillary.errors import ModelError
from armillary.mechanics.constraints.closing.assembly import Geometry, GeometryLayout
from armillary.mechanics.constraints.rows import ConstraintRow, speed_places
from armillary.mechanics.constraints.sizes import estimated_sizes, speed_kind
from armillary.model.description import Description
from armillary.model.units import default_value

_AWAY = 0.2  # how far the further places are from the first, in sizes
_SHUT = 1e-8  # a gap, in sizes
_TRIES = 30
_TIMES = (0.0, 0.37, 1.13, 2.9)
_DIGITS = 6  # decimals of the places, in sizes, at which constants are taken


def geometry_expressions(
    system: Description, found: Sequence[ConstraintRow], plain: Undimensioned
) -> tuple[list[Expr], GeometryLayout, list[Expr]]:
    """The data of the rows that a Geometry needs, its place, and the coordinates that are free to move."""
    given = {p.coordinate for p in system.prescriptions.values() if p.coordinate is not None}
    free = [q for q in system.coordinates if q not in given]
    speeds = speed_places(system, plain)
    J = [((i, j), a) for i, row in enumerate(found) for j, a in row.coefficients.items()]
    N: list[tuple[tuple[int, int], Scalar]] = []
    for i, q in enumerate(free):
        rate = plain(system.rates[q])
        held = [s for s in symbols(rate) if s in speeds]
        N += [((i, speeds[u]), directional_derivatives([rate], {u: UNIT})[0]) for u in held]
    gaps = [(i, row.gap) for i, row in enumerate(found) if row.gap is not None]
    values: list[Scalar] = [
        *(g for _, g in gaps),
        *(row.known for row in found),
        *(a for _, a in J),
        *(a for _, a in N),
    ]
    index = {q: i for i, q in enumerate(free)}
    quaternions = [
        index[body.coordinates[start]]
        for body in system.bodies.values()
        for start in body.assembly.quaternions
    ]
    layout = GeometryLayout(
        len(free),
        len(system.speeds),
        tuple(i for i, _ in gaps),
        len(found),
        tuple(place for place, _ in J),
        tuple(place for place, _ in N),
        tuple(quaternions),
    )
    return list(map(as_expr, values)), layout, [plain(q) for q in free]


class MotionSample:
    """Values of all that constraints depend on, at several places at once; the first is where runs start."""

    def __init__(self, system: Description, found: Sequence[ConstraintRow], plain: Undimensioned) -> None:
        chance = np.random.default_rng(1990)
        time = plain(system.time)
        self.values: dict[Expr, NumericValue] = {}
        for node in system.parameters.values():
            default = default_value(node)
            self.values[plain(node)] = float(chance.uniform(0.5, 1.5)) if default is None else default
        for memory in system.memories.values():
            self.values[plain(memory.symbol)] = memory.initial
        expressions, layout, coordinates = geometry_expressions(system, found, plain)
        evaluate = evaluator(expressions)

        def values(t: float, q: np.ndarray) -> np.ndarray:
            at = self.values | {time: t} | dict(zip(coordinates, q.tolist(), strict=True))
            with np.errstate(all="ignore"):
                return np.array([float(v) for v in evaluate(at)])

        free = [q for q in system.coordinates if plain(q) in set(coordinates)]
        start = np.array([system.initial[q] for q in free])
        factors = _largest_factors(Geometry(layout, values), start, [q.dimension is ONE for q in free])
        units, of_rows = estimated_sizes(system, found, factors)
        own, sizes = (
            np.array([units[kind] for kind in kinds])
            for kinds in (map(speed_kind, system.speeds), [q.dimension for q in free])
        )
        geometry = Geometry(layout, values, own, np.array(of_rows)).in_sizes()
        self._units = dict(zip(coordinates, sizes.tolist(), strict=True))
        self.time, self.coordinates, self.layout, self.geometry = time, coordinates, layout, evaluate
        places = []
        for k, t in enumerate(_TIMES):
            place = _closed(geometry, t, start, sizes, 0.0 if k == 0 else _AWAY, chance)
            if place is None:
                raise ModelError(_not_numbers(system, found, values(0.0, start), layout))
            places.append(place)
        self.start = places[0]
        self.values |= {time: np.array(_TIMES)} | dict(zip(coordinates, np.array(places).T, strict=True))

    def at(self, times: np.ndarray, places: np.ndarray) -> dict[Expr, NumericValue]:
        """Values of all symbols at other places, a row of coordinates each."""
        return self.values | {self.time: times} | dict(zip(self.coordinates, places.T, strict=True))

    def sized(self, expressions: Sequence[Scalar], place: int | None = None) -> list[Scalar]:
        """Expressions at one place as constants, of the parameters: so they are sizes in every run.

        Without ``place`` each is taken where its magnitude is largest at the default parameters; where it is
        no number, it is 0 here too. Places are rounded: a size needs no more, and generated code does not
        depend on the last bits of loops that were closed.
        """
        nodes = [e if isinstance(e, Expr) else ZERO + e for e in expressions]
        values = self(nodes)
        where = [int(np.argmax(np.abs(v))) if place is None else place for v in values]
        result: list[Scalar] = [float(v[k]) for v, k in zip(values, where, strict=True)]
        for k in set(where):
            mine = [i for i, at in enumerate(where) if at == k and result[i] != 0.0]
            held = {i: e for i, e in enumerate(nodes) if i in mine and any(map(_is_parameter, symbols(e)))}
            result_here = transform(held.values(), self._numbers(k).get) if held else []
            for i, e in zip(held, result_here, strict=True):
                result[i] = float(e.data) if e.kind == "number" else e
        return result

    def _numbers(self, k: int) -> dict[Expr, Expr]:
        """The values at one place, except the parameters."""
        varying = {s: v for s, v in self.values.items() if not _is_parameter(s)}
        found = {s: float(v[k] if np.ndim(v) else v) / self._units.get(s, 1.0) for s, v in varying.items()}
        return {s: ZERO + round(v, _DIGITS) * self._units.get(s, 1.0) for s, v in found.items()}

    def __call__(self, expressions: Sequence[Scalar]) -> list[np.ndarray]:
        """Values of expressions, an array each, one number per place."""
        nodes = [e if isinstance(e, Expr) else ZERO + e for e in expressions]
        with np.errstate(all="ignore"):  # a place may be singular for some of the choices
            known = [np.broadcast_to(v, (len(_TIMES),)) for v in evaluate_all(nodes, self.values)]
        return [np.where(np.isfinite(v), v, 0.0) for v in known]


def _is_parameter(s: Expr) -> bool:
    return bool(s.data.role == "parameter")


def _largest_factors(
    geometry: Geometry, start: np.ndarray, angles: Sequence[bool]
) -> list[tuple[int, int, float]]:
    """Rows, speeds and the magnitudes of the elements of J: the largest ones with the angles near the start
    and loops open.
    """
    chance, layout = np.random.default_rng(1990), geometry.layout
    first = len(layout.gaps) + layout.rows
    found = np.zeros(len(layout.jacobian))
    for t in _TIMES:
        turned = start + np.where(angles, chance.uniform(-_AWAY, _AWAY, start.shape), 0.0)
        numbers = np.abs(geometry.values(t, geometry.normalised(turned))[first : first + len(found)])
        found = np.maximum(found, np.where(np.isfinite(numbers), numbers, 0.0))
    return [(i, j, value) for (i, j), value in zip(layout.jacobian, found.tolist(), strict=True)]


def _closed(
    geometry: Geometry,
    t: float,
    start: np.ndarray,
    sizes: np.ndarray,
    away: float,
    chance: np.random.Generator,
) -> np.ndarray | None:
    """A place near the start at which all is a number, with its loops closed if that can be; None: no number.

    Joints' own angles may be singular at the start, and loops may have to be closed from elsewhere. But the
    constraints themselves must be numbers at the start.
    """
    open_place = None
    layout = geometry.layout
    own = len(layout.gaps) + layout.rows + len(layout.jacobian)
    for reach in (away, 0.05, 0.2, 0.8, 3.0):
        place = geometry.normalised(start + sizes * chance.uniform(-reach, reach, start.shape))
        finite = np.isfinite(geometry.values(t, place))
        if reach == 0.0 and not np.all(finite[:own]):
            return None
        if np.all(finite):
            place, gap = geometry.close(t, place, _TRIES)
            if not gap.size or np.max(np.abs(gap)) <= _SHUT:
                return place
            open_place = place if open_place is None else open_place
    return open_place


def _not_numbers(
    system: Description, found: Sequence[ConstraintRow], values: np.ndarray, layout: GeometryLayout
) -> str:
    owners = [*layout.gaps, *range(layout.rows), *(i for i, _ in layout.jacobian)]
    strange = [i for i, v in zip(owners, values, strict=False) if not np.isfinite(v)]
    if not strange:
        return (
            f"the rates of the coordinates of '{system.name}' are not finite where runs start; give s.start"
        )
    constraint = found[strange[0]].constraint
    return (
        f"constraint '{constraint.name}' ({constraint.about}) is not a number where runs start; check its "
        "parameters, or say with start() where the coordinates are"
    )
