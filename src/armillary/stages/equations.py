"""The equations that users hold, which can be compiled and exported."""

from __future__ import annotations

import os
from dataclasses import fields
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from armillary.algebra.calculus import Values
from armillary.algebra.expression import Expr
from armillary.program import equations as derived
from armillary.program.derivatives import sensitivities as sensitivity
from armillary.program.formalisms import free_speeds, momentum, redundant
from armillary.stages.other_stages import OtherStages, class_with_verbs
from armillary.stages.pictures import MotionPictures
from armillary.stages.pieces import EquationPieces

if TYPE_CHECKING:
    from armillary.analysis.identification.inertial_parameters import BaseParameters
    from armillary.program.configurations import ConfigurationTable
    from armillary.runtime.models.compiled import CompiledModel
    from armillary.stages.model import ConvertedModel, Model, MomentumModel, RedundantModel, SensitiveModel


class Equations(OtherStages, EquationPieces, MotionPictures, derived.DerivedEquations):
    """The derived equations of a system, as a program."""

    _stage = "Equations"

    def compile(self, backend: str = "llvm", *, tier: str = "final") -> Model:
        """The equations as compiled code in this process.

        Code of the tier "quick" is ready in a third to half of the time, and an evaluation takes two to three
        times as long: for the first look at a large model. Its results differ by rounding from those of
        "final".
        """
        return _compiled(self, backend, tier)

    @cached_property
    def configurations(self) -> ConfigurationTable:
        """The configurations that a run of the system can meet: sets of locked joints that events reach,
        choices of dependent speeds that loops need. Found at first use.
        """
        from armillary.program.configurations import find_configurations

        return find_configurations(self)

    def find_configurations(self, limit: int = 16) -> ConfigurationTable:
        """The configurations that a run can meet, with another limit to their number; ``configurations`` is
        this table from then on.
        """
        from armillary.program.configurations import find_configurations

        return find_configurations(self, limit)

    def inverse(self, rates: Values) -> dict[str, Expr]:
        """Efforts that give the speeds these rates, as expressions by the names of speeds.

        ``rates`` has expressions or numbers by speed; those left out are zero. The efforts come on top of all
        loads and can stand in the description, as moments of motors: a controller by inverse dynamics.
        """
        from armillary.analysis.inverse.equations import effort_expressions

        return effort_expressions(self, rates)

    def base_parameters(self) -> BaseParameters:
        """The fewest combinations of inertial parameters on which the motion depends, as expressions."""
        from armillary.analysis.identification.inertial_parameters import base_parameters

        return base_parameters(self)

    def export(self, language: str, path: str | os.PathLike[str], **options: object) -> Path:
        """The equations as a program of its own in another language ("c", "fortran", "python", "fmu", …)."""
        from armillary.export.languages import export

        return export(self, language, path, **options)


class FreeSpeedEquations(Equations, free_speeds.DerivedFreeSpeedEquations):
    """Equations of motion in coordinates and velocities of free bodies that the derivation chose."""

    def compile(self, backend: str = "llvm", *, tier: str = "final") -> ConvertedModel:
        """The equations as compiled code in this process, of one of two tiers; see Equations.compile."""
        return cast("ConvertedModel", super().compile(backend, tier=tier))


class MomentumEquations(Equations, momentum.DerivedMomentumEquations):
    """Equations of motion in coordinates and momenta."""

    def compile(self, backend: str = "llvm", *, tier: str = "final") -> MomentumModel:
        """The equations as compiled code in this process, of one of two tiers; see Equations.compile."""
        return cast("MomentumModel", super().compile(backend, tier=tier))


class RedundantEquations(Equations, redundant.DerivedRedundantEquations):
    """Equations of motion in redundant coordinates."""

    def compile(self, backend: str = "llvm", *, tier: str = "final") -> RedundantModel:
        """The equations as compiled code in this process, of one of two tiers; see Equations.compile."""
        return cast("RedundantModel", super().compile(backend, tier=tier))


class SensitiveEquations(Equations, sensitivity.DerivedSensitiveEquations):
    """Equations of motion with the derivatives of the motion as further states."""

    def compile(self, backend: str = "llvm", *, tier: str = "final") -> SensitiveModel:
        """The equations as compiled code in this process, of one of two tiers; see Equations.compile."""
        return cast("SensitiveModel", super().compile(backend, tier=tier))


EQUATIONS = (Equations, FreeSpeedEquations, MomentumEquations, RedundantEquations, SensitiveEquations)


def with_verbs(equations: derived.DerivedEquations) -> Equations:
    """Equations as a user holds them."""
    if isinstance(equations, Equations):
        return equations
    kind = class_with_verbs(type(equations), EQUATIONS)
    return kind(**{f.name: getattr(equations, f.name) for f in fields(equations)})


def _compiled(
    equations: derived.DerivedEquations,
    backend: str = "llvm",
    tier: str = "final",
    *,
    base: CompiledModel | None = None,
) -> Model:
    """Equations as a model that a user holds, and with it all others that are made of the same system."""
    from armillary.runtime.models.compilation import compile_equations, model_kind
    from armillary.stages.model import MODELS, Model

    compiler = partial(_compiled, backend=backend, tier=tier)
    kind = class_with_verbs(model_kind(equations), MODELS)
    found = compile_equations(with_verbs(equations), backend, tier, kind=kind, compiler=compiler, base=base)
    assert isinstance(found, Model)
    return found
