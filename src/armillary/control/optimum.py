"""The result of an optimisation: the motion as a run, its cost, and the violated constraints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from armillary.algebra.walk import operands_first
from armillary.control.nonlinear_program import Limits, NonlinearProgram, PhasedProgram
from armillary.control.plant import motion_run
from armillary.control.problem import Problem
from armillary.errors import ArmillaryError
from armillary.results import Run
from armillary.runtime.models.compiled import CompiledModel

if TYPE_CHECKING:
    from armillary.control.interior_point import Solution
    from armillary.control.optimize import Motion

_SHOWN = 3  # most constraints that a message names
_NEAR = 0.02  # a limit counts as reached within this share of the distance between the two limits
_SEEN = 1e-6  # least violation that a message names
_JUMPING = {name: name for name in ("select", "sign", "floor", "ceil", "mod")}
_JUMPING |= {"gt": ">", "ge": ">=", "lt": "<", "le": "<="}
_BENDING = {name: name for name in ("abs", "min", "max")}
_BETWEEN = np.array([0.0, 0.25, 0.5, 0.75])  # times of a run's samples, as shares of each interval


@dataclass(frozen=True, eq=False, repr=False)
class Optimum:
    """An optimal motion as a ``run`` with all outputs, which plots, saves and animates like any other.

    ``solved`` is true if the motion satisfies all constraints and no neighbouring motion costs less;
    otherwise ``message`` gives the reason and names the violated constraints. ``errors`` are estimates of the
    error of the states, relative to their sizes, on each mesh that was used.
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
        """Return the inputs over time, for ``simulate(inputs=…)``."""
        return {name: (self.run.time, self.run[name]) for name in self._inputs}

    _inputs: tuple[str, ...] = ()

    def __repr__(self) -> str:
        head = f"Optimum of '{self.run.system}': cost {self.cost:.8g}, duration {self.duration:.6g} s"
        how = f"{self.iterations} iterations, {self.intervals} intervals, error {self.errors[-1]:.2g}"
        found = "".join(f", {name} = {value:.6g}" for name, value in self.parameters.items())
        return f"{head}{found}\n{self.message}; {how}"


@dataclass(frozen=True, eq=False, repr=False)
class PhasedOptimum:
    """An optimal motion in phases: an ``Optimum`` for each, and the cost and duration of all together."""

    phases: tuple[Optimum, ...]
    cost: float
    duration: float
    solved: bool
    status: str
    message: str
    iterations: int
    violations: Mapping[str, float]

    def check(self) -> PhasedOptimum:
        """Return this optimum; raise an error if it is not solved."""
        if not self.solved:
            raise ArmillaryError(self.message)
        return self

    def __repr__(self) -> str:
        head = f"PhasedOptimum: cost {self.cost:.8g}, {len(self.phases)} phases in {self.duration:.6g} s"
        return f"{head}\n{self.message}; {self.iterations} iterations"


@dataclass(frozen=True, eq=False)
class Outcome:
    """The end of a search over all phases: solution, violations by name, iterations and mesh errors."""

    solution: Solution
    violations: dict[str, float]
    iterations: int
    errors: tuple[float, ...]
    accuracy: float | None
    at_limits: tuple[str, ...] = ()  # states, inputs and unknowns that reach a limit


def optimum_of(
    model: CompiledModel, problem: Problem, program: NonlinearProgram, motion: Motion, how: Outcome
) -> Optimum:
    """Return the result of a search, for one phase."""
    places = np.append((program.mesh.ends[:-1, None] + np.diff(program.mesh.ends)[:, None] * _BETWEEN), 1.0)
    x, v = motion.at(places)
    x[-1], x[0] = motion.x[-1], motion.x[0]
    unknown = {
        port.name: float(value / port.factor) for port, value in zip(problem.unknowns, motion.p, strict=True)
    }
    stated = {**problem.functions.parameters, **unknown}
    time = problem.start_time + motion.T * places
    cost = float(program.objective(program.join(motion.x, motion.v, motion.p, motion.T)))
    info = {"method": program.mesh.method, "cost": cost, "intervals": program.mesh.intervals}
    run = motion_run(model, time, x, problem.functions.memory_rows(v), stated, info)
    s = how.solution
    return Optimum(
        run, cost, motion.T, unknown, s.status == "solved", s.status, message_of([problem], how),
        how.iterations, program.mesh.intervals, how.errors, s.violation, how.violations,
        tuple(p.name for p in problem.inputs),
    )  # fmt: skip


