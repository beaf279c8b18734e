"""Equations compiled: which class of model each kind of equations becomes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from armillary.program.equations import Equations
from armillary.program.momentum import ConvertedEquations, MomentumEquations
from armillary.program.redundant import RedundantEquations
from armillary.program.sensitivity import SensitiveEquations
from armillary.runtime.models.compiled import CompiledModel, Compiler, machine_code
from armillary.runtime.models.converted import ConvertedModel, MomentumModel
from armillary.runtime.models.redundant import RedundantModel
from armillary.runtime.models.sensitive import SensitiveModel

ModelKinds = Mapping[type[Equations], type[CompiledModel]]

MODELS: ModelKinds = {
    Equations: CompiledModel,
    ConvertedEquations: ConvertedModel,
    MomentumEquations: MomentumModel,
    RedundantEquations: RedundantModel,
    SensitiveEquations: SensitiveModel,
}


def compile_equations(
    equations: Equations,
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
