"""TMeasy: a tyre from the initial slope, the maximum and the sliding value of two curves at two loads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import armillary as arm
from armillary.vehicles.tyres.simple import LOCK, SPRING_UNITS
from armillary.vehicles.tyres.tyre import TINY, Forces, Scalar, SpringTyre


@dataclass(frozen=True)
class Curve:
    """A force over slip at one load: slope at zero (N), maximum and its slip, sliding value and its slip."""

    slope: float
    slip_max: float
    force_max: float
    slip_sliding: float
    force_sliding: float

    def __post_init__(self) -> None:
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
    """TMeasy with combined slip; each direction has a curve at the nominal load and one at twice that.

    Forces grow with the load by a parabola through zero and the two loads, slips by a straight line. At
    exactly zero slip the force acts sideways, so that ∂Fy/∂α is the curve's slope.

    Source: Rill, Road Vehicle Dynamics (2011), sections 3.3 and 3.4; Hirschberg, Rill, Weinfurter, Tire model
    TMeasy, Vehicle System Dynamics 45 (2007), suppl. 1.
    """

    units: ClassVar[dict[str, str]] = {**SPRING_UNITS, "nominal_load": "N", "length": "m"}

    along: tuple[Curve, Curve]
    across: tuple[Curve, Curve]
    nominal_load: Scalar
    length: Scalar = 0.12  # of the contact at the nominal load
    offset: Scalar = 0.18  # n/L at zero slip
    offset_zero: Scalar = 0.2  # lateral slip at which n passes zero
    offset_end: Scalar = 0.35  # and from which it stays zero
    rolling_resistance: Scalar = 0.0
    radius: Scalar = 0.3
    vertical_stiffness: Scalar = 2e5
    vertical_damping: Scalar = 0.0
    relaxation_kappa: Scalar = 0.3
    relaxation_alpha: Scalar = 0.5

    def sliding_slips(self, fz: Scalar) -> tuple[Scalar, Scalar]:
        """Return the slips of the maxima at the nominal load."""
        return self.along[0].slip_max, self.across[0].slip_max

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
        # All three forces are per load q, so that none is divided by a vanishing load.
        rise = arm.min(slip / top, 1.0)
        fall = arm.min(arm.max((slip - top) / (end - top), 0.0), 1.0)
        first = slope / (1 + rise * (slope * top / peak - 2 + rise))
        second = (peak - (peak - last) * fall * fall * (3 - 2 * fall)) / slip
        grip = arm.select(slip < top, first, second) * q
        fx, fy = grip * nx, -grip * ny
        offset = self._offset(arm.sqrt(sy * sy + TINY)) * self.length * arm.sqrt(q + 1e-16)
        my = -self.rolling_resistance * self.radius * load * rolling
        return Forces(fx, fy, 0.0 * fy * self.radius, my, -offset * rolling * fy)

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
    """Slope, slip and force at the maximum, slip and force of sliding at q nominal loads; forces over q."""
    one, two = curves

    def force(first: float, second: float) -> Scalar:
        return 2 * first - second / 2 - (first - second / 2) * q

    def slip(first: float, second: float) -> Scalar:
        return first + (second - first) * (q - 1)

    return (
        force(one.slope, two.slope),
        slip(one.slip_max, two.slip_max),
        force(one.force_max, two.force_max),
        slip(one.slip_sliding, two.slip_sliding),
        force(one.force_sliding, two.force_sliding),
    )
