"""Linear models, spacecraft, joints, control blocks and contacts: rates and outputs of whole systems."""

from __future__ import annotations

from typing import Any

import numpy as np

import armillary as arm
from tests.kept_numbers.analyses import mechanism, oscillator
from tests.kept_numbers.entries import Named, digest, entry, numbers_in


@entry
def linear_models() -> Named:
    model = mechanism()
    linear = model.linearize(model.equilibrium(), inputs=["torque"], outputs=["height", "speed"])
    f = np.array([0.05, 0.3, 0.8, 2.0])
    yield "densities", [digest(linear.psd({"torque": 2.0}, f)[n]) for n in ("height", "speed")]
    loose = oscillator().linearize(inputs=["F"], outputs=["x", "b.u1"])
    margins = loose.margins("x", "F")
    yield "margins", [margins.phase, margins.phase_omega, margins.delay, margins.modulus]
    transfer = loose.transfer_function("b.u1", "F")
    yield "transfer function", [transfer.numerator, transfer.denominator]
    yield "kept states", loose.keep(["b.q1"]).A
    yield "reach", [numbers_in(str(reach)) for reach in (loose.controllability(), loose.observability())]
    for order in (1, 2):
        small = linear.reduce(order)
        yield f"order {order}", [np.sort(np.abs(small.poles())), small.frequency_response(f).values]
    for method in ("zoh", "foh", "impulse", "bilinear", "euler", "backward_diff"):
        steps = loose.discretize(0.2, method)
        yield method, [steps.A, steps.B, steps.C, steps.D, steps.frequency_response(f).values]
        yield f"{method}, step", steps.step_response(np.arange(5) * 0.2)["x"]
    modes = linear.modes()
    yield "shapes", [np.abs(modes.shapes), modes.participation]
    yield "motion", digest(np.abs(modes.motion(0, amplitude=0.1, samples=9)["crank.q1"]))


@entry
def orbits() -> Named:
    for e, size in ((0.0, {"a": 7e6}), (0.3, {"a": 9e6}), (0.97, {"p": 8e6}), (1.0, {"periapsis": 7e6}),
                    (1.6, {"periapsis": 7e6})):  # fmt: skip
        orbit = arm.Orbit(3.986e14, **size, e=e, i=0.4, raan=1.1, argp=2.2, nu=0.7)
        yield f"e = {e:g}", [orbit.position, orbit.velocity]
        later = orbit.after(2345.0)
        yield f"e = {e:g}, later", [later.position, later.velocity]
        again = arm.Orbit.from_state(3.986e14, later.position, later.velocity)
        yield f"e = {e:g}, elements", [again.p, again.e, again.i, again.raan, again.argp, again.nu]


def levels(values: Any) -> np.ndarray:
    """Numbers of all sizes above 1e-6, to a common tolerance."""
    return np.arcsinh(1e6 * np.array(values, dtype=float))


def rates_and_outputs(s: arm.System, seed: int = 5) -> Named:
    """Rates and outputs at the start and at a random state."""
    model = s.derive().compile()
    start = np.array(model.state())
    rng = np.random.default_rng(seed)
    for name, state in (("start", start), ("elsewhere", start + 0.1 * rng.standard_normal(len(start)))):
        yield f"{name}, rates", levels(model.derivatives(0.3, state))
        yield f"{name}, outputs", levels(list(model.outputs(0.3, state).values()))


