"""Positions that closed loops can take, and the choices of dependent speeds that they need."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from armillary.algebra.calculus import evaluate_all
from armillary.algebra.expression import Expr
from armillary.algebra.walk import Undimensioned, symbols
from armillary.errors import ModelError
from armillary.mechanics.constraints.dependent_speeds import conditioning, partition, sizes_by_kind
from armillary.mechanics.constraints.loop_closing import GeometryLayout, GeometryValues, speed_kind
from armillary.mechanics.constraints.reduction import (
    Configuration,
    Reduction,
    SampledRows,
    choose_elimination,
    modal_speeds,
    sampled_rows,
    with_given,
)
from armillary.mechanics.constraints.rows import Elimination
from armillary.model.description import Description

# The speeds that may move to close the loops of a system, and error texts for open loops, for runs in the
# process (runtime/start/assembly.py) and for exported programs (export/text/start.py).


def movable_speeds(
    layout: GeometryLayout, reduction: Reduction, held: np.ndarray, *, positions: bool = False
) -> list[np.ndarray]:
    """Return masks of the speeds that may change in each of two attempts to satisfy the constraints.

    In the first attempt these are the dependent speeds, in the second all speeds that occur in the rows.
    Speeds in ``held`` never change. With ``positions``, only constraints of positions count.
    """
    rows = set(layout.gaps) if positions else set(range(layout.rows))
    kept = [reduction.rows.index(row) for row in reduction.elimination.kept]
    dependent = np.zeros(layout.speeds, dtype=bool)
    dependent[[step.speed for step in reduction.elimination.steps if kept[step.row] in rows]] = True
    holding = np.zeros(layout.speeds, dtype=bool)
    holding[[j for i, j in layout.jacobian if i in rows]] = True
    return [dependent & ~held, holding & ~held]


def gap_text(reduction: Reduction, i: int) -> tuple[str, str]:
    """Return the words before and after the value of the gap, in the error text of a loop that stays open."""
    row = reduction.rows[i]
    assert row.gap is not None
    sets = [s.data.name for s in symbols(row.gap) if s.data.role == "parameter"]
    by = f", set by {', '.join(sets)}" if sets else ""
    return f"'{row.constraint.name}': {row.constraint.about}: ", f" remains{by}"


def redundant_text(reduction: Reduction) -> str:
    """Return the error text for constraints that are redundant with default parameters, but not in a run."""
    redundant = [f"'{row.constraint.name}'" for row in reduction.elimination.redundant]
    first = (
        f"constraint {redundant[0]} is" if len(redundant) == 1 else f"constraints {', '.join(redundant)} are"
    )
    return (
        f"{first} redundant with the default parameters, but not with these: now the system has fewer "
        "degrees of freedom; make the intended values the defaults of the parameters, and derive again"
    )


# Positions that closed loops can take, reached from the start of runs.
#
# A walk is a sequence of small steps of a system whose loops stay closed. Walks begin at the start of runs,
# go along each direction that is free there, forwards and backwards, and follow prescribed motions. With two
# or three freedoms these walks miss most of the positions, so further walks go in random directions from
# places that were reached. With more freedoms no practicable number of walks would reach all positions, so
# there are no random walks. A step is along the tangent, q += N δ with J δ = −b dt; then Newton's method
# closes the loops. All walks make a step together, so that expressions are evaluated for all of them at once.

_STEP = 0.16  # largest component of a step, divided by its size; radians for angles, whose size is 1
_STEPS = 42  # most steps of a walk: a little more than one turn
_WIDE = 42  # steps that all forward walks together may make; with many freedoms each walk is shorter
_WALKS = 24  # most walks from one start
_FEW = (2, 3)  # numbers of freedoms for which random walks follow
_RANDOM = (16, 4, 20)  # numbers of starts of random walks, of directions from each start, and of steps
_CLOSING = 6  # most steps of Newton's method
_SHUT = 1e-6  # largest gap of a closed loop, as a share of its row's size
_RANK = 1e-5  # share of the largest singular value of J, above which a singular value counts for the rank


@dataclass(frozen=True)
class ReachedPlaces:
    """Places of a motion: times, coordinates (a row each), and all rows of J there, without scaling."""

    times: np.ndarray
    coordinates: np.ndarray
    jacobians: np.ndarray


def reached_places(
    system: Description, sampled: SampledRows, starts: np.ndarray | None = None
) -> ReachedPlaces:
    """Return places that closed loops reach from ``starts``, by default from the start of runs.

    ``starts`` has a row of coordinates for each start.
    """
    walks = _Walks(system, sampled)
    starts = sampled.sample.start[None] if starts is None else starts
    found: list[tuple[float, np.ndarray]] = []
    few = False
    for start in starts:
        here = walks.figures(np.zeros(1), start[None])
        free = _null_space(here.jacobian)[0].T
        free = free[np.max(np.abs(free), axis=1) > 0.0]
        few |= len(free) in _FEW
        directions = np.concatenate([free, -free])[:_WALKS]
        steps = min(_STEPS, max(_WIDE // max(len(free) * len(starts), 1), 4))
        found.append((0.0, start))
        if len(directions):
            found += walks.follow_directions(
                np.repeat(start[None], len(directions), axis=0), directions, steps
            )
        if np.any(np.abs(here.known) > 1e-12):
            found += walks.follow_directions(
                start[None], np.zeros((1, free.shape[1])), steps, through_time=True
            )
    if few:
        found += walks.random_walks(np.array([q for _, q in found]))
    times, places = np.array([t for t, _ in found]), np.array([q for _, q in found])
    return ReachedPlaces(
        times, places, walks.figures(times, places).jacobian / walks.sizes * walks.rows[:, None]
    )


class _Walks:
    """Walks of closed loops, all computed together; rows and speeds are divided by their sizes."""

    def __init__(self, system: Description, sampled: SampledRows) -> None:
        self._sample, self._layout = sampled.sample, sampled.sample.layout
        sizes = [sampled.sizes[speed_kind(u)] for u in system.speeds]
        self.sizes, self.rows = (
            np.array([float(v[0]) for v in sampled.sample(list(values))])
            for values in (sizes, sampled.row_sizes)
        )

    def figures(self, times: np.ndarray, places: np.ndarray) -> GeometryValues:
        """Return Φ, b, J and N at several places, divided by the sizes of rows and speeds."""
        with np.errstate(all="ignore"):
            numbers = self._sample.geometry(self._sample.at(times, places))
        values = np.array([np.broadcast_to(v, len(times)) for v in numbers], dtype=float).T
        found, rows = self._layout.figures(values), self.rows
        return GeometryValues(
            found.gap / rows[list(self._layout.gaps)],
            found.known / rows,
            found.jacobian * self.sizes / rows[:, None],
            found.rates * self.sizes,
        )

    def random_walks(self, reached: np.ndarray) -> list[tuple[float, np.ndarray]]:
        """Return places on random walks from some of the reached places."""
        starts, count, steps = _RANDOM
        chosen = np.linspace(0, len(reached) - 1, min(starts, len(reached))).astype(int)
        places = np.repeat(reached[chosen], count, axis=0)
        directions = np.random.default_rng(1).uniform(-1.0, 1.0, (len(places), self._layout.speeds))
        return self.follow_directions(places, directions, steps)

    def follow_directions(
        self, places: np.ndarray, directions: np.ndarray, steps: int, through_time: bool = False
    ) -> list[tuple[float, np.ndarray]]:
        """Return (time, coordinates) after each step of walks along ``directions``, one walk from each place.

        A walk ends where its loops cannot be closed, or when it has come back to its start. If
        ``through_time``, time goes on and the walk follows the prescribed motions.
        """
        start, times = places, np.zeros(len(places))
        visited: list[tuple[float, np.ndarray]] = []
        figures = self.figures(times, places)
        for step in range(steps):
            if through_time:
                moved = _shortest_steps(figures.jacobian, figures.known)
                dt = np.minimum(_STEP / np.maximum(np.max(np.abs(moved), axis=1), 1e-9), 1.0)
                moved, times = moved * dt[:, None], times + dt
            else:
                free = _null_space(figures.jacobian)
                directions = np.einsum("wij,wkj,wk->wi", free, free, directions)
                reach = np.max(np.abs(directions), axis=1, keepdims=True)
                directions = directions / np.where(reach > 0.0, reach, 1.0)
                moved = _STEP * directions
            places, figures, shut = self._close(times, places + np.einsum("wij,wj->wi", figures.rates, moved))
            back = (
                np.max(np.abs(places - start), axis=1) < 0.5 * _STEP
                if step > 2
                else np.zeros(len(shut), bool)
            )
            on = shut & ~back & (np.max(np.abs(moved), axis=1) > 0.0)
            places, directions, times, start, figures = (
                places[on],
                directions[on],
                times[on],
                start[on],
                figures.of(on),
            )
            if not len(places):
                break
            visited += zip(times.tolist(), places, strict=True)
        return visited

    def _close(self, times: np.ndarray, places: np.ndarray) -> tuple[np.ndarray, GeometryValues, np.ndarray]:
        """Close the loops; return the places, the geometry there, and whether the loops are closed."""
        gaps = list(self._layout.gaps)
        for turn in range(_CLOSING):
            places = self._normalise(places)
            here = self.figures(times, places)
            off = np.max(np.abs(here.gap), axis=1, initial=0.0)
            off = np.where(np.all(np.isfinite(places), axis=1), off, np.inf)
            if turn == _CLOSING - 1 or np.all((off <= _SHUT) | ~np.isfinite(off)):
                break
            step = _shortest_steps(here.jacobian[:, gaps], here.gap)
            places = places + np.einsum("wij,wj->wi", here.rates, step)
        return places, here, off <= _SHUT

    def _normalise(self, places: np.ndarray) -> np.ndarray:
        places = places.copy()
        for first in self._layout.quaternions:
            part = places[:, first : first + 4]
            places[:, first : first + 4] = part / np.linalg.norm(part, axis=1, keepdims=True)
        return places


def _shortest_steps(jacobians: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the shortest δ with J δ = −right at each place; numbers that are not finite count as zero."""
    if not right.shape[1]:
        return np.zeros((len(right), jacobians.shape[2]))
    usable = np.where(np.isfinite(jacobians), jacobians, 0.0)
    found: np.ndarray = -np.einsum(
        "wij,wj->wi", np.linalg.pinv(usable, rcond=_RANK), np.where(np.isfinite(right), right, 0.0)
    )
    return found


