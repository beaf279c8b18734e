"""Flexible parts from modal integrals that another program computed: Stoneking's, or JPL's coupling."""

from __future__ import annotations

import numpy as np

from armillary.errors import ModelError
from armillary.model.flexible.checks import (
    AXES,
    mode_names,
    mode_shapes,
    node_places,
    node_records,
    numbers,
    positive,
    semidefinite,
    symmetric,
)
from armillary.model.flexible.modal import modal_damping, modal_mass, modal_stiffness
from armillary.model.flexible.part import Array, FlexibleNode, FlexiblePart, MatrixLike


def from_integrals(
    where: str,
    *,
    m: object,
    c: object,
    J: object,
    P: object,
    H: object,
    M: MatrixLike,
    Q: object = None,
    R: object = None,
    S: object = None,
    K: object = None,
    C: object = None,
    frequencies: object = None,
    damping: object = None,
    nodes: object = None,
    shapes: object = None,
    rotations: object = None,
    second_order: bool = True,
) -> FlexiblePart:
    """A part from Stoneking's integrals about the body's origin in body axes.

        m, c = ∫r, J = −∫r̃r̃, P = ∫ψ (3 × N), H = ∫r̃ψ (3 × N), M = ∫ψᵀψ (N × N),
        Q[:, p, q] = ∫ψ_q × ψ_p (3 × N × N), R_p = ∫ψ̃_p r̃ (N × 3 × 3), S_pq = ∫ψ̃_p ψ̃_q (N × N × 3 × 3)

    so J(η) = J − Σ η_p (R_p + R_pᵀ) − Σ η_p η_q S_pq and H(η) = H + Qη. S is missing in Stoneking (2010);
    without it, or Q, that term is dropped. Stiffness: K, or frequencies (rad/s); damping: C, or ratios.
    """
    modal = symmetric(_modal_matrix(M, where, "M"), where, "M", mode_names(np.shape(M)[0]))
    count = len(modal)
    inertia = symmetric(numbers(J, where, "J", (3, 3)), where, "J", AXES)
    semidefinite(inertia, where, "J", AXES)
    momentum = numbers(P, where, "P", (3, count))
    modal = modal_mass(modal, where)
    K_matrix = modal_stiffness(modal, where, frequencies=frequencies, stiffness=K)
    first = np.zeros((count, 3, 3)) if R is None else numbers(R, where, "R", (count, 3, 3))
    J2 = H1 = None
    if second_order and S is not None:
        second = numbers(S, where, "S", (count, count, 3, 3))
        second = -(second + np.swapaxes(second, 0, 1))
        J2 = 0.5 * (second + np.swapaxes(second, 2, 3))
    if second_order and Q is not None:
        H1 = np.transpose(numbers(Q, where, "Q", (3, count, count)), (2, 0, 1))
    return FlexiblePart(
        mass=positive(m, where, "m", zero=True),
        first=numbers(c, where, "c", (3,)),
        inertia=inertia,
        P=momentum,
        H=numbers(H, where, "H", (3, count)),
        M=modal,
        K=K_matrix,
        C=modal_damping(modal, K_matrix, where, damping=damping, damping_matrix=C),
        J1=-(first + np.swapaxes(first, 1, 2)),
        J2=J2,
        H1=H1,
        nodes=_nodes(nodes, shapes, rotations, count, where),
    )


def from_coupling(
    where: str,
    *,
    coupling: object,
    frequencies: object,
    damping: object = None,
    damping_matrix: object = None,
    about: object = (0.0, 0.0, 0.0),
    total_mass: MatrixLike = None,
    nodes: object = None,
    shapes: object = None,
    rotations: object = None,
) -> FlexiblePart:
    """An appendage known by its rigid-elastic coupling alone: JPL TR 32-1598, eqs. 62-63.

    ``coupling`` = (P, Δᵀ), both 3 × N: linear momentum and angular momentum about ``about`` per unit of each
    modal rate. The appendage's mass is in the rigid body already, so the part adds none, and inertia does not
    change with the deformation. Modes have unit modal mass φᵀMφ = 1; with ``total_mass`` it is the
    reduced one of JPL, φᵀ(M − MΣΣᵀM/m)φ = 1, so that M = 1 + PᵀP/m here.
    """
    if not isinstance(coupling, list | tuple) or len(coupling) != 2:
        raise ModelError(f"{where}: coupling is the pair (P, Delta), each 3 × N for N modes")
    P = numbers(coupling[0], where, "P of the coupling")
    if P.ndim != 2 or P.shape[0] != 3 or P.shape[1] < 1:
        raise ModelError(f"{where}: P of the coupling must be 3 × N for N modes, not {np.shape(P)}")
    count = P.shape[1]
    delta = numbers(coupling[1], where, "Delta of the coupling", (3, count))
    M = unit = np.eye(count)
    if total_mass is not None:
        M = unit + P.T @ P / positive(total_mass, where, "total_mass")
    K = modal_stiffness(unit, where, frequencies=frequencies, stiffness=None)
    return FlexiblePart(
        mass=0.0,
        first=np.zeros(3),
        inertia=np.zeros((3, 3)),
        P=P,
        H=delta + np.cross(numbers(about, where, "about", (3,)), P, axisb=0, axisc=0),
        M=M,
        K=K,
        # ratios belong to the reduced modal mass, which is 1
        C=modal_damping(unit, K, where, damping=damping, damping_matrix=damping_matrix),
        J1=np.zeros((count, 3, 3)),
        nodes=_nodes(nodes, shapes, rotations, count, where),
        total_mass=None if total_mass is None else float(total_mass),
    )


def _modal_matrix(value: MatrixLike, where: str, what: str) -> Array:
    found = numbers(value, where, what)
    if found.ndim != 2 or found.shape[0] != found.shape[1] or not len(found):
        raise ModelError(f"{where}: {what} must be N × N for N modes, not {np.shape(value)}")
    return found


def _nodes(
    nodes: object, shapes: object, rotations: object, modes: int, where: str
) -> dict[str, FlexibleNode]:
    if nodes is None:
        if shapes is not None or rotations is not None:
            raise ModelError(f"{where}: shapes are given without nodes=; give the nodes' positions too")
        return {}
    names, positions = node_places(nodes, where)
    if shapes is None:
        raise ModelError(f"{where}: nodes of given integrals need shapes= ({len(names)} × 3 × {modes})")
    moved = mode_shapes(shapes, rotations, names, where)
    if moved.shape[2] != modes:
        raise ModelError(f"{where}: the nodes have shapes of {moved.shape[2]} modes, but there are {modes}")
    return node_records(names, positions, moved)
