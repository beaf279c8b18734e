"""Armature: the inertia of a rotor behind a gear is a term on the diagonal of the mass matrix.

The independent model is the rotor itself: a wheel on the ground without gyroscopic moments, tied to the
joint's speed by a constraint.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import armillary as arm

ROTORS = {"B.u1": 0.3, "C.u1": 0.4, "D.u1": 0.05, "D.u2": 0.07}
EVERY = ["kane", "recursive", "back_substitution", "momentum", "redundant"]
START = dict(
    zip(
        ["A.q1", "B.q1", "C.q1", "D.q1", "D.q2", "A.u1", "B.u1", "C.u1", "D.u1", "D.u2"],
        np.random.default_rng(5).normal(size=10).tolist(),
        strict=True,
    )
)


def robot() -> arm.System:
    """A branched arm with a hinge across the axes, a slide and a gimbal."""
    s = arm.System("arm")
    A = s.body(
        "A", joint=arm.Revolute("z"), mass=3, com=(0.1, 0.2, 0.05), inertia=(1, 2, 2.5, 0.1, 0.05, 0.2)
    )
    B = s.body(
        "B",
        A,
        arm.Revolute((1, 2, 0.5)),
        at=(0.3, 0.1, 0.2),
        mass=1,
        com=(0.2, 0.1, 0.1),
        inertia=(0.1, 0.2, 0.25),
    )
    s.body(
        "C", B, arm.Prismatic("y"), at=(0.1, 0.4, 0), mass=0.7, com=(0.1, 0, 0.3), inertia=(0.05, 0.06, 0.07)
    )
    s.body(
        "D", B, arm.Gimbal("zx"), at=(0, 0.3, 0.1), mass=0.4, com=(0.1, 0.2, 0.1), inertia=(0.02, 0.03, 0.04)
    )
    s.gravity(9.81, -s.ground.z)
    return s


def with_accelerations(s: arm.System) -> arm.System:
    for u in list(s.speeds):
        s.output(f"rate of {u}", s.accelerations[u])
    return s


def with_armature() -> arm.System:
    s = robot()
    s.parameter("J", 0.003, units="kg*m^2", about="rotor")
    for speed, value in ROTORS.items():
        s.armature(speed, "100*J" if speed == "B.u1" else value)
    s.output("energy", s.total_energy())
    return with_accelerations(s)


def with_rotors() -> arm.System:
    s = robot()
    for name, value in ROTORS.items():
        label = "R" + name.replace(".", "")
        rotor = s.body(label, joint=arm.Revolute("z"), mass=0, inertia=(0, 0, value), check_inertia=False)
        radius = s.parameter(f"r_{label}", 1.0, units="m") if name == "C.u1" else 1
        s.constrain(radius * rotor.u1 - s.expression(name, "test"), eliminate=rotor.u1)
    return with_accelerations(s)


@cache
def by_rotors() -> dict[str, float]:
    run = with_rotors().derive("kane").compile().simulate(1e-6, step=1e-6, initial=START)
    return {name: float(run[f"rate of {name}"][0]) for name in [*ROTORS, "A.u1"]}


@cache
def model(formalism: str) -> arm.CompiledModel:
    return with_armature().derive(formalism).compile()


@pytest.mark.parametrize("formalism", EVERY)
def test_an_armature_is_the_rotor_behind_its_gear(formalism: str) -> None:
    run = model(formalism).simulate(1e-6, step=1e-6, initial=START)
    for name, expected in by_rotors().items():
        assert run[f"rate of {name}"][0] == pytest.approx(expected, rel=1e-10, abs=1e-10), name


@pytest.mark.parametrize("formalism", ["recursive", "momentum"])
def test_energy_with_that_of_the_rotors_is_conserved(formalism: str) -> None:
    run = model(formalism).simulate(1.0, step=1e-3, initial=START)
    turned = sum(0.5 * a * START[u] ** 2 for u, a in ROTORS.items())
    assert np.ptp(run["energy"]) < 1e-9 * turned


def test_a_rotor_alone_carries_a_massless_joint() -> None:
    """u̇ = τ/a."""
    s = arm.System("spindle")
    s.body("disc", joint=arm.Revolute("z"), mass=0, inertia=0)
    s.armature("disc.q1", 0.25)
    s.moment("drive", 2.0, s.ground.z, on="disc")
    for formalism in ("kane", "recursive", "back_substitution"):
        assert s.derive(formalism).compile().accelerations(0, [0], [0])[0] == pytest.approx(8.0, rel=1e-14)


@pytest.mark.parametrize("formalism", ["kane", "recursive"])
def test_a_free_body_with_armature_falls_more_slowly(formalism: str) -> None:
    """m g = (m + a) u̇ along the axis of the drive: as MuJoCo has it."""
    s = arm.System("stone")
    s.body("stone", joint=arm.Free(), mass=3, inertia=(1, 2, 2.5))
    s.gravity(9.81, -s.ground.z)
    s.armature("stone.u3", 1.5)
    found = s.derive(formalism).compile().accelerations(0, [0, 0, 0, 1, 0, 0, 0], [0.3, 1, 2, 0, 0, 0])
    assert found == pytest.approx([0, 0, -9.81 * 3 / 4.5, 0, 0, 0], abs=1e-14)


def test_the_effort_of_a_given_motion_turns_the_rotor_too() -> None:
    """τ = (I + a) q̈ with q = 3 t²."""
    s = arm.System("driven")
    s.body("wheel", joint=arm.Revolute("z"), mass=1, inertia=(1, 1, 2))
    other = s.body("other", joint=arm.Revolute("z"), mass=1, inertia=(1, 1, 2))
    s.prescribe("wheel.q1", "3*t*t*1")
    s.armature("wheel.q1", 0.5)
    s.armature("other.q1", 0.25)
    s.constrain(other.u1 - 2 * s.bodies["wheel"].u1, eliminate=other.u1, name="gear")
    s.output("effort", s.effort("wheel.q1"))
    run = s.derive("kane").compile().simulate(0.1, step=0.1)
    assert run["effort"][0] == pytest.approx(6 * (2.5 + 4 * 2.25), rel=1e-12)


def test_a_latch_stops_the_rotor_with_its_joint() -> None:
    """Two discs in a row, the second latched: angular momentum (J₁ + J₂) u₁ + J₂ u₂ stays; the rotor's part
    a u₂ is the latch's impulse on the parent, so that it does not turn the pair."""
    s = arm.System("latch")
    one = s.body("one", joint=arm.Revolute("z"), mass=1, inertia=(1, 1, 2))
    s.body("two", one, arm.Revolute("z"), mass=1, inertia=(1, 1, 1))
    s.armature("two.q1", 0.5)
    s.event("latch", "t - 0.05", lock="two.q1")
    run = s.derive("kane").compile().simulate(0.1, step=0.01, initial={"two.u1": 3.0})
    assert run["one.u1"][-1] == pytest.approx(3.0 / 3.0, rel=1e-10)