def _null_space(jacobians: np.ndarray) -> np.ndarray:
    """Return an n × n matrix for each place: some columns are a basis of J's null space, the others zero."""
    usable = np.where(np.isfinite(jacobians), jacobians, 0.0)
    if not jacobians.shape[1]:
        return np.repeat(np.eye(jacobians.shape[2])[None], len(jacobians), axis=0)
    _, lengths, V = np.linalg.svd(usable)
    count = np.zeros(V.shape[:2], dtype=bool)
    count[:, : lengths.shape[1]] = lengths > _RANK * np.max(lengths, axis=1, initial=1e-300)[:, None]
    return np.transpose(np.where(count[:, :, None], 0.0, V), (0, 2, 1))


# The choices of dependent speeds that the motion of closed loops needs, found before any run.
#
# A choice is rarely good at all positions of the loops, since its pivots vanish at some of them. Choices are
# added until each position has a good choice or no good choice can be found for it. In each round a few
# positions without a good choice each propose one, and the most frequent proposal is added.

_LEAST = 0.002  # an added choice must be the first good one at this share of the places
_TRIED = 12  # most places that propose a choice in one round


@dataclass(frozen=True)
class DependentChoice:
    """A choice of dependent speeds; ``share`` of the places have it as their first good choice."""

    configuration: Configuration
    dependents: tuple[str, ...]  # names, in the order of elimination
    share: float
    rating: Expr | None  # ``conditioning``; None if it is constant


