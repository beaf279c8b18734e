"""Stiff runs: seconds of our methods and of SciPy's on our compiled derivatives, at equal achieved error.

    python benchmarks/stiff.py [case ...]

Each method runs with several tolerances, the methods in turns, the best time of each counts. The error is
the largest of some columns against a run by rodas5p with rtol = 1e-11; the time at the target error is read
from the line through both neighbours in a plot of logarithms. A method that does not come as near is given
with its best error.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

if __name__ == "__main__":  # a script has its own folder, not that of the packages, in its path
    sys.path.insert(0, str(Path(__file__).parents[1]))

import armillary as arm
from examples import bump_stop

METHODS = ("rodas5p", "auto", "dop853", "Radau", "BDF")
TOLERANCES = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8)


@dataclass(frozen=True)
class Case:
    """A model, the length of its run, the columns that are compared, and the error that is wanted."""

    system: arm.System
    duration: float
    columns: tuple[str, ...]
    error: float
    atol: float  # times rtol
    settings: dict[str, Any] = field(default_factory=dict)
    rounds: int = 3
    without: tuple[str, ...] = ()  # methods that take minutes
    tolerances: tuple[float, ...] = TOLERANCES


def damper() -> Case:
    """A light bob on a rod, with a damper of 10 µs."""
    s = arm.System("damper")
    rod = s.body("rod", joint=arm.Revolute("z"), com=(0, -0.5, 0), mass=1.0, inertia=0)
    bob = s.body("bob", rod, arm.Revolute("z"), at=(0, -0.5, 0), com=(0, -0.1, 0), mass=0.1, inertia=0)
    s.gravity(9.81, -s.ground.y)
    s.moment("damper", "-1000*bob.q1 - 100*bob.u1", s.ground.z, on=bob, reaction=rod)
    return Case(s, 2.0, ("rod.q1",), 1e-6, 1e-2, {"initial": {"rod.q1": 1.0}})


def robertson() -> Case:
    """Robertson's reactions as states of the user's own."""
    s = arm.System("robertson")
    s.body("b", joint=arm.Prismatic("x"), mass=1.0)
    for name, start in (("x", 1.0), ("y", 0.0), ("z", 0.0)):
        s.state(name, initial=start)
    s.rate("x", "-0.04*x + 1e4*y*z")
    s.rate("y", "0.04*x - 1e4*y*z - 3e7*y*y")
    s.rate("z", "3e7*y*y")
    return Case(s, 1000.0, ("x", "z"), 1e-7, 1e-4, without=("dop853",))


def stops() -> Case:
    """A quarter car on bump stops of 4e6 N/m^1.5, over a kerb."""
    rest = {"wheel.q1": -390 * 9.81 / 180e3, "car.q1": -350 * 9.81 / 20e3}
    settings = {"initial": rest, "max_step": 0.02}
    return Case(bump_stop.system(), 3.0, ("car.q1", "wheel.q1"), 1e-6, 1e-2, settings, without=("BDF",))


def springs(n: int = 40) -> Case:
    """Masses of 0.1 kg in a row between springs of 1e7 N/m and dampers of 1e4 N·s/m; the first one soft."""
    s = arm.System("springs")
    previous = None
    for i in range(n):
        mass = s.body(f"m{i}", previous, arm.Prismatic("x"), mass=0.1)
        k, c = (40.0, 0.1) if previous is None else (1e7, 1e4)
        load = f"-{k}*m{i}.q1 - {c}*m{i}.u1"
        s.force(f"f{i}", load, s.ground.x, at=mass, reaction=previous or s.ground)
        previous = mass
    start = {"initial": {"m0.q1": 0.1}}
    return Case(s, 2.0, ("m0.q1",), 1e-6, 1e-2, start, without=("dop853", "BDF"))


def cable(n: int = 40) -> Case:
    """A cable of 10 m and 5 kg that swings: segments with axial springs of 1e7 N/m, critically damped."""
    s = arm.System("cable")
    length, mass = 10.0 / n, 5.0 / n
    inertia = (0, mass * length**2 / 24, mass * length**2 / 24)
    previous = None
    for i in range(n):
        turned = s.body(f"g{i}", previous, arm.Revolute("z"), mass=mass / 2, inertia=inertia)
        slid = s.body(f"b{i}", turned, arm.Prismatic("x"), at=(length, 0, 0), mass=mass / 2, inertia=inertia)
        load = f"-1e7*b{i}.q1 - {2 * np.sqrt(1e7 * mass)}*b{i}.u1"
        s.force(f"f{i}", load, turned.x, at=slid, reaction=turned)
        previous = slid
    s.gravity(9.81, -s.ground.y)
    start = {"initial": {"g0.q1": -1.0}}
    few = (1e-3, 1e-4, 1e-5)
    return Case(s, 1.0, ("g0.q1",), 1e-6, 1e-2, start, 1, ("BDF",), few)


CASES = {"damper": damper, "robertson": robertson, "bump stops": stops, "springs": springs, "cable": cable}


def run_scipy(model: arm.CompiledModel, case: Case, method: str, **how: Any) -> dict[str, np.ndarray]:
    """Columns of states by one of SciPy's solvers on our compiled derivatives."""
    from scipy.integrate import solve_ivp

    sample = how.pop("sample")
    names = [*model.coordinate_names, *model.speed_names, *model.state_names]
    start = model.simulate(0.0, initial=how.pop("initial", {}))
    y0 = [start[name][0] for name in names]
    times = np.linspace(0.0, case.duration, 1 + round(case.duration / sample))
    found = solve_ivp(model.derivatives, (0.0, case.duration), y0, method, t_eval=times, **how)
    return dict(zip(names, found.y, strict=True))


