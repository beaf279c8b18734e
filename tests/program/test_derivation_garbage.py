"""Derivations and Python's collector of cyclic garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

import armillary as arm
from armillary.program.formalisms import formalism


def pendulum() -> arm.System:
    s = arm.System("pendulum")
    s.body("bob", joint=arm.Revolute("z"), com=(0.0, -1.0, 0.0), mass=2.0, inertia=(0.1, 0.1, 0.1))
    s.gravity(9.81, -s.ground.y)
    return s


@pytest.fixture
def nothing_frozen(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The suite freezes what it imports; here as in a program that does not."""
    monkeypatch.setattr(formalism, "_frozen_by_others", False)
    gc.unfreeze()
    yield
    gc.collect()
    gc.freeze()


@pytest.mark.usefixtures("nothing_frozen")
def test_nodes_of_a_derivation_are_old_objects() -> None:
    """The next collections do not scan them."""
    equations = pendulum().derive()
    old = {id(found) for found in gc.get_objects(generation=2)}
    assert gc.isenabled()
    assert {id(node) for node in equations.program.derivatives.nodes} <= old


@pytest.mark.usefixtures("nothing_frozen")
def test_old_objects_are_collected_after_many_derivations(monkeypatch: pytest.MonkeyPatch) -> None:
    collected = []
    monkeypatch.setattr(formalism, "_MANY", 0)
    monkeypatch.setattr(formalism.gc, "collect", lambda: collected.append(True))
    pendulum().derive()
    assert collected


def test_objects_that_a_program_froze_stay_frozen() -> None:
    gc.freeze()
    before = gc.get_freeze_count()
    pendulum().derive()
    assert gc.get_freeze_count() >= 0.9 * before  # some are freed when nothing refers to them


def test_frozen_objects_are_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python walks through all of them, 0.1 s for three millions."""
    counted = []
    monkeypatch.setattr(formalism, "_frozen_by_others", False)
    monkeypatch.setattr(formalism.gc, "get_freeze_count", lambda: counted.append(True) or 1)
    for _ in range(3):
        pendulum().derive()
    assert len(counted) == 1
