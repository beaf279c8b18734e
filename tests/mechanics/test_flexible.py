"""Flexible bodies against the same masses on rigid sliders: two descriptions of one mechanical system.

A mass that slides in a frame against a spring is a flexible body with one node and one mode per direction, to
all orders: places, velocities and inertia are the same functions of the coordinates.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import armillary as arm

FORMALISMS = ("kane", "recursive")
MASS, PLACE, STIFFNESS, DAMPING = 1.7, (0.9, 0.2, -0.1), (30.0, 50.0, 70.0), (0.3, 0.2, 0.1)


def carrier(s: arm.System) -> arm.Body:
    """A free hub with a hinged arm: the frame in which the mass moves."""
    hub = s.body("hub", joint=arm.Free(), com=(0.1, 0, 0), mass=5, inertia=(2, 3, 4, 0.1, 0.2, 0.3))
    return s.body(
        "arm",
        parent=hub,
        joint=arm.Gimbal("zx"),
        at=(0.5, 0.1, 0.3),
        orient=("y", 0.4),
        com=(0.3, 0, 0),
        mass=2,
        inertia=(0.2, 0.3, 0.4),
    )


def payload(s: arm.System, parent: arm.Body) -> None:
    """Something that hangs where the mass is, by a joint of its own."""
    s.body(
        "load", parent=parent, joint=arm.Revolute("y"), com=(0, 0.2, 0.3), mass=0.8, inertia=(0.1, 0.2, 0.15)
    )
    s.moment("drive", "0.3 - load.u1", parent.y, on="load", reaction=parent)


def flexible_system() -> arm.System:
    s = arm.System("flexible")
    base = carrier(s)
    base.flexible(
        nodes={"mass": PLACE},
        masses=[MASS],
        shapes=np.eye(3)[None, :, :],
        stiffness=np.diag(STIFFNESS),
        damping_matrix=np.diag(DAMPING),
    )
    payload(s, base.node("mass"))
    s.gravity(9.81, -s.ground.z)
    s.force("push", "2 + t", s.ground.x, at=base.node("mass"))
    return s


def sliding_system() -> arm.System:
    s = arm.System("sliding")
    base = carrier(s)
    joint = arm.Joint(translate=["x", "y", "z"])
    mass = s.body("mass", parent=base, joint=joint, at=PLACE, mass=MASS, inertia=0)
    for i, axis in enumerate("xyz"):
        law = f"-{STIFFNESS[i]}*mass.q{i + 1} - {DAMPING[i]}*mass.u{i + 1}"
        s.force(f"spring{axis}", law, getattr(base, axis), at=mass.origin, reaction=base)
    payload(s, mass)
    s.gravity(9.81, -s.ground.z)
    s.force("push", "2 + t", s.ground.x, at=mass.origin)
    return s


def places(names: list[str], others: list[str]) -> list[int]:
    """Where each state of the sliding system stands in the flexible one: 'mass.q1' is mode 1 of the arm."""
    renamed = {f"mass.{x}{i}": f"arm.{x}{i + 2}" for x in "qu" for i in (1, 2, 3)}
    return [names.index(renamed.get(name, name)) for name in others]


def random_state(names: list[str], rng: np.random.Generator) -> np.ndarray:
    state = rng.uniform(-0.8, 0.8, len(names))
    e = names.index("hub.q4")
    state[e : e + 4] /= np.linalg.norm(state[e : e + 4])
    return state


@pytest.mark.parametrize("formalism", FORMALISMS)
@pytest.mark.parametrize("regroup", [True, False])
def test_a_mass_on_a_node_is_a_mass_on_sliders(formalism: str, regroup: bool) -> None:
    flexible = flexible_system().derive(formalism, regroup=regroup).compile()
    sliding = sliding_system().derive(formalism, regroup=regroup).compile()
    q = places(flexible.coordinate_names, sliding.coordinate_names)
    u = places(flexible.speed_names, sliding.speed_names)
    rng = np.random.default_rng(4)
    for t in (0.0, 0.7, 2.0):
        place = random_state(flexible.coordinate_names, rng)
        speeds = rng.uniform(-1, 1, len(flexible.speed_names))
        found = flexible.accelerations(t, place, speeds)
        wanted = sliding.accelerations(t, place[q], speeds[u])
        np.testing.assert_allclose(found[u], wanted, rtol=1e-11, atol=1e-11 * np.abs(wanted).max())


def test_coordinates_come_after_the_joint_and_before_the_next_body() -> None:
    s = flexible_system()
    assert [q.name for q in s.coordinates[7:]] == [
        "arm.q1",
        "arm.q2",
        "arm.q3",
        "arm.q4",
        "arm.q5",
        "load.q1",
    ]
    assert [u.name for u in s.speeds[6:]] == ["arm.u1", "arm.u2", "arm.u3", "arm.u4", "arm.u5", "load.u1"]


def test_modes_of_a_body_that_was_followed_by_others_still_come_with_it() -> None:
    s = arm.System("late")
    first = s.body("first", joint=arm.Revolute("z"), mass=1, inertia=(1, 1, 1))
    s.body("second", joint=arm.Revolute("z"), mass=1, inertia=(1, 1, 1))
    first.flexible(nodes={"n": (1, 0, 0)}, masses=[1.0], shapes=np.eye(3)[None], stiffness=np.eye(3))
    assert [q.name for q in s.coordinates] == ["first.q1", "first.q2", "first.q3", "first.q4", "second.q1"]


@pytest.mark.parametrize("formalism", FORMALISMS)
def test_a_locked_mode_is_a_slider_that_does_not_move(formalism: str) -> None:
    flexible, sliding = flexible_system(), sliding_system()
    flexible.lock("arm.u4")
    sliding.lock("mass.u2")
    one, two = flexible.derive(formalism).compile(), sliding.derive(formalism).compile()
    q = places(one.coordinate_names, two.coordinate_names)
    u = places(one.speed_names, two.speed_names)
    rng = np.random.default_rng(5)
    place, speeds = random_state(one.coordinate_names, rng), rng.uniform(-1, 1, len(one.speed_names))
    np.testing.assert_allclose(
        one.accelerations(0.3, place, speeds)[u], two.accelerations(0.3, place[q], speeds[u]), rtol=1e-10
    )


@pytest.mark.parametrize("formalism", FORMALISMS)
def test_a_prescribed_mode_drives_what_hangs_on_it(formalism: str) -> None:
    flexible, sliding = flexible_system(), sliding_system()
    for s, coordinate in ((flexible, "arm.q3"), (sliding, "mass.q1")):
        s.parameter("pull", 0.2, units="m/s^2")
        s.prescribe(coordinate, "pull*t*t")
    one, two = flexible.derive(formalism).compile(), sliding.derive(formalism).compile()
    u = places(one.speed_names, two.speed_names)
    start = {"hub.u4": 0.3, "arm.u1": 0.5, "hub.u6": -0.4}
    first = one.simulate(1.0, step=1e-3, method="rk4", initial=start)
    second = two.simulate(1.0, step=1e-3, method="rk4", initial=start)
    for i, name in enumerate(two.speed_names):
        np.testing.assert_allclose(first[one.speed_names[u[i]]], second[name], rtol=1e-9, atol=1e-9)


def test_reaction_of_a_flexible_body_is_that_of_its_masses() -> None:
    runs = []
    for s, name in ((flexible_system(), "arm"), (sliding_system(), "arm")):
        force, moment = s.reaction_force(s.bodies[name]), s.reaction_moment(s.bodies[name])
        for axis in "xyz":
            s.output(f"force {axis}", arm.dot(force, getattr(s.ground, axis)))
            s.output(f"moment {axis}", arm.dot(moment, getattr(s.ground, axis)))
        runs.append(s.derive().compile().simulate(0.5, step=1e-3, initial={"hub.u5": 1.0, "arm.u2": -0.6}))
    for axis in "xyz":
        for what in ("force", "moment"):
            one, two = (run[f"{what} {axis}"] for run in runs)
            np.testing.assert_allclose(one, two, rtol=1e-8, atol=1e-8 * np.abs(two).max())


def test_energy_and_momentum_are_those_of_the_masses() -> None:
    found = []
    for s in (flexible_system(), sliding_system()):
        s.output("T", s.kinetic_energy())
        s.output("V", s.potential_energy())
        s.output("m", s.total_mass())
        vectors = {"p": s.momentum(), "L": s.angular_momentum(), "c": s.mass_centre()}
        vectors["Lc"] = s.angular_momentum("mass centre")
        for name, vector in vectors.items():
            for axis in "xyz":
                s.output(f"{name}{axis}", arm.dot(vector, getattr(s.ground, axis)))
        model = s.derive().compile()
        rng = np.random.default_rng(6)
        place = random_state(model.coordinate_names, rng)
        speeds = rng.uniform(-1, 1, len(model.speed_names))
        if found:
            first = found[0][0]
            place = found[0][1][places(first.coordinate_names, model.coordinate_names)]
            speeds = found[0][2][places(first.speed_names, model.speed_names)]
        values = model.outputs(0.0, np.concatenate([place, speeds]))
        found.append((model, place, speeds, values))
    asked = ["T", "V", "m", *(f"{n}{a}" for n in ("p", "L", "c", "Lc") for a in "xyz")]
    for name in asked:
        assert found[0][3][name] == pytest.approx(found[1][3][name], rel=1e-12, abs=1e-11), name


def test_a_loop_closed_at_a_node_conserves_energy_and_both_formalisms_agree() -> None:
    """A slider-crank whose rod bends: the pin of the slider sits on a node that moves and turns."""
    length, count = 0.3, 13
    x = np.linspace(0, length, count)
    shape, turn = np.zeros((count, 3, 2)), np.zeros((count, 3, 2))
    for k in (1, 2):
        shape[:, 1, k - 1] = np.sin(k * np.pi * x / length)
        turn[:, 2, k - 1] = k * np.pi / length * np.cos(k * np.pi * x / length)
    ends = []
    for formalism in FORMALISMS:
        s = arm.System("slider-crank")
        crank = s.body("crank", joint=arm.Revolute("z"), com=(0.05, 0, 0), mass=0.1, inertia=(0, 1e-4, 1e-4))
        rod = s.body("rod", parent=crank, joint=arm.Revolute("z"), at=(0.1, 0, 0))
        nodes = {f"n{i}": (float(a), 0, 0) for i, a in enumerate(x)}
        rod.flexible(
            nodes=nodes,
            masses=np.full(count, 0.2 / count),
            shapes=shape,
            rotations=turn,
            frequencies=[200.0, 800.0],
        )
        slider = s.body("slider", joint=arm.Prismatic("x"), mass=0.3, inertia=0)
        s.close_loop(rod.node(f"n{count - 1}"), slider.origin, [s.ground.x, s.ground.y])
        s.output("E", s.kinetic_energy() + s.strain_energy())
        model = s.derive(formalism).compile()
        run = model.simulate(
            0.3, method="dop853", rtol=1e-11, atol=1e-12, initial={"crank.u1": 20.0, "rod.q1": -0.3}
        )
        np.testing.assert_allclose(run["E"], run["E"][0], rtol=1e-8)
        assert np.abs(run["rod.q2"]).max() > 1e-4  # it does bend
        ends.append([run[name][-1] for name in (*model.coordinate_names, *model.speed_names)])
    np.testing.assert_allclose(ends[0], ends[1], rtol=1e-6, atol=1e-8)


def test_total_energy_of_a_free_flexible_body_is_kept() -> None:
    s = arm.System("boom")
    boom = s.body("boom", joint=arm.Revolute("z"))
    boom.flexible(arm.Beam(2.0, EI=30.0, mass_per_length=0.4), modes=3)
    s.gravity(9.81, -s.ground.y)
    s.output("energy", s.total_energy())
    run = s.derive().compile().simulate(2.0, method="dop853", rtol=1e-12, initial={"boom.u2": 0.4})
    np.testing.assert_allclose(run["energy"], run["energy"][0], rtol=0, atol=1e-9)
    assert np.ptp(run["boom.q2"]) > 0.01


def test_effort_of_a_locked_mode_in_a_field_is_that_of_a_locked_slider() -> None:
    found = []
    for flexible in (True, False):
        s = arm.System("tide")
        hub = s.body("hub", joint=arm.Free(), mass=50, inertia=(10, 20, 30))
        place = (30.0, 2.0, 1.0)
        if flexible:
            side = s.body("side", parent=hub, mass=1, inertia=(1, 1, 1))
            side.flexible(nodes={"n": place}, masses=[4.0], shapes=np.eye(3)[None, :, 1:2], stiffness=[[0.1]])
        else:
            s.body("plate", parent=hub, mass=1, inertia=(1, 1, 1))
            side = s.body("side", parent=hub, joint=arm.Prismatic("y"), at=place, mass=4, inertia=0)
            s.force("spring", "-0.1*side.q1", hub.y, at=side.origin, reaction=hub)
        s.attractor("Earth", 3.986e14, field="gradient")
        s.lock("side.u1")
        s.output("effort", s.effort("side.u1"))
        model = s.derive().compile()
        state = np.concatenate([[4e6, 5e6, 3e6], [0.5, 0.5, 0.5, 0.5], [0.7], np.zeros(6)])
        found.append(model.outputs(0.0, state)["effort"])
    assert found[0] == pytest.approx(found[1], rel=1e-5)
    assert abs(found[0]) > 0.01


def test_a_joint_that_starts_singular_is_not_held_against_a_flexible_body() -> None:
    s = arm.System("gimbal")
    hub = s.body("hub", joint=arm.Gimbal("zxz"), mass=1, inertia=(1, 2, 3))
    hub.flexible(nodes={"n": (1.0, 0, 0)}, masses=[0.5], shapes=np.eye(3)[None], stiffness=10 * np.eye(3))
    run = s.derive().compile().simulate(0.1, step=1e-3, initial={"hub.q2": 0.5, "hub.u1": 1.0})
    assert np.all(np.isfinite(run["hub.q1"]))


def test_a_boom_without_inertia_about_its_axis_is_told_before_a_run() -> None:
    s = arm.System("boom")
    boom = s.body("boom", joint=arm.Free())
    boom.flexible(arm.Beam(2.0, EI=50.0, mass_per_length=0.5), modes=2)
    for formalism in ("auto", "kane", "momentum"):
        with pytest.raises(arm.ModelError, match=r"'boom\.u4'.*moves no mass.*polar="):
            s.derive(formalism)


def test_a_body_that_was_used_is_not_held_elsewhere_afterwards() -> None:
    s = arm.System("used")
    boom = s.body("boom", joint=arm.Revolute("z"))
    s.output("y", arm.dot(arm.position(boom), s.ground.y))
    with pytest.raises(arm.ModelError, match=r"held= moves its origin.*right after it is made"):
        boom.flexible(arm.Beam(2.0, EI=50.0, mass_per_length=0.5), modes=2, held="tip")


@pytest.mark.parametrize("use", [
    lambda s, mass, q: s.output("m", mass),
    lambda s, mass, q: s.define("twice", 2 * mass),
    lambda s, mass, q: s.constrain(mass * q),
    lambda s, mass, q: s.event("full", mass - 3, stop=True),
    lambda s, mass, q: s.state("x", rate=mass),
    lambda s, mass, q: s.memory("last", update=mass),
    lambda s, mass, q: s.body("other", mass=mass, inertia=0),
])  # fmt: skip
def test_a_mass_that_was_left_out_and_used_is_not_taken_away(use: Callable[..., object]) -> None:
    s = arm.System("used")
    boom = s.body("boom", joint=arm.Revolute("z"))
    use(s, boom.mass, boom.q1)
    with pytest.raises(arm.ModelError, match=r"its default parameter 'boom\.mass' has been used"):
        boom.flexible(arm.Beam(2.0, EI=50.0, mass_per_length=0.5), modes=2)
    assert len(s.coordinates) == 1  # nothing of it is left behind


def test_loops_at_nodes_are_closed_by_joints_not_by_modes() -> None:
    s = arm.System("four-bar")
    a = s.body("a", joint=arm.Revolute("z"), mass=1, inertia=(0, 0.1, 0.1), com=(0.2, 0, 0))
    b = s.body("b", a, arm.Revolute("z"), at=(0.4, 0, 0))
    b.flexible(arm.Beam(0.7, EI=5.0, mass_per_length=1.0, motions="y"), modes=2)
    c = s.body("c", joint=arm.Revolute("z"), at=(0.6, 0, 0), com=(0.15, 0, 0), mass=1, inertia=(0, 0.1, 0.1))
    s.close_joint("revolute", b.node("tip").point("pin", (0, 0, 0)), c.point("pin", (0.5, 0, 0)), axis="z")
    s.start({"b.q1": 0.5, "c.q1": 1.5, "a.q1": 1.0})
    s.output("energy", s.total_energy())
    equations = s.derive("kane")
    assert set(equations.dependents) == {"b.u1", "c.u1"}
    run = equations.compile().simulate(0.3, rtol=1e-11, initial={"a.u1": 2.0})
    np.testing.assert_allclose(run["energy"], run["energy"][0], rtol=1e-8)


def test_a_loop_that_only_modes_can_close_is_closed_by_them() -> None:
    s = arm.System("propped beam")
    beam = s.body("beam")
    beam.flexible(arm.Beam(1.0, EI=10.0, mass_per_length=1.0, motions="y"), modes=3)
    s.close_loop(beam.node("tip"), s.ground.point("prop", (1, 0, 0)), [s.ground.y])
    equations = s.derive()
    assert len(equations.dependents) == 1
    run = equations.compile().simulate(0.1, rtol=1e-10, initial={"beam.u2": 0.1})
    tip = beam.flex.part.nodes["tip"].shape[1] @ np.array([run[f"beam.q{i}"] for i in (1, 2, 3)])
    assert np.abs(tip).max() < 1e-12
    assert np.abs(run["beam.q2"]).max() > 1e-5
