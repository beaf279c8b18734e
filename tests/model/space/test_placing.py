"""Mass centres at the start of a run: right for any other initial values, joints and parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import armillary as arm

PLACE, RATE = np.array([7.0e6, -1.0e6, 2.0e6]), np.array([1.0e3, 7.0e3, -5.0e2])


def craft(joint: Any, **options: Any) -> arm.System:
    s = arm.System("craft")
    s.parameter("m", units="kg")
    hub = s.body("hub", joint=joint, mass="m", com=(0.1, -0.3, 0.2), inertia=(30, 40, 50), **options)
    boom = s.body("boom", hub, arm.Revolute("y"), at=(1, 0, 0), com=(2, 0, 0.1), mass=10, inertia=(1, 9, 9))
    s.body("ball", boom, arm.Spherical(), at=(4, 0, 0), com=(0, 0.5, 0), mass=20, inertia=(3, 2, 3))
    place, momentum = s.mass_centre(), s.momentum()
    for letter, axis in zip("xyz", (s.ground.x, s.ground.y, s.ground.z), strict=True):
        s.output(f"r{letter}", arm.dot(place, axis), units="m")
        s.output(f"v{letter}", arm.dot(momentum, axis) / s.total_mass(), units="m/s")
    return s


JOINTS = {
    "free": (arm.Free(), {}),
    "body axes": (arm.Free(velocity="body"), {}),
    "turned": (arm.Free(rotation="zyx", velocity="body"), {"orient": ("zx", 0.4, 0.7), "at": (3, 4, 5)}),
    "slides": (arm.Joint(translate="zxy", rotate="xyz"), {"at": (3, 4, 5)}),
}


def start_of(s: arm.System, initial: dict[str, float], formalism: str = "auto") -> tuple[list, list]:
    model = s.derive(formalism).compile()
    run = model.simulate(1e-3, step=1e-3, initial=initial, parameters={"m": 100.0})
    return [run[f"r{x}"][0] for x in "xyz"], [run[f"v{x}"][0] for x in "xyz"]


@pytest.mark.parametrize("kind", JOINTS)
@pytest.mark.parametrize("bend", [0.0, 1.3])
def test_the_mass_centre_starts_where_it_should(kind: str, bend: float) -> None:
    joint, options = JOINTS[kind]
    s = craft(joint, **options)
    s.start_mass_centre("hub", position=PLACE, velocity=RATE)
    last = s.bodies["hub"].speeds[-1].name
    initial = {"boom.q1": bend, "boom.u1": 0.7, "ball.u2": -0.4, last: 0.3, "ball.q1": 0.8, "ball.q3": 0.6}
    place, rate = start_of(s, initial)
    np.testing.assert_allclose(place, PLACE, rtol=0, atol=4e-9)  # two units in the last place of 7e6
    np.testing.assert_allclose(rate, RATE, rtol=0, atol=4e-12)


@pytest.mark.parametrize("kind", JOINTS)
@pytest.mark.parametrize(
    ("ends", "held"), [({"root": "free", "tip": "free"}, "root"), ({"origin": (-0.3, 0, 0)}, "tip")]
)
def test_the_mass_centre_of_a_body_held_at_a_node(kind: str, ends: dict[str, Any], held: str) -> None:
    """The node that holds it is neither at its origin nor still."""
    joint, options = JOINTS[kind]
    s = arm.System("held")
    boom = s.body("boom", joint=joint, mass=0, inertia=(0.1, 0.1, 0.1), **options)
    boom.flexible(arm.Beam(2.0, EI=10.0, mass_per_length=1.0, **ends), modes=2, held=held)
    place, momentum = s.mass_centre(), s.momentum()
    for letter, axis in zip("xyz", (s.ground.x, s.ground.y, s.ground.z), strict=True):
        s.output(f"r{letter}", arm.dot(place, axis))
        s.output(f"v{letter}", arm.dot(momentum, axis) / s.total_mass())
    s.start_mass_centre(boom, position=(5, -1, 2), velocity=(0.5, 1, -2))
    turned, turning = boom.joint_coordinates[-1], boom.joint_speeds[-1]
    mode, rate = boom.coordinates[-1], boom.speeds[-2]
    initial = {turned.name: 0.3, turning.name: 1.0, mode.name: 0.1, rate.name: 0.3}
    run = s.derive("kane").compile().simulate(1e-3, step=1e-3, initial=initial)
    np.testing.assert_allclose([run[f"r{x}"][0] for x in "xyz"], [5, -1, 2], atol=1e-14)
    np.testing.assert_allclose([run[f"v{x}"][0] for x in "xyz"], [0.5, 1, -2], atol=1e-14)


def test_a_straight_body_held_at_its_tip() -> None:
    """A beam from −0.3 to 1.7 has its mass centre 1 m before the tip, which is at its joint."""
    s = arm.System("held")
    boom = s.body("boom", joint=arm.Free(), mass=0, inertia=(0.1, 0.1, 0.1))
    boom.flexible(arm.Beam(2.0, EI=10.0, mass_per_length=1.0, origin=(-0.3, 0, 0)), modes=2, held="tip")
    s.start_mass_centre(boom, position=(5, 0, 0))
    np.testing.assert_allclose(s.derive("kane").compile().state()[:3], [6, 0, 0], atol=1e-14)


def test_redundant_coordinates_start_there_too() -> None:
    s = craft(arm.Free())
    s.start_mass_centre("hub", position=(1.0, 2.0, 3.0), velocity=(0.1, 0.2, 0.3))
    model = s.derive("redundant").compile()
    run = model.simulate(1e-3, step=1e-3, method="projected", initial={"boom.u1": 0.7}, parameters={"m": 9.0})
    np.testing.assert_allclose([run[f"r{x}"][0] for x in "xyz"], [1, 2, 3], atol=1e-12)
    np.testing.assert_allclose([run[f"v{x}"][0] for x in "xyz"], [0.1, 0.2, 0.3], atol=1e-12)


def test_around_a_moving_attractor_with_a_prescribed_hinge() -> None:
    s = craft(arm.Free())
    s.attractor("moon", 4.9e12, at=("3.8e8*cos(w*t)", "3.8e8*sin(w*t)", 0))
    s.prescribe("boom.q1", "0.5 + 0.2*t")
    orbit = arm.Orbit(4.9e12, a=2.0e6, i="80 deg")
    s.start_orbit("hub", orbit, around="moon")
    model = s.derive().compile()
    run = model.simulate(101.0, t0=100.0, step=1.0, parameters={"m": 100.0, "w": 0.01})
    angle = 1.0
    place = 3.8e8 * np.array([np.cos(angle), np.sin(angle), 0]) + orbit.position
    rate = 3.8e6 * np.array([-np.sin(angle), np.cos(angle), 0]) + orbit.velocity
    np.testing.assert_allclose([run[f"r{x}"][0] for x in "xyz"], place, rtol=1e-15, atol=1e-15)
    np.testing.assert_allclose([run[f"v{x}"][0] for x in "xyz"], rate, rtol=1e-14)


def test_each_of_two_spacecraft_has_its_own_mass_centre() -> None:
    s = arm.System("two")
    for name in ("first", "second"):
        hub = s.body(name, joint=arm.Free(), mass=10, com=(0.2, 0, 0), inertia=(1, 1, 1))
        s.body(f"{name}_arm", hub, arm.Revolute("z"), com=(1, 0, 0), mass=5, inertia=(1, 1, 1))
    s.start_mass_centre("first", position=(1, 0, 0))
    s.start_mass_centre("second", position=(0, 0, 7), velocity=(0, 0, 1))
    state = s.derive().compile().state({"first_arm.q1": np.pi / 2, "second_arm.u1": 3.0})
    # (10·0.2, 5·1)/15 for the bent arm, (10·0.2 + 5)/15 for the straight one, which sweeps at 3·5/15
    np.testing.assert_allclose(state[:3], [1 - 2 / 15, -1 / 3, 0], atol=1e-15)
    np.testing.assert_allclose(state[8:11], [-7 / 15, 0, 7], atol=1e-15)
    np.testing.assert_allclose(state[16 + 7 : 16 + 10], [0, -1, 1], atol=1e-15)


def test_a_whole_state_stays_as_it_is() -> None:
    s = craft(arm.Free())
    s.start_mass_centre("hub", position=PLACE)
    model = s.derive().compile()
    state = np.arange(1.0, 1 + len(model.coordinate_names) + len(model.speed_names))
    np.testing.assert_allclose(model.state(state, {"m": 1.0})[:3], [1, 2, 3])


def test_one_mass_centre_starts_in_one_way() -> None:
    """Whichever was said first."""
    s = craft(arm.Free())
    s.start_mass_centre("hub", position=(5, 0, 0))
    for again in (
        lambda: s.start_mass_centre("hub", position=(6, 0, 0)),
        lambda: s.start_orbit("hub", arm.Orbit(1.0, a=1.0)),
    ):
        with pytest.raises(arm.ModelError, match="of body 'hub': its mass centre is placed already"):
            again()
    s.start({"hub.q1": 3.0})
    with pytest.raises(arm.ModelError, match=r"start\(\) gives 'hub.q1' a value already"):
        s.derive().compile().simulate(1.0, step=1.0, parameters={"m": 1.0})


@pytest.mark.parametrize("mu", [3.986e14, "mu"])
def test_an_orbit_has_the_strength_of_its_attractor(mu: Any) -> None:
    s = craft(arm.Free())
    s.parameter("mu", 3.986e14, units="m^3/s^2")
    s.attractor("earth", mu)
    with pytest.raises(arm.ModelError, match=r"mu is 398600, that of attractor 'earth' is 3.986e\+14"):
        s.start_orbit("hub", arm.Orbit(3.986e5, a=7e3), around="earth")
    s.start_orbit("hub", arm.Orbit(3.986004e14, a=7e6), around="earth")


def test_what_cannot_be_placed() -> None:
    s = craft(arm.Free())
    with pytest.raises(arm.ModelError, match="does not let it move freely"):
        s.start_mass_centre("boom", position=(0, 0, 0))
    with pytest.raises(arm.ModelError, match="three values"):
        s.start_mass_centre("hub", position=(0, 0))
    with pytest.raises(arm.ModelError, match=r"not on 'hub\.q1'"):
        s.start_mass_centre("hub", position=("hub.q1", 0, 0))
    with pytest.raises(arm.ModelError, match="is not an orbit"):
        s.start_orbit("hub", 7.0e6)  # type: ignore[arg-type]
    with pytest.raises(arm.ModelError, match=r"no attractor 'eath'; did you mean 'earth'"):
        s.attractor("earth", 1.0)
        s.start_orbit("hub", arm.Orbit(1.0, a=1.0), around="eath")
    with pytest.raises(arm.ModelError, match=r"no attractor \['earth'\]"):
        s.start_orbit("hub", arm.Orbit(1.0, a=1.0), around=["earth"])  # type: ignore[arg-type]
    s.start_mass_centre("hub", position=(0, 0, 1))
    model = s.derive().compile()
    with pytest.raises(arm.ParameterError, match=r"initial gives 'hub.q1' a value, but start_mass_centre"):
        model.state({"hub.q1": 3.0}, {"m": 1.0})
    s.start({"boom.q1": 0.1})
    other = craft(arm.Free())
    other.start({"hub.q2": 1.0})
    with pytest.raises(arm.ModelError, match=r"start\(\) gives 'hub.q2' a value already"):
        other.start_mass_centre("hub", position=(0, 0, 0))
