"""The result of an optimisation: the motion as a run, its cost, and where constraints are violated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from armillary.control.motion_record import motion_run
from armillary.control.nonlinear_program import Limits, NonlinearProgram
from armillary.control.plant import plant
from armillary.control.problem import Problem
from armillary.errors import ArmillaryError
from armillary.results import Run
from armillary.runtime.models.compiled import CompiledModel

if TYPE_CHECKING:
    from armillary.control.interior_point import Solution
    from armillary.control.optimize import Motion

_SHOWN = 3  # constraints that a message names
_BETWEEN = np.array([0.0, 0.25, 0.5, 0.75])  # samples of the run in each interval


@dataclass(frozen=True, eq=False, repr=False)
class Optimum:
    """An optimal motion. ``run`` has all outputs, plots, saves and animates like any other.

    ``solved`` is true where the motion obeys all constraints and no other near it costs less;
    otherwise ``message`` gives the reason and names the violated constraints. ``errors`` are estimates of the
    error of the states on each mesh that was used, relative to their sizes.
    """

    run: Run
    cost: float
    duration: float
    parameters: Mapping[str, float]
    solved: bool
    status: str
    message: str
    iterations: int
    intervals: int
    errors: tuple[float, ...]
    violation: float
    violations: Mapping[str, float] = field(default_factory=dict)

    def check(self) -> Optimum:
        """Return this optimum; raise an error if it is not solved."""
        if not self.solved:
            raise ArmillaryError(self.message)
        return self

    def signals(self) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """The inputs over time, for ``simulate(inputs=…)``."""
        return {name: (self.run.time, self.run[name]) for name in self._inputs}

    _inputs: tuple[str, ...] = ()

    def __repr__(self) -> str:
        head = f"Optimum of '{self.run.system}': cost {self.cost:.8g}, duration {self.duration:.6g} s"
        how = f"{self.iterations} iterations, {self.intervals} intervals, error {self.errors[-1]:.2g}"
        found = "".join(f", {name} = {value:.6g}" for name, value in self.parameters.items())
        return f"{head}{found}\n{self.message}; {how}"


def optimum_of(
    model: CompiledModel,
    problem: Problem,
    program: NonlinearProgram,
    limits: Limits,
    solution: Solution,
    motion: Motion,
    errors: tuple[float, ...],
    iterations: int,
    accuracy: float | None,
) -> Optimum:
    """The result of a search."""
    places = np.append((program.mesh.ends[:-1, None] + np.diff(program.mesh.ends)[:, None] * _BETWEEN), 1.0)
    x, v = motion.at(places)
    x[-1], x[0] = motion.x[-1], motion.x[0]
    unknown = {
        port.name: float(value / port.factor) for port, value in zip(problem.unknowns, motion.p, strict=True)
    }
    stated = {**problem.functions.parameters, **unknown}
    own = plant(model, tuple(p.name for p in problem.inputs))
    time = problem.start_time + motion.T * places
    cost = float(program.objective(solution.z))
    info = {"method": program.mesh.method, "cost": cost, "intervals": program.mesh.intervals}
    run = motion_run(model, own, time, x, v, stated, info)
    worst = violations(problem, program, limits, solution.z)
    message = _message(problem, solution, worst, errors[-1], accuracy)
    return Optimum(
        run, cost, motion.T, unknown, solution.status == "solved", solution.status, message, iterations,
        program.mesh.intervals, errors, solution.violation, worst, tuple(p.name for p in problem.inputs),
    )  # fmt: skip


def violations(
    problem: Problem, program: NonlinearProgram, limits: Limits, z: np.ndarray
) -> dict[str, float]:
    """The largest violation of each kind of constraint, in the model's own units, the largest first."""
    c, n = program.constraints(z), program.n
    off = np.maximum(np.maximum(limits.row_low - c, c - limits.row_high), 0.0)
    t = problem.start_time + program.duration(z) * program.mesh.points
    found: dict[str, float] = {}
    cut = [off[a:b] for a, b in zip(program.offsets[:-1], program.offsets[1:], strict=True)]
    defects = cut[0].reshape(-1, n)
    for j, port in enumerate(problem.states):
        k = int(np.argmax(defects[:, j]))
        found[f"the equation of motion of '{port.name}' near t = {t[k + 1]:.4g} s"] = float(defects[k, j])
    if problem.path:
        rows = cut[2].reshape(program.K, -1)
        for j, condition in enumerate(problem.path):
            k = int(np.argmax(rows[:, j]))
            found[f"path constraint '{condition.name}' at t = {t[k]:.4g} s"] = float(rows[k, j])
    for values, conditions, where in (
        (cut[3], problem.first_conditions, "initial"),
        (cut[4], problem.last_conditions, "final"),
    ):
        for value, condition in zip(values, conditions, strict=True):
            found[f"{where} condition '{condition.name}'"] = float(value)
    for value, i in zip(cut[5], problem.periodic, strict=True):
        found[f"periodicity of '{problem.states[i].name}'"] = float(value)
    return dict(sorted(((k, v) for k, v in found.items() if v > 0), key=lambda item: -item[1]))


def _message(
    problem: Problem, solution: Solution, worst: dict[str, float], error: float, accuracy: float | None
) -> str:
    named = "; ".join(f"{name}: {value:.3g}" for name, value in list(worst.items())[:_SHOWN])
    if solution.status == "solved":
        if accuracy is not None and error > accuracy:
            return (
                f"solved, but the error of the states is {error:.2g}: allow more refinements= or intervals="
            )
        return "solved"
    if solution.status == "infeasible":
        return (
            f"no motion of '{problem.system}' that obeys all constraints was found; at the best point "
            f"violated by: {named}. Relax a bound, give more time, or another guess="
        )
    reason = {
        "iterations": "not converged in so many iterations=",
        "interrupted": "interrupted; this is the best point so far",
        "no progress": f"no further progress (slope {solution.optimality:.2g})",
    }[solution.status]
    return f"{reason}; violated by: {named}" if solution.violation > 1e-6 and named else reason
