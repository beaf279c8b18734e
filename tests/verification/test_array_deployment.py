"""An array that unfolds panel by panel against a hand derivation with one angle at a time, and conservation.

From rest nothing gives the satellite momentum, so while one hinge moves there are two rigid bodies in a plane
about their common mass centre, and one equation; and when it locks, everything stands still.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import pi
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import armillary as arm
from examples.array_deployment import FORMALISMS, PANELS, TUMBLING, system
from tests.verification.common import (
    ACCELERATIONS,
    TIGHT,
    accelerations,
    assert_close,
    assert_constant,
    assert_near,
)

HUB, HINGE, ARM, MASS, MOMENT = (120.0, 24.0), np.array([0.5, 0.4]), 1.2, 6.0, 0.75
STIFFNESS, DAMPING, BEYOND, RELEASE = 1.5, 0.4, pi / 9, 1.0
FOLDED = [pi / 2, -pi, pi]
END = 12.0


def turned(angle: float) -> np.ndarray:
    """Rotation about y of (x, z) components."""
    return np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])


@dataclass(frozen=True)
class Group:
    """Rigid bodies in the x-z plane, as one: mass, mass centre, moment about it."""

    mass: float
    centre: np.ndarray
    moment: float

    def __add__(self, other: Group) -> Group:
        mass = self.mass + other.mass
        apart = other.centre - self.centre
        reduced = self.mass * other.mass / mass
        return Group(
            mass,
            (self.mass * self.centre + other.mass * other.centre) / mass,
            self.moment + other.moment + reduced * apart @ apart,
        )


def stack(angles: list[float]) -> Group:
    """Panels on each other at angles of their hinges, from the inner hinge of the first."""
    place, turn, made = np.zeros(2), 0.0, None
    for angle in angles:
        turn += angle
        along = turned(turn) @ np.array([ARM, 0.0])
        panel = Group(MASS, place + along / 2, MOMENT)
        made = panel if made is None else made + panel
        place = place + along
    assert made is not None
    return made


@dataclass(frozen=True)
class Swing:
    """One hinge that moves: what is behind it from the hinge, what is before it from its own mass centre.

    With a ω + b θ̇ = 0, no angular momentum about the common mass centre, the kinetic energy is ½ J(θ) θ̇² with
    J = d − b²/a, and J θ̈ + ½ J' θ̇² = −k (θ − θ₀) − c θ̇.
    """

    inner: Group
    outer: Group
    hinge: np.ndarray
    rest: float

    def rates(self, t: float, y: np.ndarray) -> list[float]:
        """θ̇, θ̈ and ω at (θ, θ̇, turn of the hub)."""
        theta, speed, _ = y
        m = self.inner.mass * self.outer.mass / (self.inner.mass + self.outer.mass)
        out = turned(theta) @ self.outer.centre
        apart = self.hinge + out
        a = self.inner.moment + self.outer.moment + m * apart @ apart
        b = self.outer.moment + m * apart @ out
        d = self.outer.moment + m * out @ out
        slope = m * self.hinge @ turned(theta + pi / 2) @ self.outer.centre  # b', and a' is twice that
        inertia_slope = -2 * b * slope / a + 2 * slope * (b / a) ** 2
        force = -STIFFNESS * (theta - self.rest) - DAMPING * speed - 0.5 * inertia_slope * speed**2
        return [speed, force / (d - b * b / a), -b / a * speed]


def by_hand() -> list[tuple[float, float]]:
    """(time, turn of the hub) at each latch."""

    def straight(t: float, y: np.ndarray) -> float:
        return float(y[0])

    straight.terminal = True  # type: ignore[attr-defined]
    found, time, pitch = [], RELEASE, 0.0
    hub = Group(HUB[0], np.zeros(2), HUB[1])
    for i, folded in enumerate(FOLDED):
        place = HINGE + np.array([ARM * i, 0.0])
        swing = Swing(hub, stack([0.0, *FOLDED[i + 1 :]]), place - hub.centre, -np.sign(folded) * BEYOND)
        way = solve_ivp(
            swing.rates, (time, time + 60), [folded, 0.0, pitch], "DOP853", rtol=1e-12, atol=1e-13,
            events=straight,
        )  # fmt: skip
        time, pitch = float(way.t_events[0][0]), float(way.y_events[0][0][2])
        found.append((time, pitch))
        hub = hub + Group(MASS, place + np.array([ARM / 2, 0.0]), MOMENT)
    return found


@cache
def model(formalism: str = "auto", together: bool = False) -> Any:
    """The satellite; the one that unfolds one by one shows what moves its hub as well."""
    s = system(together)
    hub, panel = s.bodies["hub"], s.bodies["panel1"]
    if formalism == "auto" and not together:
        s.output("push", arm.magnitude(arm.acceleration(hub.com)) * s.expression(f"{HUB[0]}"))
        s.output("turning", arm.dot(arm.angular_acceleration(hub), hub.y) * s.expression(f"{HUB[1]}"))
        for letter, axis in (("x", hub.x), ("z", hub.z)):
            s.output(f"force {letter}", -arm.dot(s.reaction_force(panel), axis), units="N")
    return s.derive(formalism).compile()


def latches(run: arm.Run) -> list[tuple[float, str]]:
    return [(e.time, e.name) for e in run.events if e.name.endswith("latches")]


@pytest.mark.parametrize("formalism", ["auto", "momentum"])
def test_latches_come_when_and_where_a_hand_derivation_says(formalism: str) -> None:
    run = model(formalism).simulate(END, sample=0.01, **TIGHT)
    expected = by_hand()
    assert [name for _, name in latches(run)] == [f"panel{i} latches" for i in (1, 2, 3)]
    assert_near([t for t, _ in latches(run)], [t for t, _ in expected], 1e-9, "times of the latches")
    assert_near(np.radians(run.final["pitch"]), expected[-1][1], 1e-9, "turn of the hub, rad")
    for i, (time, pitch) in enumerate(expected, start=1):
        if i < PANELS:  # it moves on from there, at first slowly
            after = int(np.searchsorted(run.time, time))
            assert_near(np.radians(run["pitch"][after]), pitch, 1e-6, f"turn of the hub at latch {i}, rad")


def test_the_stack_is_held_until_its_locks_open() -> None:
    run = model().simulate(END, sample=0.01, **TIGHT)
    before = run.time < RELEASE
    for i, angle in enumerate(FOLDED, start=1):
        assert np.all(run[f"panel{i}.q1"][before] == angle)
    assert run.events[0].name == "launch locks open"
    assert run.events[0].time == pytest.approx(RELEASE, abs=1e-12)
    released = {e.name: e.time for e in run.events}
    for i in (2, 3):  # each by the latch before it, at the same instant
        assert released[f"panel{i} is released"] == released[f"panel{i - 1} latches"]
        held = run.time < released[f"panel{i} is released"]
        assert np.all(run[f"panel{i}.q1"][held] == FOLDED[i - 1])


def test_a_satellite_at_rest_stands_still_after_each_latch() -> None:
    """No momentum, so no motion: the energy just after a latch is that of the springs alone."""
    times = [t for t, _ in by_hand()]
    run = model().simulate(END, sample=[0.0, *(t + d for t in times for d in (-1e-6, 1e-6)), END], **TIGHT)
    for i in range(PANELS):
        angles = [0.0] * (i + 1) + FOLDED[i + 1 :]
        strain = sum(
            0.5 * STIFFNESS * (angle + np.sign(folded) * BEYOND) ** 2
            for angle, folded in zip(angles, FOLDED, strict=True)
        )
        before, after = run["energy"][1 + 2 * i : 3 + 2 * i]
        assert before > strain + 1.0
        assert after == pytest.approx(strain, rel=1e-10)
    assert run.final["energy"] == pytest.approx(strain, rel=1e-12)


@pytest.mark.parametrize(
    ("formalism", "together"),
    [("auto", True), ("momentum", False)],
    ids=["auto-together", "momentum-one by one"],
)
def test_a_tumbling_satellite_keeps_its_momenta(formalism: str, together: bool) -> None:
    """Through every impulse, while energy falls at each; at the end it turns as one rigid body."""
    run = model(formalism, together).simulate(30.0, sample=0.01, initial=TUMBLING, **TIGHT)
    assert sorted(name for _, name in latches(run)) == [f"panel{i} latches" for i in (1, 2, 3)]
    for letter in "xyz":
        assert_constant(run, f"p{letter}", 1e-10, scale=10.0)
        assert_constant(run, f"h{letter}", 1e-10, scale=1.0)
    moving = run.time > RELEASE
    assert np.all(np.diff(run["energy"][moving]) < 1e-12)
    for time, _ in latches(run):
        k = int(np.searchsorted(run.time, time))
        fall = -np.diff(run["energy"])
        assert fall[k - 1] > 10 * fall[k - 3]
    assert_near([run.final[f"panel{i}.q1"] for i in (1, 2, 3)], 0.0, 1e-12, "angles of the latched hinges")
    assert_near(run.final["energy"], energy_as_one_body(run), 1e-10, "energy as one rigid body, J")


def energy_as_one_body(run: arm.Run) -> float:
    """½ p²/m + ½ h·I⁻¹h + strain of the straight satellite."""
    parts = [(HUB[0], np.zeros(3), (20.0, 24.0, 18.0))]
    parts += [(MASS, np.array([0.5 + ARM * (i + 0.5), 0, 0.4]), (0.5, 0.75, 1.2)) for i in range(PANELS)]
    mass = sum(m for m, _, _ in parts)
    centre = sum(m * r for m, r, _ in parts) / mass
    inertia = sum(
        np.diag(J) + m * ((r - centre) @ (r - centre) * np.eye(3) - np.outer(r - centre, r - centre))
        for m, r, J in parts
    )
    e = np.array([run.final[f"hub.q{i}"] for i in (4, 5, 6, 7)])
    h = np.array([run.final[f"h{a}"] for a in "xyz"])
    e0, v = e[0], -e[1:]  # into the hub's axes
    own = h + 2 * e0 * np.cross(v, h) + 2 * np.cross(v, np.cross(v, h))
    p = np.array([run.final[f"p{a}"] for a in "xyz"])
    strain = PANELS * 0.5 * STIFFNESS * BEYOND**2
    return float(0.5 * p @ p / mass + 0.5 * own @ np.linalg.solve(inertia, own) + strain)


@pytest.mark.parametrize("together", [False, True], ids=["one by one", "together"])
def test_momenta_and_speeds_as_states_give_one_motion(together: bool) -> None:
    runs = [
        model(formalism, together).simulate(END, sample=0.02, initial=TUMBLING, **TIGHT)
        for formalism in ("auto", "momentum")
    ]
    assert_near([t for t, _ in latches(runs[1])], [t for t, _ in latches(runs[0])], 1e-9, "latches")
    for name in ("panel1.q1", "panel2.q1", "panel3.q1", "hub.u5", "pitch", "energy"):
        assert_close(runs[1][name], runs[0][name], 1e-8, f"{name}, momenta and speeds")


def test_the_wing_alone_moves_the_hub() -> None:
    """m a and I α of the hub from what the first hinge does to it, locked or free."""
    watched = model()
    at_rest = watched.simulate(END, sample=0.05, **TIGHT)
    lever = HINGE[1] * at_rest["force x"] - HINGE[0] * at_rest["force z"]
    assert_close(at_rest["hub moment"] + lever, at_rest["turning"], 1e-9, "moment of the wing on the hub")
    run = watched.simulate(END, sample=0.05, initial=TUMBLING, **TIGHT)
    assert_close(run["hub force"], run["push"], 1e-9, "force of the wing on the hub")


def test_all_formalisms_agree_with_all_hinges_free() -> None:
    s = system(together=True)
    s.locked.clear()
    rng = np.random.default_rng(8)
    found = {}
    for formalism in FORMALISMS:
        free = s.derive(formalism).compile()
        if not found:
            q, u = rng.uniform(-1, 1, len(free.coordinate_names)), rng.uniform(-1, 1, len(free.speed_names))
            q[3:7] /= np.linalg.norm(q[3:7])
        found[formalism] = accelerations(free, 0.0, q, u)
    for formalism in FORMALISMS[1:]:
        assert_close(found[formalism], found["kane"], ACCELERATIONS, f"kane and {formalism}")
