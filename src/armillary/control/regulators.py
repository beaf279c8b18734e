"""Regulators and estimators of linear models: LQR, finite horizons, Kalman gains, LQG.

    minimise ∫ (xᵀ Q x + 2 xᵀ N v + vᵀ R v) dt     v = −K x,   K = R⁻¹ (Bᵀ P + Nᵀ)
    AᵀP + P A − (P B + N) R⁻¹ (Bᵀ P + Nᵀ) + Q = 0

Source: Anderson and Moore, Optimal Control: Linear Quadratic Methods (1990), chapters 2, 3 and 8.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from armillary.algebra.arguments import (
    check_finite_elements,
    checked_names,
    count,
    from_zero,
    item_count,
    read_only,
    real,
    reals,
)
from armillary.algebra.walk import held_indices
from armillary.analysis.linear.linear_model import LinearModel
from armillary.analysis.linear.structure import Reach, reach
from armillary.analysis.operating.conditions import rate_units
from armillary.errors import ArmillaryError, ParameterError
from armillary.model.units import state_factor
from armillary.runtime.models.compiled import CompiledModel
from armillary.runtime.models.instance import Instance
from armillary.text_tables import aligned

_STABLE = 1e-9  # relative to the largest pole: poles nearer to the stability limit count as unstable


@dataclass(frozen=True, eq=False, repr=False)
class Regulator:
    """A gain for a linear model: v = −K x, in the units that the description states for states and inputs.

    x and v are differences from ``linear.operating_point`` and ``linear.input_values``. ``cost`` is P: from
    a state x the total cost is xᵀ P x. ``poles`` are the poles of the closed loop, per second (of the map of
    one step if the model is discrete).
    """

    linear: LinearModel
    K: np.ndarray
    cost: np.ndarray
    poles: np.ndarray

    @property
    def states(self) -> tuple[str, ...]:
        """Names of the columns of K."""
        return self.linear.states

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the rows of K."""
        return self.linear.inputs

    def gains(self, name: str) -> dict[str, float]:
        """Return K as the parameters of a block ``s.feedback(name, …)`` over all states, row by row."""
        return {f"{name}_k{i + 1}": float(k) for i, k in enumerate(self.K.ravel())}

    def __repr__(self) -> str:
        head = f"Regulator of '{self.linear.system}': v = −K x"
        rows = [["", *self.states]]
        rows += [[v, *(f"{k:.5g}" for k in row)] for v, row in zip(self.inputs, self.K, strict=True)]
        slowest = float(np.max(self.poles.real, initial=-np.inf))
        limit = "largest |pole|" if self.linear.step is not None else "slowest pole"
        value = float(np.max(np.abs(self.poles), initial=0.0)) if self.linear.step is not None else slowest
        return "\n".join([head, *aligned(rows, "<" + ">" * len(self.states)), f"{limit}: {value:.4g}"])


@dataclass(frozen=True, eq=False, repr=False)
class KalmanGain:
    """The steady Kalman filter of a linear model: x̂' = A x̂ + B v + L (y − C x̂ − D v), L = P Cᵀ V⁻¹.

    ``covariance`` is P, the covariance of the estimate's error, and V is the intensity of the noise on the
    outputs y. In a discrete model L is the gain of the filter form, which corrects the prediction x̂⁻ of a
    state with the measurement y at the same instant,

        x̂ = x̂⁻ + L (y − C x̂⁻ − D v)     x̂⁻ ← A x̂ + B v     L = P Cᵀ (C P Cᵀ + V)⁻¹

    and ``covariance`` is the covariance of the error of x̂⁻, before the correction. The gain of the predictor
    form, which computes the next prediction from the last, is A L. ``poles`` are the eigenvalues of A − L C,
    or of A − A L C if the model is discrete.
    """

    linear: LinearModel
    L: np.ndarray
    covariance: np.ndarray
    poles: np.ndarray

    def __repr__(self) -> str:
        rows = [["", *self.linear.outputs]]
        rows += [[x, *(f"{g:.5g}" for g in row)] for x, row in zip(self.linear.states, self.L, strict=True)]
        body = aligned(rows, "<" + ">" * len(self.linear.outputs))
        return "\n".join([f"Kalman gain of '{self.linear.system}'", *body])


