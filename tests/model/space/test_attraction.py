"""Attracting bodies: orbits, precession and libration by formula, energies, fields that agree, bad input."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import armillary as arm

MU = 3.986004415e14
TIGHT: dict[str, Any] = {"method": "dop853", "rtol": 1e-13, "atol": 1e-13}
FIELDS = ("mass centre", "gradient", "bodies")


def satellite(field: str, mu: Any = MU, **options: Any) -> arm.System:
    """A hub with a boom on a hinge and a ball at its end, the last added after its attractor."""
    s = arm.System("satellite")
    hub = s.body("hub", joint=arm.Free(), mass=100, com=(0.1, 0, -0.2), inertia=(30, 40, 50))
    boom = s.body("boom", hub, arm.Revolute("y"), at=(1, 0, 0), com=(2, 0, 0.1), mass=10, inertia=(1, 9, 9))
    s.attractor("earth", mu, field=field, **options)
    s.body("ball", boom, arm.Spherical(), at=(4, 0, 0), com=(0, 0.5, 0), mass=20, inertia=(3, 2, 3))
    return s


@pytest.mark.parametrize("field", FIELDS)
def test_a_point_comes_back_after_a_period(field: str) -> None:
    """For a single point mass all fields are Kepler's."""
    s = arm.System("point")
    point = s.body("point", joint=arm.Joint(translate="xyz"), mass=3, inertia=0)
    s.attractor("earth", MU, field=field)
    orbit = arm.Orbit(MU, a=8.0e6, e=0.2, i="50 deg", raan=0.3, argp=0.4, nu=0.5)
    s.start_orbit(point, orbit)
    run = (
        s.derive()
        .compile()
        .simulate(1.3 * orbit.period, sample=[0.0, orbit.period, 1.3 * orbit.period], **TIGHT)
    )
    found = np.column_stack([run[f"point.q{i}"] for i in (1, 2, 3)])
    wanted = [orbit.position, orbit.position, orbit.after(1.3 * orbit.period).position]
    np.testing.assert_allclose(found, wanted, rtol=0, atol=8.0e6 * 1e-11)


def test_the_node_of_an_oblate_planets_satellite_precesses() -> None:
    """Ω̇ = −3/2 n J₂ (R/p)² cos i, to first order in J₂, hence with a J₂ a thousand times the Earth's less.

    Source: Vallado (2013), eq. 9-37.
    """
    s = arm.System("oblate")
    point = s.body("point", joint=arm.Joint(translate="xyz"), mass=3, inertia=0)
    J2, R = 1e-6, 6378137.0
    s.attractor("earth", MU, J2=J2, radius=R)
    orbit = arm.Orbit(MU, a=7.2e6, e=0.0, i="60 deg", raan=0.3)
    s.start_orbit(point, orbit)
    revolutions = 20
    run = s.derive().compile().simulate(revolutions * orbit.period, **TIGHT)
    end = arm.Orbit.from_state(
        MU, [run.final[f"point.q{i}"] for i in (1, 2, 3)], [run.final[f"point.u{i}"] for i in (1, 2, 3)]
    )
    wanted = -1.5 * 2 * math.pi * revolutions * J2 * (R / orbit.p) ** 2 * math.cos(orbit.i)
    assert end.raan - orbit.raan == pytest.approx(wanted, rel=1e-4)


