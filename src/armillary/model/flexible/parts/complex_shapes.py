"""Flexible parts from complex modes that another program computed: JPL's ER, EI, SR and WF.

With shapes Ψ + iΓ, frequencies σ, and the normalisation φ* K' φ + σ² φ* M' φ = 1 of complex_modes.py, the
vectors (φ, iσφ) and their conjugates are orthonormal in diag(K', M'), so that in the real shapes which they
span

    K'⁻¹ = 2 Σ (Ψ Ψᵀ + Γ Γᵀ)        M'⁻¹ = 2 Σ σ² (Ψ Ψᵀ + Γ Γᵀ)

The first gives the stiffness without spin, for every formalism; the second is compared with the masses. Both
hold where N modes span N real shapes. Where some modes were cut off they span more: then MBDYFR alone takes
the part, and expressions of the description see the N real shapes that carry most of the motion.

Source: Fleischer and Likins (1975), section III.B (the data) and eqs. 20 to 26 (orthogonality).
"""

from __future__ import annotations

import numpy as np

from armillary.errors import ModelError
from armillary.model.flexible.checks import (
    mode_names,
    mode_shapes,
    node_places,
    node_records,
    numbers,
    positive,
    semidefinite,
    times,
)
from armillary.model.flexible.complex_modes import nodal_mass, spinning_matrices
from armillary.model.flexible.modal import modal_damping, modal_mass, reduced_mass
from armillary.model.flexible.part import Array, FlexiblePart, GivenModes, Lumps
from armillary.model.flexible.parts.nodes import node_inertias, node_masses
from armillary.model.flexible.reduction.integrals import lumped, modal_integrals

_SPANNED = 1e-3  # of the largest shape: printed digits make smaller ones
_NORMALISED = 0.02  # error of M' by the modes, from data of three digits


def from_complex_modes(
    where: str,
    *,
    nodes: object,
    masses: object,
    complex_shapes: object,
    frequencies: object,
    total_mass: object,
    inertias: object = None,
    damping: object = None,
    spin: object = None,
    second_order: bool = True,
) -> FlexiblePart:
    """A part of separate masses known by its complex modes about a nominal spin.

    ``complex_shapes`` = (Ψ, Γ), each like the shapes of nodes; ``frequencies`` σ in rad/s; ``damping`` ratios
    per mode; ``total_mass`` of the whole vehicle for which the modes were computed.
    """
    names, positions = node_places(nodes, where)
    weights, tensors = node_masses(masses, names, where), node_inertias(inertias, names, where)
    if not isinstance(complex_shapes, list | tuple) or len(complex_shapes) != 2:
        raise ModelError(f"{where}: complex_shapes is the pair (Ψ, Γ), the real and imaginary parts")
    psi, gamma = (
        mode_shapes(half, None, names, where).reshape(6 * len(names), -1) for half in complex_shapes
    )
    count = psi.shape[1]
    if gamma.shape != psi.shape:
        raise ModelError(f"{where}: Ψ is {times(psi.shape)}, Γ {times(gamma.shape)}; give both for all modes")
    rates = np.atleast_1d(numbers(frequencies, where, "frequencies", (count,)))
    if np.any(rates <= 0):
        raise ModelError(f"{where}: frequency {rates.min():g} of a complex mode is not positive")
    total = positive(total_mass, where, "total_mass")
    turn = np.zeros(3) if spin is None else numbers(spin, where, "spin", (3,))
    Mn = nodal_mass(weights, tensors)
    shapes, whole = _real_shapes(np.hstack([psi, gamma]), Mn, count, where)
    real, imaginary = (shapes.T @ Mn @ half for half in (psi, gamma))
    stiffness = np.linalg.inv(_sum(real, imaginary, np.ones(count)))
    if whole:
        moving = spinning_matrices(weights, tensors, np.zeros_like(Mn), turn, total).projected(shapes)
        _check_normalised(moving.mass @ _sum(real, imaginary, rates**2), where)
        stiffness = stiffness - 0.5 * (moving.stiffness + moving.stiffness.T)
        semidefinite(stiffness, where, "the stiffness that the complex modes leave", mode_names(count))
    moved = shapes.reshape(len(names), 6, count)
    found = modal_integrals(lumped(weights, tensors), positions, moved, second_order=second_order)
    own = reduced_mass(modal_mass(found["M"], where), found["P"], total, where)
    given = 0.0 if damping is None else numbers(damping, where, "damping")
    if np.shape(given) not in ((), (count,)):
        raise ModelError(f"{where}: {count} complex modes need {count} damping ratios or one for all")
    ratios = np.broadcast_to(np.asarray(given, dtype=float), (count,)).copy()
    return FlexiblePart(
        **found,
        K=stiffness,
        C=modal_damping(own, stiffness, where, damping=ratios[np.argsort(rates)], damping_matrix=None),
        nodes=node_records(names, positions, moved, None),
        lumps=Lumps(weights, tensors, positions, shapes),
        total_mass=total,
        complex_modes=GivenModes(rates, psi, gamma, ratios, whole),
    )


def _sum(real: Array, imaginary: Array, weights: Array) -> Array:
    """2 Σ w (Ψ Ψᵀ + Γ Γᵀ)."""
    found: Array = 2 * (real * weights @ real.T + imaginary * weights @ imaginary.T)
    return found


def _real_shapes(halves: Array, Mn: Array, count: int, where: str) -> tuple[Array, bool]:
    """(real shapes, orthonormal in Mn, that carry most of the motion; whether they carry all of it)."""
    values, vectors = np.linalg.eigh(Mn)
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    _, sizes, mix = np.linalg.svd(root @ halves, full_matrices=False)
    rank = int(np.sum(sizes > _SPANNED * sizes[0])) if sizes[0] > 0 else 0
    if rank < count:
        raise ModelError(
            f"{where}: {count} complex modes move the masses in {rank} independent shapes only; leave out "
            "those that repeat others"
        )
    return halves @ mix[:count].T / sizes[:count], rank == count


def _check_normalised(product: Array, where: str) -> None:
    """M' M'⁻¹ = 1, the second from the modes."""
    error = float(np.abs(product - np.eye(len(product))).max())
    if not error <= _NORMALISED:
        raise ModelError(
            f"{where}: the complex modes do not fit the masses (M' from them is off by {error:.2g}); "
            "they are normalised by φ* K' φ + σ² φ* M' φ = 1, with M' of the vehicle of total_mass="
        )
