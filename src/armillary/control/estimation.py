"""State estimation over measured data: extended and unscented Kalman filters and the smoother.

    x_{k+1} = φ(x_k, v_k) + w,  E[w wᵀ] = ∫ Φ W Φᵀ dt     y_k = h(x_k, v_k) + e,  E[e eᵀ] = V

φ is RK4 over the time between two measurements, in parts of at most ``step``; measured inputs are
interpolated linearly. W is the intensity of white noise on the rates, and Φ the derivative of the state at
the next measurement by the state at the instant of the noise. The extended filter uses exact derivatives of φ
and h; the unscented filter evaluates φ and h at 2 n + 1 points, and Φ at their mean. The smoother goes back
from the last measurement to the first.

Sources: Särkkä, Bayesian Filtering and Smoothing (2013), algorithms 5.4 (EKF), 5.14 (UKF), 9.1 and 9.3
(Rauch–Tung–Striebel smoothers).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from armillary.algebra.arguments import one_of, positive_number, read_only, reals, several, table
from armillary.cache import kept_per_object
from armillary.control.knot_functions import KnotFunctions, Knots
from armillary.control.plant import motion_run, plant
from armillary.control.regulators import weight_matrix
from armillary.errors import ArmillaryError, ParameterError
from armillary.program.sensitivities import outputs_of
from armillary.results import Run
from armillary.runtime.models.compiled import CompiledModel
from armillary.settings import Initial
from armillary.untyped import DataMapping, DataTable

METHODS = ("ekf", "ukf")
_SPREAD, _PRIOR = 1e-3, 2.0  # α and β of the unscented points; κ = 0


@dataclass(frozen=True, eq=False, repr=False)
class Estimate:
    """Estimated states at the times of measurements, in stated units (those of the description).

    ``run`` has all outputs of the model at the estimates and ``covariance`` the covariances of their errors.
    ``innovations`` are the measurements minus their predictions, ``innovation_covariance`` the expected
    covariances of the innovations. ``smoothed`` is the estimate from all data, if it was requested.
    """

    run: Run
    time: np.ndarray
    state: np.ndarray
    covariance: np.ndarray
    innovations: np.ndarray
    innovation_covariance: np.ndarray
    states: tuple[str, ...]
    outputs: tuple[str, ...]
    method: str
    smoothed: Estimate | None = None

    @property
    def standard_deviation(self) -> np.ndarray:
        """Standard deviations of the errors of the states, a row for each time."""
        return np.asarray(np.sqrt(np.maximum(np.diagonal(self.covariance, axis1=1, axis2=2), 0.0)))

    @property
    def consistency(self) -> float:
        """The mean of eᵀ S⁻¹ e per measured value, with innovations e and their covariances S.

        It is near 1 if the given noises are right, and NaN without measured values.
        """
        e, S = self.innovations, self.innovation_covariance
        known = np.isfinite(e)
        terms = []
        for row, matrix, mask in zip(e, S, known, strict=True):
            if mask.any():
                terms.append(float(row[mask] @ np.linalg.solve(matrix[np.ix_(mask, mask)], row[mask])))
        return float(np.sum(terms) / np.count_nonzero(known)) if terms else float("nan")

    def __repr__(self) -> str:
        spans = f"{len(self.time)} measurements of {', '.join(self.outputs)}"
        return f"Estimate by {self.method}: {spans}; consistency {self.consistency:.3g}"


def estimate(
    model: CompiledModel,
    data: object,
    outputs: Sequence[str],
    *,
    process: object,
    measurement: object,
    initial: Initial = None,
    covariance: object = 0.0,
    inputs: Sequence[str] = (),
    method: str = "ekf",
    smooth: bool = False,
    step: float | None = None,
    parameters: DataMapping | None = None,
) -> Estimate:
    """Estimate states from noisy ``outputs``, by "ekf" or "ukf"; ``smooth`` uses later data too.

    ``data`` are columns by name with one called "time", a run or a data frame; NaN marks missing
    measurements. ``inputs`` names columns of measured inputs. ``process`` is the intensity of noise on the
    states' rates, ``measurement`` the covariance of the outputs, ``covariance`` the covariance of the
    ``initial`` state: numbers, numbers by name, diagonals or matrices. ``step`` is the longest step
    between measurements, by default the shortest interval between two measurements.
    """
    one_of(method, METHODS, "method=")
    problem = _Problem(model, data, outputs, inputs, process, measurement, step, parameters)
    names = [p.name for p in problem.states]
    factor = problem.state_factors
    start = model.state(initial, parameters)
    P0 = weight_matrix(covariance, names, "covariance") * np.outer(factor, factor)
    kind = _Extended if method == "ekf" else _Unscented
    track = kind(problem).filter(start, P0)
    found = problem.estimate(model, track, method, parameters)
    if not smooth:
        return found
    back = problem.estimate(model, _smooth_track(track), f"{method}, smoothed", parameters)
    return Estimate(**{**found.__dict__, "smoothed": back})


@dataclass(frozen=True, eq=False)
class _Track:
    """The result of a filter: estimates, predictions, and the covariance across each step."""

    x: np.ndarray
    P: np.ndarray
    predicted: np.ndarray
    predicted_P: np.ndarray
    across: np.ndarray  # covariance of x_{k−1} with the prediction of x_k
    innovations: np.ndarray
    innovation_P: np.ndarray


class _Problem:
    """Measured data and the model, in the model's own units (outputs: stated units)."""

    def __init__(
        self,
        model: CompiledModel,
        data: object,
        outputs: Sequence[str],
        inputs: Sequence[str],
        process: object,
        measurement: object,
        step: float | None,
        parameters: DataMapping | None,
    ) -> None:
        self.inputs = tuple(map(str, several(inputs, "inputs=")))
        self.plant = plant(model, self.inputs)
        self.plant.check_independent("estimate")
        self.outputs = outputs_of(model.equations, tuple(map(str, several(outputs, "outputs="))))
        if not self.outputs:
            raise ParameterError("estimate: outputs= is empty; name the measured outputs")
        self.parameters = parameters
        self._outputs = _output_functions(model, self.outputs)
        self.states = self.plant.states
        self.state_factors = np.array([p.factor for p in self.states])
        names = [p.name for p in self.states]
        self.W = weight_matrix(process, names, "process") * np.outer(self.state_factors, self.state_factors)
        self.V = weight_matrix(measurement, self.outputs, "measurement", positive=True)
        self.time, self.y, self.v = self._read(data)
        span = np.diff(self.time)
        longest = float(span.min()) if step is None else positive_number(step, "step=", ParameterError)
        self.parts = np.maximum(1, np.ceil(span / longest - 1e-9)).astype(int)

    def _read(self, data: object) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return times, measurements (NaN: not measured) and inputs."""
        if isinstance(data, Run):
            columns: DataTable = {name: data[name] for name in (*self.outputs, *self.inputs)}
            columns["time"] = data.time
        else:
            columns = table(data, "data")
        for name in ("time", *self.outputs, *self.inputs):
            if name not in columns:
                raise ParameterError(f"estimate: the data have no column '{name}'")
        time = reals(columns["time"], "time of the data")
        if time.ndim != 1 or len(time) < 2 or not np.all(np.diff(time) > 0):
            raise ParameterError("estimate: the data need at least two times, in increasing order")
        rows = {n: reals(columns[n], f"'{n}' of the data") for n in (*self.outputs, *self.inputs)}
        for name, column in rows.items():
            if column.shape != time.shape:
                raise ParameterError(f"estimate: '{name}' has {column.size} values for {len(time)} times")
        y = np.stack([rows[n] for n in self.outputs], axis=1)
        if (infinite := np.isinf(y).any(axis=0)).any():
            name = self.outputs[int(np.argmax(infinite))]
            raise ParameterError(f"estimate: '{name}' has an infinite value; NaN marks missing values")
        v = np.stack([rows[n] for n in self.inputs], axis=1) if self.inputs else np.empty((len(time), 0))
        if not np.isfinite(v).all():
            raise ParameterError("estimate: an input of the data is not a finite number")
        return time, y, v * np.array([p.factor for p in self.plant.inputs])

    def advance(self, k: int, x: np.ndarray) -> np.ndarray:
        """Return rows of states, advanced from measurement k to the next."""
        for t, v, h in self._parts(k, len(x)):
            x = self.plant.step(t, x, v, h, self.parameters)
        return x

    def advance_with_derivative(self, k: int, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the state at measurement k + 1, its derivative by the state at k, and its noise covariance.

        A part of length h whose end has the derivative I + D by its start adds, with Φ linear in time,

            ∫ Φ W Φᵀ dt = h (W + (D W + W Dᵀ) / 2 + D W Dᵀ / 3)
        """
        n = len(x)
        F, noise = np.eye(n), np.zeros((n, n))
        for t, v, h in self._parts(k, 1):
            ends, by = self.plant.step_derivatives(np.array([t]), x[None], v, h, self.parameters)
            x, part = ends[0], by[0, :, :n]
            D = part - np.eye(n)
            DW = D @ self.W
            noise = part @ noise @ part.T + h * (self.W + (DW + DW.T) / 2 + DW @ D.T / 3)
            F = part @ F
        return x, F, noise

    def _parts(self, k: int, rows: int) -> list[tuple[float, np.ndarray, float]]:
        parts = int(self.parts[k])
        h = (self.time[k + 1] - self.time[k]) / parts
        found = []
        for i in range(parts):
            share = (i + 0.5) / parts  # the input is interpolated to the middle of the part
            v = self.v[k] + share * (self.v[k + 1] - self.v[k])
            found.append((float(self.time[k] + i * h), np.broadcast_to(v, (rows, len(v))), float(h)))
        return found

    def measure(self, k: int, x: np.ndarray) -> np.ndarray:
        """Return rows of outputs for rows of states at measurement k."""
        return self._outputs.values(self._knots(k, x), self.parameters)

    def measure_with_derivative(self, k: int, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the outputs for one state at measurement k, and their derivatives."""
        at = self._knots(k, x[None])
        y, C = (f(at, self.parameters)[0] for f in (self._outputs.values, self._outputs.dense_jacobian))
        return y, C

    def _knots(self, k: int, x: np.ndarray) -> Knots:
        v = np.broadcast_to(self.v[k], (len(x), len(self.v[k])))
        return Knots(np.full(len(x), self.time[k]), x, self.plant.memory(v), np.empty((len(x), 0)))

    def correct(
        self, k: int, x: np.ndarray, P: np.ndarray, y: np.ndarray, S: np.ndarray, across: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return state and covariance after measurement k, and the innovation.

        Arguments are the predictions: the state x with covariance P, the outputs y with covariance S, and
        the covariance ``across`` of x with y. Measured values that are NaN are ignored.
        """
        e = self.y[k] - y
        known = np.isfinite(e)
        if not known.any():
            return x, P, e
        S, across = S[np.ix_(known, known)], across[:, known]
        K = np.linalg.solve(S, across.T).T
        P = P - K @ S @ K.T
        x, P = x + K @ e[known], (P + P.T) / 2
        self.check_finite(x[None], P[None], k)
        return x, P, e

    def check_finite(self, x: np.ndarray, P: np.ndarray, first: int = 0) -> None:
        """Raise an error if estimates or their covariances from measurement ``first`` on are not finite."""
        finite = np.isfinite(x).all(axis=1) & np.isfinite(P).all(axis=(1, 2))
        if not finite.all():
            t = self.time[first + np.argmin(finite)]
            raise ArmillaryError(
                f"estimate: the estimate is not finite from t = {t:.6g} s on; "
                "give a shorter step=, smaller process noise, or an initial state nearer to the motion"
            )

    def estimate(
        self, model: CompiledModel, track: _Track, method: str, parameters: DataMapping | None
    ) -> Estimate:
        """Return the estimates of a track in stated units, with a run that has all outputs at them."""
        self.check_finite(track.x, track.P)
        info = {"method": method}
        run = motion_run(model, self.time, track.x, self.plant.memory(self.v), parameters, info)
        f = self.state_factors
        return Estimate(
            run, read_only(self.time), read_only(track.x / f), read_only(track.P / np.outer(f, f)),
            read_only(track.innovations), read_only(track.innovation_P),
            tuple(p.name for p in self.states), self.outputs, method,
        )  # fmt: skip


class _Extended:
    """The extended Kalman filter."""

    def __init__(self, problem: _Problem) -> None:
        self.problem = problem

    def filter(self, x: np.ndarray, P: np.ndarray) -> _Track:
        """Return the estimates from one pass over all data."""
        p, rows = self.problem, []
        predicted, across = x, np.zeros_like(P)
        for k in range(len(p.time)):
            if k:
                predicted, F, noise = p.advance_with_derivative(k - 1, x)
                across = P @ F.T
                P = F @ across + noise
                x = predicted
            p.check_finite(x[None], P[None], k)  # LAPACK's own errors do not name the time
            before = P
            y, C = p.measure_with_derivative(k, x)
            S = C @ P @ C.T + p.V
            x, P, e = p.correct(k, x, P, y, S, P @ C.T)
            rows.append((x, P, predicted, before, across, e, S))
        return _Track(*(np.array(column) for column in zip(*rows, strict=True)))


class _Unscented:
    """The unscented Kalman filter."""

    def __init__(self, problem: _Problem) -> None:
        self.problem = problem
        n = len(problem.states)
        spread = _SPREAD**2 * n  # n + λ
        self.size = np.sqrt(spread)
        self.mean = np.full(2 * n + 1, 1 / (2 * spread))
        self.mean[0] = 1 - n / spread
        self.square = self.mean.copy()
        self.square[0] += 1 - _SPREAD**2 + _PRIOR

    def points(self, x: np.ndarray, P: np.ndarray) -> np.ndarray:
        """Return 2 n + 1 points with a given mean and covariance."""
        values, vectors = np.linalg.eigh(P)
        root = self.size * vectors * np.sqrt(np.maximum(values, 0.0))
        return np.vstack([x, x + root.T, x - root.T])

    def moments(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the weighted mean of rows, and their offsets from it.

        The mean is summed from differences to the first row, since the weights are large.
        """
        mean = rows[0] + self.mean[1:] @ (rows[1:] - rows[0])
        return mean, rows - mean

    def filter(self, x: np.ndarray, P: np.ndarray) -> _Track:
        """Return the estimates from one pass over all data."""
        p, rows = self.problem, []
        predicted, across = x, np.zeros_like(P)
        for k in range(len(p.time)):
            if k:
                points, noise = self.points(x, P), p.advance_with_derivative(k - 1, x)[2]
                predicted, off = self.moments(p.advance(k - 1, points))
                across = ((points - x).T * self.square) @ off
                P = (off.T * self.square) @ off + noise
                x = predicted
            p.check_finite(x[None], P[None], k)  # LAPACK's own errors do not name the time
            before = P
            points = self.points(x, P)
            y, off = self.moments(p.measure(k, points))
            S = (off.T * self.square) @ off + p.V
            x, P, e = p.correct(k, x, P, y, S, ((points - x).T * self.square) @ off)
            rows.append((x, P, predicted, before, across, e, S))
        return _Track(*(np.array(column) for column in zip(*rows, strict=True)))


def _smooth_track(track: _Track) -> _Track:
    """Return the estimates from all data, by the recursion of Rauch, Tung and Striebel."""
    x, P = track.x.copy(), track.P.copy()
    for k in range(len(x) - 2, -1, -1):
        G = np.linalg.lstsq(track.predicted_P[k + 1], track.across[k + 1].T, rcond=None)[0].T
        x[k] = track.x[k] + G @ (x[k + 1] - track.predicted[k + 1])
        P[k] = track.P[k] + G @ (P[k + 1] - track.predicted_P[k + 1]) @ G.T
        P[k] = (P[k] + P[k].T) / 2
    return _Track(
        x, P, track.predicted, track.predicted_P, track.across, track.innovations, track.innovation_P
    )


@kept_per_object
def _output_functions(model: CompiledModel, outputs: tuple[str, ...]) -> KnotFunctions:
    """Return functions for named outputs and their derivatives by the states."""
    by_name = {c.name: c.expression for c in model.equations.targets.columns}
    return KnotFunctions(
        model.equations, [by_name[name] for name in outputs], model.equations.targets.integrated
    )
