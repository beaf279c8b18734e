"""Closed contacts in linear models: they are constraints there.

Small changes x of positions and speeds keep the gaps of closed contacts at zero, and their velocities; slips
that stick keep their place. With the rows K of these conditions,

    K x = 0   ⇒   x = S x_i,        A_i = (A S)_i,    B_i = (B)_i,    C_i = C S

x_i are the independent changes, those that are left when each row has been given the change that it depends
on most. Brakes that hold are constraints likewise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from armillary.algebra.derivatives.calculus import directional_derivatives
from armillary.algebra.expression import UNIT, ZERO, Expr
from armillary.analysis.linear.derivatives.jacobians import Linearization, Matrices
from armillary.analysis.linear.points import OperatingPoints
from armillary.errors import ArmillaryError
from armillary.program.targets.contact_targets import ContactGeometry
from armillary.runtime.models.compiled import CompiledModel
from armillary.runtime.models.programs.functions import ModelFunctions

_REDUNDANT = 1e-9  # of the largest: a row that is less after elimination says nothing new
_HELD = {"normal": (1, 2, -2), "slip": (1,)}  # statuses in which rows hold


class HeldLinearization(Linearization):
    """A linearisation in the independent changes that closed contacts leave at its points."""

    def __init__(self, base: Linearization, kept: list[int], S: np.ndarray) -> None:
        self.base, self.kept, self.S = base, kept, S
        self.equations = base.equations
        self.form = replace(base.form, states=tuple(base.form.states[i] for i in kept))

    def reduced(self, found: Matrices) -> Matrices:
        """Return the matrices of the independent changes."""
        A, B, C, D = found
        return Matrices((A @ self.S)[..., self.kept, :], B[..., self.kept, :], C @ self.S, D)

    def basis(
        self,
        t: float | np.ndarray,
        states: np.ndarray,
        parameters: Mapping[str, object] | None = None,
        memory: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return ∂y/∂x_i of the model's whole state y, with a leading axis of rows."""
        found: np.ndarray = self.base.basis(t, states, parameters, memory) @ self.S
        return found


def held_motions(
    model: CompiledModel, compiled: Linearization, points: OperatingPoints
) -> tuple[list[int], np.ndarray] | None:
    """Return the independent changes and S, of each point; None if no contact is closed. Points with other
    closed contacts have other states, which one linear model cannot have.
    """
    targets = model.equations.targets
    if not targets.contacts:
        return None
    names = list(model.equations.system.memories)
    columns = [names.index(c.status.data.name) for c in targets.contacts]
    statuses = points.memory[:, columns]
    if not np.any(np.isin(statuses, _HELD["normal"])):
        return None
    if np.any(statuses != statuses[0]):
        raise ArmillaryError(
            f"contacts of '{model.equations.system.name}' are open at some of the operating points and "
            "closed at others, so their linear models have different states: linearize them one by one"
        )
    rows = _rows(compiled, targets.contacts, statuses[0])
    if not rows:
        return None
    numbers = ModelFunctions(model.equations, {"rows": [x for row in rows for x in row]})
    found = numbers.rows("rows", points.t, points.states, points.parameters, points.memory)
    whole = found.reshape(len(points.states), len(rows), -1)
    K = whole @ compiled.basis(points.t, points.states, points.parameters, points.memory)
    kept, _ = _independent(K[0])
    return kept, np.array([_solution(k, kept) for k in K])


def _rows(
    compiled: Linearization, contacts: tuple[ContactGeometry, ...], statuses: np.ndarray
) -> list[list[Expr]]:
    """Return the rows of all conditions by the whole state, as expressions."""
    targets = compiled.equations.targets
    state = targets.integrated
    first, last = len(targets.coordinates), len(targets.coordinates) + len(targets.speeds)
    rows = []
    for contact, status in zip(contacts, statuses, strict=True):
        wanted: list[tuple[Expr, bool]] = []
        if contact.closing is not None and contact.gap is not None and status in _HELD["normal"]:
            wanted += [(contact.gap, False), (contact.closing, False)]
        if contact.sliding and status in _HELD["slip"]:
            wanted += [(v, False) for v in contact.sliding] + [(v, True) for v in contact.sliding]
        for expression, as_place in wanted:
            row = [directional_derivatives([expression], {s: UNIT})[0] for s in state]
            if as_place:  # the place of a slip that sticks: what its velocity is made of, as a displacement
                if first != last - first:
                    continue
                row = [*row[first:last], *[ZERO] * (last - first), *[ZERO] * (len(state) - last)]
            rows.append(row)
    return rows


def _independent(K: np.ndarray) -> tuple[list[int], list[int]]:
    """Return the independent changes, and the dependent ones, by elimination with the largest element of a
    row as its pivot; later changes, the speeds, depend on earlier ones.
    """
    left, dependent = K / np.maximum(np.abs(K).max(axis=1, keepdims=True), 1e-300), []
    rows = list(range(len(left)))
    while rows:
        size = np.abs(left[rows])
        i, j = np.unravel_index(np.argmax(size), size.shape)
        if size[i, j] <= _REDUNDANT:
            break
        row = rows.pop(int(i))
        dependent.append(int(j))
        for other in rows:
            left[other] = left[other] - left[row] * (left[other, j] / left[row, j])
    return [j for j in range(K.shape[1]) if j not in dependent], dependent


def _solution(K: np.ndarray, kept: list[int]) -> np.ndarray:
    """Return S: all changes from the independent ones."""
    others = [j for j in range(K.shape[1]) if j not in kept]
    S = np.zeros((K.shape[1], len(kept)))
    S[kept, range(len(kept))] = 1.0
    S[others] = -np.linalg.lstsq(K[:, others], K[:, kept], rcond=1e-12)[0]
    return S
