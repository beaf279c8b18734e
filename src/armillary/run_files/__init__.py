"""Runs from files: a model, values in the user's units, how to integrate, what to keep.

In: a run file (TOML), and settings that override it. Out: a `Run`, its file, and an echo file with every
value, its unit, its meaning and its source, which is itself a run file that gives the same run again. Read
`run_file.py` first, then `resolve.py` (the model of a run file, and the file against it), and `execute.py`.
Nothing is imported before it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from armillary.untyped import Given

if TYPE_CHECKING:
    from armillary.run_files.execute import Simulation, run
    from armillary.run_files.resolve import open_model
    from armillary.run_files.run_file import RunFile, RunFileError

__all__ = ["RunFile", "RunFileError", "Simulation", "open_model", "run"]

_HOMES = {
    "RunFile": "run_file", "RunFileError": "run_file", "Simulation": "execute", "run": "execute",
    "open_model": "resolve",
}  # fmt: skip


def __getattr__(name: str) -> Given:
    if name not in _HOMES:
        raise AttributeError(f"module 'armillary.run_files' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(f"armillary.run_files.{_HOMES[name]}"), name)
