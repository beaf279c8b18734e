"""Momenta as states: trees with an oblique axis, balls, gimbals, slides, a lock, and flexible bodies."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from armillary.algebra.calculus import NumericValue
from armillary.results.run import Run
from armillary.stages.model import Model
from armillary.verification.momentum_systems import MomentumSystem, momentum_equations
from armillary.verification.rows import (
    ACCELERATIONS,
    TIGHT,
    TRAJECTORIES,
    Case,
    Check,
    States,
    difference,
    largest,
    largest_difference,
)

_KEPT = [f"{of} {axis}" for of in ("momentum", "angular momentum") for axis in "xyz"]


def _accelerations(tree: MomentumSystem, model: Model) -> Iterator[float]:
    worst = 0.0
    for state in tree.data["random_states"]:
        q, u = tree.coordinates(state["config"]), dict(zip(tree.speeds, state["speeds"], strict=True))
        places, rates = [q[n] for n in model.coordinate_names], [u[n] for n in model.speed_names]
        found = dict(zip(model.speed_names, model.accelerations(0.0, places, rates), strict=True))
        size = float(np.max(np.abs(state["accelerations"])))
        ours = [found.get(name, 0.0) for name in tree.speeds]  # locked speeds do not change
        worst = largest(worst, largest_difference(ours, state["accelerations"]) / size)
    yield worst


def _differences(
    tree: MomentumSystem, run: Run, rows: slice, configs: NumericValue, speeds: NumericValue
) -> tuple[float, float]:
    """Return the largest differences of coordinates and of speeds."""
    expected = [tree.coordinates(config) for config in configs]
    places = largest(
        [largest_difference(run[name][rows], [row[name] for row in expected]) for name in expected[0]]
    )
    return places, largest_difference(np.array([run[name][rows] for name in tree.speeds]).T, speeds)


def _measure(name: str) -> Callable[[], Iterator[float]]:
    def measure() -> Iterator[float]:
        tree = MomentumSystem(name)
        model: Model = momentum_equations(name).compile()
        yield from _accelerations(tree, model)
        if any("particles" in body for body in tree.data["model"]["bodies"]):  # modes, damped until here
            tree = MomentumSystem(name, damped=False)
            model = momentum_equations(name, damped=False).compile()
        record = tree.data["trajectory"]
        start = tree.state(record["initial"]["config"], record["initial"]["speeds"])
        run = model.simulate(record["t"][-1], initial=start, sample=record["t"], **TIGHT)
        yield from _differences(tree, run, slice(None), record["configs"], record["speeds"])
        yield largest([np.ptp(run[name]) for name in _KEPT])
        if name == "sliders_locked":
            yield from _lock_and_release()

    return measure


def _lock_and_release() -> Iterator[float]:
    """Lock an axis at 1 s, release it at 2 s; yield the differences and the change of the invariants."""
    tree = MomentumSystem("sliders_locked", locked=False)
    axis = tree.speeds[tree.data["model"]["locked"][0]]
    tree.system.event("lock", "t - 1", lock=[axis])
    tree.system.event("release", "t - 2", unlock=[axis])
    record = tree.data["lock_unlock_trajectory"]
    start = tree.state(record["initial"]["config"], record["initial"]["speeds"])
    model = tree.system.derive("momentum").compile()
    run = model.simulate(3.0, initial=start, sample=np.linspace(0.0, 3.0, 31).tolist(), **TIGHT)
    worst = 0.0
    for k, segment in enumerate(record["segments"]):
        # A row at the time of an event shows what comes after it, the data what comes before as well.
        rows = slice(10 * k, 10 * k + 10)
        found = _differences(tree, run, rows, segment["configs"][:-1], segment["speeds"][:-1])
        worst = largest(worst, *found)
    yield worst
    yield largest([np.ptp(run[name]) / np.max(np.abs(run[name])) for name in _KEPT])


def _case(name: str, system: str, title: str, seconds: int, *more: Check) -> Case:
    checks = (
        difference("accelerations at random states, of the largest", ACCELERATIONS),
        difference(f"run of {seconds} s: coordinates", TRAJECTORIES),
        difference("the same: speeds", TRAJECTORIES),
        difference("change of momentum and angular momentum in it", 0.0, "conservation", "to the last bit"),
    )
    source = "Stoneking (2010), corrected equations"
    states = States(
        lambda: MomentumSystem(system).system,
        lambda model: _accelerations(MomentumSystem(system), model),
        (("kane", True), ("recursive", True)),
    )
    return Case(name, title, source, checks + more, _measure(system), "momentum-states", (states,))


CASES = (
    _case("momentum_tree", "tree5", "Momentum states: tree of five bodies", 10),
    _case(
        "momentum_sliders",
        "sliders_locked",
        "Momentum states: slides and a locked axis",
        6,
        difference("an axis locked at 1 s, released at 2 s: coordinates and speeds", TRAJECTORIES),
        difference("change of momentum and angular momentum in it, of their size", 1e-13, "conservation"),
    ),
    _case("momentum_flexible", "flexible", "Momentum states: flexible bodies", 6),
)
