"""Contact laws and the elements made of them, against closed forms and conservation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

import armillary as arm

G = 9.81


def rebound(av: float) -> float:
    """Restitution e of Hunt & Crossley's law with a·v: a v − ln(1 + a v) = −a e v − ln(1 − a e v)."""

    def balance(e: float) -> float:
        return av - math.log1p(av) + av * e + math.log1p(-av * e)

    return float(brentq(balance, 1e-9, min(1.0, (1 - 1e-12) / av)))


def dropped(exponent: float, damping: float, mass: float = 1.0) -> arm.System:
    s = arm.System("ball")
    ball = s.body("ball", joint=arm.Prismatic("y"), mass=mass, inertia=0)
    s.stop("floor", ball.q1, lower=0, stiffness=1e4, damping=damping, exponent=exponent)
    s.output("depth", arm.max(-ball.q1, 0))
    s.output("kinetic", s.kinetic_energy())
    return s


# ---------------------------------------------------------------- laws


def test_contact_pushes_and_never_pulls() -> None:
    depth = np.array([-1.0, 0.0, 0.5, 0.5, 0.5])
    rate = np.array([5.0, 5.0, 2.0, -2.0, -9.0])
    found = arm.contact_force(depth, rate, 100.0, 0.25, 2)
    assert np.array_equal(found, [0.0, 0.0, 37.5, 12.5, 0.0])


def test_friction_opposes_and_saturates() -> None:
    v = np.array([-10.0, -0.01, 0.0, 0.01, 10.0])
    found = arm.friction_force(v, 20.0, 0.5, 0.01)
    assert np.allclose(found, [10.0, 10 / math.sqrt(2), 0.0, -10 / math.sqrt(2), -10.0], rtol=1e-6)


def test_friction_rises_towards_rest_by_stribeck() -> None:
    speeds = np.array([0.05, 0.1, 1.0])
    found = -arm.friction_force(speeds, 1.0, 0.3, 1e-5, static=0.5, stribeck=0.1)
    assert np.allclose(found, 0.3 + 0.2 * np.exp([-0.25, -1.0, -100.0]), rtol=1e-7)


def test_laws_in_text_are_those_of_python() -> None:
    s = arm.System("text")
    b = s.body("b", joint=arm.Prismatic("x"), mass=1, inertia=0)
    k, a = s.parameter("k", units="N/m"), s.parameter("a", units="s/m")
    mu, v0, n = s.parameter("mu"), s.parameter("v0", units="m/s"), s.parameter("N", units="N")
    texts = {
        "contact_force(-b.q1, -b.u1, k)": arm.contact_force(-b.q1, -b.u1, k),
        "contact_force(-b.q1, -b.u1, k, a, 1)": arm.contact_force(-b.q1, -b.u1, k, a),
        "friction_force(b.u1, N, mu, v0)": arm.friction_force(b.u1, n, mu, v0),
    }
    assert all(s.expression(text) is node for text, node in texts.items())


def test_a_law_of_friction_needs_static_and_stribeck_together() -> None:
    with pytest.raises(arm.ModelError, match="give both static="):
        arm.friction_force(1.0, 1.0, 0.3, 1e-3, 0.5)


# ---------------------------------------------------------------- stops


@pytest.mark.parametrize("exponent", [1, 1.5])
@pytest.mark.parametrize("av", [0.01, 0.3, 2.0])
def test_a_ball_returns_with_the_restitution_of_the_closed_form(exponent: float, av: float) -> None:
    """The kinks at touch and release cost no more than the tolerance asks for."""
    v = 1.5
    model = dropped(exponent, av / v).derive().compile()
    run = model.simulate(1.0, initial={"ball.q1": 0.3, "ball.u1": -v}, rtol=1e-12, atol=1e-14)
    assert run.final["ball.u1"] / v == pytest.approx(rebound(av), abs=1e-9)


def test_restitution_of_slow_impacts_falls_by_two_thirds_of_a_v() -> None:
    """1 − (2/3) a v + (4/9) (a v)²; the next term is below (a v)³."""
    for av in (0.01, 0.02):
        assert rebound(av) == pytest.approx(1 - 2 / 3 * av + 4 / 9 * av**2, abs=av**3)


