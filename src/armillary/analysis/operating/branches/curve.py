"""The curve of operating points over a parameter: places on it, tangents, steps along it.

With the unknowns x and the parameter λ in z = [x, λ], in sizes, the branch is the curve c(z) = 0. Its tangent
τ spans the null space of ∂c/∂z. A step of length h goes to z + h τ and back to the curve by Newton's method
across the tangent,

    [ ∂c/∂z ; τᵀ ] δ = − [ c ; τᵀ (z − z_predicted) ]

so that folds, where λ turns back, are passed (Keller 1977, "Numerical solution of bifurcation and nonlinear
eigenvalue problems").
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from armillary.analysis.operating.stability import Stability

_CORRECTIONS = 8
_CLOSE = 1e-12  # residual, over the size of its condition, of a point of the branch
NEAR = 1e-9  # of a step: how near places between two points are located


@dataclass(frozen=True, eq=False)
class CurvePlace:
    """A point of a branch: z = [unknowns, λ], the unit tangent in sizes, the stability."""

    z: np.ndarray
    tangent: np.ndarray
    stability: Stability | None
    strength: float  # the smallest singular value across the tangent
    mark: str = ""
    frequency: float = 0.0  # rad/s, of a Hopf point

    @property
    def growing(self) -> int:
        """Growing eigenvalues."""
        return 0 if self.stability is None else self.stability.growing


@dataclass(frozen=True, eq=False)
class BranchCurve:
    """The conditions as functions of z, λ last, and the stability at a point."""

    residual: Callable[[np.ndarray], np.ndarray]
    jacobian: Callable[[np.ndarray], np.ndarray]
    sizes: np.ndarray  # of z
    weights: np.ndarray  # one over the sizes of the conditions
    stability: Callable[[np.ndarray], Stability | None]

    def place(self, z: np.ndarray, along: np.ndarray) -> CurvePlace | None:
        """The point of the branch at z with its tangent on the side of ``along``; None off the branch."""
        found = self._tangent(z, along)
        return None if found is None else CurvePlace(z, found[0], self.stability(z), found[1])

    def _tangent(self, z: np.ndarray, along: np.ndarray) -> tuple[np.ndarray, float] | None:
        """The tangent: of all that the conditions leave open, what is nearest to ``along``."""
        A = self._scaled(z)
        if not np.all(np.isfinite(A)):
            return None
        _, d, Vt = np.linalg.svd(A)
        size = float(d[0]) if d.size and d[0] > 0 else 1.0
        rank = min(int(np.sum(d > 1e-9 * size)), len(z) - 1)
        null = Vt[rank:]
        tangent = null.T @ (null @ along)
        length = float(np.linalg.norm(tangent))
        if not length > 1e-6:
            return None
        across = len(z) - 2  # the last direction that the conditions decide away from branch points
        return tangent / length, float(d[across]) if 0 <= across < len(d) else 0.0

    def _scaled(self, z: np.ndarray) -> np.ndarray:
        found: np.ndarray = self.jacobian(z) * self.weights[:, None] * self.sizes
        return found

    def corrected(self, start: np.ndarray, along: np.ndarray) -> tuple[np.ndarray, int] | None:
        """The point of the branch across ``along`` from a start, and the corrections that it took."""
        z = start
        for count in range(_CORRECTIONS):
            r = self.residual(z) * self.weights
            if not np.all(np.isfinite(r)):
                return None
            if np.max(np.abs(r), initial=0.0) <= _CLOSE:
                return z, count
            A = np.vstack([self._scaled(z), along])
            if not np.all(np.isfinite(A)):
                return None
            right = np.append(r, along @ ((z - start) / self.sizes))
            z = z - self.sizes * np.linalg.lstsq(A, right, rcond=1e-12)[0]
        return None

    def step(self, place: CurvePlace, h: float) -> tuple[CurvePlace, int] | None:
        """The point of the branch at a distance h."""
        found = self.corrected(place.z + h * place.tangent * self.sizes, place.tangent)
        if found is None:
            return None
        there = self.place(found[0], place.tangent)
        return None if there is None else (there, found[1])


def crossing(f: Callable[[float], float | None], h: float, at_start: float) -> float | None:
    """Where f changes its sign between 0 and h: false position with halved weights (Illinois)."""
    a, b, fa = 0.0, h, at_start
    fb = f(h)
    if fb is None or (fa > 0) == (fb > 0):
        return None
    side = 0
    for _ in range(60):
        c = (a * fb - b * fa) / (fb - fa) if fb != fa else 0.5 * (a + b)
        if not a < c < b:
            c = 0.5 * (a + b)
        fc = f(c)
        if fc is None:
            return None
        if fc == 0.0 or b - a <= NEAR * h:
            return c
        if (fc > 0) == (fb > 0):
            b, fb = c, fc
            fa = 0.5 * fa if side == -1 else fa
            side = -1
        else:
            a, fa = c, fc
            fb = 0.5 * fb if side == 1 else fb
            side = 1
        if abs(fc) < 1e-14 * (abs(at_start) or 1.0):
            return c
    return 0.5 * (a + b)
