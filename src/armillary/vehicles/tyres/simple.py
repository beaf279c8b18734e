"""Tyres of a few numbers: linear, Fiala, and the brush in closed form."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import armillary as arm
from armillary.vehicles.tyres.tyre import TINY, Forces, Scalar, SpringTyre, size

SPRING_UNITS = {
    "radius": "m",
    "vertical_stiffness": "N/m",
    "vertical_damping": "N*s/m",
    "relaxation_kappa": "m",
    "relaxation_alpha": "m",
}
LOCK = 1e-6  # added to |1 + κ|, the part of the travel that a wheel rolls: zero at lock


@dataclass(frozen=True)
class LinearTyre(SpringTyre):
    """Forces in proportion to slip, whatever the load; for linear models.

        Fx = Cκ κ      Fy = −Cα α − Cγ γ      Mz = t Cα α − Cm γ

    With ``per_load``, stiffnesses are those at the nominal load and grow with the load.
    """

    units: ClassVar[dict[str, str]] = {
        **SPRING_UNITS, "slip_stiffness": "N", "cornering_stiffness": "N", "camber_stiffness": "N",
        "camber_moment": "N*m", "trail": "m", "nominal_load": "N",
    }  # fmt: skip

    cornering_stiffness: Scalar
    slip_stiffness: Scalar = 0.0
    camber_stiffness: Scalar = 0.0
    camber_moment: Scalar = 0.0
    trail: Scalar = 0.0
    rolling_resistance: Scalar = 0.0
    nominal_load: Scalar = 4000.0
    per_load: bool = False
    radius: Scalar = 0.3
    vertical_stiffness: Scalar = 2e5
    vertical_damping: Scalar = 0.0
    relaxation_kappa: Scalar = 0.3
    relaxation_alpha: Scalar = 0.5

    def sliding_slips(self, fz: Scalar) -> tuple[Scalar, Scalar]:
        """Return slips out of reach: this tyre does not slide."""
        return 1e6, 1e6

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
        scale = load / self.nominal_load if self.per_load else 1
        side = self.cornering_stiffness * alpha * scale
        fy = -side - self.camber_stiffness * gamma * scale
        mz = self.trail * side * rolling - self.camber_moment * gamma * scale
        my = -self.rolling_resistance * self.radius * load * rolling
        return Forces(self.slip_stiffness * kappa * scale, fy, 0.0 * fy * self.radius, my, mz)


@dataclass(frozen=True)
class BrushTyre(SpringTyre):
    """The brush with parabolic pressure and one friction, in closed form for combined slip.

        s = √(κ² + tan²α)      λ = min(C s / (3 μ |1 + κ|), 1)
        (Fx, Fy) = μ Fz (3 − 3λ + λ²) λ (κ, −tan α)/s
        Mz = −t Fy             t = a (1 − λ)³ / (3 − 3λ + λ²)

    C is the stiffness 2 c a² per load; a, half the length of contact, grows with the root of the load. The
    force is continuous with its first derivatives where sliding becomes complete, and at lock.

    Source: Pacejka (2012), section 3.2.3, equations (3.31) to (3.40).
    """

    units: ClassVar[dict[str, str]] = {**SPRING_UNITS, "half_length": "m", "nominal_load": "N"}

    slip_stiffness: Scalar  # per load
    friction: Scalar
    half_length: Scalar = 0.06  # at the nominal load
    nominal_load: Scalar = 4000.0
    rolling_resistance: Scalar = 0.0
    radius: Scalar = 0.3
    vertical_stiffness: Scalar = 2e5
    vertical_damping: Scalar = 0.0
    relaxation_kappa: Scalar = 0.3
    relaxation_alpha: Scalar = 0.5

    def with_friction(self, scale: Scalar) -> BrushTyre:
        """Return this tyre on a surface that has ``scale`` times the friction."""
        return replace(self, friction=self.friction * scale)

    def sliding_slips(self, fz: Scalar) -> tuple[Scalar, Scalar]:
        """Return 3 μ/C for both."""
        slip = 3 * self.friction / self.slip_stiffness
        return slip, slip

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
        across = arm.tan(alpha)
        slip = arm.sqrt(kappa * kappa + across * across + TINY)
        rolled = arm.sqrt((1 + kappa) * (1 + kappa) + LOCK**2)
        per_slip = arm.min(self.slip_stiffness / (3 * self.friction * rolled), 1 / slip)
        share = per_slip * slip
        polynomial = 3 - 3 * share + share * share
        grip = self.friction * load * polynomial * per_slip
        ratio = arm.sqrt(load / self.nominal_load + 1e-16)
        rest = 1 - share
        trail = self.half_length * ratio * rest * rest * rest / polynomial
        fy = -grip * across
        my = -self.rolling_resistance * self.radius * load * rolling
        return Forces(grip * kappa, fy, 0.0 * fy * self.radius, my, -trail * rolling * fy)


@dataclass(frozen=True)
class FialaTyre(SpringTyre):
    """Fiala's tyre, with a friction that falls with slip.

        μ = μ0 − (μ0 − μ1) s,  s = √(κ² + tan²α) up to 1      H = 1 − min(Cα |tan α| / (3 μ Fz), 1)
        Fy = −μ Fz (1 − H³) sgn α                     Mz = μ Fz w (1 − H) H³ sgn α
        Fx = Cκ κ up to |κ| = μ Fz/(2 Cκ), then sgn κ (μ Fz − (μ Fz)²/(4 |κ| Cκ))

    Source: Fiala (1954), VDI-Zeitschrift 96, in the form of the Adams/Tire manual; w is the width of the
    tyre. Slips along and across do not reduce each other but by the friction.
    """

    units: ClassVar[dict[str, str]] = {
        **SPRING_UNITS, "slip_stiffness": "N", "cornering_stiffness": "N", "width": "m",
    }  # fmt: skip

    slip_stiffness: Scalar
    cornering_stiffness: Scalar
    friction: Scalar = 1.0
    sliding_friction: Scalar = 0.8
    width: Scalar = 0.2
    rolling_resistance: Scalar = 0.0
    radius: Scalar = 0.3
    vertical_stiffness: Scalar = 2e5
    vertical_damping: Scalar = 0.0
    relaxation_kappa: Scalar = 0.3
    relaxation_alpha: Scalar = 0.5

    def with_friction(self, scale: Scalar) -> FialaTyre:
        """Return this tyre on a surface that has ``scale`` times the friction."""
        return replace(self, friction=self.friction * scale, sliding_friction=self.sliding_friction * scale)

    def sliding_slips(self, fz: Scalar) -> tuple[Scalar, Scalar]:
        """Return 3 μ Fz over each stiffness, at least 0.001."""
        grip = 3 * self.friction * arm.max(fz, 0.0)
        return arm.max(grip / self.slip_stiffness, 1e-3), arm.max(grip / self.cornering_stiffness, 1e-3)

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
        across = arm.tan(alpha)
        slip = arm.min(arm.sqrt(kappa * kappa + across * across + TINY), 1.0)
        grip = (self.friction - (self.friction - self.sliding_friction) * slip) * load + 1e-9
        tangent = arm.sqrt(across * across + TINY)
        per_slip = arm.min(self.cornering_stiffness / (3 * grip), 1 / tangent)
        share = per_slip * tangent
        fy = -grip * (3 - 3 * share + share * share) * per_slip * across
        rest = 1 - share
        mz = grip * self.width * per_slip * across * rest * rest * rest * rolling
        along = size(kappa)
        half = grip / (2 * self.slip_stiffness)
        beyond = arm.max(along, half)
        fx = arm.select(
            along < half,
            self.slip_stiffness * kappa,
            arm.sign(kappa) * (grip - grip * grip / (4 * beyond * self.slip_stiffness)),
        )
        my = -self.rolling_resistance * self.radius * load * rolling
        return Forces(fx, fy, 0.0 * fy * self.radius, my, mz)
