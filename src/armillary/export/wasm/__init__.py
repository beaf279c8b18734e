"""WebAssembly: a system's program as a module for browsers and Node.js, with a class in JavaScript.

module.py makes the module and its description; model.js is the class, which pages of live models use too.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from armillary.algebra.arguments import flag, several
from armillary.export.text.description import ABSOLUTE, RELATIVE
from armillary.export.text.files import (
    example_timing,
    fill,
    head,
    readme_tables,
    setting_values,
    template,
    write_folder,
)
from armillary.export.text.source import Source, make_source
from armillary.export.wasm.module import METHODS_OF_MODULES, WasmModule, checked_methods
from armillary.program.equations import DerivedEquations
from armillary.solver.methods.registry import METHODS
from armillary.untyped import DataTable

__all__ = ["class_text", "export"]


def export(
    equations: DerivedEquations,
    path: str | os.PathLike[str],
    *,
    methods: Sequence[str] = METHODS_OF_MODULES,
    configurations: bool | None = None,
    force: bool = False,
) -> Path:
    """Write a folder with the system as a WebAssembly module, a typed class for it, a test and a README.

    With ``configurations`` the module contains the equations of all configurations that runs can reach, so
    that runs can lock and unlock joints and exchange dependent speeds; by default (None) it does, unless
    loops have too many choices of dependent speeds. ``methods`` names the integration methods of the module;
    for stiff systems rodas5p, or rodas3 with a fixed step. Both need the partial derivatives of the rates,
    which the module then contains.
    """
    given = None if configurations is None else flag(configurations, "configurations=")
    chosen = checked_methods(several(methods, "methods="))
    stiff = any(METHODS[name].rosenbrock for name in chosen)
    made = make_source(equations, given, exchanges=True, passes=True, stiff=stiff, sparse=True)
    module = WasmModule(made, chosen)
    stem = made.stem
    about = module.description()
    title = head(made.description, f"{stem}.js", "the model in its WebAssembly module")
    values = {
        "name": stem,
        "title": made.description.name,
        "version": made.description.version,
        "about": json.dumps(about, indent=1, allow_nan=False),
        "class": class_text(),
        "head": "\n".join(f"// {line}".rstrip() for line in title),
        "size": f"{len(module.linked.code) / 1000:.1f}",
        "duration": f"{example_timing(made)[0]:g}",
        "step": f"{about['step']:g}",
        "methods": ", ".join(f"`{name}`" for name in module.methods),
        "relative": repr(RELATIVE),
        "absolute": repr(ABSOLUTE),
        **{f"{kind}_names": _union(about[kind]) for kind in ("parameters", "starts", "memory", "outputs")},
        "bodies_names": _union(about["bodies"]),
        "methods_names": _union([{"name": name} for name in module.methods]),
    }
    readme = fill(template(__package__, "README.md.txt"), values)
    return write_folder(
        path,
        {
            f"{stem}.wasm": module.linked.code,
            f"{stem}.js": fill(template(__package__, "module.js.txt"), values),
            f"{stem}.d.ts": fill(template(__package__, "module.d.ts.txt"), values),
            "package.json": json.dumps(
                {"name": stem.replace("_", "-"), "type": "module", "main": f"{stem}.js"}, indent=1
            )
            + "\n",
            "test.js": fill(template(__package__, "test.js.txt"), values),
            "reference.json": json.dumps(_reference(made), allow_nan=False) + "\n",
            "README.md": "\n".join([readme.rstrip("\n"), *readme_tables(made.description)]) + "\n",
        },
        force=force,
    )


def class_text() -> str:
    """Return the class of models in JavaScript."""
    return fill(template(__package__, "model.js"), setting_values("Infinity"))


def _union(items: Sequence[DataTable]) -> str:
    return " | ".join(json.dumps(item["name"]) for item in items) or "never"


def _reference(made: Source) -> DataTable:
    """Return numbers for the test: derivatives and outputs at some points, and the end of a run."""
    found, run = made.reference, made.reference.trajectory
    return {
        "points": [
            {
                "t": p.t,
                "state": p.state,
                "memory": p.memory,
                "derivatives": p.derivatives,
                "outputs": p.outputs,
            }
            for p in found.points
        ],
        "run": None if run is None else {"duration": run.duration, "step": run.step, "outputs": run.outputs},
    }