@pytest.mark.parametrize("mass", [0.2, 5.0])
def test_a_contact_never_gives_energy(mass: float) -> None:
    """Kinetic energy and that of the spring, k δ²/2, fall from one sample to the next, for any mass."""
    model = dropped(1, 0.4, mass).derive().compile()
    start = {"ball.q1": 0.1, "ball.u1": -1.0}
    run = model.simulate(0.5, initial=start, sample=1e-4, rtol=1e-12, atol=1e-14)
    energy = run["kinetic"] + 0.5e4 * run["depth"] ** 2
    assert np.all(np.diff(energy) <= 1e-13 * energy[0])
    assert energy[-1] == pytest.approx(rebound(0.4) ** 2 * energy[0], rel=1e-9)
    assert run["floor"].min() == 0.0


def test_a_body_between_two_stops_keeps_the_period_of_the_closed_form() -> None:
    """Without damping: twice the free flight, and half an oscillation of period 2π √(m/k) at each end."""
    s = arm.System("shuttle")
    body = s.body("body", joint=arm.Prismatic("x"), mass=2.0, inertia=0)
    s.stop("ends", body.q1, lower=-0.5, upper="half", stiffness=800.0)
    s.event("middle", body.q1, direction=1)
    model = s.derive().compile()
    run = model.simulate(10.0, initial={"body.u1": 1.5}, parameters={"half": 0.5}, rtol=1e-11, atol=1e-13)
    period = 2 * 1.0 / 1.5 + 2 * math.pi * math.sqrt(2.0 / 800.0)
    assert [e.time for e in run.events] == pytest.approx(
        [n * period for n in range(1, len(run.events) + 1)], abs=1e-8
    )
    assert len(run.events) == 6


