"""Checks that every motion of a system moves some mass: before equations are derived, and for every run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from armillary.algebra.calculus import NumericValue, Values, evaluate_all
from armillary.algebra.expression import Expr, as_expr
from armillary.algebra.triples import Matrix, Scalar, cross_triples
from armillary.algebra.units import LENGTH
from armillary.algebra.walk import Undimensioned, symbols
from armillary.errors import ModelError
from armillary.mechanics.constraints.dependent_speeds import sizes_by_kind
from armillary.mechanics.constraints.loop_closing import MotionSample
from armillary.mechanics.constraints.reduction import Configuration, initial_configuration, with_given
from armillary.mechanics.constraints.rows import ConstraintRow, rows
from armillary.mechanics.mass_sweep import (
    SINGULAR,
    LinkInertias,
    Pivot,
    active,
    least_share,
    null_motion,
    sparse_basis,
    sweep,
)
from armillary.mechanics.tree.build import build_tree
from armillary.mechanics.tree.tree import LINEAR, MODAL, Tree
from armillary.model.description import Description
from armillary.model.joints.base import Turn
from armillary.model.units import default_value

# Joints with three angles. If the axes of the three turns lie in a plane, the mass matrix is singular.
#
# Let a₁, a₂ and a₃ be the axes of three successive turns, each in the frame rotated by the turns before, and
# q₂ the second angle. The determinant of the axes is
#
#     a₁ · (a₂ × R₂ a₃) = cos q₂ a₁·(a₂ × a₃) + sin q₂ a₁·(a₂ × (a₂ × a₃))
#
# If it vanishes, the axes lie in a plane.

_IN_A_PLANE = 1e-7  # determinant of unit axes that counts as zero; pivots fall with its square


class ThreeAngles(NamedTuple):
    """The index of the second angle among the coordinates, and the factors of its cosine and sine."""

    middle: int
    of_cosine: float
    of_sine: float

    def is_locked(self, angles: np.ndarray) -> np.ndarray:
        """Return whether the axes lie in a plane, for each value of the second angle."""
        determinant = self.of_cosine * np.cos(angles) + self.of_sine * np.sin(angles)
        return np.asarray(np.abs(determinant) < _IN_A_PLANE)


def joints_of_three_angles(system: Description, coordinates: Sequence[str]) -> tuple[ThreeAngles, ...]:
    """Return the joints with three turns about axes given as numbers; such axes may come to lie in a plane.

    Indices refer to ``coordinates``, the names of the coordinates in the state, without prescribed ones.
    """
    number = {q: i for i, q in enumerate(coordinates)}
    found = []
    for body in system.bodies.values():
        turns = [step for step in body.assembly.steps if isinstance(step, Turn)]
        numbers = all(isinstance(x, int | float) for turn in turns for x in turn.axis)
        middle = turns[1].angle if len(turns) == 3 and numbers else None
        if middle is not None and middle.kind == "symbol" and middle.data.name in number:
            a, b, c = (turn.axis for turn in turns)
            across = cross_triples(b, c)
            parts = (
                float(np.dot(np.asarray(a), np.asarray(across))),
                float(np.dot(np.asarray(a), np.asarray(cross_triples(b, across)))),
            )
            found.append(ThreeAngles(number[middle.data.name], *parts))
    return tuple(found)


# A check, before any formalism derives equations, that every motion of a system moves some mass.
#
# The pivots of the mass matrix M are evaluated at places away from special positions, with the defaults of
# the parameters (random values for parameters without a default). Constraints may prevent a motion that moves
# no mass. With the null vectors N of M and the matrix J of the constraints, M is regular on the speeds that
# the constraints allow if J N has full rank.
#
# Modal coordinates keep their values at the start of runs, which are usually zero: the inertia of a slender
# boom about its own axis is zero while it is straight, and a check of a bent boom would miss this.

_TIMES = (0.37, 1.13, 2.9)  # times of the places
CLEAR = 1e-6  # ``own_share`` above which a link's own inertia certainly suffices
_REST = 1e-3  # share of the speeds of joints, up to which a body counts as at rest
_SAME = 1e-8  # share of the largest value, up to which a value is a rounding error


@dataclass(frozen=True, eq=False)
class MotionWithoutMass:
    """A motion that moves no mass, with words for the motion of the first body that takes part."""

    speeds: np.ndarray  # of the whole system
    body: str
    words: str
    names: tuple[str, ...]  # of the speeds that take part

    def line(self) -> str:
        """Return one line of an error."""
        if len(self.names) == 1:
            return f"speed '{self.names[0]}' moves no mass (body '{self.body}', {self.words})"
        return f"body '{self.body}', {self.words}, moves no mass (speeds {', '.join(self.names)})"


def check_masses(system: Description, configuration: Configuration) -> list[MotionWithoutMass]:
    """Check that every motion of the system moves some mass; raise an error that lists the motions that do
    not.

    Motions without mass that only constraints prevent are no error. They are returned, since formalisms that
    first solve the tree without constraints cannot solve for them.
    """
    masses, plain = tree_masses(system, configuration)
    values = places(system, plain)
    if masses.own_inertia_suffices(values) or not (loose := masses.massless_motions(values)):
        return []
    left = loose
    if system.constraints:
        found = rows(system, plain)
        values = _without_start(MotionSample(system, found, plain).values)
        left, loose = masses.massless_motions(values, found), masses.massless_motions(values)
    if left:
        raise ModelError(singular_mass_text(system, left))
    return loose


def inertial_parameters(system: Description) -> set[str]:
    """Return the names of parameters on which masses, inertias, armatures and places of bodies depend."""
    found: set[str] = set()
    for body in system.bodies.values():
        own: list[Scalar] = [
            body.mass,
            *body.com_coordinates,
            *body.at,
            *(x for row in body.inertia for x in row),
        ]
        own += [x for row in body.orient or () for x in row]
        found |= {s.data.name for s in symbols(*map(as_expr, own)) if s.data.role == "parameter"}
    return found | {s.data.name for s in symbols(*system.armatures.values()) if s.data.role == "parameter"}


def tree_masses(system: Description, configuration: Configuration) -> tuple[Masses, Undimensioned]:
    """Return a system's masses, and the converter with which their expressions lost their dimensions."""
    plain, given = with_given(system, Undimensioned(), configuration)
    return Masses(system, build_tree(system, plain, given=given, split_free_bodies=True)), plain


