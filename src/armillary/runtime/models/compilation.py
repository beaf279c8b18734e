"""Equations compiled: which class of model each kind of equations becomes."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from typing import Any

from armillary.algebra.arguments import one_of
from armillary.llvm import jit
from armillary.llvm.jit import Compiled
from armillary.llvm.sections import process_text
from armillary.program.derivatives.sensitivities.equations import DerivedSensitiveEquations
from armillary.program.equations import DerivedEquations
from armillary.program.formalisms.derivation import without_garbage_collection
from armillary.program.formalisms.momentum import DerivedConvertedEquations, DerivedMomentumEquations
from armillary.program.formalisms.redundant import DerivedRedundantEquations
from armillary.runtime.models.compiled import CompiledModel, Compiler
from armillary.runtime.models.redundant import CompiledRedundantModel
from armillary.runtime.models.sensitivities import CompiledSensitiveModel
from armillary.runtime.models.state_conversion import CompiledConvertedModel, CompiledMomentumModel

BACKENDS = ("llvm",)
TIERS = ("final", "quick")


def machine_code(equations: DerivedEquations, backend: str, tier: str) -> tuple[Compiled, float]:
    """The functions of a program as machine code, and the seconds that it took."""
    one_of(tier, TIERS, "unknown tier ")
    one_of(backend, BACKENDS, "unknown backend ")
    start = time.perf_counter()
    with jit.tier(tier):
        with without_garbage_collection():
            text = process_text(equations.program)
        return Compiled(text), time.perf_counter() - start


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
    tier: str = "final",
    *,
    kinds: ModelKinds = MODELS,
    compiler: Compiler | None = None,
    base: CompiledModel | None = None,
) -> CompiledModel:
    """Equations as machine code in this process, as a model of one of these kinds; code of the tier "quick"
    is ready sooner and runs longer. ``compiler`` makes further models of the same system, ``base`` is that of
    the same equations without derivatives of the motion.
    """
    # Only the kinds that have derivatives of the motion take `base`.
    kind: Any = next(kinds[k] for k in type(equations).__mro__ if k in kinds)
    made = machine_code(equations, backend, tier)
    compiler = compiler or partial(compile_equations, backend=backend, tier=tier, kinds=kinds)
    found: CompiledModel = (
        kind(equations, *made, compiler) if base is None else kind(equations, *made, compiler, base)
    )
    return found
