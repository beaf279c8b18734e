"""Optimal motions compared with closed forms and, for motions of least time, with shooting by SciPy.

Motions of least time are bang-bang: the inputs are at their limits and jump between them at switching times.
If the final state has as many conditions as there are arcs, they determine the lengths of the arcs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from armillary.control import Phase, optimize_phases
from armillary.control.optimum import PhasedOptimum
from armillary.untyped import LibraryObject
from armillary.verification.rows import difference, example, largest_difference, published, value

Rates = Callable[[np.ndarray, np.ndarray], np.ndarray]

ARM_INPUTS = np.array([(1.0, 1.0), (1.0, -1.0), (-1.0, -1.0), (-1.0, 1.0)])  # shoulder and elbow, arc by arc
SLEW_INPUTS = np.array(
    [(1, 1, -1), (-1, 1, -1), (-1, -1, -1), (-1, -1, 1), (1, -1, 1), (1, 1, 1)], dtype=float
)


def arm_rates(x: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return the rates of both links' speeds, of the angle between them and of the angle of the first link.

    Source: users' guide of PROPT.
    """
    first, second, between, _ = x
    s, c = math.sin(between), math.cos(between)
    det = 31 / 36 + 9 / 4 * s * s
    return np.array([
        (s * (9 / 4 * c * first**2 + 2 * second**2) + 4 / 3 * (v[0] - v[1]) - 3 / 2 * c * v[1]) / det,
        -(s * (7 / 2 * first**2 + 9 / 4 * c * second**2) - 7 / 3 * v[1] + 3 / 2 * c * (v[0] - v[1])) / det,
        second - first,
        first,
    ])  # fmt: skip


def slew_rates(x: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return the rates of the states of a slew: Euler parameters and speeds; inertia is equal in all axes."""
    e, w = x[:4], x[4:]
    turning = 0.5 * np.concatenate([[-e[1:] @ w], e[0] * w + np.cross(e[1:], w)])
    return np.concatenate([turning, -v])  # the hub gets the reaction of the wheels' motors


def shoot(
    rates: Rates,
    inputs: np.ndarray,
    start: np.ndarray,
    off: Callable[[np.ndarray], np.ndarray],
    lengths: Sequence[float],
) -> np.ndarray:
    """Return durations of arcs with constant inputs from ``start`` to a state x at which ``off(x)`` is 0."""
    from scipy.integrate import solve_ivp
    from scipy.optimize import fsolve

    def end_gap(given: np.ndarray) -> np.ndarray:
        x = start
        for length, v in zip(given, inputs, strict=True):
            arc = solve_ivp(
                lambda _, y, v=v: rates(y, v), (0, length), x, method="DOP853", rtol=1e-10, atol=1e-11
            )
            x = arc.y[:, -1]
        return off(x)

    return np.asarray(fsolve(end_gap, lengths, xtol=1e-12))


def arm_switches() -> np.ndarray:
    """Return the durations of the four arcs of the two-link arm, by shooting."""
    goal = np.array([0.0, 0.0, 0.5, 0.522])
    return shoot(
        arm_rates, ARM_INPUTS, np.array([0.0, 0.0, 0.5, 0.0]), lambda x: x - goal, [0.94, 0.53, 1.15, 0.36]
    )


def slew_switches() -> np.ndarray:
    """Return the durations of the six arcs of the slew by 180° about z, by shooting."""
    start = np.array([1.0, 0, 0, 0, 0, 0, 0])

    def off(x: np.ndarray) -> np.ndarray:
        return np.array([x[0], x[1], x[2], x[4], x[5], x[6]])

    return shoot(slew_rates, SLEW_INPUTS, start, off, [0.43, 0.75, 0.43, 0.44, 0.75, 0.44])


def bang_bang(name: str, inputs: np.ndarray, lengths: Sequence[float]) -> PhasedOptimum:
    """Return the motion of least time, solved with one phase for each arc; ``lengths`` are first guesses."""
    problem = example("optimal_motions").PROBLEMS[name]
    how, names = problem.arguments, list(problem.arguments["inputs"])
    phases: list[LibraryObject] = []
    for i, (arc, length) in enumerate(zip(inputs, lengths, strict=True)):
        given = {"initial": how["initial"]} if i == 0 and "initial" in how else {}
        given |= {"final": how["final"]} if i == len(inputs) - 1 else {}
        phases.append(
            Phase(
                model=problem.model, cost=1, duration=(0.01, 5.0), inputs=dict(zip(names, arc, strict=True)),
                guess={"duration": length}, intervals=8, **given,
            )
        )  # fmt: skip
    return optimize_phases(phases, method="radau", accuracy=None).check()


def switching_times(found: PhasedOptimum) -> np.ndarray:
    """Return the times at which the phases end."""
    return np.cumsum([p.duration for p in found.phases])


@published(
    "optimal_motions",
    "Optimal motions",
    "shooting",
    difference("brachistochrone: time, relative", 1e-7, "closed form, a cycloid"),
    value("two-link arm: least time (s)", 2.983, 2e-3, "PSOPT, 80 nodes"),
    difference("two-link arm: switching times and end, as phases (s)", 1e-6),
    difference("two-link arm: least time by collocation, accuracy 1e-4 (s)", 1e-4),
    value("slew by 180°: least time (s)", 3.2431, 1e-4, "Bilimoria and Wie (1993)"),
    difference("slew by 180°: switching times and end, as phases (s)", 1e-6),
    page="optimal-motions",
)
def measure_known() -> Iterator[float]:
    """Yield the numbers of the table: the brachistochrone's, the two-link arm's, then the slew's."""
    from scipy.optimize import brentq

    problems = example("optimal_motions").PROBLEMS
    theta = brentq(lambda a: (a - math.sin(a)) - (1 - math.cos(a)), 1.0, 3.0)
    bead = problems["brachistochrone"].solve(accuracy=1e-6).check()
    yield bead.duration / (theta * math.sqrt(2 / (1 - math.cos(theta)) / 9.81)) - 1
    lengths = arm_switches()
    arm = bang_bang("two-link arm", ARM_INPUTS, [0.9, 0.5, 1.2, 0.4])
    yield arm.duration
    yield largest_difference(switching_times(arm), np.cumsum(lengths))
    collocated = problems["two-link arm"].solve(accuracy=1e-4).check()
    yield collocated.duration - lengths.sum()
    slew = bang_bang("slew, time", SLEW_INPUTS, [0.4, 0.7, 0.4, 0.5, 0.8, 0.4])
    yield slew.duration
    yield largest_difference(switching_times(slew), np.cumsum(slew_switches()))
