"""Numbers of a self-test in single or double precision, each with a tolerance ("room") for the precision.

In single precision the room of a value is 64 units in the last place plus 8 times the largest change of the
value if every input is changed by up to 4 units in the last place: an ill-conditioned result magnifies
roundings of operations and of inputs alike.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from armillary.export.text.description import ABSOLUTE, RELATIVE, Trajectory, at, last_row
from armillary.export.text.source import Source
from armillary.runtime.models.compilation import compile_equations
from armillary.runtime.models.compiled import CompiledModel
from armillary.solver.methods.tableau import Method

ULP = 2.0**-23
_CHANGES = 6  # random changes of the inputs
Values = Sequence[float] | np.ndarray
Rows = Sequence[Sequence[float]]


@dataclass(frozen=True)
class SelfTest:
    """Inputs by name, and expected numbers with their rooms by name of the result."""

    inputs: dict[str, Rows]
    compared: dict[str, tuple[Rows, Rows]]
    run: Trajectory | None  # a run whose last row is compared, under the name "end"
    points: int
    room: int  # length of the longest result


def self_test(source: Source, precision: str, method: Method, has: Collection[str]) -> SelfTest:
    """Return the self-test, with numbers of the in-process model."""
    r, program = source.reference, source.program
    names = [s for s in ("derivatives", "outputs", "events", "update") if s in has or s[0] in "do"]
    inputs: dict[str, Rows] = {"parameters": [r.parameters], "times": [[p.t for p in r.points]]}
    inputs |= {"states": [p.state for p in r.points], "memories": [p.memory for p in r.points]}
    rooms = _Rooms(source, precision)
    compared: dict[str, tuple[Rows, Rows]] = {"constants": ([r.constants], rooms.constants())}
    at_points = rooms.points(names)
    compared |= {s: ([getattr(p, s) for p in r.points], at_points[s]) for s in names}
    run = r.trajectory if method.name == "rk4" else None  # the method of the stored run
    if run is not None:
        compared["end"] = ([run.outputs], [rooms.end(run)])
    counts = (program.state, program.outputs.results, program.events.results, program.memory)
    return SelfTest(inputs, compared, run, len(r.points), max(1, *map(len, counts)))


class _Rooms:
    def __init__(self, source: Source, precision: str) -> None:
        self.reference, self.single = source.reference, precision == "single"
        self.equations, self.names = source.equations, tuple(source.equations.parameters)
        self.random = np.random.default_rng(1)

    @cached_property
    def model(self) -> CompiledModel:
        """The model that computes changes of results, for rooms in single precision."""
        return compile_equations(self.equations, tier="quick")

    def perturb(self, values: Sequence[float]) -> np.ndarray:
        given = np.asarray(values, dtype=float)
        return given * (1 + 4 * ULP * self.random.uniform(-1, 1, len(given)))

    def parameters(self) -> dict[str, float]:
        return dict(zip(self.names, map(float, self.perturb(self.reference.parameters)), strict=True))

    def constants(self) -> Rows:
        expected = self.reference.constants
        if not self.single:
            return [_usual(expected)]
        others = [self.model.constants(self.parameters())[: len(expected)] for _ in range(_CHANGES)]
        return [_room(expected, others)]

    def points(self, names: Sequence[str]) -> dict[str, list[list[float]]]:
        found: dict[str, list[list[float]]] = {name: [] for name in names}
        for p in self.reference.points:
            others = [
                at(
                    self.model,
                    float(self.perturb([p.t])[0]),
                    self.perturb(p.state),
                    self.parameters(),
                    self.perturb(p.memory),
                )
                for _ in range(_CHANGES if self.single else 0)
            ]
            for name, rooms in found.items():
                values = getattr(p, name)
                rooms.append(_room(values, [getattr(o, name) for o in others]) if others else _usual(values))
        return found

    def end(self, run: Trajectory) -> list[float]:
        if not self.single:
            return _usual(run.outputs)
        rows = [last_row(self.model, self.parameters(), run.step, run.steps) for _ in range(2)]
        kept: list[Values] = [row for row in rows if row is not None]
        return _room(run.outputs, kept or [run.outputs], 4 * run.steps * ULP)


def _usual(values: Sequence[float]) -> list[float]:
    """Return the rooms in double precision, as in the self-tests of other languages."""
    largest = max([1.0, *(abs(v) for v in values if np.isfinite(v))])
    return [RELATIVE * abs(v) + ABSOLUTE * largest for v in values]


def _room(values: Sequence[float], others: Sequence[Values], carried: float = 0.0) -> list[float]:
    """Return the rooms in single precision; ``carried`` times the largest value is added to each."""
    found = np.asarray(values, dtype=float)
    spread = np.max([np.abs(np.nan_to_num(np.asarray(o) - found)) for o in others], axis=0)
    size = np.abs(np.nan_to_num(found, posinf=0.0, neginf=0.0))
    largest = float(np.max(size, initial=0.0))
    return [float(x) for x in 64 * ULP * size + 8 * spread + carried * largest + 1e-30]
