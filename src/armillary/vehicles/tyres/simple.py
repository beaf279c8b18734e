"""Tyre models with few parameters: linear, Fiala, the brush model in closed form and TMeasy; and tyres from
tables of measured forces.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import armillary as arm
from armillary.vehicles.tyres.tyre import SPRING_UNITS, TINY, Scalar, SpringTyre, size

LOCK = 1e-6  # lower bound of |1 + κ|, rolled over travelled distance, which is zero for a locked wheel


@dataclass(frozen=True)
class LinearTyre(SpringTyre):
    """Forces proportional to slip, by default at any load; for linear models.

        Fx = Cκ κ      Fy = −Cα α − Cγ γ      Mz = t Cα α − Cm γ

    With ``per_load``, stiffnesses hold at the nominal load and are proportional to the load.
    """

    units: ClassVar[dict[str, str]] = {
        **SPRING_UNITS, "slip_stiffness": "N", "cornering_stiffness": "N", "camber_stiffness": "N",
        "camber_moment": "N*m", "trail": "m", "nominal_load": "N",
    }  # fmt: skip
    positive: ClassVar[tuple[str, ...]] = (*SpringTyre.positive, "nominal_load")
    signed: ClassVar[tuple[str, ...]] = ("camber_stiffness", "camber_moment", "trail")

    cornering_stiffness: Scalar
    slip_stiffness: Scalar = 0.0
    camber_stiffness: Scalar = 0.0
    camber_moment: Scalar = 0.0
    trail: Scalar = 0.0
    nominal_load: Scalar = 4000.0
    per_load: bool = False

    def sliding_slips(self, fz: Scalar) -> tuple[Scalar, Scalar]:
        """Return slips that are never reached: this tyre does not slide."""
        return 1e6, 1e6

    def _slip_forces(
        self, load: Scalar, kappa: Scalar, alpha: Scalar, gamma: Scalar, rolling: Scalar
    ) -> tuple[Scalar, Scalar, Scalar]:
        """Return Fx, Fy, Mz; see `SpringTyre._slip_forces`."""
        scale = load / self.nominal_load if self.per_load else 1
        side = self.cornering_stiffness * alpha * scale
        fy = -side - self.camber_stiffness * gamma * scale
        mz = self.trail * side * rolling - self.camber_moment * gamma * scale
        return self.slip_stiffness * kappa * scale, fy, mz


@dataclass(frozen=True)
class BrushTyre(SpringTyre):
    """The brush model with parabolic pressure and one friction coefficient, in closed form for combined slip.

        s = √(κ² + tan²α)      λ = min(C s / (3 μ |1 + κ|), 1)
        (Fx, Fy) = μ Fz (3 − 3λ + λ²) λ (κ, −tan α)/s
        Mz = −t Fy             t = a (1 − λ)³ / (3 − 3λ + λ²)

    C = 2 c a²/Fz is the slip stiffness per load; a, half the length of contact, grows with the square root of
    the load. The force and its first derivatives are continuous at the start of full sliding, and at lock.

    Source: Pacejka (2012), section 3.2.3, equations (3.31) to (3.40).
    """

    units: ClassVar[dict[str, str]] = {**SPRING_UNITS, "half_length": "m", "nominal_load": "N"}
    positive: ClassVar[tuple[str, ...]] = (
        *SpringTyre.positive, "slip_stiffness", "friction", "nominal_load",
    )  # fmt: skip

    slip_stiffness: Scalar  # per load
    friction: Scalar
    half_length: Scalar = 0.06  # at the nominal load
    nominal_load: Scalar = 4000.0

    def with_friction(self, scale: Scalar) -> BrushTyre:
        """Return this tyre on a surface that has ``scale`` times the friction."""
        return replace(self, friction=self.friction * scale)

    def sliding_slips(self, fz: Scalar) -> tuple[Scalar, Scalar]:
        """Return 3 μ/C for both directions."""
        slip = 3 * self.friction / self.slip_stiffness
        return slip, slip

    def _slip_forces(
        self, load: Scalar, kappa: Scalar, alpha: Scalar, gamma: Scalar, rolling: Scalar
    ) -> tuple[Scalar, Scalar, Scalar]:
        """Return Fx, Fy, Mz; see `SpringTyre._slip_forces`."""
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
        return grip * kappa, fy, -trail * rolling * fy


@dataclass(frozen=True)
class FialaTyre(SpringTyre):
    """Fiala's tyre, with a friction that falls with slip.

        μ = μ0 − (μ0 − μ1) s,  s = √(κ² + tan²α) up to 1      H = 1 − min(Cα |tan α| / (3 μ Fz), 1)
        Fy = −μ Fz (1 − H³) sgn α                     Mz = μ Fz w (1 − H) H³ sgn α
        Fx = Cκ κ up to |κ| = μ Fz/(2 Cκ), then sgn κ (μ Fz − (μ Fz)²/(4 |κ| Cκ))

    Source: Fiala (1954), VDI-Zeitschrift 96, in the form of the Adams/Tire manual; w is the width of the
    tyre. Slips along and across affect each other only by the friction.
    """

    units: ClassVar[dict[str, str]] = {
        **SPRING_UNITS, "slip_stiffness": "N", "cornering_stiffness": "N", "width": "m",
    }  # fmt: skip
    positive: ClassVar[tuple[str, ...]] = (
        *SpringTyre.positive, "slip_stiffness", "cornering_stiffness", "friction", "sliding_friction",
    )  # fmt: skip

    slip_stiffness: Scalar
    cornering_stiffness: Scalar
    friction: Scalar = 1.0
    sliding_friction: Scalar = 0.8
    width: Scalar = 0.2

    def with_friction(self, scale: Scalar) -> FialaTyre:
        """Return this tyre on a surface that has ``scale`` times the friction."""
        return replace(self, friction=self.friction * scale, sliding_friction=self.sliding_friction * scale)

    def sliding_slips(self, fz: Scalar) -> tuple[Scalar, Scalar]:
        """Return 3 μ Fz over each stiffness, at least 0.001."""
        grip = 3 * self.friction * arm.max(fz, 0.0)
        return arm.max(grip / self.slip_stiffness, 1e-3), arm.max(grip / self.cornering_stiffness, 1e-3)

    def _slip_forces(
        self, load: Scalar, kappa: Scalar, alpha: Scalar, gamma: Scalar, rolling: Scalar
    ) -> tuple[Scalar, Scalar, Scalar]:
        """Return Fx, Fy, Mz; see `SpringTyre._slip_forces`."""
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
        return fx, fy, mz


# TMeasy: forces from the initial slope, the maximum and the sliding value of curves at two loads.


@dataclass(frozen=True)
class Curve:
    """A force over slip at one load: slope at zero (N), maximum and its slip, sliding value and its slip."""

    slope: float
    slip_max: float
    force_max: float
    slip_sliding: float
    force_sliding: float

    def __post_init__(self) -> None:
        if not (0 < self.slope < math.inf and 0 < self.force_max < math.inf and self.force_sliding > 0):
            raise arm.ModelError(
                f"TMeasy: slope={self.slope:g}, force_max={self.force_max:g} and force_sliding="
                f"{self.force_sliding:g} must be positive and finite, in N"
            )
        if not 0 < self.slip_max < self.slip_sliding:
            raise arm.ModelError(
                f"TMeasy: slips must rise: 0 < slip_max ({self.slip_max:g}) < slip_sliding "
                f"({self.slip_sliding:g})"
            )
        if not self.slope * self.slip_max >= 2 * self.force_max:
            raise arm.ModelError(
                f"TMeasy: slope*slip_max = {self.slope * self.slip_max:g} N must be at least twice force_max "
                f"= {self.force_max:g} N, else the curve has no maximum there"
            )


@dataclass(frozen=True)
class TMeasyTyre(SpringTyre):
    """TMeasy with combined slip; each direction has a curve at the nominal load and one at twice this load.

    As functions of the load, forces are parabolas through zero and the values at the two loads, and slips are
    straight lines through these values. Beyond twice the nominal load a force that reaches the vertex of its
    parabola stays there, and a slip that falls stays at half of its value at twice the load, so that forces
    neither vanish nor change sign under the load of a landing. At exactly zero slip the formulas for lateral
    slip hold, so that ∂Fy/∂α is the curve's slope.

    Source: Rill, Road Vehicle Dynamics (2011), sections 3.3 and 3.4; Hirschberg, Rill, Weinfurter, Tire model
    TMeasy, Vehicle System Dynamics 45 (2007), suppl. 1.
    """

    units: ClassVar[dict[str, str]] = {**SPRING_UNITS, "nominal_load": "N", "length": "m"}
    positive: ClassVar[tuple[str, ...]] = (
        *SpringTyre.positive, "nominal_load", "offset_zero", "offset_end",
    )  # fmt: skip

    along: tuple[Curve, Curve]  # Fx at the nominal load and at twice this load
    across: tuple[Curve, Curve]
    nominal_load: Scalar
    length: Scalar = 0.12  # of the contact at the nominal load
    offset: Scalar = 0.18  # n/L at zero slip; n is the pneumatic trail, L the contact length
    offset_zero: Scalar = 0.2  # lateral slip at which n passes zero
    offset_end: Scalar = 0.35  # lateral slip beyond which n is zero

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.offset_zero < self.offset_end:
            raise arm.ModelError(
                f"TMeasy: offset_zero ({self.offset_zero:g}) must be below offset_end ({self.offset_end:g})"
            )
        for label, (one, two) in (("along", self.along), ("across", self.across)):
            for name, first, second, most in (
                ("slope", one.slope, two.slope, 4),
                ("force_max", one.force_max, two.force_max, 4),
                ("force_sliding", one.force_sliding, two.force_sliding, 4),
                ("slip_max", one.slip_max, two.slip_max, 2),
                (
                    "slip_sliding - slip_max",
                    one.slip_sliding - one.slip_max,
                    two.slip_sliding - two.slip_max,
                    2,
                ),
            ):
                if not second < most * first:
                    raise arm.ModelError(
                        f"TMeasy, {label}: {name} at twice the nominal load, {second:g}, must be below "
                        f"{most} times its value at the nominal load, {first:g}; else it is not positive at "
                        "small loads"
                    )

    def sliding_slips(self, fz: Scalar) -> tuple[Scalar, Scalar]:
        """Return the slips of the maxima at the nominal load."""
        return self.along[0].slip_max, self.across[0].slip_max

    def _slip_forces(
        self, load: Scalar, kappa: Scalar, alpha: Scalar, gamma: Scalar, rolling: Scalar
    ) -> tuple[Scalar, Scalar, Scalar]:
        """Return Fx, Fy, Mz; see `SpringTyre._slip_forces`."""
        q = load / self.nominal_load
        rolled = arm.sqrt((1 + kappa) * (1 + kappa) + LOCK**2)
        sx, sy = kappa / rolled, arm.tan(alpha) / rolled
        x, y = _at_load(self.along, q), _at_load(self.across, q)
        reach = [curve[2] / curve[0] for curve in (x, y)]
        scale_x = x[1] / (x[1] + y[1]) + reach[0] / (reach[0] + reach[1])
        scale_y = y[1] / (x[1] + y[1]) + reach[1] / (reach[0] + reach[1])
        nx, ny = sx / scale_x, sy / scale_y
        squares = nx * nx + ny * ny + TINY
        cos2, sin2 = nx * nx / squares, (ny * ny + TINY) / squares

        def mean(a: Scalar, b: Scalar) -> Scalar:
            return arm.sqrt(a * a * cos2 + b * b * sin2)

        slip = arm.sqrt(squares)
        slope = mean(x[0] * scale_x, y[0] * scale_y)
        top, end = mean(x[1] / scale_x, y[1] / scale_y), mean(x[3] / scale_x, y[3] / scale_y)
        peak, last = mean(x[2], y[2]), mean(x[4], y[4])
        # All three forces are per load q, so that nothing is divided by a vanishing load.
        rise = arm.min(slip / top, 1.0)
        fall = arm.min(arm.max((slip - top) / (end - top), 0.0), 1.0)
        first = slope / (1 + rise * (slope * top / peak - 2 + rise))
        second = (peak - (peak - last) * fall * fall * (3 - 2 * fall)) / slip
        grip = arm.select(slip < top, first, second) * q
        fx, fy = grip * nx, -grip * ny
        offset = self._offset(arm.sqrt(sy * sy + TINY)) * self.length * arm.sqrt(q + 1e-16)
        return fx, fy, -offset * rolling * fy

    def _offset(self, slip: Scalar) -> Scalar:
        """n/L over the lateral slip."""
        zero, end = self.offset_zero, self.offset_end
        w = zero / end
        s = arm.min(slip / zero, 1.0)
        before = (1 - w) * (1 - s) + w * (1 - (3 - 2 * s) * s * s)
        rest = arm.min(arm.max((end - slip) / (end - zero), 0.0), 1.0)
        after = -(1 - w) * arm.max(slip - zero, 0.0) / zero * rest * rest
        return self.offset * arm.select(slip < zero, before, after)


def _at_load(curves: tuple[Curve, Curve], q: Scalar) -> tuple[Scalar, ...]:
    """Return the fields of a curve at q nominal loads; slope and forces are divided by q."""
    one, two = curves

    def force(first: float, second: float) -> Scalar:
        linear, square = 2 * first - second / 2, first - second / 2
        if square <= 0:
            return linear - square * q
        top = max(linear / (2 * square), 2.0)
        return (linear - square * arm.min(q, top)) * top / arm.max(q, top)

    def slip(first: float, second: float) -> Scalar:
        line = first + (second - first) * (q - 1)
        return arm.max(line, second / 2) if second < first else line

    slip_max = slip(one.slip_max, two.slip_max)
    return (
        force(one.slope, two.slope),
        slip_max,
        force(one.force_max, two.force_max),
        slip_max + slip(one.slip_sliding - one.slip_max, two.slip_sliding - two.slip_max),
        force(one.force_sliding, two.force_sliding),
    )


# A tyre from tables of measured forces.


@dataclass(frozen=True)
class TableTyre(SpringTyre):
    """Forces of pure slip from tables over slip and load, combined by similarity.

        ρ = √((κ/κ0)² + (tan α/tan α0)²)                α' = atan(ρ tan α0)
        Fx = (κ/κ0) Fx0(ρ κ0, Fz)/ρ
        Fy = (tan α/tan α0) Fy0(α', Fz)/ρ               Mz = (tan α/tan α0) Mz0(α', Fz)/ρ

    Tables are `arm.Table2` of slip and load, or functions of expressions and arrays; only their part for
    positive slip is used. κ0 and α0 are the slips of the maxima.

    Source of the combination: Pacejka (2012), section 4.1.1, the similarity method.
    """

    positive: ClassVar[tuple[str, ...]] = (*SpringTyre.positive, "peak_kappa", "peak_alpha")
    signed: ClassVar[tuple[str, ...]] = ("camber_stiffness",)

    along: arm.Table2  # Fx0(κ, Fz), κ ≥ 0
    across: arm.Table2  # −Fy0(α, Fz), α ≥ 0
    peak_kappa: Scalar
    peak_alpha: Scalar
    aligning: arm.Table2 | None = None  # Mz0(α, Fz), α ≥ 0
    camber_stiffness: Scalar = 0.0  # per load

    def sliding_slips(self, fz: Scalar) -> tuple[Scalar, Scalar]:
        """Return the slips of the maxima."""
        return self.peak_kappa, arm.tan(self.peak_alpha)

    def _slip_forces(
        self, load: Scalar, kappa: Scalar, alpha: Scalar, gamma: Scalar, rolling: Scalar
    ) -> tuple[Scalar, Scalar, Scalar]:
        """Return Fx, Fy, Mz; see `SpringTyre._slip_forces`."""
        x = kappa / self.peak_kappa
        y = arm.tan(alpha) / arm.tan(self.peak_alpha)
        slip = arm.sqrt(x * x + y * y + TINY)
        fx = x * self.along(slip * self.peak_kappa, load) / slip
        angle = arm.atan(slip * arm.tan(self.peak_alpha))
        fy = -y * self.across(angle, load) / slip - self.camber_stiffness * load * gamma
        mz = 0.0 if self.aligning is None else y * self.aligning(angle, load) / slip * rolling
        return fx, fy, mz