def singular_mass_text(system: Description, loose: Sequence[MotionWithoutMass]) -> str:
    """Return the text of an error that lists motions without mass."""
    remedy = "mass or inertia"
    if system.flexibles:
        remedy += " (a Beam: polar=, its moment of inertia per length about its axis)"
    if len(loose) == 1:
        return (
            f"{loose[0].line()}: the mass matrix is singular; give its body (or a body on it) "
            f"{remedy}, or fix or prescribe the joint"
        )
    lines = "".join(f"\n  {motion.line()}" for motion in loose)
    return (
        f"the mass matrix of '{system.name}' is singular in {len(loose)} directions:{lines}\n"
        f"  remedy: give these bodies (or bodies on them) {remedy}, or fix or prescribe the joints"
    )


class Masses:
    """Numeric checks of a tree's mass matrix at any places."""

    def __init__(self, system: Description, tree: Tree) -> None:
        self.system, self.tree = system, tree
        self.links = LinkInertias(tree)
        self.bodies = {u: body.name for body in system.bodies.values() for u in body.speeds}
        self.bodies |= {u: name for name, flex in system.flexibles.items() for u in flex.speeds}
        self.turns = {d.index: d.direction < LINEAR for link in tree.links for d in link.degrees}

    def own_inertia_suffices(self, values: Values) -> bool:
        """Return whether each link's own inertia resists all freedoms of its joint.

        Links beyond it only add to a pivot, so in this case no pivots need be computed, at any place.
        """
        if any(link.modes is not None for link in self.tree.links):
            return False
        alike: dict[tuple[int, ...], list[np.ndarray]] = {}  # links with freedoms in the same directions
        for link, E in zip(self.tree.links, self.links.own_inertias(values), strict=True):
            alike.setdefault(tuple(active(link)[1]), []).append(E)
        return all(
            bool(np.all(own_share(directions, np.concatenate(own)) > CLEAR))
            for directions, own in alike.items()
        )

    def least_share(self, values: Values) -> float:
        """Return a lower bound of the shares of all pivots, for all places with these distances between
        links.

        The pivot G of a link is at least SᵀE S + A, with its own inertia E, the directions S of its freedoms
        and the armatures A, since links beyond it only add to G. The share of a pivot is relative to all
        inertias in it. The bound is 0 if inertias are not functions of the parameters alone or not positive.
        """
        if not self.links.constant:
            return 0.0
        return least_share(self.links, values)

    def shares(self, values: Values) -> np.ndarray:
        """Return ``Pivot.share`` as an array of links × places; it is infinite for links without freedoms."""
        return _shares(sweep(self.links, values))

    def weakest(
        self, values: Values, usual: np.ndarray
    ) -> tuple[float, float, int, MotionWithoutMass] | None:
        """Return (share, ratio, index of the place, motion) for the pivot and place with the least ratio.

        The ratio is share / usual share; ``usual`` has the usual share of the pivot of each link.
        """
        pivots = sweep(self.links, values)
        shares = _shares(pivots)
        # For a pivot that is singular at the usual place too, the share itself is used.
        sound = np.isfinite(usual) & (usual >= SINGULAR)
        fallen = shares / np.where(sound, usual, 1.0)[:, None]
        fallen[~np.isfinite(shares)] = np.inf
        if not np.isfinite(fallen).any():
            return None
        link, place = divmod(int(np.argmin(fallen)), shares.shape[1])
        pivot = pivots[link]
        rates = pivot.vectors[place][:, np.argmin(np.abs(pivot.eigenvalues[place]))] / pivot.sizes[place]
        speeds, twists = null_motion(self.links, pivots, link, rates, place)
        motion = self._in_words(pivots, link, speeds, twists, at_place(values, place), place)
        return float(shares[link, place]), float(fallen[link, place]), place, motion

    def massless_motions(
        self, values: Values, found: Sequence[ConstraintRow] = ()
    ) -> list[MotionWithoutMass]:
        """Return the motions without mass that the constraints ``found`` allow, at the place with fewest."""
        pivots = sweep(self.links, values)
        with np.errstate(invalid="ignore"):
            weak = np.min([p.share for p in pivots], axis=0) < SINGULAR
        known = np.flatnonzero(np.isfinite(np.min([p.share for p in pivots], axis=0)))
        if not known.size or not weak[known].all():
            return []
        by_place = []
        for k in known:
            motions = self._motions_at(pivots, at_place(values, int(k)), int(k))
            by_place.append(
                motions_left_by(found, motions, self.system, at_place(values, int(k))) if found else motions
            )
        return min(by_place, key=len)

    def _motions_at(self, pivots: list[Pivot], values: Values, place: int) -> list[MotionWithoutMass]:
        found = []
        for i, pivot in enumerate(pivots):
            for rates in pivot.null_directions(place):
                speeds, twists = null_motion(self.links, pivots, i, rates, place)
                found.append(self._in_words(pivots, i, speeds, twists, values, place))
        return found

    def _in_words(
        self,
        pivots: Sequence[Pivot],
        first: int,
        speeds: Mapping[int, float],
        twists: Mapping[int, np.ndarray],
        values: Values,
        at: int,
    ) -> MotionWithoutMass:
        """Return a motion with its words; ``first`` is the first moving link, ``at`` the index of a place."""
        own = [d for d in pivots[first].freedoms if abs(speeds[d.index]) > 0.0]
        body = self.bodies[self.system.speeds[own[0].index]]
        vector = np.zeros(len(self.system.speeds))
        vector[list(speeds)] = list(speeds.values())
        vector[np.abs(vector) <= _SAME * np.max(np.abs(vector))] = 0.0
        names = tuple(self.system.speeds[i].data.name for i in np.flatnonzero(vector))
        place = self.tree.placements[body]
        if place.link not in twists or own[0].direction >= MODAL:
            return MotionWithoutMass(vector, body, "in its modes", names)
        w, v = np.split(twists[place.link][:6], 2)
        spins = [abs(x) for k, x in speeds.items() if self.turns[k]]
        slides = [abs(x) for k, x in speeds.items() if not self.turns[k]]
        if np.linalg.norm(w) > _REST * max(spins, default=np.inf):
            R = _matrix_numbers(place.rotation, values)
            return MotionWithoutMass(vector, body, f"turning about {_axis(R.T @ w)} in its axes", names)
        if not np.linalg.norm(v) > _REST * max(slides, default=np.inf):
            return MotionWithoutMass(vector, body, "at rest while its joint moves", names)
        parent = self.system.bodies[body].parent
        assert parent is not None
        base = self.tree.placements[parent.name]
        link = place.link
        while link not in (-1, base.link):  # turn v to the axes of the parent body
            v = pivots[link].from_parent[at, :3, :3].T @ v
            link = self.tree.links[link].parent
        v = _matrix_numbers(base.rotation, values).T @ v
        return MotionWithoutMass(
            vector, body, f"moving along {_axis(v)} in the axes of '{parent.name}'", names
        )


