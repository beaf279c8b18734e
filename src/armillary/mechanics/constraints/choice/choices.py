"""The choices of dependent speeds that the motion of closed loops needs, found before any run.

The loops are moved through the positions that they can take (loop_motion.py). No choice is good everywhere,
for its pivots vanish in some positions. Those are added, most useful first, that together are good wherever
one can be.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from armillary.algebra.derivatives.calculus import evaluate_all
from armillary.algebra.expression import Expr
from armillary.algebra.walk import Undimensioned
from armillary.errors import ModelError
from armillary.mechanics.constraints.choice.dependent_speeds import conditioning
from armillary.mechanics.constraints.choice.partition import partition, sizes_by_kind
from armillary.mechanics.constraints.loop_motion import ReachedPlaces, reached_places
from armillary.mechanics.constraints.reduction import (
    Configuration,
    SampledRows,
    eliminated,
    modal_speeds,
    sampled_rows,
    with_given,
)
from armillary.mechanics.constraints.rows import Elimination
from armillary.model.description import Description

_LEAST = 0.002  # share of the places for which a choice is worth its equations
_TRIED = 12  # places without a good choice at which one is made, of which the most frequent is taken


@dataclass(frozen=True)
class DependentChoice:
    """A choice of dependent speeds, and the share of the places at which it is good and those before it are
    not.
    """

    configuration: Configuration
    dependents: tuple[str, ...]  # names, in the order of elimination
    share: float
    rating: Expr | None  # ``conditioning``; None where nothing varies


@dataclass(frozen=True)
class Choices:
    """The choices of one set of locked speeds, the derivation's own first, then the most useful ones."""

    found: tuple[DependentChoice, ...]
    places: np.ndarray  # that were looked at: coordinates, a row each


def dependent_choices(
    system: Description,
    plain: Undimensioned,
    locked: frozenset[str],
    good: float,
    most: int,
    starts: np.ndarray | None = None,
) -> Choices:
    """At most so many choices for a set of locked speeds, each ``good`` (``conditioning``) at some place that
    is reached from one of ``starts``, or from where runs start.
    """
    first = Configuration(locked)
    plain, _ = with_given(system, plain, first)
    sampled = sampled_rows(system, plain)
    own = eliminated(system, sampled, first)
    names = [u.data.name for u in system.speeds]
    chosen = {first: own}
    if conditioning(own) is None:
        there = sampled.sample.start[None] if starts is None else starts
        return Choices((DependentChoice(first, _dependents(own, names), 1.0, None),), there)
    places = reached_places(system, sampled, starts)
    rated = [_rated(own, sampled, places)]
    hopeless = np.zeros(len(places.times), dtype=bool)
    while len(chosen) < most:
        left = np.flatnonzero((np.max(rated, axis=0) < good) & ~hopeless)
        if not left.size:
            break
        tried = left[np.linspace(0, len(left) - 1, min(_TRIED, len(left))).astype(int)]
        found = [_partitioned(system, sampled, own, places.jacobians[i], locked) for i in tried]
        wanted = Counter(c for c in found if c is not None and c not in chosen).most_common(1)
        if not wanted:
            hopeless[tried] = True
            continue
        configuration = wanted[0][0]
        try:
            elimination = eliminated(system, sampled, configuration)
        except ModelError:
            hopeless[tried] = True
            continue
        values = _rated(elimination, sampled, places)
        made_at = [i for i, c in zip(tried, found, strict=True) if c == configuration]
        hopeless[made_at] = True  # covered now, or of no use
        if np.sum(values[left] >= good) >= _LEAST * len(values):
            chosen[configuration] = elimination
            rated.append(values)
    listed, covered = [], np.zeros(len(places.times), dtype=bool)
    for (configuration, elimination), values in zip(chosen.items(), rated, strict=True):
        share = float(np.mean((values >= good) & ~covered))
        covered |= values >= good
        rating = conditioning(elimination)
        listed.append(DependentChoice(configuration, _dependents(elimination, names), share, rating))
    return Choices(tuple(listed), places.coordinates)


def _dependents(elimination: Elimination, names: Sequence[str]) -> tuple[str, ...]:
    return tuple(names[step.speed] for step in elimination.steps)


def _rated(elimination: Elimination, sampled: SampledRows, places: ReachedPlaces) -> np.ndarray:
    """The quality of a choice at each place."""
    value = conditioning(elimination)
    if value is None:
        return np.ones(len(places.times))
    with np.errstate(all="ignore"):
        found = evaluate_all([value], sampled.sample.at(places.times, places.coordinates))[0]
    found = np.broadcast_to(found, places.times.shape)
    return np.where(np.isfinite(found), found, 0.0)


def _partitioned(
    system: Description, sampled: SampledRows, own: Elimination, jacobian: np.ndarray, locked: frozenset[str]
) -> Configuration | None:
    """The choice that is made at one place, as in runs; None where rank is lost there."""
    kinds = [u.dimension for u in system.speeds]
    sizes = sizes_by_kind(np.max(np.abs(jacobian), axis=0, initial=0.0), kinds)
    now = [(sampled.rows.index(own.kept[step.row]), step.speed) for step in own.steps]
    pairs = partition(jacobian, sizes, (), now, modal_speeds(system))
    if len(pairs) < len(now):
        return None
    named = ((sampled.rows[i].constraint.name, system.speeds[j].data.name) for i, j in pairs)
    return Configuration(locked, tuple(named))
