"""Single functions of the solver of contacts, written in a part of Python and run as Python."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

from armillary.mechanics.contact import held_rows, independent_rows, problem, status_search, statuses
from armillary.mechanics.contact.contact_thresholds import JAM, ROUNDING_SHARE, SOFT


@pytest.fixture
def one_contact(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A point of unit mass on a plane: rows 0 (normal), 1 and 2 (slips) are its three speeds."""
    names: dict[str, Any] = {
        "N_CONTACTS": 1, "N_CONTACT_ROWS": 3, "N_CONTACT_SPEEDS": 3, "NORMAL_ROW": [0], "SLIP_ROW": [1],
        "SLIP_END": [3], "NONE": -1, "sqrt": math.sqrt, "at": lambda i, n, j: i * n + j,
    }  # fmt: skip
    for module in (problem, status_search):
        for name, value in names.items():
            monkeypatch.setattr(module, name, value, raising=False)
    lists = {name: np.zeros(3) for name in ("force", "moved", "side", "steady", "best")}
    return SimpleNamespace(
        jacobian=np.eye(3).ravel(), columns=np.eye(3).ravel(), diagonal=np.ones(3), size=np.ones(3),
        active=[1.0], friction=[0.5], capacity=[0.25], static=[0.6], static_capacity=[0.3], rests=[1.0],
        direction=np.array([0.0, 0.6, 0.8]), **lists,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("state", "free", "expected"),
    [
        ({"rests": [0.0]}, (-2, 0.1, 0.2), (2, -1.25 * 0.6, -1.25 * 0.8)),  # slides: μ N + capacity
        ({}, (-2, 0.9, 1.2), (2, -0.9, -1.2)),  # held by 0.6 N + 0.3 = 1.5
        ({}, (-2, 1.2, 1.6), (2, -1.25 * 0.6, -1.25 * 0.8)),  # not held
        ({"active": [3.0]}, (-2, 1.2, 1.6), (2, -1.2, -1.6)),  # jams
        ({}, (1, 1.2, -1.6), (0, -0.25 * 0.6, 0.25 * 0.8)),  # open: the capacity alone
        ({"active": [2.0]}, (1, 0.3, 0.4), (-1, 0, 0)),  # the normal is held, its friction is not asked
        ({"active": [0.0]}, (-2, 1.2, 1.6), (0, 0, 0)),
    ],
)
def test_relaxation_gives_a_single_contact_its_forces_at_once(
    state: dict[str, list[float]], free: tuple[float, ...], expected: tuple[float, ...],
    one_contact: SimpleNamespace,
) -> None:  # fmt: skip
    """Coulomb's law of a point of unit mass on a plane; the changes of its speeds are the forces."""
    run = SimpleNamespace(**vars(one_contact) | state, free=np.array(free, float))
    for _ in range(2):  # the second sweep begins at the solution
        status_search.relax(run)
        assert run.force == pytest.approx(expected, abs=1e-15)
        assert run.moved == pytest.approx(run.force, abs=1e-15)


def test_changes_of_forces_are_continued_as_a_geometric_series(one_contact: SimpleNamespace) -> None:
    """1 + 1/2 + 1/4 … of the last change again, up to where the normal force would pull."""
    for ratio, steady, expected in (
        (0.5, (0.3, -0.1, 0.2), (1.3, 1.9, 3.2)),
        (0.75, (0.3, -0.1, 0.2), (1.9, 1.7, 3.6)),
        (0.75, (-0.5, -0.1, 0.2), (0.0, 1.8, 3.4)),
        (1.0, (0.3, -0.1, 0.2), (1.0, 2.0, 3.0)),
    ):
        one_contact.force, one_contact.steady = np.array([1.0, 2.0, 3.0]), np.array(steady)
        status_search.extrapolate(one_contact, ratio)
        assert one_contact.force == pytest.approx(expected)
    one_contact.active, one_contact.force = [2.0], np.array([1.0, 2.0, 3.0])
    one_contact.steady = np.array([-0.5, 0.0, 0.0])
    status_search.extrapolate(one_contact, 0.75)
    assert one_contact.force[0] == pytest.approx(-0.5)  # a held normal may pull


