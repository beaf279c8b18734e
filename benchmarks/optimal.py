"""Optimal motions and derivatives beside CasADi: the same problems, the same meshes, in one run.

    python -m benchmarks.optimal [--problems NAME;NAME] [--models NAME;NAME]

Problems: those of `examples/optimal_motions.py`, collocated by Hermite and Simpson on the documented mesh,
from the documented start, to the same tolerance, in three ways: by our solver; by IPOPT with our derivatives;
and the same nonlinear program stated in CasADi, with derivatives by CasADi, solved by IPOPT (with its default
linear solver). Told apart: preparation (expressions, derivatives, compilation), evaluation of functions, and
linear algebra (IPOPT's: the rest). All are seconds of processor time, the least of some rounds, so that other
work on the machine does not count. Each preparation of ours runs in a process of its own without kept code,
after an unlike problem, whose time counts the import of libraries.

Models: one evaluation of the rates with their Jacobian by states and inputs, our machine code against the C
that CasADi generates, compiled by cc -O3, at 200 places one after the other; and the processor time that it
takes to make either from derived equations.

Without CasADi the peer's columns say why they are empty.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csc_matrix

import armillary as arm
import armillary.vehicles as veh
from armillary.algebra.arguments import core_of
from armillary.control import ipopt, optimize, scaled_program
from armillary.control.knot_functions import KnotFunctions, Knots
from armillary.control.nonlinear_program import NonlinearProgram, PhasedProgram
from armillary.control.optimize import first_motion, program_limits, uniform_mesh
from armillary.control.plant import input_ports, state_ports
from armillary.runtime.models.compiled_program import ModelFunctions
from armillary.runtime.start.initial import initial_memory
from benchmarks.branches import quadruped
from examples.optimal_motions import PROBLEMS, Problem

TOLERANCE = 1e-8
ROWS = 200  # places at which functions are timed, one after the other
C_FLAGS = ("-O3", "-fPIC", "-shared")


def casadi_or_reason() -> tuple[Any, str]:
    """CasADi, or why it is missing."""
    try:
        import casadi
    except ImportError:
        return None, "CasADi is not installed (pip install casadi)"
    return casadi, ""


# ---------------------------------------------------------------------------------------- problems


@contextmanager
def clocked(where: Any, names: tuple[str, ...]) -> Iterator[dict[str, float]]:
    """Seconds that calls of some methods take."""
    spent = {"seconds": 0.0}
    plain = {name: getattr(where, name) for name in names}

    def watched(method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(method)
        def call(*args: Any, **options: Any) -> Any:
            begin = time.process_time()
            try:
                return method(*args, **options)
            finally:
                spent["seconds"] += time.process_time() - begin

        return call

    for name in names:
        setattr(where, name, watched(plain[name]))
    try:
        yield spent
    finally:
        for name in names:
            setattr(where, name, plain[name])


def measure_ours(problem: Problem, solver: str, rounds: int = 3) -> dict[str, Any]:
    """Return the least time of some solutions, with its shares."""
    where: Any
    where, name = (optimize.InteriorPoint, "solve") if solver == "embedded" else (ipopt, "solve_by_ipopt")
    best = dict.fromkeys(("seconds", "evaluation", "linear algebra"), np.inf)
    for _ in range(rounds):
        with clocked(where, (name,)) as whole:
            problem.solve(accuracy=None, tolerance=TOLERANCE, solver=solver)
        with clocked_shares(where, name) as shares:
            found = problem.solve(accuracy=None, tolerance=TOLERANCE, solver=solver)
        spent = (whole, *shares)
        best = {key: min(best[key], clock["seconds"]) for key, clock in zip(best, spent, strict=True)}
    if solver == "ipopt":
        best["linear algebra"] = best["seconds"] - best["evaluation"]
    return {**best, "iterations": found.iterations, "cost": found.cost, "solved": found.solved}


def measure_preparation(name: str) -> float:
    """Return the seconds before the first solution of a problem, in a new process without kept code."""
    command = [sys.executable, "-m", "benchmarks.optimal", "--prepare", name]
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "ARMILLARY_CACHE": folder}
        run = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return float(run.stdout)


def prepare(name: str) -> float:
    """Return the seconds before the first solution of a problem whose model is compiled.

    Derivatives that a solution compiles when it first needs them count, the solution itself does not.
    """
    PROBLEMS["cart-pole, effort" if name.startswith("brach") else "brachistochrone"].solve(accuracy=None)
    problem = PROBLEMS[name]
    assert problem.model is not None
    begin = time.process_time()
    problem.solve(accuracy=None, tolerance=TOLERANCE)
    first = time.process_time() - begin
    begin = time.process_time()
    problem.solve(accuracy=None, tolerance=TOLERANCE)
    return first - (time.process_time() - begin)


@contextmanager
def clocked_shares(where: Any, name: str) -> Iterator[tuple[dict[str, float], dict[str, float]]]:
    """Seconds of evaluation and of linear algebra within a solution. The clocks take a tenth of the time of
    small problems, so whole solutions are measured without them.
    """
    evaluation, algebra = {"seconds": 0.0}, {"seconds": 0.0}
    plain = getattr(where, name)

    def solve(*args: Any) -> Any:
        values = ("objective", "gradient", "constraints", "jacobian", "hessian")
        with (
            clocked(PhasedProgram, values) as one,
            clocked(scaled_program.ScaledProgram, ("factor", "solve")) as other,
        ):
            found = plain(*args)
        evaluation["seconds"] += one["seconds"]
        algebra["seconds"] += other["seconds"]
        return found

    setattr(where, name, solve)
    try:
        yield evaluation, algebra
    finally:
        setattr(where, name, plain)


def measure_casadi(casadi: Any, problem: Problem, rounds: int = 3) -> dict[str, Any]:
    """The same program in CasADi, solved by IPOPT."""
    begin = time.process_time()
    nlp, start, bounds = casadi_program(casadi, problem)
    options = {"ipopt": {"tol": TOLERANCE, "print_level": 0, "sb": "yes"}, "print_time": False}
    solver = casadi.nlpsol("solver", "ipopt", nlp, options)
    preparation = time.process_time() - begin
    best: dict[str, Any] = {"seconds": np.inf}
    for _ in range(rounds):
        begin = time.process_time()
        found = solver(x0=start, **bounds)
        seconds = time.process_time() - begin
        told = solver.stats()
        if seconds < best["seconds"]:
            evaluation = sum(v for k, v in told.items() if k.startswith("t_proc_nlp_"))
            best = {"seconds": seconds, "evaluation": evaluation, "linear algebra": seconds - evaluation}
            best |= {"iterations": told["iter_count"], "cost": float(found["f"]), "solved": told["success"]}
    return {"preparation": preparation, **best}


def casadi_program(casadi: Any, problem: Problem) -> tuple[dict[str, Any], np.ndarray, dict[str, np.ndarray]]:
    """Hermite-Simpson as a nonlinear program of CasADi: variables, rows and bounds are those of ours."""
    how = dict(problem.arguments)
    model = problem.model
    parts = optimize.Phase(
        model=model, cost=problem.cost, link=_links(how), **{k: v for k, v in how.items() if k != "periodic"}
    )
    (stated,) = optimize._read_phases([parts])
    mesh = uniform_mesh("hermite-simpson", how["intervals"])
    ours = NonlinearProgram(stated.functions, mesh, stated.start_time, stated.fixed_duration)
    program = PhasedProgram([ours])
    limits = program.limits([program_limits(stated, ours)])
    motion = first_motion(stated, mesh, how.get("guess"))
    start = np.clip(ours.join(motion.x, motion.v, motion.p, motion.T), limits.low, limits.high)
    f, K, n, m = stated.functions, ours.K, ours.n, ours.m
    inside, first, last = (_expressions(casadi, model, part, stated) for part in (f.inside, f.first, f.last))
    z = casadi.MX.sym("z", ours.size)
    X = casadi.reshape(z[: K * n], n, K)
    V = casadi.reshape(z[K * n : K * (n + m)], m, K)
    T = z[ours.last] if ours.fixed is None else ours.fixed
    t = stated.start_time + T * casadi.DM(mesh.points).T
    all_points = inside.map(K)(t, X, V)
    shape = (ours.defects // n, K)
    parts = ((mesh.differences, shape), (mesh.rates, shape))
    E, W = (casadi.DM(csc_matrix((v, (r, c)), shape=size)) for (r, c, v), size in parts)
    defects = casadi.mtimes(X, E.T) - T * casadi.mtimes(all_points[:n, :], W.T)
    ends = [g(t[k], X[:, k], V[:, k]) for g, k in ((first, 0), (last, K - 1))]
    cost = T * casadi.mtimes(all_points[n, :], casadi.DM(mesh.weights)) + ends[0][0] + ends[1][0]
    a, b = ends[0].shape[0] - f.arrivals, ends[1].shape[0] - f.departures
    rows = [casadi.vec(defects), casadi.vec(all_points[n + 1 :, :]), ends[0][1:a, :], ends[1][1:b, :]]
    rows.append(ends[1][b:, :] - ends[0][a:, :])
    bounds = {"lbx": limits.low, "ubx": limits.high, "lbg": limits.row_low, "ubg": limits.row_high}
    return {"x": z, "f": cost, "g": casadi.vertcat(*rows)}, start, bounds


def _links(how: dict[str, Any]) -> dict[str, str] | None:
    periodic = how.get("periodic") or {}
    return dict(periodic) if isinstance(periodic, dict) else {name: name for name in periodic}


def _expressions(casadi: Any, model: Any, functions: KnotFunctions, stated: Any) -> Any:
    """Functions at one point as expressions of CasADi, made from ours node by node."""
    from armillary.control.casadi_functions import _evaluate

    t = casadi.SX.sym("t")
    x, v = casadi.SX.sym("x", len(stated.states)), casadi.SX.sym("v", len(stated.inputs))
    equations = core_of(model.equations)
    values = {equations.targets.time: t}
    values |= {p.symbol: x[i] for i, p in enumerate(stated.states)}
    memory = dict(zip(equations.program.memory, initial_memory(equations), strict=True))
    values |= {s: casadi.SX(float(number)) for s, number in memory.items()}
    values |= {p.symbol: v[i] for i, p in enumerate(stated.inputs)}
    found = _evaluate(casadi, functions.results, values)
    return casadi.Function("point", [t, x, v], [casadi.vertcat(*found)])


# ---------------------------------------------------------------------------------------- models


def six_axis_arm() -> arm.System:
    """An arm with six hinges, z y y x y x, and a motor at each."""
    s = arm.System("six-axis arm")
    parent, at = s.ground, (0, 0, 0)
    links = zip("zyyxyx", (0.3, 0.4, 0.4, 0.1, 0.1, 0.1), (4.0, 6.0, 4.0, 2.0, 1.0, 0.5), strict=True)
    for i, (axis, length, mass) in enumerate(links):
        across = mass * length**2 / 10 + 0.01
        body = s.body(
            f"link_{i + 1}", parent=parent, joint=arm.Revolute(axis), at=at, com=(0, 0, length / 2),
            mass=mass, inertia=(across, across, 0.01),
        )  # fmt: skip
        s.input(f"torque_{i + 1}", units="N*m")
        own = {"reaction": parent} if i else {}
        s.moment(f"motor_{i + 1}", f"torque_{i + 1}", getattr(body, axis), on=body, **own)
        parent, at = body, (0, 0, length)
    s.gravity(9.81, -s.ground.z)
    return s


def car() -> arm.System:
    """The car of 14 freedoms with linear tyres, without the event that ends a run where it overturns."""
    tyre = veh.LinearTyre(cornering_stiffness=6e4, slip_stiffness=8e4)
    system = veh.fourteen_freedom_car(tyre, tyre, speed=25.0).system
    system.events.clear()
    return system


MODELS = {"six-axis arm": six_axis_arm, "quadruped": quadruped, "14-freedom car": car}


def measure_model(casadi: Any, name: str, rounds: int = 60) -> dict[str, Any]:
    """Nanoseconds of the rates with their Jacobian, ours and CasADi's, and seconds to make them."""
    derived = MODELS[name]().derive()
    equations = core_of(derived)
    memories = equations.system.memories
    rated = {m.rate_of for m in memories.values()}  # such an input cannot be steered
    names = [n for n, m in memories.items() if m.input and not m.rate_of and n not in rated]
    states, inputs = state_ports(equations), input_ports(equations, names) if names else ()
    model = derived.compile()  # the libraries of both sides are loaded before either is measured
    begin = cpu_seconds()
    by = [*(p.symbol for p in states), *(p.symbol for p in inputs)]
    pattern, functions = KnotFunctions(equations, equations.targets.rates, by).with_jacobian("slopes")
    record: dict[str, Any] = {"seconds": cpu_seconds() - begin}
    rng = np.random.default_rng(1)
    x = model.state(None, None) + rng.uniform(-0.1, 0.1, (ROWS, len(states)))
    memory = np.tile(initial_memory(equations), (ROWS, 1))
    at = Knots(np.zeros(ROWS), x, memory, np.empty((ROWS, 0)))
    constants = functions.constants()

    def rows() -> np.ndarray:
        return functions.rows("slopes", at.t, at.states, None, at.memory, np.empty((ROWS, 0)), constants)

    record |= {
        "nanoseconds": _quickest(_evaluations(functions, at, constants), rounds) / ROWS * 1e9,
        "operations": functions.operations["slopes"].total,
    }
    if casadi is not None and shutil.which("cc"):
        record |= _casadi_model(casadi, derived, names, x, rounds)
        n, elements = len(states), rows()
        dense = np.zeros((ROWS, n, n))
        inside = pattern.columns < n
        dense[:, pattern.rows[inside], pattern.columns[inside]] = elements[:, n:][:, inside]
        theirs = record.pop("first_jacobian")
        record["difference"] = float(np.max(np.abs(dense[0] - theirs)) / np.max(np.abs(theirs)))
    return record


