"""The curve of operating points over a parameter, with the stability of its points.

With the unknowns x and the parameter λ, divided by their sizes, in z = [x, λ], the branch is the curve
c(z) = 0. Its tangent τ spans the null space of ∂c/∂z. A step of length h goes to z + h τ and back to the
curve by Newton's method across the tangent,

    [ ∂c/∂z ; τᵀ ] δ = − [ c ; τᵀ (z − z_predicted) ]

so that folds, where λ turns back, are passed (Keller 1977, "Numerical solution of bifurcation and nonlinear
eigenvalue problems").

Stability is decided by the eigenvalues of the motion near a point, on the independent states without cyclic
coordinates. Let y be these states, F = ∂ẏ/∂y, and T an orthonormal basis of the motions that keep loops
closed and Euler parameters unit (the null space of the derivatives of these conditions). The eigenvalues are
those of

    A = Tᵀ F T

This is exact if the coordinates outside T rest, as at an operating point. Gaps of closed contacts, and the
rates of these gaps, stay constant. Sticking contacts keep their slip velocity S u = 0, and at rest also their
displacement S N⁺ q, with q̇ = N u.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from armillary.analysis.modes.eigensystem import eigenvalue_errors
from armillary.analysis.operating.conditions import ConditionValues
from armillary.numerics.language import Roots
from armillary.numerics.python_functions import python_functions, set_lengths
from armillary.text_tables import counted

if TYPE_CHECKING:
    from armillary.analysis.operating.conditions import Conditions, HeldRows


_ON_AXIS = 1e-7  # largest real part that counts as zero, relative to its eigenvalue
_ILL = 1e-6  # possible shift by rounding if eigenvectors are parallel, relative to the largest eigenvalue
_RESTING = 1e-6  # largest rate that counts as zero, in the units of the model
_ROUNDED = 1e-9  # the same, relative to the change of the rate if a state changes by its size
_SMALLEST = 1e-14  # least error of an eigenvalue, relative to the largest eigenvalue


@dataclass(frozen=True, eq=False)
class Stability:
    """Eigenvalues on the independent states, and the numbers that grow, decay or do neither."""

    eigenvalues: np.ndarray  # largest real part first
    growing: int
    neutral: int
    limit: float = 0.0  # the largest real part that counts as zero

    @property
    def stable(self) -> bool:
        """Whether nothing grows."""
        return self.growing == 0

    def __str__(self) -> str:
        count = len(self.eigenvalues)
        if not count:
            return "no independent states"
        if self.growing:
            time = 1.0 / float(self.eigenvalues[0].real)
            return (
                f"unstable: {self.growing} of {counted(count, 'eigenvalue')} "
                f"{'grow' if self.growing > 1 else 'grows'}, the fastest with time constant {time:.4g} s"
            )
        if self.neutral:
            return (
                f"marginally stable: {self.neutral} of {counted(count, 'eigenvalue')} on the imaginary axis, "
                "none grows"
            )
        time = -1.0 / float(self.eigenvalues[0].real)
        return f"asymptotically stable: the slowest eigenvalue decays with time constant {time:.4g} s"


def stability(values: ConditionValues, x: np.ndarray) -> Stability | None:
    """Return the stability at x; `None` at a point that is not steady: a state that is not cyclic changes."""
    return stability_of(values, values.values(x), values.jacobian(x))


def stability_of(
    values: ConditionValues, c: np.ndarray, C: np.ndarray, touching: HeldRows | None = None
) -> Stability | None:
    """Return the stability from conditions c and derivatives C, with the contacts ``touching`` closed."""
    found = values.of
    rows = _held_by_contacts(found, C, touching)
    moved = {j for j in np.flatnonzero(rows.any(axis=0)).tolist() if j < found.coordinates}
    noncyclic = found.noncyclic(touching.positions if touching else ())
    kept = np.array(sorted({*noncyclic.tolist(), *moved}), dtype=int)
    rates = c[kept]
    # Rounding errors of large terms are not motion: 20 N·mm turn a body of 1e-9 kg·m² at 2e7 rad/s².
    terms = np.max(np.abs(C[kept][:, kept]) * found.kind_sizes[kept], axis=1, initial=0.0)
    if not np.all(np.isfinite(C)) or not np.all(np.abs(rates) <= np.maximum(_RESTING, _ROUNDED * terms)):
        return None
    F = C[kept][:, kept]
    held = np.vstack([C[found.closed][:, kept], rows[:, kept]])
    held = held[np.any(held != 0.0, axis=1)]
    if held.size:
        T = _null_space(held, kept < found.coordinates)
        F = T.T @ F @ T
    if not F.size:
        return Stability(np.zeros(0, dtype=complex), 0, 0)
    roots, limits = _eigenvalues_and_zeros(F)
    order = np.lexsort((-roots.imag, -roots.real))
    roots, limits = roots[order], limits[order]
    neutral = np.abs(roots.real) <= limits
    growing = int(np.sum(roots.real > limits))
    return Stability(roots, growing, int(np.sum(neutral)), float(np.max(limits[neutral], initial=0.0)))


def _held_by_contacts(found: Conditions, C: np.ndarray, touching: HeldRows | None) -> np.ndarray:
    """Return derivatives of the quantities that closed contacts keep constant: unit rows, columns of C."""
    if not touching:
        return np.zeros((0, C.shape[1]))
    rows = C[[*touching.positions, *touching.velocities]]
    N, S = C[: found.coordinates, found.speeds], C[list(touching.slips)][:, found.speeds]
    places = np.zeros((len(S), C.shape[1]))
    if N.size and S.size:
        places[:, : found.coordinates] = S @ np.linalg.pinv(N)
    rows = np.vstack([rows, places])
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1.0)


def _null_space(rows: np.ndarray, position: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis of x with rows · x = 0.

    If no row contains both positions and other states, each vector of the basis is of one kind.
    """
    parts = [np.any(rows[:, part] != 0.0, axis=1) for part in (position, ~position)]
    if not parts[1].any() or np.any(parts[0] & parts[1]):
        return _basis(rows)
    T = np.zeros((len(position), 0))
    for part, own in zip((position, ~position), parts, strict=True):
        basis = _basis(rows[own][:, part])
        block = np.zeros((len(position), basis.shape[1]))
        block[part] = basis
        T = np.hstack([T, block])
    return T


