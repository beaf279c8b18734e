"""Numerical closing of loops while equations are derived, and samples of the motion of closed loops."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np

from armillary.algebra import functions as fn
from armillary.algebra.calculus import NumericValue, directional_derivatives, evaluate_all, evaluator
from armillary.algebra.expression import UNIT, ZERO, Expr, as_expr
from armillary.algebra.triples import Scalar, magnitude
from armillary.algebra.units import ONE, RATE, TIME, Dimension
from armillary.algebra.walk import Undimensioned, symbols, transform
from armillary.errors import ModelError
from armillary.mechanics.constraints.closing_thresholds import (
    CLOSED_LOOP,
    EXACT_LOOP,
    LEAST_SIZE,
    LONGEST_STEP,
    WEAK_FIRST,
    WEAK_LAST,
)
from armillary.mechanics.constraints.dependent_speeds import Evaluate, largest_of
from armillary.mechanics.constraints.rows import ConstraintRow, speed_indices
from armillary.model.description import Description
from armillary.model.units import default_value
from armillary.numerics.language import Roots
from armillary.numerics.python_functions import python_functions, set_lengths

# Sizes of coordinates: amounts of motion with the same effect, by which coordinates of different units are
# compared.
#
# The size of an angle is one. The size of another kind of coordinate is the amount that changes the gaps of
# loops as much as one radian does. This amount is computed for each group of rows that share a dimension, and
# the largest is taken; it is one unit of the SI if no group depends on both kinds. The size of a row is the
# largest gap that a motion of one size makes in any row of the same dimension, so that gaps of lengths and of
# angles have equal weight in one norm. Sizes are functions of the parameters, so the limits of steps, which
# are stated in sizes, suit any unit of length and any mechanism, from a watch to a crane.

_LEAST = 1e-3  # least size, as a share of its value with the default parameters

Sizes = dict[Dimension | None, Scalar]  # by the dimension of coordinates
KnownSizes = Mapping[Dimension | None, float]


def unit_sizes(system: Description) -> Sizes:
    """Return the value of one SI unit, in the system's own units, for every kind of coordinate."""
    kinds = {q.dimension for q in system.coordinates} | {speed_kind(u) for u in system.speeds}
    return {kind: 1.0 if kind is None else 1.0 / system.units.scale(kind) for kind in kinds}


def speed_kind(u: Expr) -> Dimension | None:
    """Return the dimension of the coordinate that moves at a speed."""
    return None if u.dimension is None else u.dimension * TIME


Factors = Sequence[tuple[int, int, Scalar]]  # row, speed, and the factor of the speed in the row


def sized_factors(found: Sequence[ConstraintRow], sample: Evaluate) -> Factors:
    """Return the largest magnitudes of all factors in the sample, as functions of the parameters."""
    factors = [(i, j, a) for i, row in enumerate(found) for j, a in row.coefficients.items()]
    known = zip(factors, sample.sized([a for *_, a in factors]), strict=True)
    return [(i, j, magnitude(value)) for (i, j, _), value in known]


def motion_sizes(
    system: Description, found: Sequence[ConstraintRow], factors: Factors, sample: Evaluate | None = None
) -> Sizes:
    """Return the size of each kind of coordinate."""
    known = [
        (_dimension(found[i]), system.speeds[j].dimension, value)
        for i, j, value in factors
        if found[i].gap is not None
    ]
    sizes = unit_sizes(system)
    for kind in sizes.keys() - {ONE, None}:
        assert kind is not None
        ratios = []
        for dimension in {d for d, *_ in known}:
            alike = [(k, v) for d, k, v in known if d is dimension or d is None]
            turns, others = (
                largest_of([v for k, v in alike if k is one], None) for one in (RATE, kind / TIME)
            )
            ratios += [turns / others] if turns is not None and others is not None else []
        if ratios:
            sizes[kind] = _bound_size(reduce(fn.maximum, ratios), sample)
    return sizes | {ONE: 1.0}


