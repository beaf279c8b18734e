"""Modes of an appendage on a free vehicle, real and complex, from masses, stiffness and nominal spin.

In the six displacements of each node (translation, rotation, node after node; r from the mass centre), with
Mn the mass matrix of the nodes, S the sum of translations over nodes and M the mass of the whole vehicle,

    M' q̈ + G' q̇ + K' q = load          M' = Mn (1 − S Sᵀ Mn / M)

    G' = 2 Mn ((SΩ)~ − S [Ω] Sᵀ Mn / M) + Mn (TΩ)~ + (TΩ)~ Mn − (Mn TΩ)~
    K' = K + (TΩ)~ Mn (TΩ)~ + Mn ((SΩ)~(SΩ)~ − S [Ω][Ω] Sᵀ Mn / M) − (TΩ)~ (Mn TΩ)~

where T sums rotations and ( )~ puts cross-product matrices on the diagonal. K holds the geometric stiffness
of the preload by spin, where there is one. The last term of K' is the report's separate matrix A'; it is
symmetric where Ω is a principal direction of every node.

Source: Fleischer and Likins (1975), eqs. 16 to 26.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from armillary.errors import ModelError
from armillary.model.flexible.part import MatrixLike
from armillary.model.flexible.reduction.integrals import cross_matrix

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class ComplexModes:
    """Frequencies σ in rad/s and shapes Ψ + iΓ (rows: displacements), with φ* K' φ + σ² φ* M' φ = 1."""

    frequencies: Array
    psi: Array
    gamma: Array


@dataclass(frozen=True, eq=False)
class SpinningMatrices:
    """M', G' and K' of an appendage about a nominal spin."""

    mass: Array
    gyroscopic: Array
    stiffness: Array

    def projected(self, basis: Array) -> SpinningMatrices:
        """The same in the displacements that a basis spans."""
        return SpinningMatrices(*(basis.T @ a @ basis for a in (self.mass, self.gyroscopic, self.stiffness)))


def nodal_mass(masses: MatrixLike, inertias: MatrixLike) -> Array:
    """Mn."""
    found = np.zeros((6 * len(masses), 6 * len(masses)))
    for s, (m, inertia) in enumerate(zip(masses, inertias, strict=True)):
        found[6 * s : 6 * s + 3, 6 * s : 6 * s + 3] = m * np.eye(3)
        found[6 * s + 3 : 6 * s + 6, 6 * s + 3 : 6 * s + 6] = inertia
    return found


