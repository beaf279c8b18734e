"""Linear models against closed forms, and against complex steps of the program on systems of all kinds."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from complex_steps import ComplexSteps

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.errors import ArmillaryError


def pendulum() -> arm.System:
    s = arm.System("pendulum")
    s.parameter("g", 9.81, units="m/s^2")
    s.parameter("L", 0.7, units="m")
    s.parameter("m", 2.0, units="kg")
    rod = s.body("rod", joint=arm.Revolute("z"), com=(0, "-L", 0), mass="m", inertia=(0, 0, 0))
    s.gravity("g", -s.ground.y)
    s.moment("motor", s.input("tau", units="N*m"), s.ground.z, on=rod)
    s.output("swing", rod.q1, units="deg")
    return s


@cache
def compiled(make: Callable[[], arm.System], formalism: str = "auto") -> Any:
    return make().derive(formalism).compile()


def test_a_pendulum_has_its_closed_form_at_any_angle() -> None:
    """q̈ = −(g/L) sin q + τ/(m L²)"""
    model, q, L = compiled(pendulum), 0.4, 0.7
    lin = model.linearize({"rod.q1": q}, inputs=["tau", "L"], outputs=["swing"])
    assert lin.states == ("rod.q1", "rod.u1")
    assert lin.units == {"rod.q1": "rad", "rod.u1": "rad/s", "tau": "N*m", "L": "m", "swing": "deg"}
    np.testing.assert_allclose(lin.A, [[0, 1], [-9.81 / L * np.cos(q), 0]], rtol=1e-15)
    np.testing.assert_allclose(lin.B, [[0, 0], [1 / (2 * L**2), 9.81 / L**2 * np.sin(q)]], rtol=1e-14)
    np.testing.assert_allclose(lin.C, [[180 / np.pi, 0]], rtol=1e-15)
    np.testing.assert_array_equal(lin.D, [[0, 0]])
    assert lin.operating_point == {"rod.q1": q, "rod.u1": 0.0}


def test_many_points_are_the_single_ones_whatever_they_are_given_by() -> None:
    model = compiled(pendulum)
    angles, masses = np.linspace(-1, 1, 5), np.linspace(1, 3, 5)
    many = model.linearize({"rod.q1": angles}, inputs=["tau"], parameters={"m": masses})
    assert many.A.shape == (5, 2, 2) and many.B.shape == (5, 2, 1)
    states = model.linearize(np.array([[a, 0.0] for a in angles]), ["tau"], parameters={"m": masses})
    points = model.linearize([{"rod.q1": a, "m": m} for a, m in zip(angles, masses, strict=True)], ["tau"])
    for k, (angle, mass) in enumerate(zip(angles, masses, strict=True)):
        one = model.linearize({"rod.q1": angle}, inputs=["tau"], parameters={"m": mass})
        for other in (many, states, points):
            np.testing.assert_array_equal(other.A[k], one.A)
            np.testing.assert_array_equal(other.B[k], one.B)


def test_a_time_of_a_run_brings_its_state_and_parameters() -> None:
    model = compiled(pendulum)
    run = model.simulate(0.5, step=0.01, initial={"rod.q1": 0.3}, parameters={"L": 1.1}, memory={"tau": 0.2})
    lin = model.linearize((run, 0.5), inputs=["tau"])
    assert lin.state == pytest.approx([run.final["rod.q1"], run.final["rod.u1"]], abs=0)
    assert lin.parameters["L"] == 1.1 and lin.memory.tolist() == [0.2] and lin.time == 0.5
    np.testing.assert_allclose(lin.A[1, 0], -9.81 / 1.1 * np.cos(run.final["rod.q1"]), rtol=1e-15)
    again = model.linearize(lin, inputs=["tau"])  # anything with a state is an operating point
    np.testing.assert_array_equal(again.A, lin.A)


def test_stated_units_are_those_of_the_matrices() -> None:
    """In degrees and millimetres the elements are those of the SI model, scaled."""
    s = arm.System("units")
    a = s.body("a", joint=arm.Prismatic("x"), mass=2, inertia=0)
    s.parameter("k", 3.0, units="N/mm")
    s.parameter("F", 0.0, units="kN")
    s.force("spring", "-k*a.q1 + F", s.ground.x, at=a.com)
    s.output("place", a.q1, units="mm")
    lin = s.derive().compile().linearize(inputs=["k", "F"], outputs=["place"], at={"a.q1": 0.1})
    np.testing.assert_allclose(lin.A[1], [-1500, 0])
    np.testing.assert_allclose(lin.B[1], [-0.1 * 1000 / 2, 1000 / 2])
    np.testing.assert_allclose(lin.C, [[1000, 0]])


# ---------------------------------------------------------------------------------------- all kinds


def four_bar() -> arm.System:
    """A closed loop of three bars with a spring and a length that is an input."""
    s = arm.System("four-bar")
    for name, value in (("a", 0.3), ("b", 0.8), ("c", 0.6), ("d", 0.9)):
        s.parameter(name, value, units="m")
    A = s.body("A", joint=arm.Revolute("z"), com=("a/2", 0, 0), mass=1.0, inertia=(0.01, 0.01, 0.01))
    B = s.body(
        "B", A, arm.Revolute("z"), at=("a", 0, 0), com=("b/2", 0, 0), mass=2.0, inertia=(0.1, 0.1, 0.1)
    )
    C = s.body(
        "C", joint=arm.Revolute("z"), at=("d", 0, 0), com=("c/2", 0, 0), mass=1.5, inertia=(0.1, 0.1, 0.1)
    )
    s.close_loop(B.point("b", 0, 0), C.point("c", 0, 0), directions=[s.ground.x, s.ground.y])
    s.gravity(9.81, -s.ground.y)
    s.moment("drive", s.input("torque", units="N*m") - 0.3 * A.u1, s.ground.z, on=A)
    s.start({A.q1: 1.0, B.q1: -0.6, C.q1: 2.0})
    s.output("height", arm.dot(arm.position(B.com), s.ground.y), units="m")
    s.output("speed of C", C.u1, units="rad/s")
    return s


def spinning() -> arm.System:
    """A body on a ball joint with Euler parameters, an arm and a state of the user's own."""
    s = arm.System("gyrostat")
    hub = s.body("hub", joint=arm.Spherical(), com=(0, 0, 0.2), mass=10, inertia=(1, 2, 2.5))
    lever = s.body("lever", hub, arm.Revolute("y"), at=(0.5, 0, 0), com=(0.4, 0, 0), mass=1.3, inertia=0)
    s.parameter("T", 0.4, units="s")
    s.parameter("k", 3.0, units="m/s^2")
    z = s.state("z", rate="(hub.u1 - z)/T", initial=0.2, units="rad/s")
    s.moment("control", -z * 2.0 + s.input("command"), hub.x, on=hub)
    s.moment("hinge", -0.4 * lever.u1, lever.y, on=lever, reaction=hub)
    s.gravity("k", -s.ground.z)
    s.output("nadir", arm.dot(hub.z, s.ground.z))
    s.output("tip", arm.dot(arm.position(lever.com), s.ground.x), units="m")
    return s


