"""Brakes and clutches that lock: closed forms of holding, slipping and sticking."""

from __future__ import annotations

import math

import numpy as np
import pytest

import armillary as arm


def test_a_brake_holds_without_creep() -> None:
    s = arm.System("wheel")
    wheel = s.body("wheel", joint=arm.Revolute("z"), mass=8.0, inertia=(0.2, 0.2, 0.4))
    s.moment("load", 15.0, s.ground.z, on=wheel)
    s.brake("drum", wheel.q1, capacity="70*(t > 1 and t < 4)")
    run = s.derive().compile().simulate(5.0, initial={"wheel.u1": 20.0}, sample=0.01)
    assert [round(event.time, 7) for event in run.events] == [1.0, round(1 + 57.5 * 0.4 / 55, 7), 4.0]
    held = (run.time > 1.5) & (run.time < 4)
    assert np.ptp(run["wheel.q1"][held]) < 1e-12
    assert np.abs(run["drum"][held] + 15.0).max() < 1e-12
    assert abs(run.final["wheel.u1"] - 15 / 0.4) < 1e-9
    assert set(run["drum_status"]) == {0.0, 1.0, 2.0}


def test_a_clutch_engages_when_constant_moments_say() -> None:
    """ω/((T_c − T_e)/I_e + (T_c + T_l)/I_l) after the start; then both turn as one (I_e + I_l)."""
    s = arm.System("clutch")
    engine = s.body("engine", joint=arm.Revolute("z"), mass=1, inertia=(1, 1, 0.3))
    load = s.body("load", joint=arm.Revolute("z"), mass=1, inertia=(1, 1, 0.5))
    s.moment("drive", 20, s.ground.z, on=engine)
    s.moment("drag", -10, s.ground.z, on=load)
    s.clutch("clutch", engine.q1, load.q1, capacity=50)
    run = s.derive().compile().simulate(3.0, initial={"engine.u1": 100.0}, sample=0.01)
    engaged = 100 / ((50 - 20) / 0.3 + (50 - 10) / 0.5)
    assert [event.name for event in run.events] == ["clutch_grip"]
    assert abs(run.events[0].time - engaged) < 1e-12
    together = (50 - 10) / 0.5 * engaged + (20 - 10) / 0.8 * (3 - engaged)
    assert abs(run.final["engine.u1"] - together) < 1e-11 * together
    assert abs(run.final["engine.u1"] - run.final["load.u1"]) < 1e-11 * together
    assert abs(run.final["clutch"] - (0.3 * 10 / 0.8 - 20)) < 1e-10


def test_dry_friction_brings_an_oscillator_to_rest() -> None:
    """The amplitude falls by 2 F/k in every half period, until the spring cannot overcome the friction."""
    mass, k, friction = 2.0, 50.0, 4.0
    s = arm.System("oscillator")
    block = s.body("block", joint=arm.Prismatic("x"), mass=mass, inertia=0)
    s.force("spring", f"-{k}*block.q1", s.ground.x, at=block)
    s.brake("rail", block.q1, capacity=friction)
    run = s.derive().compile().simulate(10.0, initial={"block.q1": 1.0}, rtol=1e-11, atol=1e-13)
    turns = math.pi * math.sqrt(mass / k) * np.arange(1, len(run.events) + 1)
    assert np.abs(np.array([event.time for event in run.events]) - turns).max() < 1e-9
    assert abs(run.final["block.q1"] - (1.0 - 6 * 0.16)) < 1e-10
    assert run.final["block.u1"] == pytest.approx(0.0, abs=1e-14)


