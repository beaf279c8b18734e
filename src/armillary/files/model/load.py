"""``arm.load``: a system from a file, whatever the format."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from armillary.algebra.arguments import file_path
from armillary.errors import nearest
from armillary.files.model.build import build
from armillary.files.model.check import read_model
from armillary.files.model.documents import FileError
from armillary.files.model.includes import parts_of
from armillary.model.system import System

FORMATS = (".toml", ".urdf", ".xml")


def load(path: str | os.PathLike[str], **options: Any) -> System:
    """The system in a file: a text model (.toml), a robot (.urdf) or a MuJoCo model (.xml, MJCF).

    A file is data; nothing in it is executed. ``options`` are those of the importers, such as
    ``floating=True`` for a robot whose base is free; ``trust=True`` lets a text model load the FMUs that it
    names, which are machine code.
    """
    suffix = file_path(path, "the model", FileError).suffix.lower()
    if suffix == ".toml":
        if other := [name for name in options if name != "trust"]:
            raise FileError(f"a text model takes no option {other[0]}=, only trust=", str(path))
        return load_text(path, **options)
    if suffix in (".urdf", ".xml"):
        from armillary.files.robots import load_mjcf, load_urdf

        reader: Callable[..., System] = load_urdf if suffix == ".urdf" else load_mjcf
        known = [*inspect.signature(reader).parameters][1:]
        if other := [name for name in options if name not in known]:
            there = nearest(other[0], known) or f"; there are {', '.join(known)}"
            raise FileError(f"its importer takes no option {other[0]}={there}", str(path))
        return reader(path, **options)
    raise FileError(
        f"a model is read from {', '.join(FORMATS)} files, not from '{Path(path).name}'", str(path)
    )


def load_text(path: str | os.PathLike[str], *, trust: bool = False) -> System:
    """The system in a text model; with ``trust`` FMUs that it names are loaded, which is machine code."""
    document = read_model(path)
    return build(document.data["name"], document.data.get("units", "SI"), parts_of(document), trust=trust)
