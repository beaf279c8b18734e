"""The identity of a model, and the text from which a model is built again elsewhere."""

from __future__ import annotations

import hashlib
import importlib
import re
from collections.abc import Callable
from difflib import ndiff
from math import isfinite
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from armillary.errors import ArmillaryError, ModelError
from armillary.files.model.save import save
from armillary.llvm.sections import llvm_text
from armillary.program.derivatives.sensitivities import DerivedSensitiveEquations
from armillary.runtime.models.compiled import CompiledModel, compiled_model
from armillary.stages import System, load
from armillary.stages.model import Model
from armillary.studies.store.folder import Folder
from armillary.untyped import DataTable

# The address of a foreign function is another one in the next process.
_ADDRESS = re.compile(r"inttoptr \(?i64 \d+")
_KINDS = {"parameters": "parameter", "initial": "initial value", "memory": "memory"}
_LINES = 2  # of a model's text that a message shows
_PROBES = 2  # states at which equations are compared
_TEXT = 1e-12  # error of a value that is written in its units and read again
_ROUNDING = 1e-6  # error of rates and outputs computed in another order


def identity(model: CompiledModel) -> DataTable:
    """A model as data: the digest of its program, and the values that it brings along.

    The program's text has equations, outputs, events and formalism; it does not have default values, which
    enter from outside. ``probed`` are values by which the equations are known where their text may be
    another: built from a model's text, whose loads may come in another order.
    """
    equations = model.equations
    text = _ADDRESS.sub("inttoptr", llvm_text(equations.program))
    found = {
        "formalism": equations.formalism,
        "derived": dict(equations.options),
        "equations": hashlib.blake2b(text.encode(), digest_size=16).hexdigest(),
        **_default_values(model),
        "probed": _values_near_start(model),
    }
    if isinstance(equations, DerivedSensitiveEquations):
        to = [direction.name for direction in equations.directions]
        found["sensitivities"] = {"to": to, "of": list(equations.of), "ignore_jumps": equations.ignore_jumps}
    return found


def _default_values(model: CompiledModel) -> dict[str, dict[str, float | None]]:
    """The values that a model brings along."""
    system = model.equations.system
    return {
        "parameters": model.parameters,
        "initial": {symbol.data.name: float(value) for symbol, value in system.initial.items()},
        "memory": {name: float(memory.initial) for name, memory in system.memories.items()},
    }


def _values_near_start(model: CompiledModel) -> list[list[float | None]]:
    """Return rates and outputs near the initial state; `None` for a value that is not a number."""
    program, initial = model.equations.program, _default_values(model)["initial"]
    unknown = {name: 1.0 for name, value in model.parameters.items() if value is None}
    start = np.array([initial.get(s.data.name) or 0.0 for s in program.state])
    found = []
    for seed in range(_PROBES):
        state = start + 0.1 * (1 + np.abs(start)) * np.random.default_rng(seed).normal(size=len(start))
        rates = model.derivatives(0.1, state, unknown).tolist()
        outputs = model.outputs(0.1, state, unknown).values()
        found.append([float(f"{x:.12e}") if isfinite(x) else None for x in (*rates, *outputs)])
    return found


def text_differences(folder: Folder, model: CompiledModel) -> str:
    """The first lines in which the text of a model is another than that in a study's folder."""
    try:
        with TemporaryDirectory() as place:
            save(model.equations.system, Path(place) / folder.model.name)
            here = (Path(place) / folder.model.name).read_text(encoding="utf-8").splitlines()
        there = folder.model.read_text(encoding="utf-8").splitlines()
    except (OSError, ModelError, UnicodeDecodeError):
        return ""
    changed = [
        f"{line[2:].strip()} ({'there' if line[0] == '-' else 'here'})"
        for line in ndiff(there, here)
        if line[0] in "-+" and line[2:].strip()
    ]
    more = "; …" if len(changed) > _LINES else ""
    return f"\n  model: {'; '.join(changed[:_LINES])}{more}" if changed else ""


