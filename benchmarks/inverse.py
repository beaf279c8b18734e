"""Inverse dynamics beside Pinocchio's recursive Newton–Euler algorithm in C++, on robots of public packages.

    python benchmarks/inverse.py [--peers-python PATH] [--rounds N]

The Stanford arm and robots of `example-robot-data` are loaded from the same URDF files by both programs, arms
on a fixed base, walking ones on a floating base. Each is derived, compiled, checked against the peer's
efforts at random states and rates, and timed beside `rnea` in turns on one core.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import numpy as np

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.analysis.efforts import inverse_model
from benchmarks.build import HERE, NotAvailable, cached, run
from benchmarks.candidate import DerivativesRecord, Native, Operations, generated, pointer
from benchmarks.environment import Environment, find_environment
from benchmarks.models import MODELS, Model
from benchmarks.robots import pinocchio_robot
from benchmarks.text import number, table
from benchmarks.timing import Effort, time_interleaved

TOLERANCE = 1e-10
"""Largest difference of efforts, relative to the largest."""
TARGET = 0.3


@dataclass(frozen=True)
class Robot:
    """A robot by its file below example-robot-data's robots, or the Stanford arm without one."""

    name: str
    file: str = ""
    floating: bool = False
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)


ROBOTS = (
    Robot("Stanford arm", gravity=(0.0, -9.81, 0.0)),
    Robot("UR5, 6 axes", "ur_description/urdf/ur5_robot.urdf"),
    Robot("Panda, 7 axes and gripper", "panda_description/urdf/panda.urdf"),
    Robot("HyQ", "hyq_description/robots/hyq_no_sensors.urdf", floating=True),
    Robot("ANYmal B", "anymal_b_simple_description/robots/anymal.urdf", floating=True),
    Robot("Talos, hands fixed", "talos_data/robots/talos_reduced.urdf", floating=True),
    Robot("Talos", "talos_data/robots/talos_full_v2.urdf", floating=True),
)


def measured_robots(
    robots: Iterable[Robot], measured: Callable[[Robot], dict[str, Any]]
) -> list[dict[str, Any]]:
    """A record for each robot, with its name; what is missing has the reason in it."""
    records = []
    for robot in robots:
        record: dict[str, Any] = {"name": robot.name}
        try:
            record |= measured(robot)
        except NotAvailable as reason:
            record["missing"] = str(reason)
        records.append(record)
    return records


def measure_inverse(environment: Environment, effort: Effort) -> list[dict[str, Any]]:
    """A record for each robot; what is missing has the reason in it."""
    return measured_robots(ROBOTS, lambda robot: _measured(robot, environment, effort))


def _measured(robot: Robot, environment: Environment, effort: Effort) -> dict[str, Any]:
    environment.need("pin", "cmeel-eigen")
    path = robot_file(robot, environment)
    script, base = HERE / "peers" / "inverse_script.py", "floating" if robot.floating else "fixed"
    answer = run([environment.python, script, path, base, *map(str, robot.gravity), "1"])
    told = json.loads(answer[answer.index("{") :])
    ours, error = _ours(robot, path, told)
    theirs = pinocchio_robot(told, environment, "-DRNEA")
    timings = time_interleaved([ours, theirs], effort)
    assert ours.operations is not None
    return {
        "speeds": told["nv"],
        "operations": ours.operations.total,
        "compile_seconds": ours.compile_seconds,
        "nanoseconds": timings[0].minimum,
        "peer_nanoseconds": timings[1].minimum,
        "error": error,
    }


def robot_file(robot: Robot, environment: Environment) -> Path:
    """The URDF file of a robot."""
    if robot.file:
        folder = environment.site / "cmeel.prefix" / "share" / "example-robot-data" / "robots"
        if not (folder / robot.file).exists():
            raise NotAvailable("example-robot-data is not installed; pip install example-robot-data")
        return folder / robot.file
    text = urdf(MODELS["arm"])
    return cached("arm.urdf", [text], lambda file: {"written": file.write_text(text)}).path