def carried() -> arm.System:
    """A prescribed base, a small angle and a slider with friction by tanh."""
    s = arm.System("carried")
    base = s.body("base", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.parameter("w", 3.0, units="rad/s")
    s.prescribe(base.q1, "0.1*sin(w*t)")
    rod = s.body("rod", base, arm.Revolute("z"), com=(0, -0.5, 0), mass=1.0, inertia=(0.1, 0.1, 0.1))
    tip = s.body("tip", rod, arm.Prismatic("y"), at=(0, -1, 0), mass=0.5, inertia=(0.01, 0.01, 0.01))
    s.gravity(9.81, -s.ground.y)
    s.force("spring", "-50*tip.q1 - 2*tanh(10*tip.u1)", rod.y, at=tip.com, reaction=rod.origin)
    s.small(rod.q1, rod.u1)
    s.output("sway", arm.dot(arm.velocity(tip.com), s.ground.x), units="m/s")
    return s


CASES = [
    (four_bar, "auto", {"A.u1": 0.7}, ["torque", "b"], ["height", "speed of C"]),
    (spinning, "kane", {"hub.q1": 0.9, "hub.q2": 0.3, "hub.u1": 1.0, "lever.u1": 0.4, "lever.q1": 0.3},
     ["command", "k", "T"], ["nadir", "tip"]),
    (spinning, "momentum", {"hub.u1": 1.0, "hub.q3": 0.3, "lever.u1": 0.4}, ["k"], ["nadir", "tip"]),
    (carried, "auto", {"rod.q1": 0.05, "tip.u1": 0.1, "t": 0.4}, ["w"], ["sway"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("make", "formalism", "at", "inputs", "outputs"), CASES, ids=[f"{c[0].__name__}-{c[1]}" for c in CASES]
)
def test_matrices_are_those_of_complex_steps(
    make: Any, formalism: str, at: Any, inputs: Any, outputs: Any
) -> None:
    model = compiled(make, formalism)
    lin = model.linearize(at, inputs=inputs, outputs=outputs)
    expected = ComplexSteps(model, lin, t=at.get("t", 0.0)).matrices()
    for found, wanted in zip((lin.A, lin.B, lin.C, lin.D), expected, strict=True):
        np.testing.assert_allclose(
            found, wanted, rtol=1e-12, atol=1e-13 * (1 + np.abs(wanted).max(initial=0))
        )


def test_loops_leave_the_independent_states_alone() -> None:
    lin = compiled(four_bar).linearize(outputs=["B.q1"])
    assert len(lin.states) == 2 and len(lin.linearization.form.dependent) == 2


def test_a_joint_that_constraints_immobilise_moves_with_their_parameters_alone() -> None:
    """Two bars of 0.3 m and 0.25 m form a triangle over a base d, α at its left corner; a pendulum of length
    l and radius of gyration k hangs at its apex, φ = α + pen.q1 from the horizontal:

        φ̈ = −g l cos φ / (l² + k²)          cos α = (a² + d² − b²)/(2 a d)
    """
    s = arm.System("triangle")
    s.parameter("d", 0.4, units="m")
    left = s.body("left", joint=arm.Revolute("z"), mass=1, inertia=(0.01, 0.01, 0.01))
    right = s.body("right", joint=arm.Revolute("z"), at=("d", 0, 0), mass=1, inertia=(0.01, 0.01, 0.01))
    pen = s.body(
        "pen", left, arm.Revolute("z"), at=(0.3, 0, 0), com=(0.1, 0, 0), mass=1, inertia=(0, 0.01, 0.01)
    )
    s.output("x", arm.dot(arm.position(pen.com), s.ground.x), units="m")
    s.close_loop(left.point("p", (0.3, 0, 0)), right.point("p", (-0.25, 0, 0)), (s.ground.x, s.ground.y))
    s.gravity(9.81, -s.ground.y)
    s.start({"left.q1": 0.8, "right.q1": -0.6})
    lin = s.derive().compile().linearize({"pen.q1": -1.0}, inputs=["d"], outputs=["x"])
    a, b, d = 0.3, 0.25, 0.4
    cos = (a * a + d * d - b * b) / (2 * a * d)
    alpha = np.arccos(cos)
    turned = -(1 / a - cos / d) / np.sin(alpha)  # ∂α/∂d, of cos α
    down = 9.81 * 0.1 / 0.02 * np.sin(alpha - 1.0)  # ∂φ̈/∂φ
    assert lin.states == ("pen.q1", "pen.u1")
    np.testing.assert_allclose(lin.A, [[0, 1], [down, 0]], rtol=1e-12)
    np.testing.assert_allclose(lin.B, [[0], [down * turned]], rtol=1e-12)
    across = -0.1 * np.sin(alpha - 1.0)
    np.testing.assert_allclose(lin.C, [[across, 0]], rtol=1e-12)
    np.testing.assert_allclose(lin.D, [[(across - a * np.sin(alpha)) * turned]], rtol=1e-12)


def test_euler_parameters_become_three_rotations() -> None:
    lin = compiled(spinning, "kane").linearize({"hub.u1": 0.5})
    assert lin.states[:3] == ("hub.theta1", "hub.theta2", "hub.theta3")
    # θ̇ = δω + θ × ω about a spin of 0.5 rad/s
    np.testing.assert_allclose(lin.A[:3, :3], np.cross(np.eye(3), [0.5, 0, 0]).T, atol=1e-15)
    np.testing.assert_array_equal(lin.A[:3, 4:7], np.eye(3))


@pytest.mark.parametrize(
    "R",
    [
        np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]]),
        np.array([[0.36, 0.48, -0.8], [-0.8, 0.6, 0], [0.48, 0.64, 0.6]]),
    ],
)
def test_eigenvalues_do_not_depend_on_the_axes_of_a_body(R: np.ndarray) -> None:
    """A spinning pendulum, with axes of the body that are turned on its joint (``orient``)."""

    def polynomial(R: np.ndarray) -> np.ndarray:
        system = arm.System("pendulum")
        about = R.T @ (np.diag([1.0, 1.2, 1.5]) + 0.1) @ R
        com = tuple(R.T @ [0.1, 0.2, -0.5])
        inertia = ((about + about.T) / 2).tolist()
        system.body("b", joint=arm.Spherical(), mass=1, inertia=inertia, com=com, orient=R.tolist())
        system.gravity(9.81, -system.ground.z)
        spin = dict(zip(("b.u1", "b.u2", "b.u3"), R.T @ [0.3, -0.4, 2.0], strict=True))
        return np.poly(system.derive().compile().linearize(at=spin).A)

    np.testing.assert_allclose(polynomial(R), polynomial(np.eye(3)), rtol=1e-10, atol=1e-12)