def _shares(pivots: Sequence[Pivot]) -> np.ndarray:
    return np.array([p.share if p.freedoms else np.full_like(p.share, np.inf) for p in pivots])


def _matrix_numbers(matrix: Matrix, values: Values) -> np.ndarray:
    entries = [as_expr(x) for row in matrix for x in row]
    missing = {s: 1.0 for s in symbols(*entries) if s not in values}
    return np.array(evaluate_all(entries, {**values, **missing}), dtype=float).reshape(3, 3)


def own_share(directions: Sequence[int], E: np.ndarray) -> np.ndarray:
    """Return the least eigenvalue of a link's own inertia E in its freedoms, scaled to a share of at most
    one, at each place; 1 without freedoms.
    """
    indices = list(directions)
    if not indices:
        return np.ones(len(E))
    turning, moving = np.trace(E[:, :3, :3], axis1=1, axis2=2), np.trace(E[:, 3:, 3:], axis1=1, axis2=2)
    size = np.sqrt(np.abs(np.stack([turning if i < LINEAR else moving for i in indices], axis=1)))
    size = np.where(size > 0.0, size, 1.0)
    G = E[:, indices][:, :, indices] / size[:, :, None] / size[:, None, :]
    if not np.isfinite(G).all():
        return np.zeros(len(E))
    return np.linalg.eigvalsh(G)[:, 0]


