"""Long chains that are closed once: their cost grows in proportion to their length."""

from __future__ import annotations

import numpy as np
import pytest

import armillary as arm
from armillary.model import constraints
from armillary.model.bodies import motion


def hanging(links: int) -> arm.System:
    """Links of 1 m hung from two points, 0.6 m apart for each link."""
    s = arm.System("hanging chain")
    last = s.ground
    for i in range(links):
        place = (1.0 if i else 0.0, 0, 0)
        last = s.body(
            f"B{i}", last, arm.Revolute("z"), at=place, com=(0.5, 0, 0), mass=1, inertia=(0.1, 0.1, 0.1)
        )
    s.gravity(9.81, -s.ground.y)
    far = s.ground.point("far", (0.6 * links, 0, 0))
    s.close_loop(last.point("end", (1, 0, 0)), far, [s.ground.x, s.ground.y])
    s.start({f"B{i}.q1": -1.8 / links if i else 0.9 for i in range(links)})
    return s


def test_operations_grow_in_proportion() -> None:
    counts = [hanging(n).derive().operations for n in (16, 32)]
    grown = [sum((o.additions, o.multiplications, o.divisions)) for o in counts]
    assert grown[1] / grown[0] < 2.15


def test_both_forms_of_a_velocity_give_the_same_motion(monkeypatch: pytest.MonkeyPatch) -> None:
    models = []
    for long in (4, 100):
        monkeypatch.setattr(constraints, "_LONG", long)
        models.append(hanging(7).derive().compile())
    start = models[0].state()
    y = models[0].state(start + np.random.default_rng(0).uniform(-0.1, 0.1, len(start)))
    rates = [m.derivatives(0.0, y) for m in models]
    np.testing.assert_allclose(rates[0], rates[1], rtol=1e-10, atol=1e-10)


def test_velocity_along_a_chain_is_the_velocity() -> None:
    s = arm.System("arm")
    a = s.body("a", joint=arm.Gimbal("zx"), mass=1, inertia=(1, 1, 1))
    b = s.body("b", a, arm.Free(), at=(0.3, 0.1, 0), mass=1, inertia=(1, 1, 1))
    c = s.body(
        "c", b, arm.Cylindrical((1, 2, 2)), at=(0, 0, 0.5), orient=("y", 0.4), mass=1, inertia=(1, 1, 1)
    )
    tip = c.point("tip", (0.1, 0.2, 0.3))
    rng = np.random.default_rng(2)
    values = {q.name: x for q, x in zip(s.coordinates, rng.normal(size=len(s.coordinates)), strict=True)}
    values |= {u.name: x for u, x in zip(s.speeds, rng.normal(size=len(s.speeds)), strict=True)}
    e = np.array([values[f"b.q{i}"] for i in (4, 5, 6, 7)])
    values |= {f"b.q{i}": x for i, x in zip((4, 5, 6, 7), e / np.linalg.norm(e), strict=True)}
    for axis in s.ground.frame.axes:
        full = arm.evaluate(arm.dot(arm.velocity(tip), axis), values)
        passed = arm.evaluate(arm.dot(motion.velocity_along_chain(tip), axis), values)
        assert passed == pytest.approx(full, rel=1e-12)
        v, w = motion.motion_along_chain(tip, b.frame)
        assert arm.evaluate(arm.dot(v, axis), values) == pytest.approx(full, rel=1e-12)
        turning = arm.evaluate(arm.dot(arm.angular_velocity(c), axis), values)
        assert arm.evaluate(arm.dot(w, axis), values) == pytest.approx(turning, rel=1e-12)
