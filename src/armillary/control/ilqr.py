"""Iterated LQR: the inputs that minimise a cost from a given start, by second-order steps.

    minimise Σ ½[(x − x̄)ᵀ Q (x − x̄) + vᵀ R v] h + ½ (x_N − x̄)ᵀ S (x_N − x̄)       x_{k+1} = φ(x_k, v_k)

φ is one RK4 step with the input held, and its derivatives are exact. The backward pass finds the law v = v̄ +
α d + K (x − x̄) from a quadratic model of the cost; the forward pass tries several step sizes α together, a
row each. ``second=True`` adds the curvature of the rates (differential dynamic programming).

Sources: Li and Todorov (2004), Iterative linear quadratic regulator design for nonlinear biological movement
systems; Tassa, Erez and Todorov (2012), Synthesis and stabilization of complex behaviors, for the
regularisation; Tassa, Mansard and Todorov (2014), Control-limited differential dynamic programming, for
bounds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from armillary.algebra.arguments import check_finite_elements, count, from_zero, read_only, reals, table
from armillary.control.compiled_sweeps import sweep_back
from armillary.control.plant import Plant, motion_run, own_values, steered_plant
from armillary.control.regulators import input_limits, weight_matrix
from armillary.errors import ArmillaryError, ParameterError
from armillary.results import Run
from armillary.runtime.models.compiled import CompiledModel
from armillary.settings import Initial
from armillary.untyped import DataMapping

_STEPS = 1.1 ** (-(np.arange(10.0) ** 2))  # step sizes α: 1 to 4e-4
_LEAST, _MOST = 1e-8, 1e10  # bounds of the regularisation
_WHOLE = 1e-6  # share of a step by which the duration may differ from a whole number of steps
_ACCEPTED = 1e-4  # least share of the expected decrease for an accepted step


@dataclass(frozen=True, eq=False, repr=False)
class IteratedRegulator:
    """The motion that iterated LQR found: ``run``, its ``cost`` and the gains ``K[k]`` around it.

    ``costs`` has the cost after every iteration; if ``converged`` is false, ``message`` has the reason.
    """

    run: Run
    cost: float
    time: np.ndarray
    state: np.ndarray
    input: np.ndarray
    K: np.ndarray
    costs: tuple[float, ...]
    converged: bool
    message: str

    def __repr__(self) -> str:
        return (
            f"IteratedRegulator: cost {self.cost:.8g} after {len(self.costs) - 1} iterations; {self.message}"
        )


@dataclass(frozen=True, eq=False)
class _Cost:
    """Quadratic costs about a target, with the factors ½ and, for the running cost, the step."""

    Q: np.ndarray
    R: np.ndarray
    S: np.ndarray
    target: np.ndarray
    h: float

    def of(self, x: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the cost of each motion of x (rows × knots × states) and v (rows × steps × inputs)."""
        off = x - self.target
        running = np.einsum("rki,ij,rkj->r", off[:, :-1], self.Q, off[:, :-1])
        running += np.einsum("rki,ij,rkj->r", v, self.R, v)
        last = np.einsum("ri,ij,rj->r", off[:, -1], self.S, off[:, -1])
        found: np.ndarray = 0.5 * (self.h * running + last)
        return found


def ilqr(
    model: CompiledModel,
    duration: float,
    *,
    step: float,
    inputs: Sequence[str] | Mapping[str, object],
    Q: object,
    R: object,
    final: object,
    target: Mapping[str, object] | None = None,
    initial: Initial = None,
    guess: object = None,
    parameters: DataMapping | None = None,
    iterations: int = 200,
    tolerance: float = 1e-9,
    second: bool = False,
) -> IteratedRegulator:
    """Return the inputs, held over each ``step``, that minimise ½ ∫ (δᵀ Q δ + vᵀ R v) dt + ½ δᵀ S δ at
    the end.

    δ = x − ``target``, zero where it names nothing; S is ``final``. ``inputs`` are names, or names with
    limits (low, high). ``guess`` are inputs for each step to begin with (left out: zero). Derivatives of
    steps are exact; with ``second`` the curvature of the rates counts, too (DDP). Interrupted by Ctrl-C
    it returns the best motion so far.
    """
    motion = steered_plant(model, inputs)
    motion.check_independent("ilqr")
    h, T = from_zero(step, "step"), from_zero(duration, "duration")
    N = round(T / h) if h and np.isfinite(T) else 0
    if N < 1 or abs(N * h - T) > _WHOLE * h:
        raise ParameterError(f"ilqr needs a whole number of steps: duration {duration!r}, step {step!r}")
    names = [p.name for p in motion.states]
    fx, fv = (np.array([p.factor for p in ports]) for ports in (motion.states, motion.inputs))
    steered = [p.name for p in motion.inputs]
    R = weight_matrix(R, steered, "R", positive=True) / np.outer(fv, fv)
    Q, S = (weight_matrix(m, names, what) / np.outer(fx, fx) for m, what in ((Q, "Q"), (final, "final")))
    wanted = np.zeros(len(names))
    for name, value in own_values(motion.states, table(target, "target="), "target=").items():
        wanted[names.index(name)] = value
    limits = inputs if isinstance(inputs, Mapping) else {}
    low, high = (ends * fv for ends in input_limits(limits, steered))
    start = motion.start(model, initial, parameters)
    v = _guess(motion, guess, N, fv)
    cost = _Cost(Q, R, S, wanted, h)
    search = _Search(motion, cost, start, h, parameters, second, low, high)
    found = search.run(
        np.clip(v, low, high), count(iterations, "iterations"), from_zero(tolerance, "tolerance")
    )
    x, v, K, costs, converged, message = found
    time = h * np.arange(N + 1)
    memory = motion.memory(np.vstack([v, v[-1:]]))
    run = motion_run(model, time, x, memory, parameters, {"method": "ilqr", "step": h})
    return IteratedRegulator(
        run, costs[-1], read_only(time), read_only(x / fx), read_only(v / fv),
        read_only(K * fx / fv[:, None]), tuple(costs), converged, message,
    )  # fmt: skip


