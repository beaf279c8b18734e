"""Motions with rigid contact, compared with closed forms: maps from impact to impact, integrals, bounds.

Rimless wheel, impact oscillator, Newton's cradle, billiard, slider-crank with clearance in a joint or a
guide, a wheel that rolls, slides and jumps, tippe top, clutch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from armillary.algebra.functions import acos, sqrt
from armillary.algebra.vectors import dot, magnitude
from armillary.model.bodies.motion import position
from armillary.model.joints import Free, Joint, Prismatic, Revolute
from armillary.stages import System
from armillary.verification.rows import (
    TIGHT,
    at_most,
    difference,
    drift,
    largest,
    largest_difference,
    published_case,
    value,
)

_G = 9.81
_PLANAR = Joint(translate=["x", "z"], rotate=["y"])
_SPOKES, _SLOPE, _INERTIA = 8, 0.08, 0.1  # legs of 1 m, slope in rad, inertia in kg m² with a mass of 1 kg
_HALF = math.pi / _SPOKES  # half of the angle between legs
_KEPT = (_INERTIA + math.cos(2 * _HALF)) / (_INERTIA + 1)  # η, the factor of ω at an impact
_GAINED = 4 * _G * math.sin(_HALF) * math.sin(_SLOPE) / (_INERTIA + 1)  # growth of ω² between impacts
_STEADY = _KEPT * math.sqrt(_GAINED / (1 - _KEPT**2))


@published_case(
    "rimless_wheel",
    "Rimless wheel",
    "McGeer (1990)",
    difference("speeds after all impacts of 40 s (rad/s)", 1e-8),
    value("steady speed after an impact (rad/s)", _STEADY, 1e-8),
    page="impacts",
)
def measure_rimless_wheel() -> Iterator[float]:
    """ω⁺ = η ω⁻, η = (cos 2α + r²)/(1 + r²), and between impacts ω² grows by 4 g l sin α sin γ/(l² + r²)."""
    s = System("rimless wheel")
    wheel = s.body("wheel", joint=_PLANAR, mass=1.0, inertia=(_INERTIA,) * 3)
    s.gravity(_G, s.ground.x * math.sin(_SLOPE) - s.ground.z * math.cos(_SLOPE))
    for k in range(_SPOKES):
        angle = 2 * math.pi * k / _SPOKES
        foot = wheel.point(f"foot{k}", (math.sin(angle), 0, -math.cos(angle)))
        s.contact(f"leg{k}", foot, plane=(s.ground, s.ground.z), friction=2.0)
    model = s.derive().compile()
    w, sine, cosine = 1.5, math.sin(_HALF), math.cos(_HALF)
    start = {
        "wheel.q2": cosine, "wheel.q3": _HALF, "wheel.u1": w * cosine, "wheel.u2": w * sine, "wheel.u3": w
    }  # fmt: skip
    times = [event.time for event in model.simulate(40.0, initial=start, **TIGHT).events]
    after = [t + 1e-10 for t in times]
    speeds = model.simulate(40.0, initial=start, sample=[*after, 40.0], **TIGHT)["wheel.u3"][:-1]
    expected = []
    for _ in times:
        w = _KEPT * math.sqrt(w * w + _GAINED)
        expected.append(w)
    yield largest_difference(speeds, expected)
    yield float(speeds[-1])


_DRIVEN, _BOUNCE = 2.2, 0.6  # frequency of the force over the oscillator's, restitution


@published_case(
    "impact_oscillator",
    "Impact oscillator",
    "closed form of the cycle with one impact per period",
    difference("times of 20 impacts on the cycle (s)", 1e-9),
    difference("periods in the end, from another start (s)", 1e-9),
    difference("place on the cycle then (m)", 1e-8),
    page="impacts",
)
def measure_oscillator() -> Iterator[float]:
    """ẍ + x = F cos(ω t + φ) above a stop at x = 0, struck once in each period T = 2π/ω.

    x = A cos t + B sin t + C cos(ω t + φ), C = F/(1 − ω²), with x(0) = x(T) = 0 and ẋ(0) = −e ẋ(T).
    """
    e, period = _BOUNCE, 2 * math.pi / _DRIVEN
    c, s = math.cos(period), math.sin(period)
    C = 1 / (1 - _DRIVEN**2)
    across = (1 - c) / s * (1 - e) / (1 + e) / _DRIVEN  # C sin φ = across A, C cos φ = −A
    A = math.copysign(abs(C) / math.hypot(1, across), (1 - c) / s)
    v = 2 * A * (1 - c) / s / (1 + e)
    phase = math.atan2(across * A / C, -A / C)
    system = System("impact oscillator")
    body = system.body("body", joint=Prismatic("x"), mass=1.0, inertia=0)
    system.parameter("k", 1.0)
    system.force("spring", "-k*body.q1", system.ground.x, at=body)
    system.force("drive", f"1*cos({_DRIVEN}*t + {phase!r})", system.ground.x, at=body)
    system.stop("wall", body.q1, lower=0, restitution=e)
    model = system.derive().compile()
    run = model.simulate(20.5 * period, initial={"body.u1": e * v}, **TIGHT)
    times = [event.time for event in run.events]
    yield largest_difference(times, period * np.arange(1, 21))
    run = model.simulate(200.5 * period, initial={"body.q1": 0.1, "body.u1": e * v}, **TIGHT)
    yield largest_difference(np.diff([event.time for event in run.events])[-5:], [period] * 5)
    last = run.events[-1].time
    sample = model.simulate(last + 1, initial={"body.q1": 0.1, "body.u1": e * v}, sample=[last + 1], **TIGHT)
    t = 1 + period
    place = A * math.cos(t - period) + A * (1 - c) / s * math.sin(t - period)
    yield abs(float(sample["body.q1"][-1]) - place - C * math.cos(_DRIVEN * t + phase))


@published_case(
    "cradle",
    "Newton's cradle",
    "closed forms of simultaneous and successive impacts",
    difference("four balls that touch, Newton's law, e = 1 and 0.8 (m/s)", 1e-12),
    difference("the same, Poisson's law (m/s)", 1e-12),
    difference("the same, energetic law (m/s)", 1e-12),
    difference("balls 1 mm apart, e = 1 (m/s)", 1e-12),
    page="impacts",
)
def measure_cradle() -> Iterator[float]:
    """A ball with 1 m/s strikes n − 1 balls of the same mass at rest.

    If these touch, its speed becomes 1 − (1 + e)(n − 1)/n and theirs (1 + e)/n, by each law of impact. If
    there are gaps between them, the impacts follow one another.
    """
    touching = {"newton": 0.0, "poisson": 0.0, "energetic": 0.0}
    for law in touching:
        for e in (1.0, 0.8):
            expected = [1 - (1 + e) * 3 / 4, *[(1 + e) / 4] * 3]
            touching[law] = largest(touching[law], largest_difference(_cradle(e, law, 0.0), expected))
    yield from touching.values()
    yield largest_difference(_cradle(1.0, "newton", 1e-3), [0.0, 0.0, 0.0, 1.0])


def _cradle(e: float, law: str, apart: float) -> list[float]:
    """Return the speeds of four balls after the first has struck the others with 1 m/s."""
    s = System("cradle")
    balls = [s.body(f"b{k}", joint=Prismatic("x"), mass=1.0, inertia=0) for k in range(4)]
    for k in range(3):
        s.unilateral(f"c{k}", balls[k + 1].q1 - balls[k].q1, restitution=e, law=law)
    start = {"b0.q1": -0.1, "b0.u1": 1.0} | {f"b{k}.q1": k * apart for k in range(1, 4)}
    run = s.derive().compile().simulate(0.3, initial=start, max_step=0.01, **TIGHT)
    return [run.final[f"b{k}.u1"] for k in range(4)]


@published_case(
    "billiard",
    "Ball that strikes two",
    "closed form of simultaneous impacts",
    *(
        difference(f"speeds of three balls, {law} law, e = 1 and 0.8 (m/s)", 1e-10)
        for law in ("Newton's", "Poisson's", "energetic")
    ),
    page="impacts",
)
def measure_billiard() -> Iterator[float]:
    """A ball with 1 m/s strikes at once two balls that touch each other, at ±30° from its direction.

    Its speed becomes 1 − 3 (1 + e)/5 in its direction; each of the others gets (1 + e) √3/5 along the line of
    centres.
    """
    for law in ("newton", "poisson", "energetic"):
        worst = 0.0
        for e in (1.0, 0.8):
            s = System("billiard")
            joint, size = Joint(translate=["x", "y"]), 0.06  # diameter, m
            cue = s.body("cue", joint=joint, mass=0.17, inertia=0)
            for name, side in (("left", 1), ("right", -1)):
                place = (size * math.sqrt(0.75), side * size / 2, 0)
                ball = s.body(name, joint=joint, at=place, mass=0.17, inertia=0)
                s.unilateral(f"cue_{name}", magnitude(position(ball, cue)) - size, restitution=e, law=law)
            between = magnitude(position(s.bodies["left"], s.bodies["right"])) - size
            s.unilateral("others", between, restitution=e, law=law)
            run = s.derive().compile().simulate(0.1, initial={"cue.q1": -0.05, "cue.u1": 1.0}, **TIGHT)
            found = [run.final[f"{body}.u{i}"] for body in ("cue", "left", "right") for i in (1, 2)]
            along, aside = (1 + e) * 0.3, (1 + e) * math.sqrt(3) / 10
            expected = [1 - 0.6 * (1 + e), 0, along, aside, along, -aside]
            worst = largest(worst, largest_difference(found, expected))
        yield worst


# Lengths of crank and rod, half the length and width of the slider, clearance c on each side, in m.
_ARM, _LINK, _LONG, _WIDE, _PLAY = 0.153, 0.306, 0.05, 0.025, 0.001
_MASSES, _MOMENTS = (0.038, 0.038, 0.076), (7.4e-5, 5.9e-4, 2.7e-6)  # kg, kg m²: crank, rod, slider
_GUIDE_E, _GUIDE_MU, _SPEED = 0.4, 0.01, (150.0, -75.0)  # speeds of crank and rod, rad/s
_BOUNCES = 6  # impacts that are compared; later ones accumulate, and SciPy does not separate them


@published_case(
    "loose_guide",
    "Slider with four corners in a loose guide",
    "data of Flores, Leine & Glocker (2010); two angles and SciPy",
    difference("times of the first six impacts (s)", 1e-9),
    difference("corners outside the guide, 0.2 s (m)", 1e-12),
    difference("gain of energy in 0.1 ms (J)", 1e-9),
    difference("turn of the slider (rad)", 1e-9),
    page="impacts",
)
def measure_loose_guide() -> Iterator[float]:
    """Yield numbers for a slider whose corners strike, with friction, a guide wider than the slider by 2 c.

    The two upper corners strike together, so the slider does not turn, and the mechanism has two angles and
    one contact.
    """
    s = System("slider-crank with a loose guide")
    planes = [(0.0, j, j) for j in _MOMENTS]
    crank = s.body("crank", joint=Revolute("z"), com=(_ARM / 2, 0, 0), mass=_MASSES[0], inertia=planes[0])
    rod = s.body(
        "rod",
        crank,
        Revolute("z"),
        at=(_ARM, 0, 0),
        com=(_LINK / 2, 0, 0),
        mass=_MASSES[1],
        inertia=planes[1],
    )
    slider = s.body("slider", rod, Revolute("z"), at=(_LINK, 0, 0), mass=_MASSES[2], inertia=planes[2])
    s.gravity(_G, -s.ground.y)
    for wall, side in (("upper", 1), ("lower", -1)):
        base = s.ground.point(wall, (0, side * (_WIDE + _PLAY), 0))
        for end, x in (("back", -_LONG), ("front", _LONG)):
            corner = slider.point(f"{wall}_{end}", (x, side * _WIDE, 0))
            s.contact(
                f"{wall}_{end}", corner, plane=(base, s.ground.y * -side), friction=_GUIDE_MU,
                restitution=_GUIDE_E,
            )  # fmt: skip
            s.output(f"gap_{wall}_{end}", _WIDE + _PLAY - side * dot(position(corner), s.ground.y))
    s.output("energy", s.total_energy(), units="J")
    start = {"crank.u1": _SPEED[0], "rod.u1": _SPEED[1] - _SPEED[0], "slider.u1": -_SPEED[1]}
    run = s.derive().compile().simulate(0.2, initial=start, sample=1e-4, max_step=1e-4, **TIGHT)
    # If two corners touch at once, rounding decides which of the two has the event.
    touched = [event.time for event in run.events if event.name.startswith("upper")]
    struck = [t for k, t in enumerate(touched) if k == 0 or t - touched[k - 1] > 1e-9]
    yield largest_difference(struck[:_BOUNCES], _times_of_impacts())
    yield largest(*(-run[name] for name in run.names if name.startswith("gap_")), 0.0)
    yield largest(np.diff(run["energy"]), 0.0)
    yield largest(np.abs(run["crank.q1"] + run["rod.q1"] + run["slider.q1"]))


def _times_of_impacts() -> list[float]:
    """Return the times of the first impacts at the upper wall, by equations in two angles and SciPy."""
    from scipy.integrate import solve_ivp

    m, far = _MASSES, (0.5 * _MASSES[1] + _MASSES[2]) * _ARM * _LINK
    heavy = (
        _MOMENTS[0] + (0.25 * m[0] + m[1] + m[2]) * _ARM**2,
        _MOMENTS[1] + (0.25 * m[1] + m[2]) * _LINK**2,
    )
    weight = (0.5 * m[0] + m[1] + m[2]) * _G * _ARM, (0.5 * m[1] + m[2]) * _G * _LINK

    def mass_matrix(a: float, b: float) -> np.ndarray:
        both = far * math.cos(a - b)
        return np.array([[heavy[0], both], [both, heavy[1]]])

    def rates(t: float, y: np.ndarray) -> list[float]:
        a, b, v, w = y
        turned = far * math.sin(a - b)
        load = [-turned * w * w - weight[0] * math.cos(a), turned * v * v - weight[1] * math.cos(b)]
        return [v, w, *np.linalg.solve(mass_matrix(a, b), load)]

    def gap(t: float, y: np.ndarray) -> float:
        return float(_PLAY - _ARM * math.sin(y[0]) - _LINK * math.sin(y[1]))

    # mypy: SciPy reads attributes of the function.
    gap.terminal, gap.direction = True, -1  # type: ignore[attr-defined]
    t, y, found = 0.0, np.array([0.0, 0.0, *_SPEED]), []
    for _ in range(_BOUNCES):
        flight = solve_ivp(rates, (t, 0.1), y, "DOP853", events=gap, rtol=1e-12, atol=1e-13, max_step=1e-4)
        t, y = float(flight.t_events[0][0]), flight.y_events[0][0].copy()
        found.append(t)
        across = -np.array([_ARM * math.cos(y[0]), _LINK * math.cos(y[1])])
        along = -np.array([_ARM * math.sin(y[0]), _LINK * math.sin(y[1])])
        pushed = across - _GUIDE_MU * np.sign(along @ y[2:]) * along
        gained = np.linalg.solve(mass_matrix(*y[:2]), pushed)
        y[2:] -= gained * (1 + _GUIDE_E) * (across @ y[2:]) / (across @ gained)
    return found


_CRANK, _ROD = 0.05, 0.12


@published_case(
    "clearance",
    "Slider-crank with clearance",
    "Flores & Ambrósio (2004); bounds of the ideal linkage",
    *(
        check
        for size in ("clearance 0.5 mm", "clearance 5 µm")
        for check in (
            difference(f"{size}: journal outside its bearing (m)", 1e-12),
            difference(f"{size}: slider beyond the linkages with rods l ± c (m)", 1e-12),
            difference(f"{size}: gain of energy in a step (J)", 1e-9),
            at_most(f"{size}: runs without loss of contact", 0),
        )
    ),
    page="impacts",
)
def measure_clearance() -> Iterator[float]:
    """A journal whose radius is less by c than that of its bearing leaves the bearing and strikes it.

    The slider stays between its places in linkages with rods of lengths l − c and l + c. These approach the
    ideal linkage if c approaches zero.
    """
    for clearance in (5e-4, 5e-6):
        s = System("slider-crank with clearance")
        inertia = (1e-3, 1e-3, 1e-3)
        crank = s.body("crank", joint=Revolute("z"), mass=0.4, inertia=inertia)
        rod = s.body(
            "rod",
            crank,
            Revolute("z"),
            at=(_CRANK, 0, 0),
            com=(_ROD / 2, 0, 0),
            mass=0.2,
            inertia=(3e-4,) * 3,
        )
        slider = s.body("slider", joint=Prismatic("x"), mass=0.15, inertia=0)
        apart = position(rod.point("journal", (_ROD, 0, 0)), slider)
        gap = clearance - sqrt(dot(apart, s.ground.x) ** 2 + dot(apart, s.ground.y) ** 2)
        s.unilateral("bearing", gap)
        s.output("energy", s.total_energy(), units="J")
        s.output("gap", gap)
        start = {"slider.q1": _CRANK + _ROD, "crank.u1": 30.0, "rod.u1": -30.0 * (1 + _CRANK / _ROD)}
        run = s.derive().compile().simulate(0.5, initial=start, sample=1e-4, max_step=1e-4, rtol=1e-10)
        angle = run["crank.q1"]
        far, near = (
            _CRANK * np.cos(angle) + np.sqrt((_ROD + sign * clearance) ** 2 - (_CRANK * np.sin(angle)) ** 2)
            for sign in (1, -1)
        )
        yield largest(-run["gap"], 0.0)
        yield largest(run["slider.q1"] - far, near - run["slider.q1"], 0.0)
        yield largest(np.diff(run["energy"]), 0.0)
        yield float(not (run["bearing_status"] == 0).any())


_TURN, _LIFT, _MU, _R, _M = 8.0, 12.0, 0.4, 0.2, 3.0  # N·m/s, N/s, –, m, kg


@published_case(
    "wheel_jumps",
    "Wheel that rolls, slides and jumps",
    "closed form",
    difference("time at which it begins to slide (s)", 1e-9),
    difference("time at which it leaves the road (s)", 1e-9),
    difference("speed a second later (m/s)", 1e-8),
    difference("turn then (rad/s)", 1e-8),
    difference("height then (m)", 1e-8),
    page="impacts",
)
def measure_wheel() -> Iterator[float]:
    """A disc under a moment a t and a lifting force b t rolls until 2 a t/(3 r) = μ (m g − b t), slides until
    m g = b t, and then rises as b t³/(6 m).
    """
    s = System("disc")
    disc = s.body("disc", joint=_PLANAR, mass=_M, inertia=(_M * _R**2 / 2,) * 3)
    s.gravity(_G, -s.ground.z)
    s.moment("drive", f"{_TURN}*t", s.ground.y, on=disc)
    s.force("lift", f"{_LIFT}*t", s.ground.z, at=disc)
    s.contact("road", disc, plane=(s.ground, s.ground.z), friction=_MU, radius=_R)
    slides = _MU * _M * _G / (2 * _TURN / (3 * _R) + _MU * _LIFT)
    jumps = _M * _G / _LIFT
    run = s.derive().compile().simulate(jumps + 1, initial={"disc.q2": _R}, **TIGHT)
    events = {event.name: event.time for event in run.events}
    yield abs(events["road_grip"] - slides)
    yield abs(events["road_touch"] - jumps)
    rolling = _TURN * slides**2 / (3 * _M * _R)
    pulled = _MU * (_G * (jumps - slides) - _LIFT * (jumps**2 - slides**2) / (2 * _M))
    turned = (_TURN * ((jumps + 1) ** 2 - slides**2) / 2 - _R * _M * pulled) / (_M * _R**2 / 2)
    yield abs(run.final["disc.u1"] - rolling - pulled)
    yield abs(run.final["disc.u3"] - rolling / _R - turned)
    yield abs(run.final["disc.q2"] - _R - _LIFT / (6 * _M))


@published_case(
    "tippe_top",
    "Tippe top",
    "Jellett (1872)",
    difference("change of Jellett's integral over 6 s, relative", 1e-9),
    difference("gain of energy (J)", 1e-12),
    at_most("runs in which it does not turn over", 0),
    page="impacts",
)
def measure_tippe_top() -> Iterator[float]:
    """Gravity and any force at the contact leave L · r_CP constant, with r_CP from mass centre to contact."""
    s = System("tippe top")
    radius, off, up = 0.02, 0.003, s.ground.z
    s.gravity(_G, -up)
    top = s.body("top", joint=Free(), com=(0, 0, -off), mass=0.015, inertia=(2.4e-6, 2.4e-6, 2.3e-6))
    s.contact("floor", top, plane=(s.ground, up), friction=0.05, radius=radius)
    s.output("jellett", dot(s.angular_momentum(top.com), off * top.z - radius * up))
    s.output("tilt", acos(dot(top.z, up)), units="deg")
    s.output("energy", s.total_energy(), units="J")
    tilt, spin = 0.1, 150.0
    start = {
        "top.q3": radius, "top.q4": math.cos(tilt / 2), "top.q5": math.sin(tilt / 2),
        "top.u5": spin * math.sin(tilt), "top.u6": spin * math.cos(tilt),
    }  # fmt: skip
    run = s.derive().compile().simulate(6.0, initial=start, sample=0.01, rtol=1e-11, atol=1e-13)
    yield drift(run["jellett"])
    yield largest(np.diff(run["energy"]), 0.0)
    yield float(run["tilt"].max() < 90)


@published_case(
    "clutch_engages",
    "Engagement of a clutch",
    "closed form",
    value("time of engagement (s)", 100 / (30 / 0.3 + 40 / 0.5), 1e-10),
    difference("slip in the end (rad/s)", 1e-11),
    value("moment that it carries then (N·m)", 0.3 * 10 / 0.8 - 20, 1e-9),
    page="impacts",
)
def measure_clutch() -> Iterator[float]:
    """Speeds meet after ω/((T_c − T_e)/I_e + (T_c + T_l)/I_l); then I_e and I_l turn as one."""
    s = System("clutch")
    engine = s.body("engine", joint=Revolute("z"), mass=1.0, inertia=(1, 1, 0.3))
    load = s.body("load", joint=Revolute("z"), mass=1.0, inertia=(1, 1, 0.5))
    s.moment("drive", 20.0, s.ground.z, on=engine)
    s.moment("drag", -10.0, s.ground.z, on=load)
    s.clutch("clutch", engine.q1, load.q1, capacity=50.0)
    run = s.derive().compile().simulate(3.0, initial={"engine.u1": 100.0}, **TIGHT)
    yield run.events[0].time
    yield abs(run.final["engine.u1"] - run.final["load.u1"])
    yield float(run.final["clutch"])
