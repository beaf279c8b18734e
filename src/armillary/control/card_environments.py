"""Copies of a model as environments on a GPU: one kernel steps all copies, arrays stay on the GPU.

Arguments mean the same as in `armillary.gym.ModelEnvironments`; only CuPy is needed. Actions,
observations, rewards and ends are CuPy arrays, which other libraries accept by DLPack without a copy. When
the episode of a copy has ended, the kernel draws start and parameters of the next episode, from a seed and
the numbers of copy and episode.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import indent

import numpy as np

from armillary.algebra.arguments import count, one_of
from armillary.algebra.calculus import evaluator
from armillary.control.environment_loop import (
    ROUNDING,
    EnvironmentTerms,
    environment_program,
    read_times,
)
from armillary.ensembles.engines.gpu_engine import Device
from armillary.errors import ArmillaryError
from armillary.export.cuda.device_functions import SectionWriter, chained_step
from armillary.export.cuda.kernels import PRECISIONS, Kernel, written_kernel
from armillary.program.program import Program
from armillary.runtime.models.compiled import compiled_model
from armillary.solver.methods import rk4
from armillary.solver.methods.method_text import fraction
from armillary.untyped import DataMapping, LibraryObject


class CardEnvironments:
    """``envs`` copies of a model on the GPU; see `armillary.gym.ModelEnvironments`.

    ``precision`` is "double", "single" or "fast", as for batches. The next call of ``step`` overwrites the
    arrays that ``step`` returned.
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
        precision: str = "single",
    ) -> None:
        model = compiled_model(model)
        terms = EnvironmentTerms(model, inputs, observations, reward, within, initial, parameters)
        self.num_envs, self.parts = count(envs, "envs"), count(parts, "parts")
        self.h, time_limit = read_times(step, time_limit)
        real = PRECISIONS[one_of(precision, PRECISIONS, "precision=")]  # a type of C
        self._real = np.dtype(np.float64 if real == "double" else np.float32)
        program = environment_program(model.equations, terms.results)
        self._kernel = environment_kernel(program, terms, precision)
        self._device = Device()
        self._code = self._device.compile_kernel(self._kernel.text, real, program.name)
        self._put_constants(program, terms)
        cupy, n = self._device.cupy, self.num_envs
        own = len(self._kernel_own)
        self._settings = cupy.asarray(terms.settings(program, self.h / self.parts, time_limit - ROUNDING))
        self._state = cupy.zeros((len(program.state), n), self._real)
        self._time, self._episode = cupy.zeros(n), cupy.zeros(n, np.uint32)
        self._kept = cupy.zeros((max(own, 1), n), self._real)
        self._seen = cupy.zeros((n, terms.seen), self._real)
        self._reward = cupy.zeros(n, self._real)
        self._ended, self._outside, self._cut = (cupy.full(n, 1, np.uint8) for _ in range(3))
        self._inputs, self._seed = len(terms.ports), 0
        self._began = False

    def _put_constants(self, program: Program, terms: EnvironmentTerms) -> None:
        inside = terms.parameter_values(program)
        constants = np.array(evaluator(program.precompute.results)(inside), dtype=float)
        (shared,), (given,) = self._kernel.shared, self._kernel.given
        values = np.array(list(inside.values()), dtype=float)
        self._code.put("shared", constants[list(shared)].astype(self._real))
        self._code.put("given", values[list(given)])
        self._kernel_own = [i for i in range(len(constants)) if i not in shared]

    def reset(self, *, seed: int = 0) -> LibraryObject:
        """Begin all episodes anew; return observations, a row for each copy."""
        self._seed = count(seed + 1, "seed") - 1
        self._ended[...], self._episode[...], self._began = 1, 0, True
        cupy = self._device.cupy
        return self.step(cupy.zeros((self.num_envs, self._inputs), self._real))[0]

    def step(
        self, actions: LibraryObject
    ) -> tuple[LibraryObject, LibraryObject, LibraryObject, LibraryObject]:
        """Hold inputs for one step; return observations, rewards, and masks of ended and cut-off copies."""
        if not self._began:
            raise ArmillaryError("call reset() before step()")
        cupy, n = self._device.cupy, self.num_envs
        given = cupy.asarray(actions, dtype=self._real).reshape(n, self._inputs)
        if not given.flags.c_contiguous:
            given = cupy.ascontiguousarray(given)
        self._code.launch(n, n, (
            np.int32(self.parts), np.uint64(self._seed), self._settings, given, self._state, self._time,
            self._ended, self._episode, self._kept, self._seen, self._reward, self._outside, self._cut,
        ))  # fmt: skip
        return self._seen, self._reward, self._outside.view(bool), self._cut.view(bool)


def environment_kernel(program: Program, terms: EnvironmentTerms, precision: str) -> Kernel:
    """Return the kernel of one step of all copies."""
    writer = SectionWriter(program, frozenset(terms.drawn))
    rates, *others = writer.ordinary()
    functions = "\n".join([rates, *others, *writer.normalise()])
    held = [
        f"    stored[{place}] = held_action(settings, {j}, (double)actions[run * INPUTS + {j}]);"
        for j, place in enumerate(terms.places)
    ]
    values = {
        "states": str(len(program.state)), "memory": str(len(program.memory)), "held": "0", "slots": "0",
        "outputs": str(len(program.outputs.results)), "stages": "4", "loops": "1", "near": "", "teams": "",
        "seen": str(terms.seen), "limits": str(len(terms.bounds)), "inputs": str(len(terms.ports)),
        "varied": str(len(terms.drawn)), "holding": "\n".join(held),
        "step": indent(_step(), " " * 12),
    }  # fmt: skip
    has = {"single"} if PRECISIONS[precision] == "float" else set[str]()
    has |= {name for name, so in (("own", writer.own), ("normalise", program.normalises)) if so}
    return written_kernel("environments.cu.txt", [writer], functions, precision, values, has)


def _step() -> str:
    """Return the text of a step of rk4 in place; the time is in double precision."""

    def derivatives(part: float, state: str) -> str:
        time = {0.0: "t", 1.0: "t + h"}.get(part, f"t + {fraction(part)} * h")
        return f"model_derivatives((real)({time}), {state}, constants, stored, rate);"

    stages = rk4.TABLEAU.chained_stages
    return chained_step(stages, derivatives, lambda number: f"(real)(h * {fraction(number)})", "STATES", "y")
