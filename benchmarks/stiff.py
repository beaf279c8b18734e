"""Stiff runs: seconds of our methods and of others on our compiled derivatives, at equal achieved error.

    python benchmarks/stiff.py [case ...]

Each method runs with several tolerances, the methods in turns, the best time of each counts. The error is
the largest of some columns at 20 times, against a run by rodas5p with rtol = 1e-11; that run is compared
with one by dop853 with rtol = 1e-12, where this is not too long, and with published values, where there are
some. The time at the target error is read from the line through both neighbours in a plot of logarithms. A
method that does not come as near is given with its best error, and compared with rodas5p at that error.

SciPy's Radau and BDF and SUNDIALS' CVODE call the compiled derivatives and the compiled exact Jacobian. Where
the equations of our own steps are sparse, SciPy's take differences, and CVODE our sparse equations as the
preconditioner of its GMRES: the Jacobian itself, in relative coordinates, is full, and its 13,000 elements of
a cable of 40 segments take more than ten minutes to derive and compile. Exudyn's generalised-alpha method
and MuJoCo's implicitfast have the cable and the springs in elements of their own, in equal steps of several
lengths. Programs that are not installed are left out (benchmarks/peers/stiff_cases.py). Seconds are those of
the processor: the machine may be shared.

    python benchmarks/stiff.py steps     microseconds of a step of cables with 10 to 1,000 segments
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

if __name__ == "__main__":  # a script has its own folder, not that of the packages, in its path
    sys.path.insert(0, str(Path(__file__).parents[1]))

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.verification.cases import beams, mechanisms
from benchmarks.peers import stiff_cases

METHODS = ("rodas5p", "auto", "dop853", "CVODE", "Radau", "BDF")
LONG = 5.0  # seconds of runs that are not repeated
TOLERANCES = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
Runner = Callable[[float], tuple[np.ndarray, float]]  # of a tolerance: rows of the columns, and seconds


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
    published: dict[str, float] = field(default_factory=dict)  # values at the end
    peer_steps: tuple[float, ...] = (1e-2, 1e-3, 1e-4)  # of programs with equal steps, seconds


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
    """A quarter car over a kerb, on bump stops of 1e7 N/m."""
    s = arm.System("quarter car")
    wheel = s.body("wheel", joint=arm.Prismatic("z"), mass=40.0, inertia=0)
    car = s.body("car", wheel, arm.Prismatic("z"), mass=350.0, inertia=0)
    s.gravity(9.81, -s.ground.z)
    kerb = "select(t > 0.5, select(t < 0.56, 0.1*sin(pi*(t - 0.5)/0.06), 0), 0)"
    s.force("tyre", f"180e3*max(0, {kerb} - wheel.q1)", s.ground.z, at=wheel)
    s.force("spring", "-20e3*car.q1 - 1200*car.u1", s.ground.z, at=car, reaction=wheel)
    s.stop("bump", car.q1, lower=-0.22, upper=-0.12, stiffness=1e7, damping=0.6, exponent=1.0)
    rest = {"wheel.q1": -390 * 9.81 / 180e3, "car.q1": -350 * 9.81 / 20e3}
    settings = {"initial": rest, "max_step": 0.01}
    return Case(s, 2.0, ("car.q1", "wheel.q1"), 1e-6, 1e-2, settings)


def robot() -> Case:
    """An arm of three links that reaches down and presses its tip on a floor of 1e6 N/m with damping."""
    s = arm.System("robot")
    previous, lengths = None, (0.4, 0.35, 0.1)
    wanted = (0.4, -1.6, -0.4)
    for i, length in enumerate(lengths):
        at = (lengths[i - 1], 0, 0) if i else (0, 0.3, 0)
        inertia = (1e-3, 4.0 * length**2 / 12, 4.0 * length**2 / 12)
        link = s.body(
            f"l{i}", previous, arm.Revolute("z"), at=at, com=(length / 2, 0, 0), mass=4.0 - i, inertia=inertia
        )
        drive = f"400*({wanted[i]} - l{i}.q1) - 30*l{i}.u1"
        s.moment(f"drive{i}", drive, s.ground.z, on=link, reaction=previous or s.ground)
        previous = link
    s.gravity(9.81, -s.ground.y)
    tip = link.point("tip", (lengths[-1], 0, 0))
    height = arm.dot(arm.position(tip), s.ground.y)
    falling, along = (arm.dot(arm.velocity(tip), axis) for axis in (s.ground.y, s.ground.x))
    push = arm.select(height < 0, -1e6 * height * (1 - 1.5 * falling), 0)
    s.force("floor", arm.max(push, 0), s.ground.y, at=tip)
    s.force("rub", -0.5 * arm.max(push, 0) * along / arm.sqrt(along * along + 1e-4), s.ground.x, at=tip)
    return Case(s, 1.0, ("l0.q1", "l2.q1"), 1e-6, 1e-2, {"max_step": 0.01}, 1, (), (1e-3, 1e-4, 1e-5))


def squeezer() -> Case:
    """Andrews' squeezing mechanism, problem II-2 of the test set for IVP solvers."""
    start = {"initial": dict(zip(mechanisms._ANGLES, mechanisms._START, strict=True))}
    end = dict(zip(mechanisms._ANGLES, mechanisms._END, strict=True))
    # Errors grow by a factor of a hundred on the way, most with BDF: CVODE needs the last tolerances.
    finer = (*TOLERANCES, 1e-9, 1e-10, 1e-11)
    case = Case(mechanisms.squeezer(), 0.03, mechanisms._ANGLES, 1e-6, 1e-2, start, tolerances=finer)
    return replace(case, published=end)


