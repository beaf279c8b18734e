"""Runs of a linkage over one second, each program with the largest step that gives an equal accuracy.

Armillary and MuJoCo step with RK4, Exudyn with its trapezoidal rule; a second run of Armillary chooses its
own steps ("dop853", what a user gets who names none) with the loosest tolerance that does. Armillary is
called as a user calls it, the start of a run in Python included; MuJoCo's loop is C, Exudyn's its own.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import closed, reference
from benchmarks.build import NotAvailable, cached
from benchmarks.candidate import Candidate, Native, pointer
from benchmarks.linkages import Linkage
from benchmarks.models import Pool
from benchmarks.peers.exudyn_py import Remote
from benchmarks.timing import one_core

DURATION, ACCURACY = 1.0, 1e-5
STEPS = (250, 500, 1000, 2000, 4000, 8000)
REPEATS, STARTS = 5, 100  # of whole runs and of single steps, which are short

LOOSEST = 1e-4  # relative tolerance in place of the largest step; it falls as RK4's error would

Runner = Callable[[int, float], tuple[float, np.ndarray, int]]
"""From the number of steps and their size to CPU seconds, the coordinates at the end, and the steps taken."""


def simulate(
    linkage: Linkage, states: Pool, candidates: Sequence[Candidate], compiled: Any
) -> list[dict[str, Any]]:
    """One record for each program, or formulation of it."""
    end = true_end(linkage, states)
    runners: dict[str, Runner] = {}
    for candidate in candidates:
        if isinstance(candidate, Remote):
            runners[candidate.name.rsplit(" ", 1)[0]] = exudyn(candidate)
        elif isinstance(candidate, Native) and candidate.name.startswith("MuJoCo"):
            runners["MuJoCo"] = mujoco(candidate, linkage)
        elif isinstance(candidate, Native):
            runners["Armillary"] = armillary(candidate, compiled, linkage, states, adaptive=False)
            runners["Armillary dop853"] = armillary(candidate, compiled, linkage, states, adaptive=True)
    with one_core():
        return [{"name": name, **quickest(runner, end)} for name, runner in runners.items()]


def true_end(linkage: Linkage, states: Pool) -> np.ndarray:
    """The arbiter's coordinates at the end, kept: NumPy takes twenty seconds for the Stewart platform."""
    sources = [Path(str(module.__file__)).read_bytes() for module in (closed, reference)]

    def make(path: Path) -> dict:
        print(f"  integrating {linkage.key} with NumPy ...", flush=True)
        path.write_text(json.dumps(closed.final_coordinates(linkage, states, DURATION).tolist()))
        return {}

    built = cached(f"{linkage.key}_end.json", [repr(linkage), repr(DURATION), *sources], make)
    return np.array(json.loads(built.path.read_text()))


def quickest(run: Runner, end: np.ndarray) -> dict[str, Any]:
    """The first number of steps that is accurate enough, its best time and that of a single step, which is
    the start of a run; else the smallest error met.
    """
    smallest = float("inf")
    for steps in STEPS:
        step = DURATION / steps
        try:
            _, reached, taken = run(steps, step)
        except (NotAvailable, ArithmeticError):  # too large a step for it
            continue
        error = float(np.abs(reached - end).max())
        if error <= ACCURACY:
            whole = min(run(steps, step)[0] for _ in range(REPEATS))
            start = min(run(1, step)[0] for _ in range(STARTS))
            return {"steps": taken, "seconds": whole, "start_seconds": start, "error": error}
        smallest = min(smallest, error)
    return {"steps": None, "seconds": None, "start_seconds": None, "error": smallest}


def armillary(candidate: Native, compiled: Any, linkage: Linkage, states: Pool, *, adaptive: bool) -> Runner:
    from armillary.errors import SimulationError
    from benchmarks.ours import effort_parameters

    kept = [states.v[0][i] for i in candidate.speeds or ()]
    names = (*compiled.coordinate_names, *compiled.speed_names)
    initial = dict(zip(names, map(float, (*states.q[0], *kept)), strict=True))
    parameters = effort_parameters(np.array(linkage.efforts))

    def run(steps: int, step: float) -> tuple[float, np.ndarray, int]:
        tolerance = LOOSEST * (step * STEPS[0] / DURATION) ** 4
        how: dict[str, Any] = {"rtol": tolerance, "atol": 0.01 * tolerance} if adaptive else {"step": step}
        start = time.thread_time()
        try:
            result = compiled.simulate(
                steps * step, sample=steps * step, initial=initial, parameters=parameters, **how
            )
        except SimulationError as error:
            raise ArithmeticError(str(error)) from None
        seconds = time.thread_time() - start
        reached = np.array([result.final[name] for name in compiled.coordinate_names])
        return seconds, reached, result.info["steps"]

    return run


def mujoco(candidate: Native, linkage: Linkage) -> Runner:
    shared: Any = candidate.keep[0]
    efforts = np.array(linkage.efforts)

    def run(steps: int, step: float) -> tuple[float, np.ndarray, int]:
        end = np.empty(linkage.nq)
        start = time.thread_time()
        shared.simulate(candidate.self, pointer(efforts), steps, step, pointer(end))
        return time.thread_time() - start, end, steps

    return run


def exudyn(candidate: Remote) -> Runner:
    def run(steps: int, step: float) -> tuple[float, np.ndarray, int]:
        answer = candidate.worker.ask("simulate", steps, step)
        return answer["seconds"], np.array(answer["q"]), steps

    return run
