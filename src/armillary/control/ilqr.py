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

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np

from armillary.algebra.arguments import (
    check_finite_elements,
    count,
    exact_key,
    from_zero,
    read_only,
    reals,
    table,
)
from armillary.control.compiled_sweeps import prepare_sweep
from armillary.control.plant import Plant, motion_run, own_values, steered_plant
from armillary.control.regulators import input_limits, weight_matrix
from armillary.errors import ArmillaryError, ParameterError
from armillary.results import Run
from armillary.runtime.models.compiled import CompiledModel
from armillary.settings import Initial
from armillary.untyped import DataMapping, DataTable

_STEPS = 1.1 ** (-(np.arange(10.0) ** 2))  # step sizes α: 1 to 4e-4
_SIZES = _STEPS[:1], _STEPS[1:]  # tried together; the full step nearly always succeeds
_LEAST, _MOST = 1e-8, 1e10  # bounds of the regularisation
_WHOLE = 1e-6  # share of a step by which the duration may differ from a whole number of steps
_ACCEPTED = 1e-4  # least share of the expected decrease for an accepted step

# The problem of the last call with a plant: a controller that plans again and again gives the same settings.
_last_problems: WeakKeyDictionary[Plant, tuple[object, _Problem]] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False, repr=False)
class IteratedRegulator:
    """The motion that iterated LQR found: ``run``, its ``cost`` and the gains ``K[k]`` around it.

    ``costs`` has the cost after every iteration; if ``converged`` is false, ``message`` has the reason.
    """

    cost: float
    time: np.ndarray
    state: np.ndarray
    input: np.ndarray
    K: np.ndarray
    costs: tuple[float, ...]
    converged: bool
    message: str
    _make_run: Callable[[], Run]

    @cached_property
    def run(self) -> Run:
        """The motion with all outputs, made when it is first read: controllers need only the inputs."""
        return self._make_run()

    def __getstate__(self) -> DataTable:
        """Return the content for pickle, with the run in place of the model that makes it."""
        return {**self.__dict__, "run": self.run, "_make_run": None}

    def __repr__(self) -> str:
        return (
            f"IteratedRegulator: cost {self.cost:.8g} after {len(self.costs) - 1} iterations; {self.message}"
        )