def row_sizes(
    system: Description,
    found: Sequence[ConstraintRow],
    factors: Factors,
    sizes: Mapping[Dimension | None, Scalar],
    sample: Evaluate | None = None,
) -> tuple[Scalar, ...]:
    """Return the size of each row: one size per dimension, and a separate one if the dimension is unknown."""
    effects: dict[Dimension | int, list[Scalar]] = {}
    for i, j, value in factors:
        effects.setdefault(_group(found, i), []).append(value * sizes[speed_kind(system.speeds[j])])
    by_group = {group: largest_of(effects[group], None) for group in effects}
    known = {group: _bound_size(size, sample) for group, size in by_group.items() if size is not None}
    return tuple(known.get(_group(found, i), 1.0) for i in range(len(found)))


def estimated_sizes(
    system: Description, found: Sequence[ConstraintRow], factors: Sequence[tuple[int, int, float]]
) -> tuple[KnownSizes, list[float]]:
    """Return the sizes of the kinds of coordinates and of the rows, as numbers, for numerical factors.

    They are rounded to six digits, so that choices based on them do not depend on the last bits of sines.
    """
    kinds = {kind: _round_size(size) for kind, size in motion_sizes(system, found, factors).items()}
    return kinds, [_round_size(size) for size in row_sizes(system, found, factors, kinds)]


def _round_size(size: Scalar) -> float:
    assert not isinstance(size, Expr)
    return float(f"{size:.6g}")


def _group(found: Sequence[ConstraintRow], i: int) -> Dimension | int:
    """Return the key of the rows that share the size of row i: their dimension, or i if that is unknown."""
    dimension = _dimension(found[i])
    return i if dimension is None else dimension


def _bound_size(size: Scalar, sample: Evaluate | None) -> Scalar:
    """Return a size with a lower bound, so that it is positive for all values of the parameters."""
    if not isinstance(size, Expr) or sample is None:
        return size
    return as_expr(fn.maximum(size, _LEAST * float(sample([size])[0][0])))


def _dimension(row: ConstraintRow) -> Dimension | None:
    """Return the dimension of a row's gap; `None` if it is unknown, since a parameter has no units."""
    if row.constraint.position is not None:
        return row.constraint.position.dimension
    speed = row.constraint.speed.dimension
    return None if speed is None else speed * TIME


# The constraints as numbers, and the closing of loops while equations are derived.
#
# A correction of the coordinates is a small motion, q += N δ with q̇ = N u. So the gaps Φ are removed by
# J δ = −Φ, with the matrix J of the constraints; numerics/roots.py finds the shortest δ. Rows and motions are
# divided by their sizes (above), so that no norm adds lengths to angles. Runs close their loops in compiled
# code that changes values given by the user only if it must: see solver/assembly.py.


