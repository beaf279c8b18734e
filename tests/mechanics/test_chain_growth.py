"""Cost of the recursive formalism grows linearly with the number of links, in operations, nodes and time."""

from __future__ import annotations

import time

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


def derivation(count: int, axes: str) -> tuple[int, float]:
    """(nodes, seconds) from the description to symbolic accelerations, the better of two times."""
    best, nodes = float("inf"), 0
    for _ in range(2):
        start = time.perf_counter()
        system = chain(count, axes)
        tree = regroup(plant(system))
        found = rates(tree, applied_loads(system, tree), "recursive")
        best = min(best, time.perf_counter() - start)
        nodes = len(list(operands_first(found)))
    return nodes, best


def test_each_link_of_a_planar_chain_costs_exactly_the_same() -> None:
    totals = [chain(n, "z").derive("recursive").operations for n in (8, 16, 24)]
    for kind in ("additions", "multiplications", "divisions", "functions"):
        first, second, third = (getattr(t, kind) for t in totals)
        assert third - second == second - first, kind


@pytest.mark.parametrize("axes", ["z", "zxy"])
def test_derivation_grows_linearly(axes: str) -> None:
    """Nodes: 2 % for the start of the chain. Time: twice that of linear growth, for caches, the collector and
    a machine that others use; quadratic growth would be four times."""
    (few, quick), (many, slow) = derivation(16, axes), derivation(64, axes)
    more, _ = derivation(32, axes)
    assert many - more == pytest.approx(2 * (more - few), rel=0.02)
    assert slow < 2 * 4 * quick