@dataclass(frozen=True, eq=False)
class _Problem:
    """What calls of ``ilqr`` with the same settings have in common: N steps of length h, and the costs.

    Costs are quadratic about a target, with the factors ½ and, for the running cost, the step. ``spare`` are
    routines with their arrays that no call uses now: a call takes one out, so that threads share none.
    """

    Q: np.ndarray
    R: np.ndarray
    S: np.ndarray
    target: np.ndarray
    N: int
    h: float
    limits: tuple[np.ndarray, np.ndarray]
    spare: list[_Routines] = field(default_factory=list)

    def costs(self, x: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the cost of each motion of x (rows × knots × states) and v (rows × steps × inputs)."""
        off = x - self.target
        before, last = off[:, :-1], off[:, -1]
        running = ((before @ self.Q) * before).sum(axis=(1, 2)) + ((v @ self.R) * v).sum(axis=(1, 2))
        found: np.ndarray = 0.5 * (self.h * running + ((last @ self.S) * last).sum(axis=1))
        return found


class _Routines:
    """The compiled loops of one problem: derivatives of steps, the sweep backwards, and motions by it."""

    def __init__(
        self, motion: Plant, of: _Problem, constants: tuple[np.ndarray, np.ndarray], second: bool
    ) -> None:
        shape = of.N, len(motion.states), len(motion.inputs)
        self.curved, self.constants = second, constants
        self.steps = motion.prepare_step_derivatives(constants[1], of.N, of.h)
        self.steps.arrays["t"][:] = of.h * np.arange(of.N)
        weights, slopes = (of.Q, of.R, of.S), self.steps["found"]
        self.sweep = prepare_sweep(shape, of.target, weights, of.limits, slopes, second)
        self.motions = tuple(
            motion.prepare_rollouts(constants[0], of.N, of.h, of.limits, sizes) for sizes in _SIZES
        )

    def set_constants(self, constants: tuple[np.ndarray, np.ndarray]) -> None:
        """Set the precomputed constants of a parameter set."""
        self.steps.arrays["constants"][...] = constants[1]
        for motions in self.motions:
            motions.arrays["constants"][...] = constants[0]


def _problem(
    motion: Plant, duration: float, step: float, inputs: object, weights: tuple[object, object, object],
    target: object,
) -> _Problem:  # fmt: skip
    """Return the problem of these arguments; that of the last call if they are the same."""
    key = exact_key((duration, step, inputs, weights, target))
    last = _last_problems.get(motion)
    if last is not None and last[0] == key:
        return last[1]
    h, T = from_zero(step, "step"), from_zero(duration, "duration")
    N = round(T / h) if h and np.isfinite(T) else 0
    if N < 1 or abs(N * h - T) > _WHOLE * h:
        raise ParameterError(f"ilqr needs a whole number of steps: duration {duration!r}, step {step!r}")
    names = [p.name for p in motion.states]
    fx, fv = motion.factors
    steered = [p.name for p in motion.inputs]
    R = weight_matrix(weights[1], steered, "R", positive=True) / np.outer(fv, fv)
    Q, S = (
        weight_matrix(m, names, what) / np.outer(fx, fx)
        for m, what in ((weights[0], "Q"), (weights[2], "final"))
    )
    wanted = np.zeros(len(names))
    for name, value in own_values(motion.states, table(target, "target="), "target=").items():
        wanted[names.index(name)] = value
    limits = input_limits(inputs if isinstance(inputs, Mapping) else {}, steered)
    found = _Problem(Q, R, S, wanted, N, h, (limits[0] * fv, limits[1] * fv))
    _last_problems[motion] = key, found
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
    problem = _problem(motion, duration, step, inputs, (Q, R, final), target)
    N, h, (low, high) = problem.N, problem.h, problem.limits
    fx, fv = motion.factors
    most, tolerance = count(iterations, "iterations"), from_zero(tolerance, "tolerance")
    start = motion.start(model, initial, parameters)
    v = np.clip(_guess(motion, guess, N, fv), low, high)
    search = _Search(motion, problem, start, parameters, second)
    x, v, K, costs, converged, message = search.run(v, most, tolerance)
    time = h * np.arange(N + 1)
    given = None if parameters is None else dict(parameters)
    info = {"method": "ilqr", "step": h}

    def make_run() -> Run:
        return motion_run(model, time, x, motion.memory(np.vstack([v, v[-1:]])), given, info)

    return IteratedRegulator(
        costs[-1], read_only(time), read_only(x / fx), read_only(v / fv),
        read_only(K * fx / fv[:, None]), tuple(costs), converged, message, make_run,
    )  # fmt: skip


class _Search:
    """The iterations from one start."""

    def __init__(
        self,
        motion: Plant,
        problem: _Problem,
        start: np.ndarray,
        parameters: DataMapping | None,
        second: bool,
    ) -> None:
        self.motion, self.problem, self.start = motion, problem, start
        self.parameters, self.second = parameters, second

    def run(
        self, v: np.ndarray, iterations: int, tolerance: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[float], bool, str]:
        """Return states, inputs, gains, costs, whether the search converged, and a message."""
        constants, spare = self.motion.step_constants(self.parameters), self.problem.spare
        routines = spare.pop() if spare else None
        if routines is None or routines.curved != self.second:
            routines = _Routines(self.motion, self.problem, constants, self.second)
        else:
            routines.set_constants(constants)
        found = self._iterate(routines, v, iterations, tolerance)
        spare.append(routines)
        return found

    def _iterate(
        self, routines: _Routines, v: np.ndarray, iterations: int, tolerance: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[float], bool, str]:
        (N, m), n = v.shape, len(self.start)
        K = np.zeros((N, m, n))
        motions, _, values = self._try_sizes(routines, 0, np.zeros((N + 1, n)), v, 0.0, 0.0)
        x = motions[0].copy()
        if not np.isfinite(x).all():
            raise ArmillaryError(
                f"ilqr: the motion of '{self.motion.system}' under the guess is not finite; give a shorter "
                "step, or guess= with inputs under which it stays finite"
            )
        costs, regular = [float(values[0])], 0.0
        message, converged = f"not converged after {iterations} iterations", False
        for _ in range(iterations):
            try:
                slope, bend, regular = self._regular_backward_sweep(routines, x, v, regular)
                d, K = routines.sweep["d"], routines.sweep["K"].copy()
                for i, sizes in enumerate(_SIZES):
                    motions, inputs, values = self._try_sizes(routines, i, x, v, d, K)
                    expected = np.maximum(sizes * slope + sizes**2 * bend, 0.0)
                    good = np.flatnonzero(values <= costs[-1] - _ACCEPTED * expected)
                    if len(good):
                        break
            except KeyboardInterrupt:
                message = "interrupted; this is the best motion so far"
                break
            small = slope <= tolerance * max(abs(costs[-1]), 1e-300)
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
            x, v = motions[best].copy(), inputs[best].copy()
            costs.append(float(values[best]))
            regular = 0.0 if regular < _LEAST else regular / 5
            if small and costs[-2] - costs[-1] <= tolerance * max(abs(costs[-1]), 1e-300):
                converged, message = True, "converged"
                break
        return x, v, K, costs, converged, message

    def _regular_backward_sweep(
        self, routines: _Routines, x: np.ndarray, v: np.ndarray, regular: float
    ) -> tuple[float, float, float]:
        """Return slope and curvature of the expected decrease, and the regularisation that was needed."""
        steps, sweep = routines.steps, routines.sweep
        steps(x=x[:-1], v=v)
        if self.second:
            bent = self.motion.rate_curvatures(steps["t"], x[:-1], v, self.parameters)
            sweep.arrays["curvatures"][...] = bent
        while True:
            sweep(settings=(self.problem.h, regular), x=x, v=v, d=0.0, K=0.0, found=0.0)
            success, slope, bend = sweep["found"].tolist()
            if success:
                return slope, bend, regular
            regular = max(10 * regular, 1e-6)
            if regular > _MOST:
                raise ArmillaryError(
                    "ilqr: the cost is not convex in the inputs, whatever the regularisation"
                )

    def _try_sizes(
        self, routines: _Routines, i: int, x: np.ndarray, v: np.ndarray, d: np.ndarray | float,
        K: np.ndarray | float,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
        """Return motions and inputs by v̄ + α d + K (x − x̄) from the start, and costs, for each α.

        The next call overwrites motions and inputs.
        """
        roll = routines.motions[i]
        motions, inputs = roll["motions"], roll["held"]
        motions[:, 0] = self.start
        roll(x=x, v=v, d=d, K=K)
        with np.errstate(over="ignore", invalid="ignore"):
            values = self.problem.costs(motions, inputs)
        return motions, inputs, np.where(np.isfinite(values), values, np.inf)


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