def test_a_disc_slides_and_then_rolls() -> None:
    """v₀ at the start without turning: it rolls after v₀/(3 μ g) with 2/3 v₀, for a solid disc."""
    s = arm.System("disc")
    radius, mass, mu, v = 0.2, 3.0, 0.25, 4.0
    disc = s.body(
        "disc",
        joint=arm.Joint(translate=["x", "y"], rotate=["z"]),
        mass=mass,
        inertia=(mass * radius**2 / 4, mass * radius**2 / 4, mass * radius**2 / 2),
    )
    s.gravity(9.81, -s.ground.y)
    s.contact("road", disc, plane=(s.ground, s.ground.y), friction=mu, radius=radius)
    run = s.derive().compile().simulate(2.0, initial={"disc.q2": radius, "disc.u1": v})
    assert [event.name for event in run.events] == ["road_grip"]
    assert abs(run.events[0].time - v / (3 * mu * 9.81)) < 1e-10
    assert abs(run.final["disc.u1"] - 2 / 3 * v) < 1e-9
    assert abs(run.final["disc.u1"] + radius * run.final["disc.u3"]) < 1e-12
    assert abs(run.final["road"] - mass * 9.81) < 1e-9
    assert abs(run.final["road_friction"]) < 1e-9


@pytest.fixture(scope="module")
def rolling() -> arm.Model:
    """A disc on a spring that rolls without slip: 3/2 m ẍ = −k x."""
    s = arm.System("disc on a spring")
    disc = s.body(
        "disc", joint=arm.Joint(translate=["x", "y"], rotate=["z"]), mass=2.0, inertia=(0.02, 0.02, 0.04)
    )
    s.gravity(9.81, -s.ground.y)
    s.force("spring", "-30*disc.q1", s.ground.x, at=disc)
    s.contact("road", disc, plane=(s.ground, s.ground.y), friction=0.9, radius=0.2)
    return s.derive().compile()


def test_a_linear_model_is_that_of_the_modes(rolling: arm.Model) -> None:
    run = rolling.simulate(3.0, initial={"disc.q1": 0.1, "disc.q2": 0.2}, rtol=1e-11)
    omega = math.sqrt(30 / 3.0)
    assert np.abs(run["disc.q1"] - 0.1 * np.cos(omega * run.time)).max() < 1e-9
    linear = rolling.linearize(at=(run, 0.0))
    assert any(abs(z - 1j * omega) < 1e-9 for z in np.linalg.eigvals(linear.A))


def test_pieces_hold_the_forces_of_contacts(rolling: arm.Model) -> None:
    """M u̇ = f, with the forces of the present modes."""
    names = list(rolling.equations.system.memories)
    memory = [{"road_status": 1.0}.get(name, 0.0) for name in names]
    q, u = [0.1, 0.2, 0.0], [0.4, 0.0, -2.0]
    forcing = rolling.forcing(0.0, q, u, memory=memory)
    found = rolling.mass_matrix(0.0, q) @ rolling.accelerations(0.0, q, u, memory=memory)
    assert np.abs(found - forcing).max() < 1e-12
    with pytest.raises(arm.ArmillaryError, match="does not determine the forces of its contact 'road'"):
        rolling.inverse(q, u, [0.0, 0.0, 0.0])
    with pytest.raises(arm.ArmillaryError, match=r"contact 'road', .* for the regressor of its efforts"):
        rolling.regressor(q, u, [0.0, 0.0, 0.0])


def test_redundant_friction_comes_to_rest_together() -> None:
    """With its tip on the floor an arm of two joints has one freedom; its three frictions end at once."""
    s = arm.System("arm")
    upper = s.body("A", joint=arm.Revolute("z"), at=(0, 1, 0), com=(0.3, 0, 0), mass=1, inertia=(0.05,) * 3)
    lower = s.body(
        "B", upper, arm.Revolute("z"), at=(0.6, 0, 0), com=(0.3, 0, 0), mass=1, inertia=(0.05,) * 3
    )
    s.gravity(9.81, -s.ground.y)
    s.brake("a", upper.q1, capacity=2.0)
    s.brake("b", lower.q1, capacity=1.0)
    tip = lower.point("tip", (0.6, 0, 0))
    options = {"restitution": 0.5, "friction": 0.3, "law": "poisson"}
    s.contact("floor", tip, plane=(s.ground, s.ground.y), **options)
    s.output("energy", s.total_energy(), units="J")
    model, random = s.derive().compile(), np.random.default_rng(3)
    for _ in range(12):
        angles = {"A.q1": random.uniform(0, 1.5), "B.q1": random.uniform(-1, 1)}
        speeds = {"A.u1": random.uniform(-4, 4), "B.u1": random.uniform(-6, 6)}
        run = model.simulate(4.0, initial=angles | speeds, sample=0.01)
        assert np.max(np.diff(run["energy"])) < 1e-7
        assert np.all(np.abs(run["A.u1"][run["a_status"] == 1]) < 1e-9)
        assert np.all(np.abs(run["B.u1"][run["b_status"] == 1]) < 1e-9)