def _evaluations(functions: ModelFunctions, at: Knots, constants: np.ndarray) -> Callable[[], Any]:
    """The compiled loop over all places, which puts the results of each into the same array, as the loop
    around CasADi's function does.
    """
    arrays = (at.t, at.states, constants, at.memory, np.empty(functions.length("slopes")))
    strides = [1, at.states.shape[1], 0, at.memory.shape[1], 0]
    addresses = [a.ctypes.data for a in arrays]
    return lambda: (functions.loop("slopes")(ROWS, *strides, *addresses), arrays)


def cpu_seconds() -> float:
    """Processor time of this process and of the compilers that it has started."""
    mine, theirs = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return mine.ru_utime + mine.ru_stime + theirs.ru_utime + theirs.ru_stime


def _quickest(call: Callable[[], Any], rounds: int) -> float:
    call()
    found = np.inf
    for _ in range(rounds):
        begin = time.perf_counter()
        call()
        found = min(found, time.perf_counter() - begin)
    return found


_LOOP = """
void loop(int rows, int n, const double *x, const double *v, const double *p, double *f, double *A, double *B,
          double *w, long long *iw)
{
    double t = 0.0;
    for (int i = 0; i < rows; i++) {
        const double *arg[64] = {&t, x + (long)i * n, v, p};
        double *res[64] = {f, A, B};
        slopes(arg, res, iw, w, 0);
    }
}
"""


