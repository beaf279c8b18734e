"""Equations compiled: which class of model each kind of equations becomes."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from armillary.algebra.arguments import one_of
from armillary.llvm import jit
from armillary.llvm.jit import Compiled
from armillary.llvm.sections import process_text
from armillary.program.derivatives.sensitivities import DerivedSensitiveEquations
from armillary.program.equations import DerivedEquations
from armillary.program.formalisms.formalism import DerivedConvertedEquations, without_garbage_collection
from armillary.program.formalisms.momentum import DerivedMomentumEquations
from armillary.program.formalisms.redundant import DerivedRedundantEquations
from armillary.runtime.models.compiled import CompiledModel, Compiler
from armillary.runtime.models.redundant import CompiledRedundantModel
from armillary.runtime.models.sensitivities import CompiledSensitiveModel
from armillary.runtime.models.state_conversion import CompiledConvertedModel, CompiledMomentumModel
from armillary.runtime.solver import contact_code as contact_code  # implements blocks of programs

if TYPE_CHECKING:
    from armillary.results.plots.motion import MotionPicture

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


MODELS: dict[type[DerivedEquations], type[CompiledModel]] = {
    DerivedEquations: CompiledModel,
    DerivedConvertedEquations: CompiledConvertedModel,
    DerivedMomentumEquations: CompiledMomentumModel,
    DerivedRedundantEquations: CompiledRedundantModel,
    DerivedSensitiveEquations: CompiledSensitiveModel,
}


def model_kind(equations: DerivedEquations) -> type[CompiledModel]:
    """Return the model class of the nearest class of equations in the table."""
    return next(MODELS[k] for k in type(equations).__mro__ if k in MODELS)


def compile_equations(
    equations: DerivedEquations,
    backend: str = "llvm",
    tier: str = "final",
    *,
    pictures: Callable[[DerivedEquations], MotionPicture] | None = None,
    base: CompiledModel | None = None,
) -> CompiledModel:
    """Compile equations to machine code in this process. Code of the tier "quick" is ready sooner and runs
    longer. ``pictures`` makes the object that draws the model's motions; ``base`` is the model of the same
    equations without derivatives of the motion.
    """
    made: Any = model_kind(equations)  # only the kinds with derivatives of the motion take `base`
    code = machine_code(equations, backend, tier)
    compiler: Compiler = partial(compile_equations, backend=backend, tier=tier, pictures=pictures)
    more = () if base is None else (base,)
    found: CompiledModel = made(equations, *code, compiler, *more)
    found.picture = pictures(equations) if pictures else None
    return found
