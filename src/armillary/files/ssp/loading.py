"""A package as a system of its own, which runs its FMUs."""

from __future__ import annotations

import os
import re
from pathlib import Path

from armillary.errors import ModelError
from armillary.files.ssp.element import ssp
from armillary.files.ssp.reading import read
from armillary.model.bodies.bodies import body as make_body
from armillary.model.description import SystemType
from armillary.model.joints.simple import Prismatic
from armillary.model.signals.signals import input as declare_input


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
    package = read(path)
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