@dataclass(frozen=True)
class GeometryLayout:
    """The order of the numbers that a `Geometry` computes: gaps Φ, known parts b, elements of J and of N."""

    coordinates: int
    speeds: int
    gaps: tuple[int, ...]  # indices of the rows that have a gap
    rows: int
    jacobian: tuple[tuple[int, int], ...]
    rates: tuple[tuple[int, int], ...]
    quaternions: tuple[int, ...]

    @cached_property
    def matrix_indices(self) -> tuple[np.ndarray, np.ndarray]:
        """The indices, in J and in N stored row after row, of the elements that are computed."""
        both = (self.jacobian, self.rates)
        found = [np.array([i * self.speeds + j for i, j in matrix], dtype=int) for matrix in both]
        return found[0], found[1]

    @cached_property
    def owners(self) -> tuple[np.ndarray, ...]:
        """Index arrays: the row of each gap; row and speed of each element of J; speed of each one of N."""
        row, speed = (np.array([e[k] for e in self.jacobian], dtype=int) for k in (0, 1))
        return np.array(self.gaps, dtype=int), row, speed, np.array([j for _, j in self.rates], dtype=int)

    def sized(self, sizes: np.ndarray, row_sizes: np.ndarray) -> np.ndarray:
        """Return the factors that scale all numbers to the sizes of rows and motions.

        If ``sizes`` and ``row_sizes`` have leading axes, one for several places, the factors have them too.
        """
        gaps, row, speed, moved = self.owners
        rows = 1.0 / row_sizes
        parts = (rows[..., gaps], rows, sizes[..., speed] * rows[..., row], sizes[..., moved])
        return np.concatenate(parts, axis=-1)

    def figures(self, numbers: np.ndarray) -> GeometryValues:
        """Return Φ, b, J and N unpacked from the numbers; leading axes of ``numbers`` run over places."""
        start, (in_jacobian, in_rates) = len(self.gaps) + self.rows, self.matrix_indices
        after, shape = start + len(in_jacobian), numbers.shape[:-1]
        jacobian = np.zeros((*shape, self.rows * self.speeds))
        rates = np.zeros((*shape, self.coordinates * self.speeds))
        jacobian[..., in_jacobian] = numbers[..., start:after]
        rates[..., in_rates] = numbers[..., after:]
        return GeometryValues(
            numbers[..., : len(self.gaps)],
            numbers[..., len(self.gaps) : start],
            jacobian.reshape(*shape, self.rows, self.speeds),
            rates.reshape(*shape, self.coordinates, self.speeds),
        )


@dataclass(frozen=True)
class GeometryValues:
    """Values at one place, or at several along a first axis: Φ of the rows with a gap, b, J and N."""

    gap: np.ndarray
    known: np.ndarray
    jacobian: np.ndarray
    rates: np.ndarray

    def of(self, some: np.ndarray) -> GeometryValues:
        """Return the values at some of the places."""
        return GeometryValues(self.gap[some], self.known[some], self.jacobian[some], self.rates[some])


@dataclass(frozen=True)
class Geometry:
    """The constraints as numbers of time and coordinates."""

    layout: GeometryLayout
    values: Callable[[float, np.ndarray], np.ndarray]
    sizes: np.ndarray | None = None  # sizes of the speeds; `None`: all are 1
    row_sizes: np.ndarray | None = None  # sizes of the rows

    def in_sizes(self) -> Geometry:
        """Return the geometry with rows divided by their sizes, and motions δ_j in units of their sizes."""
        if self.sizes is None or self.row_sizes is None:
            return self
        factors = self.layout.sized(self.sizes, self.row_sizes)
        return Geometry(self.layout, lambda t, q: factors * self.values(t, q))

    def at(self, t: float, q: np.ndarray) -> GeometryValues:
        return self.layout.figures(self.values(t, q))

    def largest_gap(self, here: GeometryValues) -> float:
        """Return the largest ratio of a gap to the largest element of J in its row.

        The largest element of a row counts as at least LEAST_SIZE times the largest element of all rows. All
        elements of a row may vanish near a singular place, while rounding errors keep its gap from vanishing.
        """
        sizes = np.max(np.abs(here.jacobian[list(self.layout.gaps)]), axis=1, initial=0.0)
        sizes = np.maximum(sizes, LEAST_SIZE * np.max(sizes, initial=0.0))
        return float(np.max(np.abs(here.gap) / np.where(sizes > 0.0, sizes, 1.0), initial=0.0))

    def close(self, t: float, q: np.ndarray, tries: int) -> tuple[np.ndarray, np.ndarray]:
        """Close the gaps by motions of all joints from q, in at most ``tries`` steps; return the coordinates
        and the remaining gaps.
        """
        run = _Closing(self, t, q, tries)
        _FUNCTIONS["find_root"](run)
        return run.place, run.here.gap

    def normalised(self, q: np.ndarray) -> np.ndarray:
        for start in self.layout.quaternions:
            q[start : start + 4] /= np.linalg.norm(q[start : start + 4])
        return q


