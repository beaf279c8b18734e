"""``arm.load``: a system from a file, whatever the format."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from armillary.errors import ModelError, nearest
from armillary.model.system import System
from armillary.model.unit_system import unit_system
from armillary.text.building import build
from armillary.text.checking import check_document
from armillary.text.documents import FileError, read_document
from armillary.text.including import parts_of

FORMATS = (".toml", ".urdf", ".xml")


def load(path: str | os.PathLike[str], **options: Any) -> System:
    """The system in a file: a text model (.toml), a robot (.urdf) or a MuJoCo model (.xml, MJCF).

    A file is data; nothing in it is executed. ``options`` are those of the importers, such as
    ``floating=True`` for a robot whose base is free; ``trust=True`` lets a text model load the FMUs that it
    names, which are machine code.
    """
    suffix = Path(path).suffix.lower()
    if suffix == ".toml":
        if other := [name for name in options if name != "trust"]:
            raise FileError(f"a text model takes no option {other[0]}=, only trust=", str(path))
        return load_text(path, **options)
    if suffix in (".urdf", ".xml"):
        from armillary.model.importers import load_mjcf, load_urdf

        reader: Callable[..., System] = load_urdf if suffix == ".urdf" else load_mjcf
        known = [*inspect.signature(reader).parameters][1:]
        if other := [name for name in options if name not in known]:
            there = nearest(other[0], known) or f"; there are {', '.join(known)}"
            raise FileError(f"its importer takes no option {other[0]}={there}", str(path))
        return reader(path, **options)
    raise FileError(
        f"a model is read from {', '.join(FORMATS)} files, not from '{Path(path).name}'", str(path)
    )


def _flatten(data: dict[str, Any]) -> None:
    """Variables in [start] and [prescribe] written with or without quotes: A.q1 = 0.1 is a table to TOML."""
    for section in ("start", "prescribe"):
        table = data.get(section)
        if isinstance(table, dict):
            for head, inner in list(table.items()):
                if isinstance(inner, dict):
                    table.update({f"{head}.{tail}": value for tail, value in table.pop(head).items()})


def load_text(path: str | os.PathLike[str], *, trust: bool = False) -> System:
    """The system in a text model; with ``trust`` FMUs that it names are loaded, which is machine code."""
    document = read_document(path)
    _flatten(document.data)
    check_document(document)
    try:
        unit_system(document.data.get("units", "SI"))
    except ModelError as error:
        raise document.error(str(error), "units") from None
    return build(document.data["name"], document.data.get("units", "SI"), parts_of(document), trust=trust)