def test_speeds_that_the_program_chose_give_the_same_matrices() -> None:
    """Free(velocity="auto") integrates other velocities; the linear model is in the description's."""

    def made(velocity: str) -> Any:
        s = arm.System("free")
        body = s.body(
            "b", joint=arm.Free("zyx", velocity=velocity), com=(0.2, 0, 0.1), mass=3, inertia=(1, 2, 2.5)
        )
        s.force("drag", "-2*b.u1", s.ground.x, at=body.point(0, 0.3, 0))
        return s.derive().compile()

    at = {"b.q4": 0.3, "b.q5": 0.2, "b.u1": 0.4, "b.u2": -0.3, "b.u4": 0.5, "b.u6": 0.8}
    one, other = (made(velocity).linearize(at) for velocity in ("parent", "auto"))
    assert one.states == other.states
    np.testing.assert_allclose(other.A, one.A, atol=1e-14)


def test_symbolic_matrices_are_the_closed_form() -> None:
    lin = compiled(pendulum).linearize(inputs=["tau"], outputs=["swing"])
    found = lin.symbolic()
    assert [str(x) for row in (*found.A, *found.B) for x in row] == ["0", "1", "-g/L", "0", "0", "1/(L^2*m)"]
    assert "∂(rod.u1')/∂(rod.q1) = -g/L" in repr(found) and "-g/L" in found._repr_html_()
    kept = lin.symbolic(keep=["rod.q1"]).at({"g": 9.81, "L": 0.7, "m": 2.0, "rod.q1": 0.4})
    np.testing.assert_allclose(kept["A"][1, 0], -9.81 / 0.7 * np.cos(0.4), rtol=1e-15)
    with pytest.raises(ArmillaryError, match=r"there is no variable 'rod.q2'; did you mean 'rod.q1'\?"):
        lin.symbolic(keep=["rod.q2"])
    with pytest.raises(ArmillaryError, match="has only numbers"):
        lin.keep(["rod.u1"]).symbolic()


