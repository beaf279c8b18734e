"""Models whose states are the coordinates and speeds of the description, whatever the formalism."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from armillary.program.derive import derive

if TYPE_CHECKING:
    from armillary.runtime.models.compiled import CompiledModel

_named: WeakKeyDictionary[CompiledModel, CompiledModel] = WeakKeyDictionary()


def with_named_speeds(model: CompiledModel) -> CompiledModel:
    """The model, or one of the same system whose states are the coordinates and speeds of the description."""
    model = model.base
    if model.equations.described_states:
        return model
    if model not in _named:
        equations = model.equations
        found = derive(equations.system, "auto", named=True, configuration=equations.configuration)
        _named[model] = model._compiler(found)
    return _named[model]
