"""The solver of contacts at numbers: forces and statuses satisfy the conditions of complementarity, which are
written here once more.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from armillary.algebra.calculus import evaluate
from armillary.algebra.expression import ZERO, as_expr
from armillary.mechanics.contact.blocks import ContactBlock, ContactShape
from armillary.mechanics.contact.decision import (
    ContactRows,
    Loads,
    _Choice,
    _is_at_dead_centre,
    _is_at_rest,
)
from armillary.mechanics.contact.state import ContactState


def solve(
    J: np.ndarray,
    free: np.ndarray,
    rows: list[tuple[int, tuple[int, ...]]],
    friction: list[float],
    rebound: np.ndarray | None = None,
    **choices: Sequence[float],
) -> dict[str, np.ndarray]:
    """Return the solution for unit masses, where all contacts touch."""
    block = ContactBlock("contact_problem", ContactShape(rows, J.shape[1]))
    n, m = len(rows), len(free)
    given = {name: np.zeros(block.vectors[name]) for name in block.takes}
    given |= {"jacobian": J.ravel(), "columns": J.ravel(), "free": free, "friction": np.array(friction)}
    given |= {name: np.ones(n) for name in ("active", "rests", "before")} | {"static": np.array(friction)}
    given["rebound"] = np.zeros(m) if rebound is None else rebound
    given |= {name: np.array(values, float) for name, values in choices.items()}
    found = block.value(*[float(x) for name in block.takes for x in given[name]])
    return {name: np.array(x, float) for name, x in block.split(block.gives, found).items()}


def largest_violation(
    J: np.ndarray,
    free: np.ndarray,
    rows: list[tuple[int, tuple[int, ...]]],
    friction: list[float],
    force: np.ndarray,
) -> float:
    """Return the greatest violation of 0 ≤ λ_N ⟂ z_N ≥ 0 and of Coulomb's law, λ_T = the nearest point of the
    cone's section to λ_T − z_T, as a share of the greatest velocity."""
    z = J @ (J.T @ force) + free
    found = [0.0]
    for (n, slip), mu in zip(rows, friction, strict=True):
        found.append(abs(force[n] - np.maximum(force[n] - z[n], 0.0)))
        if slip:
            wanted = force[list(slip)] - z[list(slip)]
            length = float(np.linalg.norm(wanted))
            inside = wanted * min(1.0, mu * max(force[n], 0.0) / length) if length > 0.0 else wanted
            found.append(float(np.linalg.norm(inside - force[list(slip)])))
    return float(np.max(found)) / float(np.abs(free).max())


@pytest.mark.parametrize("seed", range(6))
def test_compression_of_any_motion_has_a_solution(seed: int) -> None:
    """Free velocities that belong to one motion leave impulses, however many contacts there are (Klarbring &
    Pang 1998). More rows than speeds: often all motion ends, and impulses are not unique."""
    random = np.random.default_rng(seed)
    speeds, contacts = 3, 4
    rows = [(2 * c, (2 * c + 1,)) for c in range(contacts)]
    J = random.normal(size=(2 * contacts, speeds))
    friction = list(random.uniform(0.2, 1.2, contacts))
    free = J @ random.normal(size=speeds)
    found = solve(J, free, rows, friction)
    assert found["failed"][0] in (0, 2)
    assert largest_violation(J, free, rows, friction, found["force"]) < 1e-9


def test_contacts_that_nearly_hold_each_other_have_a_solution() -> None:
    """Normals to both sides of nearly one line: relaxation alone did not come to its end in 9,300 sweeps."""
    random = np.random.default_rng(261)
    speeds, contacts = 4, 6
    line = random.normal(size=speeds)
    J = np.zeros((2 * contacts, speeds))
    for c in range(contacts):
        side = line / np.linalg.norm(line) * (1 if c % 2 else -1)
        J[2 * c] = side + 0.004 * random.normal(size=speeds)
        J[2 * c + 1] = random.normal(size=speeds)
    friction = list(random.uniform(0.1, 0.8, contacts))
    free = J @ random.normal(size=speeds)
    rows = [(2 * c, (2 * c + 1,)) for c in range(contacts)]
    found = solve(J, free, rows, friction)
    assert found["failed"][0] in (0, 2)
    assert largest_violation(J, free, rows, friction, found["force"]) < 1e-9


