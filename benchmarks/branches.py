"""Models with branches that are alike: an evaluation with operations in vector lanes, and without.

    python -m benchmarks.branches               a table
    python -m benchmarks.branches hexapod       some of them
    python -m benchmarks.branches robot.urdf    a robot of a file, on a free base

Both kinds of code, in the process and as exported C, are timed in turns at the same states, after their rates
were compared.
"""

from __future__ import annotations

import ctypes
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from math import cos, pi, sin
from pathlib import Path
from typing import Any

import numpy as np

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.llvm.jit import Compiled
from armillary.llvm.sections import process_text
from armillary.runtime.models.compilation import compile_equations
from armillary.runtime.models.compiled import CompiledModel
from armillary.text_tables import aligned
from benchmarks.build import run
from benchmarks.exported import address_in
from benchmarks.formalisms import candidate, difference
from benchmarks.linkages import LINKAGES
from benchmarks.models import MODELS
from benchmarks.ours import system as described
from benchmarks.timing import Effort, time_interleaved

STATES = 8
AGREEMENT = 1e-10


def quadruped() -> arm.System:
    """A trunk on four legs of hip, thigh and shank, mirrored front to back and left to right."""
    s, trunk = _on_a_free_base("quadruped", 25.0, (0.4, 1.0, 1.1))
    for leg, (x, y) in enumerate(((1, 1), (1, -1), (-1, 1), (-1, -1))):
        hip = _link(s, f"hip{leg}", trunk, "x", (0.3 * x, 0.1 * y, 0), 2.0, (0.02 * x, 0.05 * y, 0.0))
        thigh = _link(s, f"thigh{leg}", hip, "y", (0.05 * x, 0.1 * y, 0), 3.0, (0.02, 0.01 * y, -0.15))
        _link(s, f"shank{leg}", thigh, "y", (0, 0.02 * y, -0.3), 0.8, (0.01 * x, 0, -0.12))
    return s


def hexapod() -> arm.System:
    """A hub on six legs of coxa, femur and tibia at 60 degrees."""
    s, hub = _on_a_free_base("hexapod", 10.0, (0.3, 0.4, 0.6))
    for leg in range(6):
        angle = pi / 3 * leg + 0.1
        at = (0.3 * cos(angle), 0.3 * sin(angle), 0.0)
        coxa = _link(s, f"coxa{leg}", hub, "z", at, 0.4, (0.03, 0, 0))
        femur = _link(s, f"femur{leg}", coxa, "y", (0.06, 0, 0), 0.6, (0.08, 0, 0))
        _link(s, f"tibia{leg}", femur, "y", (0.16, 0, 0), 0.5, (0.1, 0, 0.01))
    return s


def car() -> arm.System:
    """A body on four sprung wheels; the front ones are steered."""
    s, body = _on_a_free_base("car", 1200.0, (500.0, 1800.0, 2000.0))
    for wheel, (x, y) in enumerate(((1.2, 0.7), (1.2, -0.7), (-1.4, 0.7), (-1.4, -0.7))):
        carrier = s.body(
            f"carrier{wheel}", body, arm.Prismatic("z"), at=(x, y, -0.3), mass=30, com=(0, 0.02 * y, 0),
            inertia=(0.5, 0.6, 0.5),
        )  # fmt: skip
        spring = -30e3 * carrier.q1 - 2e3 * carrier.u1
        s.force(f"spring{wheel}", spring, body.z, at=carrier.origin, reaction=body.origin)
        if x > 0:
            carrier = _link(s, f"knuckle{wheel}", carrier, "z", (0, 0.05 * y, 0), 5.0, (0.01, 0.05 * y, 0))
        s.body(f"wheel{wheel}", carrier, arm.Revolute("y"), mass=15, inertia=(0.6, 1.1, 0.6))
    return s


def hub() -> arm.System:
    """A hub with two wings of three panels each."""
    s, hub = _on_a_free_base("hub with panels", 500.0, (110.0, 100.0, 70.0))
    for wing, side in enumerate((1, -1)):
        panel = hub
        for i in range(3):
            axis, at = ("y", (0, side, 0)) if i == 0 else ("x", (0, 2 * side, 0))
            panel = _link(s, f"panel{wing}{i}", panel, axis, at, 20.0, (0, side, 0.02), (7, 1, 8))
            s.moment(
                f"hinge{wing}{i}", -50 * panel.q1 - 5 * panel.u1, getattr(panel, axis), on=panel,
                reaction=panel.parent,
            )  # fmt: skip
    return s


