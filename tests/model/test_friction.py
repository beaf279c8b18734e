"""Friction that sticks: no creep, closed forms of sliding, and the limit cycle on a moving belt."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.verification.rows import largest

G = 9.81
ALPHA = math.radians(20)


def incline(mu: float, static: float | None = None, stiffness: float = 1e5) -> arm.System:
    """A block of 2 kg on an incline; output "s" is its way uphill."""
    s = arm.System("incline")
    N = s.ground
    up = N.x * math.cos(ALPHA) + N.y * math.sin(ALPHA)
    normal = N.y * math.cos(ALPHA) - N.x * math.sin(ALPHA)
    block = s.body("block", joint=arm.Joint(translate=["x", "y"]), mass=2.0, inertia=0)
    s.gravity(G, -N.y)
    law = arm.StickSlip(mu, stiffness, 600, static)
    s.contact("floor", block, plane=(N, normal), stiffness=1e5, damping=1.0, friction=law)
    s.output("s", arm.dot(arm.position(block), up))
    s.output("v", arm.dot(arm.velocity(block), up))
    return s


def pressed(speed: float = 0.0, sag: float = 0.0) -> dict[str, float]:
    """Resting on the plane, moving uphill, from a place ``sag`` downhill."""
    depth = 2 * G * math.cos(ALPHA) / 1e5
    return {
        "block.q1": depth * math.sin(ALPHA) - sag * math.cos(ALPHA),
        "block.q2": -depth * math.cos(ALPHA) - sag * math.sin(ALPHA),
        "block.u1": speed * math.cos(ALPHA),
        "block.u2": speed * math.sin(ALPHA),
    }


def test_texts_may_call_the_status_of_a_contact_by_its_former_name() -> None:
    s = incline(0.5)
    assert s.expression("floor_mode") is s.expression("floor_status")
    assert s.expression("other_mode").data.role == "parameter"
    own = s.state("pump_mode", 0)
    s.memory("pump_status", 1.0)
    assert s.expression("pump_mode") is own  # a name of the user's own
    s.memory("valve_status")
    assert s.expression("valve_mode").data.role == "parameter"  # no contact is called valve


def test_memory_by_its_former_name_is_refused_with_the_present_one() -> None:
    """The nearest name was that of another memory."""
    model = incline(0.5).derive().compile()
    for value in (1.0, [1.0, 2.0]):
        run = model.simulate if value == 1.0 else model.simulate_batch
        with pytest.raises(arm.ParameterError, match="no memory 'floor_mode'; it is called 'floor_status'"):
            run(0.1, memory={"floor_mode": value})


METHODS: list[dict[str, Any]] = [
    {"method": "dop853"},
    {"method": "dopri5", "rtol": 1e-6, "atol": 1e-8},
    {"method": "rk4", "step": 1e-3, "sample": 0.05},
]


@pytest.mark.parametrize("settings", METHODS, ids=lambda s: s["method"])
def test_a_block_below_the_friction_angle_does_not_creep(settings: dict[str, Any]) -> None:
    """It sags elastically by m g sin α / k and then stays, for a minute, to rounding of the tolerance."""
    run = incline(0.5).derive().compile().simulate(60.0, initial=pressed(), **settings)
    settled = run.time > 5.0
    assert run.final["s"] == pytest.approx(-2 * G * math.sin(ALPHA) / 1e5, rel=1e-4)
    assert np.ptp(run["s"][settled]) < 1e-9
    assert np.all(run["floor_status"][1:] == 1)
    assert np.ptp(run["floor_anchor"]) == 0.0


@pytest.mark.parametrize("settings", METHODS, ids=lambda s: s["method"])
def test_a_block_above_the_friction_angle_accelerates_by_coulomb(settings: dict[str, Any]) -> None:
    run = incline(0.2).derive().compile().simulate(2.0, initial=pressed(), **settings)
    late = run.time >= 1.0
    found = np.polyfit(run.time[late], run["v"][late], 1)[0]
    assert found == pytest.approx(-G * (math.sin(ALPHA) - 0.2 * math.cos(ALPHA)), rel=1e-5)


@pytest.mark.parametrize("settings", METHODS, ids=lambda s: s["method"])
def test_a_kicked_block_stops_where_coulomb_says_and_stays(settings: dict[str, Any]) -> None:
    """v²/2g(sin α + μ cos α) uphill, and back by the springs of the surfaces: (μ cos α + sin α) m g / k."""
    run = incline(0.5).derive().compile().simulate(5.0, initial=pressed(3.0), **settings)
    pull = G * (math.sin(ALPHA) + 0.5 * math.cos(ALPHA))
    assert run.final["s"] == pytest.approx(9 / 2 / pull - 2 * pull / 1e5, abs=2e-6)
    assert abs(run.final["v"]) < 1e-9


def test_static_friction_holds_what_kinetic_friction_does_not() -> None:
    """tan 20° = 0.364 lies between the two; once kicked it does not stop.

    At rest: it begins sticking, the springs of its surfaces bent by its weight.
    """
    model = incline(0.3, static=0.4).derive().compile()
    sag = 2 * G * math.sin(ALPHA) / 1e5
    rest = model.simulate(5.0, initial=pressed(sag=sag), memory={"floor_status": 1, "floor_anchor": 0})
    assert rest.final["s"] == pytest.approx(-sag, abs=1e-9)
    run = model.simulate(5.0, initial=pressed(-0.1))
    slope = G * (math.sin(ALPHA) - 0.3 * math.cos(ALPHA))
    assert run.final["v"] == pytest.approx(-0.1 - 5 * slope, rel=1e-5)


@pytest.mark.parametrize(("damping", "tolerance"), [(100, 3e-5), (3000, 4e-6)])
def test_a_block_kicked_sideways_turns_downhill_with_half_its_speed(damping: float, tolerance: float) -> None:
    """With μ = tan α, v + v_downhill stays as it was: v₀ sideways becomes v₀/2 downhill.

    While sliding the friction is along p + c v, and the anchor follows once per step: its lag in a turn
    falls with the step and with L/(c v).
    """
    mu = math.tan(ALPHA)
    s = arm.System("sideways")
    N = s.ground
    block = s.body("block", joint=arm.Joint(translate=["x", "y", "z"]), mass=1.0, inertia=0)
    s.gravity(G, N.x * math.sin(ALPHA) - N.y * math.cos(ALPHA))
    law = arm.StickSlip(mu, 1e5, damping)
    s.contact("floor", block, plane=(N, N.y), stiffness=1e5, damping=1.0, friction=law)
    start = {"block.q2": -G * math.cos(ALPHA) / 1e5, "block.u3": 2.0}
    run = s.derive().compile().simulate(30.0, initial=start)
    assert run.final["block.u1"] == pytest.approx(1.0, abs=tolerance)
    assert abs(run.final["block.u3"]) < 1e-9


def belt(stiffness: float, mu: float, static: float, speed: float) -> arm.System:
    """A block of 1 kg on a belt, held to the ground by a spring of 50 N/m."""
    s = arm.System("belt")
    band = s.body("belt", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.prescribe(band.u1, speed)
    block = s.body("block", band, arm.Prismatic("x"), mass=1.0, inertia=0)
    s.force("spring", -50.0 * (band.q1 + block.q1), s.ground.x, at=block)
    rub = {"capacity": mu * G, "static": static * G}
    s.brake("rub", block.q1, **rub, stiffness=stiffness, damping=2 * math.sqrt(stiffness))
    return s


@pytest.mark.parametrize("speed", [0.1, 0.4])
def test_stick_slip_on_a_belt_has_the_period_of_the_closed_form(speed: float) -> None:
    """Coulomb friction with μ_s > μ: with a = (μ_s − μ) m g / k_s and ω = √(k_s/m)

        T = 2a/V + (2/ω) (π − arctan(a ω / V))        sticking and slipping

    for rigid sticking. Elastic sticking differs by O(1/k), so a tenfold k leaves a tenth of the difference.
    """
    mu, static = 0.3, 0.5
    a, w = (static - mu) * G / 50.0, math.sqrt(50.0)
    exact = 2 * a / speed + 2 / w * (math.pi - math.atan(a * w / speed))
    errors = []
    for stiffness in (1e5, 1e6):
        run = belt(stiffness, mu, static, speed).derive().compile().simulate(15.0)
        times = [e.time for e in run.events if e.name == "rub_grip"]
        periods = np.subtract(times[4:], times[2:-2])
        assert np.ptp(periods) < 1e-6 * exact
        errors.append(periods.mean() / exact - 1)
    assert abs(errors[1]) < 2e-5
    assert errors[0] / errors[1] == pytest.approx(10.0, rel=0.15)


def test_a_braked_wheel_stops_stays_and_starts_again() -> None:
    """I ω²/2M further; then it bears 4 N·m at an angle of M/k, and turns again when the brake is released."""
    s = arm.System("wheel")
    wheel = s.body("wheel", joint=arm.Revolute("z"), mass=1, inertia=(1, 1, 2.0))
    s.moment("drive", "select(t > 3, 4, 0)", s.ground.z, on=wheel)
    s.brake("drum", wheel.q1, capacity="10*(t < 6)", stiffness=1e5, damping=900)
    start = {"wheel.q1": 5.0, "wheel.u1": 10.0}
    run = s.derive().compile().simulate(8.0, initial=start, sample=0.1)
    angle = dict(zip(np.round(run.time, 1), run["wheel.q1"], strict=True))
    assert angle[2.0] == pytest.approx(5 + 10.0, abs=1e-9)
    assert angle[2.9] == pytest.approx(5 + 10.0 - 10 / 1e5, abs=1e-9)
    assert angle[5.9] - angle[2.9] == pytest.approx(4 / 1e5, rel=1e-6)
    assert run.final["wheel.u1"] == pytest.approx(4 * 2 / 2.0, rel=1e-8)
    assert [e.time for e in run.events] == pytest.approx([2.0, 6.0], abs=1e-6)


def test_friction_never_gives_energy() -> None:
    """Kinetic energy, that of a spring and the p²/2k of the surfaces only fall, until the block is held."""
    s = arm.System("rub")
    block = s.body("block", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    s.force("spring", -200 * block.q1, s.ground.x, at=block)
    s.brake("rub", block.q1, capacity=1.5, static=2.5, stiffness=2e4, damping=50.0)
    s.output("kinetic", s.kinetic_energy())
    run = s.derive().compile().simulate(8.0, initial={"block.q1": 0.2, "block.u1": 3.0}, sample=1e-3)
    limit = np.where(run["rub_status"] > 1, 1.5, 2.5)
    pull = np.minimum(2e4 * np.abs(run["block.q1"] - run["rub_anchor"]), limit)
    energy = run["kinetic"] + 100 * run["block.q1"] ** 2 + pull**2 / 4e4
    assert np.all(np.diff(energy) < 1e-8 * energy[0])
    assert run["kinetic"][-1] < 1e-12
    assert run.final["rub_status"] == 1
    assert abs(run.final["rub"]) == pytest.approx(200 * abs(run.final["block.q1"]), abs=1e-6)


def test_a_run_goes_on_from_its_state_and_memory() -> None:
    model = incline(0.5).derive().compile()
    whole = model.simulate(2.0, initial=pressed(3.0), method="rk4", step=1e-3)
    half = model.simulate(1.0, initial=pressed(3.0), method="rk4", step=1e-3)
    names = (*model.coordinate_names, *model.speed_names)
    memory = {name: half.final[name] for name in ("floor_status", "floor_anchor")}
    rest = model.simulate(
        2.0, t0=1.0, initial={n: half.final[n] for n in names}, memory=memory, method="rk4", step=1e-3
    )
    assert rest.final["s"] == pytest.approx(whole.final["s"], abs=1e-12)


@cache
def gripping_box() -> Any:
    """A box with stick and slip at its eight corners."""
    s = arm.System("box")
    N = s.ground
    box = s.body("box", joint=arm.Free(), mass=1, inertia=(0.01, 0.01, 0.01))
    s.gravity(G, -N.z)
    corners = [(x, y, z) for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (-0.1, 0.1)]
    law = arm.StickSlip(0.5, 2e4, 60, static=0.6)
    for i, corner in enumerate(corners):
        s.contact(f"c{i}", box.point(corner), plane=(N, N.z), stiffness=2e4, damping=2.0, friction=law)
    return s.derive().compile()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("settings", METHODS[1:], ids=lambda s: s["method"])
def test_a_tumbling_box_comes_to_rest_and_stays(seed: int, settings: dict[str, Any]) -> None:
    """Many grips in short time, and then none.

    An error of 1e-8 m (dopri5's atol here) on four corners of 2e4 N/m is one of 8e-4 N.
    """
    speeds = np.random.default_rng(seed).normal(scale=2.0, size=6)
    start = {"box.q3": 0.4, **{f"box.u{i}": v for i, v in enumerate(speeds, 1)}}
    shorter = {**settings, "step": 2e-4} if "step" in settings else settings
    run = gripping_box().simulate(3.0, initial=start, **shorter)
    assert sum(run.final[f"c{i}"] for i in range(8)) == pytest.approx(G, abs=1e-3)
    assert largest([abs(run.final[f"box.u{i}"]) for i in range(1, 7)]) < 1e-6
    assert run.events[-1].time < 2.0