def test_a_normal_and_a_slip_that_nearly_move_together_have_a_solution() -> None:
    """The tip of two bodies that are nearly stretched, where the rows differ by 1e-6: softness hid the motion
    that they leave, and a bouncing tip found no impulses.
    """
    row = np.array([-0.05, 0.17])
    J = np.array([row, -5.7 * row + [1e-6, 1e-6]])
    found = solve(J, J @ np.array([-1.0, -1.0]), [(0, (1,))], [0.7])
    assert found["failed"][0] == 0 and found["status"][0] == 1
    # A = J Jᵀ has pivots of 1e-12, so 4 of 16 digits may remain; twice as many do.
    assert found["force"] == pytest.approx([5.7e6, 1e6], rel=1e-7)
    assert found["loaded"] == pytest.approx([1.0, 1.0], rel=1e-7)


def test_clutches_that_contradict_each_other_load_each_other_until_one_slides() -> None:
    """Two clutches of nearly one ratio and a brake hold two bodies, one of which rests on a floor that moves.
    Any forces of one sum hold both clutches; each sweep of relaxation shifts a little of it from one to the
    other, and trials let the wrong one slide: two of these 16 found no statuses (random mechanism 602832.2).
    """
    random = np.random.default_rng(0)
    rows = [(0, ()), (None, (1,)), (None, (2,)), (None, (3,))]
    for _ in range(16):
        floor, ratio = random.uniform(0.2, 2), random.uniform(0.5, 2.5)
        other = ratio * (1 + random.choice([-1, 1]) * 10 ** random.uniform(-4, -1))
        J = np.array([[1.0, -floor], [1.0, -ratio], [0.0, 1.0], [1.0, -other]])
        free = J @ (random.normal(size=2) * random.uniform(0, 15))
        free[0] += random.choice([-1, 1]) * 10 ** random.uniform(-3, 0)
        limits = [0.0, *random.uniform(1, 20, 3)]
        found = solve(J, free, rows, [0.0] * 4, capacity=limits, static_capacity=limits)
        assert found["failed"][0] == 0
        z = J @ (J.T @ found["force"]) + free
        for force, motion, limit in zip(found["force"][1:], z[1:], limits[1:], strict=True):
            assert abs(force) <= limit * (1 + 1e-9)
            assert abs(motion) < 1e-8 or force == pytest.approx(-np.copysign(limit, motion))


@pytest.mark.parametrize("friction", [0.1, 0.6])
def test_a_slip_that_reverses_at_the_greatest_reach_of_two_links_jams(friction: float) -> None:
    """Normal and slip have nearly one row, t ≈ 4.5 n, and the slip's acceleration differs from 4.5 times the
    normal's, whatever the forces: it slides on in that direction. With μ > 1/4.5 its friction would press it
    down more than its normal force lifts it. So no statuses are found (random mechanism 600852); as it jams,
    an impulse stops the links, though a force has a lever of 1e-9 for that.
    """
    normal, across = np.array([0.09, 0.008]), np.array([0.008, -0.09])
    J = np.array([normal, 4.5 * normal + 1e-9 * across])
    free = np.array([-0.5, -0.5 * 4.5 + 0.01])
    found = solve(J, free, [(0, (1,))], [friction])
    assert found["failed"][0] == (1 if friction > 1 / 4.5 else 0)
    assert found["doubt"][0] == (1 if friction > 1 / 4.5 else 0)
    speeds = 0.3 * np.array([0.008, -0.09])
    found = solve(J, J @ speeds, [(0, (1,))], [friction], active=[4])
    assert found["loaded"] == pytest.approx(-speeds, rel=1e-5)
    assert J.T @ found["force"] == pytest.approx(-speeds, rel=1e-5)


def test_forces_that_grow_without_end_are_no_solution() -> None:
    """A wall on each side, both approached: b is that of no motion, and relaxation diverges."""
    J = np.array([[1.0], [-1.0]])
    found = solve(J, np.array([-1.0, -0.5]), [(0, ()), (1, ())], [0.0, 0.0])
    assert found["failed"][0] == 1