def _casadi_model(
    casadi: Any, equations: Any, names: list[str], x: np.ndarray, rounds: int
) -> dict[str, Any]:
    begin = cpu_seconds()
    made = equations.to_casadi(inputs=names, outputs=[])
    n, m, k = len(made.states), len(names), len(made.parameters)
    t, X, V, P = (casadi.SX.sym(a, size) for a, size in (("t", 1), ("x", n), ("v", m), ("p", k)))
    f = made.rates(t, X, V, P)
    both = casadi.Function("slopes", [t, X, V, P], [f, casadi.jacobian(f, X), casadi.jacobian(f, V)])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        generator = casadi.CodeGenerator("slopes.c")
        generator.add(both)
        text = generator.dump()
        (folder / "slopes.c").write_text(text + _LOOP, encoding="utf-8")
        subprocess.run(["cc", *C_FLAGS, "slopes.c", "-o", "slopes.so", "-lm"], cwd=folder, check=True)
        seconds = cpu_seconds() - begin
        library = ctypes.CDLL(str(folder / "slopes.so"))
    p, v = np.nan_to_num(made.defaults), np.zeros(max(m, 1))
    work = np.zeros(max(both.sz_w(), 1)), np.zeros(max(both.sz_iw(), 1), dtype=np.int64)
    outs = [np.zeros(max(s.nnz(), 1)) for s in (both.sparsity_out(i) for i in range(3))]
    rows = np.ascontiguousarray(x)
    arrays = [a.ctypes.data_as(ctypes.c_void_p) for a in (rows, v, p, *outs, *work)]
    spent = _quickest(lambda: library.loop(len(rows), n, *arrays), rounds)
    first = np.array(both(0.0, x[0], np.zeros(m), p)[1])
    return {
        "casadi_seconds": seconds, "casadi_nanoseconds": spent / len(rows) * 1e9,
        "casadi_operations": both.n_instructions(), "first_jacobian": first,
    }  # fmt: skip


