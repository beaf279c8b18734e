"""Random mechanisms with rigid contacts: nothing overlaps, adheres, leaves its cone of friction or gains
energy, and runs do not depend on sizes, the order of contacts, a mirror, or lanes.
"""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.fuzz.contact_campaign import variation
from tests.fuzz.contact_checks import compare, find_faults, simulate, work_errors
from tests.fuzz.contact_mechanisms import PLAIN, Mechanism, make_mechanism, random_scale, vary

# Planar and spatial, free and jointed, a slider-crank (59); all have impacts, and time before the third.
SEEDS = (1, 12, 14, 19, 22, 53, 59, 1003, 1036, 1044)
SAME = 1e-7  # of lengths and speeds, until the third touch: impacts magnify differences

_MADE: dict[int, tuple[Mechanism, Any]] = {}


def made(seed: int) -> tuple[Mechanism, Any]:
    """Return a mechanism and its compiled model, once for all tests."""
    if seed not in _MADE:
        mechanism = make_mechanism(seed)
        _MADE[seed] = mechanism, mechanism.compile()
    return _MADE[seed]


@pytest.mark.parametrize("seed", SEEDS)
def test_runs_keep_the_laws_of_contact_in_all_sizes(seed: int) -> None:
    original, model = made(seed)
    rng = random.Random(seed)
    for mechanism in (original, vary(original, seed)):
        run = simulate(mechanism, model)
        assert find_faults(mechanism, run) == []
        scale = random_scale(rng)
        other = simulate(mechanism, model, scale)
        assert find_faults(mechanism, other, scale) == []
        assert compare(mechanism, run, other, scale) < SAME


@pytest.mark.parametrize("seed", SEEDS)
def test_fixed_steps_do_not_overlap(seed: int) -> None:
    mechanism, model = made(seed)
    run = simulate(mechanism, model, step=1e-3 * mechanism.duration)
    assert find_faults(mechanism, run, exact=False) == []


# Runs that were refused, hung or left the laws: no forces without a jam (20, 146), rebounds that contradict
# each other (158), redundant contacts (136, 188), slips that begin (178). All motion ends, so rows at rest
# have only the rounding of others (200170, 101605); two feet that come to rest while their body turns about
# them (202258, 202699); rebounds of a motion that rounding has left at rest elsewhere (200193). Arranged code
# with angles that may be large, beside long functions that rarely run (500013). A slip whose levers are those
# of its own normal bore half of the load, beyond its cone (410048); a contact that opens while it approaches
# too slowly for an impact closed again at once (410892).
REFUSED = ((20, 2), (136, 3), (146, 3), (158, 0), (178, 1), (188, 2))
REFUSED += ((200170, 2), (101605, 3), (202258, 0), (202699, 3), (200193, 0), (500013, 0))
REFUSED += ((410048, 0), (410892, 0))


@pytest.mark.parametrize(("seed", "turn"), REFUSED)
def test_runs_that_were_refused_keep_the_laws(seed: int, turn: int) -> None:
    original = make_mechanism(seed)
    mechanism = vary(original, 1000 * seed + turn) if turn else original
    assert find_faults(mechanism, simulate(mechanism, original.compile())) == []


@pytest.mark.parametrize(("seed", "turn"), ((202474, 2), (200913, 2), (600852, 0)))
def test_a_force_that_grows_without_bound_ends_in_a_jam(seed: int, turn: int) -> None:
    """Steps became too small there: friction makes the matrix of the sliding contacts singular while its
    loads are not. The tip of two links reverses its slip at their greatest reach, where friction would press
    it down (600852): no forces were admissible."""
    original = make_mechanism(seed)
    mechanism, model = vary(original, 1000 * seed + turn) if turn else original, original.compile()
    run = simulate(mechanism, model)
    assert find_faults(mechanism, run) == []
    assert "without collision" in run.info["contacts"]


@pytest.mark.parametrize(("seed", "turn"), ((203878, 1), (410012, 3), (201162, 3)))
def test_contacts_that_only_other_contacts_load_come_to_rest(seed: int, turn: int) -> None:
    """Without gravity a contact's sizes are those of what brakes do; with none its slip reversed forever. A
    stop that another contact loads returned in each tick of the time. Impulses of bodies that are clamped are
    far larger than their load, and their rounding seemed to move other contacts."""
    original = make_mechanism(seed)
    mechanism, scale = variation(original, turn)
    model = original.describe().derive().compile(tier="quick")
    assert find_faults(mechanism, simulate(mechanism, model, scale), scale) == []


@pytest.mark.parametrize("seed", (1, 14, 22, 1003))
def test_order_of_contacts_does_not_matter(seed: int) -> None:
    mechanism, model = made(seed)
    run = simulate(mechanism, model)
    other = simulate(mechanism, mechanism.compile(reverse=True))
    assert find_faults(mechanism, other) == []
    assert compare(mechanism, run, other) < SAME


@pytest.mark.parametrize("seed", (12, 19, 53, 59))
def test_a_mirrored_mechanism_has_the_mirrored_motion(seed: int) -> None:
    mechanism, model = made(seed)
    run = simulate(mechanism, model)
    other = simulate(mechanism, mechanism.compile(mirror=True), PLAIN, mirror=True)
    signs = {name: -1.0 if q.odd else 1.0 for name, q in mechanism.initial.items()}
    assert compare(mechanism, run, other, signs=signs) < SAME


@pytest.mark.parametrize("seed", (1, 22, 1036))
def test_lanes_are_equal_to_single_runs(seed: int) -> None:
    mechanism, model = made(seed)
    others = [mechanism, vary(mechanism, seed)]
    given = mechanism.settings()
    given["initial"] = {k: np.array([m.initial[k].value for m in others]) for k in given["initial"]}
    sample = mechanism.duration / 1000
    names = list(mechanism.initial)
    batch = model.simulate_batch(
        mechanism.duration, sample=sample, outputs=names, threads=1, progress=False, **given
    )
    assert list(batch.status) == ["finished"] * 2
    run = simulate(mechanism, model)
    lane = _Lane(np.asarray(batch.time), {name: np.asarray(batch[name])[0] for name in names})
    assert compare(mechanism, run, lane) < SAME


@pytest.mark.parametrize(
    ("event", "lost", "faulty"),
    [(None, 0.0, 0), (None, 1e-5, 1), ("c_grip", 0.0, 0), ("c_grip", 0.1, 1), ("c_touch", 0.1, 0)],
)
def test_energy_that_no_work_takes_is_found(event: str | None, lost: float, faulty: int) -> None:
    """A slip 1 − t loses the power 2 (1 − t), until an event at t = 0.505 takes ``lost``."""
    time = np.linspace(0.0, 0.9, 91)
    energy = (1.0 - time) ** 2 - lost * (time > 0.505)
    events = [] if event is None else [SimpleNamespace(name=event, time=0.505)]
    error, bound = work_errors(SimpleNamespace(time=time, events=events), 2.0 * (1.0 - time), energy)
    assert int((error > bound).sum()) == faulty


class _Lane(dict[str, np.ndarray]):
    """One run of a batch, as `compare` reads it."""

    def __init__(self, time: np.ndarray, values: dict[str, np.ndarray]) -> None:
        super().__init__(values)
        self.time = time