class _Search:
    """The iterations from one start."""

    def __init__(
        self,
        motion: Plant,
        cost: _Cost,
        start: np.ndarray,
        h: float,
        parameters: DataMapping | None,
        second: bool,
        low: np.ndarray,
        high: np.ndarray,
    ) -> None:
        self.motion, self.cost, self.start, self.h, self.parameters = motion, cost, start, h, parameters
        self.second, self.low, self.high = second, low, high

    def run(
        self, v: np.ndarray, iterations: int, tolerance: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[float], bool, str]:
        """Return states, inputs, gains, costs, whether the search converged, and a message."""
        N, n, m = len(v), len(self.start), v.shape[1]
        x = self._roll(np.zeros((N + 1, n)), v, np.zeros((N, m)), np.zeros((N, m, n)), np.zeros(1))[0][0]
        if not np.isfinite(x).all():
            raise ArmillaryError(
                f"ilqr: the motion of '{self.motion.system}' under the guess is not finite; give a shorter "
                "step, or guess= with inputs under which it stays finite"
            )
        costs = [float(self.cost.of(x[None], v[None])[0])]
        regular, K = 0.0, np.zeros((N, m, n))
        message, converged = f"not converged after {iterations} iterations", False
        for _ in range(iterations):
            try:
                backward, regular = self._regular_backward_sweep(x, v, regular)
                d, K, decrease = backward
                for sizes in (_STEPS[:1], _STEPS[1:]):  # the full step nearly always succeeds
                    motions, inputs, values = self._try_sizes(x, v, d, K, sizes)
                    expected = np.maximum(sizes * decrease[0] + sizes**2 * decrease[1], 0.0)
                    good = np.flatnonzero(values <= costs[-1] - _ACCEPTED * expected)
                    if len(good):
                        break
            except KeyboardInterrupt:
                message = "interrupted; this is the best motion so far"
                break
            small = decrease[0] <= tolerance * max(abs(costs[-1]), 1e-300)
            if not len(good):
                if small:
                    converged, message = True, "converged"
                    break
                regular = max(10 * regular, 1e-6)
                if regular > _MOST:
                    message = "no step makes the cost smaller, although its slope is not zero"
                    break
                continue
            best = int(good[np.argmin(values[good])])
            x, v = motions[best], inputs[best]
            costs.append(float(values[best]))
            regular = 0.0 if regular < _LEAST else regular / 5
            if small and costs[-2] - costs[-1] <= tolerance * max(abs(costs[-1]), 1e-300):
                converged, message = True, "converged"
                break
        return x, v, K, costs, converged, message

    def _regular_backward_sweep(
        self, x: np.ndarray, v: np.ndarray, regular: float
    ) -> tuple[tuple[np.ndarray, np.ndarray, tuple[float, float]], float]:
        t = self.h * np.arange(len(v))
        slopes = self.motion.step_derivatives(t, x[:-1], v, self.h, self.parameters)[1]
        bent = self.motion.rate_curvatures(t, x[:-1], v, self.parameters) if self.second else None
        c = self.cost
        while True:
            found = sweep_back(
                x, v, slopes, bent, c.target, (c.Q, c.R, c.S), (self.low, self.high), self.h, regular
            )
            if found is not None:
                return found, regular
            regular = max(10 * regular, 1e-6)
            if regular > _MOST:
                raise ArmillaryError(
                    "ilqr: the cost is not convex in the inputs, whatever the regularisation"
                )

    def _try_sizes(
        self, x: np.ndarray, v: np.ndarray, d: np.ndarray, K: np.ndarray, sizes: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        motions, inputs = self._roll(x, v, d, K, sizes)
        with np.errstate(over="ignore", invalid="ignore"):
            values = self.cost.of(motions, inputs)
        return motions, inputs, np.where(np.isfinite(values), values, np.inf)

    def _roll(
        self, x: np.ndarray, v: np.ndarray, d: np.ndarray, K: np.ndarray, sizes: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return motions and inputs by v̄ + α d + K (x − x̄) from the start, one for each α."""
        limits = (self.low, self.high)
        return self.motion.roll_out(self.start, self.h, (x, v), (d, K), limits, sizes, self.parameters)


def _guess(motion: Plant, guess: object, N: int, fv: np.ndarray) -> np.ndarray:
    m = len(motion.inputs)
    if guess is None:
        return np.zeros((N, m))
    found = reals(guess, "guess=", ParameterError)
    if found.ndim == 1 and m == 1 and len(found) == N:
        found = found[:, None]
    if found.shape not in ((N, m), (m,)):
        raise ParameterError(f"guess= must be inputs for {N} steps, an array of shape ({N}, {m})")
    check_finite_elements(found, "guess=", ParameterError)
    return np.broadcast_to(found * fv, (N, m)).copy()
