"""Equations with fewer operations by search: they are the same equations, found again in every process."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import armillary as arm
from armillary import cache
from armillary.algebra.expression import symbol
from armillary.algebra.functions import let
from armillary.program import sections
from armillary.program.checker import check_program


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sections, "ORDERS_TRIED", 4)
    monkeypatch.setattr(sections, "SETS_TRIED", 15)
    monkeypatch.setenv("ARMILLARY_CACHE", str(tmp_path / "kept"))


def wrist() -> arm.System:
    s = arm.System("wrist")
    s.gravity(9.81, -s.ground.z)
    body = None
    for i, axis in enumerate("zyy"):
        body = s.body(
            f"L{i}", parent=body, joint=arm.Revolute(axis), at=(0.1 * i, 0, 0.2), mass=1.0 + i,
            com=(0.05, 0.02 * i, 0.1), inertia=(0.1, 0.2, 0.15 + 0.04 * i),
        )  # fmt: skip
    return s


def test_a_search_finds_the_same_motion_with_fewer_operations() -> None:
    s = wrist()
    usual, searched = s.derive("kane"), s.derive("kane", effort="high")
    assert searched.operations.weight < usual.operations.weight
    assert searched.searched[-1].after == searched.operations
    assert searched.searched[0].before == usual.operations
    check_program(searched.program)
    rng = np.random.default_rng(3)
    one, other = usual.compile(), searched.compile()
    for _ in range(5):
        q, u = rng.normal(size=(2, 3))
        np.testing.assert_allclose(one.accelerations(0.0, q, u), other.accelerations(0.0, q, u), rtol=1e-11)
    assert "search, values dissolved" in str(searched.report())


def test_choices_are_kept_and_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    s = wrist()
    first = s.derive("kane", effort="high")
    assert cache.size()[0] == 2  # the order and the values
    again = s.derive("kane", effort="high")
    assert again.program.derivatives.results == first.program.derivatives.results
    monkeypatch.setenv("ARMILLARY_CACHE", "off")
    anew = s.derive("kane", effort="high")
    assert anew.program.derivatives.results == first.program.derivatives.results
    assert [g.after for g in anew.searched] == [g.after for g in again.searched]


@pytest.mark.parametrize("content", [None, b"no list", b'{"a": 1}', b"[100]", b'["0"]', b"[-1]"])
def test_choices_of_another_search_do_no_harm(monkeypatch: pytest.MonkeyPatch, content: bytes | None) -> None:
    x, y = symbol("x", "coordinate"), symbol("y", "coordinate")
    value = let(x + y * y, "v")
    right, _ = sections.fewest_operations([value * x + y, value * y], ())
    monkeypatch.setattr(cache, "fetch", lambda name: content)
    assert sections.fewest_operations([value * x + y, value * y], ())[0] == right


def test_other_efforts_are_refused() -> None:
    with pytest.raises(arm.ModelError, match="effort='extreme' is none of normal, high"):
        wrist().derive(effort="extreme")
