"""The numbers and names of a linear model, on which its analyses work."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from armillary.algebra.derivatives.calculus import NumericValue
from armillary.analysis.linear.derivatives.jacobians import Linearization
from armillary.errors import ArmillaryError
from armillary.program.derivatives.linearization.form import Variable
from armillary.results.record import label_units
from armillary.results.run import PickledValue
from armillary.untyped import DataMapping


@dataclass(frozen=True, eq=False, repr=False)
class LinearMatrices(PickledValue):
    """Matrices, names, units and the operating point of a linear model.

    Analyses take this record, and `LinearModel`, which users hold, adds the verbs that call them.
    """

    _of_process = ("linearization",)

    system: str
    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    variables: tuple[tuple[Variable, ...], tuple[Variable, ...], tuple[Variable, ...]]
    time: NumericValue = 0.0
    state: np.ndarray = field(default_factory=lambda: np.empty(0))
    memory: np.ndarray = field(default_factory=lambda: np.empty(0))
    parameters: DataMapping = field(default_factory=dict)
    operating_point: DataMapping = field(default_factory=dict)
    linearization: Linearization | None = None  # the compiled matrices that these are values of
    step: float | None = None  # seconds, of a discrete model; None where time is continuous
    note: str = ""

    @property
    def states(self) -> tuple[str, ...]:
        """Names of the states."""
        return tuple(v.name for v in self.variables[0])

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs."""
        return tuple(v.name for v in self.variables[1])

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the outputs."""
        return tuple(v.name for v in self.variables[2])

    @property
    def units(self) -> dict[str, str]:
        """Units of states, inputs and outputs by name."""
        return {v.name: v.units for group in self.variables for v in group}

    @property
    def many(self) -> bool:
        """Whether there are many operating points."""
        return self.A.ndim == 3

    def __len__(self) -> int:
        """The number of operating points."""
        return len(self.A) if self.many else 1

    def single(self, what: str) -> None:
        """An error where there are many operating points."""
        if self.many:
            raise ArmillaryError(
                f"{what} needs one operating point, and this linear model has {len(self)}; take one, lin[0]"
            )

    def poles(self) -> np.ndarray:
        """Eigenvalues of A, per second (per step where time is discrete); a row for each operating point."""
        return np.linalg.eigvals(self.A).astype(complex)

    def _continuous(self, what: str) -> None:
        self.single(what)
        if self.step is not None:
            raise ArmillaryError(f"{what} is computed of continuous models; call it before discretize")

    def tables(self) -> list[tuple[str, list[str], list[list[str]]]]:
        """Rates of the states and outputs, a row each, over states and inputs."""
        columns = [*self.variables[0], *self.variables[1]]
        found = []
        for title, rows, left, right in (
            ("rates of states", self.variables[0], self.A, self.B),
            ("outputs", self.variables[2], self.C, self.D),
        ):
            if not rows:
                continue
            values = np.hstack([left, right])
            labels = [f"{v.name}'" if rows is self.variables[0] else _labelled(v) for v in rows]
            body = [[label, *(f"{x:.5g}" for x in row)] for label, row in zip(labels, values, strict=True)]
            found.append((title, ["", *(_labelled(v) for v in columns)], body))
        return found


def _labelled(v: Variable) -> str:
    units = label_units(v.units)
    return f"{v.name} ({units})" if units else v.name
