"""Speeds and accelerations of a mechanism along its path, and how near each position is to a singular one.

    A u = ċ* − b        A u̇ = c̈* − γ

at all rows at once, by singular values of A with its rows and columns in terms of their sizes. The smallest
of them is the measure of a position: where it vanishes, the driven quantities do not decide the motion.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from armillary.analysis.kinematics.mechanism.numbers import MechanismNumbers
from armillary.errors import ArmillaryError

SINGULAR = 1e-6  # smallest singular value, of rows of size one, at which a position counts as singular
_WEAK = 1e-11
_CONTRADICTED = 1e-8


@dataclass(frozen=True, eq=False)
class PathMotion:
    """A mechanism at all its rows: its matrices and what follows from them."""

    numbers: MechanismNumbers
    times: np.ndarray
    positions: np.ndarray

    @cached_property
    def _matrices(self) -> tuple[np.ndarray, np.ndarray]:
        return self.numbers.matrices(self.times, self.positions)

    @cached_property
    def _scaled(self) -> tuple[np.ndarray, np.ndarray]:
        """A in terms of sizes, and the weights of its rows."""
        A = self._matrices[0] * self.numbers.sizes
        size = np.max(np.abs(A), axis=2, initial=0.0)
        gaps = self.numbers.mechanism.gaps
        size[:, :gaps] = np.maximum(
            size[:, :gaps], 1e-4 * np.max(size[:, :gaps], axis=1, initial=0, keepdims=True)
        )
        weights = 1.0 / np.where(size > 0.0, size, 1.0)
        return A * weights[:, :, None], weights

    @cached_property
    def _inverses(self) -> dict[int, tuple[np.ndarray, np.ndarray]]:
        """Inverses of the first rows and their strengths, by the number of rows, as far as needed."""
        return {}

    def _inverse(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """A⁻¹ of so many rows, of least squares where it is not square or is singular, and 1/|A⁻¹|."""
        if count not in self._inverses:
            self._inverses[count] = _inverses(self._scaled[0][:, :count])
        return self._inverses[count]

    @cached_property
    def strength(self) -> np.ndarray:
        """About the smallest singular value of the rows of positions, 1/|A⁻¹|; 0 at a singular position."""
        m = self.numbers.mechanism
        if m.static and m.redundant:  # forces of redundant constraints are not decided anywhere
            A = self._scaled[0][:, : m.closing]
            return np.asarray(np.linalg.svd(A, compute_uv=False)[:, -1 - m.redundant])
        return self._inverse(m.closing)[1]

    @cached_property
    def orientation(self) -> np.ndarray:
        """The sign of the determinant where A is square, else 0: it changes across a singular position."""
        A = self._scaled[0][:, : self.numbers.mechanism.closing]
        return np.linalg.slogdet(A)[0] if A.shape[1] == A.shape[2] and A.shape[1] else np.zeros(len(A))

    @cached_property
    def determinant(self) -> np.ndarray:
        found: np.ndarray = np.linalg.det(self._scaled[0][:, : self.numbers.mechanism.closing])
        return found

    def weakest(self, row: int) -> tuple[list[str], list[str]]:
        """Names of the constraints and of the speeds that take part in the weakest motion of a row."""
        m = self.numbers.mechanism
        U, _, V = np.linalg.svd(self._scaled[0][row, : m.closing])
        last = min(U.shape[0], V.shape[0]) - 1
        left, right = np.abs(U[: m.gaps + len(m.driven), last]), np.abs(V[last, : len(m.kinematics.u)])
        rows = [m.rows[i] for i in _largest(left)]
        constraints = [r.constraint.name for r in rows if r.constraint is not None]
        names = [m.kinematics.speeds[j].data.name for j in _largest(right)]
        return constraints, names

    def _solve(self, right: np.ndarray, clock: float) -> tuple[np.ndarray, np.ndarray]:
        """The least solution, and what it leaves of each row in terms of its size.

        Constraints of speeds alone are rows of motions in time, not of derivatives by what is driven.
        """
        count = right.shape[1] if clock else self.numbers.mechanism.closing
        A, scaled = self._scaled[0][:, :count], (self._scaled[1] * right)[:, :count]
        y = np.einsum("rij,rj->ri", self._inverse(count)[0], scaled)
        left = np.einsum("rij,rj->ri", A, y) - scaled
        return y * self.numbers.sizes, left

    def speeds(self, driven: np.ndarray, clock: float) -> np.ndarray:
        """u of all rows; ``driven`` are the rates of the targets, a row each."""
        m = self.numbers.mechanism
        right = -clock * self._matrices[1]
        right[:, m.gaps : m.closing] += driven
        u, left = self._solve(right, clock)
        self._check(left, right)
        return u

    def accelerations(self, u: np.ndarray, driven: np.ndarray, clock: float) -> np.ndarray:
        """u̇ of all rows, at speeds u."""
        m = self.numbers.mechanism
        moving = self.numbers.with_motion(self.positions, clock, u)
        right = -self.numbers("bias", self.times, moving)
        right[:, m.gaps : m.closing] += driven
        return self._solve(right, clock)[0]

    def _check(self, left: np.ndarray, right: np.ndarray) -> None:
        """An error where constraints of speeds contradict what is driven."""
        m = self.numbers.mechanism
        sound = self.strength > SINGULAR
        scale = 1.0 + np.max(np.abs(self._scaled[1] * right), axis=1, initial=0.0)
        off = np.abs(left[:, m.closing :]) / scale[:, None]
        if off.size and np.max(off[sound], initial=0.0) > _CONTRADICTED:
            row = m.rows[m.closing + int(np.argmax(np.max(off[sound], axis=0)))]
            raise ArmillaryError(
                f"constraint '{row.name}' ({row.about}) contradicts the speeds of what is driven; drive "
                "quantities whose speeds agree with it, or leave out speeds="
            )

    def shown(self) -> np.ndarray:
        """Outputs at rest."""
        return self.numbers("shown", self.times, self.numbers.with_motion(self.positions, 0.0))

    def moving(self, u: np.ndarray, a: np.ndarray, clock: float) -> tuple[np.ndarray, np.ndarray]:
        """Outputs at speeds u, and their rates: the first of all, then the second of outputs of positions."""
        moving = self.numbers.with_motion(self.positions, clock, u, a)
        return self.numbers("shown", self.times, moving), self.numbers("rates", self.times, moving)


def _inverses(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Inverses of many matrices and one over their sizes; singular ones by least squares, with 0."""
    count, height, width = A.shape
    if not height or not width:
        return np.zeros((count, width, height)), np.ones(count)
    weak = np.ones(count, dtype=bool)
    found, strength = np.zeros((count, width, height)), np.zeros(count)
    if height == width:
        try:
            found = np.linalg.inv(A)
            strength = 1.0 / np.linalg.norm(found, axis=(1, 2))
            weak = ~(strength > _WEAK)
        except np.linalg.LinAlgError:  # one of them is singular to the last digit
            pass
    if np.any(weak):
        U, lengths, V = np.linalg.svd(A[weak], full_matrices=False)
        kept = lengths > _WEAK * np.max(lengths, axis=1, keepdims=True)
        inverse = np.where(kept, 1.0 / np.where(kept, lengths, 1.0), 0.0)
        found[weak] = np.einsum("rji,rj,rkj->rik", V, inverse, U)
        strength[weak] = lengths[:, -1]
    return found, strength


def _largest(values: np.ndarray) -> list[int]:
    """Places of the values that are at least a tenth of the largest, in falling order."""
    least = 0.1 * np.max(values, initial=0.0)
    return [int(i) for i in np.argsort(-values, kind="stable") if values[i] > least]
