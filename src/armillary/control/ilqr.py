"""Iterated LQR: the inputs that minimise a cost from a given start, by second-order steps.

    minimise Σ ½[(x − z)ᵀ Q (x − z) + vᵀ R v] h + ½ (x_N − z)ᵀ S (x_N − z)       x_{k+1} = φ(x_k, v_k)

z is the target. φ is one RK4 step with the input held, and its derivatives are exact. The backward pass
computes offsets d and gains K of the law v = v̄ + α d + K (x − x̄), from a quadratic model of the cost about
the last motion x̄, v̄. The forward pass tries several step sizes α in one compiled loop. ``second=True`` adds
the second derivatives of the rates (differential dynamic programming).

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
_SIZES = _STEPS[:1], _STEPS[1:]  # the full step is tried first: it nearly always succeeds
_LEAST, _MOST = 1e-8, 1e10  # bounds of the regularisation
_WHOLE = 1e-6  # share of a step by which the duration may differ from a whole number of steps
_ACCEPTED = 1e-4  # least share of the expected decrease for an accepted step

# The problem of the last call with a plant, kept since a controller calls again and again with its settings.
_last_problems: WeakKeyDictionary[Plant, tuple[object, QuadraticProblem]] = WeakKeyDictionary()


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
class QuadraticProblem:
    """What calls of ``ilqr`` with the same settings have in common: N steps of length h, and the costs.

    Costs are quadratic about a target, with the factors ½ and, for the running cost, the step. ``spare`` has
    the routines, with their arrays, that no call is using. A call takes one out, so that threads never share
    routines.
    """

    verb: str  # the function that errors name
    Q: np.ndarray
    R: np.ndarray
    S: np.ndarray
    target: np.ndarray
    N: int
    h: float
    limits: tuple[np.ndarray, np.ndarray]
    spare: list[Routines] = field(default_factory=list)


class Routines:
    """The compiled loops of one problem: derivatives of steps, the backward sweep, and rollouts."""

    def __init__(
        self, motion: Plant, of: QuadraticProblem, constants: tuple[np.ndarray, np.ndarray], second: bool
    ) -> None:
        shape = of.N, len(motion.states), len(motion.inputs)
        self.curved = second
        self.steps = motion.prepare_step_derivatives(constants[1], of.N, of.h)
        self._times = of.h * np.arange(of.N)
        weights, slopes = (of.Q, of.R, of.S), self.steps["found"]
        self.sweep = prepare_sweep(shape, of.target, weights, of.limits, slopes, second)
        self.motions = tuple(
            motion.prepare_rollouts(constants[0], of.N, of.h, of.limits, of.target, weights, sizes)
            for sizes in _SIZES
        )
        self.set_time(0.0)

    def set_target(self, target: np.ndarray) -> None:
        """Set the states about which the cost is quadratic."""
        for routine in (self.sweep, *self.motions):
            routine.arrays["target"][...] = target

    def set_time(self, t: float) -> None:
        """Set the time of the start."""
        self.steps.arrays["t"][:] = t + self._times
        for motions in self.motions:
            motions.arrays["settings"][1] = t

    def set_constants(self, constants: tuple[np.ndarray, np.ndarray]) -> None:
        """Set the precomputed constants of a parameter set."""
        self.steps.arrays["constants"][...] = constants[1]
        for motions in self.motions:
            motions.arrays["constants"][...] = constants[0]


def read_quadratic_problem(
    motion: Plant, verb: str, duration: float, step: float, inputs: object,
    weights: tuple[object, object, object], target: object,
) -> QuadraticProblem:  # fmt: skip
    """Return the problem of these arguments; a problem with the same arguments as the last is not remade."""
    key = exact_key((verb, duration, step, inputs, weights, target))
    last = _last_problems.get(motion)
    if last is not None and last[0] == key:
        return last[1]
    h, T = from_zero(step, "step"), from_zero(duration, "duration")
    N = round(T / h) if h and np.isfinite(T) else 0
    if N < 1 or abs(N * h - T) > _WHOLE * h:
        raise ParameterError(f"{verb} needs a whole number of steps: duration {duration!r}, step {step!r}")
    names = [p.name for p in motion.states]
    fx, fv = motion.factors
    steered = [p.name for p in motion.inputs]
    R = weight_matrix(weights[1], steered, "R", positive=True) / np.outer(fv, fv)
    Q, S = (
        weight_matrix(m, names, what) / np.outer(fx, fx)
        for m, what in ((weights[0], "Q"), (weights[2], "final"))
    )
    wanted = target_states(motion, target)
    limits = input_limits(inputs if isinstance(inputs, Mapping) else {}, steered)
    found = QuadraticProblem(verb, Q, R, S, wanted, N, h, (limits[0] * fv, limits[1] * fv))
    _last_problems[motion] = key, found
    return found


def target_states(motion: Plant, target: object) -> np.ndarray:
    """Return the states of ``target``, which has values by name; states that it does not name are zero."""
    return named_states(motion, target, "target=", np.zeros(len(motion.states)))


def named_states(motion: Plant, given: object, what: str, others: np.ndarray) -> np.ndarray:
    """Return states with values by name; states without one are as in ``others``."""
    found, names = others.copy(), [p.name for p in motion.states]
    for name, value in own_values(motion.states, table(given, what), what).items():
        found[names.index(name)] = value
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

    δ = x − ``target``, where states that ``target`` does not name have the target zero; S is ``final``.
    ``inputs`` are names, or names with limits (low, high). ``guess`` has the inputs of each step with which
    the search begins, by default zero. Derivatives of steps are exact; ``second`` adds the second
    derivatives of the rates (DDP). Interrupted by Ctrl-C, ``ilqr`` returns the best motion so far.
    """
    motion = steered_plant(model, inputs)
    motion.check_independent("ilqr")
    problem = read_quadratic_problem(motion, "ilqr", duration, step, inputs, (Q, R, final), target)
    N, h, (low, high) = problem.N, problem.h, problem.limits
    fx, fv = motion.factors
    most, tolerance = count(iterations, "iterations"), from_zero(tolerance, "tolerance")
    start = motion.start(model, initial, parameters)
    v = np.clip(read_guess(motion, guess, N, fv), low, high)
    constants, spare = motion.step_constants(parameters), problem.spare
    routines = spare.pop() if spare else None
    if routines is None or routines.curved != second:
        routines = Routines(motion, problem, constants, second)
    else:
        routines.set_constants(constants)
    search = Search(motion, problem, routines, parameters)
    costs, converged, message = _search_until_converged(search, start, v, most, tolerance)
    spare.append(routines)
    x, v, K = search.x, search.v, search.K
    time = h * np.arange(N + 1)
    given = None if parameters is None else dict(parameters)
    info = {"method": "ilqr", "step": h}

    def make_run() -> Run:
        return motion_run(model, time, x, motion.memory(np.vstack([v, v[-1:]])), given, info)

    return IteratedRegulator(
        costs[-1], read_only(time), read_only(x / fx), read_only(v / fv),
        read_only(K * fx / fv[:, None]), tuple(costs), converged, message, make_run,
    )  # fmt: skip


