"""Conditions of a contact's statuses: the signs that end them, and the direction of friction, at numbers."""

from __future__ import annotations

from typing import Any

import pytest

from armillary.algebra.calculus import evaluate
from armillary.algebra.expression import as_expr, symbol
from armillary.mechanics.contact.state import ContactState

OPEN, STICKS, SLIDES, BACK, JAMS, UNDECIDED = 0.0, 1.0, 2.0, -2.0, 3.0, 9.0
KNOWN = {
    "gap": 0.0, "closing": 0.0, "vx": 0.0, "vy": 0.0, "mu": 0.3, "mu_held": 0.5, "pressed": 4.0,
    "length": 2.0, "slow": 1e-9, "reversal": 1e-8, "gentle": 1e-6, "turning": 0.01, "dx": 0.6, "dy": 0.8,
    "push": 10.0, "most": 0.0, "fx": 0.0, "fy": 0.0, "size": 0.0, "status": OPEN,
}  # fmt: skip
S = {name: symbol(name) for name in KNOWN}


def contact(slips: int = 2, normal: int | None = 0) -> ContactState:
    names = ("vx", "vy")[:slips]
    return ContactState(
        "c", normal, tuple(range(1, 1 + slips)), S["status"], gap=S["gap"], closing=S["closing"],
        sliding=tuple(S[name] for name in names), friction=S["mu"], held=S["mu_held"], pressed=S["pressed"],
        length=S["length"], slow=S["slow"], reversal=S["reversal"], gentle=S["gentle"], turning=S["turning"],
        direction=(S["dx"], S["dy"]) if slips == 2 else (),
    )  # fmt: skip


def value(expression: Any, **given: float) -> float:
    return float(evaluate(as_expr(expression), {S[name]: x for name, x in (KNOWN | given).items()}))


def test_a_status_is_one_of_its_numbers() -> None:
    c = contact()
    kinds = {"open": c.open, "sticks": c.sticks, "slides": c.slides, "jams": c.jams, "undecided": c.undecided}
    true = {OPEN: "open", STICKS: "sticks", SLIDES: "slides", BACK: "slides", JAMS: "jams",
            UNDECIDED: "undecided"}  # fmt: skip
    for status, name in true.items():
        assert [kind for kind, e in kinds.items() if value(e, status=status)] == [name]
        assert bool(value(c.closed, status=status)) == (name in ("sticks", "slides"))
        assert bool(value(contact(0).closed, status=status)) == (name == "sticks")
    for gap, status, on, touches in (
        (0.0, STICKS, 1, 1), (1.9e-3, SLIDES, 1, 1), (2.1e-3, SLIDES, 0, 0), (1.9e-9, OPEN, 0, 1),
        (2.1e-9, OPEN, 0, 0),
    ):  # fmt: skip
        assert (value(c.on_surface, gap=gap, status=status), value(c.touches, gap=gap, status=status)) == (
            on, touches,
        )  # fmt: skip
    overlaps = [value(c.overlaps, gap=gap, status=s) for gap, s in
                ((-2.1e-3, UNDECIDED), (-1.9e-3, UNDECIDED), (-1.0, OPEN))]  # fmt: skip
    assert overlaps == [1, 0, 0]


@pytest.mark.parametrize(
    ("given", "positive"),
    [
        ({"gap": 0.1, "closing": -1.0}, True),
        ({"gap": -1e-6, "closing": -1.0}, False),
        ({"gap": -1e-6, "closing": 1.0}, True),  # on its way up
        ({"gap": -1e-9, "closing": -5e-10}, False),  # more slowly than CREEP, and deeper than SUNK
        ({"gap": -1e-9, "closing": -5e-13}, True),  # others hold it
        ({"gap": -1e-15, "closing": -5e-10}, True),
        ({"status": STICKS}, True),
        ({"status": STICKS, "push": -1e-3}, False),
        ({"status": STICKS, "push": -1e-3, "size": 1e9}, True),  # rounding of large forces
        ({"status": SLIDES, "gap": 2.1e-3}, False),  # beyond an edge
        ({"status": SLIDES, "most": 11.0}, True),
        ({"status": SLIDES, "most": 9.0}, False),  # it jams
        ({"status": JAMS}, False),
    ],
)
def test_a_contact_opens_closes_and_jams_by_the_sign_of_its_guard(
    given: dict[str, float], positive: bool
) -> None:
    found = value(contact().normal_guard(S["push"], S["size"], S["most"]), **given)
    assert (found > 0) is positive, found


