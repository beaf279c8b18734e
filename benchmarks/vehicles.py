"""Tyres and cars: an evaluation and whole runs, in the process and in exported C; batches of lane changes.

    python -m benchmarks.vehicles                        a table of the tyre and of two cars
    python -m benchmarks.vehicles --models "full car"    one of them
    python -m benchmarks.vehicles --lane-changes 10000   double lane changes on all cores
    python -m benchmarks.vehicles --gpu 1000000          the same on a CUDA GPU
    python -m benchmarks.vehicles --gpu 1000000 --method midpoint --precision fast

The tyre is a Magic Formula 6.1 in which every coefficient counts: Fx, Fy, Mx, My and Mz of load, longitudinal
slip, tangent of the slip angle and sine of the camber angle, as a wheel has them. Cars start from rest and
hold 25 m/s; their first second has steps of 1 ms, by each of METHODS, and a row every 10 ms. C has vectors as
wide as those of the process, and is compiled by its own Makefile, whose flags are printed. Nanoseconds and
seconds are of one core, the least of many; codes take turns.

Lane changes have steps of 1 ms by ``--method``; their metrics see every step, or rows ``--watch`` apart.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "src")]

import armillary as arm  # noqa: E402
import armillary.vehicles as veh  # noqa: E402
from armillary.export.c.model import USUAL  # noqa: E402
from armillary.llvm.jit import vector_doubles  # noqa: E402
from armillary.solver.methods.method_text import exported_methods  # noqa: E402
from armillary.text_tables import aligned  # noqa: E402
from benchmarks.build import run  # noqa: E402
from benchmarks.candidate import DerivativesRecord, Native, Operations, generated, pointer  # noqa: E402
from benchmarks.exported import address_in  # noqa: E402
from benchmarks.timing import Effort, least_seconds, time_interleaved  # noqa: E402

TYRE = HERE.parent / "tests" / "vehicles" / "data" / "made_up_61.tir"
CARCASS = {
    "VERTICAL_STIFFNESS": 2e5,
    "VERTICAL_DAMPING": 500.0,
    "LONGITUDINAL_STIFFNESS": 3.5e5,
    "LATERAL_STIFFNESS": 1.5e5,
}
METHODS = ("rk4", "midpoint", "ab2")
STEP, DURATION, SAMPLE = 1e-3, 1.0, 1e-2
LANE_SPEED = 20.0  # m/s
OTHER_RUNS = 300  # of another batch with the same bits: with fewer steps, a batch has another engine
VARIED = {
    "m": (1350.0, 100.0),
    "h": (0.55, 0.02),
    "kf": (25e3, 2e3),
    "kr": (28e3, 2e3),
    "Izz": (2300.0, 150.0),
}
METRICS = {
    "peak acceleration": "maximum(lateral acceleration)",
    "peak roll": "maximum(roll angle)",
    "peak sideslip": "maximum(sideslip angle)",
    "last offset": "final(body.q2)",
}
_ROW = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_double, ctypes.c_void_p)


def tyre() -> veh.MagicFormula:
    """The tyre of all measurements."""
    return veh.read_tyre(TYRE, changes=CARCASS)


def tyre_system() -> arm.System:
    """States whose rates are the forces and moments of one tyre."""
    s = arm.System("one tyre")
    described = tyre().with_parameters(s, "tyre")
    s.body("mass", joint=arm.Prismatic("x"), mass=1, inertia=0)
    newton = s.parameter("newton", 1.0, units="N")
    force_rate = s.parameter("force_rate", 1.0, units="1/(N*s)")
    moment_rate = s.parameter("moment_rate", 1.0, units="1/(N*m*s)")
    names = ("load", "kappa", "slip", "camber_sine", "fifth")
    load, kappa, slip, camber_sine, _ = (
        s.state(name, initial=x) for name, x in zip(names, (4000.0, 0.05, 0.03, 0.02, 0.0), strict=True)
    )
    found = described.forces(load * newton, kappa, arm.atan(slip), arm.asin(camber_sine))
    for name, value, per in zip(names, found, (force_rate,) * 2 + (moment_rate,) * 3, strict=True):
        s.rate(name, value * per)
    return s


MODELS: dict[str, Callable[[], arm.System]] = {
    "one tyre": tyre_system,
    "14-freedom car": lambda: veh.fourteen_freedom_car(tyre(), tyre()).system,
    "full car": lambda: veh.full_car(tyre(), tyre()).system,
}


def measure(title: str, effort: Effort) -> dict[str, Any]:
    """Seconds to make a model; nanoseconds of an evaluation and seconds of runs, in the process and in C."""
    system = MODELS[title]()
    start = time.process_time()
    equations = system.derive()
    derived = time.process_time()
    compiled = equations.compile()
    done = time.process_time()
    record = {"title": title, "derive_seconds": derived - start, "compile_seconds": done - derived}
    with tempfile.TemporaryDirectory() as folder:
        made = equations.export("c", Path(folder) / "c", lanes=max(USUAL, vector_doubles()))
        run(["make", "-C", str(made), "shared"])
        path = next(made.glob("*.so"))
        library, stem = ctypes.CDLL(str(path)), path.stem
        addresses = compiled.address("derivatives"), address_in(library, f"{stem}_derivatives")
        candidates = [_candidate(compiled, address) for address in addresses]
        inside, outside = (t.minimum for t in time_interleaved(candidates, effort))
        record |= {"nanoseconds": inside, "c_nanoseconds": outside}
        if title != "one tyre":
            runs = [_run_inside(compiled, method) for method in METHODS]
            runs += [_run_outside(compiled, library, stem, method) for method in METHODS]
            seconds = least_seconds(runs, max(3, effort.rounds // 30))
            names = [*METHODS, *(f"{method} in C" for method in METHODS)]
            record["runs"] = dict(zip(names, seconds, strict=True))
    return record


def c_flags() -> str:
    """The flags with which the Makefile of exported C compiles, and the compiler."""
    with tempfile.TemporaryDirectory() as folder:
        made = MODELS["one tyre"]().derive().export("c", Path(folder) / "c")
        lines = run(["make", "-C", str(made), "-n", "shared"]).splitlines()
    command = next(line for line in lines if " -shared " in line)
    version = run(["cc", "--version"]).splitlines()[0]
    return f"{command.partition(' -shared ')[0]}: {version}"


def _candidate(compiled: Any, function: int) -> Native:
    """A derivatives function at states about the initial one."""
    random, start = np.random.default_rng(3), compiled.state()
    states = np.ascontiguousarray(start * (1 + 0.01 * random.standard_normal((64, len(start)))))
    constants = np.tile(compiled.constants(), (len(states), 1))
    memory = np.zeros(len(compiled.equations.program.memory) + 1)
    arrays = (states, constants, memory, np.zeros(states.shape[1]))
    record = DerivativesRecord(
        function, len(states), len(compiled.coordinate_names), len(compiled.speed_names), constants.shape[1],
        *map(pointer, arrays),
    )  # fmt: skip
    return generated(
        "derivatives", "", record, (compiled, *arrays), operations=Operations.of(compiled.equations),
        derive_seconds=0.0, compile_seconds=0.0,
    )  # fmt: skip


def _run_inside(compiled: Any, method: str) -> Callable[[], object]:
    return lambda: compiled.simulate(DURATION, step=STEP, method=method, sample=SAMPLE, progress=False)


def _run_outside(compiled: Any, library: ctypes.CDLL, stem: str, method: str) -> Callable[[], object]:
    program = compiled.equations.program
    counts = (program.state, program.constants, program.memory, program.outputs.results, program.fire)
    room = ctypes.create_string_buffer(8 * (1 << 16) + 8 * 64 * sum(len(c) for c in counts))
    parameters = np.array([value or 0.0 for value in compiled.equations.parameters.values()] + [0.0])
    setup, simulate = getattr(library, f"{stem}_setup"), getattr(library, f"{stem}_simulate")
    real = ctypes.c_double
    setup.argtypes = [ctypes.c_void_p, ctypes.c_void_p, real, real, ctypes.c_int, real]
    simulate.argtypes = [ctypes.c_void_p, real, _ROW, ctypes.c_void_p, ctypes.c_void_p]
    ignored = _ROW(lambda user, t, outputs: None)
    number = [m.name for m in exported_methods(adaptive=True)].index(method)

    def made() -> None:
        setup(room, pointer(parameters), 0.0, DURATION, number, STEP)
        simulate(room, SAMPLE, ignored, None, None)

    return made


# Double lane changes of ISO 3888-1 by a driver who looks ahead; masses, springs and heights differ.


def lane_change_car() -> tuple[veh.Car, float]:
    """The car with its driver, and how long a lane change takes."""
    track = veh.double_lane_change_track(1.8)
    driver = veh.PathDriver(track.path)
    car = veh.fourteen_freedom_car(tyre(), tyre(), speed=LANE_SPEED, driver=driver)
    return car, (track.lanes[-1].end + 5.0) / LANE_SPEED


def lane_changes(runs: int, method: str, watch: float | None = None, seed: int = 1) -> dict[str, Any]:
    """Arguments of `simulate_batch` for lane changes; the first ones do not depend on how many there are."""
    columns = {
        name: middle + width * np.random.default_rng([seed, k]).uniform(-1, 1, runs)
        for k, (name, (middle, width)) in enumerate(VARIED.items())
    }
    car, duration = lane_change_car()
    return {"t_end": duration, "initial": car.start(LANE_SPEED), "parameters": columns,
            "metrics": METRICS, "watch": watch, "step": STEP, "method": method,
            "progress": False}  # fmt: skip


def measure_batch(runs: int, method: str = "rk4", watch: float | None = None, **where: Any) -> dict[str, Any]:
    """Seconds of a batch of lane changes, from the call to the metrics, and how single RK4 runs differ."""
    car, _ = lane_change_car()
    given = lane_changes(runs, method, watch)
    compiled = car.model
    compiled.simulate_batch(**{**given, "t_end": 0.01}, **where)  # what is compiled is kept
    start, used = time.perf_counter(), time.process_time()
    batch = compiled.simulate_batch(**given, **where)
    seconds, used = time.perf_counter() - start, time.process_time() - used
    worst = 0.0
    for i in (0, runs // 2, runs - 1):
        values = {name: float(column[i]) for name, column in given["parameters"].items()}
        single = compiled.simulate(
            given["t_end"], step=STEP, sample=watch, initial=given["initial"], parameters=values
        )
        peak = float(np.max(single["lateral acceleration"]))
        worst = max(worst, abs(float(batch["peak acceleration"][i]) / peak - 1))
    part = {name: column[:OTHER_RUNS][::-1] for name, column in given["parameters"].items()}
    again = compiled.simulate_batch(**{**given, "parameters": part}, **where)
    same = all(np.array_equal(again[name], np.asarray(batch[name])[:OTHER_RUNS][::-1]) for name in METRICS)
    kernel = ("registers", "local_bytes", "occupancy")
    return {
        "runs": runs, "method": method, "seconds": seconds, "processor seconds": used,
        "engine": batch.info["engine"],
        **{name: batch.info[name] for name in kernel if name in batch.info},
        "failed": int(batch.failed.size),
        "largest difference from single RK4 runs": worst, "same bits in another batch": same,
    }  # fmt: skip


def table(records: list[dict[str, Any]]) -> str:
    """The records as lines of a table."""
    kinds = [*METHODS, *(f"{method} in C" for method in METHODS)]
    rows = [["", "derive", "compile", "evaluation", "in C", *kinds]]
    for r in records:
        rows.append([
            r["title"], f"{r['derive_seconds']:.2f} s", f"{r['compile_seconds']:.2f} s",
            f"{r['nanoseconds']:.0f} ns", f"{r['c_nanoseconds']:.0f} ns",
            *(f"{DURATION / r['runs'][kind]:.0f} ×" if "runs" in r else "" for kind in kinds),
        ])  # fmt: skip
    return "\n".join(aligned(rows))


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS), help="only these")
    parser.add_argument("--method", default="rk4", choices=METHODS, help="of lane changes")
    parser.add_argument("--lane-changes", type=int, help="so many on all cores")
    parser.add_argument("--gpu", type=int, help="so many on a CUDA GPU")
    parser.add_argument("--watch", type=float, help="seconds between rows for metrics; else every step")
    parser.add_argument("--precision", default="double", help="on the GPU: double, single or fast")
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    options = parser.parse_args()
    if options.lane_changes:
        print(measure_batch(options.lane_changes, options.method, options.watch))
    elif options.gpu:
        print(
            measure_batch(
                options.gpu, options.method, options.watch, device="gpu", precision=options.precision
            )
        )
    else:
        with tempfile.TemporaryDirectory() as empty:
            os.environ["ARMILLARY_CACHE"] = empty
            effort = Effort(rounds=30 if options.quick else 150)
            print(c_flags())
            print(table([measure(title, effort) for title in options.models]))


if __name__ == "__main__":
    main()