def save_model(model: CompiledModel, folder: Folder) -> str:
    """The text of a model in its study's folder; why there can be none, where there cannot."""
    try:
        save(model.equations.system, folder.model)
    except (ModelError, RuntimeError) as error:  # the latter for a link to itself
        return str(error)
    return ""


def text_checksum(folder: Folder) -> str:
    """Return the checksum of the model's text in a study's folder; "" if there is no text."""
    try:
        return hashlib.blake2b(folder.model.read_bytes(), digest_size=16).hexdigest()
    except OSError:
        return ""


def rebuild_model(
    folder: Folder, about: DataTable, *, build: str | None = None, trust: bool = False
) -> Model:
    """The model of a study, from the function that builds it or from its text, derived as it was.

    The order in which loads were described may get lost in a text: its equations are the same, and their
    rounding may be another. A model that is not the study's is refused. ``trust`` is for the text that the
    study wrote: machine code (FMUs) that a changed one names is not loaded.
    """
    system = build_system(build) if build else _from_text(folder, about, trust)
    kept = ("regroup", "small", "keep", "effort")
    known = {key: value for key, value in about["derived"].items() if key in kept}
    model = system.derive(about["formalism"], **known).compile()
    if asked := about.get("sensitivities"):
        ignored = asked.get("ignore_jumps", True)
        model = model.with_sensitivities(asked["to"], asked["of"], ignore_jumps=ignored)
    if difference := _difference(about, compiled_model(model)):
        where = f"build={build!r} gives" if build else f"'{folder.model}' holds"
        raise ArmillaryError(
            f"{where} another model than that of the study, which cannot go on with it: {difference}\n"
            "  remedy: restore it, or give the model itself: open_study(…, model=…)"
        )
    return model


def _from_text(folder: Folder, about: DataTable, trust: bool) -> System:
    """The system that the text in a study's folder describes."""
    changed = "text" in about and text_checksum(folder) != about["text"]
    try:
        return load(folder.model, **({"trust": True} if trust and not changed else {}))
    except ModelError as error:
        if not changed:
            raise
        raise ArmillaryError(
            f"'{folder.model}' is not the text that the study wrote there, and cannot be used: {error}\n"
            "  remedy: restore it, or give the model itself: open_study(…, model=…)"
        ) from error


def _difference(about: DataTable, model: CompiledModel) -> str:
    """Describe the difference between a model and the study's; "" if there is none."""
    own = _default_values(model)
    for kind, word in _KINDS.items():
        if list(about[kind]) != list(own[kind]):
            return f"it has other {'memories' if word == 'memory' else word + 's'}"
        for name, value in own[kind].items():
            if not _equal(about[kind][name], value, _TEXT):
                return f"{word} '{name}' is {value} in place of {about[kind][name]}"
    for old, new in zip(about["probed"], _values_near_start(model), strict=True):
        size = max((abs(x) for x in old if x is not None), default=0.0)
        if len(old) != len(new):
            return "it has other states or outputs"
        if not all(_equal(x, y, _ROUNDING, size) for x, y in zip(old, new, strict=True)):
            return "its equations of motion are others"
    return ""


def _equal(one: float | None, other: float | None, error: float, size: float = 0.0) -> bool:
    if one is None or other is None:
        return one is other
    return abs(one - other) <= error * max(abs(one), 1e-3 * size)


def build_system(place: str) -> System:
    """The system that an importable function ("package.module:function") makes."""
    module, colon, name = place.partition(":")
    if not (colon and module and name):
        raise ArmillaryError(
            f"build={place!r} must name a function that can be imported: 'package.module:function'"
        )
    try:
        function: Callable[[], object] = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ArmillaryError(f"build={place!r} cannot be imported: {error}") from error
    system = function()
    if not isinstance(system, System):
        raise ArmillaryError(f"build={place!r} must return a System, not {type(system).__name__}")
    return system