def violations(
    problems: Sequence[Problem], program: PhasedProgram, limits: Limits, z: np.ndarray
) -> dict[str, float]:
    """Return the largest violation of each kind of constraint, in the model's own units,
    largest first.
    """
    c = program.constraints(z)
    off = np.maximum(np.maximum(limits.row_low - c, c - limits.row_high), 0.0)
    found: dict[str, float] = {}
    for i, (problem, phase, own) in enumerate(zip(problems, program.phases, program.parts(z), strict=True)):
        rows = off[program.row_starts[i] : program.row_starts[i + 1]]
        where = f" in phase {i + 1}" if len(problems) > 1 else ""
        found |= {name + where: value for name, value in _phase_violations(problem, phase, own, rows).items()}
        links = off[program.link_starts[i] : program.link_starts[i + 1]]
        for value, condition in zip(links, problem.arrivals, strict=True):
            found[f"the link to '{condition.name}' at the beginning{where}"] = float(value)
    return dict(sorted(((k, v) for k, v in found.items() if v > 0), key=lambda item: -item[1]))


def names_at_limits(
    problems: Sequence[Problem], program: PhasedProgram, limits: Limits, z: np.ndarray
) -> tuple[str, ...]:
    """Return the names of states, inputs and unknowns that reach a limit somewhere along the motion."""
    width = np.where(np.isfinite(limits.high - limits.low), limits.high - limits.low, 1 + np.abs(z))
    near = np.minimum(z - limits.low, limits.high - z) < _NEAR * width  # false where both limits are equal
    found: list[str] = []
    for problem, phase, own in zip(problems, program.phases, program.parts(near), strict=True):
        x, v, p = phase.split(own)
        for values, ports in ((x, problem.states), (v, problem.inputs), (p[None], problem.unknowns)):
            found += [f"'{port.name}'" for j, port in enumerate(ports) if np.any(values[:, j])]
        found += ["the duration"] * bool(phase.fixed is None and own[phase.last])
    return tuple(dict.fromkeys(found))


def _phase_violations(
    problem: Problem, program: NonlinearProgram, z: np.ndarray, off: np.ndarray
) -> dict[str, float]:
    t = problem.start_time + program.duration(z) * program.mesh.points
    found: dict[str, float] = {}
    cut = [off[a:b] for a, b in zip(program.offsets[:5], program.offsets[1:6], strict=True)]
    defects = cut[0].reshape(-1, program.n)
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
    return found


def message_of(problems: Sequence[Problem], how: Outcome) -> str:
    """Describe in words how a search ended."""
    solution, error, accuracy = how.solution, how.errors[-1], how.accuracy
    largest = list(how.violations.items())[:_SHOWN]
    seen = [(name, value) for name, value in largest if value > _SEEN] or largest
    named = "; ".join(f"{name}: {value:.3g}" for name, value in seen)
    systems = " and ".join(dict.fromkeys(f"'{p.system}'" for p in problems))
    if solution.status == "solved":
        if accuracy is not None and error > accuracy:
            return (
                f"solved, but the error of the states is {error:.2g}: allow more refinements= or intervals="
                f"{_jumps(problems)}"
            )
        return "solved"
    if solution.status == "unbounded":
        return (
            f"the cost of {systems} falls without limit: give limits by inputs= or bounds=, or a cost that "
            "grows with the inputs"
        )
    if solution.status == "infeasible":
        reached = f". There {', '.join(how.at_limits)} reached a limit" if how.at_limits else ""
        advice = f"Relax a bound, give more time, more intervals= or another guess={_jumps(problems)}"
        return (
            f"no motion of {systems} that obeys all constraints was found; at the best point "
            f"violated by: {named}{reached}. {advice}"
        )
    reason = {
        "iterations": f"not converged in {how.iterations} iterations; allow more iterations=",
        "interrupted": "interrupted; this is the best point so far",
        "no progress": f"no further progress (slope {solution.optimality:.2g})",
    }[solution.status]
    reason += _jumps(problems)
    return f"{reason}; violated by: {named}" if solution.violation > _SEEN and named else reason


def _jumps(problems: Sequence[Problem]) -> str:
    """Return the warning about functions of the rates, the cost or the path that may jump or bend."""
    nodes = operands_first([r for p in problems for r in p.functions.inside.results])
    called = {n.data for n in nodes if n.kind == "call"}
    jumps, bends = (
        ", ".join(sorted(names[name] for name in names if name in called)) for names in (_JUMPING, _BENDING)
    )
    if not jumps and not bends:
        return ""
    what = [f"jump at {jumps}"] * bool(jumps) + [f"have a kink at {bends}"] * bool(bends)
    return (
        f". The rates, the cost or a path constraint may {' and '.join(what)}: make them smooth, or "
        "make phases of the sides (control.optimize_phases)"
    )