def urdf(model: Model) -> str:
    """A benchmark model without a free base as URDF."""
    parts = ['<link name="base"/>']
    for i, link in enumerate(model.links):
        triple = {
            key: " ".join(map(repr, value))
            for key, value in (("at", link.at), ("com", link.com), ("axis", link.axis))
        }
        moments = " ".join(
            f'{key}="{value!r}"' for key, value in zip(("ixx", "iyy", "izz"), link.inertia, strict=True)
        )
        parts.append(
            f'<link name="link{i}"><inertial><origin xyz="{triple["com"]}"/><mass value="{link.mass!r}"/>'
            f'<inertia {moments} ixy="0" ixz="0" iyz="0"/></inertial></link>'
        )
        kind = "continuous" if link.joint == "revolute" else link.joint
        limit = '<limit lower="-2" upper="2" effort="1" velocity="1"/>' if kind == "prismatic" else ""
        parent = "base" if link.parent < 0 else f"link{link.parent}"
        parts.append(
            f'<joint name="joint{i}" type="{kind}"><parent link="{parent}"/><child link="link{i}"/>'
            f'<origin xyz="{triple["at"]}"/><axis xyz="{triple["axis"]}"/>{limit}</joint>'
        )
    return f'<robot name="{model.key}">\n' + "\n".join(parts) + "\n</robot>\n"


def _ours(robot: Robot, path: Path, told: dict[str, Any]) -> tuple[Native, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        system = arm.load(path, floating=robot.floating, torques="none", gravity=robot.gravity)
    assert system.imported is not None
    start = time.process_time()
    compiled = system.derive().compile()
    derived = time.process_time()
    made = inverse_model(core_of(compiled))
    constants = made.functions.constants()
    done = time.process_time()
    rows, expected = [], []
    for state in told["states"]:
        values: dict[str, dict[str, float]] = {"q": {}, "u": {}, "udot": {}, "effort": {}}
        for joint, coordinates in system.imported.joints.items():
            speeds = [str(u) for u in system.bodies[coordinates[0].partition(".")[0]].speeds]
            for key, names in (("q", coordinates), ("u", speeds), ("udot", speeds), ("effort", speeds)):
                values[key] |= dict(zip(names, state[key][joint], strict=True))
        speeds = list(made.equations.speeds)
        q = [values["q"][x] for x in made.equations.coordinates]
        rows.append([*q, *(values[key][x] for key in ("u", "udot") for x in speeds)])
        expected.append([values["effort"][x] for x in speeds])
    pool, wanted = np.array(rows), np.array(expected)
    constants = np.array([constants] * len(pool))
    memory, out = np.zeros(max(1, len(system.memories))), np.zeros(pool.shape[1])
    sizes = len(pool), pool.shape[1] - wanted.shape[1], wanted.shape[1], constants.shape[1]
    record = DerivativesRecord(made.address, *sizes, *(pointer(x) for x in (pool, constants, memory, out)))
    counts = made.operations
    ours = generated(
        "efforts", "Armillary", record, (made, pool, constants, memory, out),
        operations=Operations(counts.additions, counts.multiplications, counts.divisions, counts.functions),
        derive_seconds=derived - start, compile_seconds=done - derived,
    )  # fmt: skip
    found = np.array([ours.at(k, wanted.shape[1]) for k in range(len(pool))])
    return ours, float(np.max(np.abs(found - wanted)) / np.max(np.abs(wanted)))


def inverse_table(records: Sequence[dict[str, Any]]) -> str:
    """Time beside the peer's, and whether the target is met."""
    head = ["robot", "speeds", "operations", "ns", "rnea ns", "ratio", "compile s", "difference"]
    rows = [
        [
            r["name"], str(r["speeds"]), f"{r['operations']:,}", number(r["nanoseconds"], 0),
            number(r["peer_nanoseconds"], 0), number(r["nanoseconds"] / r["peer_nanoseconds"]),
            number(r["compile_seconds"]), f"{r['error']:.0e}",
        ]
        for r in records if "nanoseconds" in r
    ]  # fmt: skip
    lines = ["Inverse dynamics beside Pinocchio's rnea", table(head, rows)]
    lines += [f"{r['name']}: {r['missing']}" for r in records if "missing" in r]
    lines += [
        f"{r['name']}: WRONG by {r['error']:.1e}" for r in records if not r.get("error", 0.0) <= TOLERANCE
    ]
    good = [r for r in records if r.get("error", 1.0) <= TOLERANCE]
    met = sum(r["nanoseconds"] <= TARGET * r["peer_nanoseconds"] for r in good)
    return "\n".join([*lines, f"{met} of {len(records)} robots in at most {TARGET} of the peer's time"])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks/inverse.py", description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--peers-python", metavar="PATH", help="interpreter of the environment that has the peers"
    )
    parser.add_argument("--rounds", type=int, default=100, metavar="N", help="rounds of 3 ms per candidate")
    options = parser.parse_args(arguments)
    records = measure_inverse(find_environment(options.peers_python), Effort(rounds=options.rounds))
    print(inverse_table(records))
    return int(any(not r.get("error", 0.0) <= TOLERANCE for r in records))


if __name__ == "__main__":
    sys.exit(main())
