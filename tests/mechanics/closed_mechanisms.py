"""Random trees with loops closed on top, as plain data: an independent solution by multipliers in NumPy, and
the system that a user would describe.

    M u̇ − Jᵀ λ = f        J u̇ = −γ

M and f are those of the tree (tests/mechanics/reference.py); each constraint is a function of the bodies'
positions and velocities that is linear in the velocities, so its row of J follows from unit speeds and γ from
a complex step along the motion.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

import armillary as arm
from armillary.algebra.calculus import evaluate_all
from armillary.algebra.walk import Undimensioned
from armillary.mechanics.constraints.reduction import initial_configuration, reduce_system
from armillary.mechanics.tree.kinematics import applied_loads
from armillary.mechanics.tree.mass_matrix import speed_rates
from armillary.program.formalisms.tree_formalisms import BACK_SUBSTITUTION, KANE, RECURSIVE
from armillary.program.targets.targets import targets
from tests.mechanics import reference
from tests.mechanics.random_trees import Case, build, tree_case
from tests.mechanics.reference import GROUND, Array, State

Rate = Callable[[State], Any]


@dataclass(frozen=True)
class Closure:
    """A joint closed between a place on one body and a place on another (or the ground)."""

    kind: str
    first: tuple[int, Array]
    second: tuple[int, Array]
    axes: tuple[Array, Array]  # of the joint, in each body
    turned: Array  # the first body's axes in those of the second
    length: float


@dataclass(frozen=True)
class Closed:
    """A tree at a place where its closures hold, with speeds that agree."""

    case: Case
    closures: list[Closure]


def line_rate(c: Closure, s: State, d: Array, body: int) -> Any:
    """Rate of r·d for d fixed in a body, r from the second place to the first."""
    r = s.point(c.first) - s.point(c.second)
    rate = s.velocity(c.first) - s.velocity(c.second)
    axis = s.axes(body) @ d
    w = np.zeros(3) if body == GROUND else s.w[body]
    return rate @ axis + r @ np.cross(w, axis)


def across_rate(c: Closure, s: State, a: Array, b: Array) -> Any:
    """Rate of a·b for axes of the two bodies."""

    def turning(body: int, axis: Array) -> tuple[Array, Array]:
        there = s.axes(body) @ axis
        return there, np.zeros(3) if body == GROUND else np.cross(s.w[body], there)

    (a_there, a_rate), (b_there, b_rate) = turning(c.first[0], a), turning(c.second[0], b)
    return a_rate @ b_there + a_there @ b_rate


def rates_of(c: Closure) -> list[Rate]:
    """What must stay zero for a closure, as functions of the bodies' motion."""
    a, b = c.axes
    side, other = frame_about(a)
    ahead, aside = c.turned @ side, c.turned @ other
    three: list[Rate] = [lambda s, d=d: line_rate(c, s, d, GROUND) for d in np.eye(3)]  # type: ignore[misc]
    upright: list[Rate] = [lambda s, d=d: across_rate(c, s, a, d) for d in (ahead, aside)]  # type: ignore[misc]
    slide: list[Rate] = [lambda s, d=d: line_rate(c, s, d, c.second[0]) for d in (ahead, aside)]  # type: ignore[misc]
    twist: list[Rate] = [lambda s: across_rate(c, s, side, aside)]
    rod: list[Rate] = [
        lambda s: (
            (s.point(c.first) - s.point(c.second)) @ (s.velocity(c.first) - s.velocity(c.second)) / c.length
        )
    ]
    return {
        "spherical": three,
        "revolute": three + upright,
        "universal": [*three, lambda s: across_rate(c, s, a, b)],
        "prismatic": slide + upright + twist,
        "cylindrical": slide + upright,
        "fixed": three + upright + twist,
        "distance": rod,
    }[c.kind]


def frame_about(axis: Array) -> tuple[Array, Array]:
    """Two unit axes across one; which ones does not matter for the motion."""
    first = np.cross(axis, np.eye(3)[int(np.argmin(np.abs(axis)))])
    first = first / np.linalg.norm(first)
    return first, np.cross(axis, first)


def jacobian(closed: Closed, u: Array) -> tuple[Array, Array]:
    """J and γ of all closures."""
    tree, q = closed.case.tree, closed.case.q
    rates = [rate for c in closed.closures for rate in rates_of(c)]

    def all_of(s: State) -> Array:
        return np.array([rate(s) for rate in rates])

    J = np.array([all_of(reference.state(tree, q, e)) for e in np.eye(tree.nu)]).T
    return J, reference.along_motion(tree, q, u, all_of)


def accelerations(closed: Closed) -> Array:
    """u̇ by multipliers; redundant rows do no harm to it."""
    tree, q, u = closed.case.tree, closed.case.q, closed.case.u
    M, f = reference.equations(tree, q, u)
    J, gamma = jacobian(closed, u)
    n, m = len(u), len(J)
    matrix = np.block([[M, -J.T], [J, np.zeros((m, m))]])
    found = np.linalg.lstsq(matrix, np.concatenate([f, -gamma]), rcond=1e-11)[0]
    return found[:n]