def test_a_stop_beside_a_brake_that_holds_its_joint_is_open() -> None:
    """Rounding of the stop's motion alternated with a pull on it; then improved forces, in which it had none,
    were taken with the status closed, and the forces at this status pulled with the load of the brake
    (random mechanism 330992.3).
    """
    shape = ContactShape([(0, (1,)), (None, (2,)), (None, (3,)), (4, ())], 3)
    turn = [33.95172780557927, -0.5147215178461029, 0.5834406550635448]
    normal = [100689.44151287556, 129246.52123028884, 63.79440258236774]
    slip = [130974.56230852, -97002.44586927723, 28.7282306372738]
    shift = [-29.952806198742095, 161628.95630187858, -0.5147215178461028]
    capacity = [0.0, 4.645616357919369e-05, 3.4828824531169843e-07, 0.0]
    levers = [0.6, 0.8, 75.13213680408131, 0.8, -0.6, 2.156201271174199]
    given = {
        "jacobian": [*levers, 0, 0, 1, 0, 1, 0, 0, 0, 1],
        "columns": [*normal, *slip, *turn, *shift, *turn],
        "free": [
            -0.0028667412412007407, 0.0021500559309005555, -9.652215968876054e-24, -0.003583426551500926,
            -9.652215968876054e-24,
        ],
        "unloaded": [0, 0, 0],
        "rebound": [0] * 5,
        "active": [1, 1, 1, 1],
        "rests": [0, 1, 0, 1],
        "friction": [0.8489446070596217, 0, 0, 0],
        "static": [0.8489446070596217, 0, 0, 0],
        "capacity": capacity,
        "static_capacity": capacity,
        "before": [0, 1, 1, 0],
        "least": [2.2499768067216902e-07, 0, 0, 1.0616269030960325e-10],
        "direction": [0, -1, 0, 1, 0],
    }  # fmt: skip
    block = ContactBlock("contact_problem", shape)
    values = block.value(*[float(x) for name in block.takes for x in given[name]])
    found = block.split(block.gives, list(values))
    assert found["failed"][0] == 0
    assert list(found["status"]) == [2, 1, 2, 0]
    assert -capacity[1] < found["force"][2] < -0.9 * capacity[1]


def test_redundant_friction_bears_nothing_that_normals_can_bear() -> None:
    """Three normals hold three speeds, and friction is left over. Its row is off by 3e-12, as if the others
    were nearly dependent: it was taken for a row that does not hold, and shared the load (330930.0).
    """
    J = np.array([[1, 0, 0], [0.2, 0.3, 0.9], [0.6, 0.8, 0], [0.3, 0.4, 0.5]])
    block = ContactBlock("contact_forces", ContactShape([(0, (1,)), (2, ()), (3, ())], 3))
    given = {name: np.zeros(block.vectors[name]) for name in block.takes}
    given |= {"jacobian": J.ravel(), "columns": J.ravel(), "held": np.ones(4), "asked": np.array([1.0, 0, 0])}
    given["static"] = np.array([0.5, 0, 0])
    given["free"] = -J @ (J.T @ [1, 0, 1, 1]) + [0, 3e-12, 0, 0]
    values = block.value(*[float(x) for name in block.takes for x in given[name]])
    found = block.split(block.gives, list(values))
    assert found["force"] == pytest.approx([1, 0, 1, 1], abs=2e-3)


def test_a_jam_holds_the_slip_beside_a_contact_that_slides() -> None:
    """Numbers of random mechanism 522191.1, rounded. Relaxation left the slip of the jammed contact as it
    was, and the contact jammed again at once."""
    J = np.array(
        [
            [0.743, 0.562, 0.349, 0.105],
            [0.949, -0.236, 0.165, -0.127],
            [0.612, -0.657, -0.433, 0.088],
            [-0.267, -0.778, 0.567, 0.04],
        ]
    )
    free = np.array([0.0, 0.00033, 0.0, 1.0])
    found = solve(J, free, [(0, (1,)), (2, (3,))], [0.974, 0.213], active=(3, 1), before=(0, 1))
    assert found["failed"][0] == 0
    assert list(found["status"]) == [1, 2]
    after = free + J @ found["loaded"]
    assert after[:3] == pytest.approx(0.0, abs=1e-14)
    assert found["force"][3] == pytest.approx(-0.213 * found["force"][2], rel=1e-12)


def test_the_share_of_a_load_does_not_depend_on_a_contact_without_a_load() -> None:
    """A foot that slides and a stop bear one load, and friction of the foot presses a third contact. With
    the smallest forces it was neither closed nor open: the shares changed with its status (random mechanism
    522010.0). Equal shares are those of equal springs; the load of the third is small on both sides of zero.
    """
    rows: list[tuple[int, tuple[int, ...]]] = [(0, (1,)), (2, ()), (3, ())]
    J = np.array([[0, 1, 0], [1, 0, 0.2], [0, 1, 0], [0.3, 0.2, 1]])
    friction = [0.2, 0.0, 0.0]
    for load in (-1e-6, 1e-6):
        # λ = (1, −0.2, 1, load) holds the third contact; without it only its acceleration is left.
        free = -J @ (J.T @ [1, -0.2, 1, load])
        free[1] += 5.0
        found = solve(J, free, rows, friction, rests=(0, 1, 1), direction=(0, 1, 0, 0))
        assert found["failed"][0] == 0
        assert list(found["status"]) == [2, 1, load > 0]
        assert found["force"][:3] == pytest.approx([1, -0.2, 1], abs=1e-5)
        assert found["force"][3] == pytest.approx(max(load, 0.0), abs=1e-12)


