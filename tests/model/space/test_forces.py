"""Thrusters and sunlight: exact impulses, propellant, pressures by formula, shadows met exactly."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import armillary as arm

METHODS = [{"step": 0.01}, {"method": "dop853"}, {"step": 0.37}]


def block() -> tuple[arm.System, arm.Body]:
    s = arm.System("block")
    return s, s.body("block", joint=arm.Free(), mass=4, inertia=(1, 2, 2))


@pytest.mark.parametrize("how", METHODS, ids=["fine", "adaptive", "coarse"])
@pytest.mark.parametrize("t0", [0.0, 1.25])
def test_pulses_give_their_exact_impulse(how: dict[str, Any], t0: float) -> None:
    """Switching times are on no step; a run may begin inside a pulse."""
    s, body = block()
    pulses = [(0.1234, 0.3), (1.0, 1.7771), (2.5, 2.6)]
    s.thruster("jet", 8.0, body.x, at=body.point((0, 0.5, 0)), on=pulses, specific_impulse=200.0)
    run = s.derive().compile().simulate(3.0, t0=t0, **how)
    seconds = sum(max(stop - max(start, t0), 0) for start, stop in pulses)
    # The moment −0.5·8 turns it about z; its speed along x then is not constant, but its spin is exact.
    assert run.final["block.u6"] == pytest.approx(-0.5 * 8 * seconds / 2, abs=1e-12)
    used = sum(stop - start for start, stop in pulses) * 8 / (200 * 9.80665)
    assert run.final["jet propellant"] == pytest.approx(used, rel=1e-14)
    assert run.units["jet propellant"] == "kg"
    assert [e.name for e in run.events if e.time > 2] == ["jet on 3", "jet off 3"]


def test_thrust_through_the_mass_centre() -> None:
    s, body = block()
    s.thruster("jet", "F", "block.y", at=body.com, on=(0.5, "stop"))
    s.parameter("unused", 1.0)
    model = s.derive().compile()
    run = model.simulate(2.0, step=0.3, parameters={"F": 2.0, "stop": 1.23})
    assert run.final["block.u2"] == pytest.approx(2.0 * 0.73 / 4, abs=1e-14)
    assert model.outputs(0.7, model.state(), {"F": 2.0, "stop": 1.23})["jet"] == 2.0
    assert model.outputs(1.7, model.state(), {"F": 2.0, "stop": 1.23})["jet"] == 0.0


def test_a_memory_may_switch_a_thruster() -> None:
    s, body = block()
    fire = s.memory("fire", 1.0, units="-")
    s.event("fast enough", "block.u1 - 1", direction=1, set={fire: 0})
    s.thruster("jet", 3.0, body.x, at=body, on=fire)
    run = s.derive().compile().simulate(5.0, step=0.1)
    assert run.final["block.u1"] == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"on": [(1, 0.5)]}, "not in order"),
        ({"on": [(1, 1)]}, "not in order"),
        ({"on": [(0, 2), (1, 3)]}, "not in order"),
        ({"on": [(0, 2, 3)]}, "not a pair of times"),
        ({"on": []}, "no pulse"),
        ({"on": [("block.q1/block.u1", 2)]}, "varies"),
        ({"specific_impulse": 200.0}, "on= given as times"),
        ({"specific_impulse": -1.0, "on": [(0, 1)]}, "specific impulse of thruster 'jet' is -1"),
        ({"thrust": "t*3", "specific_impulse": 200.0, "on": [(0, 1)]}, "constant thrust"),
        ({"at": 3}, "not a point"),
        ({"name": "block"}, "taken by a body"),
    ],
)
def test_bad_thrusters(options: dict[str, Any], message: str) -> None:
    s, body = block()
    at = options.pop("at", body)
    with pytest.raises(arm.ArmillaryError, match=message):
        s.thruster(options.pop("name", "jet"), options.pop("thrust", 1.0), body.x, at=at, **options)
    assert not s.loads and not s.events and not s.memories


# ---------------------------------------------------------------- sunlight


def pushed(**options: Any) -> np.ndarray:
    """Force of sunlight from +x on something at a turned block."""
    s, body = block()
    if "normal" in options:
        options["normal"] = body.frame.vector(options["normal"])
    s.solar_pressure("light", at=body, area=3.0, sun=s.ground.x, **options)
    model = s.derive().compile()
    angle = math.radians(30)  # of the block about z
    state = model.state({"block.q4": math.cos(angle / 2), "block.q7": math.sin(angle / 2)})
    return 4 * model.derivatives(0.0, state)[7:10]


P = 1361.0 / 299792458.0
C, N = math.cos(math.radians(30)), np.array([math.cos(math.radians(30)), math.sin(math.radians(30)), 0])
S = np.array([1.0, 0, 0])


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({}, -3 * P * S),  # a black sphere
        ({"diffuse": 0.9}, -3 * P * 1.4 * S),
        ({"specular": 1.0}, -3 * P * S),
        ({"normal": (1, 0, 0)}, -3 * P * C * S),  # a black plate
        ({"normal": (1, 0, 0), "specular": 1}, -6 * P * C * C * N),  # a mirror
        ({"normal": (1, 0, 0), "diffuse": 1}, -3 * P * C * (S + 2 / 3 * N)),
        ({"normal": (-1, 0, 0), "specular": 1}, 0 * S),  # its back
        ({"normal": (-1, 0, 0), "specular": 1, "two_sided": True}, -6 * P * C * C * N),
        ({"normal": (-1, 0, 0), "diffuse": 1, "two_sided": True}, -3 * P * C * (S + 2 / 3 * N)),
        ({"pressure": 1.0, "normal": (1, 0, 0), "specular": 0.5, "diffuse": 0.3},
         -3 * C * (0.5 * S + 2 * (0.5 * C + 0.1) * N)),
    ],
)  # fmt: skip
def test_pressure_by_formula(options: dict[str, Any], wanted: np.ndarray) -> None:
    np.testing.assert_allclose(pushed(**options), wanted, rtol=1e-14, atol=1e-20)


def test_the_force_on_a_sphere_is_the_mean_over_its_plates() -> None:
    """Integral of the plate's law over the lit half: 1 + 4/9 δ whatever share is specular."""
    theta = (np.arange(20000) + 0.5) / 20000 * math.pi / 2
    c, ring = np.cos(theta), np.sin(theta) * (math.pi / 2 / 20000) * 2  # of the area π r²
    for specular, diffuse in ((0.0, 0.0), (0.7, 0.0), (0.2, 0.5)):
        along = np.sum(c * ((1 - specular) + 2 * (specular * c + diffuse / 3) * c) * ring)
        assert along == pytest.approx(1 + 4 / 9 * diffuse, rel=1e-8)