def test_pitch_libration_in_the_gravity_gradient() -> None:
    """ω = n √(3 (I_along − I_radial)/I_normal) for small angles on a circle.

    Source: Hughes (1986), Spacecraft Attitude Dynamics, section 9.1.
    """
    s = arm.System("dumbbell")
    C, A, B = 100.0, 300.0, 350.0  # radial x, along y, normal z
    body = s.body("body", joint=arm.Free(), mass=50, inertia=(C, A, B))
    s.attractor("earth", MU, field="gradient")
    orbit = arm.Orbit(MU, a=7.0e6)
    s.start_orbit(body, orbit)
    n, tilt = orbit.mean_motion, 1e-3
    w = n * math.sqrt(3 * (A - C) / B)
    times = np.linspace(0, 1.5 * 2 * math.pi / w, 301)
    start = {"body.q4": math.cos(tilt / 2), "body.q7": math.sin(tilt / 2), "body.u6": n}
    run = s.derive().compile().simulate(times[-1], sample=times, initial=start, **TIGHT)
    turned = 2 * np.unwrap(np.arctan2(run["body.q7"], run["body.q4"]), period=math.pi)
    around = np.unwrap(np.arctan2(run["body.q2"], run["body.q1"]))
    # The pendulum's period grows by tilt²/4 at twice the angle, 2.5e-7; over 1.5 periods 2.4e-6 of the tilt.
    np.testing.assert_allclose(turned - around, tilt * np.cos(w * times), atol=4e-6 * tilt)


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("oblate", [{}, {"J2": 0.2, "radius": 12.0}], ids=["round", "oblate"])
def test_energy_is_kept(field: str, oblate: dict[str, float]) -> None:
    """So close to a small planet that every term of second order matters."""
    s = satellite(field, 2000.0, **oblate)
    s.output("energy", s.total_energy())
    s.output("potential", s.potential_energy())
    initial = {"hub.u4": 0.3, "boom.u1": -0.4, "ball.u2": 0.5, "boom.q1": 0.7}
    s.start_mass_centre("hub", position=(30.0, 20.0, 10.0), velocity=(-3.0, 5.0, 2.0))
    run = s.derive().compile().simulate(20.0, sample=0.1, initial=initial, **TIGHT)
    assert np.ptp(run["potential"]) > 100
    assert np.ptp(run["energy"]) < 1e-10 * abs(run["energy"][0])


@pytest.mark.parametrize("field", ["gradient", "bodies"])
def test_energy_is_kept_on_a_real_orbit(field: str) -> None:
    s = satellite(field)
    s.output("energy", s.total_energy())
    orbit = arm.Orbit(MU, a=7.0e6, e=0.01, i="30 deg")
    s.start_orbit("hub", orbit)
    run = s.derive().compile().simulate(1000.0, initial={"hub.u4": 0.01, "boom.u1": -0.02}, **TIGHT)
    assert np.ptp(run["energy"]) < 1e-12 * abs(run["energy"][0])


@pytest.mark.parametrize("field", FIELDS)
def test_formalisms_agree(field: str) -> None:
    rng = np.random.default_rng(4)
    options = {"J2": 0.2, "radius": 12.0, "axis": None}
    systems = [satellite(field, 2000.0, **options) for _ in range(3)]
    models = [s.derive(f).compile() for s, f in zip(systems, ("kane", "recursive", "redundant"), strict=True)]
    names = [*models[0].coordinate_names, *models[0].speed_names]
    values = dict(zip(names, rng.uniform(-1, 1, len(names)).tolist(), strict=True))
    values |= {"hub.q1": 30.0, "hub.q2": -20.0}
    state = models[0].state(values)
    rates = [m.derivatives(0.0, state) for m in models[:2]]
    np.testing.assert_allclose(rates[0], rates[1], rtol=1e-10, atol=1e-12)
    ends = [
        m.simulate(0.5, step=1e-3, initial=values, method=how).final
        for m, how in zip(models, ("rk4", "rk4", "projected"), strict=True)
    ]
    for name in ("hub.q1", "boom.q1", "ball.q2"):
        assert ends[0][name] == pytest.approx(ends[1][name], abs=1e-11)
        assert ends[0][name] == pytest.approx(ends[2][name], abs=1e-5)  # a method of second order


