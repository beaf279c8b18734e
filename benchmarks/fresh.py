"""Derivation and compilation measured in a process of their own: CPU and wall seconds, stages, peak memory.

`python -m benchmarks.fresh chain64` prints one measurement as JSON: the time from a description to the first
result. A pendulum, a four-bar linkage and a spacecraft go first, so that what is paid once per process
(loading LLVM) or once per installation (code that all models share: the loops of runs, the closing of loops)
is not charged to the model; it is reported apart, as `start`. Machine code that was kept from earlier
processes is not used.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import armillary as arm
from benchmarks.build import HERE, NotAvailable, run
from benchmarks.candidate import Operations
from benchmarks.environment import find_environment
from benchmarks.linkages import LINKAGES, four_bar
from benchmarks.models import MODELS, chain
from benchmarks.published import example_system

ROBOT_FILES = {
    "anymal": "anymal_b_simple_description/robots/anymal.urdf",
    "talos": "talos_data/robots/talos_full_v2.urdf",
    "tiago": "tiago_description/robots/tiago.urdf",
}
"""Files of example-robot-data."""


def peak_memory() -> float:
    """Peak resident memory of this process in MB.

    Linux's own high-water mark where there is one: ru_maxrss of a child also counts the parent it was
    forked from.
    """
    try:
        status = Path("/proc/self/status").read_text()
        return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) / 1024
    except (OSError, StopIteration):
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1024**2


def described_system(key: str) -> arm.System:
    """A model or linkage of the benchmarks, a robot, or an example by the name of its file."""
    from benchmarks.ours import system

    if key in ROBOT_FILES:
        folder = find_environment().site / "cmeel.prefix" / "share" / "example-robot-data" / "robots"
        if not folder.is_dir():
            raise NotAvailable("example-robot-data is not installed")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return arm.load(folder / ROBOT_FILES[key], floating=True, torques="all")
    model = {**MODELS, **LINKAGES}.get(key)
    return system(model) if model else example_system(key)


def measure(key: str) -> dict[str, Any]:
    """CPU seconds and memory of one model from its description to machine code."""
    from benchmarks.ours import system

    start = time.process_time()
    for first in (chain(1), four_bar(), MODELS["spacecraft2"]):
        system(first).derive().compile().simulate(1e-3, step=1e-3, method="rk4")
    started = time.process_time()

    wall = time.perf_counter()
    described = described_system(key)
    described_at = time.process_time()
    equations = described.derive()
    derived = time.process_time()
    compiled = equations.compile()
    done = time.process_time()
    try:
        compiled.simulate(1e-3, step=1e-3, method="rk4")
        first = time.process_time() - described_at
    except arm.ArmillaryError:  # parameters without defaults
        first = None
    record = {
        "model": key,
        "links": len(described.bodies),
        "start_seconds": started - start,
        "describe_seconds": described_at - started,
        "derive_seconds": derived - described_at,
        "compile_seconds": done - derived,
        "together_seconds": done - described_at,
        "first_seconds": first,
        "wall_seconds": time.perf_counter() - wall,
        "peak_megabytes": peak_memory(),
        "formalism": equations.formalism,
        "operations": Operations.of(equations).total,
        "stages": [{"name": stage.name, "seconds": stage.seconds} for stage in equations.stages],
    }
    del compiled
    return record


def import_seconds(repeats: int) -> float:
    """CPU seconds of `import armillary` after NumPy in a fresh process, the least of several, the first of
    which may write the byte code, whatever the shell's settings are.
    """
    clock = "time.process_time()"
    code = f"import time, numpy; start = {clock}; import armillary; print({clock} - start)"
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return min(float(run([sys.executable, "-c", code], env=variables)) for _ in range(repeats))


def in_fresh_process(key: str, repeats: int) -> dict[str, Any]:
    """The quickest of several fresh processes; memory is the largest seen."""
    path = os.pathsep.join(filter(None, (str(HERE.parent), os.environ.get("PYTHONPATH"))))
    variables = {**os.environ, "PYTHONPATH": path}
    runs = [
        json.loads(run([sys.executable, "-m", "benchmarks.fresh", key], env=variables))
        for _ in range(repeats)
    ]
    best = min(runs, key=lambda record: record["together_seconds"])
    return {**best, "peak_megabytes": max(record["peak_megabytes"] for record in runs)}


if __name__ == "__main__":
    os.environ["ARMILLARY_CACHE"] = "off"
    print(json.dumps(measure(sys.argv[1])))
