"""A mechanism with numbers: its compiled functions at one set of parameters, at many positions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from armillary.analysis.kinematics.follower import Followed, follow
from armillary.analysis.kinematics.mechanism.mechanism import Mechanism
from armillary.runtime.start.place import Place
from armillary.untyped import DataMapping


@dataclass(frozen=True, eq=False)
class MechanismNumbers:
    """A mechanism with one set of parameters: its numbers at many positions, a row each."""

    mechanism: Mechanism
    parameters: DataMapping | None
    memory: np.ndarray
    force_sizes: np.ndarray = field(default_factory=lambda: np.empty(0))
    constants: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "constants", self.mechanism.functions.constants(self.parameters))

    def __call__(self, name: str, times: float | np.ndarray, positions: np.ndarray) -> np.ndarray:
        """A compiled function at all rows; positions hold states and inputs."""
        f = self.mechanism.functions
        return f.rows(name, times, positions, memory=self.memory, constants=self.constants)

    @cached_property
    def motion_sizes(self) -> np.ndarray:
        width = self.mechanism.conditions.width
        found: np.ndarray = self("sizes", 0.0, np.zeros((1, width)))[0]
        return found

    @property
    def sizes(self) -> np.ndarray:
        """Sizes of all directions: of motions, then of forces."""
        return np.concatenate([self.motion_sizes, self.force_sizes])

    def position(self, place: Place) -> np.ndarray:
        """A place of the model, at rest, with its own values as targets."""
        m, t = self.mechanism, self.mechanism.kinematics.equations.targets
        found = np.zeros(m.conditions.width)
        found[: len(place.q)] = place.q
        own = len(t.coordinates) + len(t.speeds)
        found[own : own + len(place.states)] = place.states
        if m.static:
            found[m.unknown : m.clock] = self._forces(found, place.t)
        found[m.state : m.state + m.followed] = self.values(found[None], np.array([place.t]))[0]
        return found

    def _forces(self, position: np.ndarray, t: float) -> np.ndarray:
        """Forces z that leave as little as can be of the balance f + Aᵀ z."""
        m, n = self.mechanism, len(self.mechanism.kinematics.u)
        f = self.values(position[None], np.array([t]))[0, len(m.driven) :]
        A = self.matrices(np.array([t]), position[None])[0][0, : len(m.z), :n]
        scale = self.motion_sizes
        found: np.ndarray = np.linalg.lstsq((A * scale).T, -f * scale, rcond=1e-10)[0]
        return found

    def with_forces(self, position: np.ndarray, t: float) -> MechanismNumbers:
        """The same with sizes of forces that fit the loads at a position."""
        m, n = self.mechanism, len(self.mechanism.kinematics.u)
        if not m.static:
            return self
        without = position.copy()
        without[m.unknown : m.clock] = 0.0
        f = self.values(without[None], np.array([t]))[0, len(m.driven) :]
        work = float(np.max(np.abs(f * self.motion_sizes), initial=0.0)) or 1.0
        A = self.matrices(np.array([t]), position[None])[0][0, : len(m.z), :n] * self.motion_sizes
        largest = np.max(np.abs(A), axis=1, initial=0.0)
        return replace(self, force_sizes=work / np.where(largest > 0.0, largest, 1.0))

    def values(self, positions: np.ndarray, times: np.ndarray) -> np.ndarray:
        """The driven and held quantities at all rows, then the residual of the balance of forces: the
        residuals of the conditions with targets of zero.
        """
        m = self.mechanism
        without = positions.copy()
        without[:, m.state : m.state + m.followed] = 0.0
        return self("closing", times, without)[:, m.gaps : m.closing]

    def follow(
        self,
        starts: np.ndarray,
        start_times: np.ndarray,
        origins: Sequence[int] | np.ndarray,
        times: np.ndarray,
        targets: np.ndarray,
        *,
        descend: bool = False,
        weight: float = 1.0,
    ) -> Followed:
        """Positions where the conditions hold, one for each row of targets; see follower.py."""
        return follow(
            self.mechanism.conditions, starts, start_times, origins, times, targets, self.sizes,
            self.constants, self.memory, descend=descend, weight=weight,
        )  # fmt: skip

    def with_motion(
        self, positions: np.ndarray, clock: float, u: np.ndarray | None = None, a: np.ndarray | None = None
    ) -> np.ndarray:
        """Positions with the rate of time, speeds and accelerations."""
        m, found = self.mechanism, positions.copy()
        n, first = len(m.u), m.clock + 1
        found[:, m.clock] = clock
        found[:, first:] = 0.0
        if u is not None:
            found[:, first : first + n] = u
        if a is not None:
            found[:, first + n :] = a
        return found

    def matrices(self, times: np.ndarray, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A and b of all rows."""
        m = self.mechanism
        numbers = self("motion", times, self.with_motion(positions, 1.0))
        count = len(m.rows)
        A = np.zeros((len(numbers), count, len(m.u)))
        if m.places:
            i, j = np.array(m.places).T
            A[:, i, j] = numbers[:, count:]
        return A, numbers[:, :count]
