"""Solids against a plane: a shape places all contacts that it needs."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import armillary as arm

G = 9.81
PLANAR = arm.Joint(translate=["x", "y"], rotate=["z"])


def test_a_sphere_with_backspin_slides_until_it_rolls() -> None:
    """v − r ω vanishes after (v − r ω)/(7/2 μ g), and v is (5 v + 2 r ω)/7 from then on."""
    s = arm.System("ball")
    ball = s.body("ball", joint=arm.Free(), mass=2.0, inertia=(0.008,) * 3)
    s.gravity(G, -s.ground.z)
    s.contact("floor", ball, plane=(s.ground, s.ground.z), friction=0.2, shape=arm.Sphere(0.1))
    v, w = 3.0, -40.0
    start = {"ball.q3": 0.1, "ball.u1": v, "ball.u5": w}
    run = s.derive().compile().simulate(1.5, initial=start, rtol=1e-10, atol=1e-12)
    assert [event.name for event in run.events] == ["floor_grip"]
    assert run.events[0].time == pytest.approx((v - 0.1 * w) / (3.5 * 0.2 * G), rel=1e-8)
    assert run.final["ball.u1"] == pytest.approx((5 * v + 0.2 * w) / 7, rel=1e-9)


def test_a_box_tips_about_an_edge_with_the_energy_it_has() -> None:
    """½ I ω² + m g h about the edge stays as long as the box turns about it; here along a diagonal of the
    floor's axes, on two of eight corners.
    """
    s = arm.System("box")
    mass, (x, y, z) = 3.0, (0.4, 0.6, 1.0)
    inertia = tuple(mass / 12 * (a * a + b * b) for a, b in ((y, z), (x, z), (x, y)))
    box = s.body("box", joint=arm.Free(), mass=mass, inertia=inertia)
    s.gravity(G, -s.ground.z)
    s.contact("floor", box, plane=(s.ground, s.ground.z), friction=2.0, shape=arm.Box(x, y, z))
    s.output("load", "floor", units="N")
    assert list(s.contacts) == [f"floor_{k}" for k in range(1, 9)]
    heading, w = 0.7, 1.5
    turn = np.array([math.cos(heading), math.sin(heading)])
    # About its own y, over the edge at +x/2: the centre moves with ω × r.
    forward, up = w * z / 2, w * x / 2
    start = {
        "box.q3": z / 2, "box.q4": math.cos(heading / 2), "box.q7": math.sin(heading / 2),
        "box.u1": forward * turn[0], "box.u2": forward * turn[1], "box.u3": up, "box.u5": w,
    }  # fmt: skip
    model = s.derive().compile()
    at_rest = model.equilibrium(starts={"box.q3": z / 2})
    assert at_rest.outputs["load"] == pytest.approx(mass * G, rel=1e-9)
    run = model.simulate(0.15, initial=start, rtol=1e-10, atol=1e-12)
    assert [run.final[f"floor_{k}_status"] for k in range(1, 9)] == [0, 0, 0, 0, 1, 0, 1, 0]
    about_edge = inertia[1] + mass * (x * x + z * z) / 4
    kinetic = about_edge * w * w / 2 - mass * G * (run.final["box.q3"] - z / 2)
    assert run.final["box.q3"] > z / 2 + 0.02
    assert run.final["box.u5"] == pytest.approx(math.sqrt(2 * kinetic / about_edge), rel=1e-8)


def test_a_capsule_rolls_down_a_slope_on_both_of_its_balls() -> None:
    """It rolls across its axis with g sin α/(1 + I/(m r²)), and is borne by both ends alike."""
    s = arm.System("capsule")
    mass, r, inertia, slope = 2.0, 0.1, 0.012, 0.3
    body = s.body("body", joint=arm.Free(), mass=mass, inertia=(inertia, 0.03, 0.03))
    s.gravity(G, -s.ground.z * math.cos(slope) - s.ground.y * math.sin(slope))
    plane = (s.ground, s.ground.z)
    s.contact("slope", body, plane=plane, friction=0.6, shape=arm.Capsule(r, 0.3, axis="x"))
    run = s.derive().compile().simulate(1.0, initial={"body.q3": r}, rtol=1e-10, atol=1e-12)
    assert run.events == ()
    assert run.final["body.u2"] == pytest.approx(-G * math.sin(slope) / (1 + inertia / mass / r**2), rel=1e-9)
    half = mass * G * math.cos(slope) / 2
    assert [run.final[f"slope_{k}"] for k in (1, 2)] == pytest.approx([half, half], rel=1e-8)


def planar_box(**options: object) -> arm.System:
    s = arm.System("box")
    box = s.body("box", joint=PLANAR, mass=2.0, inertia=(1.0,) * 3)
    s.contact("floor", box, plane=(s.ground, s.ground.y), **options)
    return s


def test_corners_that_move_alike_are_one_contact_and_text_models_have_shapes(tmp_path: Path) -> None:
    s = planar_box(shape=arm.Box(0.4, 1.0, 0.3), friction=0.9)
    assert list(s.contacts) == ["floor_1", "floor_2", "floor_3", "floor_4"]
    s.save(tmp_path / "box.toml")
    assert "shape = { box = [0.4, 1.0, 0.3] }" in (tmp_path / "box.toml").read_text()
    assert list(arm.load(tmp_path / "box.toml").contacts) == list(s.contacts)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"shape": arm.Cylinder(1, 1)}, r"shape=Cylinder.* is not a Sphere, Capsule or Box; other solids"),
        ({"shape": 3}, "shape=3 is not a Sphere, Capsule or Box"),
        ({"shape": arm.Sphere(0.1), "radius": 0.1}, "with a shape= leave it out"),
        (
            {"shape": arm.Sphere(0.1), "stiffness": 1e3},
            "shape= and static= are for contacts without stiffness=",
        ),
        ({"shape": arm.Box(1, 0, 1)}, "the y of the box of contact 'floor' is 0; give a positive number"),
    ],
)
def test_other_shapes_are_refused(options: dict[str, object], words: str) -> None:
    with pytest.raises(arm.ArmillaryError, match=words):
        planar_box(**options)
