"""Strengths of actuators, reactions, and efforts along runs."""

from __future__ import annotations

import numpy as np
import pytest

import armillary as arm


def cart_pole(driven: bool = True) -> arm.System:
    s = arm.System("cart and pole")
    s.gravity(9.81, -s.ground.y)
    cart = s.body("cart", joint=arm.Prismatic("x"), mass=2, inertia=0)
    pole = s.body("pole", cart, arm.Revolute("z"), com=(0, 0.5, 0), mass=0.3, inertia=(0.02, 0.001, 0.02))
    if driven:
        s.input("push", 0.0, units="N")
        s.force("motor", "push - 3*cart.u1", s.ground.x, at=cart.origin)
    s.moment("friction", "-0.05*pole.u1", s.ground.z, on=pole, reaction=cart)
    return s


@pytest.fixture(scope="module")
def cart():
    return cart_pole().derive().compile()


@pytest.fixture(scope="module")
def five_bar():
    """A closed chain of four links with two freedoms, and motors on three joints."""
    s = arm.System("five bar")
    s.gravity(9.81, -s.ground.y)
    a = s.body("a", joint=arm.Revolute("z"), com=(0.2, 0, 0), mass=1, inertia=(0.02, 0.02, 0.02))
    b = s.body("b", a, arm.Revolute("z"), at=(0.4, 0, 0), com=(0.3, 0, 0), mass=1, inertia=(0.03, 0.03, 0.03))
    c = s.body(
        "c", joint=arm.Revolute("z"), at=(0.5, 0, 0), com=(0.2, 0, 0), mass=1.5, inertia=(0.02, 0.02, 0.02)
    )
    d = s.body(
        "d", c, arm.Revolute("z"), at=(0.4, 0, 0), com=(0.3, 0, 0), mass=0.7, inertia=(0.03, 0.03, 0.03)
    )
    s.close_loop(b.point((0.6, 0, 0)), d.point((0.6, 0, 0)), [s.ground.x, s.ground.y], name="tip")
    s.start({"a.q1": 2.0, "b.q1": -1.2, "c.q1": 1.1, "d.q1": 1.2})
    s.output("energy", s.total_energy(), units="J")
    s.output("pull", arm.dot(s.reaction_force(a), a.x), units="N")
    return s.derive().compile()


def test_an_input_is_found_that_gives_the_motion(cart):
    """Forward and back: the accelerations under a push, and the push from these accelerations."""
    q, u = np.array([0.2, 0.4]), np.array([0.7, -1.1])
    udot = cart.accelerations(0.0, q, u, memory=[12.5])
    found = cart.inverse(q, u, udot, actuators=["push"])
    assert found["push"] == pytest.approx(12.5, rel=1e-13)
    assert found.units["push"] == "N" and not found.note
    assert cart.inverse(q, u, udot, actuators=["motor"])["motor"] == pytest.approx(12.5 - 2.1, rel=1e-13)
    assert cart.inverse(q, u, udot, memory={"push": 12.5}).values == pytest.approx([0, 0], abs=1e-13)


def test_efforts_of_inputs_and_parameters_are_in_their_own_units():
    s = arm.System("sled")
    s.input("push", 0.0, units="kN")
    s.parameter("pull", 0.0, units="kN")
    sled = s.body("sled", joint=arm.Prismatic("x"), mass=200, inertia=0)
    s.force("both", "push + pull", s.ground.x, at=sled.origin)
    model = s.derive().compile()
    for name in ("push", "pull"):
        found = model.inverse([0.0], [0.0], [30.0], actuators=[name])
        assert found[name] == pytest.approx(6.0, rel=1e-14) and found.units[name] == "kN"


def test_what_cannot_be_held_is_named(cart):
    with pytest.raises(
        arm.ArmillaryError, match=r"1 actuator cannot give these rates to 2 freedoms.*'pole.u1'"
    ):
        cart.inverse([0, 0.4], actuators=["push"])
    with pytest.raises(arm.ArmillaryError, match="row 2"):
        cart.inverse([[0, 0], [0, 0.4]], actuators=["push"])
    with pytest.raises(arm.ArmillaryError, match=r"no speed, load, input or parameter 'pusch'.*push"):
        cart.inverse([0, 0], actuators=["pusch"])
    with pytest.raises(arm.ArmillaryError, match="names 'push' twice"):
        cart.inverse([0, 0], actuators=["push", "push"])
    with pytest.raises(arm.ArmillaryError, match="a list of names, not 'push'"):
        cart.inverse([0, 0], actuators="push")


def test_three_motors_on_two_freedoms_have_the_least_norm(five_bar):
    """Against NumPy: the forces along all joints of the loop that do the same work, smallest in norm."""
    n = len(five_bar.coordinate_names)
    y = five_bar.state({"a.u1": 0.8, "c.u1": -0.5})
    q, u = y[:n], y[n:]
    udot = np.array([1.5, -2.0])
    names = ["a.u1", "b.u1", "c.u1"]
    found = five_bar.inverse(q, u, udot, actuators=names)
    assert found.note == "3 actuators on 2 freedoms: strengths of least norm"
    single = [five_bar.inverse(q, u, udot, actuators=[x, y]) for x, y in (names[:2], names[1:], names[::2])]
    own = five_bar.inverse(q, u, udot)
    assert own.names == five_bar.speed_names
    full = [np.array([dict(e).get(name, 0.0) for name in names]) for e in single]
    null = full[1] - full[0]  # a set of motor torques that does not move the loop
    assert abs(found.values @ null) < 1e-12 * np.linalg.norm(found.values) * np.linalg.norm(null)
    between = np.linalg.matrix_rank(np.array([full[0] - found.values, full[2] - found.values]), tol=1e-9)
    assert between == 1 and np.linalg.norm(found.values) <= min(map(np.linalg.norm, full)) + 1e-12