def measure(case: Case) -> dict[str, tuple[float, float]]:
    """Seconds and error of each method: at the error that is wanted, or at the smallest that it reaches."""
    model = case.system.derive().compile()
    common = {"sample": case.duration / 20, **case.settings}
    least = {"rtol": 1e-11, "atol": 1e-11 * case.atol}
    exact = model.simulate(case.duration, method="rodas5p", **least, **common)
    methods = [name for name in METHODS if name not in case.without]
    seconds = {(m, rtol): np.inf for m in methods for rtol in case.tolerances}
    errors = dict.fromkeys(seconds, 0.0)
    for _ in range(case.rounds + 1):  # the first one compiles
        for method, rtol in seconds:
            began = time.perf_counter()
            how = {"rtol": rtol, "atol": rtol * case.atol, **common}
            run = (
                run_scipy(model, case, method, **how)
                if method in ("Radau", "BDF")
                else model.simulate(case.duration, method=method, **how)
            )
            seconds[method, rtol] = min(seconds[method, rtol], time.perf_counter() - began)
            errors[method, rtol] = max(np.abs(run[c] - exact[c]).max() for c in case.columns)
    found = {}
    for method in methods:
        e, t = (np.array([table[method, r] for r in case.tolerances]) for table in (errors, seconds))
        order = np.argsort(e)
        if e.min() > case.error:
            found[method] = float(t[order[0]]), float(e.min())
            continue
        at = np.interp(np.log(case.error), np.log(e[order] + 1e-300), np.log(t[order]))
        found[method] = float(np.exp(at)), case.error
    return found


def main(names: list[str]) -> None:
    """Print a table of the cases that are named, or of all."""
    for name in names or CASES:
        found = measure(CASES[name]())
        ours = found["rodas5p"][0]
        print(f"{name}:")
        for method, (seconds, error) in found.items():
            ratio = f"{seconds / ours:8.1f} x" if method != "rodas5p" else ""
            print(f"  {method:12} {1e3 * seconds:10.2f} ms   error {error:.0e} {ratio}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
