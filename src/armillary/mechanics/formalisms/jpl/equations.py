"""The assembled equations of a formulation: solution, momentum and hinge torques.

The unknowns are ẇ_0 (0 to 2), the hinge accelerations, then those of the modes, appendage after appendage.
With a prescribed hinge its row goes, and its column times γ̈ moves to the right side of every other row, those
of the modes included (where the original programs exchanged two subscripts).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from armillary.algebra.vectors.scalars import Scalar, minus, plus, times, total
from armillary.algebra.vectors.triples import Triple, joined
from armillary.mechanics.tree.uncouple import ImplicitEquations, uncouple


@dataclass(frozen=True, eq=False)
class Assembled:
    """A x = b with every hinge in it. ``motion`` are the rates that A's first rows turn into momentum."""

    matrix: dict[tuple[int, int], Scalar]
    force: dict[int, Scalar]
    given: dict[int, Scalar]  # accelerations of prescribed hinges
    names: dict[int, str]
    motion: list[Scalar]

    def element(self, i: int, j: int) -> Scalar:
        """A_ij."""
        return self.matrix.get((min(i, j), max(i, j)), 0)

    def row(self, i: int, values: Sequence[Scalar]) -> Scalar:
        """Σ_j A_ij value_j."""
        return total([times(self.element(i, j), v) for j, v in enumerate(values)])

    @property
    def momentum(self) -> Triple:
        """Angular momentum about the system's mass centre in the reference axes, rotors not counted."""
        return joined(self.row(i, self.motion) for i in range(3))

    def solved(self) -> list[Scalar]:
        """All accelerations, given ones in their places."""
        free = [i for i in range(len(self.motion)) if i not in self.given]
        force = {
            i: minus(self.force[i], total([times(self.element(i, j), a) for j, a in self.given.items()]))
            for i in free
        }
        matrix = {(i, j): a for (i, j), a in self.matrix.items() if i in force and j in force}
        x = uncouple(ImplicitEquations(matrix, force, self.names), "fewest neighbours")
        return [self.given[i] if i in self.given else x[i] for i in range(len(self.motion))]

    def hinge_torques(self, x: list[Scalar], applied: list[Scalar]) -> list[Scalar]:
        """Torques at the hinges: those applied, or for a prescribed hinge that of its motion, from its
        dropped row.
        """
        found = []
        for h, torque in enumerate(applied, start=3):
            lacking = minus(self.row(h, x), self.force[h]) if h in self.given else 0
            found.append(plus(torque, lacking))
        return found
