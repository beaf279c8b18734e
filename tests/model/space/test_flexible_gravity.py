"""The field's differences over a flexible body, against the same masses as bodies of their own."""

from __future__ import annotations

import numpy as np
import pytest

import armillary as arm

MU, J2, RADIUS = 3.986004418e14, 1.08263e-3, 6378137.0
PLACES = {"n": ((50.0, 2.0, 0.0), 7.0), "k": ((20.0, 1.0, 3.0), 3.0)}
STIFFNESS = (0.01, 0.02, 0.03, 0.01, 0.02, 0.03)


def satellite(field: str, flexible: bool) -> arm.System:
    """A hub with a long hinged arm that carries two masses, each free to move in the arm's axes."""
    s = arm.System("satellite")
    hub = s.body("hub", joint=arm.Free(), mass=100, inertia=(40, 50, 60))
    beam = s.body("arm", parent=hub, joint=arm.Revolute("y"), at=(1, 0, 0), mass=1, inertia=(1, 1, 1))
    if flexible:
        shapes = np.eye(6).reshape(2, 3, 6)
        beam.flexible(
            nodes={name: place for name, (place, _) in PLACES.items()},
            masses=[mass for _, mass in PLACES.values()],
            shapes=shapes,
            stiffness=np.diag(STIFFNESS),
        )
    else:
        for j, (name, (place, mass)) in enumerate(PLACES.items()):
            joint = arm.Joint(translate=["x", "y", "z"])
            body = s.body(name, parent=beam, joint=joint, at=place, mass=mass, inertia=0)
            for i, axis in enumerate("xyz"):
                law = f"-{STIFFNESS[3 * j + i]}*{name}.q{i + 1}"
                s.force(f"{name}{axis}", law, getattr(beam, axis), at=body.origin, reaction=beam)
    s.attractor("Earth", MU, field=field, J2=J2, radius=RADIUS)
    s.output("potential", s.potential_energy())
    s.output("energy", s.kinetic_energy() + s.potential_energy() + s.strain_energy())
    return s


def state() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    q = np.zeros(14)
    q[:3] = 4e6, 5e6, 3e6
    e = rng.normal(size=4)
    q[3:7], q[7], q[8:] = e / np.linalg.norm(e), 0.4, rng.uniform(-2, 2, 6)
    return q, np.concatenate([[7e3, 1, 2], rng.normal(size=10) * 1e-3])


def test_gradient_on_modes_is_that_on_the_masses() -> None:
    """What is left is of third order in the size, 50 m in 7000 km; the gradient itself is 6e-5 m/s²."""
    q, u = state()
    found = satellite("gradient", True).derive().compile()
    masses = satellite("gradient", False).derive().compile()
    uniform = satellite("mass centre", True).derive().compile()
    accelerations = [m.accelerations(0.0, q, u) for m in (found, masses, uniform)]
    effect = np.abs(accelerations[1] - accelerations[2]).max()
    assert effect > 3e-5
    assert np.abs(accelerations[0] - accelerations[1]).max() < 2e-5 * effect
    energies = [m.outputs(0.0, np.concatenate([q, u]))["potential"] for m in (found, masses)]
    assert energies[0] == pytest.approx(energies[1], rel=1e-14)


@pytest.mark.parametrize(
    ("field", "others"), [("gradient", ("momentum", "back_substitution")), ("bodies", ("kane",))]
)
def test_formalisms_agree_and_energy_is_kept(field: str, others: tuple[str, ...]) -> None:
    q, u = state()
    models = {name: satellite(field, True).derive(name).compile() for name in ("recursive", *others)}
    wanted = models["recursive"].accelerations(0.0, q, u)
    for model in models.values():
        np.testing.assert_allclose(model.accelerations(0.0, q, u), wanted, rtol=0, atol=1e-9)
    model = models["recursive"]
    names = (*model.coordinate_names, *model.speed_names)
    start = dict(zip(names, np.concatenate([q, u]), strict=True))
    run = model.simulate(200.0, method="dop853", rtol=1e-12, atol=1e-12, initial=start)
    assert np.abs(run["arm.q2"]).max() > 0.5  # the mass does move
    np.testing.assert_allclose(run["energy"], run["energy"][0], rtol=3e-14)


def test_a_part_without_mass_of_its_own_is_refused() -> None:
    s = arm.System("coupling")
    hub = s.body("hub", joint=arm.Free(), mass=100, inertia=(40, 50, 60))
    hub.flexible(coupling=(np.ones((3, 1)), np.ones((3, 1))), frequencies=[2.0])
    s.attractor("Earth", MU, field="gradient")
    with pytest.raises(arm.ModelError, match="flexible part of body 'hub' has no mass of its own"):
        s.derive()
