"""Equations whose states are others than the speeds: momenta, or what a formalism chose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from armillary.algebra.expression import Expr
from armillary.program.equations import DerivedEquations, Use


@dataclass(frozen=True, eq=False, repr=False)
class DerivedConvertedEquations(DerivedEquations):
    """Equations of motion in coordinates and what speeds are converted to; runs start from the speeds. Their
    targets are those of ``converted_targets``.
    """

    solved: tuple[Expr, ...] = ()  # speeds that are functions of the state
    described_states: ClassVar[bool] = False
    refusals: ClassVar[Mapping[Use, str]] = {
        "FMU with locks": "has other states than speeds, and events that lock or unlock joints; FMUs take "
        "speeds there: derive it with another formalism, such as 'kane'",
    }

    @property
    def conversion(self) -> tuple[Expr, ...]:
        """The part of the state after the coordinates, of coordinates and of speeds as ``targets.inputs``."""
        return next(s.results for s in self.targets.stepping if s.name == "momenta")

    @property
    def speeds(self) -> tuple[str, ...]:
        """Names of the speeds that are solved for; a run starts from their values."""
        return tuple(u.data.name for u in self.solved)
