"""What tells one model from another, and the text from which a model is built again elsewhere."""

from __future__ import annotations

import hashlib
import importlib
import re
from collections.abc import Callable
from typing import Any

from armillary.backends.llvm import llvm_text
from armillary.ensembles.study.files import Folder
from armillary.errors import ArmillaryError, ModelError
from armillary.model.system import System
from armillary.runtime.compiled import CompiledModel
from armillary.text.loading import load

# The address of a foreign function is another one in the next process.
_ADDRESS = re.compile(r"inttoptr \(?i64 \d+")


def identity(model: CompiledModel) -> dict[str, Any]:
    """A model as data: the digest of its program, and the values that it brings along.

    The program's text tells equations, outputs, events and formalism; it does not tell default values, which
    enter from outside.
    """
    equations = model.equations
    system = equations.system
    text = _ADDRESS.sub("inttoptr", llvm_text(equations.program))
    return {
        "formalism": equations.formalism,
        "derived": dict(equations.options),
        "equations": hashlib.blake2b(text.encode(), digest_size=16).hexdigest(),
        "parameters": model.parameters,
        "initial": {symbol.data.name: float(value) for symbol, value in system.initial.items()},
        "memory": {name: float(memory.initial) for name, memory in system.memories.items()},
    }


def save_model(model: CompiledModel, folder: Folder) -> str:
    """The text of a model in its study's folder; why there can be none, where there cannot."""
    try:
        model.equations.system.save(folder.model)
    except ModelError as error:
        return str(error)
    return ""


def rebuilt(
    folder: Folder, about: dict[str, Any], *, build: str | None = None, trust: bool = False
) -> CompiledModel:
    """The model of a study, from the function that builds it or from its text, derived as it was.

    The order in which loads were described may get lost in a text: its equations are the same, and their
    rounding may be another.
    """
    system = built(build) if build else load(folder.model, **({"trust": True} if trust else {}))
    known = {key: value for key, value in about["derived"].items() if key in ("regroup", "small", "keep")}
    model = system.derive(about["formalism"], **known).compile()
    if list(model.parameters) != list(about["parameters"]):
        raise ArmillaryError(
            f"{f'build={build!r}' if build else str(folder.model)!r} gives a system with other parameters "
            "than the study's"
        )
    return model


def built(place: str) -> System:
    """The system that an importable function ("package.module:function") makes."""
    module, colon, name = place.partition(":")
    if not (colon and module and name):
        raise ArmillaryError(
            f"build={place!r} must name a function that can be imported: 'package.module:function'"
        )
    try:
        function: Callable[[], Any] = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ArmillaryError(f"build={place!r} cannot be imported: {error}") from error
    system = function()
    if not isinstance(system, System):
        raise ArmillaryError(f"build={place!r} must return a System, not {type(system).__name__}")
    return system
