"""An FMU from equations: the stages in their order."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import cast
from uuid import UUID

from armillary.algebra.arguments import one_of
from armillary.errors import ArmillaryError
from armillary.export.fmi.description import (
    Facts,
    build_description,
    documentation,
    model_description,
    terminals,
)
from armillary.export.fmi.model import model_files
from armillary.export.fmi.platforms import (
    PLATFORMS,
    build_library,
    chosen_platforms,
    compile_library,
    library_files,
    this_platform,
    write_archive,
)
from armillary.export.fmi.tables import variables_header, variables_source
from armillary.export.fmi.variables import check_states, interface
from armillary.export.text.source import make_source
from armillary.model.units import in_seconds
from armillary.program.equations import DerivedEquations
from armillary.runtime.integrators import usual_method
from armillary.runtime.integrators.settings import complete_settings
from armillary.runtime.solver.methods import exported_methods
from armillary.settings import Initial, RunSettings

VERSIONS = ("2.0", "3.0")
KINDS = ("both", "model_exchange", "co_simulation")

_SOURCES = ("fmu.c", "events.c", "stepper.c", "partial.c", "saved.c")


def export(
    equations: DerivedEquations,
    path: str | os.PathLike[str],
    *,
    version: str = "2.0",
    kind: str = "both",
    method: str = usual_method(True),
    step: float | str = 1e-3,
    rtol: float = RunSettings.rtol,
    atol: float = cast("float", RunSettings.atol),
    duration: float | str = 10.0,
    parameters: Mapping[str, float] | None = None,
    initial: Initial = None,
    binary: bool = True,
    platforms: str | Sequence[str] | None = None,
    configurations: bool | None = None,
    force: bool = False,
) -> Path:
    """Write an FMU of FMI ``version`` at ``path``, for model exchange, co-simulation or both.

    ``method`` integrates in co-simulation: "rk4", "midpoint", "ab2" and, for stiff systems, "rodas3" in equal
    steps of at most ``step``, "dopri5", "dop853" and "rodas5p" in steps of their own, by ``rtol`` and
    ``atol`` or the tolerance that an importer gives.
    ``step`` and ``duration`` are the default experiment.
    ``parameters`` and ``initial`` are start values that replace the description's. ``binary=False`` leaves
    out the library, so that no compiler is needed. ``platforms`` names the platforms to build libraries for:
    "all", or names such as "x86_64-windows" (platforms.py); left out, this machine.
    ``configurations``: whether it holds the equations of all configurations that runs can meet; None: if
    events lock or unlock joints. Its states are then all coordinates and all speeds.
    A name without a suffix becomes one with ".fmu". ``force`` replaces also a file that is no FMU.
    """
    version = str(version)
    one_of(version, VERSIONS, "unknown version of FMI ")
    one_of(kind, KINDS, "unknown kind of FMU ")
    one_of(
        method,
        [m.name for m in exported_methods(adaptive=True, stiff=True)],
        "unknown method of co-simulation ",
    )
    h, t_end = in_seconds("step", step), in_seconds("duration", duration)
    for name, value in (("step", h), ("duration", t_end), ("rtol", rtol), ("atol", atol)):
        if not (isinstance(value, int | float) and math.isfinite(value) and value > 0):
            of = " of seconds" if name in ("step", "duration") else ""
            raise ArmillaryError(f"export to an FMU: {name}={value!r} is not a positive number{of}")
    settings = complete_settings(
        RunSettings(t_end, step=float(h), method=method, rtol=rtol, atol=float(atol))
    )
    if platforms is not None:
        wanted = chosen_platforms(platforms)
        if not binary:
            raise ArmillaryError(
                "export to an FMU: binary=False leaves out libraries, and platforms names some"
            )
    stiff = settings.integrator.rosenbrock is not None
    found = make_source(equations, configurations, passes=True, stiff=stiff, sparse=True)
    check_states(found)
    variables = interface(found, parameters, initial)
    adjoint = version == "3.0"
    texts = model_files(found, variables.clocks, adjoint)
    texts["variables.c"] = variables_source(variables, adjoint)
    number = version[0]
    shared = (f"fmi{number}.h", f"fmi{number}.c", "standard.h", "fmu.h", *_SOURCES)
    texts |= {
        name: files(__package__).joinpath("sources", name).read_text(encoding="utf-8") for name in shared
    }
    offers = {"exchange": kind != "co_simulation", "cosimulation": kind != "model_exchange"}
    token = _token(texts, version, repr((settings, offers)))
    texts["variables.h"] = variables_header(variables, token, settings, **offers, adjoint=adjoint)
    made = sorted(name for name in texts if name.endswith(".c"))
    facts = Facts(
        variables,
        found.stem,
        token,
        float(h),
        settings.t_end,
        settings.rtol if settings.integrator.adaptive else 1e-6,  # importers give it back as theirs
        **offers,
        sources=made,
    )
    content: dict[str, str | bytes] = {"modelDescription.xml": model_description(facts, version)}
    content["documentation/index.html"] = documentation(variables, settings)
    if version == "3.0" and (groups := terminals(variables)):
        content["terminalsAndIcons/terminalsAndIcons.xml"] = groups
    content |= {f"sources/{name}": text for name, text in sorted(texts.items())}
    if version == "3.0":
        content["sources/buildDescription.xml"] = build_description(found.stem, made)
    if platforms is not None:
        libraries = {name: build_library(texts, name) for name in wanted}
    elif binary:
        here = this_platform()
        libraries = {here: compile_library(texts, PLATFORMS[here].suffix)}
    else:
        libraries = {}
    content |= library_files(version, found.stem, libraries)
    place = Path(path)
    named = place if place.suffix or place.is_dir() else place.with_name(f"{place.name}.fmu")
    return write_archive(named, content, force=force)


def _token(texts: Mapping[str, str], version: str, options: str) -> str:
    """Return a number that belongs to these sources alone; importers hand it over when they make
    an instance.
    """
    digest = sha256(f"{version} {options}".encode())
    for name in sorted(texts):
        digest.update(f"{name}\0{texts[name]}\0".encode())
    return f"{{{UUID(bytes=digest.digest()[:16])}}}"
