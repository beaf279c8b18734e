"""Optimal motions by collocation or multiple shooting: guess, solve, estimate the error, refine the mesh."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from armillary.algebra.arguments import (
    check_finite_elements,
    checked_names,
    count,
    one_of,
    positive_number,
    reals,
    several,
    table,
    whole_number,
)
from armillary.control.interior_point import InteriorPoint, Solution
from armillary.control.nonlinear_program import Limits, NonlinearProgram, PhasedProgram
from armillary.control.optimum import (
    Optimum,
    Outcome,
    PhasedOptimum,
    message_of,
    names_at_limits,
    optimum_of,
    violations,
)
from armillary.control.plant import state_ports
from armillary.control.problem import FREE, Problem, Range, read_problem
from armillary.control.scaled_program import ScaledProgram, scale_of_cost
from armillary.control.scheme import SCHEMES, Mesh
from armillary.control.shooting import ShootingProgram, make_program, run_errors, uniform_mesh
from armillary.errors import ArmillaryError, ParameterError
from armillary.results import Run
from armillary.runtime.models.compiled import CompiledModel, compiled_model
from armillary.untyped import DataMapping, DataTable

SOLVERS = ("embedded", "ipopt")
_PLACES = (  # nodes and weights of Gauss quadrature with 4 points, on [0, 1]
    1 + np.array([-0.8611363115940526, -0.3399810435848563, 0.3399810435848563, 0.8611363115940526])
) / 2
_SHARES = np.array([0.3478548451374538, 0.6521451548625461, 0.6521451548625461, 0.3478548451374538]) / 2
_PLAIN = 30.0  # sizes within this factor of 1 have their fourth roots as scales; see _phase_scale
_PARTS = 6  # most parts into which one refinement divides an interval


@dataclass(frozen=True, eq=False)
class Motion:
    """States and inputs at the points of a mesh, unknown parameters and duration, in the model's units."""

    mesh: Mesh
    x: np.ndarray
    v: np.ndarray
    p: np.ndarray
    T: float
    rates: np.ndarray | None = None

    def at(self, tau: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return states and inputs at times ``tau``, as fractions of the duration."""
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


@dataclass(frozen=True, eq=False, kw_only=True)
class Phase:
    """One phase of a motion: a model and its part of the problem, as for ``model.optimize``.

    ``link`` maps values at the beginning to equal values at the end of the phase before, as names or
    expressions: {"left.q1": "right.q1"}. By default states of the same name are equal. In the first phase
    ``link`` refers to the end of the last phase, so that the motion repeats.
    """

    model: CompiledModel
    cost: object = None
    duration: object
    inputs: object
    initial: DataMapping | None = None
    final: DataMapping | None = None
    bounds: DataMapping | None = None
    path: DataMapping | None = None
    final_cost: object = None
    free: DataMapping | None = None
    link: object = None
    guess: object = None
    intervals: int = 20
    parameters: DataMapping | None = None
    t0: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "model", compiled_model(self.model, "control.Phase"))


@dataclass(frozen=True)
class Search:
    """Settings of a search."""

    method: str
    tolerance: float
    accuracy: float | None
    refinements: int
    iterations: int
    solver: str

    def __post_init__(self) -> None:
        one_of(self.method, tuple(SCHEMES), "method=")
        one_of(self.solver, SOLVERS, "solver=")
        positive_number(self.tolerance, "tolerance=", ParameterError)
        if self.accuracy is not None:
            positive_number(self.accuracy, "accuracy=", ParameterError)
        whole_number(self.refinements, "refinements=", ParameterError)
        whole_number(self.iterations, "iterations=", ParameterError)


def optimize(
    model: CompiledModel,
    cost: object = None,
    *,
    duration: object,
    inputs: Sequence[str] | Mapping[str, object],
    initial: Mapping[str, object] | None = None,
    final: Mapping[str, object] | None = None,
    bounds: Mapping[str, object] | None = None,
    path: Mapping[str, object] | None = None,
    final_cost: object = None,
    free: Mapping[str, object] | None = None,
    periodic: Sequence[str] | Mapping[str, str] = (),
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
    """Return the motion that minimises ∫ ``cost`` dt + ``final_cost``, by collocation or shooting.

    Costs are texts or expressions of states, inputs, parameters and t; ``cost=1`` minimises the duration.
    ``duration`` is a number or (low, high). ``inputs`` are names, or names with limits. ``initial`` and
    ``final`` have values or limits of states, inputs and expressions at both ends; values that
    ``initial`` does not name have the defaults of ``simulate``, and None leaves a value free. ``bounds``
    hold for states along the motion, ``path`` for expressions; ``free`` names parameters that are also
    unknowns, with limits. The states in ``periodic`` end as they begin; a mapping gives values at the
    beginning as expressions of values at the end, such as speeds after an impact. Limits are pairs
    (low, high), in which None means no limit. ``control.optimize_phases`` joins phases.

    ``guess`` is a run, an earlier optimum, or columns by name at equally spaced times, with "duration".
    ``method`` is "hermite-simpson" or "radau" (collocation), or "multiple shooting": RK4 steps
    integrate over intervals, in which inputs are linear. The mesh is refined until the estimated error of
    the states is below ``accuracy``, relative to their sizes; with None it is not refined. ``solver``
    "ipopt" needs CasADi. Interrupted by Ctrl-C, ``optimize`` returns the best point so far.
    """
    search = Search(method, tolerance, accuracy, refinements, iterations, solver)
    if not isinstance(periodic, Mapping):
        names = [str(name) for name in several(periodic, "periodic=")]
        states = [p.name for p in state_ports(model.equations)]
        checked_names(names, states, "periodic= there is no state", ParameterError)
        periodic = {name: name for name in names}
    only = Phase(
        model=model, cost=cost, duration=duration, inputs=inputs, initial=initial, final=final, bounds=bounds,
        path=path, final_cost=final_cost, free=free, link=periodic or None, guess=guess, intervals=intervals,
        parameters=parameters, t0=t0,
    )  # fmt: skip
    problems, program, motions, how = _search_motions([only], search)
    return optimum_of(model, problems[0], program.phases[0], motions[0], how)


def optimize_phases(
    phases: Sequence[Phase],
    *,
    method: str = "hermite-simpson",
    tolerance: float = 1e-8,
    accuracy: float | None = 1e-6,
    refinements: int = 5,
    iterations: int = 500,
    solver: str = "embedded",
) -> PhasedOptimum:
    """Return the motion through given phases that minimises the sum of their costs, by direct collocation.

    Contacts that close and open in a given sequence, impacts and switched inputs are phases: each has its
    model, duration and limits, and ``Phase.link`` states how it begins. Settings are as for
    ``model.optimize``.
    """
    given = list(phases) if isinstance(phases, Iterable) else []
    if not given or not all(isinstance(p, Phase) for p in given):
        raise ParameterError("optimize_phases takes a list of control.Phase, at least one")
    search = Search(method, tolerance, accuracy, refinements, iterations, solver)
    problems, program, motions, how = _search_motions(given, search)
    found = tuple(
        optimum_of(p.model, problem, part, motion, how)
        for p, problem, part, motion in zip(given, problems, program.phases, motions, strict=True)
    )
    s = how.solution
    return PhasedOptimum(
        found, sum(p.cost for p in found), sum(p.duration for p in found), s.status == "solved", s.status,
        message_of(problems, how), how.iterations, how.violations,
    )  # fmt: skip


def _read_phases(phases: Sequence[Phase]) -> list[Problem]:
    """Return the problems of all phases, with the values that link them."""
    links = [_read_link(phases, i) for i in range(len(phases))]
    return [
        read_problem(
            p.model, p.cost, p.duration, p.inputs, p.initial, p.final, p.bounds, p.path, p.final_cost,
            p.free, list(links[i]), list(links[(i + 1) % len(phases)].values()), p.parameters, p.t0, i > 0,
        )
        for i, p in enumerate(phases)
    ]  # fmt: skip


def _read_link(phases: Sequence[Phase], i: int) -> DataTable:
    """Return the link of a phase, a mapping of values at its beginning to the end of the phase before."""
    if phases[i].link is not None:
        return table(phases[i].link, "link=")
    if i == 0:
        return {}
    before = {p.name for p in state_ports(phases[i - 1].model.equations)}
    common = [p.name for p in state_ports(phases[i].model.equations) if p.name in before]
    if not common:
        raise ParameterError(
            f"phase {i + 1} has no state in common with the phase before; give its link=, values at its "
            "beginning by expressions at the end of that phase"
        )
    return {name: name for name in common}


def _search_motions(
    phases: Sequence[Phase], search: Search
) -> tuple[list[Problem], PhasedProgram, list[Motion], Outcome]:
    """Solve, estimate errors and refine meshes, until all phases are accurate."""
    problems = _read_phases(phases)
    meshes = [uniform_mesh(search.method, count(p.intervals, "intervals")) for p in phases]
    motions = [
        first_motion(problem, mesh, p.guess)
        for p, problem, mesh in zip(phases, problems, meshes, strict=True)
    ]
    warm = all(isinstance(p.guess, Run | Optimum) for p in phases)
    errors: list[float] = []
    used = 0
    while True:
        program = PhasedProgram([
            make_program(p.functions, m.mesh, p.start_time, p.fixed_duration)
            for p, m in zip(problems, motions, strict=True)
        ])  # fmt: skip
        both = list(zip(problems, program.phases, strict=True))
        limits = program.limits([program_limits(*pair) for pair in both])
        start = np.concatenate(
            [p.join(m.x, m.v, m.p, m.T) for p, m in zip(program.phases, motions, strict=True)]
        )
        try:
            solution = solve(program, limits, start, search, warm)
        except KeyboardInterrupt:  # outside of the solver: the start is the best point so far
            solution = Solution(start, np.zeros(program.rows), 0, "interrupted", np.nan, np.nan)
        used += solution.iterations
        motions = [_motion_of(p, z) for p, z in zip(program.phases, program.parts(solution.z), strict=True)]
        each = [
            run_errors(part, z) if isinstance(part, ShootingProgram) else interval_errors(p, m)
            for p, m, part, z in zip(
                problems, motions, program.phases, program.parts(solution.z), strict=True
            )
        ]
        errors.append(max(float(e.max()) for e in each))
        accuracy = search.accuracy
        done = accuracy is None or errors[-1] <= accuracy or len(errors) > search.refinements
        if done or solution.status not in ("solved", "no progress"):
            break
        assert accuracy is not None
        motions = [_refine_motion(m, e, accuracy) for m, e in zip(motions, each, strict=True)]
        warm = True
    worst = violations(problems, program, limits, solution.z)
    reached = names_at_limits(problems, program, limits, solution.z)
    return problems, program, motions, Outcome(solution, worst, used, tuple(errors), search.accuracy, reached)


def _motion_of(program: NonlinearProgram, z: np.ndarray) -> Motion:
    x, v, p = program.split(z)
    return Motion(program.mesh, x, v, p, program.duration(z), program.rates(z))


def _refine_motion(motion: Motion, errors: np.ndarray, accuracy: float) -> Motion:
    """Return the motion on a mesh whose intervals with too large an error are divided."""
    mesh = motion.mesh
    parts = np.ceil((errors / accuracy) ** (1 / mesh.error_power) * 1.1)
    parts = np.clip(np.where(errors > accuracy, np.maximum(parts, 2), 1), 1, _PARTS)
    if np.all(parts == 1):
        return motion
    finer = mesh.refine(parts)
    x, v = motion.at(finer.points)
    x[0], x[-1] = motion.x[0], motion.x[-1]
    return Motion(finer, x, v, motion.p, motion.T)


def solve(
    program: PhasedProgram,
    limits: Limits,
    start: np.ndarray,
    search: Search,
    warm: bool,
) -> Solution:
    """Solve a program with the chosen solver; a ``warm`` start begins with a small barrier parameter."""
    start = np.clip(start, limits.low, limits.high)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        values = np.append(program.constraints(start), program.objective(start))
        slopes = np.append(program.jacobian(start), program.gradient(start))
    for found, what in ((values, ""), (slopes, "slopes of ")):
        if not np.isfinite(found).all():
            raise ArmillaryError(
                f"optimize: {what}the rates, the cost or a constraint are not finite numbers at the guess; "
                "give a guess= away from where something is divided by zero, or has an infinite slope"
            )
    scale = variable_scale(program, limits, start)
    if search.solver == "ipopt":
        from armillary.control.ipopt import solve_by_ipopt

        magnified = max(1.0, scale_of_cost(program, limits, scale, start))  # IPOPT itself reduces steep costs
        return solve_by_ipopt(
            program, limits, start, search.tolerance, int(search.iterations), warm, magnified
        )
    scaled = ScaledProgram(program, limits, scale, start)
    return InteriorPoint(scaled, search.tolerance, int(search.iterations), 1e-4 if warm else 0.1).solve(start)


def variable_scale(program: PhasedProgram, limits: Limits, start: np.ndarray) -> np.ndarray:
    """Return sizes of variables; a state or input has one size at all points of a phase."""
    sizes = np.abs(start)
    for bound in (limits.low, limits.high):
        sizes = np.maximum(sizes, np.where(np.isfinite(bound), np.abs(bound), 0.0))
    each = zip(program.phases, program.parts(sizes), program.parts(start), strict=True)
    return np.concatenate([_phase_scale(*phase) for phase in each])


def _phase_scale(program: NonlinearProgram, sizes: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Return the scales of one phase: fourth roots of sizes that are within a factor ``_PLAIN`` of 1.

    Beyond this range scales are proportional to sizes, and continuous at its ends. If the sizes themselves
    were the scales, scaled variables would change little where bounds are much wider than the motion. The
    problems of ``examples/optimal_motions.py``, four meshes each, take 927 iterations in all, of which the
    minimum-time slew takes 208; with sizes as scales they take 2,085, and the slew 1,318.
    """
    x, v, p = program.split(sizes)
    x, v = (np.broadcast_to(a.max(axis=0), a.shape) for a in (x, v))
    T = float(sizes[program.last]) if program.fixed is None else 1.0
    found = program.join(x, v, p, min(T, 10 * max(float(start[-1]), 1e-3)) if program.fixed is None else T)
    found = np.where((found > 1e-6) & (found < 1e8), found, 1.0)
    return np.asarray(np.clip(found, 1e-3, 1e6) / np.clip(found, 1 / _PLAIN, _PLAIN) ** 0.75)


def program_limits(problem: Problem, program: NonlinearProgram) -> Limits:
    """Return the bounds of all variables and rows of one phase, without its links."""
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
    start, rows = int(program.offsets[2]), int(program.offsets[5])
    row_low, row_high = np.zeros(rows), np.zeros(rows)
    conditions = [c.limits for group in groups for c in group]
    if conditions:
        both = np.array(conditions)
        row_low[start : start + len(both)], row_high[start : start + len(both)] = both[:, 0], both[:, 1]
    first = np.arange(program.offsets[1], program.offsets[2])
    # A row whose inputs all have given values has no unknown. It gets no limits, since IPOPT refuses programs
    # with more equations than unknowns.
    if len(first):
        own = np.append(0, program.mesh.collocated[0])
        held = program.split(low == high)[1][own].all(axis=0)
        row_low[first[held]], row_high[first[held]] = -np.inf, np.inf
    return Limits(low, high, row_low, row_high)


def _narrower(a: float, b: float, side: int) -> float:
    return min(a, b) if side else max(a, b)


def variable_name(problem: Problem, program: NonlinearProgram, i: int) -> str:
    """Return the words for variable i of a program, for errors."""
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
    """Return the guess on a mesh, from a run, from columns, or linear between the given end values."""
    points = mesh.points
    T = problem.fixed_duration
    columns: dict[str, np.ndarray] = {}
    found_before: Mapping[str, float] = {}
    if isinstance(guess, Optimum):
        guess, found_before = guess.run, guess.parameters
    if isinstance(guess, Run):
        span = float(guess.time[-1] - guess.time[0])
        if not span > 0 or not any(p.name in guess for p in (*problem.states, *problem.inputs)):
            raise ParameterError(
                f"guess=: the run of '{guess.system}' has no duration, or no state or input of "
                f"'{problem.system}'"
            )
        T = span if T is None else T
        tau = (guess.time - guess.time[0]) / span
        columns = {p.name: np.interp(points, tau, guess[p.name]) for p in (*problem.states, *problem.inputs)
                   if p.name in guess}  # fmt: skip
        columns |= {p.name: np.array([found_before[p.name]]) for p in problem.unknowns
                    if p.name in found_before}  # fmt: skip
    elif guess is not None:
        given = table(guess, "guess=", ParameterError)
        if "duration" in given:
            guessed = positive_number(given["duration"], "guess= of 'duration'", ParameterError)
            T = guessed if T is None else T
        known = {p.name for p in (*problem.states, *problem.inputs, *problem.unknowns)} | {"duration"}
        for name, column in given.items():
            if name not in known:
                raise ParameterError(f"guess=: '{problem.system}' has no state, input or unknown '{name}'")
            values = np.atleast_1d(reals(column, f"guess= of '{name}'", ParameterError))
            if values.ndim > 1 or not values.size:
                raise ParameterError(f"guess= of '{name}' must be a number or a column with at least one")
            check_finite_elements(values, f"guess= of '{name}'", ParameterError)
            columns[name] = np.interp(points, np.linspace(0, 1, len(values)), values)
    x, v = (np.empty((len(points), len(ports))) for ports in (problem.states, problem.inputs))
    for values, ports in ((x, problem.states), (v, problem.inputs)):
        for j, port in enumerate(ports):
            if port.name in columns:
                values[:, j] = columns[port.name] * port.factor
                continue
            along = problem.bounds.get(port.name, FREE)
            first = _middle(
                problem.first.get(port.name, FREE), along, problem.first_guess.get(port.name, 0.0)
            )
            last = _middle(problem.last.get(port.name, FREE), along, first)
            values[:, j] = first + (last - first) * points
    firsts = [problem.first_guess.get(port.name, 0.0) for port in problem.unknowns]
    p = np.array([
        _middle(problem.bounds[port.name], FREE, first)
        for port, first in zip(problem.unknowns, firsts, strict=True)
    ])  # fmt: skip
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
    """Return, for each interval, the largest ∫ |ẋ − f(x)| dt of a state, relative to the state's size.

    ẋ is the slope of the collocation polynomials. Source: Betts (2010), section 4.7.
    """
    mesh, T = motion.mesh, motion.T
    assert motion.rates is not None
    x = mesh.states_between(motion.x, motion.rates, T, _PLACES)
    v = mesh.inputs_between(motion.v, _PLACES)
    slope = mesh.inputs_between(motion.rates, _PLACES)
    tau = mesh.ends[:-1, None] + np.diff(mesh.ends)[:, None] * _PLACES
    rates = point_rates(
        problem, motion, tau.ravel(), x.reshape(-1, x.shape[-1]), v.reshape(tau.size, v.shape[-1])
    )
    off = np.abs(slope - rates.reshape(slope.shape))
    each = T * np.diff(mesh.ends)[:, None] * np.einsum("j,ejn->en", _SHARES, off)
    sizes = 1.0 + np.abs(motion.x).max(axis=0)
    found: np.ndarray = (each / sizes).max(axis=1)
    return np.where(np.isfinite(found), found, np.inf)


def point_rates(
    problem: Problem, motion: Motion, tau: np.ndarray, x: np.ndarray, v: np.ndarray
) -> np.ndarray:
    """Return the rates of the states at states x, inputs v and times ``tau`` (fractions of the duration)."""
    from armillary.control.knot_functions import Knots

    f = problem.functions
    unknowns = np.broadcast_to(motion.p, (len(x), f.unknowns))
    at = Knots(problem.start_time + motion.T * tau, x, f.memory_rows(v), unknowns)
    return f.inside.values(at, f.parameters)[:, : f.states]
