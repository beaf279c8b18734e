"""Values that sections share are those that each section computes by itself."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

import armillary as arm
from armillary.llvm import module, section_writer
from armillary.llvm.sections import llvm_text


def table_on_feet() -> arm.CompiledModel:
    s = arm.System("table")
    s.gravity(9.81, -s.ground.z)
    top = s.body("top", joint=arm.Free(), mass=2.0, inertia=(0.1, 0.2, 0.15))
    for i in range(6):
        turn = 2 * math.pi * i / 6
        foot = top.point(f"foot_{i}", (0.3 * math.cos(turn), 0.2 * math.sin(turn), -0.1))
        s.contact(f"c{i}", foot, plane=(s.ground, s.ground.z), friction=0.5, restitution=0.3)
    return s.derive().compile()


def reads_of(body: str, array: str) -> list[str]:
    """Lines of a function that read elements of an array, or hand it on."""
    pointers = [f"%{array}", *re.findall(rf"(%\S+) = getelementptr inbounds double, ptr %{array}, ", body)]
    words = [re.compile(rf"ptr {re.escape(p)}(?!\w)") for p in pointers]
    used = [line for line in body.split("\n") if any(word.search(line) for word in words)]
    return [line for line in used if "getelementptr" not in line and not line.startswith("  store")]


def test_functions_of_shared_values_do_not_read_what_they_write(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces hand values on with either sign, results have their own: a value from the wrong array would
    have the wrong sign in some mechanisms.
    """
    monkeypatch.setattr(section_writer, "PIECE", 40)
    text = llvm_text(table_on_feet().equations.program)
    written = re.findall(r"define internal void @(shared\d+)_\d+\(.*?\n(.*?)\n}", text, re.DOTALL)
    written += re.findall(r"define void @(shared\d+)\(.*?\n(.*?)\n}", text, re.DOTALL)
    assert len(written) > 4
    for array, body in written:
        if f"@{array}_0(" not in body:  # a function of several pieces hands its arrays on to them
            assert reads_of(body, array) == []


def test_sections_that_share_values_have_the_same_results(monkeypatch: pytest.MonkeyPatch) -> None:
    """Statuses of all kinds at random positions; then a fall onto the feet until the table rests."""
    monkeypatch.setattr(section_writer, "PIECE", 40)  # of many pieces
    shared = table_on_feet()
    text = llvm_text(shared.equations.program)
    assert "@shared1(" in text and "@copy_values_0(" in text
    monkeypatch.setattr(module, "LEAST", 10**9)
    alone = table_on_feet()
    assert "@shared0(" not in llvm_text(alone.equations.program)
    rng = np.random.default_rng(3)
    # Slowly: feet that stick contradict each other by products of speeds, and have 1e7 times that as forces.
    for _ in range(5):
        statuses = {f"c{i}_status": float(rng.choice([0, 1, 2])) for i in range(6)}
        q = np.array([*rng.uniform(-0.3, 0.3, 3), 1.0, 0.0, 0.0, 0.0])
        u = rng.uniform(-0.1, 0.1, 6)
        found, wanted = (m.accelerations(0.0, q, u, memory=statuses) for m in (shared, alone))
        assert np.allclose(found, wanted, rtol=1e-9, atol=1e-9)
    start = {"top.q3": 0.15, "top.u1": 0.2}
    found, wanted = (m.simulate(1.0, initial=start, max_steps=20000) for m in (shared, alone))
    assert len(found.events) == len(wanted.events) > 3
    assert np.allclose(found["top.q3"], wanted["top.q3"], atol=1e-9)
    assert abs(found["top.q3"][-1] - 0.1) < 1e-9
