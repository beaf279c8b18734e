"""Models whose states are the coordinates and speeds of the description, whatever the formalism."""

from __future__ import annotations

from typing import TYPE_CHECKING

from armillary.kept_results import kept_per_object
from armillary.program.derive import derive

if TYPE_CHECKING:
    from armillary.runtime.models.compiled import CompiledModel


def with_named_speeds(model: CompiledModel) -> CompiledModel:
    """The model, or one of the same system whose states are the coordinates and speeds of the description."""
    model = model.base
    if model.equations.described_states:
        return model
    return _named(model)


@kept_per_object
def _named(model: CompiledModel) -> CompiledModel:
    equations = model.equations
    found = derive(equations.system, "auto", named=True, configuration=equations.configuration)
    return model.compiler(found)
