"""Export of equations as programs in other languages and as functional mock-up units (FMUs).

Enters: `Equations`. Leaves: a folder of source code, or an FMU. `text/` has the parts that the languages
share. Each language has a folder, which is imported at its first use and has one function

    export(equations, path, **options) -> Path
"""

from __future__ import annotations

import importlib
import inspect
import os
from pathlib import Path

from armillary.algebra.arguments import checked_names, file_path, one_of
from armillary.errors import ArmillaryError
from armillary.program.equations import DerivedEquations

LANGUAGES = {
    "c": "armillary.export.c",
    "cuda": "armillary.export.cuda",
    "python": "armillary.export.python",
    "jax": "armillary.export.jax",
    "fortran": "armillary.export.fortran",
    "matlab": "armillary.export.matlab",
    "wasm": "armillary.export.wasm",
    "rust": "armillary.export.rust",
    "fmu": "armillary.export.fmi",
}


HOOKS = ("on_start", "on_input", "on_echo")
# What users of an exported program can do in place of a Python function (`HOOKS`), by language.
_OWN_CODE = {
    "c": "in C change run.state and run.memory between setup and begin, or the values of the run file",
    "cuda": "give each run its values in the table of runs",
    "fortran": "in Fortran change the arguments of begin_run, or the values of the run file",
    "matlab": "in MATLAB change the options 'initial' and 'memory' of simulate",
    "rust": "in Rust change run.state and run.memory before begin",
    "wasm": "in JavaScript change the values given to reset or simulate",
    "fmu": "let the importer set start values before it ends the initialization",
}


def _python_function_remedy(language: str) -> str:
    """Return the remedy for a Python function, which cannot be exported."""
    return _OWN_CODE.get(language, "give it to simulate(on_start=…) of the exported module")


def export(
    equations: DerivedEquations, language: str, path: str | os.PathLike[str], **options: object
) -> Path:
    """Write the equations as a stand-alone program and return its path.

    All languages have these options. ``inputs`` are data over time, which the program then contains.
    ``force`` allows files to be replaced. With ``configurations`` the program has the equations of all
    configurations that runs can reach, so that runs can lock and unlock joints and exchange dependent speeds;
    by default it has them if events lock or unlock joints, or set dependent speeds.
    """
    one_of(language, LANGUAGES, "cannot export to ")
    file_path(path, "path")
    writer = importlib.import_module(LANGUAGES[language]).export
    inputs = options.pop("inputs", None)
    if inputs is not None:
        from armillary.export.text.source import exported_equations
        from armillary.export.text.start import with_inputs

        usual = "single" if options.get("profile") == "embedded" else "double"
        single = (options.get("precision") or usual) == "single"
        equations = with_inputs(exported_equations(equations), inputs, single=single)
    known = [*list(inspect.signature(writer).parameters)[2:], "inputs"]
    for name in options:
        if name in HOOKS:
            remedy = _python_function_remedy(language)
            raise ArmillaryError(f"{name} is a Python function, which cannot be exported; {remedy}")
        checked_names([name], known, f"export to {language} has no option", listed=True)
    if (given := options.get("configurations")) is not None and not isinstance(given, bool):
        raise ArmillaryError(
            f"configurations={given!r}: give True or False (on the command line true or false)"
        )
    from armillary.runtime.start.assembly import warned_once

    with warned_once():
        found: Path = writer(equations, path, **options)
    return found
