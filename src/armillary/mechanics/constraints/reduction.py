"""Reduction of a system under its constraints to a tree with independent and dependent speeds."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce

import numpy as np

from armillary.algebra import functions as fn
from armillary.algebra.expression import ZERO, Expr
from armillary.algebra.triples import Scalar, plus, times
from armillary.algebra.units import Dimension
from armillary.algebra.walk import Undimensioned, symbols
from armillary.errors import ModelError
from armillary.mechanics.constraints.dependent_speeds import choose_dependent_speeds, conditioning
from armillary.mechanics.constraints.loop_closing import (
    GeometryLayout,
    KnownSizes,
    MotionSample,
    Sizes,
    geometry_expressions,
    motion_sizes,
    row_sizes,
    sized_factors,
    speed_kind,
)
from armillary.mechanics.constraints.rows import ConstraintRow, Elimination, remainders, rows
from armillary.mechanics.tree.build import build_tree
from armillary.mechanics.tree.kinematics import corrections
from armillary.mechanics.tree.regroup import simplify_tree
from armillary.mechanics.tree.tree import Tree
from armillary.model.description import Description, Prescription
from armillary.model.joints import Drift

# Least conditioning of a choice of dependent speeds that leaves speeds with a start value independent. Runs
# give up a choice at 0.05.
_GOOD = 0.1


@dataclass(frozen=True)
class Configuration:
    """The locked speeds and the dependent speeds; each configuration of a system has its own equations.

    ``dependents`` holds (constraint, speed) for every constraint whose dependent speed is already chosen; the
    derivation chooses the other dependent speeds.
    """

    locked: frozenset[str] = frozenset()
    dependents: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, eq=False)
class Reduction:
    """A system reduced to its independent speeds.

    ``plain`` converts expressions of the description to expressions without dimensions, in which the values
    of dependent and of ``given`` (prescribed or locked) quantities are substituted.
    """

    tree: Tree
    plain: Undimensioned
    given: Mapping[Expr, Prescription]
    elimination: Elimination = field(default_factory=Elimination)
    rows: tuple[ConstraintRow, ...] = ()
    layout: GeometryLayout | None = None
    geometry: tuple[Expr, ...] = ()
    corrections: Mapping[Expr, Scalar] = field(default_factory=dict)
    free_tree: Tree | None = None  # the tree with unknown rates of dependent speeds, for multipliers
    remainders: tuple[Scalar, ...] = ()  # γ of the kept rows, for the unknowns of the equations
    quality: Expr | None = None  # of the choice of dependent speeds: small near places where it is singular
    strength: Expr | None = None  # of the weakest constraint: small where every choice is singular
    pivots: tuple[Expr, ...] = ()  # pivots that vary: one of them changes sign at a singular place
    sizes: Sizes = field(default_factory=dict)  # of coordinates, by dimension: see loop_closing.py
    usual_sizes: KnownSizes = field(default_factory=dict)  # ``sizes`` with the default parameters
    row_sizes: tuple[Scalar, ...] = ()

    def regroup(self) -> Reduction:
        """Return the reduction with its trees simplified: origins moved, inertia regrouped."""
        free = None if self.free_tree is None else simplify_tree(self.free_tree)
        return replace(self, tree=simplify_tree(self.tree), free_tree=free)

    def independent(self, system: Description) -> list[Expr]:
        """Return the speeds that are neither given nor dependent."""
        return [
            u
            for i, u in enumerate(system.speeds)
            if u not in self.given and i not in self.elimination.factors
        ]

    def state_kinds(self, system: Description) -> list[Dimension | None]:
        """Return the kinds of the coordinates, then of the independent speeds."""
        kinds = [q.dimension for q in self.coordinates(system)]
        return kinds + [speed_kind(u) for u in self.independent(system)]

    def state_sizes(self, system: Description) -> list[float]:
        """Return the sizes of the coordinates and independent speeds, with the default parameters."""
        return [self.usual_sizes.get(kind, 1.0) for kind in self.state_kinds(system)]

    def given_converter(self) -> Undimensioned:
        """Return a converter with the values of prescribed and locked quantities substituted."""
        plain, known = Undimensioned(), {}
        for p in self.given.values():
            known[p.speed] = plain(p.value)
            if p.coordinate is not None and p.position is not None:
                known[p.coordinate] = plain(p.position)
        return plain.with_values(known)

    def coordinates(self, system: Description) -> list[Expr]:
        """Return the coordinates that are not given as functions of time."""
        known = {p.coordinate for p in self.given.values()}
        return [q for q in system.coordinates if q not in known]

    def held_coordinates(self, system: Description) -> list[Expr]:
        """Return those ``coordinates`` whose rates contain speeds, and only ``given`` ones.

        They depend on the start of a run and on prescribed motion, but not on loads.
        """

        def speeds(q: Expr) -> list[Expr]:
            return [s for s in symbols(system.rates[q]) if s.data.role == "speed"]

        found = ((q, speeds(q)) for q in self.coordinates(system))
        return [q for q, own in found if own and all(u in self.given for u in own)]


def initial_configuration(system: Description) -> Configuration:
    """Return the configuration at the start of runs: the locks are set, no dependent speed is chosen."""
    return Configuration(frozenset(u.data.name for u in system.locked))


def reduce_system(system: Description, plain: Undimensioned, configuration: Configuration) -> Reduction:
    """Return a system reduced to its independent speeds in a configuration."""
    plain, given = with_given(system, plain, configuration)
    split = bool(system.constraints) or _holds_parent_velocity(system, {*given, *system.armatures})
    if not system.constraints:
        return Reduction(build_tree(system, plain, given=given, split_free_bodies=split), plain, given)
    sampled = sampled_rows(system, plain)
    rows, sizes, of_rows = sampled.rows, sampled.sizes, sampled.row_sizes
    elimination = choose_elimination(system, sampled, configuration)
    values, layout, _ = geometry_expressions(system, rows, plain)
    steps = _position_steps(system, elimination, plain)
    independent = {i: plain(u) for i, u in enumerate(system.speeds)}
    dependents = {system.speeds[d]: value for d, value in elimination.speeds(independent).items()}
    plain = plain.with_values({u: _expression(value) for u, value in dependents.items()})
    tree = build_tree(system, plain, given=given, split_free_bodies=split)
    right = acceleration_remainders(system, tree, elimination, plain, given)
    free = tree
    tree = tree.with_dependent_rates(elimination.solve(right, "c"))
    quality = reduce(fn.minimum, elimination.qualities) if elimination.qualities else None
    strength = reduce(fn.minimum, elimination.strengths) if elimination.strengths else None
    return Reduction(
        tree,
        plain,
        given,
        elimination,
        rows=tuple(rows),
        layout=layout,
        geometry=tuple(values),
        corrections=steps,
        free_tree=free,
        remainders=tuple(right),
        quality=quality,
        strength=strength,
        pivots=tuple(elimination.pivots),
        sizes=sizes,
        usual_sizes={kind: float(sampled.sample([size])[0][0]) for kind, size in sizes.items()},
        row_sizes=of_rows,
    )


@dataclass(frozen=True, eq=False)
class SampledRows:
    """The constraints of a system, a sample of its motion, and the sizes of coordinates and rows."""

    rows: list[ConstraintRow]
    sample: MotionSample
    sizes: Sizes
    row_sizes: tuple[Scalar, ...]


def sampled_rows(system: Description, plain: Undimensioned) -> SampledRows:
    """Return the constraints, in expressions converted by ``plain``, with a sample and the sizes."""
    found = rows(system, plain)
    sample = MotionSample(system, found, plain)
    factors = sized_factors(found, sample)
    sizes = motion_sizes(system, found, factors, sample)
    return SampledRows(found, sample, sizes, row_sizes(system, found, factors, sizes, sample))


def acceleration_remainders(
    system: Description,
    tree: Tree,
    elimination: Elimination,
    plain: Undimensioned,
    given: Mapping[Expr, Prescription],
) -> list[Scalar]:
    """Return γ of the kept rows, in Σ J x + γ = 0 with the unknowns x of the tree's equations."""
    gained = corrections(tree)
    right = remainders(system, elimination.kept, plain, given)
    for i, row in enumerate(elimination.kept):
        for j, a in row.coefficients.items():
            right[i] = plus(right[i], times(a, gained.get(j, 0)))
    return [fn.named(g, f"gamma_{i + 1}") for i, g in enumerate(right)]


