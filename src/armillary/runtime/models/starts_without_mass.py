"""Starts of runs at a place where some motion moves no mass: what a run divides by there is rounding error.

It may end with plausible numbers, or not at all, in steps of 1e-10 s. Of joints with three angles the place
is known beforehand. Turns about a₁, a₂ and a₃, each in the frame left by those before it, have the
determinant

    a₁ · (a₂ × R₂ a₃) = cos q₂ a₁·(a₂ × a₃) + sin q₂ a₁·(a₂ × (a₂ × a₃))

with the second angle q₂. Where it vanishes, the first and the third angle turn the body alike. The mass
matrix itself takes long and is looked at only there, since constraints, or an angle that is given or locked,
may hold what is loose, and for any system where steps of an adaptive method get nowhere at the start. Such
places on the way of a run are found in weak_masses.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from armillary.algebra.vectors.triples import cross_triples
from armillary.errors import SimulationError
from armillary.model.joints.steps import Turn
from armillary.program.equations import DerivedEquations
from armillary.runtime.models.instance import Instance
from armillary.runtime.models.weak_masses import weak_start
from armillary.runtime.start.place import Place

NOWHERE = 1e-6  # of a run's time, after the first pause of its loop
_IN_A_PLANE = 1e-7  # of a determinant of unit axes; its square is what is left of the inertias


class ThreeAngles(NamedTuple):
    """The number of the second angle among the coordinates, and the factors of its cosine and sine."""

    middle: int
    of_cosine: float
    of_sine: float

    def locked(self, angles: np.ndarray) -> np.ndarray:
        """Whether the axes lie in a plane, by values of the second angle."""
        determinant = self.of_cosine * np.cos(angles) + self.of_sine * np.sin(angles)
        return np.asarray(np.abs(determinant) < _IN_A_PLANE)


def joints_of_three_angles(equations: DerivedEquations) -> tuple[ThreeAngles, ...]:
    """The joints of a system whose axes may come to lie in a plane, as far as axes are numbers."""
    if equations.absolute:
        return ()
    number = {q: i for i, q in enumerate(equations.system.coordinates)}
    found = []
    for body in equations.system.bodies.values():
        turns = [step for step in body.assembly.steps if isinstance(step, Turn)]
        numbers = all(isinstance(x, int | float) for turn in turns for x in turn.axis)
        if len(turns) == 3 and numbers and turns[1].angle in number:
            a, b, c = (turn.axis for turn in turns)
            across = cross_triples(b, c)
            parts = (float(np.dot(a, across)), float(np.dot(a, cross_triples(b, across))))
            found.append(ThreeAngles(number[turns[1].angle], *parts))
    return tuple(found)


def why_locked(joints: Sequence[ThreeAngles], instance: Instance, start: Place) -> str:
    """Why a run cannot start at a place because of its joints of three angles; "" where it can."""
    if any(joint.locked(start.q[joint.middle]) for joint in joints):
        return weak_start(instance, start)
    return ""


def watching_start(
    report: Callable[[float], None] | None, instance: Instance, start: Place, t_end: float
) -> Callable[[float], None]:
    """``report``, with an error at its first call where the run has come nowhere for want of mass."""
    first = True

    def reached(t: float) -> None:
        nonlocal first
        if first and t - start.t < NOWHERE * (t_end - start.t) and (why := weak_start(instance, start)):
            raise SimulationError(f"simulation of '{instance.equations.system.name}' gets nowhere: {why}")
        first = False
        if report is not None:
            report(t)

    return reached