class Copies(SimpleNamespace):
    """A record that takes the values of arrays, as in the solver's language, not their names."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value.copy() if isinstance(value, np.ndarray) else value)


Make = Callable[..., Copies]


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch) -> Make:
    """Makes a record of contacts, (row of the normal, rows of slip) each, with all rows held."""

    def made(J: np.ndarray, D: np.ndarray, contacts: list[tuple[int, range]], **values: Any) -> Copies:
        rows, speeds = J.shape
        names: dict[str, Any] = {
            "N_CONTACTS": len(contacts), "N_CONTACT_ROWS": rows, "N_CONTACT_SPEEDS": speeds,
            "NORMAL_ROW": [n for n, _ in contacts], "SLIP_ROW": [k.start if k else -1 for _, k in contacts],
            "SLIP_END": [k.stop if k else -1 for _, k in contacts],
        }  # fmt: skip
        for module in (problem, held_rows, independent_rows, statuses, status_search):
            for name, value in names.items():
                monkeypatch.setattr(module, name, value)
        most = max(rows, speeds)
        sizes = {"ContactRows": rows, "ContactReals": len(contacts), "ContactTerms": rows * speeds,
                 "ContactSquare": most * most, "ContactSpeeds": speeds, "Wholes": most}  # fmt: skip
        run = Copies()
        for name, kind in problem.Contacts.__annotations__.items():
            setattr(run, name, np.zeros(max(sizes[kind], most), dtype=int if kind == "Wholes" else float))
        given = {"jacobian": J.ravel(), "columns": D.ravel(), "held": np.ones(rows), "asked": np.ones(1)}
        for name, value in (given | values).items():
            setattr(run, name, np.array(value, dtype=float))
        return run

    return made


def masses(J: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Columns M⁻¹ Jᵀ as rows, of a random mass matrix."""
    root = rng.normal(size=(J.shape[1],) * 2)
    return np.asarray(J @ (root @ root.T + np.eye(J.shape[1])))


