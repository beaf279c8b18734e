"""One mode of a linear model: δx = Re(x̂ e^{λt})."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from armillary.analysis.modes.wording import ROUNDING, eigenvalue_text, in_words


@dataclass(frozen=True, eq=False, repr=False)
class Mode:
    """One mode: ``shape`` has the state's complex amplitude x̂ by name, δx = Re(x̂ e^{λt}).

    It is scaled so that the coordinate with the largest participation has 1, in its own units and with
    phase zero. ``participation`` is by coordinate, with the sum 1. A mode with the eigenvalue zero is a
    displacement that nothing resists; ``chain`` is 2 where a steady drift along it is free as well.
    """

    eigenvalue: complex
    name: str
    shape: Mapping[str, complex]
    participation: Mapping[str, float]
    units: Mapping[str, str]
    chain: int = 0

    @property
    def kind(self) -> str:
        """ "rigid", "oscillation", "decay" or "growth"."""
        if self.chain:
            return "rigid"
        if self.eigenvalue.imag:
            return "oscillation"
        return "decay" if self.eigenvalue.real < 0 else "growth"

    @property
    def omega(self) -> float:
        """Natural angular frequency |λ| in rad/s."""
        return abs(self.eigenvalue)

    @property
    def frequency(self) -> float:
        """Natural frequency |λ|/2π in Hz."""
        return self.omega / (2 * math.pi)

    @property
    def damped_omega(self) -> float:
        """Angular frequency of the motion, Im λ, in rad/s."""
        return float(self.eigenvalue.imag)

    @property
    def damped_frequency(self) -> float:
        """Frequency of the motion, Im λ/2π, in Hz."""
        return self.damped_omega / (2 * math.pi)

    @property
    def damping(self) -> float:
        """Damping ratio −Re λ/|λ|: 1 for what decays without oscillation, negative for what grows."""
        ratio = -self.eigenvalue.real / self.omega if self.omega else 0.0
        return ratio if abs(ratio) > ROUNDING else 0.0

    @property
    def time_constant(self) -> float:
        """The time 1/|Re λ| in s in which the mode decays, or grows, by the factor e."""
        return 1.0 / abs(self.eigenvalue.real) if self.damping else math.inf

    @property
    def stable(self) -> bool:
        """Whether it does not grow with e^{Re λ t}; a free drift does not."""
        return self.damping >= 0

    @property
    def label(self) -> str:
        """Its name, and the coordinates that make up most of it."""
        words = in_words(np.array([*self.participation.values()]), [*self.participation])
        return f"{self.name}: {words}" if self.name else words

    @property
    def summary(self) -> str:
        """Its natural frequency and damping ratio, or its time constant, in words."""
        if self.chain:
            return "free to move and to drift" if self.chain > 1 else "free to move"
        if self.kind == "oscillation":
            grows = "" if self.stable else ", grows"
            return f"{self.frequency:.4g} Hz, damping ratio {self.damping:.3g}{grows}"
        return f"{'decays' if self.stable else 'grows'}, time constant {self.time_constant:.4g} s"

    def __repr__(self) -> str:
        return f"Mode({self.kind}, {eigenvalue_text(self.eigenvalue, pair=True)} 1/s, {self.label})"
