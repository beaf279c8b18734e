"""Vehicles inside another program (host), such as a driving simulator, which gives the road below each wheel.

Enter with a car on a `HostRoad`; leave with a folder of C (`export_vehicle`), or an FMU with the same inputs.
The road is a plane under each wheel; its numbers are inputs of the model:

    z = height + slope_x (x − x₀) + slope_y (y − y₀)        below the hub at x, y

The host gives the point (x₀, y₀, height) of the surface below the hub, its slopes and its friction, anew for
each step. Within a step the surface is its tangent plane: on a smooth road the height has an error of second
order in the distance travelled, the normal an error of first order.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import armillary as arm
from armillary.vehicles.cars import Car
from armillary.vehicles.road import Road, Surface
from armillary.vehicles.tyres.tyre import Scalar

# Inputs of a wheel: end of the name, value without a host, unit, meaning.
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
    "WHEEL x" and "WHEEL y", the position of its hub. Without values from the host the road is flat.
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


# A vehicle as a small C library whose road is a callback.


TEMPLATES = Path(__file__).parent / "templates"


def export_vehicle(car: Car, path: str | os.PathLike[str], *, force: bool = False) -> Path:
    """Write a vehicle on a `HostRoad` as a folder of C and return its path.

    Beside the program of `Equations.export("c")` the folder has NAME_vehicle.h and NAME_vehicle.c, with
    functions to place the vehicle on the road and to step it: they call a function of the host for height,
    normal and friction under each wheel. Further files are bump.c, an example, and vehicle.mk:
    ``make -f vehicle.mk`` builds the example and a library.

    For an FMU use ``car.system.derive().export("fmu", …)``, whose inputs are the values that the callback
    returns.
    """
    known = car.system.memories
    wheels = [name for name in car.spin_per_speed if f"{name}_road_height" in known]
    if not wheels:
        raise arm.ModelError(
            "export_vehicle: this car has a road of its own; build it with road=HostRoad(), a road that the "
            "host describes"
        )
    folder = Path(car.system.derive().export("c", path, force=force))
    stem = next(folder.glob("*_solver.h")).name.removesuffix("_solver.h")
    names = ", ".join(f'"{name}"' for name in wheels)
    labels = ",\n    ".join(f"{stem.upper()}_{name.upper()}" for name in wheels)
    values = {
        "@stem@": stem, "@STEM@": stem.upper(), "@title@": car.system.name, "@names@": names,
        "@labels@": labels, "@step@": repr(car.step),
    }  # fmt: skip
    for template in sorted(TEMPLATES.glob("*.txt")):
        text = template.read_text(encoding="utf-8")
        for key, value in values.items():
            text = text.replace(key, value)
        name = template.name.removesuffix(".txt").replace("vehicle.", f"{stem}_vehicle.")
        name = "vehicle.mk" if name.endswith(".mk") else name
        (folder / name).write_text(text, encoding="utf-8")
    return folder
