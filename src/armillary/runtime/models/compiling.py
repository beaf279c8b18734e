"""Equations compiled: which class of model each kind of equations becomes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from armillary.program.equations import DerivedEquations
from armillary.program.formalisms.momentum import DerivedConvertedEquations, DerivedMomentumEquations
from armillary.program.formalisms.redundant import DerivedRedundantEquations
from armillary.program.sensitivities.equations import DerivedSensitiveEquations
from armillary.runtime.models.compiled import CompiledModel, Compiler, machine_code
from armillary.runtime.models.converted import CompiledConvertedModel, CompiledMomentumModel
from armillary.runtime.models.redundant import CompiledRedundantModel
from armillary.runtime.models.sensitive import CompiledSensitiveModel

ModelKinds = Mapping[type[DerivedEquations], type[CompiledModel]]

MODELS: ModelKinds = {
    DerivedEquations: CompiledModel,
    DerivedConvertedEquations: CompiledConvertedModel,
    DerivedMomentumEquations: CompiledMomentumModel,
    DerivedRedundantEquations: CompiledRedundantModel,
    DerivedSensitiveEquations: CompiledSensitiveModel,
}


def compile_equations(
    equations: DerivedEquations,
    backend: str = "llvm",
    *,
    kinds: ModelKinds = MODELS,
    compiler: Compiler | None = None,
    base: CompiledModel | None = None,
) -> CompiledModel:
    """Equations as machine code in this process, as a model of one of these kinds. ``compiler`` makes further
    models of the same system, ``base`` is that of the same equations without derivatives of the motion.
    """
    kind: Any = next(kinds[k] for k in type(equations).__mro__ if k in kinds)
    made = machine_code(equations, backend)
    compiler = compiler or partial(compile_equations, backend=backend, kinds=kinds)
    return kind(equations, *made, compiler) if base is None else kind(equations, *made, compiler, base)