def test_efforts_of_a_loop_do_the_work_that_its_energy_gains(five_bar):
    """e·u = dE/dt, the energy by central differences along q̇ and u̇ (error h², here 1e-10 of it)."""
    n = len(five_bar.coordinate_names)
    y = five_bar.state({"a.u1": 0.8, "c.u1": -0.5})
    q, u, udot, h = y[:n], y[n:], np.array([3.0, 1.0]), 1e-5
    along = np.concatenate([five_bar.derivatives(0.0, y)[:n], udot])
    gained = [five_bar.outputs(0.0, y + step * along)["energy"] for step in (h, -h)]
    efforts = five_bar.inverse(q, u, udot)
    assert efforts.values @ u == pytest.approx((gained[0] - gained[1]) / (2 * h), rel=1e-8)
    free = five_bar.accelerations(0.0, q, u)
    assert five_bar.inverse(q, u, free).values == pytest.approx([0, 0], abs=1e-12)


def test_reactions_are_those_of_a_run_without_efforts(five_bar):
    n = len(five_bar.coordinate_names)
    y = five_bar.state({"a.u1": 0.8, "c.u1": -0.5})
    q, u = y[:n], y[n:]
    free = five_bar.accelerations(0.0, q, u)
    found = five_bar.inverse(q, u, free, reactions=["a", *five_bar.equations.system.constraints])
    assert found.reactions["a"][0] == pytest.approx(five_bar.outputs(0.0, y)["pull"], rel=1e-12)
    assert found.reactions["a"][5] == pytest.approx(0.0, abs=1e-12)
    table = found.as_run()
    assert table.names[-1].startswith("force(tip") and table.units["moment(a).z"] == "N*m"
    with pytest.raises(arm.ArmillaryError, match="no constraint 'e'"):
        five_bar.inverse(q, u, reactions=["e"])


def test_open_loops_are_refused(five_bar):
    with pytest.raises(arm.ArmillaryError, match=r"'tip.*' is open by"):
        five_bar.inverse([2.0, -1.2, 1.1, 2.2])
    closed = five_bar.inverse({"a.q1": 2.0, "c.q1": 1.1})
    assert closed.values == pytest.approx(
        five_bar.inverse(five_bar.state({"a.q1": 2.0, "c.q1": 1.1})[:4]).values
    )


def test_along_a_run_the_loads_of_the_model_are_found_again(cart):
    run = cart.simulate(0.5, step=0.01, initial={"pole.q1": 0.3}, memory={"push": 4.0})
    found = cart.inverse(run, actuators=["push"])
    assert found["push"] == pytest.approx(np.full(len(run), 4.0), rel=1e-11)
    assert np.array_equal(found.time, run.time)
    by_slopes = cart.inverse(run, udot="spline", actuators=["cart.u1", "pole.u1"])
    assert np.max(np.abs(by_slopes.values)) < 1e-3  # of 4 N: slopes of cubic splines at 10 ms


def test_a_run_that_lacks_columns_is_read_as_far_as_it_goes(cart, tmp_path):
    run = cart.simulate(0.5, step=0.005, initial={"pole.q1": 0.3}, memory={"push": 4.0})
    path = tmp_path / "measured.csv"
    table = np.column_stack([run.time, run["cart.q1"], run["pole.q1"], run["push"]])
    np.savetxt(path, table, delimiter=",", header="time,cart.q1,pole.q1,push", comments="")
    found = cart.inverse(arm.load_run(path))
    assert np.max(np.abs(found.values[5:-5])) < 1e-3
    np.savetxt(path, table[:, :2], delimiter=",", header="time,cart.q1", comments="")
    with pytest.raises(arm.ArmillaryError, match=r"no column 'pole\.q1'"):
        cart.inverse(arm.load_run(path))
    with pytest.raises(arm.ArmillaryError, match="unknown udot='slope'"):
        cart.inverse(run, udot="slope")


def test_a_run_whose_joint_locks_says_what_its_efforts_are():
    s = arm.System("latch")
    door = s.body("door", joint=arm.Revolute("z"), mass=1, com=(0.4, 0, 0), inertia=(0, 0.1, 0.1))
    s.event("latch", door.q1 - 0.5, direction=1, lock=[door.u1])
    model = s.derive().compile()
    run = model.simulate(1.0, step=0.1, initial={"door.u1": 1.0})
    assert "locks and unlocks by event 'latch' are left out" in model.inverse(run).note


def test_efforts_along_a_run_are_saved_and_read_again(cart, tmp_path):
    run = cart.simulate(0.1, step=0.01, initial={"pole.q1": 0.3})
    found = cart.inverse(run, parameters={}, actuators=["cart.u1", "pole.u1"])
    found.save(tmp_path / "efforts.csv")
    again = arm.load_run(tmp_path / "efforts.csv")
    assert np.array_equal(again["effort(pole.u1)"], found["pole.u1"])
    assert again.units["effort(cart.u1)"] == "N"
    assert found.plot("cart.u1") is not None
    assert "at 11 places" in repr(found) and "<table>" in found._repr_html_()
