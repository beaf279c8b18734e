"""Nonlinear predictive control: iterated LQR over a receding horizon, one iteration at every sample.

At each sample the plan of the sample before is shifted by one step. The model is then simulated from the
measured state under the shifted plan, whose gains act on deviations from its states. One iteration improves
the plan, and its first inputs are applied. So the search for the best inputs goes on while the machine moves,
in nearly the same time at every sample.

Source: Diehl, Bock and Schlöder (2005), A real-time iteration scheme for nonlinear optimization in optimal
feedback control; Tassa, Erez and Todorov (2012), Synthesis and stabilization of complex behaviors, for the
iteration.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from armillary.algebra.arguments import check_finite_elements, count, read_only, real, reals
from armillary.control.ilqr import (
    Routines,
    Search,
    named_states,
    read_guess,
    read_quadratic_problem,
    target_states,
)
from armillary.control.plant import steered_plant
from armillary.errors import ArmillaryError, ParameterError
from armillary.runtime.models.compiled import CompiledModel
from armillary.untyped import DataMapping


class RecedingRegulator:
    """Nonlinear model predictive control by iterated LQR, which keeps the plan of the last sample.

    ``input(state)`` plans ahead from a state and returns the inputs to hold over the next step. All numbers
    are in stated units (those of the description).
    """

    def __init__(
        self, model: CompiledModel, duration: float, step: float, inputs: object,
        weights: tuple[object, object, object], target: object, guess: object,
        parameters: DataMapping | None, iterations: int, second: bool,
    ) -> None:  # fmt: skip
        self._motion = motion = steered_plant(model, inputs)
        motion.check_independent("nmpc")
        self._problem = problem = read_quadratic_problem(
            motion, "nmpc", duration, step, inputs, weights, target
        )
        self._iterations = count(iterations, "iterations")
        routines = Routines(motion, problem, motion.step_constants(parameters), second)
        self._search = Search(motion, problem, routines, parameters)
        self._first_x = motion.start(model, None, parameters)
        self.restart(guess)

    @property
    def states(self) -> tuple[str, ...]:
        """Names of the elements of a state."""
        return tuple(p.name for p in self._motion.states)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs."""
        return tuple(p.name for p in self._motion.inputs)

    @property
    def plan(self) -> np.ndarray:
        """The inputs of all steps, a row each."""
        return read_only(self._search.v / self._motion.factors[1])

    @property
    def predicted(self) -> np.ndarray:
        """The states at the beginning of each step and at the end of the last one."""
        return read_only(self._search.x / self._motion.factors[0])

    @property
    def K(self) -> np.ndarray:
        """The gains of each step, for a faster loop between samples: v = plan + K (x − predicted)."""
        fx, fv = self._motion.factors
        return read_only(self._search.K * fx / fv[:, None])

    @property
    def cost(self) -> float:
        """The cost of the plan."""
        return self._search.cost

    def restart(self, guess: object = None) -> None:
        """Discard the plan; the next one begins with ``guess``: inputs for all steps or each, else zero."""
        low, high = self._problem.limits
        given = read_guess(self._motion, guess, self._problem.N, self._motion.factors[1])
        self._guess, self._planned = np.clip(given, low, high), False

    def input(
        self, state: object, *, t: float = 0.0, target: Mapping[str, object] | None = None
    ) -> np.ndarray:
        """Plan from a state at time t; return the inputs to hold over the next step.

        A state is an array of all states in the order of ``states``, or values by name, where states that are
        not named have their initial values. ``target`` changes the target from this sample on.
        """
        search, routines = self._search, self._search.routines
        start = self._read_state(state)
        if target is not None:
            routines.set_target(target_states(self._motion, target))
        routines.set_time(real(t, "t"))
        if self._planned:
            search.move_on()
            search.roll_out(start, search.v)
        if not self._planned or not np.isfinite(search.cost):
            search.roll_out_freely(start, self._guess)
        if not np.isfinite(search.cost):
            raise ArmillaryError(
                f"nmpc: the motion of '{self._motion.system}' from this state is not finite; give a shorter "
                "step"
            )
        self._planned = True
        for _ in range(self._iterations):
            search.iterate()
        found: np.ndarray = search.v[0] / self._motion.factors[1]
        return found

    def _read_state(self, state: object) -> np.ndarray:
        factors = self._motion.factors[0]
        if isinstance(state, Mapping):
            return named_states(self._motion, state, "state", self._first_x)
        given = reals(state, "state", ParameterError)
        if given.shape != factors.shape:
            raise ParameterError(f"a state has {len(factors)} numbers: {', '.join(self.states)}")
        check_finite_elements(given, "state", ParameterError)
        return np.asarray(given * factors)

    def __repr__(self) -> str:
        p, plan = self._problem, f"cost {self.cost:.6g}" if self._planned else "no plan yet"
        return (
            f"RecedingRegulator of '{self._motion.system}': {', '.join(self.inputs)} over {p.N} steps of "
            f"{p.h:g} s; {plan}"
        )


def nmpc(
    model: CompiledModel,
    duration: float,
    *,
    step: float,
    inputs: Sequence[str] | Mapping[str, object],
    Q: object,
    R: object,
    final: object,
    target: Mapping[str, object] | None = None,
    guess: object = None,
    parameters: DataMapping | None = None,
    iterations: int = 1,
    second: bool = False,
) -> RecedingRegulator:
    """Return a nonlinear predictive controller: iterated LQR over the next ``duration``, at every sample.

    The cost, ``inputs`` with their limits, ``guess`` and ``second`` are as for ``ilqr``. ``input(state)`` of
    the result shifts the last plan by one step, makes a number of ``iterations`` from it, and returns the
    inputs to hold over the next step.
    """
    return RecedingRegulator(
        model, duration, step, inputs, (Q, R, final), target, guess, parameters, iterations, second
    )
