"""Optimal motions by direct collocation: guess, solve, estimate the error, refine the mesh."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from armillary.algebra.arguments import count, from_zero, one_of, table
from armillary.control.interior_point import InteriorPoint, Solution
from armillary.control.nonlinear_program import Limits, NonlinearProgram
from armillary.control.optimum import Optimum, optimum_of
from armillary.control.problem import FREE, Problem, Range, read_problem
from armillary.control.scaled_program import ScaledProgram
from armillary.control.scheme import SCHEMES, Mesh, uniform_mesh
from armillary.errors import ArmillaryError, ParameterError
from armillary.results import Run
from armillary.runtime.models.compiled import CompiledModel
from armillary.untyped import DataMapping

SOLVERS = ("embedded", "ipopt")
_PLACES = (
    1 + np.array([-0.8611363115940526, -0.3399810435848563, 0.3399810435848563, 0.8611363115940526])
) / 2
_SHARES = np.array([0.3478548451374538, 0.6521451548625461, 0.6521451548625461, 0.3478548451374538]) / 2
_PARTS = 6  # into which an interval is divided at most, at one refinement


@dataclass(frozen=True, eq=False)
class Motion:
    """States and inputs at the points of a mesh, unknown parameters and the duration, in own units."""

    mesh: Mesh
    x: np.ndarray
    v: np.ndarray
    p: np.ndarray
    T: float
    rates: np.ndarray | None = None

    def at(self, tau: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """States and inputs at other times in [0, 1]."""
        e, place = self.mesh.locate(tau)
        order = np.argsort(place, kind="stable")
        x, v = np.empty((len(tau), self.x.shape[1])), np.empty((len(tau), self.v.shape[1]))
        places, first = np.unique(place[order], return_index=True)
        for value, members in zip(places, np.split(order, first[1:]), strict=True):
            single = np.array([value])
            v[members] = self.mesh.inputs_between(self.v, single)[e[members], 0]
            if self.rates is not None:
                x[members] = self.mesh.states_between(self.x, self.rates, self.T, single)[e[members], 0]
        if self.rates is None:
            for j in range(x.shape[1]):
                x[:, j] = np.interp(tau, self.mesh.points, self.x[:, j])
        return x, v


def optimize(
    model: CompiledModel,
    cost: object,
    *,
    duration: object,
    inputs: object,
    initial: DataMapping | None = None,
    final: DataMapping | None = None,
    bounds: DataMapping | None = None,
    path: DataMapping | None = None,
    final_cost: object = None,
    free: DataMapping | None = None,
    periodic: Sequence[str] = (),
    guess: object = None,
    intervals: int = 20,
    method: str = "hermite-simpson",
    tolerance: float = 1e-8,
    accuracy: float | None = 1e-6,
    refinements: int = 5,
    iterations: int = 500,
    solver: str = "embedded",
    parameters: DataMapping | None = None,
    t0: float = 0.0,
) -> Optimum:
    """The best motion; see ``stages/control.py``, whose verb it is."""
    one_of(method, tuple(SCHEMES), "method=")
    one_of(solver, SOLVERS, "solver=")
    problem = read_problem(
        model, cost, duration, inputs, initial, final, bounds, path, final_cost, free, periodic,
        parameters, t0,
    )  # fmt: skip
    mesh = uniform_mesh(method, count(intervals, "intervals"))
    tolerance = from_zero(tolerance, "tolerance")
    motion = first_motion(problem, mesh, guess)
    warm = isinstance(guess, Run | Optimum)
    errors: list[float] = []
    used = 0
    while True:
        program = NonlinearProgram(
            problem.functions, mesh, problem.start_time, problem.fixed_duration, problem.periodic
        )
        limits = program_limits(problem, program)
        start = program.join(motion.x, motion.v, motion.p, motion.T)
        solution = solve(program, limits, start, tolerance, iterations, solver, warm)
        used += solution.iterations
        x, v, p = program.split(solution.z)
        motion = Motion(mesh, x, v, p, program.duration(solution.z), program.rates(solution.z))
        each = interval_errors(problem, motion)
        errors.append(float(each.max()))
        done = accuracy is None or errors[-1] <= accuracy or len(errors) > refinements
        if done or solution.status not in ("solved", "no progress"):
            break
        parts = np.ceil((each / accuracy) ** (1 / (mesh.order + 1)) * 1.1)
        parts = np.clip(np.where(each > accuracy, np.maximum(parts, 2), 1), 1, _PARTS)
        finer = mesh.refined(parts)
        x, v = motion.at(finer.points)
        x[0], x[-1] = motion.x[0], motion.x[-1]
        mesh, motion = finer, Motion(finer, x, v, motion.p, motion.T)
        warm = True
    return optimum_of(model, problem, program, limits, solution, motion, tuple(errors), used, accuracy)


def solve(
    program: NonlinearProgram,
    limits: Limits,
    start: np.ndarray,
    tolerance: float,
    iterations: int,
    solver: str,
    warm: bool,
) -> Solution:
    """One program by one of the solvers."""
    start = np.clip(start, limits.low, limits.high)
    values = program.constraints(start)
    if not np.isfinite(values).all() or not np.isfinite(program.objective(start)):
        raise ArmillaryError(
            "optimize: the rates, the cost or a constraint are not finite numbers at the guess; give "
            "a guess= away from where something is divided by zero"
        )
    if solver == "ipopt":
        from armillary.control.ipopt import solve_by_ipopt

        return solve_by_ipopt(program, limits, start, tolerance, iterations, warm)
    scaled = ScaledProgram(program, limits, variable_scale(program, limits, start), start)
    search = InteriorPoint(scaled, tolerance, iterations, 1e-4 if warm else 0.1)
    return search.solve(start)


def variable_scale(program: NonlinearProgram, limits: Limits, start: np.ndarray) -> np.ndarray:
    """Sizes of variables: of a state or input the same at all points."""
    sizes = np.abs(start)
    for bound in (limits.low, limits.high):
        sizes = np.maximum(sizes, np.where(np.isfinite(bound), np.abs(bound), 0.0))
    x, v, p = program.split(sizes)
    x, v = (np.broadcast_to(a.max(axis=0), a.shape) for a in (x, v))
    T = float(sizes[program.last]) if program.fixed is None else 1.0
    found = program.join(x, v, p, min(T, 10 * max(float(start[-1]), 1e-3)) if program.fixed is None else T)
    found = np.where((found > 1e-6) & (found < 1e8), found, 1.0)
    return np.asarray(np.clip(found, 1e-3, 1e6))


def program_limits(problem: Problem, program: NonlinearProgram) -> Limits:
    """Bounds of all variables and rows."""
    low, high = np.full(program.size, -np.inf), np.full(program.size, np.inf)
    for bound, side in ((low, 0), (high, 1)):
        x, v, p = program.split(bound)  # views
        for values, ports in ((x, problem.states), (v, problem.inputs)):
            for j, port in enumerate(ports):
                values[:, j] = problem.bounds.get(port.name, FREE)[side]
                for k, ends in ((0, problem.first), (-1, problem.last)):
                    values[k, j] = _narrower(values[k, j], ends.get(port.name, FREE)[side], side)
        p[:] = [problem.bounds[port.name][side] for port in problem.unknowns]
        if program.fixed is None:
            bound[program.last] = problem.duration[side]
    if np.any(low > high):
        i = int(np.argmax(low > high))
        name = variable_name(problem, program, i)
        raise ParameterError(f"{name} has no value: it must be at least {low[i]:g} and at most {high[i]:g}")
    groups = [problem.path * program.K, problem.first_conditions, problem.last_conditions]
    start = int(program.offsets[2])
    row_low, row_high = np.zeros(program.rows), np.zeros(program.rows)
    conditions = [c.limits for group in groups for c in group]
    if conditions:
        both = np.array(conditions)
        row_low[start : start + len(both)], row_high[start : start + len(both)] = both[:, 0], both[:, 1]
    return Limits(low, high, row_low, row_high)


def _narrower(a: float, b: float, side: int) -> float:
    return min(a, b) if side else max(a, b)


def variable_name(problem: Problem, program: NonlinearProgram, i: int) -> str:
    """A variable of a program in words."""
    if i >= program.last:
        return "the duration"
    if i >= program.first_p:
        return f"parameter '{problem.unknowns[i - program.first_p].name}'"
    ports, j, n = (
        (problem.states, i, program.n) if i < program.first_v
        else (problem.inputs, i - program.first_v, program.m)
    )  # fmt: skip
    where = {0: " at the beginning", program.K - 1: " at the end"}.get(j // n, "")
    return f"'{ports[j % n].name}'{where}"


def first_motion(problem: Problem, mesh: Mesh, guess: object) -> Motion:
    """Return the guess on a mesh: a run, columns, or straight lines between the given end values."""
    points = mesh.points
    T = problem.fixed_duration
    columns: dict[str, np.ndarray] = {}
    if isinstance(guess, Optimum):
        guess = guess.run
    if isinstance(guess, Run):
        span = float(guess.time[-1] - guess.time[0])
        T = span if T is None else T
        tau = (guess.time - guess.time[0]) / span
        columns = {p.name: np.interp(points, tau, guess[p.name]) for p in (*problem.states, *problem.inputs)
                   if p.name in guess}  # fmt: skip
    elif guess is not None:
        given = table(guess, "guess=", ParameterError)
        T = float(given["duration"]) if "duration" in given and T is None else T
        known = {p.name for p in (*problem.states, *problem.inputs, *problem.unknowns)} | {"duration"}
        for name, column in given.items():
            if name not in known:
                raise ParameterError(f"guess=: '{problem.system}' has no state, input or unknown '{name}'")
            values = np.array(column, dtype=float, ndmin=1)
            if not np.isfinite(values).all():
                raise ParameterError(f"guess= of '{name}' has an element that is not a finite number")
            columns[name] = np.interp(points, np.linspace(0, 1, len(values)), values)
    x, v = (np.empty((len(points), len(ports))) for ports in (problem.states, problem.inputs))
    for values, ports in ((x, problem.states), (v, problem.inputs)):
        for j, port in enumerate(ports):
            if port.name in columns:
                values[:, j] = columns[port.name] * port.factor
                continue
            along = problem.bounds.get(port.name, FREE)
            first = _middle(problem.first.get(port.name, FREE), along)
            last = _middle(problem.last.get(port.name, FREE), along, first)
            values[:, j] = first + (last - first) * points
    p = np.array([_middle(problem.bounds[port.name], FREE) for port in problem.unknowns])
    for j, port in enumerate(problem.unknowns):
        if port.name in columns:
            p[j] = columns[port.name][0] * port.factor
    return Motion(mesh, x, v, p, _first_duration(problem.duration) if T is None else T)


def _first_duration(limits: Range) -> float:
    low, high = limits
    if np.isfinite(high):
        return (low + high) / 2
    return max(2 * low, 1.0)


def _middle(limits: Range, along: Range, otherwise: float = 0.0) -> float:
    """Return the middle of ``limits`` within ``along``; ``otherwise``, clipped, if they have no middle."""
    low, high = max(limits[0], along[0]), min(limits[1], along[1])
    if np.isfinite(low) and np.isfinite(high):
        own = np.isfinite(limits[0]) or np.isfinite(limits[1])
        return (low + high) / 2 if own else float(np.clip(otherwise, low, high))
    return float(np.clip(otherwise, low, high))


def interval_errors(problem: Problem, motion: Motion) -> np.ndarray:
    """∫ |ẋ − f(x)| over each interval between the points, of each state's size; the largest of all states.

    ẋ is the slope of the polynomials that collocation makes. Source: Betts (2010), section 4.7.
    """
    mesh, T = motion.mesh, motion.T
    assert motion.rates is not None
    x = mesh.states_between(motion.x, motion.rates, T, _PLACES)
    v = mesh.inputs_between(motion.v, _PLACES)
    slope = mesh.inputs_between(motion.rates, _PLACES)
    tau = mesh.ends[:-1, None] + np.diff(mesh.ends)[:, None] * _PLACES
    rates = point_rates(problem, motion, tau.ravel(), x.reshape(-1, x.shape[-1]), v.reshape(-1, v.shape[-1]))
    off = np.abs(slope - rates.reshape(slope.shape))
    each = T * np.diff(mesh.ends)[:, None] * np.einsum("j,ejn->en", _SHARES, off)
    sizes = 1.0 + np.abs(motion.x).max(axis=0)
    found: np.ndarray = (each / sizes).max(axis=1)
    return np.where(np.isfinite(found), found, np.inf)


def point_rates(
    problem: Problem, motion: Motion, tau: np.ndarray, x: np.ndarray, v: np.ndarray
) -> np.ndarray:
    """f at any times."""
    from armillary.control.knot_functions import Knots

    f = problem.functions
    memory = np.tile(f.memory, (len(x), 1))
    memory[:, f.input_places] = v
    at = Knots(
        problem.start_time + motion.T * tau, x, memory, np.broadcast_to(motion.p, (len(x), f.unknowns))
    )
    return f.inside.values(at, f.parameters)[:, : f.states]
