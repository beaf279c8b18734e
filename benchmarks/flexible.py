"""Two flexible bodies of 50 modes each: derived, compiled, checked by brute force, and timed beside LAPACK.

`python -m benchmarks.flexible dense` prints one measurement as JSON; it runs in a process of its own, with
one thread for LAPACK. The rival is one Cholesky solution with the model's mass matrix, which whoever
evaluates the equations by a dense matrix pays besides forming it; the copy that it overwrites is not charged
to it.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

import numpy as np

from benchmarks.build import HERE, run
from benchmarks.candidate import TOLERANCE, DerivativesRecord, Operations, error_of, generated, pointer
from benchmarks.cholesky import cholesky_candidates
from benchmarks.fresh import peak_memory
from benchmarks.models import chain
from benchmarks.timing import Effort, time_interleaved

SATELLITES = ("plates", "dense")  # of wings.py
THREADS = {name: "1" for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")}


def measure(key: str, rounds: int) -> dict[str, Any]:
    from benchmarks import wings  # here, because Armillary itself may fail to import
    from benchmarks.ours import system

    satellite = wings.SATELLITES[key]
    system(chain(1)).derive().compile()  # what is paid once per process
    start = time.process_time()
    described = satellite.system
    described_at = time.process_time()
    equations = described.derive()
    derived = time.process_time()
    compiled = equations.compile()
    done = time.process_time()
    memory = peak_memory()

    q, u = satellite.pool()
    matrices, right = map(np.array, zip(*map(satellite.equations, q, u), strict=True))
    reference = np.linalg.solve(matrices, right[:, :, None])[:, :, 0]
    states = np.ascontiguousarray(np.hstack((q, u)))
    constants = np.tile(compiled.constants(), (len(states), 1))
    arrays = (states, constants, np.zeros(1), np.zeros(states.shape[1]))
    record = DerivativesRecord(
        compiled.address("derivatives"), len(states), satellite.nq, satellite.nv, constants.shape[1],
        *map(pointer, arrays),
    )  # fmt: skip
    ours = generated(
        "derivatives", f"Armillary {equations.formalism}", record, (compiled, *arrays),
        operations=Operations.of(equations), derive_seconds=derived - described_at,
        compile_seconds=done - derived,
    )  # fmt: skip
    cholesky, copy = cholesky_candidates(matrices, right)
    errors = {c.name: error_of(c, reference) for c in (ours, cholesky)}
    own, lapack, copying = (t.minimum for t in time_interleaved((ours, cholesky, copy), Effort(rounds)))
    found: dict[str, Any] = {
        "key": key,
        "title": satellite.title,
        "speeds": satellite.nv,
        "formalism": equations.formalism,
        "operations": Operations.of(equations).total,
        "describe_seconds": described_at - start,
        "derive_seconds": derived - described_at,
        "compile_seconds": done - derived,
        "together_seconds": done - described_at,
        "peak_megabytes": memory,
        "error": errors[ours.name],
        "cholesky_error": errors[cholesky.name],
        "nanoseconds": own,
        "cholesky_nanoseconds": lapack - copying,
        "copy_nanoseconds": copying,
    }
    if max(errors.values()) > TOLERANCE:
        found["wrong"] = f"off by {max(errors.values()):.0e}"
    return found


def measure_flexible(*, repeats: int, rounds: int) -> list[dict[str, Any]]:
    """Each satellite in fresh processes: seconds of the one that derived and compiled quickest, and
    evaluations, both ours and LAPACK's, of the one in which LAPACK was quickest.
    """
    path = os.pathsep.join(filter(None, (str(HERE.parent), os.environ.get("PYTHONPATH"))))
    variables = {**os.environ, **THREADS, "PYTHONPATH": path}
    best = []
    for key in SATELLITES:
        command = [sys.executable, "-m", "benchmarks.flexible", key, str(rounds)]
        runs = [json.loads(run(command, env=variables)) for _ in range(repeats)]
        quickest = min(runs, key=lambda record: record["together_seconds"])
        timed = min(runs, key=lambda record: record["cholesky_nanoseconds"])
        best.append({**quickest, **{name: timed[name] for name in timed if name.endswith("nanoseconds")}})
    return best


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 60)))