# ---------------------------------------------------------------------------------------- command line


WAYS = ("ours", "ours by IPOPT", "CasADi")


def problem_rows(casadi: Any, reason: str, names: list[str]) -> list[dict[str, Any]]:
    """One record for each problem; those of CasADi and IPOPT have the reason where they are missing."""
    found = []
    for name in names:
        record: dict[str, Any] = {"problem": name, **{way: {"missing": reason} for way in WAYS}}
        problem, preparation = PROBLEMS[name], measure_preparation(name)
        record["ours"] = {"preparation": preparation, **measure_ours(problem, "embedded")}
        if casadi is not None:
            record["ours by IPOPT"] = {"preparation": preparation, **measure_ours(problem, "ipopt")}
            record["CasADi"] = measure_casadi(casadi, problem)
            record["ratio"] = record["ours"]["seconds"] / record["CasADi"]["seconds"]
            costs = [record[way]["cost"] for way in WAYS]
            record["costs differ by"] = (max(costs) - min(costs)) / abs(min(costs))
        found.append(record)
        print(_problem_lines(record), flush=True)
    return found


def _problem_lines(record: dict[str, Any]) -> str:
    def told(part: dict[str, Any]) -> str:
        if "missing" in part:
            return str(part["missing"])
        shares = f"{part['evaluation']:.3f} + {part['linear algebra']:.3f}"
        state = "" if part["solved"] else " not solved"
        spent = f"{part['preparation']:6.2f} s, {part['seconds']:.3f} s ({shares})"
        return f"{spent}, {part['iterations']} it., {part['cost']:.9g}{state}"

    lines = [f"{record['problem']:25s} {way:14s} {told(record[way])}" for way in WAYS]
    if "ratio" in record:
        lines[0] += f"; {record['ratio']:.2f} of CasADi's, costs differ by {record['costs differ by']:.0e}"
    return "\n".join(lines)