def motions_left_by(
    found: Sequence[ConstraintRow],
    motions: Sequence[MotionWithoutMass],
    system: Description,
    values: Values,
    least: float = _SAME,
) -> list[MotionWithoutMass]:
    """Return motions without mass that constraints allow: combinations N z of ``motions`` with |J N z| of at
    most ``least``.
    """
    J = np.zeros((len(found), len(system.speeds)))
    for i, row in enumerate(found):
        with np.errstate(all="ignore"):
            J[i, list(row.coefficients)] = evaluate_all(map(as_expr, row.coefficients.values()), values)
    J = np.where(np.isfinite(J), J, 0.0)
    sizes = sizes_by_kind(np.max(np.abs(J), axis=0), [u.dimension for u in system.speeds])
    J = J / sizes
    norms = np.linalg.norm(J, axis=1, keepdims=True)
    N = np.array([motion.speeds for motion in motions]).T * sizes[:, None]
    N = N / np.linalg.norm(N, axis=0)
    _, strengths, directions = np.linalg.svd(J / np.where(norms > 0.0, norms, 1.0) @ N)
    strengths = np.append(strengths, np.zeros(len(directions) - len(strengths)))
    left = sparse_basis(directions[strengths <= least])
    return [_combine_motions(z, motions) for z in left]


def _combine_motions(z: np.ndarray, motions: Sequence[MotionWithoutMass]) -> MotionWithoutMass:
    """Return the motion with the largest part in a combination z, with the names of all speeds in it."""
    parts = [motion for x, motion in zip(z, motions, strict=True) if abs(x) > _SAME]
    first = motions[int(np.argmax(np.abs(z)))]
    if len(parts) == 1:
        return first
    names = tuple(dict.fromkeys(name for motion in parts for name in motion.names))
    return MotionWithoutMass(first.speeds, first.body, first.words, names)