def test_the_gradient_of_one_body_is_that_of_its_parts() -> None:
    """Six point masses on a frame, one by one, against their inertia: to (L/r)² of the moment."""
    L, m, r = np.array([1.0, 2.0, 3.0]), 5.0, np.array([3000.0, -2000.0, 1500.0])
    parts = arm.System("parts")
    hub = parts.body("hub", joint=arm.Free(), mass=1, inertia=0)
    for i in range(3):
        for sign in (1, -1):
            place = [0.0, 0.0, 0.0]
            place[i] = sign * float(L[i])
            parts.body(f"m{i}{'pm'[sign < 0]}", hub, arm.Fixed(), at=place, mass=m, inertia=0)
    parts.attractor("earth", MU, field="bodies")
    whole = arm.System("whole")
    squares = 2 * m * L**2
    whole.body("hub", joint=arm.Free(), mass=1 + 6 * m, inertia=tuple((squares.sum() - squares).tolist()))
    whole.attractor("earth", MU, field="gradient")
    state = dict(zip(("hub.q1", "hub.q2", "hub.q3"), r.tolist(), strict=True))
    state |= {"hub.q4": 0.8, "hub.q5": 0.2, "hub.q6": -0.5, "hub.q7": 0.1}
    found = []
    for s in (parts, whole):
        model = s.derive().compile()
        found.append(model.derivatives(0.0, model.state(state))[7:])
    np.testing.assert_allclose(
        found[0], found[1], rtol=2e-5
    )  # (3/3900)² = 6e-7 times the factors of the series
    assert np.abs(found[0][3:]).max() > 0


def test_third_bodies_accelerate_the_origin_too() -> None:
    """Sun and Moon in a frame that falls with the Earth, against the formula, far and near, moving."""
    sun, moon = 1.32712440018e20, 4.9028e12
    s = arm.System("three attractors")
    s.body("point", joint=arm.Joint(translate="xyz"), mass=3, inertia=0)
    s.attractor("earth", MU)
    s.attractor("sun", sun, at=(1.1e11, 0.9e11, 0.3e11), indirect=True)
    s.parameter("n", 2.66e-6, units="rad/s")
    s.attractor("moon", moon, at=("3.8e8*cos(n*t)", "3.8e8*sin(n*t)", 0), indirect=True, field="bodies")
    r, t = np.array([4.2e7, -1.0e6, 2.0e6]), 1.0e5
    wanted = -MU * r / np.linalg.norm(r) ** 3
    for mu, place in (
        (sun, np.array([1.1e11, 0.9e11, 0.3e11])),
        (moon, 3.8e8 * np.array([math.cos(2.66e-6 * t), math.sin(2.66e-6 * t), 0])),
    ):
        d = r - place
        wanted = wanted - mu * (d / np.linalg.norm(d) ** 3 + place / np.linalg.norm(place) ** 3)
    found = s.derive().compile().accelerations(t, r, [0, 0, 0])
    np.testing.assert_allclose(found, wanted, rtol=1e-13)
    # The Sun's part alone is 1e-6 of the whole: it has its own digits.
    tidal = s.potential_energy()
    values = {"n": 2.66e-6, "t": t, "point.q1": r[0], "point.q2": r[1], "point.q3": r[2]}
    slope = arm.evaluate(arm.derivative(tidal, s.bodies["point"].q1), values)
    np.testing.assert_allclose(-slope / 3, wanted[0], rtol=1e-9)


def test_relative_motion_keeps_its_digits() -> None:
    """Two bodies a metre apart: their relative acceleration is the gradient, 1e-6 m/s², to ten digits."""
    s = arm.System("pair")
    first = s.body("first", joint=arm.Free(), mass=1, inertia=(1, 1, 1))
    s.body("second", first, arm.Prismatic("x"), mass=1e-6, inertia=0)
    s.attractor("earth", MU, field="bodies")
    model = s.derive().compile()
    r = 7.0e6
    found = model.accelerations(0.0, [r, 0, 0, 1, 0, 0, 0, 1.0], [0] * 7)
    # Of the light body on the heavy one: −μ/(r+1)² + μ/r² = μ (2 r + 1)/(r (r + 1))², less 1e-6 of it
    wanted = MU * (2 * r + 1) / (r * (r + 1)) ** 2
    assert found[6] == pytest.approx(wanted, rel=1e-13, abs=0)