class _Closing(Roots):
    """The record of one closing of gaps; see numerics/roots.py."""

    def __init__(self, geometry: Geometry, t: float, q: np.ndarray, tries: int) -> None:
        self.geometry, self.t = geometry, t
        self.place = self.moved = q
        set_lengths(self, len(geometry.layout.gaps), geometry.layout.speeds)
        self.cut, self.least_cut, self.longest = WEAK_FIRST, WEAK_LAST, LONGEST_STEP
        self.exact, self.met, self.most_moves = EXACT_LOOP, CLOSED_LOOP, float(tries)
        self.here = self.there = geometry.at(t, q)


def _look(run: _Closing) -> None:
    run.residual[:] = run.here.gap


def _look_there(run: _Closing) -> None:
    run.there = run.geometry.at(run.t, run.moved)
    run.missed[:] = run.there.gap


def _differentiate(run: _Closing) -> None:
    run.matrix[:] = run.here.jacobian[list(run.geometry.layout.gaps)].T.ravel()


def _displace(run: _Closing) -> None:
    run.moved = run.geometry.normalised(run.place + run.here.rates @ run.step)


def _accept(run: _Closing) -> None:
    run.place, run.here = run.moved, run.there
    run.residual[:] = run.missed


def _set_radius(run: _Closing) -> None:
    run.radius = np.inf


def _worst_residual(run: _Closing) -> float:
    return run.geometry.largest_gap(run.here)


_OWN = (_look, _look_there, _differentiate, _displace, _accept, _set_radius, _worst_residual)
_FUNCTIONS = python_functions({f.__name__[1:]: f for f in _OWN})


# A few places of a motion with closed loops, at which expressions are evaluated.
#
# Parameters have their defaults, or random values if they have none. The first place has the coordinates of
# the description; the others are a little away from it.

_AWAY = 0.2  # distance of the other places from the first, in sizes
_FAR = 1.0  # the same, if the constraints lose rank at the first place
_WEAKER = 0.1  # rank is lost if the last singular value of J is below this share of its value elsewhere
_RANK = 1e-6  # share of the largest singular value of J, above which a singular value counts for the rank
_SHUT = 1e-8  # largest gap of a closed loop, in sizes
_TRIES = 30  # most steps of Newton's method
_TIMES = (0.0, 0.37, 1.13, 2.9)  # times of the places
_DIGITS = 6  # decimals, in sizes, to which ``sized`` rounds the coordinates


