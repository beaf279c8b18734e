"""Space environment at its odd places: limits of orbits, locked gimbals, several spacecraft, devices on
flexible nodes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import armillary as arm
from armillary.errors import ModelError

MU = 3.986004418e14

PATHS: dict[str, dict[str, float]] = {
    "circular, equatorial": {"a": 7e6, "e": 0.0, "i": 0.0},
    "circular, backwards": {"a": 7e6, "e": 0.0, "i": np.pi, "nu": 1.0},
    "elliptic, equatorial": {"a": 7e6, "e": 0.2, "i": 0.0, "argp": 1.0, "nu": 0.3},
    "general": {"a": 9e6, "e": 0.1, "i": 0.5, "raan": 1.0, "argp": 2.0, "nu": 3.0},
    "long": {"periapsis": 7e6, "e": 0.9999, "nu": 0.1},
    "parabolic": {"p": 1.4e7, "e": 1.0, "i": 0.3, "nu": 0.5},
    "hyperbolic": {"a": -2e7, "e": 1.5, "i": 0.3, "nu": 0.5},
}


@pytest.mark.parametrize("name", PATHS)
def test_every_kind_of_orbit_is_that_of_newton(name: str) -> None:
    orbit = arm.Orbit(MU, **PATHS[name])
    r, v = orbit.position, orbit.velocity
    again = arm.Orbit.from_state(MU, r, v)
    np.testing.assert_allclose(again.position, r, atol=1e-8)
    np.testing.assert_allclose(again.velocity, v, atol=1e-11)
    np.testing.assert_allclose(orbit.after(1000.0).after(-1000.0).position, r, atol=1e-4)

    def pull(t: float, y: np.ndarray) -> np.ndarray:
        return np.concatenate([y[3:], -MU * y[:3] / np.linalg.norm(y[:3]) ** 3])

    path = solve_ivp(pull, (0, 1000.0), np.concatenate([r, v]), method="DOP853", rtol=1e-12, atol=1e-6)
    np.testing.assert_allclose(orbit.after(1000.0).position, path.y[:3, -1], atol=1e-4)


@pytest.mark.parametrize("e", [1 - 1e-12, 1 + 1e-12])
def test_an_orbit_next_to_a_parabola_is_a_parabola(e: float) -> None:
    near, parabola = (arm.Orbit(MU, periapsis=7e6, e=x, nu=0.1).after(1000.0).position for x in (e, 1.0))
    np.testing.assert_allclose(near, parabola, atol=1e-2)


def spacecraft(s: arm.System, name: str) -> tuple[arm.Body, arm.Body]:
    hub = s.body(name, joint=arm.Free(), mass=500, com=(0.1, 0, 0), inertia=(200, 150, 180))
    boom = s.body(f"{name}_boom", parent=hub, joint=arm.Revolute("z"), at=(0.5, 0, 0))
    boom.flexible(arm.Beam(5.0, EI=500.0, mass_per_length=0.5, GJ=200.0, polar=0.01), modes=2)
    return hub, boom


def test_two_spacecraft_each_keep_their_own_orbit() -> None:
    s = arm.System("two spacecraft")
    s.attractor("earth", MU, field="gradient")
    orbits = {name: arm.Orbit(MU, a=7e6, e=0.01, i=0.5, nu=nu) for name, nu in (("one", 0.1), ("two", 2.2))}
    for name, orbit in orbits.items():
        spacecraft(s, name)
        s.start_orbit(name, orbit)
    run = s.derive().compile().simulate(100.0)
    for name, orbit in orbits.items():
        found = [run[f"{name}.q{i}"][-1] for i in (1, 2, 3)]
        # The coordinates are the hub's origin, a decimetre from the mass centre that orbits.
        assert np.linalg.norm(found - orbit.after(100.0).position) < 0.2


def test_two_spacecraft_feel_the_field_at_their_own_mass_centres_or_are_refused() -> None:
    s = arm.System("two spacecraft")
    s.attractor("earth", MU)
    orbits = {name: arm.Orbit(MU, a=7e6, e=0.01, i=0.5, nu=nu) for name, nu in (("one", 0.1), ("two", 2.2))}
    for name, orbit in orbits.items():
        s.body(name, joint=arm.Free(), mass=500, inertia=(200, 150, 180))
        s.start_orbit(name, orbit)
    try:
        run = s.derive().compile().simulate(100.0)
    except ModelError as error:
        assert "'one'" in str(error) and "'two'" in str(error)
        return
    for name, orbit in orbits.items():
        found = [run[f"{name}.q{i}"][-1] for i in (1, 2, 3)]
        assert np.linalg.norm(found - orbit.after(100.0).position) < 1e-2


@pytest.mark.parametrize("field", ["mass centre", "gradient", "bodies"])
def test_flexible_spacecraft_in_every_field_keeps_its_energy(field: str) -> None:
    s = arm.System("in orbit")
    s.attractor("earth", MU, field=field)
    spacecraft(s, "hub")
    orbit = arm.Orbit(MU, a=7e6, e=0.01, i=0.5, nu=0.1)
    s.start_orbit("hub", orbit)
    s.output("E", s.kinetic_energy() + s.potential_energy() + s.strain_energy(), units="J")
    centre = s.mass_centre()
    for axis in "xyz":
        s.output(f"c{axis}", arm.dot(centre, getattr(s.ground, axis)), units="m")
    start = {"hub.u4": 0.01, "hub_boom.u1": 0.02, "hub_boom.q2": 0.01}
    model = s.derive().compile()
    run = model.simulate(200.0, method="dop853", rtol=1e-12, atol=1e-10, initial=start)
    np.testing.assert_allclose(run["E"], run["E"][0], rtol=1e-13)
    found = [run[f"c{axis}"][-1] for axis in "xyz"]
    np.testing.assert_allclose(found, orbit.after(200.0).position, atol=1e-3)


def test_angles_are_right_at_and_near_gimbal_lock() -> None:
    s = arm.System("attitude")
    hub = s.body("hub", joint=arm.Free(), mass=1, inertia=(1, 1, 1))
    s.attitude_output("tait", hub, "zyx")
    s.attitude_output("euler", hub, "zxz", units="deg")
    model = s.derive().compile()
    rng = np.random.default_rng(1)
    for k in range(60):
        turn = Rotation.random(random_state=k)
        if k % 3 == 0:
            gap = 10.0 ** -rng.integers(3, 17)
            turn = Rotation.from_euler("ZYX", [rng.uniform(-3, 3), np.pi / 2 - gap, rng.uniform(-3, 3)])
        x, y, z, w = turn.as_quat()
        found = model.outputs(0.0, [0, 0, 0, w, x, y, z, *[0] * 6])
        tait, euler = ([found[f"{kind} {i}"] for i in (1, 2, 3)] for kind in ("tait", "euler"))
        np.testing.assert_allclose(Rotation.from_euler("ZYX", tait).as_matrix(), turn.as_matrix(), atol=1e-12)
        np.testing.assert_allclose(
            Rotation.from_euler("ZXZ", euler, degrees=True).as_matrix(), turn.as_matrix(), atol=1e-12
        )


@pytest.mark.parametrize(
    "how",
    [
        {"method": "dop853"},
        {"method": "rk4", "step": 0.03},
        {"method": "rk4", "step": 0.5},
        {"method": "dop853", "t0": 0.15},
    ],
    ids=["adaptive", "small steps", "steps longer than pulses", "from within a pulse"],
)
def test_pulses_of_a_thruster_lose_nothing_to_the_integrator(how: dict[str, Any]) -> None:
    s = arm.System("pulses")
    hub = s.body("hub", joint=arm.Free(), mass=2, inertia=(1, 1, 1))
    s.thruster("jet", 3.0, hub.x, at=hub.origin, on=[(0.1, 0.2), (1.01, 1.33)])
    run = s.derive().compile().simulate(5.0, **how)
    burnt = 0.42 - (0.05 if "t0" in how else 0.0)
    assert run["hub.u1"][-1] == pytest.approx(3.0 / 2.0 * burnt, rel=1e-13)


def test_wheels_and_gyros_on_a_flexible_node_leave_the_angular_momentum_alone() -> None:
    """Devices drive each other through the boom, wheels from rest among them; all formalisms agree."""
    s = arm.System("devices")
    hub, boom = spacecraft(s, "hub")
    tip = boom.node("tip")
    s.reaction_wheel("wheel", on=tip, axis="x", inertia=0.1, mass=1.0, drive="torque", torque=0.01)
    s.reaction_wheel("idle", on=hub, axis="z", inertia=0.1, drive="constant", speed=0.0)
    s.control_moment_gyro(
        "gyro", on=tip, gimbal_axis="z", spin_axis="x", wheel_inertia=0.01, wheel_speed=100.0, gimbal_rate=0.3
    )
    for axis in "xyz":
        s.output(f"L{axis}", arm.dot(s.angular_momentum("mass centre"), getattr(s.ground, axis)))
    ends = []
    for formalism in ("kane", "recursive", "back_substitution", "momentum"):
        model = s.derive(formalism).compile()
        run = model.simulate(5.0, method="dop853", rtol=1e-11, atol=1e-12, initial={"hub.u5": 0.01})
        size = max(np.abs(run[f"L{axis}"]).max() for axis in "xyz")
        for axis in "xyz":
            assert np.ptp(run[f"L{axis}"]) < 1e-9 * size
        ends.append([run[f"hub_boom.q{i}"][-1] for i in (1, 2, 3)])
    np.testing.assert_allclose(ends[1:], [ends[0]] * 3, rtol=1e-6, atol=1e-9)


def test_folded_panels_on_a_node_latch_one_by_one_and_stay() -> None:
    s = arm.System("array on a boom")
    _, boom = spacecraft(s, "hub")
    made = arm.panels(
        s, boom.node("tip"), 2, length=[1.0, 0.8], mass=2.0, inertia=(0.1, 0.2, 0.3), stiffness=1.0,
        damping=[0.1, 0.2], start="folded", latch=0.0,
    )  # fmt: skip
    run = s.derive().compile().simulate(40.0)
    assert {e.name for e in run.events} == {"panel1 latches", "panel2 latches"}
    for panel in made:
        assert abs(run[f"{panel.name}.q1"][-1]) < 1e-9 and run[f"{panel.name}.u1"][-1] == 0


BAD_ORBITS: dict[str, tuple[dict[str, Any], str]] = {
    "hyperbola": ({"a": 7e6, "e": 1.5}, "e=1.5.*a negative one for a hyperbola"),
    "ellipse": ({"a": -7e6, "e": 0.5}, "positive one for an ellipse"),
    "parabola": ({"a": 7e6, "e": 1.0}, "a parabola has none; give p or periapsis"),
    "asymptote": ({"a": -7e6, "e": 2.0, "nu": 3.1}, "beyond the asymptote"),
    "two sizes": ({"a": 7e6, "p": 3e6}, "give one of a, p"),
    "not finite": ({"a": 7e6, "i": float("nan")}, "i=nan is not a finite number"),
}


@pytest.mark.parametrize("name", BAD_ORBITS)
def test_impossible_orbit_is_explained(name: str) -> None:
    elements, words = BAD_ORBITS[name]
    with pytest.raises(ModelError, match=words):
        arm.Orbit(MU, **elements)


def test_devices_and_panels_that_cannot_be_are_refused() -> None:
    s = arm.System("mistakes")
    hub, boom = spacecraft(s, "hub")
    array = {"length": 1.0, "mass": 1.0, "inertia": (0.1, 0.2, 0.3)}
    with pytest.raises(ModelError, match="length= is a list of 2, but there are 3 panels"):
        arm.panels(s, hub, 3, **{**array, "length": [1.0, 2.0]})
    with pytest.raises(ModelError, match="did you mean 'folded'"):
        arm.panels(s, hub, 3, **array, start="foldd")
    with pytest.raises(ModelError, match="wheel 'w' is 0; give a positive number"):
        s.reaction_wheel("w", on=hub, axis="x", inertia=0.0)
    with pytest.raises(ModelError, match="'g': spin_axis= is not at right angles"):
        s.control_moment_gyro(
            "g", on=hub, gimbal_axis="z", spin_axis="z", wheel_inertia=1, wheel_speed=1, gimbal_rate=0.0
        )
    with pytest.raises(ModelError, match=r"thruster 'jet': its switching times 0\.3 and 0\.2"):
        s.thruster("jet", 1.0, hub.x, at=hub.origin, on=[(0.3, 0.2)])
    with pytest.raises(ModelError, match=r"'hub_boom'.*give it a Free joint on the ground"):
        s.start_orbit(boom, arm.Orbit(MU, a=7e6))