def main() -> None:
    """Measure and print; `--json FILE` keeps the records."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--problems", default=";".join(PROBLEMS))
    parser.add_argument("--models", default=";".join(MODELS))
    parser.add_argument("--json", default="")
    parser.add_argument("--prepare", default="", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.prepare:
        print(prepare(given.prepare))
        return
    casadi, reason = casadi_or_reason()
    print("preparation, solution (evaluation + linear algebra), iterations, cost")
    problems = problem_rows(casadi, reason, [n for n in given.problems.split(";") if n])
    models = []
    for name in [n for n in given.models.split(";") if n]:
        record = {"model": name, **measure_model(casadi, name)}
        models.append(record)
        theirs = (
            f"CasADi {record['casadi_nanoseconds']:.0f} ns, made in {record['casadi_seconds']:.2f} s; "
            f"difference {record['difference']:.0e}"
            if "casadi_seconds" in record else reason or "there is no C compiler, cc"
        )  # fmt: skip
        print(
            f"{name:15s} {record['nanoseconds']:.0f} ns, made in {record['seconds']:.2f} s | {theirs}",
            flush=True,
        )
    if given.json:
        Path(given.json).write_text(
            json.dumps({"problems": problems, "models": models}, indent=1), encoding="utf-8"
        )


if __name__ == "__main__":
    main()