def test_a_moving_end_pushes_with_its_own_speed() -> None:
    """A wall at speed w meets a body at rest: it leaves at (1 + e) w."""
    s = arm.System("racket")
    body = s.body("body", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    s.stop("wall", body.q1, lower="2*t - 0.3", stiffness=1e4, damping=0.25)
    run = s.derive().compile().simulate(1.0)
    assert run.final["body.u1"] == pytest.approx(2 * (1 + rebound(0.5)), abs=1e-6)


def gimbal(stopped: bool) -> arm.System:
    s = arm.System("gimbal")
    ring = s.body("ring", joint=arm.Gimbal("zyx"), mass=1, inertia=(1.0, 2.0, 2.5))
    if stopped:
        s.stop("stop", ring.q1, upper=0.1, stiffness=100, damping=0.1)
    return s


def test_a_stop_acts_on_its_own_coordinate_alone() -> None:
    """The first and third axes of a gimbal are not at right angles; M Δu̇ is the generalised force."""
    q, u = [0.3, 0.7, -0.4], [0.1, 0.2, 0.3]
    change = np.subtract(*(gimbal(x).derive().compile().accelerations(0.0, q, u) for x in (True, False)))
    s = gimbal(False)
    speeds = s.bodies["ring"].speeds
    at = {f"ring.q{i}": x for i, x in enumerate(q, 1)} | {f"ring.u{i}": 0.0 for i in (1, 2, 3)}
    energy = s.kinetic_energy()
    mass = [[arm.evaluate(arm.derivative(arm.derivative(energy, a), b), at) for a in speeds] for b in speeds]
    assert np.array(mass) @ change == pytest.approx([-100 * 0.2 * 1.01, 0.0, 0.0], abs=1e-12)


def test_a_stop_on_a_free_body_is_a_force_along_its_coordinate() -> None:
    s = arm.System("free")
    body = s.body("body", joint=arm.Free(), mass=2.0, inertia=(1, 1, 1), com=(0.1, 0, 0))
    s.stop("floor", body.q3, lower=0.0, stiffness=50.0)
    found = s.derive().compile().outputs(0.0, [0, 0, -0.2, 1, 0, 0, 0] + [0] * 6)
    assert found["floor"] == pytest.approx(10.0)


# ---------------------------------------------------------------- points and planes


def test_a_point_at_rest_on_an_incline_carries_its_weight() -> None:
    alpha = 0.3
    s = arm.System("rest")
    N = s.ground
    body = s.body("body", joint=arm.Joint(translate=["x", "y"]), mass=2.0, inertia=0)
    s.gravity(G, -N.y)
    normal = N.y * math.cos(alpha) - N.x * math.sin(alpha)
    law = arm.StickSlip(0.5, 1e4, 200)
    s.contact("floor", body, plane=(N, normal), stiffness=1e4, damping=5.0, friction=law)
    run = s.derive().compile().simulate(5.0)
    assert run.final["floor"] == pytest.approx(2 * G * math.cos(alpha), rel=1e-6)
    assert abs(run.final["floor_friction"]) == pytest.approx(2 * G * math.sin(alpha), rel=1e-6)


def box_on_table(law: Any) -> arm.System:
    """A box that falls, turning, on a heavier table; both float freely."""
    s = arm.System("box")
    table = s.body("table", joint=arm.Free(), mass=5, inertia=(1, 1, 1))
    box = s.body("box", joint=arm.Free(), mass=1, inertia=(0.01, 0.02, 0.03))
    top = table.point("top", (0.1, 0, 0.05))
    for i, (x, y) in enumerate([(-0.1, -0.1), (0.1, -0.1), (0.1, 0.1), (-0.1, 0.1)]):
        corner = box.point((x, y, -0.1))
        s.contact(f"c{i}", corner, plane=(top, table.z), stiffness=2e4, damping=0.3, friction=law)
    for name, vector in (("p", s.momentum()), ("h", s.angular_momentum())):
        for axis in "xyz":
            s.output(name + axis, arm.dot(vector, getattr(s.ground, axis)))
    s.output("energy", s.kinetic_energy())
    return s


@pytest.mark.parametrize("law", [None, arm.SmoothFriction(0.4, 0.01), arm.StickSlip(0.4, 2e4, 100, 0.5)])
def test_contact_keeps_momentum_and_loses_energy(law: Any) -> None:
    model = box_on_table(law).derive().compile()
    start = {"box.q3": 0.4, "box.u3": -2, "box.u1": 1.0, "box.u4": 3, "box.u5": 1}
    run = model.simulate(2.0, initial=start)
    kept = np.array([np.ptp(run[name]) for name in ("px", "py", "pz", "hx", "hy", "hz")])
    assert max(run["c0"].max(), run["c1"].max(), run["c2"].max(), run["c3"].max()) > 10
    assert np.all(kept < 1e-8)
    assert run.final["energy"] < 0.9 * run["energy"][0]


def test_smooth_friction_slows_as_its_closed_form() -> None:
    """μ g t = S(v₀) − S(v), S(v) = √(v² + w²) + w ln(v / (w + √(v² + w²))), w the transition speed."""
    mu, w = 0.3, 0.05
    s = arm.System("slide")
    N = s.ground
    body = s.body("body", joint=arm.Joint(translate=["x", "y"]), mass=2.0, inertia=0)
    s.gravity(G, -N.y)
    friction = arm.SmoothFriction(mu, w)
    s.contact("floor", body, plane=(N, N.y), stiffness=1e5, damping=1.0, friction=friction)
    start = {"body.q2": -2 * G / 1e5, "body.u1": 1.0}
    run = s.derive().compile().simulate(0.3, initial=start)

    def path(v: float) -> float:
        root = math.hypot(v, w)
        return root + w * math.log(v / (w + root))

    assert path(1.0) - path(run.final["body.u1"]) == pytest.approx(mu * G * 0.3, abs=1e-7)


def test_the_force_of_a_rigid_contact_may_act_elsewhere() -> None:
    """A part of it presses another body onto its floor: what one contact does to the other is not mutual."""
    s = arm.System("press")
    a, b = (s.body(name, joint=arm.Prismatic("y"), mass=m, inertia=0) for name, m in (("a", 2), ("b", 3)))
    s.gravity(10, -s.ground.y)
    left = s.contact("left", a.com, plane=(s.ground, s.ground.y))
    right = s.contact("right", b.com, plane=(s.ground, s.ground.y))
    s.force("passed", -0.5 * left, s.ground.y, at=b.com)
    s.force("back", 0.25 * right, s.ground.y, at=a.com)
    for output, force in (("on a", left), ("on b", right)):
        s.output(output, force)
    run = s.derive().compile().simulate(0.01)
    # N_a + N_b/4 = 20, N_b - N_a/2 = 30.
    assert run.final["on a"] == pytest.approx(100 / 9, rel=1e-9)
    assert run.final["on b"] == pytest.approx(320 / 9, rel=1e-9)
