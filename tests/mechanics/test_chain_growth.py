"""Cost of the recursive formalism grows linearly with the number of links, in operations, nodes and work."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.walk import operands_first
from armillary.mechanics.loads import applied_loads
from armillary.mechanics.regroup import regroup
from armillary.mechanics.tree import plant
from tests.mechanics.solving import rates


def chain(count: int, axes: str) -> arm.System:
    """Links with different parameters, mass centres off all axes, and hinges about the axes in turn."""
    s = arm.System(f"chain of {count}")
    link = None
    for i in range(count):
        link = s.body(
            f"L{i}",
            link,
            arm.Revolute(axes[i % len(axes)]),
            at=(0, -1 if i else 0, 0),
            com=(0.1, -0.5, 0.2),
            mass=f"m{i}",
            inertia=(f"a{i}", f"b{i}", f"c{i}"),
        )
    s.gravity(9.81, -s.ground.y)
    return s


def derivation(count: int, axes: str) -> tuple[int, int]:
    """(nodes, function calls) from the description to symbolic accelerations.

    Calls stand for time: they are the same on every run, where seconds on a shared machine vary twofold.
    """
    calls = 0

    def counted(frame: Any, event: str, argument: Any) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(counted)
    try:
        system = chain(count, axes)
        tree = regroup(plant(system))
        found = rates(tree, applied_loads(system, tree), "recursive")
    finally:
        sys.setprofile(None)
    return len(list(operands_first(found))), calls


def test_each_link_of_a_planar_chain_costs_exactly_the_same() -> None:
    totals = [chain(n, "z").derive("recursive").operations for n in (8, 16, 24)]
    for kind in ("additions", "multiplications", "divisions", "functions"):
        first, second, third = (getattr(t, kind) for t in totals)
        assert third - second == second - first, kind


@pytest.mark.parametrize("axes", ["z", "zxy"])
def test_derivation_grows_linearly(axes: str) -> None:
    """To 5 %: the first links move less than the others and cost less. Quadratic growth would double."""
    few, more, many = (np.array(derivation(count, axes)) for count in (16, 32, 64))
    np.testing.assert_allclose(many - more, 2 * (more - few), rtol=0.05)
