"""Formalisms agree with multipliers by numbers, and so with each other, on random closed mechanisms."""

from __future__ import annotations

import numpy as np
import pytest

import armillary as arm
from tests.mechanics.closed_mechanisms import outputs_at
from tests.mechanics.constrained_agreement import LOOPS, check


@pytest.mark.parametrize("seed", range(11, 11 + len(LOOPS)))
@pytest.mark.parametrize("formalism", ["kane", "recursive"])
def test_closed_trees(seed: int, formalism: str) -> None:
    """Each kind of closure on another tree."""
    check(seed, LOOPS[seed - 11], formalism)


@pytest.mark.parametrize("seed", range(31, 35))
def test_closed_trees_as_described(seed: int) -> None:
    """Without regrouping of inertia."""
    check(seed, LOOPS[seed % len(LOOPS)], ("kane", "recursive")[seed % 2], regroup=False)


@pytest.mark.parametrize("seed", [168, 185, 190, 198])
def test_closures_between_neighbours_lock_their_joint_and_nothing_else(seed: int) -> None:
    """Factors of all other speeds vanish where the loop is closed; by numbers they are rounding, not rows."""
    check(seed, LOOPS[seed % len(LOOPS)], "recursive")


def test_the_second_hinge_of_a_door_on_a_ship_says_nothing_new() -> None:
    """A hinge closed on the axis of the first: the motion is that of the door with one."""

    def ship(hinges: int) -> arm.System:
        s = arm.System("ship")
        hull = s.body("hull", joint=arm.Free("xyz"), mass=9, inertia=(3, 4, 5))
        at, axis = (0.3, 0.7, 0.1), (0.36, -0.48, 0.8)
        door = s.body(
            "door", hull, arm.Revolute((0.36, -0.48, 0.8)), at=at, mass=1, inertia=(1, 1, 1), com=(0.4, 0, 0)
        )
        s.gravity(9.81, -s.ground.y)
        if hinges == 2:
            above = tuple(x + 1.3 * a for x, a in zip(at, axis, strict=True))
            on_door = door.point(tuple(1.3 * a for a in axis))
            s.close_joint("revolute", on_door, hull.point(above), axis=axis, name="upper")
        for u in s.speeds:
            s.output(f"rate of {u}", arm.time_derivative(u))
        return s

    rng = np.random.default_rng(3)
    q, u = rng.normal(size=7), rng.normal(size=7)
    one, two = ship(1), ship(2)
    expected = outputs_at(one, q, u, "recursive")
    for formalism in ("kane", "recursive"):
        found = outputs_at(two, q, u, formalism)
        assert found == pytest.approx(expected, rel=1e-10, abs=1e-10)


def swing(*, small: bool) -> arm.System:
    """A bar hung between two hangers of unequal length, straight down at zero."""
    s = arm.System("swing")
    N = s.ground
    one = (0.1, 0.1, 0.1)
    A = s.body("A", joint=arm.Revolute("z"), mass=1, inertia=one, com=(0.02, -0.3, 0))
    B = s.body("B", A, arm.Revolute("z"), at=(0, -0.6, 0), mass=2, inertia=one, com=(0.4, -0.1, 0))
    C = s.body("C", joint=arm.Revolute("z"), at=(1.0, 0.1, 0), mass=1.5, inertia=one, com=(0, -0.2, 0))
    s.gravity(9.81, -N.y)
    s.close_loop(B.point((1, 0, 0)), C.point((0, -0.7, 0)), [N.x, N.y], name="pin")
    if small:
        s.small(*s.coordinates, *s.speeds)
    return s


@pytest.mark.parametrize("formalism", ["kane", "recursive"])
def test_a_closed_loop_of_small_angles_errs_in_second_order(formalism: str) -> None:
    """Half the angle, a quarter of the difference from the full model, at most."""
    full = swing(small=False).derive(formalism).compile()
    slight = swing(small=True).derive(formalism).compile()

    def difference(size: float) -> float:
        start = {"A.q1": size, "A.u1": size}
        rates = [m.derivatives(0.0, m.state(start))[-1] for m in (full, slight)]
        return abs(rates[1] - rates[0])

    assert 0 < difference(0.05) < difference(0.1) / 3.9
    assert 0 < difference(0.025) < difference(0.05) / 3.9


def test_small_declarations_can_be_ignored() -> None:
    assert swing(small=True).derive(small=False).operations == swing(small=False).derive().operations
