"""Inertias of bodies that are physically possible, by ten unbounded numbers each.

The ten inertial numbers φ of a body (mass m, first moment h, inertia J about its origin) are those of some
distribution of mass exactly where the pseudo-inertia is positive definite:

    P = [ Σ   h ]       Σ = ½ tr(J) 1 − J       P = e^{2α} U Uᵀ,    U = [ A  t ]
        [ hᵀ  m ]                                                       [ 0  1 ]

with A upper triangular, e^{d₁}, e^{d₂}, e^{d₃} on its diagonal and s₁₂, s₁₃, s₂₃ above it: the log-Cholesky
parameters θ = (α, d, s, t), any real numbers.

Source: Rucker and Wensing (2022), Smooth parameterization of rigid-body inertia.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_FLOOR = 1e-4  # of the largest: least eigenvalue of Σ/m, where a description has a body without extent


@dataclass(frozen=True, eq=False)
class BodyInertia:
    """Mass, mass centre from the body's origin, and inertia about the mass centre, in the body's axes."""

    mass: float
    com: np.ndarray
    inertia: np.ndarray

    def __repr__(self) -> str:
        com = ", ".join(f"{x:.4g}" for x in self.com)
        J = self.inertia
        six = ", ".join(f"{J[i, j]:.4g}" for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))
        return f"mass {self.mass:.5g}, com ({com}), inertia ({six})"


def numbers_of(theta: np.ndarray) -> np.ndarray:
    """φ = (m, h, Jxx, Jyy, Jzz, Jxy, Jxz, Jyz) from θ = (α, d₁, d₂, d₃, s₁₂, s₁₃, s₂₃, t).

    Both are along the last axis.
    """
    alpha, d1, d2, d3, s12, s13, s23, x, y, z = np.moveaxis(theta, -1, 0)
    a11, a22, a33, m = np.exp(d1), np.exp(d2), np.exp(d3), np.exp(2 * alpha)
    xx = a11 * a11 + s12 * s12 + s13 * s13 + x * x  # elements of Σ/m
    yy, zz = a22 * a22 + s23 * s23 + y * y, a33 * a33 + z * z
    xy, xz, yz = s12 * a22 + s13 * s23 + x * y, s13 * a33 + x * z, s23 * a33 + y * z
    one = np.ones_like(m)
    found: np.ndarray = (
        np.stack([one, x, y, z, yy + zz, xx + zz, xx + yy, -xy, -xz, -yz], axis=-1) * m[..., None]
    )
    return found


def numbers_slopes(theta: np.ndarray) -> np.ndarray:
    """∂φ/∂θ, (…, 10 of φ, 10 of θ), by complex steps: exact to rounding."""
    stepped = theta[..., None, :] + 1e-30j * np.eye(10)
    return np.swapaxes(numbers_of(stepped).imag / 1e-30, -1, -2)


def theta_of(numbers: np.ndarray) -> np.ndarray:
    """θ from φ, of which Σ about the mass centre is made positive definite where it is not."""
    m, h, J = float(numbers[0]), numbers[1:4], inertia_matrix(numbers)
    t = h / m
    S = (0.5 * np.trace(J) * np.eye(3) - J) / m - np.outer(t, t)
    sizes, axes = np.linalg.eigh(S)
    least = _FLOOR * max(float(sizes[-1]), float(t @ t), 1e-12)
    S = (axes * np.maximum(sizes, least)) @ axes.T
    A = np.linalg.cholesky(S[::-1, ::-1])[::-1, ::-1]  # S = A Aᵀ with A upper triangular
    d = np.log(np.diag(A))
    return np.array([0.5 * np.log(m), *d, A[0, 1], A[0, 2], A[1, 2], *t])


def inertia_matrix(numbers: np.ndarray) -> np.ndarray:
    """J of φ."""
    xx, yy, zz, xy, xz, yz = numbers[4:10]
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def body_inertia(numbers: np.ndarray) -> BodyInertia:
    """φ as mass, mass centre and central inertia."""
    m = float(numbers[0])
    c = numbers[1:4] / m
    return BodyInertia(m, c, inertia_matrix(numbers) - m * (c @ c * np.eye(3) - np.outer(c, c)))


def length_of(theta: np.ndarray) -> float:
    """A length of the body: the root of its mean square extent."""
    return float(np.sqrt(np.mean(np.exp(2 * theta[1:4])) + theta[7:] @ theta[7:]))
