"""The layout of a redundant model's state, and of the work vector that its sections read; see
program/formalisms/redundant.py.

    state   coordinates d, e of each part | joints' coordinates | speeds v, w of each part |
            the user's own states | accelerations | λ | rates of the user's own states
    work    a state | joints' speeds | λ₀ | ρ | weight | σ of constraints with a position form, and of others
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

# σ that leaves a multiplier where it is: so much larger than all else in a matrix that the rest is rounding.
RIGID = 1e60


@dataclass(frozen=True)
class Scheme:
    """The scheme of a redundant model: with "staggered" or "projected" steps."""

    kind: str
    translations: tuple[int, ...]  # how many translations each part has
    joints: int  # coordinates of joints
    joint_speeds: int
    rows: int
    own: int = 0  # states of the user's own
    passes: int = 1
    implicit: bool = False  # translations by the mid-point rule in place of central differences

    @property
    def coordinates(self) -> int:
        return sum(self.translations) + 4 * len(self.translations)

    @property
    def speeds(self) -> int:
        return sum(self.translations) + 3 * len(self.translations)

    @property
    def first_speed(self) -> int:
        return self.coordinates + self.joints

    @property
    def first_own(self) -> int:
        """Where the user's own states start."""
        return self.first_speed + self.speeds

    @property
    def first_acceleration(self) -> int:
        return self.first_own + self.own

    @property
    def ahead(self) -> int:
        """The distance from a speed to its acceleration."""
        return self.first_acceleration - self.first_speed

    @property
    def answer(self) -> int:
        """Length of what `solve` gives: accelerations, multipliers, rates of the user's own states."""
        return self.speeds + self.rows + self.own

    @property
    def first_multiplier(self) -> int:
        return self.first_acceleration + self.speeds

    @property
    def first_rate(self) -> int:
        """Where the rates of the user's own states start."""
        return self.first_multiplier + self.rows

    @property
    def states(self) -> int:
        return self.first_rate + self.own

    @property
    def first_given(self) -> int:
        """Where λ₀ starts in the work vector."""
        return self.states + self.joint_speeds

    @property
    def first_target(self) -> int:
        return self.first_given + self.rows

    @property
    def weight(self) -> int:
        return self.first_target + self.rows

    @property
    def work(self) -> int:
        """Length of the work vector."""
        return self.weight + 3

    def parts(self) -> list[tuple[int, int, int]]:
        """(first coordinate, first speed, number of translations) of each part."""
        places = accumulate((k + 4 for k in self.translations), initial=0)
        speeds = accumulate((k + 3 for k in self.translations), initial=self.first_speed)
        return list(zip(places, speeds, self.translations, strict=False))
