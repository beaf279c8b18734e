"""Models for batches, and random starts of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from armillary.ensembles.starts import CompactBlock


def _example(name: str, formalism: str = "auto", **options: Any) -> Callable[[], Any]:
    return lambda: import_module(name).system(**options).derive(formalism).compile()


def _branched(name: str) -> Callable[[], Any]:
    return lambda: import_module("benchmarks.branches").BRANCHES[name]().derive().compile()


def _small_car() -> Any:
    example = import_module("car_small")
    s = example.system()
    s.small(*example.SMALL)
    return s.derive().compile()


@dataclass(frozen=True)
class Case:
    """A model, the step of its runs, how many of them fill a card for a tenth of a second or so, and how far
    their starts are scattered.
    """

    name: str
    model: Callable[[], Any]
    step: float
    runs: int
    scatter: float = 0.1


MODELS = (
    Case("Stanford arm", _example("stanford_arm"), 1e-3, 2_000_000),
    # Of momenta, 1e-3 N m s make the small links turn at some rad/s.
    Case("Stanford arm, momenta", _example("stanford_arm", "momentum"), 1e-3, 2_000_000, 1e-3),
    # As beside other programs on a processor: joints free, no shoulder offset.
    Case(
        "Stanford arm without controller and offset, momenta",
        _example("stanford_arm", "momentum", controller=False, offset=False),
        1e-3,
        2_000_000,
        1e-3,
    ),
    Case("Spacecraft 2", _example("spacecraft_2"), 1e-3, 1_500_000),
    Case("car, small variables", _small_car, 5e-3, 4_000_000),
    Case("spinning boom, 4 modes", _example("spinning_boom"), 1e-3, 3_000_000),
    Case("hub and 7 panels", _example("hub_and_panels"), 1e-3, 1_000_000),
    Case("quadruped", _branched("quadruped"), 1e-3, 400_000),
    Case("hexapod", _branched("hexapod"), 1e-3, 300_000),
    Case("tree of 31 bodies", _branched("tree31"), 1e-3, 100_000),
)


class Scattered:
    """Starts that are the described one plus random numbers, for any engine."""

    inputs = None

    def __init__(self, plan: Any, runs: int, random: np.random.Generator, scatter: float = 0.1) -> None:
        self.runs = runs
        self.parameters, state, self.memory = plan.starts.block(0, 1)
        self.state = state + scatter * random.standard_normal((len(state), runs))
        for first in plan.program.quaternions:
            four = self.state[first : first + 4]
            four /= np.sqrt(np.sum(four**2, axis=0))

    def compact(self, i0: int, i1: int) -> CompactBlock:
        """Likewise."""
        return CompactBlock(self.parameters[:, 0], {}, self.state[:, i0:i1], self.memory)

    def block(self, i0: int, i1: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """As of ``armillary.ensembles.starts.Starts``."""
        n = i1 - i0
        return np.repeat(self.parameters, n, axis=1), self.state[:, i0:i1], np.repeat(self.memory, n, axis=1)
