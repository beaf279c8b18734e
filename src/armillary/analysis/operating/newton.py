"""Newton's method for c(x) = 0 with as many conditions as unknowns or more, from starts that may be rough.

With sizes s of the unknowns and w of the conditions, J = ∂c/∂x is scaled to A = J_ij s_j / w_i, and a step
x + s p minimises |c/w + A p| over |p| ≤ Δ: a Gauss–Newton step where it is that short, else one of Levenberg
and Marquardt,

    p = − V diag(d/(d² + μ)) Uᵀ c/w            A = U diag(d) Vᵀ            μ ≥ 0 so that |p| = Δ

The radius Δ begins at one size, or at the length of the first step if no angle turns by more than a radian in
it, and follows the agreement of the model with the conditions (Moré 1978, "The Levenberg-Marquardt algorithm:
implementation and theory", Lecture Notes in Mathematics 630). Directions without effect (d below 1e-11 of the
largest) are not moved along, so that what the conditions leave open stays at its start. Bounds are kept by
projection, and an unknown that a step would lead out of its bounds is held there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

MET = 1e-9  # of the size of a condition: what is above this is not met
_ROUNDING = 1e-15
_NO_EFFECT = 1e-11  # singular value, as a part of the largest, of a direction without effect
_MOST = 80  # steps


@dataclass(frozen=True, eq=False)
class Equations:
    """Conditions as functions of the unknowns, with sizes and bounds."""

    residual: Callable[[np.ndarray], np.ndarray]
    jacobian: Callable[[np.ndarray], np.ndarray]
    sizes: np.ndarray  # of the unknowns
    weights: np.ndarray  # one over the sizes of the conditions
    low: np.ndarray
    high: np.ndarray
    angles: np.ndarray | None = None  # which of the unknowns are angles


@dataclass(frozen=True, eq=False)
class Root:
    """Where Newton's method ended: whether the conditions are met, and what is left of each."""

    x: np.ndarray
    residual: np.ndarray
    relative: np.ndarray  # residuals over the sizes of their conditions
    steps: int
    held: np.ndarray  # unknowns that a bound holds

    @property
    def error(self) -> float:
        """The largest of the residuals over their sizes."""
        found = float(np.max(np.abs(self.relative), initial=0.0))
        return found if np.isfinite(found) else np.inf

    @property
    def met(self) -> bool:
        return self.error <= MET


def newton(equations: Equations, start: np.ndarray) -> Root:
    """A root near a start, or the place where the conditions are nearest to being met."""
    s, w, low, high = equations.sizes, equations.weights, equations.low, equations.high
    x = np.clip(start, low, high)
    c = equations.residual(x)
    r = c * w
    merit = float(r @ r)
    radius, steps = float(np.sqrt(len(x))) or 1.0, 0
    held = np.zeros(len(x), dtype=bool)
    while np.isfinite(merit) and steps < _MOST and len(x):
        if np.max(np.abs(r)) <= _ROUNDING:
            break
        A = equations.jacobian(x) * w[:, None] * s
        if not np.all(np.isfinite(A)):
            break
        slope = A.T @ r
        held = ((x <= low) & (slope > 0)) | ((x >= high) & (slope < 0))
        step = _Steps(A if not held.any() else A[:, ~held], r)
        if not steps and equations.angles is not None:
            full = step.within(np.inf)
            # Sizes of lengths, speeds and inputs are guesses, that of an angle is not.
            if np.max(np.abs(full[equations.angles[~held]]), initial=0.0) <= 1.0:
                radius = max(radius, 1.01 * float(np.sqrt(full @ full)))
        steps += 1
        while True:
            p = np.zeros(len(x))
            p[~held] = step.within(radius)
            trial = np.clip(x + s * p, low, high)
            p = (trial - x) / s
            length = float(np.sqrt(p @ p))
            c_trial = equations.residual(trial)
            r_trial = c_trial * w
            new = float(r_trial @ r_trial)
            predicted = r + A @ p
            expected = merit - float(predicted @ predicted)
            gained = merit - new
            if new < merit and gained > 1e-4 * expected:
                break
            radius = 0.25 * min(length, radius)
            if radius < 1e-12 or (np.max(np.abs(r)) <= MET and length <= 1e-6):
                return Root(x, c, r, steps, held)
        if gained > 0.75 * expected:
            radius = max(radius, 3.0 * length)
        elif gained < 0.25 * expected:
            radius = 0.5 * length
        stalled = new > 0.9 * merit and np.max(np.abs(r_trial)) <= MET
        x, c, r, merit = trial, c_trial, r_trial, new
        if stalled:
            break
    return Root(x, c, r, steps, held)


class _Steps:
    """Steps of one linear model of the conditions, for any radius."""

    def __init__(self, A: np.ndarray, r: np.ndarray) -> None:
        U, self.d, self.Vt = np.linalg.svd(A, full_matrices=False)
        self.b = -(U.T @ r)
        with np.errstate(divide="ignore", invalid="ignore"):
            cut = _NO_EFFECT * (self.d[0] if self.d.size else 0.0)
            self.full = np.where(self.d > cut, self.b / self.d, 0.0)

    def within(self, radius: float) -> np.ndarray:
        """The best step that is not longer than a radius."""
        z = self.full
        length = float(np.sqrt(z @ z))
        if length > radius:
            # 1/|z(μ)| is nearly linear in μ; Newton's method on it (Moré 1978).
            mu = 0.0
            for _ in range(20):
                squares = self.d * self.d + mu
                slope = float(np.sum(z * z / np.where(squares > 0, squares, 1.0))) / (length or 1.0)
                mu = max(mu + (length / radius - 1.0) * length / (slope or 1.0), 0.0)
                squares = self.d * self.d + mu
                z = self.d * self.b / np.where(squares > 0, squares, 1.0)
                length = float(np.sqrt(z @ z))
                if abs(length - radius) <= 0.1 * radius:
                    break
            if length > radius:
                z = z * (radius / length)
        return self.Vt.T @ z