def _search_until_converged(
    search: Search, start: np.ndarray, v: np.ndarray, iterations: int, tolerance: float
) -> tuple[list[float], bool, str]:
    """Iterate from the motion under the inputs v; return all costs, whether they converged, and a message."""
    search.roll_out_freely(start, v)
    if not np.isfinite(search.x).all():
        raise ArmillaryError(
            f"ilqr: the motion of '{search.motion.system}' under the guess is not finite; give a shorter "
            "step, or guess= with inputs under which it stays finite"
        )
    costs = [search.cost]
    for _ in range(iterations):
        try:
            better = search.iterate()
        except KeyboardInterrupt:
            return costs, False, "interrupted; this is the best motion so far"
        small = search.slope <= tolerance * max(abs(costs[-1]), 1e-300)
        if better:
            costs.append(search.cost)
            if small and costs[-2] - costs[-1] <= tolerance * max(abs(costs[-1]), 1e-300):
                return costs, True, "converged"
        elif small:
            return costs, True, "converged"
        elif search.regular > _MOST:
            return costs, False, "no step makes the cost smaller, although its slope is not zero"
    return costs, False, f"not converged after {iterations} iterations"


class Search:
    """A motion that iterations improve: states ``x``, inputs ``v``, the ``cost``, and gains ``K`` about it.

    ``slope`` is the decrease of the cost per step size that the last iteration expected, and ``regular`` is
    the regularisation of the next iteration.
    """

    def __init__(
        self, motion: Plant, problem: QuadraticProblem, routines: Routines, parameters: DataMapping | None
    ) -> None:
        self.motion, self.problem, self.routines, self.parameters = motion, problem, routines, parameters
        N, n, m = problem.N, len(motion.states), len(motion.inputs)
        self.x, self.v, self.K = np.zeros((N + 1, n)), np.zeros((N, m)), np.zeros((N, m, n))
        self.cost, self.slope, self.regular = np.inf, 0.0, 0.0

    def roll_out(self, start: np.ndarray, v: np.ndarray) -> None:
        """Make the motion from a start under v + K (x − x̄), where x̄ are the states of the last motion."""
        self._take(0, self._try_sizes(0, start, v, 0.0))

    def roll_out_freely(self, start: np.ndarray, v: np.ndarray) -> None:
        """Make the motion from a start under the inputs v, without feedback."""
        self.K = np.zeros_like(self.K)
        self.roll_out(start, v)

    def move_on(self) -> None:
        """Shift the motion and its gains by one step; the last step repeats its inputs, with zero gains."""
        for values in (self.x, self.v, self.K):
            values[:-1] = values[1:]
        self.K[-1] = 0.0

    def iterate(self) -> bool:
        """Make one iteration; return whether it found a motion of smaller cost, which replaces the last."""
        curvature, d = self._sweep_back(), self.routines.sweep["d"]
        for i, sizes in enumerate(_SIZES):
            costs = self._try_sizes(i, self.x[0], self.v, d)
            expected = np.maximum(sizes * self.slope + sizes**2 * curvature, 0.0)
            good = np.flatnonzero(costs <= self.cost - _ACCEPTED * expected)
            if len(good):
                self._take(i, costs, int(good[np.argmin(costs[good])]))
                self.regular = 0.0 if self.regular < _LEAST else self.regular / 5
                return True
        self._regularise()
        return False

    def _regularise(self) -> None:
        self.regular = max(10 * self.regular, 1e-6)

    def _sweep_back(self) -> float:
        """Compute offsets, gains and slope; return the curvature of the expected decrease.

        The regularisation is raised until the quadratic model of the cost has a minimum.
        """
        steps, sweep, n = self.routines.steps, self.routines.sweep, self.x.shape[1]
        before = self.x[:-1]
        steps(x=before, v=self.v)
        if self.routines.curved:
            second = self.motion.rate_curvatures(steps["t"], before, self.v, self.parameters)
            sweep.arrays["curvatures"][...] = second
        while True:
            sweep(settings=(self.problem.h, self.regular), x=self.x, v=self.v)
            success, self.slope, curvature = sweep["found"].tolist()
            if success:
                self.K = sweep["K"][:, :, :n].copy()
                return float(curvature)
            self._regularise()
            if self.regular > _MOST:
                raise ArmillaryError(
                    f"{self.problem.verb}: the cost is not convex in the inputs, whatever the regularisation"
                )

    def _try_sizes(self, i: int, start: np.ndarray, v: np.ndarray, d: np.ndarray | float) -> np.ndarray:
        """Return, for each α, the cost of the motion under v + α d + K (x − x̄); ∞ if it is not finite."""
        roll = self.routines.motions[i]
        roll["motions"][:, 0] = start
        roll(x=self.x, v=v, d=d, K=self.K)
        costs = roll["costs"]
        return np.where(np.isfinite(costs), costs, np.inf)

    def _take(self, i: int, costs: np.ndarray, best: int = 0) -> None:
        """Replace the motion by one of the motions that were tried last."""
        roll = self.routines.motions[i]
        self.x, self.v, self.cost = (
            roll["motions"][best].copy(),
            roll["held"][best].copy(),
            float(costs[best]),
        )


def read_guess(motion: Plant, guess: object, N: int, fv: np.ndarray) -> np.ndarray:
    """Return ``guess`` as inputs of N steps in the model's own units, by the inputs' factors ``fv``."""
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