def test_armatures_survive_text(tmp_path) -> None:
    s = with_armature()
    s.save(tmp_path / "arm.toml")
    text = (tmp_path / "arm.toml").read_text()
    assert "[armature]" in text and '"B.u1" = "100*J"' in text
    again = arm.load(tmp_path / "arm.toml")
    assert {str(u): str(a) for u, a in again.armatures.items()} == {
        str(u): str(a) for u, a in s.armatures.items()
    }


@pytest.mark.parametrize(
    ("coordinate", "value", "message"),
    [
        ("B.q1", -1, "'B.u1': -1 is negative"),
        ("B.q1", "J*B.q1", "varies with the motion"),
        ("B.q1", "M", "dimension"),
        ("C.q1", "J", "dimension"),
        ("X.q1", 1, "X"),
        ("A.u1", 1, "already; give the sum of both"),
    ],
)
def test_what_is_no_armature_is_refused(coordinate: str, value: object, message: str) -> None:
    s = robot()
    s.parameter("M", 1.0, units="kg")
    s.parameter("J", 1.0, units="kg*m^2")
    s.armature("A.u1", 0.1)
    with pytest.raises(arm.ArmillaryError, match=message):
        s.armature(coordinate, value)
    assert [str(u) for u in s.armatures] == ["A.u1"]


