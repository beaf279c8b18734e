"""Operating points with rigid contacts: closed ones are constraints, and their forces must be admissible."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

import armillary as arm

G = 9.81
PLANAR = arm.Joint(translate=["x", "y"], rotate=["z"])


@cache
def ladder() -> arm.Model:
    s = arm.System("ladder")
    body = s.body("b", joint=PLANAR, mass=10.0, inertia=(40 / 3,) * 3)
    s.parameter("mu", 0.6)
    s.gravity(G, -s.ground.y)
    s.contact("foot", body.point("foot", (-2, 0, 0)), plane=(s.ground, s.ground.y), friction="mu")
    s.contact("top", body.point("top", (2, 0, 0)), plane=(s.ground, -s.ground.x), friction=0.3)
    return s.derive().compile()


def leaning(angle: float) -> dict[str, float]:
    return {"b.q1": -2 * math.cos(angle), "b.q2": 2 * math.sin(angle), "b.q3": angle}


LIMIT = math.atan((1 - 0.6 * 0.3) / (2 * 0.6))  # tan θ ≥ (1 − μ_1 μ_2)/(2 μ_1)


@pytest.mark.parametrize("angle", [LIMIT + 1e-6, 0.8, 1.5])
def test_a_ladder_rests_where_some_friction_holds_it(angle: float) -> None:
    op = ladder().equilibrium(starts=leaning(angle))
    assert op["b.q3"] == pytest.approx(angle, abs=1e-12)
    assert op.memory == {"foot_status": 1.0, "top_status": 1.0}
    assert ladder().linearize(op).A.shape == (0, 0)
    run = ladder().simulate(1.0, initial=op, memory=op.memory)
    assert abs(run["b.q3"] - angle).max() < 1e-9


def test_a_ladder_below_the_angle_of_friction_is_refused_by_the_contact_that_slides() -> None:
    with pytest.raises(
        arm.ArmillaryError, match=r"contact '(top|foot)' would need a friction of .* N to stick"
    ):
        ladder().equilibrium(starts=leaning(LIMIT - 1e-6))


def test_a_branch_ends_where_friction_does_not_hold_any_more() -> None:
    angle = 0.7
    op = ladder().equilibrium(starts=leaning(angle))
    branch = ladder().trace(op, "mu", 0.6, 0.1)
    # tan θ = (1 − 0.3 μ)/(2 μ)
    assert branch.marks[-1].kind.startswith("limit of contact")
    assert branch["mu"][-1] == pytest.approx(1 / (2 * math.tan(angle) + 0.3), rel=1e-7)


@cache
def stand() -> arm.Model:
    """A leg on a foot with two edges, held upright by a spring and pushed at its end."""
    s = arm.System("stand")
    s.parameter("F", 0, units="N")
    foot = s.body("foot", joint=PLANAR, mass=1.0, inertia=(0.1,) * 3)
    leg = s.body("leg", foot, arm.Revolute("z"), com=(0, 1, 0), mass=3.0, inertia=(0.2,) * 3)
    s.gravity(G, -s.ground.y)
    s.moment("spring", "-100*(leg.q1 - 0.05)", foot.z, on=leg, reaction=foot)
    s.force("push", "F", s.ground.x, at=leg.point("end", (0, 1, 0)))
    for name, x in (("left", -0.3), ("right", 0.3)):
        point = foot.point(name, (x, -0.1, 0))
        s.contact(name, point, plane=(s.ground, s.ground.y), friction=0.4)
    return s.derive().compile()


STANDING = {"foot.q1": 0.3, "foot.q2": 0.1, "leg.q1": 0.2}


def test_what_contacts_leave_free_finds_its_equilibrium_and_its_modes() -> None:
    from scipy.optimize import brentq

    op = stand().equilibrium(starts=STANDING)
    angle = brentq(lambda a: -100 * (a - 0.05) + 3 * G * math.sin(a), -1, 1, xtol=1e-15)
    omega = math.sqrt((100 - 3 * G * math.cos(angle)) / 3.2)
    assert [op[name] for name in ("foot.q1", "foot.q2", "foot.q3")] == pytest.approx([0.3, 0.1, 0], abs=1e-12)
    assert op["leg.q1"] == pytest.approx(angle, abs=1e-11)
    assert op.eigenvalues == pytest.approx([1j * omega, -1j * omega], rel=1e-9)
    linear = stand().linearize(op)
    assert sorted(np.linalg.eigvals(linear.A).imag) == pytest.approx([-omega, omega], rel=1e-9)
    assert op.outputs["left"] + op.outputs["right"] == pytest.approx(4 * G, rel=1e-10)


def test_a_branch_ends_where_an_edge_lifts_off() -> None:
    from scipy.optimize import fsolve

    op = stand().equilibrium(starts=STANDING)
    branch = stand().trace(op, "F", 0, 30)

    def moments(x: np.ndarray) -> list[float]:
        force, q = x
        about_joint = -100 * (q - 0.05) + 3 * G * math.sin(q) - force * math.cos(q)
        about_edge = 0.3 * G + 3 * G * (0.3 + math.sin(q)) - force * (0.1 + math.cos(q))
        return [about_joint, about_edge]

    force, angle = fsolve(moments, [8.0, 0.0], xtol=1e-12)
    assert branch.marks[-1].kind == "limit of contact 'left'"
    assert branch["F"][-1] == pytest.approx(force, rel=1e-7)
    assert branch["leg.q1"][-1] == pytest.approx(angle, abs=1e-7)
    with pytest.raises(arm.ArmillaryError, match=r"contact 'left' would have to pull with .* N"):
        stand().equilibrium(starts=STANDING, parameters={"F": force * 1.01})


@cache
def disc() -> arm.Model:
    s = arm.System("disc")
    s.parameter("F", 0, units="N")
    body = s.body("b", joint=PLANAR, mass=2.0, inertia=(0.3,) * 3)
    s.gravity(G, -s.ground.y)
    s.parameter("k", 50.0, units="N/m")
    s.force("spring", "F - k*(b.q1 - 1)", s.ground.x, at=body)
    s.contact("floor", body, plane=(s.ground, s.ground.y), friction=0.5, radius=0.4)
    return s.derive().compile()


def test_a_disc_that_sticks_rolls_to_its_equilibrium() -> None:
    op = disc().equilibrium(starts={"b.q2": 0.4})
    omega = math.sqrt(50 / (2 + 0.3 / 0.16))
    assert (op["b.q1"], op["b.q3"]) == pytest.approx((1, -1 / 0.4), abs=1e-12)
    assert op.eigenvalues.imag == pytest.approx([omega, -omega], rel=1e-9)


def test_a_start_that_overlaps_is_lifted_and_one_that_is_apart_is_named() -> None:
    op = disc().equilibrium(starts={"b.q2": 0.1})
    assert op["b.q2"] == pytest.approx(0.4, abs=1e-12)
    with pytest.raises(arm.ArmillaryError, match="start where 'floor', which is open at the start, touches"):
        disc().equilibrium(starts={"b.q2": 0.9})
    assert disc().equilibrium(starts={"b.q2": 0.9}, memory={"floor_status": 1})["b.q2"] == pytest.approx(0.4)
    # No unknown changes the rate of b.u2 while the contact is open: another start is tried all the same.
    assert disc().equilibrium(starts=[{"b.q2": 0.9}, {"b.q2": 0.3}])["b.q2"] == pytest.approx(0.4)


def test_steady_motion_rolls_or_slides_as_it_starts() -> None:
    free, moves = {"k": 0}, {"b.q1": None}
    start = {"b.q2": 0.4, "b.u3": -5}
    rolls = disc().trim(fixed={"b.u1": 2}, rates=moves, starts=start, parameters=free)
    assert (rolls["b.u3"], rolls.memory["floor_status"]) == pytest.approx((-5, 1), abs=1e-12)
    start = {"b.q2": 0.4, "b.u3": 1.0}
    slides = disc().trim(
        fixed={"b.u1": 2}, inputs=["F"], rates=moves | {"b.u3": None}, starts=start, parameters=free
    )
    assert slides.memory["floor_status"] == 2
    assert slides.inputs["F"] == pytest.approx(0.5 * 2 * G, rel=1e-10)


def test_an_open_contact_that_the_solution_overlaps_is_closed() -> None:
    s = arm.System("weight")
    body = s.body("b", joint=arm.Prismatic("y"), mass=2.0, inertia=0)
    s.gravity(G, -s.ground.y)
    s.force("spring", "-10*(b.q1 - 1)", s.ground.y, at=body)
    s.contact("floor", body, plane=(s.ground, s.ground.y))
    model = s.derive().compile()
    op = model.equilibrium(starts={"b.q1": 0.5})
    assert op["b.q1"] == pytest.approx(0, abs=1e-12)
    assert op.outputs["floor"] == pytest.approx(2 * G - 10, rel=1e-12)
    with pytest.raises(arm.ArmillaryError, match=r"contact 'floor' is open and would overlap by 0\.962 m"):
        model.equilibrium(starts={"b.q1": 0.5}, memory={"floor_status": 0})


@pytest.mark.parametrize(("units", "metre", "newton"), [("SI", 1, 1), ("in-lb-s", 1 / 0.0254, 0.2248089431)])
def test_the_worst_contradiction_is_the_same_in_all_units(units: str, metre: float, newton: float) -> None:
    """A brake that lacks 1 of 10 N beside an open contact as deep as half its terms, 0.5 m: in inches and
    pounds the number of the depth is the greater one, in SI that of the force.
    """
    s = arm.System("two slides", units=units)
    one = s.body("one", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    two = s.body("two", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    s.force("push", 10 * newton, s.ground.x, at=one)
    s.brake("brake", one.q1, capacity=9 * newton)
    s.force("pull", f"-{newton / metre}*(two.q1 + {0.5 * metre})", s.ground.x, at=two)
    s.contact("floor", two, plane=(s.ground, s.ground.x))
    model = s.derive().compile()
    with pytest.raises(arm.ArmillaryError, match=r"contact 'floor' is open .*1 more statuses"):
        model.equilibrium(memory={"brake_status": 1, "floor_status": 0})


def test_a_table_on_three_feet_bears_by_the_lever_rule() -> None:
    s = arm.System("table")
    body = s.body("top", joint=arm.Free(), com=(0.1, 0.05, 0), mass=8.0, inertia=(1, 1, 1.5))
    s.gravity(G, -s.ground.z)
    feet = np.array([(0.5, 0.4), (-0.5, 0.4), (0.0, -0.6)])
    for i, (x, y) in enumerate(feet, 1):
        s.contact(f"foot{i}", body.point(f"f{i}", (x, y, -0.7)), plane=(s.ground, s.ground.z), friction=0.3)
    model = s.derive().compile()
    op = model.equilibrium(starts={"top.q3": 0.6})
    expected = np.linalg.solve(np.vstack([np.ones(3), feet.T]), 8 * G * np.array([1, 0.1, 0.05]))
    assert [op.outputs[f"foot{i}"] for i in (1, 2, 3)] == pytest.approx(expected, rel=1e-9)
    assert op["top.q3"] == pytest.approx(0.7, abs=1e-12)
    assert model.linearize(op).A.shape == (0, 0)


def test_a_brake_holds_up_to_its_capacity_and_is_released_beyond() -> None:
    s = arm.System("arm")
    s.parameter("most", 12.0, units="N*m")
    s.parameter("torque", 0.0, units="N*m")
    link = s.body("link", joint=arm.Revolute("z"), com=(0.5, 0, 0), mass=2.0, inertia=(0.1,) * 3)
    s.gravity(G, -s.ground.y)
    s.brake("brake", link.q1, capacity="most")
    s.moment("motor", "torque", s.ground.z, on=link)
    model = s.derive().compile()
    start = {"link.q1": 0.1}
    assert model.equilibrium(starts=start)["link.q1"] == pytest.approx(0.1, abs=1e-14)
    weak = {"most": 9.0}
    assert abs(model.equilibrium(starts=start, parameters=weak)["link.q1"]) == pytest.approx(math.pi / 2)
    words = (
        r"brake 'brake' would have to hold with 9.76\d* N.m and holds at most 9 N.m; release it with memory="
    )
    with pytest.raises(arm.ArmillaryError, match=words):
        model.equilibrium(starts=start, parameters=weak, memory={"brake_status": 1})
    held = model.equilibrium(fixed=start, inputs=["torque"])
    assert held.inputs["torque"] == pytest.approx(G * math.cos(0.1), rel=1e-10)


@pytest.mark.parametrize("metre", [1.0, 1e9])
def test_an_overloaded_brake_does_not_rest_beside_a_block_in_metres_or_nanometres(metre: float) -> None:
    s = arm.System("block and wheel")
    block = s.body("block", joint=arm.Prismatic("y"), mass=1.0, inertia=0)
    wheel = s.body("wheel", joint=arm.Revolute("z"), mass=1.0, inertia=(0.5 * metre**2,) * 3)
    s.gravity(G * metre, -s.ground.y)
    s.contact("floor", block, plane=(s.ground, s.ground.y))
    s.brake("brake", wheel.q1, capacity=1.0 * metre**2)
    s.moment("motor", 1.5 * metre**2, s.ground.z, on=wheel)
    with pytest.raises(
        arm.ArmillaryError, match=r"would have to hold with .* N.m and holds at most 1(e\+18)? N.m"
    ):
        s.derive().compile().equilibrium(memory={"brake_status": 1})
