"""A and B of robots beside their derivatives, Pinocchio's analytical derivatives and CasADi's Jacobian.

    python benchmarks/linearization.py [--peers-python PATH] [--rounds N] [--sweep]

The Stanford arm and robots of `example-robot-data` are loaded from the same URDF files by both programs,
without damping and mimics. Armillary's function gives A and B by the efforts of all joints,
`computeABADerivatives` the accelerations, their derivatives by coordinates and speeds, and the inverse mass
matrix. So does CasADi's Jacobian of Pinocchio's `aba`, by Pinocchio's own coordinates (Euler parameters, and
cosine and sine of joints without limits). On a fixed base all are compared. With ``--sweep`` 100,000
eigen-analyses of the car of Sayers (1990) over speed and load are timed, in seconds of processor time.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import numpy as np

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.analysis.linear.matrices import Linearization
from armillary.runtime.models.compiled_program import ModelFunctions
from armillary.verification.rows import largest
from benchmarks.build import HERE, NotAvailable, cached, run
from benchmarks.candidate import DerivativesRecord, Native, Operations, generated, pointer
from benchmarks.environment import Environment, find_environment
from benchmarks.inverse import ROBOTS, Robot, measured_robots, robot_file
from benchmarks.peers.casadi_jacobian import casadi_jacobian
from benchmarks.robots import pinocchio_robot
from benchmarks.text import number, table
from benchmarks.timing import Effort, time_interleaved
from examples import car

TOLERANCE = 1e-9
"""Largest difference of an element, relative to the largest of its matrix."""
RATIO, FASTER, CASADI = 2.5, 5.0, 1.5  # times the derivatives, and as fast as the peers
POINTS = 100_000


def measure_linearization(
    environment: Environment, effort: Effort, names: Sequence[str] | None = None
) -> list[dict[str, Any]]:
    """A record for each robot, or those whose names start so; what is missing has the reason in it."""
    chosen = [r for r in ROBOTS if not names or r.name.startswith(tuple(names))]
    return measured_robots(chosen, lambda robot: _measured(robot, environment, effort))


def _measured(robot: Robot, environment: Environment, effort: Effort) -> dict[str, Any]:
    environment.need("pin", "cmeel-eigen")
    text = robot_file(robot, environment).read_text(encoding="utf-8", errors="replace")
    text = re.sub(r"<(dynamics|mimic)\b[^>]*/>", "", text)
    path = cached("robot.urdf", [text], lambda file: {"written": file.write_text(text)}).path
    script, base = HERE / "peers" / "inverse_script.py", "floating" if robot.floating else "fixed"
    answer = run([environment.python, script, path, base, *map(str, robot.gravity), "1"])
    told = json.loads(answer[answer.index("{") :])
    del told["given"]  # no efforts act
    ours, rates, found = _ours(robot, path, told)
    theirs = pinocchio_robot(told, environment, "-DABA_DERIVATIVES")
    others: dict[str, Any] = {}
    try:
        casadi, out = casadi_jacobian(told, environment)
    except NotAvailable as reason:
        casadi, others["casadi_missing"] = None, str(reason)
    timings = time_interleaved([ours, rates, theirs, *([casadi] if casadi else [])], effort)
    assert ours.operations is not None and rates.operations is not None
    record = {
        "speeds": told["nv"],
        "operations": ours.operations.total,
        "rates_operations": rates.operations.total,
        "compile_seconds": ours.compile_seconds,
        "nanoseconds": timings[0].minimum,
        "rates_nanoseconds": timings[1].minimum,
        "peer_nanoseconds": timings[2].minimum,
        **others,
    }
    if casadi is not None and casadi.operations is not None:
        record |= {"casadi_nanoseconds": timings[3].minimum, "casadi_operations": casadi.operations.total}
    if robot.floating:
        return record
    error = _difference(found, theirs, told)
    return {
        **record,
        "error": largest(error, _casadi_difference(found, casadi, out, told) if casadi else 0.0),
    }


def _difference(found: np.ndarray, theirs: Native, told: dict[str, Any]) -> float:
    """Of ∂u̇/∂q, ∂u̇/∂u and M⁻¹, which the peer puts after the accelerations."""
    n, worst = told["nv"], 0.0
    for k, ours in enumerate(found):
        whole = theirs.at(k, n + 3 * n * n)[n:].reshape(3, n, n)
        expected = np.concatenate(list(whole), axis=1)
        worst = largest(worst, np.abs(ours - expected) / np.max(np.abs(expected)))
    return worst


def _casadi_difference(found: np.ndarray, theirs: Native, out: np.ndarray, told: dict[str, Any]) -> float:
    """Of ∂u̇/∂u and M⁻¹; CasADi's columns of coordinates are by cosines, sines and Euler parameters."""
    n, worst = told["nv"], 0.0
    for k, ours in enumerate(found):
        theirs.at(k, n)
        expected = out.reshape(-1, n).T[:, -2 * n :]
        worst = largest(worst, np.abs(ours[:, n:] - expected) / np.max(np.abs(expected)))
    return worst


