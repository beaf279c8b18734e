"""A vehicle as a small C library whose road is a callback."""

from __future__ import annotations

import os
from pathlib import Path

import armillary as arm
from armillary.vehicles.cars import Car

TEMPLATES = Path(__file__).parent / "templates"


def export_vehicle(car: Car, path: str | os.PathLike[str], *, force: bool = False) -> Path:
    """Write a vehicle on a `HostRoad` as a folder of C and return its path.

    Beside the program of `Equations.export("c")` the folder has NAME_vehicle.h and NAME_vehicle.c, which set
    the vehicle on the road, step it, and ask a function of the host for height, normal and friction under
    each wheel; bump.c, an example; and vehicle.mk for ``make -f vehicle.mk``, which builds it and a library.

    For an FMU there is ``car.system.derive().export("fmu", …)``: what the callback returns are its inputs.
    """
    known = car.system.memories
    wheels = [name for name in car.spin_per_speed if f"{name}_road_height" in known]
    if not wheels:
        raise arm.ModelError(
            "export_vehicle: this car has a road of its own; build it with road=HostRoad(), whose road is "
            "described by the host"
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
