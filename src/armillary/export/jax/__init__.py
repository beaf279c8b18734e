"""Exported JAX: one module of pure functions for one system, to be compiled, mapped and differentiated.

The layout is as in exported Python (python/module.py); module.py has the differences, ``solver.txt`` is the
rollout by `lax.scan`, for which solver.py prints the methods. If events set something, end the run or change
the configuration, ``runs.txt`` has the common solver of runs, printed by flow.py.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from armillary.algebra.arguments import flag
from armillary.export.jax.module import JaxModule
from armillary.export.python import module_name, write_module
from armillary.export.text.source import make_source
from armillary.program.equations import DerivedEquations


def export(
    equations: DerivedEquations,
    path: str | os.PathLike[str],
    *,
    force: bool = False,
    configurations: bool | None = None,
    stiff: bool = False,
) -> Path:
    """Write a folder with a module for this one system, a run file, a test with stored numbers, and a
    README.

    ``stiff``: it also has the linearly implicit methods: rodas3, and rodas5p where it locates events. JAX
    itself finds the partial derivatives of the rates.
    """
    made = replace(make_source(equations, configurations, passes=True), stiff=flag(stiff, "stiff="))
    module = JaxModule(made, module_name("jax_system" if made.stem == "jax" else made.stem))
    return write_module(module, path, force=force)
