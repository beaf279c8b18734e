"""Regulators, filters, optimal motions."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import armillary as arm
from armillary import control
from tests.kept_numbers.analyses import mechanism, oscillator
from tests.kept_numbers.entries import Named, digest, entry


@cache
def upright() -> Any:
    """A cart with a pole above it, with friction, about rest; the output is the place of the tip in mm."""
    s = arm.System("cart")
    s.gravity(9.81, -s.ground.y)
    cart = s.body("cart", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    pole = s.body("pole", cart, arm.Revolute("z"), com=(0, 0.5, 0), mass=0.3, inertia=(0.01, 0, 0.01))
    s.input("F", units="kN")
    s.input("M", units="N*m")
    s.force("motor", "F - 0.4*cart.u1", s.ground.x, at=cart.com)
    s.moment("joint", "M - 0.01*pole.u1", s.ground.z, on=pole, reaction=cart)
    tip = arm.position(pole.point((0, 1.0, 0)))
    s.output("tip", arm.dot(tip, s.ground.x), units="mm")
    s.output("angle", pole.q1, units="deg")
    return s.derive().compile()


@entry
def regulators() -> Named:
    linear = upright().linearize(inputs=["F", "M"], outputs=["tip", "angle"])
    sampled = linear.discretize(0.05)
    Q, R, N = np.diag([1.0, 10.0, 0.1, 0.2]), np.array([[0.5, 0.1], [0.1, 2.0]]), 0.01 * np.ones((4, 2))
    for name, lin in (("continuous", linear), ("discrete", sampled)):
        found = control.lqr(lin, Q, R, N)
        yield f"lqr, {name}", [found.K, found.cost]
        filtered = control.kalman(lin, [0.1, 0.2, 0.3, 0.4], [1.0, 2.0])
        yield f"kalman, {name}", [filtered.L, filtered.covariance]
        noisy = control.kalman(lin, [0.1, 0.2], [1.0, 2.0], noise_inputs=True)
        yield f"kalman, noise of inputs, {name}", noisy.L
    both = control.lqg(linear, Q, R, [0.1, 0.2, 0.3, 0.4], [1.0, 2.0])
    yield "lqg", [both.A, both.B, both.C]
    times, gains, costs = control.finite_horizon(linear, Q, R, 1.5, final=np.diag([5.0, 1, 2, 3]), points=4)
    yield "horizon", [times, digest(gains), digest(costs)]
    limits = {"F": (-0.02, 0.05), "M": (-3.0, 2.0)}
    for final in (None, np.diag([50.0, 10, 20, 30])):
        law = control.mpc(sampled, Q, R, 6, limits, final=final, passes=15)
        yield "mpc", [digest(law.H), digest(law.G), law.low, law.high]
        yield "mpc, inputs", [law.input(x) for x in ([0.3, 0.1, 0.0, -0.2], [-1.0, 0.4, 0.5, 0.0])]


@entry
def estimates() -> Named:
    model = oscillator()
    t = np.array([0.0, 0.3, 0.5, 0.9, 1.4])
    y = 1e3 * np.cos(2.0 * t) + 10.0 * np.sin(37.0 * t)
    for method in ("ekf", "ukf"):
        found = model.estimate(
            {"time": t, "x": y, "F": np.sin(t)}, ["x"], process=[0.01, 0.3], measurement=100.0,
            initial={"b.q1": 0.8}, covariance=[0.1, 0.4], inputs=["F"], method=method, smooth=True, step=0.1,
        )  # fmt: skip
        yield method, [found.state, found.standard_deviation, found.innovations, found.consistency]
        yield f"{method}, smoothed", [found.smoothed.state, found.smoothed.standard_deviation]
    swung = upright().estimate(
        {"time": t, "tip": 10 * t, "angle": y / 500}, ["tip", "angle"], process=0.1, measurement=[4.0, 1.0],
        initial={"pole.q1": 0.1}, covariance=0.1, method="ukf", step=0.1,
    )  # fmt: skip
    yield "cart", swung.state


@entry
def optimal_arcs() -> Named:
    model = oscillator()
    how: Any = dict(
        inputs={"F": (-1.5, 2.0)}, initial={"b.q1": 1.0, "b.u1": 0.0}, final={"b.q1": 0.2}, accuracy=None,
        path={"b.q1 + 0.2*b.u1": (-0.4, 1.1)}, bounds={"b.u1": (-1.2, 1.5)}, final_cost="b.u1^2", intervals=8,
    )  # fmt: skip
    for method in ("hermite-simpson", "radau", "multiple shooting"):
        found = model.optimize("F^2 + 0.1*b.q1^2", duration=(0.5, 2.0), method=method, **how)
        yield method, [found.cost, found.duration, digest(found.run["b.q1"])]
    ring = model.optimize(
        "F^2 - 0.3*b.u1^2", duration=3.0, inputs={"F": (-1.0, 1.0)}, periodic=["b.q1", "b.u1"],
        free={"k": (3.0, 5.0)}, initial={"b.q1": 0.5, "b.u1": None}, intervals=8, accuracy=None,
    )  # fmt: skip
    yield "periodic", [ring.cost, digest(ring.run["b.u1"])]


@entry
def slopes_of_runs() -> Named:
    model = mechanism()
    start = {"crank.q1": 0.2, "crank.u1": 1.0}
    found = model.gradient(
        0.4, ["k", "crank.u1"], cost="0.1*torque^2 + height^2", final_cost="speed", initial=start, step=0.02
    )
    yield "gradient", [found.value, found.derivatives, found.final]