def axis() -> Case:
    """The car axis, problem II-6 of the test set."""
    start = {"initial": {"left.u1": -0.5, "right.u1": -0.5}}
    columns = ("left.q1", "left.q2", "right.q1", "right.q2")
    end = {name: mechanisms._AXIS_END[name] for name in columns}
    return Case(mechanisms.car_axis(), 3.0, columns, 1e-6, 1e-2, start, published=end)


def crank() -> Case:
    """The slider-crank with a flexible rod, problem crank of the test set; nothing damps the rod."""
    made = beams.system()
    start = {"initial": beams.START}
    return Case(made, 0.1, ("rod.q1", "block.q1"), 1e-6, 1e-2, start)


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
    without = ("BDF", "Radau") if n < 100 else ("BDF", "Radau", "dop853")
    return Case(s, 1.0, ("g0.q1",), 1e-6, 1e-2, start, 1, without, few, peer_steps=(1e-2, 1e-3))


CASES: dict[str, Callable[[], Case]] = {
    "damper": damper,
    "robertson": robertson,
    "bump stops": stops,
    "robot": robot,
    "springs": springs,
    "cable 40": cable,
    "cable 200": lambda: cable(200),
    "squeezer": squeezer,
    "car axis": axis,
    "slider-crank": crank,
}


def runners(case: Case) -> dict[str, Runner]:
    """Runs of the case by each method, at its sample times."""
    model = case.system.derive().compile()
    common = {"sample": case.duration / 20, **case.settings}

    def own(method: str) -> Runner:
        def run(rtol: float) -> tuple[np.ndarray, float]:
            began = time.thread_time()
            made = model.simulate(case.duration, method=method, rtol=rtol, atol=rtol * case.atol, **common)
            seconds = time.thread_time() - began
            return np.array([made[c] for c in case.columns]), seconds

        return run

    found = {m: own(m) for m in METHODS[:3] if m not in case.without}
    for method in METHODS[3:]:
        if method not in case.without:
            try:
                found[method] = library_runner(case, model, method)
            except ImportError as error:
                print(error)
    return found


def library_runner(case: Case, model: Any, method: str) -> Runner:
    """A solver of SciPy, or CVODE, on the compiled derivatives and their exact partial derivatives."""
    from scipy.integrate import solve_ivp

    model.simulate(1e-6, method="rodas5p", **case.settings)
    made = core_of(model).differentiated
    program = made.equations.program
    constants, memory, n = made.constants(), np.zeros(len(program.memory) + 1), len(program.state)
    rates, partials = np.empty(n), np.empty(n * (n + 1))
    dense = bool(program.partial_rates) and program.structure is None
    derivatives = made.function("derivatives")
    columns = made.function("partial_rates") if dense else None
    names = [s.data.name for s in program.state]
    start = model.simulate(1e-6, sample=1e-6, rtol=1e-10, atol=1e-12, **case.settings)
    state = np.array([start[name][0] for name in names])
    times = np.linspace(0.0, case.duration, 21)
    a = constants.ctypes.data, memory.ctypes.data

    def f(t: float, y: np.ndarray) -> np.ndarray:
        derivatives(t, np.ascontiguousarray(y).ctypes.data, *a, rates.ctypes.data)
        return rates.copy()

    def jacobian(t: float, y: np.ndarray) -> np.ndarray:
        assert columns is not None
        columns(t, np.ascontiguousarray(y).ctypes.data, *a, partials.ctypes.data)
        return partials[: n * n].reshape(n, n).T.copy()

    def by_cvode(rtol: float) -> tuple[np.ndarray, float]:
        longest = case.settings.get("max_step", 0.0)  # 0: none
        numbers = {"rtol": rtol, "atol": rtol * case.atol, "max_step": longest, "duration": case.duration}
        functions = made.address("derivatives"), made.address("partial_rates")
        found, seconds = stiff_cases.run_by_cvode(
            *functions, constants, memory, state, numbers, program.structure
        )
        return np.array([found[:, names.index(c)] for c in case.columns]), seconds

    if method == "CVODE":
        stiff_cases.find_cvode()
        return by_cvode

    def run(rtol: float) -> tuple[np.ndarray, float]:
        began = time.thread_time()
        exact = {"jac": jacobian} if dense else {}
        longest = case.settings.get("max_step", np.inf)
        span, kept = (0.0, case.duration), {"t_eval": times, "max_step": longest}
        done = solve_ivp(f, span, state, method, rtol=rtol, atol=rtol * case.atol, **kept, **exact)
        seconds = time.thread_time() - began
        rows = [done.y[names.index(c)] for c in case.columns]
        return np.array(rows), seconds

    return run


