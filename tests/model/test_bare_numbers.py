"""Bare numbers may have units of their own; what has declared units is always checked."""

from __future__ import annotations

import numpy as np
import pytest

import armillary as arm


def pendulum() -> tuple[arm.System, arm.Body]:
    s = arm.System("pendulum")
    return s, s.body("a", joint=arm.Revolute("z"), com=(0, -1, 0), mass=1, inertia=0)


@pytest.mark.parametrize(
    "text",
    [
        "-1*a.u1",
        "-1.0*a.u1 - 2*a.q1",
        "-5*a.q1 - a.u1",
        "1 + 2*t",
        "1 + t",
        "select(t > 1, 2, 0)",
        "min(2, 3*a.q1)",
        "max(-1, min(1, -2*a.q1))",
        "-0.2*sign(a.u1)",
        "-sign(a.u1)",
        "2*sin(2*pi*t)",
        "3*exp(-t/0.1)",
        "2",
    ],
)
def test_gains_may_be_bare_numbers_whatever_their_value(text: str) -> None:
    s, body = pendulum()
    s.moment("tau", text, s.ground.z, on=body)
    s.derive().compile().derivatives(0.5, [0.3, 0.2])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a.u1", "has dimension"),
        ("a.q1 + a.u1", "cannot add 'a.q1'"),
        ("F + L", "cannot add 'F'"),
        ("F + F - L", "cannot add"),
        ("sin(t)", "dimensionless argument"),
        ("F", "is needed; multiply it with a parameter"),
    ],
)
def test_declared_units_are_checked(text: str, message: str) -> None:
    s, body = pendulum()
    s.parameter("F", 1.0, units="N")
    s.parameter("L", 1.0, units="m")
    with pytest.raises(arm.UnitsError, match=message):
        s.moment("tau", text, s.ground.z, on=body)


@pytest.mark.parametrize("size", [1, -1, 1.0, 1.1, 2])
def test_energies_of_round_numbers_have_their_dimension(size: float) -> None:
    """Lengths and masses of exactly one must not vanish from the dimension of what they multiply."""
    s = arm.System("double")
    a = s.body("a", joint=arm.Revolute("z"), at=(0, size, 0), com=(0, size, 0), mass=1, inertia=0)
    s.body("b", a, arm.Revolute("x"), at=(0, size, 0), com=(0, size, 0), mass=1, inertia=0)
    s.gravity(1, -s.ground.y)
    s.output("energy", s.total_energy(), units="J")
    s.output("momentum", arm.magnitude(s.momentum()))
    s.output("turning", arm.magnitude(s.angular_momentum()))
    with pytest.raises(arm.UnitsError, match="output 'power' in W"):
        s.output("power", s.total_energy(), units="W")
    model = s.derive().compile()
    units = {c.name: c.units for c in model.equations.targets.columns}
    assert (units["momentum"], units["turning"]) == ("N*s", "N*m*s")
    u = [0.3, 0.4]
    found = model.outputs(0.0, [0.0, 0.0, *u])
    # Hanging (or standing) straight: both bars turn by u1 about z, the second also by u2 about x.
    lever = size * np.array([1.0, 2.0])
    speeds = np.array([lever[0] * u[0], lever[1] * u[0]])
    kinetic = 0.5 * (speeds @ speeds) + 0.5 * (size * u[1]) ** 2
    assert found["energy"] == pytest.approx(kinetic + 5 * size, rel=1e-14)


def test_an_event_needs_an_expression_that_passes_zero() -> None:
    s, _ = pendulum()
    with pytest.raises(arm.ModelError, match="is a condition, which jumps"):
        s.event("high", "a.q1 > 0.5", stop=True)


@pytest.mark.parametrize("name", ["a.q1", "a.u1", "time", "t"])
def test_outputs_do_not_replace_columns_that_every_run_has(name: str) -> None:
    s, _ = pendulum()
    with pytest.raises(arm.ModelError, match="every run has a column of that name"):
        s.output(name, "2*a.u1")


def test_numpy_scalars_mix_and_functions_name_ours() -> None:
    _, body = pendulum()
    assert str(np.float64(2) * body.q1 + np.float64(1)) == "2*a.q1 + 1"
    with pytest.raises(arm.ExpressionError, match=r"use arm\.atan2"):
        np.arctan2(body.q1, 1.0)
    with pytest.raises(arm.ExpressionError, match="one by one"):
        np.array([1.0, 2.0]) * body.q1
