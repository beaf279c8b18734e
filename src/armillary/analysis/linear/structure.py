"""Linear algebra on A, B, C and D of a continuous model: zeros, Gramians, controllability, observability,
norms and smaller models.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from armillary.analysis.linear.matrices import LinearMatrices
from armillary.errors import ArmillaryError
from armillary.text_tables import aligned, html_table

Array = np.ndarray
_RANK = 1e-10  # singular values below this share of the largest count as zero
_CANCELLED = 1e-13  # a sum below this share of its terms is a rounding error


# ---------------------------------------------------------------------------------------- zeros


def transmission_zeros(A: Array, B: Array, C: Array, D: Array) -> Array:
    """Return the finite zeros: the s at which the rank of [A − s, B; C, D] is lower than for other s.

    Outputs that no input reaches directly, and the states that they fix, are eliminated by orthogonal
    transformations until D has full row rank. Inputs are then eliminated in the same way from the transposed
    system. The rest has an invertible D, and its zeros are the eigenvalues of A − B D⁻¹ C.

    Source: Emami-Naeini and Van Dooren (1982), Computation of zeros of linear multivariable systems,
    Automatica 18, 415–430. For one input and one output see ``single_zeros``.
    """
    if B.shape[1] == 1 and len(C) == 1 and (found := single_zeros(A, B[:, 0], C[0], D[0, 0])) is not None:
        return found
    A, B, C, D = _compress_rows(A, B, C, D)
    A, C, B, D = (m.T for m in _compress_rows(A.T, C.T, B.T, D.T))
    if not A.size:
        return np.empty(0, dtype=complex)
    closed: np.ndarray = A - B @ np.linalg.solve(D, C) if D.size else A
    return np.linalg.eigvals(closed).astype(complex)


def single_zeros(A: Array, b: Array, c: Array, d: float, rounding: float = 0.0) -> Array | None:
    """Return the zeros from one input to one output; `None` if the output does not depend on the input.

    The condition c x = 0 eliminates a state x_p, and c ẋ = 0 is the next condition, until a condition
    contains the input. States are eliminated by Gaussian elimination and not, as in ``transmission_zeros``,
    by rotations: these mix large elements into small ones and lose zeros far beyond the poles. An example is
    a chain of masses with light dampers and zeros at k/c, 1e4 times the poles: d is a product of dampings,
    each 1e-4 of a stiffness. A difference of terms that are 1e13 times larger counts as zero. So does a
    product c·b below ``rounding`` |c| |b|, where ``rounding`` is the relative error of the elements.
    """
    scale = _balance_with_ports(A, b[:, None], c[None, :])
    A, b, c = A * scale / scale[:, None], b / scale, c * scale
    terms, term = np.abs(c), abs(d)  # sums of the magnitudes of the terms of c and of d
    least = 0.0
    while not abs(d) > max(_CANCELLED * term, least):
        c = np.where(np.abs(c) > _CANCELLED * terms, c, 0.0)
        if not c.any():
            return None
        p = int(np.argmax(np.abs(c)))
        kept = np.delete(np.arange(len(c)), p)
        follow = c[kept] / c[p]  # x_p = −follow · x
        d, term = float(c @ b), float(terms @ np.abs(b))
        least = rounding * float(np.linalg.norm(c) * np.linalg.norm(b))
        rates, sizes = c @ A, terms @ np.abs(A)
        c, terms = rates[kept] - rates[p] * follow, sizes[kept] + sizes[p] * np.abs(follow)
        own, added = A[np.ix_(kept, kept)], np.outer(A[kept, p], follow)
        A, b = np.where(np.abs(own - added) > _CANCELLED * np.abs(own), own - added, 0.0), b[kept]
    return np.linalg.eigvals(A - np.outer(b, c) / d).astype(complex) if len(A) else np.empty(0, dtype=complex)


def _compress_rows(A: Array, B: Array, C: Array, D: Array) -> tuple[Array, Array, Array, Array]:
    """Eliminate outputs without direct input, and the states that they fix, until D has full row rank."""
    size = max((float(np.max(np.abs(m), initial=0.0)) for m in (A, B, C, D)), default=0.0)
    while len(A):
        U, values, _ = np.linalg.svd(D, full_matrices=True)
        r = int(np.sum(values > _RANK * size))
        C, D = U.T @ C, U.T @ D
        C1, C2, D1 = C[:r], C[r:], D[:r]
        if not len(C2):
            break
        _, values, Vt = np.linalg.svd(C2, full_matrices=True)
        rho = int(np.sum(values > _RANK * size))
        if rho == 0:
            C, D = C1, D1
            break
        V = np.hstack([Vt[rho:].T, Vt[:rho].T])  # C2 V = [0, X]
        k = len(A) - rho
        A, B, C1 = V.T @ A @ V, V.T @ B, C1 @ V
        A, B, C, D = A[:k, :k], B[:k], np.vstack([C1[:, :k], A[k:, :k]]), np.vstack([D1, B[k:]])
    return A, B, C, D


# ---------------------------------------------------------------------------------------- Gramians


def lyapunov(A: Array, Q: Array) -> Array:
    """Return the symmetric P with A P + P Aᵀ + Q = 0."""
    from scipy.linalg import solve_continuous_lyapunov

    P = solve_continuous_lyapunov(A, -Q)
    return np.asarray((P + P.T) / 2)


def _cholesky_factor(P: Array) -> Array:
    """Return L with P = L Lᵀ, for a P that is positive semidefinite up to rounding."""
    values, vectors = np.linalg.eigh(P)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


@dataclass(frozen=True, eq=False)
class ModeReach:
    """The eigenvalue of a mode, its measure (see `Reach`), the states that move most in it, and whether it
    is reached.
    """

    eigenvalue: complex
    measure: float
    states: tuple[str, ...]
    reached: bool


@dataclass(frozen=True, eq=False, repr=False)
class Reach:
    """The modes that inputs reach (controllability), or outputs show (observability).

    "Reached" stands for both. ``measure`` of a mode is the smallest singular value of [λ − A, B] or, for
    observability, of [λ − A; C], over the size of this matrix, at its eigenvalue λ (the test of Popov,
    Belevitch and Hautus); it vanishes if the mode is not reached. The staircase algorithm decides which modes
    are reached: if one of several equal eigenvalues is not reached, the measure is zero for all of them.
    ``gramian`` is `None` if the model is not stable.
    """

    what: str  # "controllable" or "observable"
    modes: tuple[ModeReach, ...]
    gramian: Array | None

    @property
    def rank(self) -> int:
        """The number of modes that are reached."""
        return len(self.modes) - len(self.missing)

    @property
    def complete(self) -> bool:
        """Whether all modes are reached."""
        return not self.missing

    @property
    def missing(self) -> tuple[ModeReach, ...]:
        """The modes that are not reached."""
        return tuple(m for m in self.modes if not m.reached)

    def __bool__(self) -> bool:
        return self.complete

    def _rows(self) -> list[list[str]]:
        rows = []
        for m in self.modes:
            value = f"{m.eigenvalue.real:.5g} {m.eigenvalue.imag:+.5g}i"
            measure = f"{m.measure:.2g}" if m.reached else f"not {self.what}"
            rows.append([value, measure, ", ".join(m.states)])
        return rows

    def __repr__(self) -> str:
        head = f"{self.rank} of {len(self.modes)} modes are {self.what}"
        table = aligned([["eigenvalue", "measure", "states"], *self._rows()], ">><")
        return "\n".join([head, *(f"  {line}" for line in table)])

    def _repr_html_(self) -> str:
        head = f"{self.rank} of {len(self.modes)} modes are {self.what}"
        return html_table(["eigenvalue", "measure", "states"], self._rows(), ">><", caption=head)


def reach(A: Array, B: Array, states: Sequence[str], what: str) -> Reach:
    """Return the modes of A that B reaches; give Aᵀ and Cᵀ for the modes that C shows."""
    values, vectors = np.linalg.eig(A if what == "controllable" else A.T)
    # Balance rows and columns, since states in millimetres and rad/s differ by orders of magnitude.
    scale = _balance(A)
    Ab, Bb = A * scale / scale[:, None], B / scale[:, None]
    sizes = np.max(np.abs(Bb), axis=0, initial=0.0)
    Bb = Bb / np.where(sizes > 0, sizes, 1.0) * max(float(np.linalg.norm(Ab, 2)), 1e-300)
    modes = []
    unreached = _unreached_modes(Ab, Bb, values)
    for k, (value, vector) in enumerate(zip(values, vectors.T, strict=True)):
        pencil = np.hstack([value * np.eye(len(Ab)) - Ab, Bb])
        found = np.linalg.svd(pencil, compute_uv=False)
        share = np.abs(vector / (scale if what == "controllable" else 1 / scale))
        order = np.argsort(-np.round(share / np.max(share), 6), kind="stable")  # keeps the states' order
        named = tuple(states[i] for i in order[:3] if share[i] > 0.2 * share[order[0]])
        measure = float(found[-1] / max(found[0], 1e-300))
        modes.append(ModeReach(complex(value), measure, named, k not in unreached))
    gramian = lyapunov(A, B @ B.T) if len(A) and np.all(values.real < 0) else None
    if gramian is not None and what == "observable":
        gramian = gramian.T
    return Reach(what, tuple(modes), gramian)


def _unreached_modes(A: Array, B: Array, values: Array) -> set[int]:
    """Return the indices of the eigenvalues of A that belong to the part which B does not reach."""
    from scipy.optimize import linear_sum_assignment

    rest = controllable_part(A, B)[1]
    own = np.linalg.eigvals(rest.T @ A @ rest)
    _, columns = linear_sum_assignment(np.abs(own[:, None] - values))
    return set(columns.tolist())


def _balance(A: Array) -> Array:
    from scipy.linalg import matrix_balance

    if not len(A):
        return np.ones(0)
    _, (scale, _) = matrix_balance(A, permute=False, separate=True)
    return np.asarray(scale)


def _balance_with_ports(A: Array, B: Array, C: Array) -> Array:
    """Return scales of the states from A, B and C, with all inputs as one column and all outputs as one row.

    A state that only rounding errors couple in A would, without B and C, be scaled by these errors.
    """
    ports = [np.abs(B) / np.maximum(np.max(np.abs(B), axis=0, initial=0.0), 1e-300)]
    ports += [np.abs(C.T) / np.maximum(np.max(np.abs(C.T), axis=0, initial=0.0), 1e-300)]
    b, c = (np.max(m, axis=1, initial=0.0) for m in ports)
    size = max(float(np.max(np.abs(A), initial=0.0)), 1e-300)
    return _balance(np.block([[A / size, b[:, None]], [c[None, :], np.zeros((1, 1))]]))[:-1]


def controllable_part(A: Array, B: Array) -> tuple[Array, Array]:
    """Return orthonormal bases of the controllable space and of its complement (staircase algorithm)."""
    n = len(A)
    size = max(float(np.linalg.norm(A, 2)) if n else 0.0, 1e-300)
    reached = np.zeros((n, 0))
    new = B
    floor = _RANK * max(float(np.linalg.norm(B, 2)) if B.size else 0.0, 1e-300)
    while reached.shape[1] < n and new.size:
        new = new - reached @ (reached.T @ new)
        U, values, _ = np.linalg.svd(new, full_matrices=False)
        U = U[:, values > floor]
        U = np.linalg.qr(U - reached @ (reached.T @ U))[0]  # again, because rounding errors remain
        if not U.size:
            break
        reached = np.hstack([reached, U])
        new, floor = A @ U, _RANK * size
    whole = np.linalg.qr(np.hstack([reached, np.eye(n)]))[0] if n else reached
    return reached, whole[:, reached.shape[1] : n]


def minimal_matrices(A: Array, B: Array, C: Array) -> tuple[Array, Array, Array]:
    """Return A, B, C without uncontrollable and unobservable modes.

    The basis of the states is rotated only if `linked_matrices` has left such modes; if not, elements that
    are zero stay zero.
    """
    A, B, C = linked_matrices(A, B, C)
    T, rest = controllable_part(A, B)
    if rest.size:
        A, B, C = T.T @ A @ T, T.T @ B, C @ T
    T, rest = controllable_part(A.T, C.T)
    return (T.T @ A @ T, T.T @ B, C @ T) if rest.size else (A, B, C)


def linked_matrices(A: Array, B: Array, C: Array) -> tuple[Array, Array, Array]:
    """Return A, B, C, balanced, of the states that nonzero elements connect with an input and an output."""
    linked = A != 0
    moved, shown = np.any(B != 0, axis=1), np.any(C != 0, axis=0)
    kept = _reachable(linked, np.asarray(moved)) & _reachable(linked.T, np.asarray(shown))
    A, B, C = A[np.ix_(kept, kept)], B[kept], C[:, kept]
    scale = _balance_with_ports(A, B, C)
    return A * scale / scale[:, None], B / scale[:, None], C * scale


def _reachable(linked: Array, first: Array) -> Array:
    """Return the states in ``first`` and all states that ``linked[to, from]`` reaches from them."""
    found = first
    while (more := found | (linked @ found)).sum() > found.sum():
        found = more
    return np.asarray(found)


# ---------------------------------------------------------------------------------------- norms, reduction


def h2_norm(lin: LinearMatrices) -> float:
    """Return the root mean square of the outputs under unit white noise.

    √tr(C P Cᵀ) with A P + P Aᵀ + B Bᵀ = 0
    """
    if np.any(lin.D != 0):
        i, j = np.argwhere(lin.D != 0)[0]
        raise ArmillaryError(
            f"the H2 norm is infinite: '{lin.inputs[j]}' acts on '{lin.outputs[i]}' directly (D is not zero)"
        )
    A, B, C = minimal_matrices(lin.A, lin.B, lin.C)
    if not len(A):
        return 0.0
    worst = max(np.linalg.eigvals(A), key=lambda x: x.real)
    if worst.real >= -1e-12 * max(float(np.linalg.norm(A, 2)), 1e-300):
        raise ArmillaryError(
            f"the H2 norm is infinite: the eigenvalue {worst:.5g} is not damped, and the inputs move it and "
            "the outputs show it"
        )
    return float(np.sqrt(max(np.trace(C @ lyapunov(A, B @ B.T) @ C.T), 0.0)))


@dataclass(frozen=True, eq=False)
class Balanced:
    """A smaller model: its matrices, all Hankel singular values, and the bound of its error at any frequency.

    The bound is twice the sum of the singular values left out.
    """

    A: Array
    B: Array
    C: Array
    hankel: Array
    bound: float


def balanced_truncation(A: Array, B: Array, C: Array, order: int | None, tolerance: float | None) -> Balanced:
    """Return a model of the states that carry most energy from inputs to outputs, and all unstable modes.

    Source: Moore (1981), IEEE Trans. Automatic Control 26, 17–32; square-root method of Laub et al. (1987).
    """
    from scipy.linalg import block_diag

    stable, unstable = _split_stable(*minimal_matrices(A, B, C))
    As, Bs, Cs = stable
    Au, Bu, Cu = unstable
    Lp, Lq = _cholesky_factor(lyapunov(As, Bs @ Bs.T)), _cholesky_factor(lyapunov(As.T, Cs.T @ Cs))
    U, hankel, Vt = np.linalg.svd(Lq.T @ Lp)
    kept = len(hankel)
    if order is not None:
        kept = min(max(order - len(Au), 0), kept)
        if order < len(Au):
            raise ArmillaryError(
                f"{len(Au)} of the modes are not stable and are all kept, so the order is at least {len(Au)}"
            )
    elif len(hankel):
        limit = 1e-8 if tolerance is None else tolerance
        kept = int(np.sum(hankel > limit * hankel[0]))
    kept = min(kept, int(np.sum(hankel > 1e-14 * max(hankel[0], 1e-300)))) if len(hankel) else 0
    root = 1 / np.sqrt(hankel[:kept])
    rows, columns = Vt[:kept], U[:, :kept]
    T, W = Lp @ rows.T * root, Lq @ columns * root
    return Balanced(
        block_diag(Au, W.T @ As @ T),
        np.vstack([Bu, W.T @ Bs]),
        np.hstack([Cu, Cs @ T]),
        hankel,
        float(2 * np.sum(hankel[kept:])),
    )


def _split_stable(
    A: Array, B: Array, C: Array
) -> tuple[tuple[Array, Array, Array], tuple[Array, Array, Array]]:
    """Return a model as the sum of a stable and an unstable model, by a block-diagonal ordered Schur form."""
    from scipy.linalg import schur, solve_sylvester

    if not len(A):
        return (A, B, C), (A, B, C)
    margin = -1e-9 * max(float(np.linalg.norm(A, 2)), 1e-300)
    T, Z, k = schur(A, output="real", sort=lambda re, im: re < margin)
    B, C = Z.T @ B, C @ Z
    X = solve_sylvester(T[:k, :k], -T[k:, k:], -T[:k, k:]) if 0 < k < len(A) else np.zeros((k, len(A) - k))
    stable = (T[:k, :k], B[:k] - X @ B[k:], C[:, :k])
    return stable, (T[k:, k:], B[k:], C[:, :k] @ X + C[:, k:])
