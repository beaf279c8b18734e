"""Exported Python: one module for one system, which needs only the standard library.

Read module.py first, which writes the module. solver.py fills in ``solver.txt``, the template of the solver.
The templates ``program.txt`` (the main program) and ``test.txt`` (the self-test) are the same for all
systems.
"""

from __future__ import annotations

import keyword
import os
import sys
from pathlib import Path

from armillary.algebra.arguments import flag
from armillary.export.python.module import PythonModule
from armillary.export.text.description import reference_text
from armillary.export.text.files import (
    example_run,
    example_timing,
    fill,
    readme_tables,
    template,
    write_folder,
)
from armillary.export.text.source import make_source
from armillary.program.equations import DerivedEquations
from armillary.solver.methods.method_text import method_names

# The folder of an exported Python module.


def export(
    equations: DerivedEquations,
    path: str | os.PathLike[str],
    *,
    force: bool = False,
    configurations: bool | None = None,
    stiff: bool = False,
) -> Path:
    """Write a folder with one system's module, a run file, a test with stored numbers, and a README.

    ``stiff``: the solver also has the methods rodas5p and rodas3, with the partial derivatives of the rates.
    """
    made = make_source(equations, configurations, passes=True, stiff=flag(stiff, "stiff="), sparse=True)
    return write_module(PythonModule(made, module_name(made.stem)), path, force=force)


def module_name(stem: str) -> str:
    """Return a name that can be imported and hides no standard module."""
    return f"{stem}_system" if keyword.iskeyword(stem) or stem in sys.stdlib_module_names else stem


def write_module(module: PythonModule, path: str | os.PathLike[str], *, force: bool = False) -> Path:
    """Write the folder of a module in plain Python or another dialect, such as JAX; return its path."""
    d, name = module.description, module.name
    duration, step = example_timing(module.made)
    values = {
        "module": name,
        "title": d.name,
        "version": d.version,
        "duration": f"{duration:g}",
        "step": f"{step:g}",
        "method_list": method_names(module.adaptive, stiff=module.made.stiff, multistep=module.multistep),
    }
    test = fill(template(PythonModule.package, "test.txt"), values, module.has)
    readme = module.fill_template("readme.txt", values)
    return write_folder(
        path,
        {
            f"{name}.py": module.text(),
            f"test_{name}.py": test,
            "reference.txt": reference_text(module.made.reference),
            "run.toml": example_run(module.made, module.adaptive),
            "README.md": "\n".join([readme.rstrip("\n"), *readme_tables(d)]) + "\n",
        },
        force=force,
    )


__all__ = ["export"]