def with_given(
    system: Description, plain: Undimensioned, configuration: Configuration
) -> tuple[Undimensioned, dict[Expr, Prescription]]:
    """Return ``plain`` with given motions substituted, and prescriptions of prescribed and locked speeds."""
    _check_given(system)
    given = dict(system.prescriptions)
    for u in system.speeds:
        if u.data.name in configuration.locked:
            given[u] = Prescription(u, ZERO)
    return (plain.with_values(_known_values(given, plain)) if given else plain), given


def _check_given(system: Description) -> None:
    """Raise an error if events lock or set speeds that are given, or prescribed motions have start values."""
    for p in system.prescriptions.values():
        if p.coordinate in system.started or p.speed in system.started:
            raise ModelError(f"start() gives {_in_words(p).split(' = ')[0]} a value, but it is prescribed")
    freed = {u for event in system.events.values() for u in event.unlock}
    lockable = {*system.locked, *(u for event in system.events.values() for u in event.lock)}
    eliminated_by = {c.eliminate: c.name for c in system.constraints.values() if c.eliminate is not None}
    for event in system.events.values():
        where = f"event '{event.name}'"
        for u in (*event.lock, *event.unlock):
            if u in system.prescriptions:
                raise ModelError(f"{where}: '{u}' is prescribed; it cannot be locked or unlocked")
        for u in event.unlock:
            if u not in lockable:
                raise ModelError(
                    f"{where} unlocks '{u}', but it is never locked; lock it with lock() or by an event"
                )
        for target in event.changes:
            if any(target in (p.speed, p.coordinate) for p in system.prescriptions.values()):
                raise ModelError(f"{where}: '{target}' is prescribed; it cannot be set")
            if target in system.locked and target not in freed:
                raise ModelError(f"{where}: '{target}' is locked and no event unlocks it; it cannot be set")
            if target in eliminated_by:
                raise ModelError(
                    f"{where}: '{target}' is eliminated by constraint '{eliminated_by[target]}', so it "
                    "follows from the other speeds; set one of them, or let the constraint eliminate another"
                )