@pytest.mark.parametrize("mass", [None, 0, 3], ids=["merged", "massless", "with mass"])
def test_a_wheel_without_mass_feels_the_gradient(mass: float | None) -> None:
    """α = 3μ/r³ I⁻¹·(n × I·n) and V = −μm/r − ½μ/r³ (tr I − 3 n·I·n) with the wheel's inertia in I.

    Source: Hughes (1986), section 8.1.
    """
    s, mu, r, n = arm.System("wheel"), 5000.0, 40.0, np.array([0.6, 0.64, 0.48])
    wheel = np.diag([5.0, 5.0, 10.0])
    own = np.diag([100.0, 200.0, 300.0])
    inertia = own + wheel
    hub = s.body("hub", joint=arm.Free(), mass=50 - (mass or 0), inertia=inertia if mass is None else own)
    if mass is not None:
        s.reaction_wheel("w", on=hub, axis="z", inertia=10.0, mass=mass)
        s.lock("w.q1")
    s.attractor("earth", mu, field="gradient")
    s.output("V", s.potential_energy())
    model = s.derive().compile()
    state = model.state(dict(zip(("hub.q1", "hub.q2", "hub.q3"), r * n, strict=True)))
    rates = model.derivatives(0.0, state)[len(model.coordinate_names) :]
    turning = 3 * mu / r**3 * np.linalg.solve(inertia, np.cross(n, inertia @ n))
    np.testing.assert_allclose(rates[3:6], turning, rtol=1e-12)
    energy = -mu * 50 / r - 0.5 * mu / r**3 * (np.trace(inertia) - 3 * n @ inertia @ n)
    assert model.outputs(0.0, state)["V"] == pytest.approx(energy, rel=1e-14)


def test_bodies_and_attractors_share_their_names() -> None:
    s = arm.System("names")
    s.attractor("sun", MU)
    for make in (s.body, s.parameter, s.memory):
        with pytest.raises(arm.ModelError, match="'sun': an attractor of that name exists already"):
            make("sun")


def test_a_refused_attractor_leaves_no_parameters() -> None:
    s = arm.System("refused")
    with pytest.raises(arm.ModelError, match="J2 but no radius"):
        s.attractor("earth", "mu", J2="J2")
    assert not s.parameters


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mu": -1.0}, "mu of attractor 'earth' is -1"),
        ({"field": "masscentre"}, "no field 'masscentre'; did you mean 'mass centre'"),
        ({"field": 3}, "no field 3"),
        ({"J2": 1e-3}, "J2 but no radius"),
        ({"radius": 0.0}, "radius of attractor 'earth' is 0"),
        ({"at": (1, 2)}, "three values are needed"),
        ({"at": ("body.q1", 0, 0)}, "may depend on time and parameters only, not on 'body.q1'"),
        ({"axis": "body.z"}, "not fixed in the ground"),
        ({"indirect": True}, "at the ground's origin"),
        ({"name": "body"}, "taken by a body"),
        ({"mu": "3 m"}, None),
    ],
)
def test_bad_attractors(options: dict[str, Any], message: str | None) -> None:
    s = arm.System("bad")
    s.body("body", joint=arm.Free(), mass=1, inertia=(1, 1, 1))
    with pytest.raises(arm.ArmillaryError, match=message):
        s.attractor(options.pop("name", "earth"), options.pop("mu", MU), **options)
    assert not s.attractors


def test_the_same_attractor_twice_and_nothing_to_attract() -> None:
    s = arm.System("bad")
    s.body("body", joint=arm.Free(), mass=0, inertia=0)
    s.attractor("earth", MU)
    with pytest.raises(arm.ModelError, match="exists already"):
        s.attractor("earth", MU)
    with pytest.raises(arm.ModelError, match="mass"):
        s.derive()


def test_parameters_of_an_attractor_get_their_units() -> None:
    s = arm.System("units")
    s.body("body", joint=arm.Free(), mass=1, inertia=(1, 1, 1))
    s.attractor("earth", "mu", J2="J2", radius="R")
    eom = s.derive()
    assert (eom.parameter_units["mu"], eom.parameter_units["R"]) == ("m^3/s^2", "m")