def _axis(v: np.ndarray) -> str:
    """Return a direction as text; its sign is such that its largest component is positive."""
    v = v / np.linalg.norm(v)
    v = v * (1.0 if v[np.argmax(np.abs(v) > np.max(np.abs(v)) * (1 - 1e-9))] > 0 else -1.0)
    return f"({', '.join(f'{round(x, 4) + 0.0:.4g}' for x in v)})"


def at_place(values: Values, place: int) -> dict[Expr, NumericValue]:
    """Return the values at one of the places."""
    return {s: x[place] if np.ndim(x) else x for s, x in values.items()}


def _without_start(values: Values) -> dict[Expr, NumericValue]:
    """Return the values without the first place, where joints and constraints may be singular."""
    return {s: x[1:] if np.ndim(x) else x for s, x in values.items()}


def places(system: Description, plain: Undimensioned) -> dict[Expr, NumericValue]:
    """Return numbers for all symbols at places near the start of runs; modal coordinates do not vary."""
    chance = np.random.default_rng(1975)
    values: dict[Expr, NumericValue] = {system.time: np.array(_TIMES)}
    for parameter in system.parameters.values():
        default = default_value(parameter)
        values[parameter] = float(chance.uniform(0.5, 1.5)) if default is None else default
    values |= {memory.symbol: memory.initial for memory in system.memories.values()}
    modes = {q for flex in system.flexibles.values() for q in flex.coordinates}
    for q in system.coordinates:
        away = 0.0 if q in modes else chance.uniform(0.1, 0.4, len(_TIMES))
        values[q] = system.initial[q] + away
    for body in system.bodies.values():
        for start in body.assembly.quaternions:
            e = body.coordinates[start : start + 4]
            length = np.sqrt(sum(values[q] ** 2 for q in e))
            values |= {q: values[q] / length for q in e}
    values |= dict.fromkeys(system.speeds, 0.0)
    # `plain` replaces given and locked quantities by expressions, which need no number here.
    return {plain(s): value for s, value in values.items() if plain(s).kind == "symbol"}


# Checks with the parameters of runs, which may differ from their defaults.
#
# A sum of masses or inertias may vanish at any values (1 − k at k = 1), so each set of values that the
# derivation did not use is checked numerically. The tree is built once. Many sets are checked together at one
# place: a set with which M is regular at this place passes. Only the other sets are checked one by one, at
# several places and with the constraints, as the defaults were before equations were derived.

_AT_ONCE = 4096  # sets of values that are checked together
# Most sets of which each one is checked, which takes seconds. If there are more, only sets with a parameter
# that is zero are checked.
_MOST = 2**17
_SINGLE = 100  # most sets of a batch that are checked one by one
_KEPT = 256  # most results of single sets that are kept
_NEARER = (1e-3, 1e-6, 1e-9)  # factors of distances, for models of small objects in large units


