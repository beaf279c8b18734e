"""The road of a host program: a plane under each wheel, as inputs of the model.

    z = height + slope_x (x − x₀) + slope_y (y − y₀)        below the hub at x, y

The host gives the point (x₀, y₀, height) of the surface below the hub, its slopes and its friction; a step
later it gives others. Within a step the surface is its tangent plane: on a smooth road its height is right to
the second order of the step, its normal to the first.
"""

from __future__ import annotations

from dataclasses import dataclass

import armillary as arm
from armillary.vehicles.road import Road, Surface
from armillary.vehicles.tyres.tyre import Scalar

# Inputs of a wheel: ending, value without a host, unit, meaning.
ROAD_INPUTS = (
    ("x", 0.0, "m", "where the road is described"),
    ("y", 0.0, "m", "where the road is described"),
    ("height", 0.0, "m", "of the road there"),
    ("slope_x", 0.0, None, "of the road along x of the ground"),
    ("slope_y", 0.0, None, "of the road along y of the ground"),
    ("friction", 1.0, None, "scale of the tyre's friction"),
)


@dataclass(frozen=True)
class HostRoad(Road):
    """A road that another program describes while the vehicle runs.

    Each wheel has the inputs WHEEL_road_x, _y, _height, _slope_x, _slope_y and _friction, and the outputs
    "WHEEL x" and "WHEEL y", the place of its hub. Without values from outside the road is flat.
    """

    def below_wheel(self, system: arm.System, name: str, x: Scalar, y: Scalar) -> Surface:
        """Return the plane that the inputs of a wheel describe."""
        values = {
            ending: system.input(
                f"{name}_road_{ending}", default, interpolation="hold", units=units, about=about
            )
            for ending, default, units, about in ROAD_INPUTS
        }
        system.output(f"{name} x", x, units="m", about="of the hub")
        system.output(f"{name} y", y, units="m", about="of the hub")
        slope_x, slope_y = values["slope_x"], values["slope_y"]
        height = values["height"] + slope_x * (x - values["x"]) + slope_y * (y - values["y"])
        return Surface(height, slope_x, slope_y, values["friction"])
