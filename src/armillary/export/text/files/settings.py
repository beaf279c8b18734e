"""Settings of exported runs: keys of [run] in their files and defaults, from the one record of settings."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields
from math import isinf

from armillary.runtime.integrators import usual_method
from armillary.runtime.integrators.settings import ROWS
from armillary.runtime.solver.methods import exported_methods
from armillary.settings import FILE_KEYS, RUN_TABLE, RunSettings


@dataclass(frozen=True)
class RunKey:
    """A number of [run]; ``default`` is None where a run gives it or does without."""

    key: str
    default: float | None


def run_keys() -> tuple[RunKey, ...]:
    """The numbers of [run], by the keys of files; the method is a word."""
    found = []
    for f in fields(RunSettings):
        if f.name != "method":
            known = None if f.default is MISSING or f.default is None else float(f.default)
            found.append(RunKey(FILE_KEYS[f.name], known))
    return tuple(found)


def foreign_keys() -> tuple[str, ...]:
    """Keys of [run] that mean nothing to an exported program."""
    return tuple(key for key in RUN_TABLE if key not in FILE_KEYS.values())


def setting_values(infinity: str) -> dict[str, str]:
    """Values for templates: defaults by the names of keys, and the methods where none is given."""
    known = {key.key: key.default for key in run_keys() if key.default is not None}
    texts = {name: infinity if isinf(value) else repr(value) for name, value in known.items()}
    usual = {"with_step": usual_method(True), "without_step": usual_method(False)}
    words = {f"usual_{name}": method for name, method in usual.items()}
    words |= {f"USUAL_{name.upper()}": method.upper() for name, method in usual.items()}
    adaptive = [m.name for m in exported_methods(adaptive=True) if m.adaptive]
    assert usual["without_step"] in adaptive
    return {f"default_{name}": text for name, text in texts.items()} | words | {"samples": str(ROWS)}