def test_pressure_falls_with_the_distance_from_the_sun() -> None:
    s, body = block()
    s.attractor("sun", 0.0, at=(0, 2 * 149597870700.0, 0))
    s.solar_pressure("light", at=body, area=2.0, sun="sun")
    model = s.derive().compile()
    found = 4 * model.derivatives(0.0, model.state())[7:10]
    np.testing.assert_allclose(found, [0, -2 * P / 4, 0], rtol=1e-14, atol=0)


@pytest.mark.parametrize("place", ["body", "text", "origin"])
def test_light_on_a_body_acts_at_its_origin(place: str) -> None:
    """As every force does: 0.2 m from the mass centre, across the light."""
    s = arm.System("block")
    body = s.body("block", joint=arm.Free(), mass=4, com=(0, 0.2, 0), inertia=(1, 2, 3))
    at = {"body": body, "text": "block", "origin": body.origin}[place]
    s.solar_pressure("light", at=at, area=3.0, sun=s.ground.x, pressure=1.0)
    model = s.derive().compile()
    # F = −3 x at −0.2 y from the mass centre: the moment is −0.6 z.
    np.testing.assert_allclose(model.derivatives(0.0, model.state())[10:13], [0, 0, -0.2], atol=1e-15)


def test_a_refused_thruster_leaves_no_node_behind() -> None:
    s = arm.System("boom")
    boom = s.body("boom", joint=arm.Free(), mass=1, inertia=(1, 1, 1))
    boom.flexible(arm.Beam(2.0, EI=10.0, mass_per_length=1.0), modes=1)
    with pytest.raises(arm.ModelError, match="not in order"):
        s.thruster("jet", "F", boom.x, at="boom.tip", on=[(1, 0)])
    assert list(s.bodies) == ["boom"] and not s.parameters
    tip = boom.node("tip")
    assert list(s.bodies.values()) == [boom, tip]


