"""Cost of the recursive formalism grows linearly with the number of links, in operations, nodes and work."""

from __future__ import annotations

import gc
import sys
from typing import Any

import pytest

import armillary as arm
from armillary.algebra.walk import operands_first
from armillary.mechanics.tree.build import build_tree
from armillary.mechanics.tree.kinematics import applied_loads
from armillary.mechanics.tree.regroup import regroup
from tests.mechanics.solving import rates


def chain(count: int, axes: str, *, parameters: bool) -> arm.System:
    """Links with mass centres off all axes and hinges about the axes in turn; alike or each its own."""
    s = arm.System(f"chain of {count}")
    link = None
    for i in range(count):
        link = s.body(
            f"L{i}",
            link,
            arm.Revolute(axes[i % len(axes)]),
            at=(0, -1 if i else 0, 0),
            com=(0.1, -0.5, 0.2),
            mass=f"m{i}" if parameters else 2.0,
            inertia=(f"a{i}", f"b{i}", f"c{i}") if parameters else (0.1, 0.2, 0.25),
        )
    s.gravity(9.81, -s.ground.y)
    return s


def derivation(count: int, axes: str, *, parameters: bool) -> tuple[int, int]:
    """(nodes, function calls) from the description to symbolic accelerations; calls for numbers alone.

    Calls stand for time: they are the same on every run, where seconds on a shared machine vary twofold.
    """
    calls = 0

    def counted(frame: Any, event: str, argument: Any) -> None:
        nonlocal calls
        calls += event == "call"

    gc.disable()  # what earlier tests left would be forgotten meanwhile, node by node, and be counted
    sys.setprofile(None if parameters else counted)
    try:
        system = chain(count, axes, parameters=parameters)
        tree = regroup(build_tree(system))
        found = rates(tree, applied_loads(system, tree), "recursive")
    finally:
        sys.setprofile(None)
        gc.enable()
    return len(list(operands_first(found))), calls


def test_each_link_of_a_planar_chain_costs_exactly_the_same() -> None:
    totals = [chain(n, "z", parameters=True).derive("recursive").operations for n in (4, 8, 12)]
    for kind in ("additions", "multiplications", "divisions", "functions"):
        first, second, third = (getattr(t, kind) for t in totals)
        assert third - second == second - first, kind


@pytest.mark.parametrize(
    ("axes", "parameters"),
    [("zxy", False), ("zxy", True), ("z", True)],
    ids=["numbers", "parameters", "planar, parameters"],
)
def test_derivation_grows_linearly(axes: str, parameters: bool) -> None:
    """To 3 %: the first links move less than the others and cost less. Quadratic growth would double.

    Work is compared for numbers alone: parameters of all links beyond a joint stand in sums of constants,
    whose length grows along the chain though their number does not.
    """
    few, more, many = (derivation(count, axes, parameters=parameters) for count in (9, 18, 36))
    assert many[0] - more[0] == pytest.approx(2 * (more[0] - few[0]), rel=0.03)
    if not parameters:
        assert many[1] - more[1] == pytest.approx(2 * (more[1] - few[1]), rel=0.03)
