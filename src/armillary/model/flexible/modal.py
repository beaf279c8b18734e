"""Modal mass, stiffness and damping of a part: from frequencies and ratios or from matrices, checked."""

from __future__ import annotations

import numpy as np

from armillary.errors import ModelError
from armillary.model.flexible.checks import mode_names, numbers, positive, semidefinite, symmetric, times
from armillary.model.flexible.part import ORTHOGONAL, Array, coherence, uncoupled

# Shapes printed with three digits are orthogonal to about this; a wrong mass model is off by more.
_THREE_DIGITS = 1e-2


def modal_mass(M: Array, where: str) -> Array:
    """A modal mass matrix that is positive definite; the mode that spoils it is named."""
    for p, own in enumerate(np.diag(M)):
        if own <= 0:
            raise ModelError(
                f"{where}: mode {p + 1} moves no mass (modal mass {own:g}); leave it out, or give the nodes "
                "that it moves their masses"
            )
    scale = 1 / np.sqrt(np.diag(M))
    values, vectors = np.linalg.eigh(M * np.outer(scale, scale))
    if values[0] < 1e-12 * values[-1]:
        p, q = np.argsort(-np.abs(vectors[:, 0]))[:2] + 1
        raise ModelError(
            f"{where}: the modal mass matrix is singular: modes {min(p, q)} and {max(p, q)} (or more) move "
            "the masses in the same way; leave one out"
        )
    return M


def reduced_mass(M: Array, P: Array, total_mass: object, where: str) -> Array:
    """M − PᵀP/m, in which the modes of a whole free vehicle of mass m are orthogonal.

    M itself where ``total_mass`` is left out: modes with the body held. Source: JPL TR 32-1598, sect. II.
    """
    if total_mass is None:
        return M
    mass = positive(total_mass, where, "total_mass")
    reduced: Array = M - P.T @ P / mass
    p = int(np.argmin(np.diag(reduced) / np.diag(M)))
    if reduced[p, p] <= 1e-12 * M[p, p]:
        raise ModelError(
            f"{where}: total_mass = {mass:g} is too small: of the modal mass {M[p, p]:.6g} of mode {p + 1} "
            f"its momentum would take away {P[:, p] @ P[:, p] / mass:.6g}; give the mass of the whole "
            "vehicle, this part included"
        )
    return reduced


def modal_stiffness(M: Array, where: str, *, frequencies: object, stiffness: object) -> Array:
    """K from angular frequencies (K_pp = M_pp ω_p², for orthogonal modes only) or as a matrix.

    ``M`` is the mass matrix in which the modes are orthogonal: see `reduced_mass`.
    """
    if (frequencies is None) == (stiffness is None):
        what = "both given" if stiffness is not None else "missing"
        raise ModelError(f"{where}: frequencies (rad/s) and stiffness are {what}; give exactly one of them")
    count = len(M)
    if stiffness is not None:
        matrix = numbers(stiffness, where, "the modal stiffness", (count, count))
        matrix = symmetric(matrix, where, "the modal stiffness", mode_names(count))
        semidefinite(matrix, where, "the modal stiffness", mode_names(count))
        return matrix
    rates = np.atleast_1d(numbers(frequencies, where, "frequencies"))
    if rates.shape != (count,):
        raise ModelError(f"{where}: {count} modes need {count} frequencies, not {times(rates.shape)}")
    if np.any(rates <= 0):
        p = int(np.argmin(rates))
        raise ModelError(
            f"{where}: frequency {rates[p]:g} of mode {p + 1} is not positive; a mode without stiffness is "
            "rigid motion, which the body has already: leave it out"
        )
    worst, p, q = coherence(M)
    if worst > _THREE_DIGITS:
        raise ModelError(
            f"{where}: modes {p + 1} and {q + 1} are not orthogonal (coherence {worst:.3g} in the modal mass "
            "matrix), so frequencies do not suffice; check masses and shapes, or give the modal stiffness="
        )
    return np.diag(np.diag(M) * rates**2)


def modal_damping(M: Array, K: Array, where: str, *, damping: object, damping_matrix: object) -> Array:
    """C from damping ratios ζ (C_pp = 2 ζ_p ω_p M_pp; one for all, or one per mode) or as a matrix.

    Coupled modes with one ratio get C = M Φ 2ζω Φᵀ M with their own modes Φ. Ratios per mode need modes that
    are as orthogonal as frequencies need them.
    """
    count = len(M)
    if damping is not None and damping_matrix is not None:
        raise ModelError(f"{where}: damping (ratios) and damping_matrix are both given; give one of them")
    if damping_matrix is not None:
        matrix = numbers(damping_matrix, where, "damping_matrix", (count, count))
        matrix = symmetric(matrix, where, "damping_matrix", mode_names(count))
        semidefinite(matrix, where, "damping_matrix", mode_names(count))
        return matrix
    ratios = numbers(0.0 if damping is None else damping, where, "damping")
    if ratios.shape not in ((), (count,)):
        raise ModelError(f"{where}: damping is one ratio or {count}, one per mode, not {times(ratios.shape)}")
    if np.any(ratios < 0):
        p = int(np.argmin(ratios)) if ratios.ndim else 0
        raise ModelError(
            f"{where}: the damping ratio {np.min(ratios):g} of mode {p + 1} is negative; a mode loses energy"
        )
    worst, p, q = max(coherence(M), coherence(K))
    differ = bool(ratios.ndim) and np.ptp(ratios) > 0
    if differ and worst > _THREE_DIGITS:
        raise ModelError(
            f"{where}: modes {p + 1} and {q + 1} are coupled (coherence {worst:.3g} in mass or stiffness), "
            "so ratios per mode mean nothing; give one ratio for all, or damping_matrix="
        )
    if differ or worst < ORTHOGONAL:
        return np.diag(2 * ratios * np.sqrt(np.diag(K) * np.diag(M)))
    rates, modes = uncoupled(M, K)
    momenta = M @ modes
    found: Array = (momenta * (2 * np.max(ratios) * rates)) @ momenta.T
    return found
