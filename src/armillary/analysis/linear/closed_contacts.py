"""Closed contacts in linear models: they are constraints there.

Small changes x of positions and speeds keep the gaps of closed contacts at zero, and their velocities; slips
that stick, γ = S u, keep their place, S N⁺ q with q̇ = N u. With the rows K of these conditions,

    K x = 0   ⇒   x = S x_i,        A_i = (A S)_i,    B_i = (B)_i,    C_i = C S

x_i are the independent changes, those that are left when each row has been given the change that it depends
on most. Brakes that hold are constraints likewise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from armillary.algebra.calculus import directional_derivatives
from armillary.algebra.expression import UNIT, Expr
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
    rows, slips = _rows(compiled, targets.contacts, statuses[0])
    if not rows:
        return None
    first = len(targets.coordinates)
    speeds = slice(first, first + len(targets.speeds))
    ways = [directional_derivatives(targets.rates[:first], {u: UNIT}) for u in targets.speeds]
    functions = {"rows": [x for row in rows for x in row], "ways": [x for column in ways for x in column]}
    numbers = ModelFunctions(model.equations, functions)
    found, N = (
        numbers.rows(name, points.t, points.states, points.parameters, points.memory).reshape(
            len(points.states), count, -1
        )
        for name, count in (("rows", len(rows)), ("ways", len(ways)))
    )
    places = np.zeros((len(found), len(slips), found.shape[2]))
    if slips and N.size:
        places[:, :, :first] = found[:, slips, speeds] @ np.linalg.pinv(np.swapaxes(N, 1, 2))
    whole = np.concatenate([found, places], axis=1)
    K = whole @ compiled.basis(points.t, points.states, points.parameters, points.memory)
    kept, _ = _independent(K[0])
    return kept, np.array([_solution(k, kept) for k in K])


def _rows(
    compiled: Linearization, contacts: tuple[ContactGeometry, ...], statuses: np.ndarray
) -> tuple[list[list[Expr]], list[int]]:
    """Return the rows of gaps and velocities by the whole state, as expressions; and those of slips."""
    wanted: list[Expr] = []
    slips: list[int] = []
    for contact, status in zip(contacts, statuses, strict=True):
        if contact.closing is not None and contact.gap is not None and status in _HELD["normal"]:
            wanted += [contact.gap, contact.closing]
        if contact.sliding and status in _HELD["slip"]:
            slips += range(len(wanted), len(wanted) + len(contact.sliding))
            wanted += contact.sliding
    columns = [directional_derivatives(wanted, {s: UNIT}) for s in compiled.equations.targets.integrated]
    return [[column[i] for column in columns] for i in range(len(wanted))], slips


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
