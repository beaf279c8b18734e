"""A flexible boom in a planet's field: its mass centre is where it should be, and energy is kept."""

from __future__ import annotations

import numpy as np

import armillary as arm


def craft(field: str, mu: float) -> arm.System:
    s = arm.System("craft")
    hub = s.body("hub", joint=arm.Free(), mass=20, inertia=(3, 4, 5))
    boom = s.body("boom", hub, arm.Revolute("y"), at=(1, 0, 0))
    masses = [1.0, 2.0]
    shapes = np.array([np.eye(3), 2 * np.eye(3)])  # node, axis, mode
    nodes = {"middle": (1.0, 0, 0), "tip": (2.0, 0, 0.1)}
    boom.flexible(nodes=nodes, masses=masses, shapes=shapes, stiffness=40 * np.eye(3))
    s.attractor("planet", mu, field=field)
    s.output("energy", s.total_energy(), units="J")
    place, momentum = s.mass_centre(), s.momentum()
    for letter, axis in zip("xyz", (s.ground.x, s.ground.y, s.ground.z), strict=True):
        s.output(f"r{letter}", arm.dot(place, axis), units="m")
        s.output(f"v{letter}", arm.dot(momentum, axis) / s.total_mass(), units="m/s")
    return s


def test_the_mass_centre_of_a_bent_boom_is_on_its_orbit() -> None:
    mu = 5000.0
    orbit = arm.Orbit(mu, a=40.0, e=0.3, i="40 deg", nu=1.0)
    s = craft("mass centre", mu)
    s.start_orbit("hub", orbit)
    bent = {"boom.q1": 0.4, "boom.q3": 0.2, "boom.q4": -0.1, "boom.u2": 0.3, "boom.u1": 0.5, "hub.u6": 0.2}
    run = (
        s.derive()
        .compile()
        .simulate(
            orbit.period / 3, initial=bent, sample=orbit.period / 30, method="dop853", rtol=1e-12, atol=1e-12
        )
    )
    for t, *state in zip(run.time, *(run[f"{c}{x}"] for c in "rv" for x in "xyz"), strict=True):
        later = orbit.after(t)
        np.testing.assert_allclose(state, [*later.position, *later.velocity], atol=1e-8)
    assert np.ptp(run["boom.q3"]) > 0.1
    assert np.ptp(run["energy"]) < 1e-10 * abs(run["energy"][0])