def geometry_expressions(
    system: Description, found: Sequence[ConstraintRow], plain: Undimensioned
) -> tuple[list[Expr], GeometryLayout, list[Expr]]:
    """Return the expressions that a Geometry evaluates, their layout, and the coordinates that are free."""
    given = {p.coordinate for p in system.prescriptions.values() if p.coordinate is not None}
    free = [q for q in system.coordinates if q not in given]
    speeds = speed_indices(system, plain)
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
    """Values of all symbols of the constraints at several places at once; the first is the start of runs."""

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
            place = _close_from(geometry, t, start, sizes, 0.0 if k == 0 else _AWAY, chance)
            if place is None:
                raise ModelError(_not_numbers(system, found, values(0.0, start), layout))
            places.append(place)
        self.start = places[0]
        self.values |= {time: np.array(_TIMES)} | dict(zip(coordinates, np.array(places).T, strict=True))
        self.wide = self
        if _starts_singular(geometry, places):
            # Near a flat position all constraints are weak. Runs compare the strength of the constraints with
            # their usual strength, which must therefore be sampled farther away: otherwise a run would take
            # a flat position for a usual one.
            found_far = (_close_from(geometry, t, start, sizes, _FAR, chance) for t in _TIMES)
            far = [place for place in found_far if place is not None]
            if len(far) == len(places):
                self.wide = copy(self)
                self.wide.values = self.values | dict(zip(coordinates, np.array(far).T, strict=True))

    wide: MotionSample  # the same at places farther away if the first is singular

    def at(self, times: np.ndarray, places: np.ndarray) -> dict[Expr, NumericValue]:
        """Return the values of all symbols at other places, a row of coordinates each."""
        return self.values | {self.time: times} | dict(zip(self.coordinates, places.T, strict=True))

    def sized(self, expressions: Sequence[Scalar], place: int | None = None) -> list[Scalar]:
        """Return expressions at one place of the sample as functions of the parameters alone.

        By default each expression is evaluated at the place where its magnitude is largest with the default
        parameters. An expression that is not finite there gives 0. Coordinates are rounded, so that generated
        code does not depend on the last bits of closed loops; sizes need no more digits.
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
        """Return the values at one place, except the parameters."""
        varying = {s: v for s, v in self.values.items() if not _is_parameter(s)}
        found = {s: float(v[k] if np.ndim(v) else v) / self._units.get(s, 1.0) for s, v in varying.items()}
        return {s: ZERO + round(v, _DIGITS) * self._units.get(s, 1.0) for s, v in found.items()}

    def __call__(self, expressions: Sequence[Scalar]) -> list[np.ndarray]:
        """Return an array for each expression, with its value at each place."""
        nodes = [e if isinstance(e, Expr) else ZERO + e for e in expressions]
        with np.errstate(all="ignore"):  # a place may be singular for some of the choices
            known = [np.broadcast_to(v, (len(_TIMES),)) for v in evaluate_all(nodes, self.values)]
        return [np.where(np.isfinite(v), v, 0.0) for v in known]


def _is_parameter(s: Expr) -> bool:
    return bool(s.data.role == "parameter")


def _largest_factors(
    geometry: Geometry, start: np.ndarray, angles: Sequence[bool]
) -> list[tuple[int, int, float]]:
    """Return (row, speed, largest magnitude) of the elements of J at places near the start, with open loops.

    Only angles are varied.
    """
    chance, layout = np.random.default_rng(1990), geometry.layout
    first = len(layout.gaps) + layout.rows
    found = np.zeros(len(layout.jacobian))
    for t in _TIMES:
        turned = start + np.where(angles, chance.uniform(-_AWAY, _AWAY, start.shape), 0.0)
        numbers = np.abs(geometry.values(t, geometry.normalised(turned))[first : first + len(found)])
        found = np.maximum(found, np.where(np.isfinite(numbers), numbers, 0.0))
    return [(i, j, value) for (i, j), value in zip(layout.jacobian, found.tolist(), strict=True)]


def _close_from(
    geometry: Geometry,
    t: float,
    start: np.ndarray,
    sizes: np.ndarray,
    away: float,
    chance: np.random.Generator,
) -> np.ndarray | None:
    """Return a place near the start where all values are finite, with loops closed if possible, or `None`.

    Several distances from the start are tried: the angles of a joint may be singular at the start, and loops
    may close only from elsewhere. If the first distance ``away`` is zero, the constraints must be finite at
    the start; otherwise the result is `None`.
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


def _starts_singular(geometry: Geometry, places: Sequence[np.ndarray]) -> bool:
    """Return whether the constraints have a lower rank at the first place than at the others."""
    J = np.array([geometry.at(t, q).jacobian for t, q in zip(_TIMES, places, strict=True)])
    if not J.size or not np.all(np.isfinite(J)):
        return False
    lengths = np.linalg.svd(J, compute_uv=False)
    rank = int(np.max(np.sum(lengths[1:] > _RANK * lengths[1:, :1], axis=1)))
    return bool(rank and lengths[0, rank - 1] < _WEAKER * np.max(lengths[1:, rank - 1]))


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
        "parameters, or give initial values of coordinates with start()"
    )