def full_tree(system: Description, plain: Undimensioned | None = None) -> Tree:
    """Return the tree of a system without its constraints: every speed that is not prescribed is free."""
    plain = plain or Undimensioned()
    plain = plain.with_values(_known_values(system.prescriptions, plain))
    return build_tree(system, plain, given=system.prescriptions, split_free_bodies=True)


def _known_values(given: Mapping[Expr, Prescription], plain: Undimensioned) -> dict[Expr, Expr]:
    known = {p.speed: plain(p.value) for p in given.values()}
    return known | {
        p.coordinate: plain(p.position)
        for p in given.values()
        if p.coordinate is not None and p.position is not None
    }


def _expression(value: Scalar) -> Expr:
    return value if isinstance(value, Expr) else ZERO + value


def _holds_parent_velocity(system: Description, speeds: Collection[Expr]) -> bool:
    """Return whether a velocity of a free body in its parent's axes is among the speeds."""
    drifts = [s for body in system.bodies.values() for s in body.assembly.steps if isinstance(s, Drift)]
    return any(u in step.linear.values() for step in drifts if step.velocity == "parent" for u in speeds)


def choose_elimination(
    system: Description, sampled: SampledRows, configuration: Configuration
) -> Elimination:
    """Return the elimination of the dependent speeds; choose those that the configuration does not name."""
    sample = sampled.sample
    names = [u.data.name for u in system.speeds]
    set_by_events = {
        names.index(target.data.name)
        for event in system.events.values()
        for target in event.changes
        if target.data.role == "speed"
    }

    def choose(kept_free: Collection[int]) -> Elimination:
        return choose_dependent_speeds(
            sampled.rows,
            sample,
            names,
            [u.dimension for u in system.speeds],
            sampled.row_sizes,
            kept_free=kept_free,
            modal=modal_speeds(system),
            wanted={constraint: names.index(speed) for constraint, speed in configuration.dependents},
            given={u: _in_words(p) for u, p in system.prescriptions.items()},
            locked=configuration.locked,
        )

    elimination = choose(set_by_events)
    started = {i for i, u in enumerate(system.speeds) if u in system.started and system.initial[u] != 0.0}
    held = {j for row in elimination.kept for j in row.coefficients}
    replaceable = held - elimination.factors.keys() - started
    if not configuration.dependents and replaceable and started & elimination.factors.keys():
        elimination = _prefer_free_starts(elimination, started, set_by_events, choose, sample)
    locked = {u for u in system.speeds if u.data.name in configuration.locked}
    free = len(names) - len(set(system.prescriptions) | locked)
    driven = any(np.any(np.abs(b) > 1e-12) for b in sample(list(elimination.known.values())))
    if len(elimination.factors) >= free and not locked and not driven:
        listed = "".join(f"\n  '{row.constraint.name}': {row.constraint.about}" for row in elimination.kept)
        raise ModelError(
            f"system '{system.name}' is over-constrained: {len(elimination.kept)} constraints determine all "
            f"of its {free} speeds, so nothing moves; remove one of{listed}\n"
            "or, if all are intended, give the coordinates with start(): constraints that are independent "
            "elsewhere may be redundant in a flat position"
        )
    return elimination


