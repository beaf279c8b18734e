"""Systems from files of any format, SSP packages among them.

A package as a system of its own, which runs its FMUs.

Systems from files, whatever the format; see ``stages.load``.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable
from pathlib import Path

from armillary.algebra.arguments import file_path, flag
from armillary.errors import ModelError, suggestion
from armillary.files.elements import ssp
from armillary.files.model.build import build
from armillary.files.model.documents import FileError, read_model
from armillary.files.model.includes import parts_of
from armillary.model.bodies.bodies import body as make_body
from armillary.model.description import SystemType
from armillary.model.joints.simple import Prismatic
from armillary.model.signals.signals import input as declare_input
from armillary.untyped import DataTable, Given


def load_ssp(
    path: str | os.PathLike[str],
    make: type[SystemType],
    *,
    every: float | None = None,
    extrapolate: bool = False,
    trust: bool = False,
) -> SystemType:
    """The FMUs of a package, stepped ``every`` so many seconds; its inputs are inputs of the system.

    A system needs a body: one of unit mass that stays at rest is added. With ``trust`` the FMUs are loaded,
    which are machine code.
    """
    from armillary.files.ssp.package import read as read_package  # archives and XML, which few models need

    package = read_package(path)
    if not trust:
        raise ModelError(
            f"'{Path(path).name}' is an SSP package of FMUs, machine code that would run in this process; if "
            "you trust it, use load(…, trust=True), or --trust on the command line"
        )
    if every is None:
        raise ModelError(
            f"'{Path(path).name}': give the seconds between communication points, load(…, every=1e-3)"
        )
    system = make(package.name)
    make_body(system, "rest", joint=Prismatic("x"), mass=1, inertia=0)
    for name in package.inputs:
        declare_input(system, name)
    stem = re.sub(r"\W+", "_", Path(path).stem).strip("_") or "package"
    ssp(
        system,
        stem,
        path,
        every=every,
        inputs={name: name for name in package.inputs},
        extrapolate=extrapolate,
    )
    return system


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