@dataclass(frozen=True, eq=False, repr=False)
class OutputRegulator:
    """LQG: a Kalman filter and a regulator on its estimate, as one linear system from y to v.

    x̂' = (A − B K − L C + L D K) x̂ + L y          v = −K x̂
    """

    regulator: Regulator
    filter: KalmanGain
    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    poles: np.ndarray  # of the closed loop


def lqr(linear: LinearModel, Q: object, R: object, N: object = None) -> Regulator:
    """Return the gain that minimises the quadratic cost of a linear model, continuous or discrete.

    Q weighs states, R inputs, and N (states × inputs) products of states and inputs. Q and R are numbers,
    numbers by name, diagonals or matrices. All weights are for stated units.
    """
    from scipy.linalg import solve_continuous_are, solve_discrete_are

    linear.single("lqr")
    _need(linear.inputs, "inputs", linear)
    Q, R = weight_matrix(Q, linear.states, "Q"), weight_matrix(R, linear.inputs, "R", positive=True)
    cross = _cross(N, linear)
    A, B = linear.A, linear.B
    _check_joint(Q, R, cross, linear)
    discrete = linear.step is not None
    solve = solve_discrete_are if discrete else solve_continuous_are
    try:
        P = solve(A, B, Q, R, s=cross)
    except (np.linalg.LinAlgError, ValueError) as error:
        raise ArmillaryError(_unsolvable(linear, Q, "lqr")) from error
    P = (P + P.T) / 2
    K = (
        np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A + cross.T)
        if discrete
        else np.linalg.solve(R, B.T @ P + cross.T)
    )
    poles = np.linalg.eigvals(A - B @ K).astype(complex)
    if not _stable(poles, discrete):
        raise ArmillaryError(_unsolvable(linear, Q, "lqr"))
    return Regulator(linear, read_only(K), read_only(P), poles)


