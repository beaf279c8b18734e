"""Systems from files, whatever the format; see ``stages.load``."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from pathlib import Path

from armillary.algebra.arguments import file_path, flag
from armillary.errors import suggestion
from armillary.files.model.build import build
from armillary.files.model.check import read_model
from armillary.files.model.documents import FileError
from armillary.files.model.includes import parts_of
from armillary.model.description import SystemType
from armillary.untyped import DataTable, Given

FORMATS = (".toml", ".urdf", ".xml", ".ssp")


def read(path: str | os.PathLike[str], make: type[SystemType], **options: Given) -> SystemType:
    """The system in a file, as one of the class ``make``; ``options`` are those of the format's reader."""
    suffix = file_path(path, "the model", FileError).suffix.lower()
    if "trust" in options:
        flag(options["trust"], "trust=")
    if suffix == ".toml":
        if other := [name for name in options if name != "trust"]:
            raise FileError(f"a text model takes no option {other[0]}=, only trust=", str(path))
        return load_text(path, make, **options)
    if suffix in (".urdf", ".xml"):
        from armillary.files.robots import load_mjcf, load_urdf

        reader: Callable[..., SystemType] = load_urdf if suffix == ".urdf" else load_mjcf
        return reader(path, make, **_known(reader, options, path))
    if suffix == ".ssp":
        from armillary.files.ssp.loading import load_ssp

        return load_ssp(path, make, **_known(load_ssp, options, path))
    raise FileError(
        f"a model is read from {', '.join(FORMATS)} files, not from '{Path(path).name}'", str(path)
    )


def _known(reader: Callable[..., object], options: DataTable, path: str | os.PathLike[str]) -> DataTable:
    """Options that a format's reader takes."""
    known = [*inspect.signature(reader).parameters][2:]
    if other := [name for name in options if name not in known]:
        raise FileError(f"its importer takes no option {other[0]}={suggestion(other[0], known)}", str(path))
    return options


def load_text(path: str | os.PathLike[str], make: type[SystemType], *, trust: bool = False) -> SystemType:
    """The system in a text model; with ``trust`` FMUs that it names are loaded, which is machine code."""
    document = read_model(path)
    system = make(document.data["name"], document.data.get("units", "SI"))
    build(system, parts_of(document), trust=trust)
    return system