def peer_runners(name: str, case: Case) -> dict[str, tuple[Runner, tuple[float, ...]]]:
    """Runs of other programs that have the case in elements of their own, with the steps that they take."""
    kind, _, count = name.partition(" ")
    made: dict[str, Callable[[float, float, int], Runner]] = {
        "cable": {"Exudyn": stiff_cases.exudyn_cable, "MuJoCo": stiff_cases.mujoco_cable},
        "springs": {"Exudyn": stiff_cases.exudyn_springs, "MuJoCo": stiff_cases.mujoco_springs},
    }.get(kind, {})
    start = next(iter(case.settings["initial"].values())) if made else 0.0
    found: dict[str, tuple[Runner, tuple[float, ...]]] = {}
    for program, runner in made.items():
        try:
            found[program] = runner(case.duration, start, int(count or 40)), case.peer_steps
        except ImportError as error:
            print(f"{name}: {error}")
    return found


def measure(name: str, case: Case) -> dict[str, tuple[float, float, float]]:
    """Seconds and error of each method, at the error that is wanted or at the smallest that it reaches; and
    the seconds over those of rodas5p at the same error.
    """
    every = runners(case)
    exact, _ = every["rodas5p"](1e-11)
    if "dop853" in every:
        other, _ = every["dop853"](1e-12)
        print(f"{name}: reference against dop853 {np.abs(other - exact).max():.0e}")
    for k, column in enumerate(case.columns):
        if column in case.published:
            print(f"{name}: {column} against the published value {exact[k, -1] - case.published[column]:.0e}")
    settings = {m: case.tolerances for m in every}
    for program, (runner, steps) in peer_runners(name, case).items():
        every[program], settings[program] = runner, steps
    seconds = {(m, x): np.inf for m in every for x in settings[m]}
    errors = dict.fromkeys(seconds, 0.0)
    for _ in range(case.rounds + 1):  # the first one compiles
        for method, x in seconds:
            if LONG < seconds[method, x] < np.inf:
                continue
            rows, taken = every[method](x)
            seconds[method, x] = min(seconds[method, x], taken)
            errors[method, x] = float(np.nan_to_num(np.abs(rows - exact), nan=np.inf).max())

    def seconds_at(method: str, error: float) -> float:
        e, t = (np.array([table[method, x] for x in settings[method]]) for table in (errors, seconds))
        order = np.argsort(e)
        return float(np.exp(np.interp(np.log(error), np.log(e[order] + 1e-300), np.log(t[order]))))

    found = {}
    for method in every:
        error = max(case.error, min(errors[method, x] for x in settings[method]))
        own = seconds_at(method, error)
        found[method] = own, error, own / seconds_at("rodas5p", error)
    return found


def measure_steps(counts: Sequence[int] = (10, 20, 40, 100, 200, 400, 1000), rounds: int = 3) -> None:
    """Print the time of a step of cables with so many segments, the best of several runs in turns."""
    models = {n: cable(n) for n in counts}
    made = {n: case.system.derive().compile() for n, case in models.items()}
    best = dict.fromkeys(counts, np.inf)
    for _ in range(rounds + 1):
        for n, case in models.items():
            began = time.thread_time()
            run = made[n].simulate(0.2, method="rodas5p", rtol=1e-4, atol=1e-6, sample=0.2, **case.settings)
            trials = run.info["steps"] + run.info["rejected"]
            best[n] = min(best[n], (time.thread_time() - began) / trials)
    for n, seconds in best.items():
        print(
            f"  {n:5} segments {1e6 * seconds:8.0f} us a step {1e6 * seconds / n:6.2f} us a segment",
            flush=True,
        )


def main(names: list[str]) -> None:
    """Print a table of the cases that are named, or of all."""
    if names == ["steps"]:
        measure_steps()
        return
    for name in names or CASES:
        for method, (seconds, error, ratio) in measure(name, CASES[name]()).items():
            compared = f"{ratio:8.1f} x" if method != "rodas5p" else ""
            print(f"  {method:8} {1e3 * seconds:10.2f} ms   error {error:.0e} {compared}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
