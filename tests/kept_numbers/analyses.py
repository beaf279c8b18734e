"""Analyses of small mechanisms."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import armillary as arm
from tests.kept_numbers.entries import Named, entry


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