@entry
def spacecraft() -> Named:
    s = arm.System("satellite")
    hub = s.body("hub", joint=arm.Free(), mass=120.0, inertia=(30.0, 40.0, 50.0))
    s.attractor("earth", 3.986e14, J2=1.0826e-3, radius=6.378e6, field="gradient")
    s.start_orbit(hub, arm.Orbit(3.986e14, a=7.2e6, e=0.02, i=0.9, raan=0.3, argp=0.2, nu=0.1))
    s.reaction_wheel("wheel", on=hub, axis=(1, 1, 0), inertia=0.02, mass=2.0, at=(0.1, 0, 0.2), speed=300.0)
    s.control_moment_gyro(
        "gyro", on=hub, gimbal_axis="z", spin_axis="x", wheel_inertia=0.03, wheel_speed=500.0,
        gimbal_inertia=(0.01, 0.02, 0.02), mass=3.0, at=(0, 0.2, 0), gimbal_torque=0.1,
    )  # fmt: skip
    arm.panels(
        s, hub, 2, length=1.5, mass=4.0, inertia=(0.2, 0.8, 1.0), at=(0.5, 0, 0), stiffness=3.0, damping=0.4,
        start=0.3,
    )  # fmt: skip
    tip = hub.point((0.4, 0.3, -0.5))
    s.thruster("jet", 2.5, hub.z, at=tip, on=(0.1, 5.0), specific_impulse=220.0)
    s.solar_pressure(
        "light", at=tip, area=3.0, sun=s.ground.x + 0.2 * s.ground.y, normal=hub.x, specular=0.3, diffuse=0.2,
        shadow="earth",
    )  # fmt: skip
    for kind in ("quaternion", "mrp", "xyz"):
        s.attitude_output(f"attitude {kind}", hub, kind)
    yield from rates_and_outputs(s)


@entry
def blocks() -> Named:
    s = arm.System("plant")
    body = s.body("b", joint=arm.Prismatic("x"), mass=1.5, inertia=0)
    r = s.input("r", 0.4, units="m")
    pid = s.pid("pid", r - body.q1, 30.0, 12.0, 5.0, filter=0.02, low=-8.0, high=9.0, tracking=0.4, units="N")
    lag = s.lag("lag", pid, 0.05, gain=1.2)
    slow = s.second_order_lag("slow", lag, 30.0, 0.6, gain=0.9)
    late = s.delay("late", slow, 0.03, order=3)
    limited = s.rate_limit("limited", late, 200.0, 0.01, falling=150.0)
    s.transfer_function("shaped", limited, [1.0, 4.0], [1.0, 5.0, 6.0])
    s.linear_model("plant", [limited], [[-2.0, 1.0], [0.3, -4.0]], [[1.0], [0.5]], [[1.0, 2.0]], [[0.1]])
    law = s.feedback("law", [[-3.0, -2.0]], [body.q1, body.u1], units=["N"], reference=[0.1, 0.0])[0]
    s.force("drive", limited + 0.05 * law, s.ground.x, at=body)
    s.memory("held", 0.1, update="0.5*held + b.q1", every=0.1)
    s.output("control", pid, units="N")
    yield from rates_and_outputs(s)
    run = s.derive().compile().simulate(0.5, sample=0.1)
    yield "run", [digest(run[n]) for n in run.names]


@entry
def contacts() -> Named:
    """A run with rigid and smooth contacts, a stop, a brake and friction of three kinds."""
    s = arm.System("yard")
    s.gravity(9.81, -s.ground.y)
    for i in range(2):
        block = s.body(
            f"block{i}", joint=arm.Planar("z"), at=(3.0 * i, 0.3, 0), mass=2.0, inertia=(1, 1, 0.2)
        )
        for k, x in enumerate((-0.2, 0.2)):
            s.contact(
                f"foot{i}{k}", block.point((x, -0.1, 0)), plane=(s.ground.origin, s.ground.y), law="poisson",
                restitution=0.4, friction=0.3, static=0.4,
            )  # fmt: skip
    ball = s.body("ball", joint=arm.Planar("z"), at=(6, 0.5, 0), mass=1.0, inertia=(1, 1, 0.01))
    s.contact(
        "soft", ball.origin, plane=(s.ground.origin, s.ground.y), stiffness=3e3, damping=0.3,
        exponent=1.5, friction=arm.SmoothFriction(0.5, 0.01, static=0.7, stribeck=0.05),
    )  # fmt: skip
    slide = s.body("slide", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    s.stop("stop", slide.q1, upper=0.2, restitution=0.5, law="poisson")
    s.brake("brake", slide.q1, capacity=1.5, static=2.0)
    s.force("pull", "6*cos(5*t)", s.ground.x, at=slide)
    s.start({
        "block0.u1": 1.0, "block0.q3": 0.2, "block1.u1": -0.7, "block1.u3": 1.5, "ball.u1": 2.0,
        "ball.u3": 3.0,
    })  # fmt: skip
    run = s.derive().compile().simulate(0.7, sample=0.1)
    for name in run.names:
        yield name, run[name][1:]
    yield "events", [event.time for event in run.events[:12]]
