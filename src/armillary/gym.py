"""Models as environments of Gymnasium: many copies of one model, stepped together in compiled code.

    from armillary import gym

    env = gym.ModelEnvironments(
        model, 1024, step=0.02, inputs={"F": (-10, 10)}, observations=["cart.q1", "cos(pole.q1)"],
        reward="1 - 0.01*F^2", within={"cart.q1": (-2.4, 2.4)}, time_limit=10.0,
        initial={"pole.q1": (-0.1, 0.1)}, parameters={"L": (0.4, 0.6)},
    )

Observations, rewards and limits are expressions of the model. Inputs are constant during a step, which RK4
integrates. `ModelEnvironment` is a single copy; `stable_baselines` returns copies for Stable-Baselines3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import NoReturn

import numpy as np

from armillary.algebra.arguments import count, one_of, reals
from armillary.algebra.calculus import evaluator
from armillary.control.environment_loop import (
    ROUNDING,
    CompiledEnvironmentLoop,
    EnvironmentLoop,
    EnvironmentTerms,
    environment_program,
    read_times,
)
from armillary.errors import ParameterError, require, shown
from armillary.llvm.building.routines import real_array
from armillary.program.program import Program
from armillary.runtime.models.compiled import compiled_model
from armillary.untyped import DataMapping, DataTable, Given, LibraryObject

gymnasium: LibraryObject = require("gymnasium", extra="gym", purpose="environments of armillary.gym")

_THREAD = 20_000  # fewest steps of RK4 that are worth a thread; they take about a millisecond
_AUTORESET = {
    "next step": gymnasium.vector.AutoresetMode.NEXT_STEP,
    "same step": gymnasium.vector.AutoresetMode.SAME_STEP,
}


def _type_of_reals(dtype: Given) -> np.dtype:
    """Return the type of observations and actions; raise an error if it does not hold fractions."""
    try:
        found: np.dtype = np.dtype(dtype)
    except TypeError:
        found = np.dtype(object)
    if found.kind != "f":
        raise ParameterError(f"dtype= must be a type of reals, numpy.float32 or float64, not {shown(dtype)}")
    return found


class ModelEnvironments(gymnasium.vector.VectorEnv):  # type: ignore[misc]  # the library may not be installed
    """``envs`` copies of a model as one `gymnasium.vector.VectorEnv`.

    An episode begins at values drawn from ``initial`` (numbers, or (low, high)) with parameters drawn from
    ``parameters``, ends where an expression of ``within`` leaves its limits, and is cut off after
    ``time_limit`` seconds. The compiled loop begins ended copies anew: with ``autoreset`` "next step" in the
    next call of ``step``, with "same step" in the same call, which then has their last observations in its
    information. A ``step``, in seconds, is ``parts`` steps of RK4, on up to ``threads`` processors. ``dtype``
    is the type of observations and actions.
    """

    def __init__(
        self,
        model: object,
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
        model = compiled_model(model)
        terms = EnvironmentTerms(model, inputs, observations, reward, within, initial, parameters)
        self.num_envs, (self.h, time_limit) = count(envs, "envs"), read_times(step, time_limit)
        self.parts, self.threads = count(parts, "parts"), count(threads, "threads")
        self.metadata = {"autoreset_mode": _AUTORESET[one_of(autoreset, _AUTORESET, "autoreset=")]}
        self._same_step, self._seen = autoreset == "same step", terms.seen
        program = environment_program(model.equations, terms.results)
        drawn = bool(terms.drawn)
        self._loop = CompiledEnvironmentLoop(
            EnvironmentLoop(program, terms.places, terms.seen, len(terms.bounds), drawn, self._same_step)
        )
        self._define_spaces(terms.action_limits, _type_of_reals(dtype))
        self._make_arrays(program, terms, time_limit)
        self._pool = ThreadPoolExecutor(self.threads) if self.threads > 1 else None
        self._began = False

    def _define_spaces(self, limits: np.ndarray, dtype: np.dtype) -> None:
        Box, self._dtype = gymnasium.spaces.Box, dtype
        self._limits = limits
        low, high = limits[:, 0].astype(dtype), limits[:, 1].astype(dtype)
        self.single_observation_space = Box(-np.inf, np.inf, (self._seen,), dtype)
        self.single_action_space = Box(low, high, dtype=dtype)
        batch = gymnasium.vector.utils.batch_space
        self.observation_space = batch(self.single_observation_space, self.num_envs)
        self.action_space = batch(self.single_action_space, self.num_envs)

    def _make_arrays(self, program: Program, terms: EnvironmentTerms, limit: float) -> None:
        """Make the arrays of all copies, and of unused copies that fill the last block."""
        self._blocks = -(-self.num_envs // self._loop.width)
        self._stride = stride = self._blocks * self._loop.width
        self._factor, self._starts = terms.factors, terms.start_limits
        self._drawn = terms.drawn_limits(program)
        own = terms.parameter_values(program)
        constants = np.array(evaluator(program.precompute.results)(own), dtype=float)
        n, values = len(program.state), np.array(list(own.values()), dtype=float)
        one = np.zeros(1)  # in place of arrays that are not needed
        self._arrays = {
            "settings": np.array([self.h / self.parts, limit - ROUNDING]),
            "shared": real_array(constants), "memory_start": real_array(terms.memory),
            "low": real_array(terms.bounds[:, 0]), "high": real_array(terms.bounds[:, 1]),
            "state": np.zeros((n, stride)), "time": np.zeros(stride), "ended": np.ones(stride),
            "constants": np.zeros((max(len(constants), 1), stride)) if self._drawn else one,
            "next_state": np.tile(self._starts[:, :1], (1, stride)),
            "next_parameters": np.tile(values[:, None], (1, stride)) if self._drawn else one,
            "outside": np.empty(stride), "cut": np.empty(stride), "begun": np.empty(stride),
            "last_seen": np.zeros((stride, self._seen)) if self._same_step else one,
        }  # fmt: skip

    # ------------------------------------------------------------ Gymnasium's verbs

    def reset(
        self, *, seed: int | None = None, options: DataTable | None = None
    ) -> tuple[np.ndarray, DataTable]:
        """Begin all episodes anew; ended copies need no reset of their own."""
        if options and "reset_mask" in options:
            raise ParameterError(
                "reset() begins all copies anew and takes no reset_mask: ended copies begin anew in step()"
            )
        super().reset(seed=seed, options=options)
        self._arrays["ended"][:] = 1.0
        self._draw(np.arange(self._stride))
        seen = self._advance(np.zeros((self.num_envs, len(self._factor))))[0]
        self._began = True
        return seen, {}

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, DataTable]:
        """Simulate one step with constant inputs; copies that ended begin anew."""
        if not self._began:
            raise gymnasium.error.ResetNeeded("call reset() before step()")
        seen, reward = self._advance(self._read_actions(actions))
        n, arrays = self.num_envs, self._arrays
        ended, cut = arrays["outside"][:n] != 0, arrays["cut"][:n] != 0
        information: DataTable = {}
        if self._same_step and (over := ended | cut).any():
            information = {"final_obs": arrays["last_seen"][:n].astype(self._dtype), "_final_obs": over}
        return seen, reward, ended, cut, information

    def __getstate__(self) -> NoReturn:
        raise ParameterError(
            "environments cannot be pickled or copied: their compiled loop belongs to this process; make "
            "them with the same arguments where they are needed"
        )

    # ------------------------------------------------------------ inside

    def _read_actions(self, actions: np.ndarray) -> np.ndarray:
        """Return actions within their limits, a row for each copy and a column for each input."""
        found = reals(actions, "actions", ParameterError)
        copies, inputs = self.num_envs, len(self._factor)
        if found.size != copies * inputs or (found.ndim and len(found) != copies):
            raise ParameterError(
                f"actions of shape {found.shape} were given; give {(copies, inputs)}, a row for each of "
                f"{copies} copies and a column for each of {inputs} inputs"
            )
        if not np.isfinite(found).all():
            copy = int(np.flatnonzero(~np.isfinite(found.reshape(copies, inputs)).all(axis=1))[0])
            raise ParameterError(f"the action of copy {copy} is not finite; is the policy still finite?")
        low, high = self._limits.T
        return np.asarray(np.clip(found.reshape(copies, inputs), low, high))

    def _advance(self, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return observations and rewards after one step, with one row of ``v`` (inputs) for each copy.

        Copies that began anew get new draws for their next episode.
        """
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
        starts, parameters = self._arrays["next_state"], self._arrays["next_parameters"]
        for i, (low, high) in enumerate(self._starts):
            if low < high:
                starts[i, copies] = self.np_random.uniform(low, high, len(copies))
        for i, (low, high) in self._drawn.items():
            parameters[i, copies] = self.np_random.uniform(low, high, len(copies))


class ModelEnvironment(gymnasium.Env):  # type: ignore[misc]  # the library may not be installed
    """One copy of a model as a `gymnasium.Env`; takes arguments of `ModelEnvironments` except ``envs``."""

    def __init__(self, model: object, **how: LibraryObject) -> None:
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
        """Simulate one step with constant inputs."""
        seen, reward, ended, cut, _ = self._copies.step(np.asarray(action)[None])
        return seen[0], float(reward[0]), bool(ended[0]), bool(cut[0]), {}


def stable_baselines(env: ModelEnvironments) -> LibraryObject:
    """Return the copies as a ``VecEnv`` of Stable-Baselines3; they must have ``autoreset`` "same step"."""
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