def _prefer_free_starts(
    found: Elimination,
    started: Collection[int],
    set_by_events: Collection[int],
    chosen: Callable[[Collection[int]], Elimination],
    sample: MotionSample,
) -> Elimination:
    """Return a choice with fewer ``started`` speeds among the dependent ones, if one is good at the start.

    If a speed with a start value is dependent, other speeds, without a start value, override that value.
    The first choice tried keeps ``set_by_events`` free, too.
    """
    best = found
    for kept_free in ({*started, *set_by_events}, started):
        try:
            other = chosen(kept_free)
        except ModelError:  # a row is left without speeds
            continue
        quality = conditioning(other)
        good = quality is None or float(sample([quality])[0][0]) >= _GOOD
        fewer = len(other.factors.keys() & started) < len(best.factors.keys() & started)
        if good and fewer and len(other.kept) == len(found.kept):
            best = other
    return best


def modal_speeds(system: Description) -> set[int]:
    """Return the indices of modal speeds among all speeds."""
    modal = {u for flex in system.flexibles.values() for u in flex.speeds}
    return {i for i, u in enumerate(system.speeds) if u in modal}


def _in_words(given: Prescription) -> str:
    if given.coordinate is not None:
        return f"'{given.coordinate}' = {given.position}"
    return f"'{given.speed}' = {given.value}"


def _position_steps(
    system: Description, elimination: Elimination, plain: Undimensioned
) -> dict[Expr, Scalar]:
    """Return the change of each coordinate, N δ, in one step towards closed loops.

    δ solves J_d δ = −Φ, with the gaps Φ and the columns J_d of the dependent speeds; q̇ = N u.
    """
    if all(row.gap is None for row in elimination.kept):
        return {}
    delta = elimination.solve([row.gap if row.gap is not None else 0 for row in elimination.kept], "delta")
    values, layout, free = geometry_expressions(system, [], plain)
    steps: dict[Expr, Scalar] = {}
    for (i, j), n in zip(layout.rates, values, strict=True):
        if j in delta:
            steps[free[i]] = plus(steps.get(free[i], 0), times(n, delta[j]))
    return steps