@dataclass(frozen=True)
class Choices:
    """The choices for one set of locked speeds: the choice of the derivation, then those added later."""

    found: tuple[DependentChoice, ...]
    places: np.ndarray  # places at which choices were rated: coordinates, a row each


def dependent_choices(
    system: Description,
    plain: Undimensioned,
    locked: frozenset[str],
    good: float,
    most: int,
    starts: np.ndarray | None = None,
) -> Choices:
    """Return at most ``most`` choices of dependent speeds for a set of locked speeds.

    A choice is good at a place if its ``conditioning`` is at least ``good`` there. The places are reached
    from ``starts``, by default from the start of runs.
    """
    first = Configuration(locked)
    plain, _ = with_given(system, plain, first)
    sampled = sampled_rows(system, plain)
    own = choose_elimination(system, sampled, first)
    names = [u.data.name for u in system.speeds]
    chosen = {first: own}
    if conditioning(own) is None:
        there = sampled.sample.start[None] if starts is None else starts
        return Choices((DependentChoice(first, _dependents(own, names), 1.0, None),), there)
    places = reached_places(system, sampled, starts)
    rated = [_rate_choice(own, sampled, places)]
    hopeless = np.zeros(len(places.times), dtype=bool)
    while len(chosen) < most:
        left = np.flatnonzero((np.max(rated, axis=0) < good) & ~hopeless)
        if not left.size:
            break
        tried = left[np.linspace(0, len(left) - 1, min(_TRIED, len(left))).astype(int)]
        found = [_choose_at_place(system, sampled, own, places.jacobians[i], locked) for i in tried]
        wanted = Counter(c for c in found if c is not None and c not in chosen).most_common(1)
        if not wanted:
            hopeless[tried] = True
            continue
        configuration = wanted[0][0]
        made_at = [i for i, c in zip(tried, found, strict=True) if c == configuration]
        hopeless[made_at] = True  # they would only propose this choice again
        try:
            elimination = choose_elimination(system, sampled, configuration)
        except ModelError:
            continue
        values = _rate_choice(elimination, sampled, places)
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


def _rate_choice(elimination: Elimination, sampled: SampledRows, places: ReachedPlaces) -> np.ndarray:
    """Return the quality of a choice at each place."""
    value = conditioning(elimination)
    if value is None:
        return np.ones(len(places.times))
    with np.errstate(all="ignore"):
        found = evaluate_all([value], sampled.sample.at(places.times, places.coordinates))[0]
    found = np.broadcast_to(found, places.times.shape)
    return np.where(np.isfinite(found), found, 0.0)


def _choose_at_place(
    system: Description, sampled: SampledRows, own: Elimination, jacobian: np.ndarray, locked: frozenset[str]
) -> Configuration | None:
    """Return the choice that a run would make at a place with this J; `None` if J loses rank there."""
    kinds = [u.dimension for u in system.speeds]
    sizes = sizes_by_kind(np.max(np.abs(jacobian), axis=0, initial=0.0), kinds)
    now = [(sampled.rows.index(own.kept[step.row]), step.speed) for step in own.steps]
    pairs = partition(jacobian, sizes, (), now, modal_speeds(system))
    if len(pairs) < len(now):
        return None
    named = ((sampled.rows[i].constraint.name, system.speeds[j].data.name) for i, j in pairs)
    return Configuration(locked, tuple(named))
