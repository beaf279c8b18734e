"""Vehicles ready to run, as text models of this package: files in the folder ``models``, with their parts.

armillary maneuver step-steer full_car --speed "90 km/h"
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import armillary as arm

FOLDER = Path(__file__).parent / "models"
VEHICLES = tuple(sorted(path.stem for path in FOLDER.glob("*.toml")))


def vehicle_file(name: str) -> Path:
    """Return the file of a vehicle by its name, one of VEHICLES."""
    if name not in VEHICLES:
        raise arm.ModelError(f"there is no vehicle {name!r}; there are {', '.join(VEHICLES)}")
    return FOLDER / f"{name}.toml"


def find_vehicle(source: str | os.PathLike[str]) -> Path:
    """Return the file of a vehicle by its name, or a path as it is; a file of that name goes first."""
    path = Path(source)
    if path.exists() or path.suffix or os.fspath(source) not in VEHICLES:
        return path
    return vehicle_file(os.fspath(source))


def copy_vehicle(name: str, folder: str | os.PathLike[str] = ".") -> Path:
    """Copy the text model of a vehicle and its parts to a folder, to be changed there; return its file."""
    source, target = vehicle_file(name), Path(folder)
    (target / "parts").mkdir(parents=True, exist_ok=True)
    made = target / source.name
    taken = [path for path in (made, *(target / "parts" / p.name for p in _parts())) if path.exists()]
    if taken:
        raise arm.ModelError(f"copy_vehicle: {taken[0]} exists already; name another folder")
    shutil.copyfile(source, made)
    for part in _parts():
        shutil.copyfile(part, target / "parts" / part.name)
    return made


def _parts() -> list[Path]:
    return sorted((FOLDER / "parts").glob("*.toml"))
