"""Bare numbers may have units of their own; what has declared units is always checked."""

from __future__ import annotations

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.arguments import core_of


def pendulum() -> tuple[arm.System, arm.Body]:
    s = arm.System("pendulum")
    return s, s.body("a", joint=arm.Revolute("z"), com=(0, -1, 0), mass=1, inertia=0)


T, Q, U = 0.5, 0.3, 0.2  # time, angle and speed at which moments are compared


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("-1*a.u1", -U),
        ("-1.0*a.u1 - 2*a.q1", -U - 2 * Q),
        ("-5*a.q1 - a.u1", -5 * Q - U),
        ("1 + 2*t", 1 + 2 * T),
        ("1 + t", 1 + T),
        ("select(t > 1, 2, 0)", 0.0),
        ("min(2, 3*a.q1)", 3 * Q),
        ("max(-1, min(1, -2*a.q1))", -2 * Q),
        ("-0.2*sign(a.u1)", -0.2),
        ("-sign(a.u1)", -1.0),
        ("2*sin(2*pi*t)", 2 * np.sin(2 * np.pi * T)),
        ("3*exp(-t/0.1)", 3 * np.exp(-T / 0.1)),
        ("2*sin(t)", 2 * np.sin(T)),
        ("0.1*10*a.u1", U),
        ("2", 2.0),
    ],
)
def test_gains_may_be_bare_numbers_whatever_their_value(text: str, moment: float) -> None:
    """The inertia about the hinge is 1 kg·m², so the acceleration is the moment."""
    s, body = pendulum()
    s.moment("tau", text, s.ground.z, on=body)
    found = s.derive().compile().derivatives(T, [Q, U])
    np.testing.assert_allclose(found, [U, moment], rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize(
    ("text", "speed"),
    [
        ("0.1*sin(10*t)", np.cos(10 * T)),
        ("0.2*sin(10*t)", 2 * np.cos(10 * T)),
        ("sin(t)", np.cos(T)),
        ("-cos(t - 1)", np.sin(T - 1)),
        ("0.5*t^2", T),
        ("0.5*2*t", 1.0),
        ("exp(-t)", -np.exp(-T)),
    ],
)
def test_prescribed_motions_may_hold_bare_numbers_whatever_their_value(text: str, speed: float) -> None:
    s, _ = pendulum()
    s.prescribe("a.q1", text)
    model = s.derive().compile()
    assert model.outputs(T, [])["a.u1"] == pytest.approx(speed, rel=1e-14)


def test_no_dimension_depends_on_the_values_of_numbers() -> None:
    """The same texts with numbers whose products are 1, and with others, in sums, powers and derivatives."""
    s, body = pendulum()
    F, L = s.parameter("F", 1.0, units="N"), s.parameter("L", 2.0, units="m")
    k = s.parameter("k", 3.0)
    q, t = body.q1, s.time
    made: list[list[object]] = []
    for a, b in ((0.1, 10), (0.5, 2), (4, 0.25), (3, 7), (0.2, 10), (-1, -1), (1, 1)):
        wave = a * arm.sin(b * q)
        parts = [
            a * b * F,
            a * F * b / L,
            a * (F * b) ** 2,
            arm.sqrt((a * F) ** 2),
            arm.derivative(wave, q),
            arm.derivative(-(a * (b * arm.sin(q) - 0.4)), q),
            arm.derivative(a * k * F * b, k),
            arm.time_derivative(a * F * L * arm.cos(b * t)),
            arm.substitute(a * b * k * L, {k: F}),
            a * F * L * arm.sin(q) ** 2 * b + a * F * L * arm.cos(q) ** 2 * b,
        ]
        for part in parts:
            assert (part + F).dimension in (None, F.dimension)  # it may be added to anything
            assert (part + L).dimension in (None, L.dimension)
        made.append([part.dimension for part in parts])
    assert all(dimensions == made[0] for dimensions in made)


def test_numbers_of_the_description_keep_their_dimension_in_substitutions() -> None:
    s = arm.System("s")
    m, n = s.parameter("m", 1.0, units="kg"), s.parameter("n", 2.0, units="kg")
    E, F = s.parameter("E", 1.0, units="J"), s.parameter("F", 1.0, units="N")
    s.body("b", joint=arm.Revolute("z"), com=(0, -1, 0), mass=m, inertia=0)
    s.gravity(9.81, -s.ground.y)
    energy = arm.substitute(s.potential_energy(), {m: n})
    assert energy.dimension is E.dimension
    assert arm.evaluate(energy + E, {"n": 2.0, "E": 1.0, "b.q1": 0.0}) == pytest.approx(1 - 2 * 9.81)
    with pytest.raises(arm.UnitsError, match="cannot add"):
        energy + F


def test_an_undeclared_length_beside_a_mass_of_one() -> None:
    """m = 1 kg is part of the energy's dimension though it is not written: L is a length, of nothing else."""
    s = arm.System("double")
    b = s.body("b", joint=arm.Revolute("z"), at=(0, "L", 0), com=(0, -1, 0), mass=1, inertia=0)
    s.body("c", b, arm.Revolute("z"), at=(0, "L", 0), com=(0, "L", 0), mass=1, inertia=0)
    s.gravity(9.81, -s.ground.y)
    s.output("energy", s.total_energy(), units="J")
    assert s.derive().parameter_units == {"L": "m"}


@pytest.mark.parametrize("factor", ["0.1*10", "0.2*10"])
def test_a_bare_number_before_an_undeclared_parameter_may_have_units(factor: str) -> None:
    s, body = pendulum()
    s.parameter("J", 1.0, units="N*m")
    s.moment("one", "-J*k*a.q1", s.ground.z, on=body)
    s.moment("two", f"-{factor}*k*a.u1", s.ground.z, on=body)
    assert s.derive().parameter_units["k"] == ""


@pytest.mark.parametrize("key", ["k", "symbol"])
def test_numbers_and_names_may_be_substituted(key: str) -> None:
    s, _ = pendulum()
    k, c = s.parameter("k", 1.0, units="N/m"), s.parameter("c", 1.0)
    found = arm.substitute(3 * k * c, {k if key == "symbol" else key: 2.0})
    assert arm.evaluate(found, {c: 5.0}) == 30.0
    with pytest.raises(arm.ExpressionError, match="holds no symbol 'kk'; did you mean 'k'"):
        arm.substitute(3 * k * c, {"kk": 2.0})
    with pytest.raises(arm.ExpressionError, match="is not a table of values"):
        arm.substitute(3 * k * c, [2.0])
    with pytest.raises(arm.ExpressionError, match="is not a scalar"):
        arm.substitute(3 * k * c, {k: "two"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a.u1", "has dimension"),
        ("a.q1 + a.u1", "cannot add 'a.q1'"),
        ("F + L", "cannot add 'F'"),
        ("F + F - L", "cannot add"),
        ("sin(t)", r"has dimension \[1\].*parameter .*, or write its amplitude .* in N\*m, 1\*sin\(t\)"),
        ("exp(-t)*sin(t)", r"amplitude as a number in N\*m, 1\*\(exp\(-t\)\*sin\(t\)\)"),
        ("sin(t*F/L)", "dimensionless argument"),
        ("sin(L)", "dimensionless argument"),
        ("F", "is needed; multiply it with a parameter"),
    ],
)
def test_declared_units_are_checked(text: str, message: str) -> None:
    s, body = pendulum()
    s.parameter("F", 1.0, units="N")
    s.parameter("L", 1.0, units="m")
    with pytest.raises(arm.UnitsError, match=message):
        s.moment("tau", text, s.ground.z, on=body)


def test_an_amplitude_of_one_is_written() -> None:
    s = arm.System("slider")
    s.body("b", joint=arm.Prismatic("x"), mass=1)
    with pytest.raises(arm.UnitsError, match=r"coordinate 'b.q1'.*a number in m, 1\*sin\(t\)"):
        s.prescribe("b.q1", "sin(t)")
    s.prescribe("b.q1", "1*sin(t)")  # accepted


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
    units = {c.name: c.units for c in core_of(model.equations).targets.columns}
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
