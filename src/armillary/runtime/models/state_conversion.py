"""Compiled models whose states are not coordinates and speeds: momenta, or speeds that the program chose.

Runs start from coordinates and speeds, as with every formalism; the states are computed from them.
"""

from __future__ import annotations

import numpy as np

from armillary.llvm.jit import Compiled
from armillary.program.formalisms.formalism import DerivedConvertedEquations
from armillary.program.formalisms.momentum import DerivedMomentumEquations
from armillary.runtime.models.compiled import CompiledModel, Compiler
from armillary.runtime.models.programs.instance import Instance
from armillary.runtime.start.initial import vector
from armillary.untyped import DataMapping, Given


class CompiledConvertedModel(CompiledModel):
    """One system's equations as machine code; a state is [coordinates, what the speeds are converted to], and
    ``derivatives`` are their rates.
    """

    equations: DerivedConvertedEquations

    def _speed_rates(self, t: float, y: np.ndarray, parameters: Given, memory: Given) -> np.ndarray:
        return self._call("accelerations", len(self.speed_names), t, y, parameters, memory)

    def second_half(
        self, instance: Instance, t: float, q: np.ndarray, u: np.ndarray, memory: np.ndarray
    ) -> np.ndarray:
        """The part of a state after the coordinates."""
        count = len(self.equations.targets.speeds)
        work = np.concatenate([q, np.zeros(count + len(self.state_names)), u])
        return instance.call("momenta", count, t, work, memory) + 0.0  # no −0

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.equations.system.name!r}, {self.equations.operations})"


class CompiledMomentumModel(CompiledConvertedModel):
    """One system's equations as machine code; a state is [coordinates, momenta], and ``derivatives`` are
    their rates.
    """

    equations: DerivedMomentumEquations

    def __init__(
        self, equations: DerivedMomentumEquations, code: Compiled, seconds: float, compiler: Compiler
    ) -> None:
        super().__init__(equations, code, seconds, compiler)
        self.momentum_names = equations.momenta

    def momenta(
        self, t: float, q: Given, u: Given, parameters: DataMapping | None = None, *, memory: Given = None
    ) -> np.ndarray:
        """The momenta of the state at coordinates q and speeds u."""
        q = vector(q, len(self.coordinate_names), "coordinates")
        return self._second_half_at(t, q, u, parameters, memory)