def craft() -> arm.System:
    """In free space: a panel on two axes, a second hinge beyond it, and a balanced wheel, all geared."""
    s = arm.System("craft")
    bus = s.body("bus", joint=arm.Free(), mass=3, inertia=(1, 2, 2.5))
    panel = s.body(
        "panel", bus, arm.Gimbal("yx"), at=(1, 0, 0), com=(1, 0, 0), mass=1, inertia=(0.1, 0.1, 0.2)
    )
    s.body(
        "tip", panel, arm.Revolute("z"), at=(2, 0, 0), com=(0.3, 0.1, 0), mass=0.4, inertia=(0.1, 0.1, 0.2)
    )
    s.body("wheel", bus, arm.Revolute("x"), at=(0, 1, 0), mass=0.2, inertia=(0.02, 0.01, 0.01))
    for name, value in {"panel.q1": 0.1, "tip.q1": 0.2, "wheel.q1": 0.03}.items():
        s.armature(name, value)
    s.moment("drive", 0.3, bus.x, on="wheel", reaction=bus)
    return s


@cache
def crafted(formalism: str) -> arm.Run:
    start = {"bus.u4": 0.2, "bus.u5": 0.3, "panel.u1": 0.4, "panel.u2": 0.1, "tip.q1": 0.3, "tip.u1": -0.7}
    return craft().derive(formalism).compile().simulate(0.5, step=0.01, initial=start)


@pytest.mark.parametrize("formalism", ["mbdyfn", "mbdyfr"])
def test_armatures_at_hinges_of_jpl_are_those_of_kane(formalism: str) -> None:
    found, expected = crafted(formalism), crafted("kane")
    for name in expected.names:
        assert found[name] == pytest.approx(expected[name], abs=1e-10), name


def test_what_cannot_have_an_armature_is_named() -> None:
    s = arm.System("bus")
    s.body("bus", joint=arm.Free(velocity="body"), mass=3, inertia=(1, 2, 2.5))
    with pytest.raises(arm.ArmillaryError, match="in axes that turn with it"):
        s.armature("bus.u1", 1)
    s = craft()
    s.armature("bus.u1", 0.1)
    with pytest.raises(arm.ArmillaryError, match=r"'mbdyfn': the speed 'bus\.u1' has an armature"):
        s.derive("mbdyfn")


def test_parameters_that_take_a_rotor_away_are_refused() -> None:
    s = arm.System("spindle")
    s.body("disc", joint=arm.Revolute("z"), mass=0, inertia=0)
    s.parameter("J", 0.25, units="kg*m^2")
    s.armature("disc.q1", "J")
    model = s.derive().compile()
    with pytest.raises(arm.ArmillaryError, match="moves no mass"):
        model.simulate(0.1, step=0.1, parameters={"J": 0.0})
    with pytest.raises(arm.ArmillaryError, match=r"armature of 'disc.u1' \(by J\) is -1"):
        model.simulate(0.1, step=0.1, parameters={"J": -1.0})


def test_a_load_that_depends_on_an_acceleration_is_refused() -> None:
    """It follows from the loads; the compiler of the code ended with an error of its own."""
    s = arm.System("circular")
    a = s.body("A", joint=arm.Revolute("z"), mass=1, inertia=(1, 1, 1))
    s.moment("M", 0.1 * arm.time_derivative(a.u1), a.z, on=a)
    with pytest.raises(arm.ModelError, match=r"depends on 'A\.u1'', an acceleration.*armature"):
        s.derive()
