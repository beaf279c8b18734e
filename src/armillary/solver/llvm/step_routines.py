"""Steps of one method inside a routine, written from the described solver.

A `StepRoutine` is a routine over fields (llvm/building/routines.py) that makes steps of one motion at a time.
Its layout has the vectors ``slopes`` (the rates of all stages, one after the other) and ``stage``.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from armillary.llvm.building.builder import Span, Value
from armillary.llvm.building.emitter import IRModule
from armillary.llvm.building.routines import Routine, RoutineLayout, routine_function
from armillary.solver.llvm.functions import Stepper
from armillary.solver.llvm.lanes import LaneSolver
from armillary.solver.methods.tableau import Method

STEP_WORK = ("slopes", "stage")


def step_work(method: Method, width: int) -> dict[str, np.ndarray]:
    """Return the work vectors for steps of ``width`` numbers."""
    return {"slopes": np.zeros(method.coefficients.stages * width), "stage": np.zeros(width)}


class StepRoutine(Routine, Stepper):
    """A routine with steps. Override ``width`` if a motion has more numbers than its states."""

    states = 0  # known at run time only

    def __init__(
        self, module: IRModule, layout: RoutineLayout, method: Method, name: str, *arguments: str
    ) -> None:
        """Begin the routine. Without ``arguments`` it can be called from outside the module."""
        super().__init__(routine_function(module, name, *arguments, public=not arguments), layout)
        self.solver, self.stages = LaneSolver(self, method, ("stages",)), method.coefficients.stages
        self.vectors: dict[str, Span] = {}

    def width(self) -> Value:
        """Return the number of values that are integrated."""
        return self["states"]

    def rates(self, name: str, m: Value) -> Value:
        return self.vectors[name][m]

    def each_state(self) -> Iterator[Value]:
        with self.each(self.integrated) as m:
            yield m

    def step(self, t: Value, h: Value, here: Span, after: Span) -> None:
        """Emit a step of length ``h`` from ``here`` to ``after``, which may be one vector."""
        self.integrated = self.width()
        slopes = Routine.vector(self, "slopes")
        self.vectors = {"state": here, "trial": after, "stage": Routine.vector(self, "stage")}
        for i in range(self.stages):
            self.vectors[f"k{i}"] = Span(self, slopes.at(self.integrated * i))
        self.evaluated = 0
        self.derivatives(t, here, self.vectors["k0"])
        self.solver("stages", t, h)
        self.vectors = {}

    def vector(self, field: str, first: Value | None = None) -> Span:
        return self.vectors[field] if field in self.vectors else super().vector(field, first)

    def derivatives(self, t: Value, state: Span, result: Span) -> None:
        """Emit the rates of stage number `evaluated`."""
        self.evaluate("rates", t, state, result)