@pytest.mark.parametrize("how", [{"step": 7.0}, {"method": "dop853"}], ids=["fixed", "adaptive"])
@pytest.mark.parametrize("dark", [False, True], ids=["starts lit", "starts dark"])
def test_the_shadow_is_entered_and_left_exactly(how: dict[str, Any], dark: bool) -> None:
    """At constant speed past a planet's night side: the impulse is that of the time in the light."""
    s, body = block()
    s.attractor("planet", 0.0, radius=50.0)
    s.solar_pressure("light", at=body, area=1e-3, sun=s.ground.x, shadow="planet", pressure=1.0)
    y = 0.0 if dark else -100.0
    run = (
        s.derive()
        .compile()
        .simulate(
            200.0 - (100.0 if dark else 0.0),
            initial={"block.q1": -300.0, "block.q2": y, "block.u2": 1.0},
            **how,
        )
    )
    lit = 50.0 if dark else 100.0
    assert run.final["block.u1"] == pytest.approx(-1e-3 * lit / 4, rel=1e-9)
    names = ["light into light"] if dark else ["light into shadow", "light into light"]
    assert [e.name for e in run.events] == names


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"area": -1.0}, "area of solar pressure 'light' is -1"),
        ({"specular": 0.7, "diffuse": 0.5}, "more than all"),
        ({"specular": -0.1}, "specular of"),
        ({"sun": "sum"}, "no attractor 'sum'; did you mean 'sun'"),
        ({"sun": 3}, "not a vector"),
        ({"shadow": "planet"}, "no attractor 'planet'"),
        ({"shadow": "sun"}, "no radius"),
        ({"shadow": ["sun"]}, "no attractor"),
    ],
)
def test_bad_sunlight(options: dict[str, Any], message: str) -> None:
    s, body = block()
    s.attractor("sun", 1.0)
    with pytest.raises(arm.ArmillaryError, match=message):
        s.solar_pressure("light", **{"at": body, "area": 1.0, "sun": s.ground.x} | options)
    assert not s.loads and not s.memories


def test_constants_of_nature_in_other_units() -> None:
    """1361 W/m² over c in psi, and 386.09 in/s²."""
    s = arm.System("inches", units="in-lb-s")
    body = s.body("body", joint=arm.Free(), mass=2, inertia=(1, 1, 1))
    s.solar_pressure("light", at=body, area=1.0, sun=s.ground.x)
    s.thruster("jet", 3.0, body.x, at=body.com, on=[(0, 1)], specific_impulse=200.0)
    model = s.derive().compile()
    out = model.outputs(2.0, model.state())
    assert out["light"] == pytest.approx(P / 6894.757293168, rel=1e-12)
    assert out["jet propellant"] == pytest.approx(3 / (200 * 9.80665 / 0.0254), rel=1e-12)


def test_a_mirror_that_faces_the_sun_beside_a_planet_with_a_shadow() -> None:
    """(1 + ρ) p A, lit; its numbers, bare shares among them, contradict no units. Nothing in the shadow."""
    s = arm.System("sail")
    s.attractor("earth", 3.986004418e14, radius=6378137.0)
    sail = s.body("sail", joint=arm.Free(), mass=20.0, inertia=(5.0, 5.0, 10.0))
    push = s.solar_pressure(
        "light", at=sail, area=100.0, sun=s.ground.x, normal=sail.x, specular=0.8, shadow="earth"
    )
    s.output("push", push, units="N")
    model = s.derive().compile()
    for x, expected in ((7e6, 1.8 * 100 * 1361.0 / 299792458.0), (-7e6, 0.0)):
        run = model.simulate(1e-3, step=1e-3, initial={"sail.q1": x})
        assert run["push"][0] == pytest.approx(expected, rel=1e-14)
