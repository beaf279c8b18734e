"""Linear models with open loops: all positions are states, and constraints are rows of the equations.

    E δẋ = A δx + B δv          δy = C δx + D δv

E is 1 for states that have a rate and 0 for positions that a constraint decides, whose row is that of its
gap, 0 = ∂Φ/∂q δq + ∂Φ/∂v δv. The finite eigenvalues are those of the independent states.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from armillary.analysis.linear.derivatives.jacobians import Linearization
from armillary.analysis.linear.matrices import LinearMatrices
from armillary.errors import ArmillaryError


@dataclass(frozen=True, eq=False, repr=False)
class DescriptorModel:
    """E, A, B, C and D in stated units; rows of constraints in the model's own."""

    system: str
    E: np.ndarray
    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    constrained: tuple[str, ...]  # positions whose rows are constraints

    def poles(self) -> np.ndarray:
        """The finite eigenvalues of (A, E)."""
        from scipy.linalg import eigvals

        above, below = eigvals(self.A, self.E, homogeneous_eigvals=True)
        size = np.abs(above) + np.abs(below)
        order = np.argsort(-np.abs(below) / np.where(size > 0, size, 1.0))
        finite = order[: len(self.states) - len(self.constrained)]
        return np.asarray(above[finite] / below[finite])

    def __repr__(self) -> str:
        count = len(self.constrained)
        return f"DescriptorModel({self.system!r}: {len(self.states)} states, {count} of them by constraints)"


def descriptor(lin: LinearMatrices) -> DescriptorModel:
    """The descriptor form of a linear model, with its loops open."""
    lin.single("descriptor")
    if lin.linearization is None:
        raise ArmillaryError(
            "this linear model has numbers alone (it was loaded, reduced, discretised or cut); call "
            "descriptor() on what model.linearize gives"
        )
    made = Linearization(lin.linearization.equations, lin.inputs, lin.outputs, open_loops=True)
    form = made.form
    A, B, C, D = made.at(float(lin.time), lin.state, lin.parameters, lin.memory)
    x, v, y = (np.array([v.factor for v in group]) for group in (form.states, form.inputs, form.outputs))
    left = x.copy()
    left[list(form.algebraic)] = 1.0
    E = np.eye(len(x))
    E[form.algebraic, form.algebraic] = 0.0
    states, inputs, outputs = (
        tuple(v.name for v in group) for group in (form.states, form.inputs, form.outputs)
    )
    constrained = tuple(states[i] for i in form.algebraic)
    A, B = A * x / left[:, None], B * v / left[:, None]
    C, D = C * x / y[:, None], D * v / y[:, None]
    return DescriptorModel(lin.system, E, A, B, C, D, states, inputs, outputs, constrained)
