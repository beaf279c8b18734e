"""Models as environments of Gymnasium: many copies of one model, stepped together in compiled code.

    from armillary import gym

    env = gym.ModelEnvironments(
        model, 1024, step=0.02, inputs={"F": (-10, 10)}, observations=["cart.q1", "cos(pole.q1)"],
        reward="1 - 0.01*F^2", within={"cart.q1": (-2.4, 2.4)}, time_limit=10.0,
        initial={"pole.q1": (-0.1, 0.1)}, parameters={"L": (0.4, 0.6)},
    )

Observations, rewards and limits are expressions of the model. Inputs are held over a step of RK4.
`ModelEnvironment` is a single copy, and `stable_baselines` gives copies to that library.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np

from armillary.algebra.arguments import checked_names, count, from_zero, one_of, real, several, table
from armillary.algebra.calculus import evaluator
from armillary.control.environment_loop import (
    ROUNDING,
    CompiledEnvironmentLoop,
    EnvironmentLoop,
    environment_program,
)
from armillary.control.plant import check_smooth, input_ports, state_ports
from armillary.control.problem import ExpressionReader, limit_pair
from armillary.errors import ParameterError, require
from armillary.runtime.models.compiled import CompiledModel
from armillary.runtime.start.initial import initial_memory
from armillary.untyped import DataMapping, DataTable, LibraryObject

gymnasium: LibraryObject = require("gymnasium", extra="gym", purpose="environments of armillary.gym")

_THREAD = 20_000  # steps of RK4 that are worth a thread: about a millisecond
_AUTORESET = {
    "next step": gymnasium.vector.AutoresetMode.NEXT_STEP,
    "same step": gymnasium.vector.AutoresetMode.SAME_STEP,
}


class ModelEnvironments(gymnasium.vector.VectorEnv):  # type: ignore[misc]  # the library may not be installed
    """``envs`` copies of a model as one `gymnasium.vector.VectorEnv`.

    An episode begins at values drawn from ``initial`` (numbers, or (low, high)) with parameters drawn from
    ``parameters``, ends where an expression of ``within`` leaves its limits, and is cut off after
    ``time_limit`` seconds. Ended copies begin anew in the compiled loop: at their ``autoreset`` "next step",
    or in the "same step", with what they saw last in the information. Each ``step`` takes so many ``parts``
    of RK4, on up to ``threads`` processors. ``dtype`` is that of observations and actions.
    """

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
        autoreset: str = "next step",
        dtype: object = np.float64,
    ) -> None:
        equations = model.equations
        check_smooth(equations)
        self.num_envs, self.h = count(envs, "envs"), from_zero(step, "step")
        self.parts, self.threads = count(parts, "parts"), count(threads, "threads")
        self.metadata = {"autoreset_mode": _AUTORESET[one_of(autoreset, _AUTORESET, "autoreset=")]}
        self._same_step = autoreset == "same step"
        self._table, self._described, self._states = (
            model.parameter_table,
            model.state(),
            state_ports(equations),
        )
        ports = input_ports(equations, list(inputs))
        limits = np.array([_range(inputs[p.name], f"inputs= '{p.name}'") for p in ports])
        self._factor = np.array([p.factor for p in ports])
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
        bounds = np.array([_range(value, f"within= '{n}'") for n, value in bounded.items()]).reshape(-1, 2)
        results = [*shown, reader.read(reward, "reward="), *(reader.read(n, "within=") for n in bounded)]
        self._seen = len(shown)
        memories = list(equations.system.memories)
        program = environment_program(equations, results)
        self._loop = CompiledEnvironmentLoop(
            EnvironmentLoop(
                program, [memories.index(p.name) for p in ports], self._seen, len(bounds), bool(self._drawn),
                self._same_step,
            )
        )  # fmt: skip
        self._spaces(limits, np.dtype(dtype))  # type: ignore[call-overload]  # an error of NumPy otherwise
        self._room(program, bounds, time_limit, initial_memory(equations))
        self._pool = ThreadPoolExecutor(self.threads) if self.threads > 1 else None
        self._began = False

    def _spaces(self, limits: np.ndarray, dtype: np.dtype) -> None:
        Box, self._dtype = gymnasium.spaces.Box, dtype
        low, high = limits[:, 0].astype(dtype), limits[:, 1].astype(dtype)
        self.single_observation_space = Box(-np.inf, np.inf, (self._seen,), dtype)
        self.single_action_space = Box(low, high, dtype=dtype)
        batch = gymnasium.vector.utils.batch_space
        self.observation_space = batch(self.single_observation_space, self.num_envs)
        self.action_space = batch(self.single_action_space, self.num_envs)

    def _room(self, program: LibraryObject, bounds: np.ndarray, limit: float, memory: np.ndarray) -> None:
        """Arrays of all copies, and as many more as fill the last block."""
        self._blocks = -(-self.num_envs // self._loop.width)
        self._stride = stride = self._blocks * self._loop.width
        names = [s.data.name for s in program.parameters]
        inside = self._table.inside_columns({n: low for n, (low, _) in self._drawn.items()})
        own = dict(zip(program.parameters, (inside[name] for name in names), strict=True))
        constants = np.array(evaluator(program.precompute.results)(own), dtype=float)
        n = len(program.state)
        self._places = {name: names.index(name) for name in self._drawn}
        factors = dict(zip(self._table.names, self._table.factors, strict=True))
        self._parameter_factors = {name: factors[name] for name in self._drawn}
        self._arrays = {
            "settings": np.array([self.h / self.parts, limit - ROUNDING]),
            "shared": _filled(constants), "memory_start": _filled(memory),
            "low": _filled(bounds[:, 0]), "high": _filled(bounds[:, 1]),
            "state": np.zeros((n, stride)), "time": np.zeros(stride), "ended": np.ones(stride),
            "constants": np.zeros((len(constants) if self._drawn else 1, stride)),
            "next_state": np.zeros((n, stride)),
            "next_parameters": np.tile(np.array(list(own.values()), dtype=float)[:, None], (1, stride))
            if self._drawn else np.zeros(1),
            "outside": np.empty(stride), "cut": np.empty(stride), "begun": np.empty(stride),
            "last_seen": np.zeros((stride, self._seen)) if self._same_step else np.zeros(1),
        }  # fmt: skip

    # ------------------------------------------------------------ Gymnasium's verbs

    def reset(
        self, *, seed: int | None = None, options: DataTable | None = None
    ) -> tuple[np.ndarray, DataTable]:
        """Begin all episodes anew."""
        super().reset(seed=seed, options=options)
        self._arrays["ended"][:] = 1.0
        self._draw(np.arange(self._stride))
        seen = self._advance(np.zeros((self.num_envs, len(self._factor))))[0]
        self._began = True
        return seen, {}

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, DataTable]:
        """Hold inputs for one step; copies that ended begin anew."""
        if not self._began:
            raise gymnasium.error.ResetNeeded("call reset() before step()")
        v = np.asarray(actions, dtype=float).reshape(self.num_envs, len(self._factor))
        seen, reward = self._advance(v)
        n, arrays = self.num_envs, self._arrays
        ended, cut = arrays["outside"][:n] != 0, arrays["cut"][:n] != 0
        information: DataTable = {}
        if self._same_step and (over := ended | cut).any():
            information = {"final_obs": arrays["last_seen"][:n].astype(self._dtype), "_final_obs": over}
        return seen, reward, ended, cut, information

    # ------------------------------------------------------------ inside

    def _advance(self, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Observations and rewards of the next step; new draws for what began anew."""
        stride, loop = self._stride, self._loop
        actions = np.zeros((v.shape[1], stride))
        actions[:, : self.num_envs] = (v * self._factor).T
        arrays = self._arrays | {
            "actions": actions, "seen": np.empty((stride, self._seen)), "reward": np.empty(stride),
        }  # fmt: skip
        if self._pool is None or stride * self.parts < 2 * _THREAD:
            loop(0, self._blocks, stride, self.parts, arrays)
        else:
            cuts = [self._blocks * i // self.threads for i in range(self.threads + 1)]
            shares = [
                self._pool.submit(loop, a, b - a, stride, self.parts, arrays) for a, b in pairwise(cuts)
            ]  # compiled code runs without Python's lock
            for share in shares:
                share.result()
        begun = np.flatnonzero(arrays["begun"])
        if len(begun):
            self._draw(begun)
        return arrays["seen"][: self.num_envs].astype(self._dtype, copy=False), arrays["reward"][
            : self.num_envs
        ]

    def _draw(self, copies: np.ndarray) -> None:
        """Draw the next starts and parameters of some copies."""
        rng, described = self.np_random, self._described
        for i, port in enumerate(self._states):
            if port.name in self._initial:
                self._arrays["next_state"][i, copies] = (
                    rng.uniform(*self._initial[port.name], len(copies)) * port.factor
                )
            else:
                self._arrays["next_state"][i, copies] = described[i]
        for name, limits in self._drawn.items():
            values = rng.uniform(*limits, len(copies)) * self._parameter_factors[name]
            self._arrays["next_parameters"][self._places[name], copies] = values


class ModelEnvironment(gymnasium.Env):  # type: ignore[misc]  # the library may not be installed
    """One copy of a model as a `gymnasium.Env`; arguments are those of `ModelEnvironments` after ``envs``."""

    def __init__(self, model: CompiledModel, **how: LibraryObject) -> None:
        self._copies = ModelEnvironments(model, 1, **how)
        self.observation_space = self._copies.single_observation_space
        self.action_space = self._copies.single_action_space
        self.metadata: DataTable = {"render_modes": []}

    def reset(
        self, *, seed: int | None = None, options: DataTable | None = None
    ) -> tuple[np.ndarray, DataTable]:
        """Begin an episode."""
        super().reset(seed=seed)
        seen, _ = self._copies.reset(seed=seed, options=options)
        return seen[0], {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, DataTable]:
        """Hold inputs for one step."""
        seen, reward, ended, cut, _ = self._copies.step(np.asarray(action)[None])
        return seen[0], float(reward[0]), bool(ended[0]), bool(cut[0]), {}


def stable_baselines(env: ModelEnvironments) -> LibraryObject:
    """The copies as a ``VecEnv`` of Stable-Baselines3; they must begin anew in the "same step"."""
    purpose = "to hand environments to Stable-Baselines3"
    base: LibraryObject = require("stable_baselines3.common.vec_env", extra="learn", purpose=purpose)
    if not env._same_step:
        raise ParameterError("Stable-Baselines3 begins ended copies at once: pass autoreset='same step'")

    class Copies(base.VecEnv):  # type: ignore[misc]  # the library may not be installed
        def __init__(self) -> None:
            self._actions: LibraryObject = None
            self._seed: int | None = None
            super().__init__(env.num_envs, env.single_observation_space, env.single_action_space)

        def reset(self) -> np.ndarray:
            seed, self._seed = self._seed, None
            return env.reset(seed=seed)[0]

        def step_async(self, actions: np.ndarray) -> None:
            self._actions = actions

        def step_wait(self) -> LibraryObject:
            seen, reward, ended, cut, last = env.step(self._actions)
            over = ended | cut
            information: list[DataTable] = [{} for _ in range(self.num_envs)]
            for i in np.flatnonzero(over).tolist():
                information[i] = {
                    "terminal_observation": last["final_obs"][i],
                    "TimeLimit.truncated": bool(cut[i] and not ended[i]),
                }
            return seen, reward.astype(np.float32), over, information

        def seed(self, seed: int | None = None) -> LibraryObject:
            self._seed = seed
            return [seed] * self.num_envs

        def close(self) -> None:
            env.close()

        def get_attr(self, attr_name: str, indices: LibraryObject = None) -> LibraryObject:
            return [getattr(env, attr_name)] * len(list(self._get_indices(indices)))

        def set_attr(self, attr_name: str, value: LibraryObject, indices: LibraryObject = None) -> None:
            raise ParameterError("copies of a model have no attributes of their own to set")

        def env_method(self, method_name: str, *given: LibraryObject, **more: LibraryObject) -> LibraryObject:
            raise ParameterError("copies of a model have no methods of their own to call")

        def env_is_wrapped(
            self, wrapper_class: LibraryObject, indices: LibraryObject = None
        ) -> LibraryObject:
            return [False] * len(list(self._get_indices(indices)))

    return Copies()


def _filled(values: np.ndarray) -> np.ndarray:
    """Numbers that compiled code reads; an address needs at least one."""
    found = np.ascontiguousarray(values, dtype=float)
    return found if found.size else np.zeros(1)


def _range(given: object, what: str) -> tuple[float, float]:
    if isinstance(given, Sequence | np.ndarray) and not isinstance(given, str):
        low, high = (real(value, what, ParameterError) for value in limit_pair(given, what))
        if not low <= high:
            raise ParameterError(f"{what}: the lower limit {low:g} is above the upper one, {high:g}")
        return low, high
    value = real(given, what, ParameterError)
    return value, value