@pytest.mark.parametrize(
    ("rests", "given", "found", "expected"),
    [
        (1, (0, 0), (0.6, 0.8), True),
        (0.5, (1, 0), (1, 0), False),
        (0.5, (1, 0), (-0.98, 0.2), True),  # it was stopped, and is pulled the other way
        (0, (1, 0), (1, 0), False),
    ],
)
def test_a_slow_slip_that_turns_begins_from_rest(
    rests: float, given: tuple[float, float], found: tuple[float, float], expected: bool
) -> None:
    """With its velocity left, the slide ended at once, again and again (random mechanism 520009.3)."""
    contact = ContactState("c", 0, (1, 2), ZERO)
    choice = _Choice((1, 2), 1, rests, direction=given)
    assert bool(as_expr(_is_at_rest(contact, choice, (0, *found))).data) == expected


@pytest.mark.parametrize(
    ("lever", "speed", "expected"), [(0.0, 2e-9, True), (0.0, 0.5e-9, False), (1.0, 2e-9, False)]
)
def test_a_slip_that_no_impulse_ends_is_at_a_dead_centre(lever: float, speed: float, expected: bool) -> None:
    """It was to begin from rest, but kept its velocity against that: an event followed at once, endlessly."""
    J = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, lever]
    shape = ContactShape([(0, (1, 2))], 3)
    names = ("contact_rates", "contact_forces", "contact_problem", "contact_problem")
    rows = ContactRows(J, J, *[ContactBlock(name, shape) for name in names])
    contact = ContactState("c", 0, (1, 2), ZERO, reversal=1e-9, slow=2e-5, turning=1e-4)
    stopped = Loads([0.0, 0.0, -speed * lever], [0.0, 0.0, -speed * lever])
    found = _is_at_dead_centre(rows, contact, [0.0, 0.0, speed], stopped)
    assert bool(evaluate(as_expr(found), {})) == expected


def test_a_slip_is_at_a_dead_centre_if_all_impulses_together_stop_its_bodies() -> None:
    """Two slips were slow at one dead centre, and the impulse of another row did the work: the second slip
    was stopped, and with it the whole mechanism (random mechanism 4005265.17).
    """
    J = [1.0, 0.0, 0.0, 1e-4, 0.0, -1e-4]  # a normal and two slips of one motion, whose speed is 0.1
    rows = ContactRows(J, J, *[ContactBlock("contact_rates", ContactShape([(0, (1,)), (None, (2,))], 2))] * 4)
    contact = ContactState("c", 0, (1,), ZERO, slow=5e-5, turning=3e-4)
    loads = Loads([0.0, 500.0, 1500.0], [0.0, -0.1])  # 1e-4 (500 − 1500) = −0.1
    velocities = [0.0, 1e-5, -1e-5]
    assert not bool(evaluate(as_expr(_is_at_dead_centre(rows, contact, velocities, loads)), {}))
    assert bool(evaluate(as_expr(_is_at_dead_centre(rows, contact, velocities, loads, alone=False)), {}))


@pytest.mark.parametrize("lever", [0.0, 1e-30, 1e-19, 1e-17, 1e-15, 1e-8])
@pytest.mark.parametrize("normal", [True, False])
def test_a_slip_that_accelerates_without_a_lever_slides(lever: float, normal: bool) -> None:
    """At a dead centre of its mechanism: no friction holds it. It stuck there, if its lever was zero, or so
    short that its row had nothing but rounding beside a normal."""
    force, rate = 50.0, 12.8
    if normal:
        J, free = np.array([[0.0, 1.0], [lever, 0.0]]), np.array([-force, -rate])
        found = solve(J, free, [(0, (1,))], [0.2])
    else:
        capacity = {name: [0.2 * force] for name in ("capacity", "static_capacity")}
        found = solve(np.array([[lever]]), np.array([-rate]), [(None, (0,))], [0.0], **capacity)
    assert found["failed"][0] == 0 and found["status"][0] == 2
    assert found["force"][-1] == pytest.approx(0.2 * force, rel=1e-12)
