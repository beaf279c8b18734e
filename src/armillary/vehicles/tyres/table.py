"""A tyre from tables of measured forces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import armillary as arm
from armillary.vehicles.tyres.simple import SPRING_UNITS
from armillary.vehicles.tyres.tyre import TINY, Forces, Scalar, SpringTyre


@dataclass(frozen=True)
class TableTyre(SpringTyre):
    """Forces of pure slip from tables over slip and load, combined by similarity.

        ρ = √((κ/κ0)² + (tan α/tan α0)²)
        Fx = (κ/κ0) Fx0(ρ κ0, Fz)/ρ      Fy = (tan α/tan α0) Fy0(ρ α0, Fz)/ρ      Mz = (…) Mz0(ρ α0, Fz)/ρ

    Tables are `arm.Table2` of slip and load or callables like them, which take expressions and arrays; they
    are odd in slip, so that the part for positive slip is enough. κ0 and α0 are the slips of the maxima.
    Source of the combination: Pacejka (2012), section 4.1.1, the similarity method.
    """

    units: ClassVar[dict[str, str]] = dict(SPRING_UNITS)

    along: arm.Table2  # Fx0(κ, Fz), κ ≥ 0
    across: arm.Table2  # −Fy0(α, Fz), α ≥ 0
    peak_kappa: float
    peak_alpha: float
    aligning: arm.Table2 | None = None  # Mz0(α, Fz), α ≥ 0
    camber_stiffness: Scalar = 0.0  # per load
    rolling_resistance: Scalar = 0.0
    radius: Scalar = 0.3
    vertical_stiffness: Scalar = 2e5
    vertical_damping: Scalar = 0.0
    relaxation_kappa: Scalar = 0.3
    relaxation_alpha: Scalar = 0.5

    def sliding_slips(self, fz: Scalar) -> tuple[Scalar, Scalar]:
        """Return the slips of the maxima."""
        return self.peak_kappa, arm.tan(self.peak_alpha)

    def forces(
        self,
        fz: Scalar,
        kappa: Scalar,
        alpha: Scalar,
        gamma: Scalar = 0.0,
        pressure: Scalar | None = None,
        *,
        speed: Scalar | None = None,
        rolling: Scalar = 1.0,
        turn_slip: Scalar | None = None,
        sliding: Scalar = 0.0,
    ) -> Forces:
        """Return Fx, Fy, Mx, My, Mz; see `Tyre.forces`."""
        load = arm.max(fz, 0.0)
        x = kappa / self.peak_kappa
        y = arm.tan(alpha) / arm.tan(self.peak_alpha)
        slip = arm.sqrt(x * x + y * y + TINY)
        fx = x * self.along(slip * self.peak_kappa, load) / slip
        angle = arm.atan(slip * arm.tan(self.peak_alpha))
        fy = -y * self.across(angle, load) / slip - self.camber_stiffness * load * gamma
        mz = 0.0 if self.aligning is None else y * self.aligning(angle, load) / slip * rolling
        my = -self.rolling_resistance * self.radius * load * rolling
        return Forces(fx, fy, 0.0 * fy * self.radius, my, mz + 0.0 * fy * self.radius)
