"""Joints with three angles, and where their axes lie in a plane: the mass matrix is singular there.

Turns about a₁, a₂ and a₃, each in the frame left by those before it, have the determinant

    a₁ · (a₂ × R₂ a₃) = cos q₂ a₁·(a₂ × a₃) + sin q₂ a₁·(a₂ × (a₂ × a₃))

with the second angle q₂. Where it vanishes, the first and the third angle turn the body alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from armillary.algebra.vectors.triples import cross_triples
from armillary.model.description import Description
from armillary.model.joints.base import Turn

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


def joints_of_three_angles(system: Description, coordinates: Sequence[str]) -> tuple[ThreeAngles, ...]:
    """The joints of a system whose axes may come to lie in a plane, as far as axes are numbers; numbers are
    those among the coordinates of the state, which has none that is prescribed.
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
