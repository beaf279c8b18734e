"""Sizes of coordinates of different kinds: motions of equal effect, which replace units in comparisons.

The size of an angle is one. That of another kind is what moves the gaps of loops as far as one radian does,
the largest of the lengths that follow from rows of one dimension; where no rows hold both kinds, a unit of
the SI. The size of a row is the gap that a motion of such a size makes at most, in any row of its dimension:
gaps of lengths and of angles count alike in one norm. Sizes are constants of the parameters, so that limits
of steps follow the mechanism of the run: the same in metres and millimetres, and for a watch as for a crane.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

from armillary.algebra import functions as fn
from armillary.algebra.expression import Expr, as_expr
from armillary.algebra.units.dimension import ONE, RATE, TIME, Dimension
from armillary.algebra.vectors.scalars import Scalar, magnitude
from armillary.mechanics.constraints.choice.dependent_speeds import Evaluate, largest_of
from armillary.mechanics.constraints.rows import ConstraintRow
from armillary.model.description import Description

_LEAST = 1e-3  # of the size with the default parameters: with others it may vanish

Sizes = dict[Dimension | None, Scalar]  # by the dimension of coordinates
KnownSizes = Mapping[Dimension | None, float]


def unit_sizes(system: Description) -> Sizes:
    """One unit of the SI for every kind of coordinate, in the units of the system."""
    kinds = {q.dimension for q in system.coordinates} | {speed_kind(u) for u in system.speeds}
    return {kind: 1.0 if kind is None else 1.0 / system.units.scale(kind) for kind in kinds}


def speed_kind(u: Expr) -> Dimension | None:
    """The dimension of the coordinate that moves at a speed."""
    return None if u.dimension is None else u.dimension * TIME


Factors = Sequence[tuple[int, int, Scalar]]  # row, speed, and the factor of the speed in the row


def sized_factors(found: Sequence[ConstraintRow], sample: Evaluate) -> Factors:
    """The magnitudes of all factors as constants of the parameters."""
    factors = [(i, j, a) for i, row in enumerate(found) for j, a in row.coefficients.items()]
    known = zip(factors, sample.sized([a for *_, a in factors]), strict=True)
    return [(i, j, magnitude(value)) for (i, j, _), value in known]


def motion_sizes(
    system: Description, found: Sequence[ConstraintRow], factors: Factors, sample: Evaluate | None = None
) -> Sizes:
    """The size of each kind of coordinate."""
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
            sizes[kind] = _bounded(reduce(fn.maximum, ratios), sample)
    return sizes | {ONE: 1.0}


def row_sizes(
    system: Description,
    found: Sequence[ConstraintRow],
    factors: Factors,
    sizes: Mapping[Dimension | None, Scalar],
    sample: Evaluate | None = None,
) -> tuple[Scalar, ...]:
    """The size of each row: that of all rows of its dimension, or its own where that is not known."""
    effects: dict[Dimension | int, list[Scalar]] = {}
    for i, j, value in factors:
        effects.setdefault(_group(found, i), []).append(value * sizes[speed_kind(system.speeds[j])])
    by_group = {group: largest_of(effects[group], None) for group in effects}
    known = {group: _bounded(size, sample) for group, size in by_group.items() if size is not None}
    return tuple(known.get(_group(found, i), 1.0) for i in range(len(found)))


def estimated_sizes(
    system: Description, found: Sequence[ConstraintRow], factors: Sequence[tuple[int, int, float]]
) -> tuple[KnownSizes, list[float]]:
    """Sizes of kinds and of rows with numbers for factors. They have few digits, so that what follows from
    them does not depend on the last bits of sines.
    """
    kinds = {kind: _rounded(size) for kind, size in motion_sizes(system, found, factors).items()}
    return kinds, [_rounded(size) for size in row_sizes(system, found, factors, kinds)]


def _rounded(size: Scalar) -> float:
    assert not isinstance(size, Expr)
    return float(f"{size:.6g}")


def _group(found: Sequence[ConstraintRow], i: int) -> Dimension | int:
    """The common size of rows."""
    dimension = _dimension(found[i])
    return i if dimension is None else dimension


def _bounded(size: Scalar, sample: Evaluate | None) -> Scalar:
    """A size that does not vanish with other parameters than the defaults."""
    if not isinstance(size, Expr) or sample is None:
        return size
    return as_expr(fn.maximum(size, _LEAST * float(sample([size])[0][0])))


def _dimension(row: ConstraintRow) -> Dimension | None:
    """That of a row's gap; None, like any other, where parameters without units leave it open."""
    if row.constraint.position is not None:
        return row.constraint.position.dimension
    speed = row.constraint.speed.dimension
    return None if speed is None else speed * TIME