@pytest.mark.parametrize("solve", [held_rows.solve_held_rows, independent_rows.solve_forces])
@pytest.mark.parametrize(("rows", "speeds"), [(1, 3), (3, 4), (6, 4), (9, 2)])
def test_rows_that_hold_have_the_smallest_forces(
    solve: Callable[[Copies], None], rows: int, speeds: int, make: Make
) -> None:
    """A λ + b = 0 with the least Σ A_ii λ_i², by NumPy's pseudoinverse; the sizes of rows are the sums of the
    magnitudes of their terms.
    """
    rng = np.random.default_rng(rows)
    J = rng.normal(size=(rows, speeds))
    D = masses(J, rng)
    free, unloaded = J @ rng.normal(size=speeds), rng.normal(size=speeds)
    run = make(J, D, [(i, range(0)) for i in range(rows)], free=free, unloaded=unloaded)
    problem.measure_rows(run)
    solve(run)
    root = np.sqrt(np.sum(J * D, axis=1))
    expected = np.linalg.pinv(J @ D.T / np.outer(root, root), rcond=1e-10) @ (-free / root) / root
    assert run.force[:rows] == pytest.approx(expected, abs=1e-6 * np.abs(expected).max())
    moved = D.T @ expected
    assert run.moved[:speeds] == pytest.approx(moved, rel=1e-9, abs=1e-9)
    size = np.abs(free) + np.abs(J * moved).sum(axis=1)
    size = np.maximum(size, ROUNDING_SHARE * np.max(size / root) * root)
    assert run.size[:rows] == pytest.approx(size, rel=1e-6)
    if solve is independent_rows.solve_forces:
        assert run.force_size[:rows] == pytest.approx(size / root**2, rel=1e-6)
        assert run.loaded[:speeds] == pytest.approx(unloaded + moved, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("solve", [held_rows.solve_held_rows, independent_rows.solve_forces])
def test_slides_rub_in_proportion_to_their_normals(solve: Callable[[Copies], None], make: Make) -> None:
    """Two contacts and a brake: the first slides with λ = o − w λ_N, the second sticks, and the row of
    the brake has a given force.
    """
    rng = np.random.default_rng(8)
    J = rng.normal(size=(7, 7))
    D = masses(J, rng)
    held, weight = np.array([1, 0, 0, 1, 1, 1, 0.0]), np.array([0, 0.3, -0.2, 0, 0, 0, 0])
    offset, free = np.array([0, 0.4, 0.1, 0, 0, 0, 0.7]), rng.normal(size=7)
    contacts = [(0, range(1, 3)), (3, range(4, 6)), (-1, range(6, 7))]
    run = make(J, D, contacts, free=free, held=held, weight=weight, offset=offset)
    problem.measure_rows(run)
    solve(run)
    on, off = np.flatnonzero(held), np.flatnonzero(held == 0)
    law = np.zeros((7, 7))  # all forces from those of rows that hold
    law[on, on] = 1.0
    law[off, 0] = -weight[off]
    A = J @ D.T
    found = np.linalg.solve((A @ law)[np.ix_(on, on)], -(free + A @ offset)[on])
    expected = offset + law[:, on] @ found
    assert run.force == pytest.approx(expected, rel=1e-9)
    motion = A @ expected + free
    assert motion[on] == pytest.approx(0, abs=1e-9)
    independent_rows.find_motion(run)
    assert run.motion == pytest.approx(motion, abs=1e-9)


@pytest.mark.parametrize("pressed", [True, False])
def test_a_slide_jams_at_a_multiple_of_the_force_without_friction(pressed: bool, make: Make) -> None:
    """JAM times the force for its acceleration without forces; where the force is larger, at least JAM times
    the one without friction, −b/A.
    """
    J = np.array([[1.0, 0.0], [1.0, 1.0]])
    D = J / 2.0  # a mass of 2 kg
    run = make(J, D, [(0, range(1, 2))], free=[-3.0, 0.0], held=[1.0, 0.0], weight=[0.0, 0.5], natural=[4e-6])
    problem.measure_rows(run)
    run.force[:2] = [1.0, -0.5] if pressed else [0.07, -0.035]
    held_rows.bound_normals(run)
    own = JAM * 4e-6 / 0.5
    assert own == pytest.approx(0.08)
    assert run.most[0] == pytest.approx(JAM * 6.0 if pressed else own)
    assert run.force[0] == (1.0 if pressed else 0.07)


def test_redundant_friction_is_soft_where_its_limit_is_small(make: Make) -> None:
    """Softness goes with the inverse of the limit, up to a largest one; all limits zero: nothing is set."""
    J = np.eye(9)
    contacts = [(3 * c, range(3 * c + 1, 3 * c + 3)) for c in range(3)]
    force = np.array([8.0, 0, 0, 2.0, 0, 0, -5.0, 0, 0])
    run = make(J, J, contacts, force=force, static=[0.5, 0.5, 0.5], static_capacity=[0.0, 1.0, 0.0])
    problem.measure_rows(run)
    assert [held_rows.friction_limit(run, c) for c in range(3)] == [4.0, 2.0, 0.0]
    assert held_rows.share_friction(run, 3.0, 50.0)
    assert run.softness / SOFT == pytest.approx([0, 3, 3, 0, 6, 6, 0, 150, 150])
    run.static, run.static_capacity = np.zeros(3), np.zeros(3)
    assert not held_rows.share_friction(run, 3.0, 50.0)


def test_a_row_that_moves_nothing_has_no_force(make: Make) -> None:
    """Of a contact between bodies without freedom: the others have the forces that they have alone."""
    rng = np.random.default_rng(5)
    J = rng.normal(size=(3, 4))
    J[1] = 0.0
    D = masses(J, rng)
    free = np.array([0.3, 0.7, -0.2])
    for solve in (held_rows.solve_held_rows, independent_rows.solve_forces):
        run = make(J, D, [(i, range(0)) for i in range(3)], free=free)
        problem.measure_rows(run)
        solve(run)
        kept = [0, 2]
        expected = np.linalg.solve((J @ D.T)[np.ix_(kept, kept)], -free[kept])
        assert run.force[kept] == pytest.approx(expected) and run.force[1] == 0
        assert run.held[:3].tolist() == [1, 0, 1]


ONE = [(0, range(1, 3))]  # a contact in space: its normal, and two slips


@pytest.mark.parametrize(
    ("status", "active", "held", "rubs"),
    [(0, 1, (0, 0, 0), False), (1, 1, (1, 1, 1), False), (2, 1, (1, 0, 0), True), (1, 2, (1, 0, 0), False),
     (1, 3, (1, 1, 1), False)],
)  # fmt: skip
def test_a_status_holds_its_rows(
    status: float, active: float, held: tuple[int, ...], rubs: bool, make: Make
) -> None:
    """A slide has the friction μ N + c along −e; one whose normal alone is held slips freely."""
    run = make(np.eye(3), np.eye(3), ONE, held=np.zeros(3), slack=np.ones(3), weight=np.ones(3),
               offset=np.ones(3), friction=[0.5], capacity=[0.2], direction=[0.0, 0.6, -0.8])  # fmt: skip
    run.status, run.active = np.array([float(status)]), np.array([float(active)])
    statuses.set_rows(run, 0)
    assert tuple(run.held) == held and not run.slack.any()
    assert run.weight == pytest.approx([0, 0.3, -0.4] if rubs else [0, 0, 0])
    assert run.offset == pytest.approx([0, -0.12, 0.16] if rubs else [0, 0, 0])


def test_rows_of_a_slip_are_turned_together_and_back(make: Make) -> None:
    """J, columns, velocities, forces and directions turn as vectors; the angles are added, and turning back
    restores all.
    """
    rng = np.random.default_rng(9)
    J, D = rng.normal(size=(2, 3, 5))
    vectors = {name: rng.normal(size=3) for name in ("free", "force", "best", "direction")}
    run = make(J, D, ONE, **vectors)
    run.cosine, run.sine = np.ones(3), np.zeros(3)
    total = 0.4 + 1.1
    for angle in (0.4, 1.1):
        statuses.turn_rows(run, 0, math.cos(angle), math.sin(angle))
    Q = np.eye(3)
    Q[1:, 1:] = [[math.cos(total), math.sin(total)], [-math.sin(total), math.cos(total)]]
    assert run.jacobian.reshape(3, 5) == pytest.approx(Q @ J)
    assert run.columns.reshape(3, 5) == pytest.approx(Q @ D)
    for name, given in vectors.items():
        assert getattr(run, name)[:3] == pytest.approx(Q @ given), name
    assert (run.cosine[0], run.sine[0]) == pytest.approx((math.cos(total), math.sin(total)))
    statuses.turn_back(run)
    assert run.jacobian.reshape(3, 5) == pytest.approx(J)
    assert run.force[:3] == pytest.approx(vectors["force"]) and run.sine[0] == pytest.approx(0)


@pytest.mark.parametrize(
    ("given", "worst", "wanted"),
    [
        ({"status": 0, "motion": (-0.5, 0, 0)}, 0.05, 1),  # open, and it approaches
        ({"status": 0, "motion": (0.5, 0, 0)}, -0.05, 1),
        ({"status": 0, "motion": (-0.5, 0, 0), "active": 0}, 0.0, 0),
        ({"status": 1, "force": (-0.5, 0, 0)}, 0.1, 0),  # closed, and it pulls: times its diagonal, 2
        ({"status": 1, "force": (-0.5, 0, 0), "active": 2}, 0.0, 1),
        ({"status": 1, "force": (4, 3, 4)}, 4 * (5 - 3.0) / 10, 2),  # sticks, beyond 0.6 · 4 + 0.6
        ({"status": 1, "force": (4, 1, 2)}, 4 * (5**0.5 - 3.0) / 10, 2),  # it does not contradict
        ({"status": 2, "force": (4, 0, 0), "motion": (0, -0.6, -0.8)}, 0.1, 1),  # slides backwards
        ({"status": 2, "force": (4, 0, 0), "motion": (0, 0.6, 0.8)}, -0.1, 1),
        ({"status": 2, "force": (4, 0, 0), "motion": (0, -0.6, -0.8), "rests": 0}, -0.8, 0),
    ],
)
def test_a_contradiction_is_a_share_of_the_size_of_its_rows(
    given: dict[str, Any], worst: float, wanted: int, make: Make
) -> None:
    own = {
        "friction": [0.5],
        "capacity": [0.2],
        "static": [0.6],
        "static_capacity": [0.6],
        "size": [10.0] * 3,
        "direction": [0, 0.6, 0.8],
        "force": np.zeros(3),
        "motion": np.zeros(3),
        "active": 1,
        "rests": 1,
    }
    run = make(np.eye(3), 2 * np.eye(3), ONE, **{
        name: np.atleast_1d(x) if name in ("status", "active", "rests") else x
        for name, x in (own | given).items()
    })  # fmt: skip
    problem.measure_rows(run)
    found = statuses.contradiction(run, 0)
    assert (found, run.wanted[0]) == (pytest.approx(worst, abs=1e-12), wanted)
    before = run.status[0]
    statuses.change_status(run, 0)
    assert run.status[0] == wanted
    if wanted == 2 and before == 1:
        friction = np.array(given["force"][1:], float)
        assert run.direction[1:] == pytest.approx(-friction / np.linalg.norm(friction))


@pytest.mark.parametrize(
    ("best", "force", "share", "wanted"),
    [
        ((4, 0, 0), (5, 1, 0), 1.0, 1),
        ((4, 0, 0), (-2, 0, 0), 4 / 6, 0),  # the normal is zero
        ((4, 0.5, 0.2), (3, 4, 1), None, 2),  # the limit of friction is reached
        ((4, 1, -0.5), (9, -6, 5), None, 2),
        ((4, 2.4, 0), (4, 3, 0), 0.0, 2),  # it is at its limit from the start
    ],
)
def test_forces_change_up_to_the_first_limit(
    best: tuple[float, ...], force: tuple[float, ...], share: float | None, wanted: int, make: Make
) -> None:
    """|T| = μ N along the straight line between the forces, by a root finder."""
    run = make(np.eye(3), np.eye(3), ONE, best=best, force=force, status=[1.0], wanted=[1.0], active=[1.0],
               static=[0.6], size=np.ones(3))  # fmt: skip
    problem.measure_rows(run)
    if share is None:
        start, end = np.array(best, float), np.array(force, float)

        def beyond(x: float) -> float:
            at = start + x * (end - start)
            return float(np.hypot(at[1], at[2]) - 0.6 * at[0])

        share = float(brentq(beyond, 0, 1, xtol=1e-15))
    assert status_search.admissible_share(run, 0) == pytest.approx(share, abs=1e-12)
    assert run.wanted[0] == wanted


@pytest.mark.parametrize(("lever", "doubt"), [(0.5, 0), (1.9, 0), (2.1, 1), (5.0, 1)])
def test_a_normal_force_that_grows_with_its_own_friction_is_in_doubt(
    lever: float, doubt: int, make: Make
) -> None:
    """A_NN − μ A_NT ≤ 0, with μ = 0.5 and A_NN = 1: from A_NT = 2 on (Painlevé)."""
    J, D = np.eye(2), np.array([[1.0, lever], [lever, 30.0]])
    run = make(J, D, [(0, range(1, 2))], friction=[0.5], direction=[0.0, 1.0], status=[2.0], active=[1.0])
    problem.measure_rows(run)
    assert bool(status_search.find_doubt(run)) == bool(doubt) and run.doubt[0] == doubt
    run.direction[1] = -1.0  # the other way it presses less
    assert not status_search.find_doubt(run)


@pytest.mark.parametrize(("seed", "tilt"), [(6, 0.0135), (17, 0.0135), (25, 0.1), (5, 0.002)])
def test_a_body_that_contacts_clamp_is_struck(seed: int, tilt: float, make: Make) -> None:
    """A stop and a tilted plane hold a body with a hundred times the load of a struck contact. Two contacts
    opposite to the stop need no force; the rounding of the others' forces moves their rows.
    """
    rng = np.random.default_rng(seed)
    J = np.array([[1.0, 0, 0], [-1, 0, 0], [-math.cos(tilt), math.sin(tilt), 0], [-1, 0, 0], [0, 0, 0]])
    J[4] = rng.normal(size=3)
    J[4, 1] = -1.0
    D = masses(J, rng)
    free = np.array([0, 0, 0, 0, -1.0])
    run = make(J, D, [(i, range(0)) for i in range(5)], free=free, active=[1.0] * 5, rests=[1.0] * 5,
               before=[1.0, 0, 1, 0, 0])  # fmt: skip
    status_search.solve_contacts(run)
    assert run.failed[0] == 0
    on = [0, 2, 4]
    expected = np.zeros(5)
    expected[on] = np.linalg.solve((J @ D.T)[np.ix_(on, on)], -free[on])
    assert run.force[:5] == pytest.approx(expected, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(("capacity", "status"), [(19.22, 1), (19.42, 1), (19.7, 2), (19.9, 2)])
def test_a_slide_that_begins_moves(capacity: float, status: int, make: Make) -> None:
    """A brake that slides increases the load N + T₁ of a contact from 0.2 to 0.2 + 0.9 (19.82 − capacity);
    the load T₂ is 0.5. Within its cone the contact then sticks, though a slide with |T| = N has no motion
    either.
    """
    J = np.array([[1.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    D = J @ np.array([[1.0, 0, 0.9], [0, 1, 0], [0.9, 0, 1]])
    free = -(J @ D[[0, 2, 3]].T) @ [0.2, 0.5, 19.82]
    run = make(J, D, [(0, range(1, 3)), (-1, range(3, 4))], free=free, friction=[1.0, 0], static=[1.0, 0],
               capacity=[0, capacity], static_capacity=[0, capacity], active=[1.0] * 2, rests=[1.0] * 2,
               before=[1.0] * 2)  # fmt: skip
    status_search.solve_contacts(run)
    assert run.failed[0] == 0 and run.status[0] == status
    load = 0.2 + 0.9 * max(19.82 - capacity, 0)
    normal, friction = run.force[0], run.force[1:3]
    assert normal + friction[0] == pytest.approx(load, rel=1e-9)
    assert run.force[3] == pytest.approx(min(capacity, 19.82), rel=1e-9)
    if status == 1:
        assert friction[1] == pytest.approx(0.5, rel=1e-9) and abs(friction[0]) < 1e-4
    else:
        motion = free + J @ (D.T @ run.force[:4])
        assert np.hypot(*friction) == pytest.approx(normal) and friction @ motion[1:3] < -0.1 * normal


@pytest.mark.parametrize("excess", [1e-5, -1e-5])
def test_a_brake_slides_where_others_move_it(excess: float, make: Make) -> None:
    """At a dead centre the second brake's row is a combination of other rows. Its acceleration is
    ``excess`` whatever its force, so it slides that way with its greatest force.
    """
    lever, limit = 1e-3, 2.0
    J = np.array([[0, 1.0], [1, 0], [1, lever]])
    free = np.array([-1.0, 0.5, 0.5 - lever + excess])
    run = make(J, J, [(0, range(0)), (-1, range(1, 2)), (-1, range(2, 3))], free=free, active=[1.0] * 3,
               rests=[1.0] * 3, before=[1.0] * 3, capacity=[0, 10.0, limit],
               static_capacity=[0, 10.0, limit])  # fmt: skip
    status_search.solve_contacts(run)
    assert run.failed[0] == 0 and run.status[:3].tolist() == [1, 1, 2]
    force = -math.copysign(limit, excess)
    assert run.force[:3] == pytest.approx([1 - lever * force, -0.5 - force, force], rel=1e-6)