def reduced_mass(Mn: Array, total: float) -> Array:
    """M' = Mn (1 − S Sᵀ Mn / M)."""
    S = _sums(len(Mn) // 6, 0)
    found: Array = Mn - Mn @ S @ S.T @ Mn / total
    return found


def spinning_matrices(
    masses: MatrixLike, inertias: MatrixLike, stiffness: Array, spin: MatrixLike, total: float
) -> SpinningMatrices:
    """M', G' and K' from nodes, the stiffness between them, the nominal spin and the vehicle's mass."""
    n, spin = len(masses), np.asarray(spin, dtype=float)
    Mn, S, W = nodal_mass(masses, inertias), _sums(n, 0), cross_matrix(spin)
    moved = _diagonal([W if i % 2 == 0 else np.zeros((3, 3)) for i in range(2 * n)])
    turned = _diagonal([W if i % 2 == 1 else np.zeros((3, 3)) for i in range(2 * n)])
    spins = _diagonal(
        [
            np.zeros((3, 3)) if i % 2 == 0 else cross_matrix(np.asarray(inertias[i // 2]) @ spin)
            for i in range(2 * n)
        ]
    )
    G = 2 * Mn @ (moved - S @ W @ S.T @ Mn / total) + Mn @ turned + turned @ Mn - spins
    K = (
        stiffness
        + turned @ Mn @ turned
        + Mn @ (moved @ moved - S @ W @ W @ S.T @ Mn / total)
        - turned @ spins
    )
    return SpinningMatrices(reduced_mass(Mn, total), G, K)


def real_modes(mass: Array, stiffness: Array, where: str) -> tuple[Array, Array]:
    """(σ, φ) of K φ = σ² M φ, lowest first, with φᵀ M φ = 1 and the largest displacement of each positive."""
    factor = _cholesky(mass, f"{where}: its mass matrix is not positive: every displacement needs mass")
    inverse = np.linalg.inv(factor)
    squares, vectors = np.linalg.eigh(inverse @ _symmetric(stiffness) @ inverse.T)
    if squares[0] <= 0:
        raise ModelError(
            f"{where}: its stiffness is not positive (σ² = {squares[0]:.3g} of its lowest mode); hold it to "
            "its body by more springs"
        )
    shapes = inverse.T @ vectors
    largest = np.argmax(np.abs(shapes), axis=0)
    return np.sqrt(squares), shapes * np.sign(shapes[largest, np.arange(len(squares))])


def complex_modes(matrices: SpinningMatrices, where: str) -> ComplexModes:
    """The modes of M' q̈ + G' q̇ + K' q = 0, lowest first, the last of each one's largest displacements real
    and positive.

    With z = (q, q̇) the equations are [K' 0; 0 M'] ż = [0 K'; −K' −G'] z, symmetric and skew-symmetric, so a
    Hermitian eigenvalue problem gives all λ = ±iσ to rounding (Meirovitch 1974).
    """
    M, G, K = matrices.mass, matrices.gyroscopic, matrices.stiffness
    scale = max(float(np.abs(K).max()), 1e-300)
    if np.abs(K - K.T).max() > 1e-9 * scale:
        raise ModelError(
            f"{where}: its spin is not along a principal axis of the inertia of all its nodes, so that there "
            "is no steady state to vibrate about; turn the spin or the nodes"
        )
    if not G.any():  # then real modes, also where frequencies coincide
        frequencies, shapes = real_modes(M, K, where)
        return ComplexModes(frequencies, shapes / (frequencies * np.sqrt(2)), np.zeros_like(shapes))
    L = _cholesky(M, f"{where}: its mass matrix is not positive: every displacement needs mass")
    U = _cholesky(
        _symmetric(K),
        f"{where}: the nominal spin takes all its stiffness; it has no steady state to vibrate about",
    )
    coupling = U.T @ np.linalg.inv(L).T
    zero = np.zeros_like(M)
    skew = np.block([[zero, coupling], [-coupling.T, -np.linalg.solve(L, np.linalg.solve(L, G).T).T]])
    values, vectors = np.linalg.eigh(-1j * skew)
    n = len(M)
    frequencies, vectors = values[n:], vectors[:n, n:]
    shapes = np.linalg.solve(U.T, vectors)
    for column in shapes.T:
        sizes = np.abs(column)
        largest = np.flatnonzero(sizes > (1 - 1e-6) * sizes.max())[-1]
        column *= np.conj(column[largest]) / sizes[largest]
    return ComplexModes(frequencies, shapes.real, shapes.imag)


def _sums(n: int, kind: int) -> Array:
    """S (kind 0) or T (kind 1): 6n × 3."""
    found = np.zeros((6 * n, 3))
    for s in range(n):
        found[6 * s + 3 * kind : 6 * s + 3 * kind + 3] = np.eye(3)
    return found


def _diagonal(blocks: list[Array]) -> Array:
    found = np.zeros((3 * len(blocks), 3 * len(blocks)))
    for i, block in enumerate(blocks):
        found[3 * i : 3 * i + 3, 3 * i : 3 * i + 3] = block
    return found


def _symmetric(a: Array) -> Array:
    found: Array = 0.5 * (a + a.T)
    return found


def _cholesky(a: Array, message: str) -> Array:
    try:
        return np.linalg.cholesky(a)
    except np.linalg.LinAlgError:
        raise ModelError(message) from None