def test_symbolic_matrices_of_a_loop_have_the_values_of_the_compiled_ones() -> None:
    model = compiled(four_bar)
    lin = model.linearize({"A.u1": 0.7}, inputs=["torque", "b"], outputs=["height"])
    found = lin.symbolic().at(core_of(model).inside())
    for name in "ABCD":
        np.testing.assert_allclose(found[name], getattr(lin, name), rtol=1e-11, atol=1e-11)


def test_open_loops_have_the_same_finite_eigenvalues() -> None:
    lin = compiled(four_bar).linearize({"A.u1": 0.7}, inputs=["torque", "b"], outputs=["height"])
    found = lin.descriptor()
    assert found.states == ("A.q1", "B.q1", "C.q1", *lin.states[1:])
    assert set(found.constrained) == set(lin.linearization.form.dependent)
    np.testing.assert_allclose(np.sort_complex(found.poles()), np.sort_complex(lin.poles()), rtol=1e-10)
    # the transfer function of E, A, B, C, D is that of the independent states
    for s in (1.7j, 0.4 + 3j):
        wide = found.C @ np.linalg.solve(s * found.E - found.A, found.B) + found.D
        np.testing.assert_allclose(
            wide, lin.C @ np.linalg.solve(s * np.eye(2) - lin.A, lin.B) + lin.D, rtol=1e-9
        )


def test_printed_as_a_table() -> None:
    lin = compiled(pendulum).linearize(inputs=["tau"], outputs=["swing"])
    assert repr(lin) == "LinearModel('pendulum': 2 states, 1 input, 1 output)"
    assert str(lin).splitlines()[3:6] == [
        "           rod.q1 (rad)  rod.u1 (rad/s)  tau (N*m)",
        "  rod.q1'             0               1          0",
        "  rod.u1'       -14.014               0     1.0204",
    ]
    assert "<table>" in lin._repr_html_()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"inputs": ["tua"]}, "there is no parameter, input or memory 'tua'; did you mean 'tau'?"),
        ({"inputs": ["rod.q1"]}, "'rod.q1' is a variable of the motion, not an input"),
        ({"outputs": ["swig"]}, "there is no output 'swig'; did you mean 'swing'?"),
        ({"at": {"rod.q2": 0.1}}, "has no coordinate, speed, state, input, memory or parameter 'rod.q2'"),
        ({"at": [1.0]}, "must be 2 numbers"),
        ({"inputs": 3}, "inputs= must be a list, not 3"),
        ({"at": {"rod.q1": [1.0, 2.0], "rod.u1": [1.0]}}, "arrays of one length are needed"),
    ],
)
def test_bad_arguments_get_a_sentence(arguments: Any, sentence: str) -> None:
    with pytest.raises(ArmillaryError) as error:
        compiled(pendulum).linearize(**arguments)
    assert sentence in str(error.value)


def test_redundant_coordinates_are_refused_with_the_remedy() -> None:
    with pytest.raises(ArmillaryError, match="derive it with formalism='kane'"):
        compiled(pendulum, "redundant").linearize()