@pytest.mark.parametrize(
    ("slips", "given", "positive"),
    [
        (2, {"status": STICKS, "fx": 3.0, "fy": 3.9}, True),  # 0.5 of 10 N hold 4.92 N
        (2, {"status": STICKS, "fx": 3.0, "fy": 4.1}, False),
        (2, {"status": SLIDES, "vx": 0.6, "vy": 0.8}, True),
        (2, {"status": SLIDES, "vx": 0.8, "vy": 0.6}, False),  # turned by 16°
        (2, {"status": SLIDES, "vx": 0.7, "vy": 0.7}, True),  # by 8°
        (2, {"status": SLIDES, "vx": -0.6, "vy": -0.8}, False),
        (1, {"status": SLIDES, "vx": 1e-6}, True),
        (1, {"status": SLIDES, "vx": -1e-6}, False),
        (1, {"status": BACK, "vx": -1e-6}, True),
        (1, {"status": BACK, "vx": 1e-6}, False),
        (1, {"status": OPEN}, True),
    ],
)
def test_a_slip_sticks_and_slides_by_the_sign_of_its_guard(
    slips: int, given: dict[str, float], positive: bool
) -> None:
    friction: list[Any] = [S["fx"], S["fy"]][:slips]
    found = value(contact(slips).slip_guard(S["push"], friction, S["size"]), **given)
    assert (found > 0) is positive, found


def test_a_brake_holds_up_to_its_capacity_and_waits_for_one() -> None:
    brake = contact(1, normal=None)
    assert brake.is_brake and not contact().is_brake
    guard = brake.slip_guard(S["push"], [S["fx"]], S["size"])
    holds = [value(guard, status=STICKS, mu_held=6.0, fx=force) > 0 for force in (5.9, -5.9, 6.1, -6.1)]
    assert holds == [True, True, False, False]
    assert [value(guard, status=OPEN, mu=capacity) > 0 for capacity in (0.0, 0.1)] == [True, False]
    assert value(brake.limit(S["push"], held=False), mu=6.0) == 6.0
    assert value(contact().limit(S["push"], held=False)) == 3.0
    assert value(contact().limit(S["push"], held=True)) == 5.0
    [along] = brake.slide_direction((S["vx"],))
    assert [value(along, status=OPEN, vx=v) for v in (0.2, -0.2)] == [1, -1]


@pytest.mark.parametrize(
    ("velocity", "direction"),
    [
        ((1.2, 1.6), (0.6, 0.8)),
        ((-0.6, -0.8), (0.6, 0.8)),  # against the memory: reflected
        ((1.4, -0.2), (1.4, -0.2)),  # 0.68 along it
        ((-1.4, 0.2), (-0.584, 1.288)),  # −0.68 along it: v + 2 · 0.68 d
        ((0.0, 0.0), (0.6, 0.8)),
    ],
)
def test_friction_acts_against_the_slip_and_never_along_it(
    velocity: tuple[float, float], direction: tuple[float, float]
) -> None:
    found = contact().slide_direction((S["vx"], S["vy"]))
    for turning in (0.0, 0.5):
        x, y = direction[0] + turning * 0.6, direction[1] + turning * 0.8
        size = (x * x + y * y) ** 0.5
        given = {"vx": velocity[0], "vy": velocity[1], "turning": turning}
        assert [value(e, **given) for e in found] == pytest.approx([x / size, y / size])
    [line] = contact(1).slide_direction((S["vx"],))
    assert [value(line, status=s, vx=velocity[0]) for s in (SLIDES, BACK, STICKS)] == [1, -1, 0]


def test_a_slide_jams_at_twice_the_force_after_its_last_event() -> None:
    bound = contact().jam_bound(S["most"])
    assert [value(bound, most=most) for most in (0.0, 3.0, 20.0)] == [0.0, 8.0, 20.0]