def test_a_brake_on_a_slider_passes_dead_centres_by_the_recursion_too() -> None:
    """In a dead centre no load along the slider moves the crank: what a brake makes of its speed is rounding
    where accelerations of dependent speeds are differences of free and constrained ones.
    """
    found = {}
    for formalism in ("kane", "recursive"):
        s = arm.System("slider-crank")
        crank = s.body("crank", joint=arm.Revolute("z"), com=(0.05, 0, 0), mass=1.0, inertia=(0.01,) * 3)
        rod = s.body(
            "rod", crank, arm.Revolute("z"), at=(0.1, 0, 0), com=(0.15, 0, 0), mass=1.0, inertia=(0.01,) * 3
        )
        slider = s.body("slider", joint=arm.Prismatic("x"), mass=0.5, inertia=0)
        s.gravity(9.81, -s.ground.y)
        s.close_loop(rod.point("end", (0.3, 0, 0)), slider.origin, directions=[s.ground.x, s.ground.y])
        s.brake("brake", slider.q1, capacity=2.0, static=3.0)
        model = s.derive(formalism=formalism).compile()
        runs = [
            model.simulate(1.0, initial={"crank.q1": q, "crank.u1": u}, rtol=1e-10, atol=1e-12)
            for q, u in ((0.9, -14.0), (-2.0, 6.0), (2.5, 15.0), (0.1, -3.0))
        ]
        found[formalism] = [run.final["crank.q1"] for run in runs]
        assert sum(event.name == "brake_grip" for run in runs for event in run.events) > 5
    assert found["recursive"] == pytest.approx(found["kane"], abs=1e-7)


@pytest.mark.parametrize(
    ("capacity", "length", "mass", "time"), [(0.05, 1.0, 1.0, 1.0), (0.5, 1e-6, 1e7, 1e4)]
)
@pytest.mark.parametrize("kind", ["clutch", "brake"])
def test_friction_only_takes_its_work_in_a_dead_centre(
    kind: str, capacity: float, length: float, mass: float, time: float
) -> None:
    """A brake on the slider of a crank, and a clutch that brakes the rod's turn (crank.u1 + rod.u1): their
    slips reverse while the crank turns. The energy lost is capacity ∫ |slip| dt; the trapezoidal rule has it
    to 1e-7. An impulse that ended the slip there had taken all energy.
    """
    inertia, force = mass * length**2, mass * length / time**2
    s = arm.System("slider-crank")
    slider = s.body("slider", joint=arm.Prismatic("x"), mass=0.5 * mass, inertia=0)
    crank = s.body(
        "crank", joint=arm.Revolute("z"), com=(0.05 * length, 0, 0), mass=mass, inertia=(0.01 * inertia,) * 3
    )
    rod = s.body(
        "rod", crank, arm.Revolute("z"), at=(0.1 * length, 0, 0), com=(0.15 * length, 0, 0), mass=mass,
        inertia=(0.01 * inertia,) * 3,
    )  # fmt: skip
    s.close_loop(rod.point("end", (0.3 * length, 0, 0)), slider.origin, directions=[s.ground.x, s.ground.y])
    if kind == "clutch":
        bound = capacity * force * length
        s.clutch("friction", crank.q1, rod.q1, capacity=bound, ratio=-1)
        s.output("slip", "crank.u1 + rod.u1")
    else:
        bound = capacity * force
        s.brake("friction", slider.q1, capacity=bound)
        s.output("slip", "slider.u1")
    s.output("energy", s.kinetic_energy())
    model = s.derive().compile()
    run = model.simulate(
        time, initial={"crank.q1": 0.3, "crank.u1": -13.0 / time}, rtol=1e-10,
        atol=1e-12 * min(1.0, length, 1 / time, length / time), sample=1e-4 * time,
    )  # fmt: skip
    work = bound * np.trapezoid(np.abs(run["slip"]), run.time)
    assert len(run.events) >= 3 and abs(run.final["crank.u1"]) > 5 / time
    assert run["energy"][0] - run["energy"][-1] == pytest.approx(work, rel=1e-6)
    assert np.abs(run["friction"]).max() <= bound * (1 + 1e-12)