def _basis(rows: np.ndarray) -> np.ndarray:
    if not len(rows):
        return np.eye(rows.shape[1])
    _, d, Vt = np.linalg.svd(rows)
    return Vt[int(np.sum(d > 1e-9 * d[0])) :].T


def _eigenvalues_and_zeros(F: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the eigenvalues of a matrix, and for each the largest real part that counts as zero.

    For positions and speeds at rest without damping,

        q̇ = N u,  u̇ = S q,

    they are ± the roots of the eigenvalues of S N. This takes an eighth of the work, and imaginary
    eigenvalues are exactly imaginary.
    """
    n = len(F) // 2
    if 2 * n < len(F) or F[:n, :n].any() or F[n:, n:].any():
        values = np.linalg.eigvals(F).astype(complex)
        return values, np.maximum(_ON_AXIS * np.abs(values), _errors(F, values, np.abs(values.real)))
    lower, upper = F[n:, :n], F[:n, n:]
    squared = lower @ upper
    values = np.linalg.eigvals(squared).astype(complex)
    roots = np.sqrt(values)
    off = _errors(squared, values, np.abs(values))
    limits = np.maximum(_ON_AXIS * np.abs(roots), off / np.sqrt(np.maximum(np.abs(values), off) + 1e-300))
    return np.concatenate([roots, -roots]), np.concatenate([limits, limits])


def _errors(A: np.ndarray, values: np.ndarray, parts: np.ndarray) -> np.ndarray:
    """Return how far rounding may shift eigenvalues.

    Eigenvectors take several times the work of eigenvalues. So they are used only if one of the ``parts``,
    whose signs decide stability, is small; otherwise the least error is returned.
    """
    size = float(np.max(np.abs(values), initial=0.0))
    least = _SMALLEST * size
    if not np.any((parts > 0) & (parts < _ILL * size) & (parts > _ON_AXIS * np.abs(values))):
        return np.full(len(values), least)
    from scipy.linalg import eig

    own, left, right = eig(A, left=True)
    errors = eigenvalue_errors(A, left, right)
    places = np.argmin(np.abs(values[:, None] - own), axis=1)
    return np.asarray(np.maximum(errors[places], least))


_CORRECTIONS = 8
_CLOSE = 1e-12  # residual of a point of the branch, relative to the size of its condition
NEAR = 1e-9  # tolerance of places between two points, relative to the step


@dataclass(frozen=True, eq=False)
class CurvePlace:
    """A point of a branch: z = [unknowns, λ], its unit tangent (in z over its sizes), and its stability."""

    z: np.ndarray
    tangent: np.ndarray
    stability: Stability | None
    strength: float  # the smallest singular value across the tangent
    mark: str = ""
    frequency: float = 0.0  # of a Hopf point, rad/s

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
        """Return the point of the branch at z, with its tangent towards ``along``; `None` if none exists."""
        found = self._tangent(z, along)
        return None if found is None else CurvePlace(z, found[0], self.stability(z), found[1])

    def _tangent(self, z: np.ndarray, along: np.ndarray) -> tuple[np.ndarray, float] | None:
        """Return the tangent: the direction nearest to ``along`` that keeps the conditions."""
        A = self.scaled_jacobian(z)
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
        across = len(z) - 2  # index of the singular value that vanishes only at branch points
        return tangent / length, float(d[across]) if 0 <= across < len(d) else 0.0

    def scaled_jacobian(self, z: np.ndarray) -> np.ndarray:
        found: np.ndarray = self.jacobian(z) * self.weights[:, None] * self.sizes
        return found

    def correct_point(self, start: np.ndarray, along: np.ndarray) -> tuple[np.ndarray, int] | None:
        """Return the point of the branch in the plane normal to ``along`` through a start, and the number of
        corrections.
        """
        run = _Correction(self, start, along)
        try:
            found = _FUNCTIONS["follow_root"](run)
        except np.linalg.LinAlgError:  # derivatives that are not finite
            return None
        return (run.z, int(run.moves)) if found else None

    def step(self, place: CurvePlace, h: float) -> tuple[CurvePlace, int] | None:
        """Return the point of the branch at a distance h, and the number of corrections."""
        found = self.correct_point(place.z + h * place.tangent * self.sizes, place.tangent)
        if found is None:
            return None
        there = self.place(found[0], place.tangent)
        return None if there is None else (there, found[1])


class _Correction(Roots):
    """The record of a point that is brought to the branch; see numerics/roots.py."""

    def __init__(self, curve: BranchCurve, start: np.ndarray, along: np.ndarray) -> None:
        self.curve, self.start, self.along = curve, start, along
        self.z = self.there = start
        set_lengths(self, len(curve.weights) + 1, len(start))
        self.cut = self.least_cut = 1e-12
        self.exact = self.met = _CLOSE
        self.longest, self.most_moves = np.inf, float(_CORRECTIONS)


def _look(run: _Correction) -> None:
    across = run.along @ ((run.z - run.start) / run.curve.sizes)
    run.residual[:] = np.append(run.curve.residual(run.z) * run.curve.weights, across)


def _differentiate(run: _Correction) -> None:
    run.matrix[:] = np.vstack([run.curve.scaled_jacobian(run.z), run.along]).T.ravel()


def _displace(run: _Correction) -> None:
    run.there = run.z + run.curve.sizes * run.step


def _arrive(run: _Correction) -> None:
    run.z = run.there


def _worst_residual(run: _Correction) -> float:
    return float(np.max(np.abs(run.residual[:-1]), initial=0.0))


_FUNCTIONS = python_functions(
    {f.__name__[1:]: f for f in (_look, _differentiate, _displace, _arrive, _worst_residual)}
)


def crossing(f: Callable[[float], float | None], h: float, at_start: float) -> float | None:
    """Find where f changes its sign between 0 and h: false position with halved weights (Illinois).

    Return `None` if it does not, or if f has no value.
    """
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


# Marks of a branch, between two of its points.
#
# A point is marked where the number of growing eigenvalues changes, or the sign of the tangent along λ:
#
#     Hopf point         a pair of complex eigenvalues crosses the imaginary axis
#     branch point       the conditions lose rank, so that another branch crosses
#     fold               otherwise, if λ turns back
#     zero eigenvalue    in all other cases, such as a fold along an input that is one of the unknowns

FOLD, HOPF, BRANCH_POINT, ZERO = "fold", "Hopf point", "branch point", "zero eigenvalue"
_LOST = 3e-3  # ratio of the singular values at and beside a mark, below which two branches cross there
_BESIDE = 0.05  # distance, in steps, of the places beside a branch point from which it is interpolated


def marks_between(curve: BranchCurve, here: CurvePlace, there: CurvePlace, h: float) -> list[CurvePlace]:
    """Return the marks between two points, in order."""
    found: list[tuple[float, CurvePlace]] = []
    usual = max(here.strength, there.strength)
    turns = here.tangent[-1] * there.tangent[-1] < 0
    if turns:
        s = crossing(lambda s: _turning(curve, here, s), h, float(here.tangent[-1]))
        place = None if s is None else curve.step(here, s)
        if s is not None and place is not None:
            if place[0].strength < _LOST * usual:
                found.append((s, _with_mark(_place_between(curve, here, s, h) or place[0], BRANCH_POINT)))
            else:
                found.append((s, _with_mark(place[0], FOLD)))
    if here.growing != there.growing and here.stability is not None and there.stability is not None:
        located = _eigenvalue_crossing(curve, here, there, h)
        s, root = (None, 0j) if located is None else located
        place = None if s is None else curve.step(here, s)
        if s is not None and place is not None:
            if abs(root.imag) > 1e-5 * float(np.max(np.abs(here.stability.eigenvalues))):
                found.append((s, _with_mark(place[0], HOPF, abs(root.imag))))
            elif not turns:
                lost = place[0].strength < _LOST * usual
                found.append((s, _with_mark(place[0], BRANCH_POINT if lost else ZERO)))
    return [place for _, place in sorted(found, key=lambda pair: pair[0])]


def _with_mark(place: CurvePlace, mark: str, frequency: float = 0.0) -> CurvePlace:
    return replace(place, mark=mark, frequency=frequency)


def _place_between(curve: BranchCurve, here: CurvePlace, s: float, h: float) -> CurvePlace | None:
    """Return the point at a distance s, interpolated from four points beside it, since the conditions do not
    determine a point where branches cross.
    """
    beside = [curve.step(here, s + k * _BESIDE * h) for k in (-2, -1, 1, 2)]
    if any(found is None for found in beside):
        return None
    far_left, left, right, far_right = (found[0].z for found in beside if found is not None)
    z = (4.0 * (left + right) - (far_left + far_right)) / 6.0
    return curve.place(z, here.tangent)


def _turning(curve: BranchCurve, here: CurvePlace, s: float) -> float | None:
    found = curve.step(here, s)
    return None if found is None else float(found[0].tangent[-1])


def _eigenvalue_crossing(
    curve: BranchCurve, here: CurvePlace, there: CurvePlace, h: float
) -> tuple[float, complex] | None:
    """Find where an eigenvalue crosses the imaginary axis between two points, and the eigenvalue there.

    Eigenvalues of the two points are matched by their distance. If none of them changes the half-plane, as in
    an undamped system, bisection finds where the number of growing eigenvalues changes.
    """
    assert here.stability is not None and there.stability is not None
    from scipy.optimize import linear_sum_assignment

    one, other = here.stability.eigenvalues, there.stability.eigenvalues
    apart = one[:, None] - other[None, :]
    pairs = zip(*linear_sum_assignment(np.abs(apart)), strict=True)
    limit = 10.0 * max(here.stability.limit, there.stability.limit)
    zeros = min(int(np.sum(np.abs(roots) <= limit)) for roots in (one, other))
    for i, j in pairs:
        a, b = complex(one[i]), complex(other[j])
        if a.real * b.real < 0 and min(abs(a.real), abs(b.real)) > limit:
            path = _BranchPath(curve, here, h, a, b, zeros)
            s = crossing(lambda s: _real_part(path(s)), h, a.real)  # noqa: B023
            root = None if s is None else path(s)
            return None if s is None or root is None else (s, root)
    low, high = 0.0, h
    while high - low > NEAR * h:
        middle = 0.5 * (low + high)
        found = curve.step(here, middle)
        if found is None:
            return None
        low, high = (middle, high) if found[0].growing == here.growing else (low, middle)
    s, k = (high, here.growing) if here.growing < there.growing else (low, there.growing)
    found = curve.step(here, s)
    if found is None or found[0].stability is None:
        return None
    return s, complex(found[0].stability.eigenvalues[k])


@dataclass(frozen=True, eq=False)
class _BranchPath:
    """An eigenvalue along a step, from a to b; ``zeros`` others are zero along the whole step."""

    curve: BranchCurve
    here: CurvePlace
    h: float
    a: complex
    b: complex
    zeros: int

    def __call__(self, s: float) -> complex | None:
        """Return the eigenvalue at a distance s that is nearest to the straight line from a to b."""
        found = self.curve.step(self.here, s)
        if found is None or found[0].stability is None:
            return None
        roots = found[0].stability.eigenvalues
        roots = roots[np.argsort(np.abs(roots))[self.zeros :]]
        expected = self.a + (self.b - self.a) * (s / self.h)
        return complex(roots[int(np.argmin(np.abs(roots - expected)))])


def _real_part(value: complex | None) -> float | None:
    return None if value is None else value.real


# A branch followed step by step, with marks where its stability or direction changes.

_LONGEST, _SHORTEST = 0.1, 1e-7  # steps, in sizes
_TURN = 0.9  # cosine of the angle between two tangents, below which a step is repeated at half its length


def follow(curve: BranchCurve, first: CurvePlace, low: float, high: float, most: int) -> list[CurvePlace]:
    """Return points and marks of a branch, from ``first`` in the direction of its tangent, until λ leaves
    [low, high], the branch closes, or ``most`` points are found.
    """
    places = [first]
    here, h = first, 0.25 * _LONGEST
    while len(places) < most:
        found = curve.step(here, h)
        if found is None or found[0].tangent @ here.tangent < _TURN:
            h *= 0.5
            if h < _SHORTEST:
                break
            continue
        there, corrections = found
        if not low <= there.z[-1] <= high:
            end = _at_end(curve, here, h, low if there.z[-1] < low else high)
            places += [*marks_between(curve, here, end[0], end[1]), end[0]] if end else []
            break
        places += [*marks_between(curve, here, there, h), there]
        here = there
        h = min(h * (1.5 if corrections <= 3 else 0.7), _LONGEST)
        if len(places) > 10 and _is_closed(curve, first, here):
            break
    return places


def _is_closed(curve: BranchCurve, first: CurvePlace, here: CurvePlace) -> bool:
    """Return whether a branch has returned to its first point."""
    apart = (here.z - first.z) / curve.sizes
    return bool(np.linalg.norm(apart) < 0.5 * _LONGEST and here.tangent @ first.tangent > _TURN)


def _at_end(curve: BranchCurve, here: CurvePlace, h: float, value: float) -> tuple[CurvePlace, float] | None:
    """Return the point of the branch within a step where λ has a value, and its distance."""

    def beyond(s: float) -> float | None:
        found = curve.step(here, s)
        return None if found is None else float(found[0].z[-1]) - value

    s = crossing(beyond, h, float(here.z[-1]) - value)
    found = None if s is None else curve.step(here, s)
    return None if found is None or s is None else (found[0], s)
