"""Exported code: a program written out in another language, by the name of the language.

Each writer is a module, imported when it is needed, with one function

    export(equations, path, **options) -> Path
"""

from __future__ import annotations

import importlib
import inspect
import os
from pathlib import Path
from typing import Any

from armillary.algebra.arguments import file_path
from armillary.errors import ArmillaryError, nearest
from armillary.program.equations import DerivedEquations

LANGUAGES = {
    "c": "armillary.export.c",
    "cuda": "armillary.export.cuda",
    "python": "armillary.export.python",
    "jax": "armillary.export.jax",
    "fortran": "armillary.export.fortran",
    "matlab": "armillary.export.matlab",
    "fmu": "armillary.export.fmi.export",
}


def export(equations: DerivedEquations, language: str, path: str | os.PathLike[str], **options: Any) -> Path:
    """The equations written as a program of their own; the path of what was written. ``inputs`` over time are
    written with it.
    """
    if not isinstance(language, str) or language not in LANGUAGES:
        raise ArmillaryError(
            f"cannot export to '{language}'{nearest(str(language), LANGUAGES)}; "
            f"there are {', '.join(LANGUAGES)}"
        )
    file_path(path, "path")
    writer = importlib.import_module(LANGUAGES[language]).export
    inputs = options.pop("inputs", None)
    if inputs is not None:
        from armillary.export.inputs import with_inputs
        from armillary.export.text.source import exported_equations

        equations = with_inputs(exported_equations(equations), inputs)
    known = [*list(inspect.signature(writer).parameters)[2:], "inputs"]
    for name in options:
        if name not in known:
            raise ArmillaryError(
                f"export to {language} has no option '{name}'{nearest(name, known)}; "
                f"there are {', '.join(known)}"
            )
    found: Path = writer(equations, path, **options)
    return found