def _ours(robot: Robot, path: Path, told: dict[str, Any]) -> tuple[Native, Native, np.ndarray]:
    """The matrices and the derivatives as candidates, and [∂u̇/∂q, ∂u̇/∂u, M⁻¹] at the peer's states."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        system = arm.load(path, floating=robot.floating, torques="all", gravity=robot.gravity)
    assert system.imported is not None
    start = time.process_time()
    equations = system.derive()
    model = equations.compile()
    derived = time.process_time()
    inputs = [name for name, memory in system.memories.items() if memory.input]
    made = Linearization(core_of(equations), inputs)
    made.constants()
    done = time.process_time()
    states = []
    for state in told["states"]:
        values: dict[str, float] = {}
        for joint, coordinates in system.imported.joints.items():
            speeds = [str(u) for u in system.bodies[coordinates[0].partition(".")[0]].speeds]
            values |= dict(
                zip([*coordinates, *speeds], [*state["q"][joint], *state["u"][joint]], strict=True)
            )
        states.append(model.state(values))
    pool = np.array(states)
    functions = ModelFunctions(core_of(equations), {"rates": core_of(equations).targets.rates})
    seconds = (derived - start, done - derived)
    rates = _candidate("rates", functions, "rates", pool, seconds)
    ours = _candidate("matrices", made.functions, "matrices", pool, seconds)
    found = made.rows(0.0, pool)
    n = len(equations.speeds)
    return ours, rates, np.concatenate([found.A[:, -n:], found.B[:, -n:]], axis=2)


def _candidate(
    name: str, functions: ModelFunctions, function: str, pool: np.ndarray, seconds: tuple[float, float]
) -> Native:
    constants = np.array([functions.constants()] * len(pool))
    count = len(functions(function, 0.0, pool[0]))
    memory, out = np.zeros(max(1, len(functions.equations.system.memories))), np.zeros(count)
    sizes = len(pool), pool.shape[1] - 1, 1, constants.shape[1]
    arrays = tuple(pointer(x) for x in (pool, constants, memory, out))
    record = DerivativesRecord(functions.address(function), *sizes, *arrays)
    counts = functions.operations[function]
    return generated(
        "efforts", name, record, (functions, pool, constants, memory, out),
        operations=Operations(counts.additions, counts.multiplications, counts.divisions, counts.functions),
        derive_seconds=seconds[0], compile_seconds=seconds[1],
    )  # fmt: skip


def sweep_seconds() -> tuple[float, float]:
    """Seconds of one core for the matrices of the car at 100,000 speeds and loads, alone and with their
    eigenvalues.
    """
    model = car.system().derive().compile()
    chance = np.random.default_rng(1)
    parameters = {"SPEED": chance.uniform(300, 2000, POINTS), "RBW": chance.uniform(1500, 3500, POINTS)}
    states = ["NRB.u2", "NRB.u3", "RB.q1", "RB.u1"]
    model.linearize(inputs=["STEER"])  # compiled once
    start = time.process_time()
    lin = model.linearize(inputs=["STEER"], parameters=parameters)
    matrices = time.process_time()
    poles = lin.keep(states).poles()
    assert poles.shape == (POINTS, 4)
    return matrices - start, time.process_time() - start


def linearization_table(records: Sequence[dict[str, Any]]) -> str:
    """Times beside the derivatives' and the peer's, and how many meet the targets."""
    head = [
        "robot", "speeds", "operations", "of derivatives", "ns", "derivatives ns", "ratio",
        "ABA derivatives ns", "faster by", "CasADi ns", "faster by", "compile s", "difference",
    ]  # fmt: skip
    rows = [
        [
            r["name"], str(r["speeds"]), f"{r['operations']:,}", f"{r['rates_operations']:,}",
            number(r["nanoseconds"], 0), number(r["rates_nanoseconds"], 0),
            number(r["nanoseconds"] / r["rates_nanoseconds"]), number(r["peer_nanoseconds"], 0),
            number(r["peer_nanoseconds"] / r["nanoseconds"]),
            number(r["casadi_nanoseconds"], 0) if "casadi_nanoseconds" in r else "",
            number(r["casadi_nanoseconds"] / r["nanoseconds"]) if "casadi_nanoseconds" in r else "",
            number(r["compile_seconds"]),
            f"{r['error']:.0e}" if "error" in r else "",
        ]
        for r in records if "nanoseconds" in r
    ]  # fmt: skip
    lines = [
        "A and B beside the derivatives, Pinocchio's computeABADerivatives and CasADi",
        table(head, rows),
    ]
    lines += [f"{r['name']}: {r['missing']}" for r in records if "missing" in r]
    lines += [f"{r['name']}: {r['casadi_missing']}" for r in records if "casadi_missing" in r]
    lines += [
        f"{r['name']}: WRONG by {r['error']:.1e}" for r in records if not r.get("error", 0.0) <= TOLERANCE
    ]
    good = [r for r in records if "nanoseconds" in r and r.get("error", 0.0) <= TOLERANCE]
    close = sum(r["nanoseconds"] <= RATIO * r["rates_nanoseconds"] for r in good)
    fast = sum(FASTER * r["nanoseconds"] <= r["peer_nanoseconds"] for r in good)
    lines.append(
        f"of {len(records)} robots {close} within {RATIO} times the derivatives, {fast} at least {FASTER:g} "
        "times as fast as the peer"
    )
    beside = [r for r in good if "casadi_nanoseconds" in r]
    ahead = sum(CASADI * r["nanoseconds"] <= r["casadi_nanoseconds"] for r in beside)
    lines.append(f"{ahead} of {len(beside)} at least {CASADI} times as fast as CasADi's Jacobian")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="benchmarks/linearization.py", description=__doc__.partition("\n")[0]
    )
    parser.add_argument(
        "--peers-python", metavar="PATH", help="interpreter of the environment that has the peers"
    )
    parser.add_argument(
        "--robots", nargs="+", metavar="NAME", help="some robots, by the start of their names"
    )
    parser.add_argument("--rounds", type=int, default=100, metavar="N", help="rounds of 3 ms per candidate")
    parser.add_argument("--sweep", action="store_true", help="100,000 eigen-analyses of the car instead")
    options = parser.parse_args(arguments)
    if options.sweep:
        matrices, whole = sweep_seconds()
        print(f"{POINTS:,} linear models of the car: {matrices:.2f} s; with their eigenvalues {whole:.2f} s")
        return 0
    effort = Effort(rounds=options.rounds)
    records = measure_linearization(find_environment(options.peers_python), effort, options.robots)
    print(linearization_table(records))
    return int(any(not r.get("error", 0.0) <= TOLERANCE for r in records))


if __name__ == "__main__":
    sys.exit(main())
