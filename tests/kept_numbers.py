"""Numbers of many small calculations, kept in a file.

``python -m tests.kept_numbers [name …]`` writes them anew.

Each entry runs a part of the package whose results depend on many formulas and constants and compares
all of them to seven digits with those that were read and kept. They are no proof that the numbers are right,
which tests of the packages give: they notice that one has changed.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import armillary as arm
import armillary.vehicles as veh

NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
KEPT = Path(__file__).with_name("kept_numbers.txt")
MAKERS: dict[str, Callable[[], Iterator[tuple[str, Any]]]] = {}
Named = Iterator[tuple[str, Any]]


def entry(make: Callable[[], Named]) -> Callable[[], Named]:
    MAKERS[make.__name__] = make
    return make


def flat(value: Any) -> list[float]:
    """All numbers of a value, complex ones as two."""
    if isinstance(value, Mapping):
        return [x for one in value.values() for x in flat(one)]
    if isinstance(value, Iterable) and not isinstance(value, np.ndarray):
        return [x for one in value for x in flat(one)]
    array = np.asarray(value)
    if np.iscomplexobj(array):
        array = np.stack([array.real, array.imag], axis=-1)
    return [float(x) for x in array.astype(float).ravel()]


def lines_of(name: str) -> list[str]:
    return [f"{name}: {what}: {' '.join(f'{x:.10g}' for x in flat(value))}" for what, value in MAKERS[name]()]


# ---------------------------------------------------------------- vehicles


@cache
def simple_tyres() -> dict[str, veh.Tyre]:
    slip, load = np.linspace(0, 0.6, 31), np.array([0.0, 4000.0, 8000.0])
    along = arm.Table2(slip, load, np.tanh(15 * slip)[:, None] * load, kind="smooth")
    across = arm.Table2(slip, load, np.tanh(12 * slip)[:, None] * load, kind="smooth")
    curves = {
        "along": (veh.Curve(90e3, 0.11, 3.7e3, 0.5, 3.2e3), veh.Curve(160e3, 0.125, 6.9e3, 0.7, 6.0e3)),
        "across": (veh.Curve(70e3, 0.18, 3.3e3, 0.6, 3.1e3), veh.Curve(120e3, 0.2, 6.0e3, 0.8, 5.7e3)),
    }
    return {
        "linear": veh.LinearTyre(8e4, slip_stiffness=1e5, camber_stiffness=4e3, trail=0.03, per_load=True),
        "linear, not per load": veh.LinearTyre(8e4, slip_stiffness=1e5, camber_stiffness=4e3, trail=0.03),
        "brush": veh.BrushTyre(20.0, 1.1),
        "fiala": veh.FialaTyre(1e5, 8e4),
        "tmeasy": veh.TMeasyTyre(**curves, nominal_load=3800.0),
        "table": veh.TableTyre(along, across, 0.15, 0.18),
    }


@entry
def tyres() -> Named:
    """Forces and slopes at slips of both signs, small, large and none, at three loads."""
    fz, kappa, alpha, gamma = np.meshgrid(
        [1000.0, 4200.0, 7000.0], [-0.8, -0.05, 0.0, 0.1, 0.9], [-0.5, -0.04, 0.02, 0.3], [-0.05, 0.02]
    )
    for name, tyre in simple_tyres().items():
        found = tyre.evaluate(fz, kappa, alpha, gamma)
        yield name, {k: np.asarray(v).ravel()[::7] for k, v in found._asdict().items()}
        slopes = tyre.derivatives(fz[1, :, 1], kappa[1, :, 1], alpha[1, :, 1], gamma[1, :, 1])
        yield f"{name}, slopes", {k: list(v._asdict().values()) for k, v in slopes.items()}


def numbers_in(text: str) -> list[float]:
    """All numbers of a text."""
    return [float(x) for x in NUMBER.findall(text.replace("−", "-"))]


@cache
def linear_car() -> veh.Car:
    tyres = [veh.LinearTyre(c, relaxation_alpha=0.4) for c in (6e4, 7e4)]
    return veh.single_track_car(*tyres, speed=25.0)


@cache
def brush_car(driver: bool = False) -> veh.Car:
    front, rear = (
        veh.BrushTyre(slip_stiffness=c, friction=1.0, vertical_damping=300.0, radius=0.32)
        for c in (18.0, 24.0)
    )
    path = veh.PathDriver(veh.double_lane_change_track().path) if driver else None
    return veh.fourteen_freedom_car(front, rear, **({"driver": path} if driver else {}))


@entry
def manoeuvres_of_a_linear_car() -> Named:
    for name in ("step-steer", "sine-steer", "steady-circle", "handling"):
        found = veh.MANOEUVRES[name].run(linear_car(), 22.0, 0.02, 0.4)
        yield name, numbers_in(found.table())


@entry
def manoeuvres_of_a_car() -> Named:
    for name in ("sine-with-dwell", "j-turn"):
        found = veh.MANOEUVRES[name].run(brush_car(), 18.0, 0.05, 0.4)
        yield name, numbers_in(found.table())


@entry
def starts_of_cars() -> Named:
    """Parameters and the state at the start."""
    for name, car in (("linear", linear_car()), ("brush", brush_car()), ("driver", brush_car(True))):
        model = car.model
        yield f"{name}, parameters", model.parameters
        yield f"{name}, state", model.state()
        yield f"{name}, rates", model.derivatives(0.0, model.state())


@entry
def roads() -> Named:
    x = np.linspace(0.0, 80.0, 9)
    for kind in "ADH":
        yield kind, veh.road_profiles(kind, x, seed=11)
    for track in (veh.double_lane_change_track(), veh.obstacle_avoidance_track()):
        yield "lanes", [(lane.start, lane.end, lane.middle) for lane in track.lanes]
    for preview in (1.0, 2.0):
        driver = veh.SharpDriver(arm.Table([0.0, 100.0], [0.0, 0.0], name="path"), 20.0, preview=preview)
        yield "preview", driver.gains
        yield "car", driver.car.matrices(17.0)


# ---------------------------------------------------------------- results and studies


@entry
def weightings() -> Named:
    from armillary.results.spectra import iso2631_weighting

    f = np.array([0.02, 0.1, 0.16, 0.4, 0.8, 1.25, 2.0, 4.0, 6.3, 12.5, 31.5, 63.0, 100.0, 400.0])
    for name in ("Wk", "Wd", "Wf", "Wc", "We", "Wj"):
        yield name, iso2631_weighting(f, name)


@entry
def samples_of_studies() -> Named:
    from armillary.studies.sampling import distributions as d
    from armillary.studies.sampling.design import Correlated, Design

    u = np.array([1e-9, 0.01, 0.3, 0.5, 0.77, 0.999])
    for one in (
        d.Uniform(-2, 5),
        d.Normal(3, 2, low=2.0, high=7.0),
        d.LogNormal(3, 0.5, high=9.0),
        d.Triangular(1, 2, 5),
        d.Choice([1.0, 4.0, 2.5], [0.2, 0.5, 0.3]),
    ):
        yield type(one).__name__, one.ppf(u)
    three = {
        "a": d.Normal(0, 1, low=-2, high=3),
        "b": d.Uniform(2, 3),
        "c": d.LogNormal(1, 0.3, low=0.2, high=4.0),
    }
    for kind, runs in (("random", 20), ("lhs", 20), ("sobol", 16), ("morris", 20), ("saltelli", 40)):
        design = Design(three, kind, runs, 5)
        yield kind, design.block(0, 12)
    design = Design(
        {"ab": Correlated({"a": d.Normal(0, 1), "b": d.Normal(2, 3)}, [[1, 0.6], [0.6, 1]])}, "random", 3, 6
    )
    yield "correlated", design.block(0, 3)


# ---------------------------------------------------------------- analyses


@cache
def mechanism() -> Any:
    """A four-bar linkage with gravity, a spring, a damper, an input and outputs."""
    s = arm.System("four-bar")
    s.gravity(9.81, -s.ground.y)
    k = s.parameter("k", 12.0, units="N*m/rad")
    unit = (0.02, 0.03, 0.05)
    crank = s.body("crank", joint=arm.Revolute("z"), mass=1.1, com=(0.15, 0.01, 0), inertia=unit)
    coupler = s.body(
        "coupler", crank, arm.Revolute("z"), at=(0.3, 0, 0), mass=0.8, com=(0.4, 0, 0), inertia=unit
    )
    rocker = s.body(
        "rocker", joint=arm.Revolute("z"), at=(1.0, 0, 0), mass=1.3, com=(0.3, -0.02, 0), inertia=unit
    )
    s.close_loop(coupler.point((0.9, 0, 0)), rocker.point((0.6, 0, 0)), [s.ground.x, s.ground.y])
    s.moment("spring", -k * (rocker.q1 - 1.2) - 0.4 * rocker.u1, s.ground.z, on=rocker)
    s.moment("drive", s.input("torque", 0.3, units="N*m"), s.ground.z, on=crank)
    s.start({"coupler.q1": 0.8, "rocker.q1": 1.6})
    s.output("height", arm.dot(arm.position(coupler.point((0.45, 0.2, 0))), s.ground.y), units="m")
    s.output("speed", arm.dot(arm.velocity(coupler.point((0.45, 0.2, 0))), s.ground.x), units="m/s")
    return s.derive().compile()


@entry
def linkage_at_rest() -> Named:
    model = mechanism()
    point = model.equilibrium()
    yield "point", {n: point[n] for n in model.coordinate_names}
    linear = model.linearize(point, inputs=["torque"], outputs=["height", "speed"])
    modes = linear.modes()
    yield "eigenvalues", modes.eigenvalues
    f = np.array([0.1, 0.5, 1.0, 3.0])
    yield "response", linear.frequency_response(2 * np.pi * f).values
    yield "zeros", linear.zeros()
    t = np.linspace(0, 2, 5)
    yield "step", linear.step_response(t)["height"]
    yield "impulse", linear.impulse_response(t)["height"]
    yield "norm", linear.h2_norm()
    yield "discrete", linear.discretize(0.05).A
    branch = model.trace(point, "k", 12.0, 30.0)
    yield "branch", [branch[n][-1] for n in model.coordinate_names]


@entry
def linkage_in_motion() -> Named:
    model = mechanism()
    sweep = model.sweep({"crank.q1": np.linspace(0.0, 2.0, 5)}, speeds={"crank.q1": 2.0})
    for name in sweep.names:
        yield f"sweep, {name}", sweep[name]
    run = model.simulate(1.0, sample=0.25)
    yield "run", [run[n] for n in model.coordinate_names]
    efforts = model.inverse(run)
    yield (
        "efforts",
        [efforts[n] + 1.0 for n in efforts.names],
    )  # zero to rounding: those of the input are there
    slopes = model.sensitivities(0.5, to=["k"])
    yield "slopes", [slopes[n, "k"][-1] for n in model.coordinate_names]


@cache
def oscillator() -> Any:
    s = arm.System("oscillator")
    for name, value, units in (("k", 4.0, "N/m"), ("m", 1.0, "kg"), ("c", 0.1, "N*s/m")):
        s.parameter(name, value, units=units)
    body = s.body("b", joint=arm.Prismatic("x"), mass="m", inertia=0)
    s.force("spring", "-k*b.q1 - c*b.u1", s.ground.x, at=body.com)
    s.input("F", 0.0, units="N")
    s.force("push", "F", s.ground.x, at=body.com)
    s.output("x", body.q1, units="mm")
    return s.derive().compile()


@entry
def fits() -> Named:
    times = np.linspace(0.0, 6.0, 13)
    clean = oscillator().simulate(6.0, sample=times, initial={"b.q1": 1.0})
    data = {
        "time": times,
        "x": clean["x"] + 20.0 * np.sin(37.0 * times),
        "b.u1": clean["b.u1"] + 0.03 * np.cos(53.0 * times),
    }
    for loss in ("linear", "soft_l1"):
        found = arm.fit(oscillator(), data, ["k", "c"], ["b.q1"], loss=loss)
        yield (
            loss,
            [found.values, found.standard_errors, found.intervals, found.sigma, found.correlation, found.dof],
        )


@entry
def optimal_motions() -> Named:
    found = oscillator().ilqr(
        1.0, step=0.1, inputs={"F": (-0.8, 2)}, Q=[1.0, 0.5], R=0.2, final=[3.0, 4.0], initial={"b.q1": 1.0}
    )
    yield "ilqr", [found.cost, found.input, found.K[::3]]


@entry
def rotors() -> Named:
    s = arm.System("tilting rotor")
    s.parameter("Jp", 1.0, units="kg*m2")
    frame = s.body("frame", joint=arm.Gimbal("xy"), mass=0, inertia=0)
    s.body("rotor", frame, arm.Revolute("z"), mass=0, inertia=(2.0, 2.0, "Jp"))
    s.moment("spring_x", "-50*frame.q1 - 0.3*frame.u1", s.ground.x, on=frame)
    s.moment("spring_y", "-62*frame.q2", frame.y, on=frame)
    found = arm.campbell(s.derive().compile(), "rotor.u1", np.linspace(0.5, 12.0, 5), orders=(1, 2))
    yield "frequencies", found.frequencies
    yield "whirl", found.whirl
    yield "critical", [(c.spin, c.omega, c.order) for c in found.critical_speeds]


@entry
def excitation() -> Named:
    s = arm.System("two links")
    s.gravity(9.81, -s.ground.z)
    first = s.body("A", joint=arm.Revolute("y"), com=(0.2, 0, 0.05), mass=3, inertia=(0.03, 0.05, 0.04))
    s.body(
        "B", first, arm.Revolute("x"), at=(0.4, 0, 0), com=(0.1, 0.15, 0), mass=2, inertia=(0.02, 0.01, 0.02)
    )
    model = s.derive().compile()
    rng = np.random.default_rng(3)
    q, u, udot = (rng.uniform(-1, 1, (7, 2)) for _ in range(3))
    yield "regressor", model.regressor(q, u, udot).values


@entry
def flexible_parts() -> Named:
    from armillary.model.flexible.beam import Beam, Section
    from armillary.model.flexible.plate import Plate

    parts = {
        "beam": Beam(
            3.0, E=70e9, nu=0.3, density=2700.0, section=Section.rectangle(0.05, 0.04)
        ).flexible_part("part", modes=6),
        "turned beam": Beam(
            2.0,
            EI=(3.0, 4.0),
            EA=9e3,
            GJ=2.0,
            mass_per_length=0.7,
            polar=0.02,
            origin=(0.3, -0.1, 0.2),
            along="z",
            tip_mass=0.4,
            tip_inertia=0.03,
        ).flexible_part("part", modes=7),
        "rectangle": Beam(
            1.0, E=2e11, density=7800.0, section=Section.rectangle(0.02, 0.01), nu=0.3, tip="pinned"
        ).flexible_part("part", modes=4),
        "plate": Plate(
            2.0, 1.0, 0.01, E=70e9, nu=0.3, density=2700.0, along="x", across="z", origin=(0.5, 0, 0)
        ).flexible_part("part", modes=4),
    }
    yield (
        "sections",
        [vars(s) for s in (Section.tube(0.03, 0.004), Section.circle(0.02), Section.rectangle(0.03, 0.02))],
    )
    for name, part in parts.items():
        yield f"{name}, rigid", [part.mass, part.first, part.inertia]
        yield f"{name}, frequencies", part.frequencies
        yield f"{name}, masses", part.effective_masses
        for what in ("M", "K", "C"):
            yield f"{name}, {what}", np.diag(getattr(part, what))
        for what in ("P", "H", "J1", "J2", "H1", "g"):  # the sign of a mode is free
            value = getattr(part, what)
            yield (
                f"{name}, {what}",
                () if value is None else [np.sum(np.asarray(value) ** 2), np.max(np.abs(value))],
            )


@entry
def surfaces() -> Named:
    from armillary.viewer.surfaces import MAKERS as SURFACES
    from armillary.viewer.surfaces import surface_of

    sizes = {
        "size": 0.3,
        "radius": 0.2,
        "length": 0.7,
        "width": 0.1,
        "radii": (0.1, 0.2, 0.3),
        "to": (0.2, -0.4, 0.5),
    }
    for kind in SURFACES:
        made = surface_of({"kind": kind, **sizes, **({"size": (0.3, 0.2, 0.1)} if kind == "box" else {})})
        assert made is not None
        a, b, c = made.vertices[made.faces].transpose(1, 0, 2)
        across = np.cross(b - a, c - a)
        yield (
            kind,
            [
                len(made.faces),
                np.sum(np.linalg.norm(across, axis=1)) / 2,
                np.einsum("ij,ij->", a, np.cross(b, c)) / 6,
                np.einsum("ij,ij->j", a + b + c, across),
                np.ptp(made.vertices, axis=0),
                np.sum(made.normals**2 * [1, 2, 3]),
            ],
        )


@entry
def methods() -> Named:
    """A run with each method, its steps too: an event, a table as an input and a stiff spring."""
    s = arm.System("method")
    s.gravity(9.81, -s.ground.y)
    rod = s.body("rod", joint=arm.Revolute("z"), mass=1.2, com=(0.4, 0, 0), inertia=(0.1, 0.2, 0.3))
    tip = s.body(
        "tip", rod, arm.Revolute("z"), at=(0.8, 0, 0), mass=0.5, com=(0.2, 0, 0), inertia=(0.02, 0.02, 0.02)
    )
    s.moment("stiff", -60.0 * tip.q1 - 0.8 * tip.u1, s.ground.z, on=tip, reaction=rod)
    s.moment("drive", s.input("M", 0.0, units="N*m"), s.ground.z, on=rod)
    s.event("through", rod.q1 + 1.0, set={"rod.u1": "0.7*rod.u1"})
    model = s.derive().compile()
    drive = arm.Signal([0.0, 0.3, 0.5, 1.2], [0.0, 2.0, -1.0, 1.0])
    for method in ("dop853", "dopri5", "rodas5p", "auto"):
        run = model.simulate(1.0, method=method, inputs={"M": drive}, rtol=1e-7, atol=1e-9)
        yield method, [run.final["rod.q1"], run.final["tip.u1"], [one.time for one in run.events]]
    for method in ("rk4", "midpoint", "ab2", "rodas3"):
        run = model.simulate(1.0, method=method, step=0.01, inputs={"M": drive})
        yield f"{method}, fixed", [run.final["rod.q1"], run.final["tip.u1"], [one.time for one in run.events]]


if __name__ == "__main__":
    chosen = sys.argv[1:] or list(MAKERS)
    old = KEPT.read_text(encoding="utf-8").splitlines() if KEPT.exists() else []
    lines = []
    for name in MAKERS:
        lines += lines_of(name) if name in chosen else [x for x in old if x.startswith(f"{name}: ")]
    KEPT.write_text("\n".join(lines) + "\n", encoding="utf-8")
