"""Exported JAX: one module of pure functions for one system, to be compiled, mapped and differentiated.

The layout is as in exported Python (python/module.py); module.py has the differences. ``solver.txt`` is the
template of the rollout by `lax.scan`; solver.py prints the methods in it. If events set something, end the
run or change the configuration, ``runs.txt`` has the common solver of runs, printed by flow.py.
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
    """Write a folder with one system's module, a run file, a test with stored numbers, and a README.

    ``stiff``: the module also has linearly implicit methods: rodas3 and, if it locates events, rodas5p. JAX
    itself differentiates the rates.
    """
    made = replace(make_source(equations, configurations, passes=True), stiff=flag(stiff, "stiff="))
    module = JaxModule(made, module_name("jax_system" if made.stem == "jax" else made.stem))
    return write_module(module, path, force=force)