@pytest.mark.parametrize("kind", ["brake", "foot"])
@pytest.mark.parametrize("angle", [0.0, math.pi])
def test_a_run_that_starts_in_a_dead_centre_keeps_its_motion(kind: str, angle: float) -> None:
    """A scotch yoke whose brake, or the light foot that it presses on the floor, has no lever at the start.
    It stuck there, and all energy was lost at once. The energy lost is 2 N ∫ |slip| dt.
    """
    s = arm.System("scotch yoke")
    crank = s.body("crank", joint=arm.Revolute("z"), mass=1, inertia=(0.02,) * 3)
    yoke = s.body("yoke", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.close_loop(crank.point("pin", (0.2, 0, 0)), yoke.origin, directions=[s.ground.x])
    if kind == "brake":
        s.brake("rail", yoke.q1, capacity=2.0)
    else:
        foot = s.body("foot", yoke, arm.Prismatic("y"), mass=1e-4, inertia=0)
        s.force("press", 10.0, -s.ground.y, at=foot)
        s.contact("rail", foot.origin, plane=(s.ground.origin, s.ground.y), friction=0.2)
    s.output("energy", s.kinetic_energy())
    run = s.derive().compile().simulate(
        0.3, initial={"crank.q1": angle, "crank.u1": 8.0}, rtol=1e-10, atol=1e-12, sample=1e-4
    )  # fmt: skip
    work = 2.0 * np.trapezoid(np.abs(run["yoke.u1"]), run.time)
    assert run["energy"][0] == pytest.approx(0.64)
    assert run["energy"][0] - run.final["energy"] == pytest.approx(work, rel=1e-6)
    assert run.final["crank.u1"] > 2


@pytest.mark.parametrize("held", [False, True], ids=["pinned", "held by friction"])
def test_a_crutch_that_stands_upright_keeps_its_motion(held: bool) -> None:
    """Its foot, on a slide, is farthest from the crutch's other end there, x = 0.6/cos θ: the slip ẋ is small
    and reverses, and in a plane slips as small as that stop. They took all energy, as no impulse of the
    foot's own row did, but one together with others.
    """
    s = arm.System("crutch")
    s.gravity(9.81, -s.ground.y)
    joint = arm.Joint(translate=["x", "y", "z"], rotate=["z"]) if held else arm.Spherical()
    crutch = s.body("A", joint=joint, mass=3.0, inertia=(0.2,) * 3, com=(0.25, 0.1, 0))
    slide = s.body("B", crutch, arm.Prismatic("y"), at=(0.6, 0, 0), mass=0.5, inertia=(0.02,) * 3)
    if held:
        s.contact("end", crutch.origin, plane=(s.ground, s.ground.y), friction=2.0)
    s.contact("foot", slide.origin, plane=(s.ground, s.ground.y), friction=0.2)
    s.output("energy", s.total_energy())
    s.output("x", arm.dot(arm.position(slide.origin, crutch.origin), s.ground.x))
    model = s.derive().compile(tier="quick")
    inertia = 0.22 + 3.0 * (0.25**2 + 0.1**2)
    for angle in (-1e-4, -1e-6, 1e-5):
        start = {"B.q1": -0.6 * math.tan(angle), "B.u1": -0.6 * 2.0 / math.cos(angle) ** 2}
        turned = {"A.q1": math.cos(angle / 2), "A.q4": math.sin(angle / 2), "A.u3": 2.0}
        start |= {"A.q4": angle, "A.u4": 2.0} if held else turned
        run = model.simulate(0.05, initial=start, sample=0.01)
        height = 0.25 * math.sin(angle) + 0.1 * math.cos(angle)
        assert abs(run["energy"][0] - 0.5 * inertia * 2.0**2 - 3.0 * 9.81 * height) < 1e-7
        assert run.final["x"] > 0.6015  # from rest 0.6001