class RunMasses:
    """Mass checks of one system with many sets of parameters, which are in the model's units, by name."""

    def __init__(self, system: Description) -> None:
        self.system = system
        self._known: dict[tuple[tuple[str, float], ...], str] = {}

    @cached_property
    def defaults(self) -> dict[str, float | None]:
        """Defaults of the parameters on which masses, inertias, armatures and places depend, by name."""
        own = inertial_parameters(self.system)
        return {name: default_value(node) for name, node in self.system.parameters.items() if name in own}

    @cached_property
    def _tree(self) -> tuple[Masses, Undimensioned]:
        return tree_masses(self.system, initial_configuration(self.system))

    @cached_property
    def _places(self) -> dict[Expr, NumericValue]:
        return places(self.system, self._tree[1])

    @cached_property
    def _rows(self) -> list[ConstraintRow]:
        return rows(self.system, self._tree[1])

    def why_singular(self, values: Mapping[str, float]) -> str:
        """Return the text of an error that lists the motions without mass; "" if there are none.

        Loops are not closed for this: near a closed position, constraints have at least the same rank.
        """
        if all(values[name] == default for name, default in self.defaults.items() if name in values):
            return ""  # the derivation has checked these values
        key = tuple(values.items())
        if key not in self._known:
            if len(self._known) >= _KEPT:
                self._known.clear()
            self._known[key] = self._judge(values)
        return self._known[key]

    def _judge(self, values: Mapping[str, float]) -> str:
        masses = self._tree[0]
        numbers = self._places | self._name_motions(values)
        if masses.own_inertia_suffices(numbers) or not (left := masses.massless_motions(numbers, self._rows)):
            return ""
        # Bodies that slide may be far away, so that their inertia is lost in the rounding of m r².
        plain = self._tree[1]
        slides = [plain(q) for q in self.system.coordinates if q.dimension == LENGTH and plain(q) in numbers]
        for nearness in _NEARER if slides else ():
            nearer = {q: numbers[q] * nearness for q in slides}
            if not masses.massless_motions({**numbers, **nearer}, self._rows):
                return ""
        return singular_mass_text(self.system, left)

    def _name_motions(self, values: Mapping[str, NumericValue]) -> dict[Expr, NumericValue]:
        return {self._tree[1](self.system.parameters[name]): value for name, value in values.items()}

    def all_singular(self, values: Mapping[str, NumericValue], runs: int) -> dict[int, str]:
        """Return the error texts of ``why_singular`` by run number, without runs that pass.

        Values that differ between runs are arrays. Sets that do not pass at one place are checked one by one,
        but only the first _SINGLE of them. Later ones get the text of the first faulty set. In a system with
        constraints, which may prevent their massless motions, later sets are still checked if one of their
        parameters is zero, and pass otherwise.
        """
        varied = [name for name in self.defaults if np.ndim(values.get(name, 0.0))]
        fixed = {name: value for name, value in values.items() if not np.ndim(value)}
        if not varied:
            why = self.why_singular({name: float(np.ravel(value)[0]) for name, value in values.items()})
            return dict.fromkeys(range(runs), why) if why else {}
        table = np.stack([values[name] for name in varied], axis=1)
        sets, chosen, where = np.unique(table, axis=0, return_index=True, return_inverse=True)
        found: dict[int, str] = {}
        first = ""
        looked = np.flatnonzero(np.any(sets == 0.0, axis=1)) if len(sets) > _MOST else np.arange(len(sets))
        suspects = self._suspects(fixed, dict(zip(varied, sets.T, strict=True)), looked)
        for count, i in enumerate(suspects.tolist()):
            if count < _SINGLE or (self.system.constraints and np.any(sets[i] == 0.0)):
                k = chosen[i]  # a run with these values
                why = self.why_singular(
                    {name: float(x[k] if np.ndim(x) else x) for name, x in values.items()}
                )
            else:
                why = "" if self.system.constraints else first
            first = first or why
            if why:
                found[i] = why
        where = where.reshape(-1)
        return {int(k): found[int(where[k])] for k in np.flatnonzero(np.isin(where, list(found)))}

    def _suspects(
        self, fixed: Mapping[str, NumericValue], own: Mapping[str, np.ndarray], looked: np.ndarray
    ) -> np.ndarray:
        """Return the indices of the sets with which M is singular or not finite at one place."""
        found = [np.empty(0, dtype=int)]
        here = at_place(self._places, 0) | self._name_motions(fixed)
        masses = self._tree[0]
        flexible = any(link.modes is not None for link in masses.tree.links)
        for i0 in range(0, len(looked), _AT_ONCE):
            left = looked[i0 : i0 + _AT_ONCE]
            part = here | self._name_motions({name: x[left] for name, x in own.items()})
            if not flexible:
                inertias = zip(masses.tree.links, masses.links.own_inertias(part), strict=True)
                found_shares = [own_share(active(link)[1], _collapse_equal(E)) for link, E in inertias]
                shares = [np.broadcast_to(share, len(left)) for share in found_shares]
                left = left[~(np.min(shares, axis=0) > CLEAR)]
            if left.size:
                part = here | self._name_motions({name: x[left] for name, x in own.items()})
                weakest = np.min([p.share for p in sweep(masses.links, part)], axis=0)
                found.append(left[~(weakest >= SINGULAR)])
        return np.concatenate(found)


def _collapse_equal(E: np.ndarray) -> np.ndarray:
    """Return only the first matrix if all are equal, else all."""
    return E[:1] if (E[:1] == E).all() else E