def finite_horizon(
    linear: LinearModel, Q: object, R: object, duration: float, final: object = 0.0, points: int = 101
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return times, gains K(t) and costs P(t) for a quadratic cost over a finite time.

    ``final`` is the weight of the last state. The Riccati equation

        −Ṗ = AᵀP + P A − P B R⁻¹ Bᵀ P + Q,   P(T) = final

    is solved exactly by the exponential of the Hamiltonian matrix.
    """
    linear.single("finite_horizon")
    if linear.step is not None:
        raise ArmillaryError("finite_horizon takes a continuous model; call it before discretize")
    _need(linear.inputs, "inputs", linear)
    T = from_zero(duration, "duration")
    Q, R = weight_matrix(Q, linear.states, "Q"), weight_matrix(R, linear.inputs, "R", positive=True)
    if not np.isfinite(T) or count(points, "points") < 2:
        raise ParameterError("finite_horizon needs a finite duration, and two points at least")
    times = np.linspace(0.0, T, points)
    n = len(linear.states)
    matrices = np.broadcast_to(hamiltonian(linear.A, linear.B, Q, R), (points, 2 * n, 2 * n))
    costs = riccati_back(times, matrices, weight_matrix(final, linear.states, "final"))
    return times, np.linalg.solve(R, linear.B.T @ costs), costs


def hamiltonian(A: np.ndarray, B: np.ndarray, Q: np.ndarray, R: np.ndarray) -> np.ndarray:
    """Return [A, −B R⁻¹ Bᵀ; −Q, −Aᵀ]; A and B may have leading axes."""
    across = B @ np.linalg.solve(R, np.swapaxes(B, -1, -2))
    Q = np.broadcast_to(Q, A.shape)
    return np.block([[A, -across], [-Q, -np.swapaxes(A, -1, -2)]])


def riccati_back(times: np.ndarray, matrices: np.ndarray, final: np.ndarray) -> np.ndarray:
    """Return P at all times, by the Riccati equation whose Hamiltonian matrices are given at these times.

    The equation is linear in X and Y with P = Y X⁻¹: [X; Y]' = H [X; Y]. P at the last time is ``final``. The
    integral over each interval is approximated by a Magnus expansion of fourth order. Its exponential maps P
    over a short part of the interval,

        P ← Z + Fᵀ P (I + G P)⁻¹ F

    which is composed with itself (doubled) until it spans the interval. Within a part, growing and decaying
    modes differ little, so neither stability nor rounding limits the length of an interval. Between two
    times, elements of H are cubic splines.

    Source: Blanes, Casas, Oteo and Ros (2009), The Magnus expansion and some of its applications, Physics
    Reports 470, 151–238, section 5; Chu, Fan and Lin (2005), A structure-preserving doubling algorithm for
    continuous-time algebraic Riccati equations, Linear Algebra and its Applications 396, 55–80, section 2.
    """
    from scipy.interpolate import CubicSpline

    n, lengths = len(final), np.diff(times)
    middle = (matrices[:-1] + matrices[1:]) / 2
    if len(times) > 2 and not np.array_equal(matrices[:-1], matrices[1:]):
        middle = CubicSpline(times, matrices)((times[:-1] + times[1:]) / 2)
    h = lengths[:, None, None]
    left, right = matrices[:-1], matrices[1:]
    omega = h / 6 * (left + 4 * middle + right) - h**2 / 12 * (left @ right - right @ left)
    F, G, Z = _riccati_map(omega)
    costs = np.empty((len(times), n, n))
    costs[-1] = final
    for k in range(len(lengths) - 1, -1, -1):
        P = Z[k] + F[k].T @ costs[k + 1] @ np.linalg.solve(np.eye(n) + G[k] @ costs[k + 1], F[k])
        costs[k] = (P + P.T) / 2
    return costs


_SHORT = 0.5  # largest norm of a part's Hamiltonian matrix; growing and decaying modes then differ little


def _riccati_map(omega: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return F, G and Z with which exp(−Ω) takes P back, P ← Z + Fᵀ P (I + G P)⁻¹ F, for rows of Ω."""
    from scipy.linalg import expm

    n = omega.shape[-1] // 2
    free, across, weight = (np.linalg.norm(omega[:, i, j], axis=(1, 2)) for i, j in _blocks(n))
    size = float(np.max(free + np.sqrt(across * weight), initial=0.0))
    if not np.isfinite(size):
        missing = np.full((len(omega), n, n), np.nan)
        return missing, missing, missing
    doublings = max(0, int(np.ceil(np.log2(max(size, _SHORT) / _SHORT))))
    back = expm(-omega / 2**doublings)
    F = np.linalg.inv(back[:, :n, :n])
    G, Z = F @ back[:, :n, n:], back[:, n:, :n] @ F
    for _ in range(doublings):
        both = np.linalg.solve(np.eye(n) + G @ Z, np.concatenate([F, G], axis=2))
        transposed = np.swapaxes(F, 1, 2)
        F, G, Z = F @ both[:, :, :n], G + F @ both[:, :, n:] @ transposed, Z + transposed @ Z @ both[:, :, :n]
    return F, G, Z


def _blocks(n: int) -> tuple[tuple[slice, slice], ...]:
    """Return the places of A, −B R⁻¹ Bᵀ and −Q in a Hamiltonian matrix."""
    first, last = slice(None, n), slice(n, None)
    return (first, first), (first, last), (last, first)


def kalman(
    linear: LinearModel, process: object, measurement: object, noise_inputs: bool = False
) -> KalmanGain:
    """Return the steady Kalman filter for white noise of given intensities.

    ``process`` is the intensity of noise on the states' rates or, with ``noise_inputs``, on the inputs;
    ``measurement`` is the intensity of noise on the outputs. Both are numbers, numbers by name, diagonals or
    matrices. In a discrete model they are covariances per step, and L = P Cᵀ (C P Cᵀ + V)⁻¹
    corrects a prediction; the gain of the predictor form is A L.
    """
    from scipy.linalg import solve_continuous_are, solve_discrete_are

    linear.single("kalman")
    _need(linear.outputs, "outputs", linear)
    if noise_inputs:
        own = weight_matrix(process, linear.inputs, "process")
        W = linear.B @ own @ linear.B.T
    else:
        W = weight_matrix(process, linear.states, "process")
    V = weight_matrix(measurement, linear.outputs, "measurement", positive=True)
    A, C, discrete = linear.A, linear.C, linear.step is not None
    solve = solve_discrete_are if discrete else solve_continuous_are
    try:
        P = solve(A.T, C.T, W, V)
    except (np.linalg.LinAlgError, ValueError) as error:
        raise ArmillaryError(_unobservable(linear)) from error
    P = (P + P.T) / 2
    L = np.linalg.solve(V + C @ P @ C.T, C @ P).T if discrete else np.linalg.solve(V, C @ P).T
    poles = np.linalg.eigvals(A - (A @ L if discrete else L) @ C).astype(complex)
    if not _stable(poles, discrete):
        raise ArmillaryError(_unobservable(linear))
    return KalmanGain(linear, read_only(L), read_only(P), poles)


def lqg(linear: LinearModel, Q: object, R: object, process: object, measurement: object) -> OutputRegulator:
    """Return the LQG regulator of a continuous model: LQR on the estimate of a Kalman filter."""
    if linear.step is not None:
        raise ArmillaryError("lqg takes a continuous model; call it before discretize")
    regulator, estimator = lqr(linear, Q, R), kalman(linear, process, measurement)
    A, B, C, D = linear.A, linear.B, linear.C, linear.D
    K, L = regulator.K, estimator.L
    inside = A - B @ K - L @ C + L @ D @ K
    whole = np.block([[A, -B @ K], [L @ C, inside - L @ D @ K]])
    return OutputRegulator(regulator, estimator, inside, L, -K, np.linalg.eigvals(whole).astype(complex))


# ---------------------------------------------------------------------------------------- errors


def _need(names: Sequence[str], what: str, linear: LinearModel) -> None:
    if not names:
        raise ArmillaryError(f"the linear model of '{linear.system}' has no {what}; name some by {what}=")


def _cross(N: object, linear: LinearModel) -> np.ndarray:
    shape = (len(linear.states), len(linear.inputs))
    cross = np.zeros(shape) if N is None else reals(N, "N", ParameterError)
    if cross.shape != shape:
        raise ArmillaryError(f"N must be a matrix of states by inputs, {shape}, not {cross.shape}")
    check_finite_elements(cross, "N", ParameterError)
    return cross


def _check_joint(Q: np.ndarray, R: np.ndarray, cross: np.ndarray, linear: LinearModel) -> None:
    """Raise an error if Q − N R⁻¹ Nᵀ has a negative eigenvalue: the cost then has no minimum."""
    if cross.any():
        weight_matrix(Q - cross @ np.linalg.solve(R, cross.T), linear.states, "Q − N R⁻¹ Nᵀ")


def _stable(poles: np.ndarray, discrete: bool) -> bool:
    if discrete:
        return bool(np.all(np.abs(poles) < 1 - _STABLE))
    return bool(np.all(poles.real < -_STABLE * np.max(np.abs(poles), initial=1e-300)))


def _unsolvable(linear: LinearModel, Q: np.ndarray, verb: str) -> str:
    """Return why there is no gain: the inputs do not move an unstable mode, or Q gives it no weight."""
    moved = reach(linear.A, linear.B, linear.states, "controllable")
    if found := _unstable_mode(moved, linear.A, linear.B, linear):
        return (
            f"{verb}: no gain makes '{linear.system}' stable: {found}, is not moved by "
            f"{_list(linear.inputs)}; add an input, or leave those states out, lin.keep([…])"
        )
    values, vectors = np.linalg.eigh(Q)
    root = (vectors * np.sqrt(np.maximum(values, 0.0))).T
    seen = reach(linear.A.T, root.T, linear.states, "observable")
    if found := _unstable_mode(seen, linear.A.T, root.T, linear):
        return f"{verb}: the cost ignores {found}, so it stays unstable; give these states a weight in Q"
    return f"{verb}: the Riccati equation of '{linear.system}' has no solution with a stable loop"


def _unobservable(linear: LinearModel) -> str:
    seen = reach(linear.A.T, linear.C.T, linear.states, "observable")
    if found := _unstable_mode(seen, linear.A.T, linear.C.T, linear):
        return (
            f"kalman: no filter of '{linear.system}' converges: {found}, does not show in "
            f"{_list(linear.outputs)}; measure more"
        )
    return (
        f"kalman: the filter of '{linear.system}' does not converge; give every mode at the limit of "
        "stability some process noise"
    )


def _unstable_mode(found: Reach, A: np.ndarray, B: np.ndarray, linear: LinearModel) -> str:
    """Describe an unstable mode that B does not move, by its eigenvalue and the states of its left vector.

        wᵀ [λ − A, B] = 0

    If several modes have one eigenvalue, w selects the combination that B does not move. Return "" if B moves
    all unstable modes.
    """
    for mode in found.missing:
        size = abs(mode.eigenvalue) - 1 if linear.step is not None else mode.eigenvalue.real
        if size > -1e-9:
            pencil = np.hstack([mode.eigenvalue * np.eye(len(A)) - A, B])
            along = np.abs(np.linalg.svd(pencil)[0][:, -1])
            order = [i for i in np.argsort(-along) if along[i] > 0.3 * along.max()]
            moved = _list([linear.states[i] for i in order[:3]])
            return f"the mode with eigenvalue {mode.eigenvalue:.4g}, mostly {moved}"
    return ""


def _list(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


# ---------------------------------------------------------------------------------------- weights, limits


def input_limits(given: Mapping[str, object], names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return lower and upper limits of inputs; None in place of a pair, or in a pair, means no limit."""
    low, high = np.full(len(names), -np.inf), np.full(len(names), np.inf)
    for i, name in enumerate(names):
        if given.get(name) is None:
            continue
        ends = given[name]
        if isinstance(ends, list | tuple) and item_count(ends) == 2:
            ends = [none if end is None else end for end, none in zip(ends, (-np.inf, np.inf), strict=True)]
        pair = reals(ends, f"limits of '{name}'", ParameterError)
        if pair.shape != (2,) or not pair[0] < pair[1]:
            raise ParameterError(f"limits of '{name}' must be (low, high) with low < high")
        low[i], high[i] = pair
    return low, high


_ROUNDING = 1e-12  # relative to the largest element: smaller negative eigenvalues count as zero


def weight_matrix(given: object, names: Sequence[str], what: str, *, positive: bool = False) -> np.ndarray:
    """Return a symmetric positive semidefinite matrix (``positive``: positive definite).

    A number is every element of the diagonal, and a row is the diagonal. A mapping has elements of the
    diagonal by name; elements that are not named are zero.
    """
    n = len(names)
    if isinstance(given, Mapping):
        checked_names(given, names, f"{what}: there is no", ParameterError)
        diagonal = [real(given.get(name, 0.0), f"{what} of '{name}'", ParameterError) for name in names]
        matrix = np.diag(diagonal) if n else np.zeros((0, 0))
    else:
        array = reals(given, what, ParameterError)
        array = np.full(n, array) if array.ndim == 0 else array
        matrix = np.diag(array) if array.ndim == 1 else array
    if matrix.shape != (n, n):
        several = f"a number, {n} numbers or a {n} × {n} matrix" if n > 1 else "a number"
        raise ParameterError(f"{what} must be {several}, for {', '.join(names)}")
    check_finite_elements(matrix, what, ParameterError)
    size = float(np.max(np.abs(matrix), initial=0.0))
    exact = np.array_equal(matrix, matrix.T)  # a quick test, since a controller reads weights at every plan
    if not exact and not np.allclose(matrix, matrix.T, rtol=1e-10, atol=1e-12 * size):
        raise ParameterError(f"{what} must be symmetric")
    matrix = (matrix + matrix.T) / 2
    least, vector = _least(matrix)
    if least < -_ROUNDING * size or (positive and least <= _ROUNDING * size):
        where = names[int(np.argmax(np.abs(vector)))] if n else ""
        need = "positive" if positive else "zero or positive"
        raise ParameterError(
            f"{what} must be {need} in every direction; its smallest eigenvalue is {least:.3g}, along "
            f"'{where}' mostly"
        )
    return matrix


def _least(matrix: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the least eigenvalue of a symmetric matrix and its direction."""
    if not len(matrix):
        return np.inf, np.empty(0)
    diagonal = np.diagonal(matrix)
    if np.count_nonzero(matrix) == np.count_nonzero(diagonal):
        least = int(np.argmin(diagonal))
        return float(diagonal[least]), np.arange(len(matrix)) == least
    values, vectors = np.linalg.eigh(matrix)
    return float(values[0]), vectors[:, 0]


# A regulator with one gain needs a steady operating point. A point counts as steady if
#
#     |ẏ| ≤ |∂y/∂x| r,     r_i = Σ_j |A_ij| (ρ |x_j| + ε) + Σ_j |B_ij| ρ |v_j| + ε
#
# where y is the whole state, x are the independent states and v the inputs. The right side is the rate at an
# equilibrium whose x and v are given with only some four digits. Coordinates on which no rate depends, such
# as the distance that a vehicle has driven, may change at any rate: A and B stay the same (steady motion).

_ROUNDED = 1e-4  # ρ: relative errors of given values, such as 3.1416 for π
_ROUNDED_ZERO = 1e-6  # ε: errors of values and rates near zero, in the model's units, as trim leaves them
_SHOWN = 3  # most rates in an error


def check_steady(model: CompiledModel, linear: LinearModel, verb: str) -> None:
    """Raise an error with the largest rates if the linear model's operating point is not steady."""
    t = model.equations.targets
    known = model.equations.system.parameters
    given = {name: value for name, value in linear.parameters.items() if name in known}
    rates = Instance(model, given).derivatives(float(linear.time), linear.state, linear.memory)
    used = {j for places in held_indices(t.rates, t.integrated) for j in places}
    over = np.abs(rates) / _rounding(linear, given)
    found = [int(j) for j in np.argsort(-over) if over[j] > 1 and j in used]
    if not found:
        return
    described = {s.data.name: s for s in model.equations.system.moving()}
    shown = []
    for j in found[:_SHOWN]:
        own = described.get(t.integrated[j].data.name, t.integrated[j])
        units = rate_units(own.data.units or "")
        shown.append(f"'{own.data.name}' changes by {rates[j] / state_factor(own):.4g} {units}")
    more = f" and {len(found) - _SHOWN} more change" if len(found) > _SHOWN else ""
    raise ArmillaryError(
        f"{verb}: '{linear.system}' is not steady at the operating point: {', '.join(shown)}{more}; give at= "
        "a result of model.trim or model.equilibrium, or the inputs that hold it there; for a motion, call "
        f"model.lqr_along; control.{verb} takes a linear model of any point, model.linearize(…)"
    )


def _rounding(linear: LinearModel, parameters: Mapping[str, object]) -> np.ndarray:
    """Return the largest rates of the whole state at an equilibrium that is given by rounded values."""
    assert linear.linearization is not None
    at = np.atleast_1d(float(linear.time)), linear.state[None], parameters, linear.memory[None]
    basis = linear.linearization.basis(*at)[0]
    fx, fv = (np.array([v.factor for v in linear.variables[k]]) for k in (0, 1))
    A, B = np.abs(linear.A) * fx[:, None] / fx, np.abs(linear.B) * fx[:, None] / fv
    x = np.linalg.lstsq(basis, linear.state, rcond=None)[0]
    v = np.array([float(linear.input_values.get(name, 0.0)) for name in linear.inputs]) * fv
    rates = A @ (_ROUNDED * np.abs(x) + _ROUNDED_ZERO) + B @ (_ROUNDED * np.abs(v)) + _ROUNDED_ZERO
    return np.asarray(np.abs(basis) @ rates + _ROUNDED_ZERO)