def _on_a_free_base(name: str, mass: float, inertia: tuple[float, float, float]) -> tuple[arm.System, Any]:
    s = arm.System(name)
    s.gravity(9.81, -s.ground.z)
    return s, s.body("base", joint=arm.Free(velocity="body"), mass=mass, inertia=inertia)


def _link(
    s: arm.System, name: str, parent: Any, axis: str, at: Any, mass: float, com: Any,
    inertia: Any = (0.02, 0.025, 0.018),
) -> Any:  # fmt: skip
    return s.body(name, parent, arm.Revolute(axis), at=at, mass=mass, com=com, inertia=inertia)


BRANCHES: dict[str, Callable[[], arm.System]] = {
    "quadruped": quadruped,
    "hexapod": hexapod,
    "car": car,
    "hub": hub,
    "spacecraft2": lambda: described(MODELS["spacecraft2"]),
    "tree31": lambda: described(MODELS["tree31"]),
    "stewart": lambda: described(LINKAGES["stewart"]),
}


def measure(source: str, effort: Effort) -> dict[str, Any]:
    """Times, counts and the largest difference of one model."""
    equations = (BRANCHES[source] if source in BRANCHES else lambda: _loaded(source))().derive()
    program = equations.program
    models, seconds = [], []
    for way in (replace(program, alike=()), program):
        start = time.process_time()
        code = Compiled(process_text(way))
        seconds.append(time.process_time() - start)
        models.append(
            CompiledModel(replace(core_of(equations), program=way), code, seconds[-1], compile_equations)
        )
    rng = np.random.default_rng(7)
    start_state = models[0].state()
    speeds = np.arange(len(start_state)) >= len(models[0].coordinate_names)
    loose = np.where(speeds, 1.0, 0.0 if equations.dependents else 0.3)  # not all angles close a loop
    states = start_state + loose * rng.uniform(-1, 1, (STATES, len(start_state)))
    candidates = [candidate(model, states) for model in models]
    if shutil.which("cc"):
        candidates += [candidate(models[0], states, _exported(equations, lanes)) for lanes in (1, 2)]
    single, lanes, *in_c = time_interleaved(candidates, effort)
    first, *others = (
        np.array([c.at(i, len(models[0].speed_names)) for i in range(STATES)]) for c in candidates
    )
    return {
        "model": equations.system.name,
        "operations": equations.operations.total,
        "paired": equations.paired.total,
        "difference": max(difference(other, first) for other in others),
        "single_ns": single.minimum,
        "lanes_ns": lanes.minimum,
        **dict(zip(("c_ns", "c_lanes_ns"), [t.minimum for t in in_c], strict=False)),
        "compile_single": seconds[0],
        "compile_lanes": seconds[1],
    }


def _exported(equations: Any, lanes: int) -> int:
    """The address of the derivatives in C, compiled by its own Makefile."""
    with tempfile.TemporaryDirectory() as folder:
        path = equations.export("c", Path(folder) / "c", lanes=lanes)
        run(["make", "-C", str(path), "shared"])
        library = next(path.glob("*.so"))
        return address_in(ctypes.CDLL(str(library)), f"{library.stem}_derivatives")


def _loaded(path: str) -> arm.System:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return arm.load(Path(path), floating=True, torques="all")


def branches_table(records: list[dict[str, Any]]) -> str:
    head = (
        "model", "operations", "in lanes", "single, ns", "lanes, ns", "ratio", "C, ns", "C lanes, ns",
        "ratio", "compile, s", "lanes, s",
    )  # fmt: skip
    rows = []
    for r in records:
        times = _pair(r, "single_ns", "lanes_ns") + _pair(r, "c_ns", "c_lanes_ns")
        compilation = [f"{r[key]:.2f}" for key in ("compile_single", "compile_lanes")]
        rows.append([r["model"], str(r["operations"]), str(r["paired"]), *times, *compilation])
    return "\n".join(aligned([list(head), *rows]))


def _pair(record: dict[str, Any], single: str, lanes: str) -> list[str]:
    """Two times and their ratio."""
    if single not in record:
        return ["-"] * 3
    a, b = record[single], record[lanes]
    return [f"{a:.0f}", f"{b:.0f}", f"{b / a:.2f}"]


def main(sources: list[str]) -> int:
    records = [measure(source, Effort(rounds=300, chunk=5e-4)) for source in sources or BRANCHES]
    print(branches_table(records))
    return int(max(r["difference"] for r in records) > AGREEMENT)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
