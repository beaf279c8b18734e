"""Models as environments of Gymnasium: many copies of one model, stepped together in compiled code.

    from armillary import gym

    env = gym.ModelEnvironments(
        model, 1024, step=0.02, inputs={"F": (-10, 10)}, observations=["cart.q1", "cos(pole.q1)"],
        reward="1 - 0.01*F^2", within={"cart.q1": (-2.4, 2.4)}, time_limit=10.0,
        initial={"pole.q1": (-0.1, 0.1)}, parameters={"L": (0.4, 0.6)},
    )

Observations, rewards and limits are expressions of the model. Inputs are held over a step of RK4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from armillary.algebra.arguments import checked_names, count, from_zero, real, several, table
from armillary.control.compiled_steps import step_rows
from armillary.control.knot_functions import KnotFunctions, Knots
from armillary.control.plant import check_smooth, input_ports, state_ports
from armillary.control.problem import ExpressionReader, limit_pair
from armillary.errors import ParameterError, require
from armillary.runtime.models.compiled import CompiledModel
from armillary.runtime.start.initial import initial_memory
from armillary.untyped import DataMapping, DataTable, LibraryObject

gymnasium: LibraryObject = require("gymnasium", extra="gym", purpose="environments of armillary.gym")

_THREAD = 20_000  # steps of RK4 that are worth a thread: some milliseconds


class ModelEnvironments(gymnasium.vector.VectorEnv):  # type: ignore[misc]  # the library may not be installed
    """``envs`` copies of a model as one `gymnasium.vector.VectorEnv`.

    An episode begins at values drawn from ``initial`` (numbers, or (low, high)) with parameters drawn from
    ``parameters``, ends where an expression of ``within`` leaves its limits, and is cut off after
    ``time_limit`` seconds. Ended copies begin anew at their next step, as Gymnasium's mode "next step" says.
    Each ``step`` takes so many ``parts`` of RK4.
    """

    metadata = {"autoreset_mode": gymnasium.vector.AutoresetMode.NEXT_STEP}  # noqa: RUF012  # Gymnasium's way

    def __init__(
        self,
        model: CompiledModel,
        envs: int,
        *,
        step: float,
        inputs: Mapping[str, object],
        observations: Sequence[str],
        reward: object,
        within: Mapping[str, object] | None = None,
        time_limit: float = np.inf,
        initial: DataMapping | None = None,
        parameters: DataMapping | None = None,
        parts: int = 1,
        threads: int = 1,
    ) -> None:
        equations = model.equations
        check_smooth(equations)
        self.num_envs, self.h = count(envs, "envs"), from_zero(step, "step")
        self.parts, self.threads, self.time_limit = (
            count(parts, "parts"),
            count(threads, "threads"),
            time_limit,
        )
        self._model, self._states = model, state_ports(equations)
        self._inputs = input_ports(equations, list(inputs))
        limits = np.array([_range(inputs[p.name], f"inputs= '{p.name}'") for p in self._inputs])
        self._factor = np.array([p.factor for p in self._inputs])
        self._initial = {name: _range(value, f"initial= '{name}'") for name, value in (initial or {}).items()}
        checked_names(
            self._initial, [p.name for p in self._states], "initial= there is no state", ParameterError
        )
        self._drawn = {
            name: _range(value, f"parameters= '{name}'") for name, value in (parameters or {}).items()
        }
        checked_names(
            self._drawn, list(model.parameters), "parameters= there is no parameter", ParameterError
        )
        reader = ExpressionReader(equations, {}, None)
        shown = [reader.read(text, "observations=") for text in several(observations, "observations=")]
        bounded: DataTable = table(within, "within=")
        self._within = np.array([_range(value, f"within= '{n}'") for n, value in bounded.items()]).reshape(
            -1, 2
        )
        results = [*shown, reader.read(reward, "reward="), *(reader.read(n, "within=") for n in bounded)]
        self._seen = len(shown)
        self._rates = KnotFunctions(equations, equations.targets.rates, ()).value_functions
        self._results = KnotFunctions(equations, results, ()).value_functions
        self._memory = initial_memory(equations)
        self._places = [list(equations.system.memories).index(p.name) for p in self._inputs]
        Box = gymnasium.spaces.Box
        self.single_observation_space = Box(-np.inf, np.inf, (self._seen,), np.float64)
        self.single_action_space = Box(limits[:, 0], limits[:, 1], dtype=np.float64)
        batch = gymnasium.vector.utils.batch_space
        self.observation_space = batch(self.single_observation_space, self.num_envs)
        self.action_space = batch(self.single_action_space, self.num_envs)
        self._x = np.zeros((self.num_envs, len(self._states)))
        self._t = np.zeros(self.num_envs)
        self._ended = np.zeros(self.num_envs, dtype=bool)
        self._chosen = {name: np.full(self.num_envs, low) for name, (low, _) in self._drawn.items()}
        self._pool = ThreadPoolExecutor(self.threads) if self.threads > 1 else None
        self._draw_constants()

    # ------------------------------------------------------------ Gymnasium's verbs

    def reset(
        self, *, seed: int | None = None, options: DataTable | None = None
    ) -> tuple[np.ndarray, DataTable]:
        """Begin all episodes anew."""
        super().reset(seed=seed, options=options)
        self._ended[:] = False
        self._begin(np.ones(self.num_envs, dtype=bool))
        return self._look(np.zeros((self.num_envs, len(self._inputs))))[:, : self._seen], {}

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, DataTable]:
        """Hold inputs for one step; copies that ended before begin anew instead."""
        v = np.array(actions, dtype=float).reshape(self.num_envs, len(self._inputs)) * self._factor
        anew = self._ended.copy()
        self._advance(v)
        self._t += self.h
        if anew.any():
            self._begin(anew)
        found = self._look(v)
        seen, reward, values = found[:, : self._seen], found[:, self._seen], found[:, self._seen + 1 :]
        inside = (values >= self._within[:, 0]) & (values <= self._within[:, 1])
        ended = ~(inside.all(axis=1) & np.isfinite(self._x).all(axis=1)) & ~anew
        cut = (self._t >= self.time_limit - 1e-9) & ~ended & ~anew
        self._ended = ended | cut
        return seen, np.where(anew, 0.0, reward), ended, cut, {}

    # ------------------------------------------------------------ inside

    def _advance(self, v: np.ndarray) -> None:
        def share(first: int, last: int) -> None:
            constants = self._constants if self._constants.ndim == 1 else self._constants[first:last]
            step_rows(
                self._rates.address("knot"), constants, self._memory, self._places, self._t[first:last],
                self._x[first:last], v[first:last], self.h, self.parts,
            )  # fmt: skip

        n = self.num_envs
        if self._pool is None or n * self.parts < 2 * _THREAD:
            share(0, n)
            return
        cuts = [n * i // self.threads for i in range(self.threads + 1)]
        list(self._pool.map(share, cuts[:-1], cuts[1:]))  # compiled code runs without Python's lock

    def _begin(self, chosen: np.ndarray) -> None:
        """Draw starts and parameters of some copies."""
        rows, rng = int(np.count_nonzero(chosen)), self.np_random
        start = np.tile(self._model.state(), (rows, 1))
        for i, port in enumerate(self._states):
            if port.name in self._initial:
                start[:, i] = rng.uniform(*self._initial[port.name], rows) * port.factor
        self._x[chosen], self._t[chosen] = start, 0.0
        for name, limits in self._drawn.items():
            self._chosen[name][chosen] = rng.uniform(*limits, rows)
        if self._drawn:
            self._draw_constants()

    def _draw_constants(self) -> None:
        given = self._chosen or None
        self._constants, self._seen_constants = self._rates.constants(given), self._results.constants(given)

    def _look(self, v: np.ndarray) -> np.ndarray:
        memory = np.tile(self._memory, (self.num_envs, 1))
        memory[:, self._places] = v
        at = Knots(self._t, self._x, memory, np.empty((self.num_envs, 0)))
        return self._results.rows("knot", at.t, at.states, None, at.memory, None, self._seen_constants)


def _range(given: object, what: str) -> tuple[float, float]:
    if isinstance(given, Sequence | np.ndarray) and not isinstance(given, str):
        low, high = (real(value, what, ParameterError) for value in limit_pair(given, what))
        if not low <= high:
            raise ParameterError(f"{what}: the lower limit {low:g} is above the upper one, {high:g}")
        return low, high
    value = real(given, what, ParameterError)
    return value, value