# ---------------------------------------------------------------- random ones


@cache
def closed_case(seed: int, kinds: tuple[str, ...]) -> Closed:
    """A random tree that keeps some freedom with closures of these kinds."""
    for attempt in range(1000):
        case = tree_case(10_000 * seed + attempt)
        rng = np.random.default_rng([seed, attempt])
        if len(case.tree.bodies) > 6 or case.tree.nu > 10:
            continue
        closures = [_closure(kind, case, rng) for kind in kinds]
        closed = Closed(case, closures)
        if any(not np.any(jacobian(Closed(case, [c]), case.u)[0]) for c in closures):  # of welded bodies
            continue
        J, _ = jacobian(closed, case.u)
        sizes = np.linalg.svd(J, compute_uv=False)
        rank = int(np.sum(sizes > 1e-9))
        if rank == 0 or rank > case.tree.nu - 1 or sizes[rank - 1] < 0.1:
            continue
        u = case.u - np.linalg.pinv(J, rcond=1e-9) @ (J @ case.u)
        return replace(closed, case=replace(case, u=u))
    raise AssertionError("no tree is loose enough for these closures")


def _closure(kind: str, case: Case, rng: np.random.Generator) -> Closure:
    """A closure that holds where the tree is: the second place and axis are where the first are."""
    here = reference.state(case.tree, case.q, case.u)
    i, j = (int(b) for b in rng.choice(np.arange(-1, len(case.tree.bodies)), size=2, replace=False))
    if i == GROUND:
        i, j = j, i
    p = rng.normal(size=3)
    place = here.point((i, p))
    axis = rng.normal(size=3)
    axis /= np.linalg.norm(axis)
    turned = here.axes(j).T @ here.axes(i)
    there = turned @ axis
    origin = np.zeros(3) if j == GROUND else here.p[j]
    if kind == "universal":
        there, _ = frame_about(there)
    away = {"distance": rng.normal(size=3), "prismatic": 0.7 * (here.axes(i) @ axis)}.get(kind, np.zeros(3))
    if kind == "cylindrical":
        away = 0.4 * (here.axes(i) @ axis)
    second = here.axes(j).T @ (place + away - origin)
    return Closure(kind, (i, p), (j, second), (axis, there), turned, float(np.linalg.norm(away)))


# ---------------------------------------------------------------- the system that a user would describe


def describe(closed: Closed) -> arm.System:
    """The system with its closures; where these keep a twist, both ends have the same axes: an anchor's."""
    s = build(closed.case)
    bodies = list(s.bodies.values())

    def point(place: tuple[int, Array]) -> Any:
        body = s.ground if place[0] == GROUND else bodies[place[0]]
        return body.point([float(x) for x in place[1]])

    for n, c in enumerate(closed.closures):
        one, other = (tuple(float(x) for x in axis) for axis in c.axes)
        extra: dict[str, Any] = {"distance": {"length": c.length}, "spherical": {}, "fixed": {}}.get(
            c.kind, {"axis": (one, other)}
        )
        end = point(c.second)
        if c.kind in ("prismatic", "fixed"):
            end = s.body(f"anchor{n}", end.body, at=end.coordinates, orient=c.turned, mass=0, inertia=0)
            extra = {"axis": one} if c.kind == "prismatic" else {}
        s.close_joint(c.kind, point(c.first), end, name=f"closure {n}", **extra)
    s.start(dict(zip(s.coordinates, closed.case.q.tolist(), strict=True)))
    for u in s.speeds:
        s.output(f"rate of {u}", arm.time_derivative(u))
    return s


_RATES = {f.name: f.rates for f in (KANE, RECURSIVE, BACK_SUBSTITUTION)}


def outputs_at(
    s: arm.System, q: Array, u: Array, formalism: str, *, regroup: bool = True, t: float = 0.0
) -> dict[str, float]:
    """All outputs of a system at a place, by the expressions that its program would be made of."""
    reduction = reduce_system(s, Undimensioned(), initial_configuration(s))
    reduction = reduction.regroup() if regroup else reduction
    loads = applied_loads(s, reduction.tree, reduction.plain)
    wanted = targets(s, speed_rates(reduction.tree, _RATES[formalism](reduction, loads)), reduction)
    at: dict[str, Any] = {name: node.data.default for name, node in s.parameters.items()}
    at |= dict(zip([str(x) for x in (*s.coordinates, *s.speeds)], [*q, *u], strict=True))
    known = {symbol.data.name for symbol in (*wanted.coordinates, *wanted.speeds)} | set(s.parameters)
    values = evaluate_all(
        [c.expression for c in wanted.columns], {k: v for k, v in at.items() if k in known} | {"t": t}
    )
    return dict(zip([c.name for c in wanted.columns], [float(v) for v in values], strict=True))
