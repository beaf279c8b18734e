"""Spacecraft 2: a hub in free space with four antennas on sprung hinges."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from armillary.results.run import Run
from armillary.stages.model import Model
from armillary.verification.rows import (
    ACCELERATIONS,
    TIGHT,
    TRAJECTORIES,
    Case,
    States,
    at_most,
    columns,
    counts,
    difference,
    drift,
    equations,
    example,
    largest,
    largest_difference,
    reference,
    relative_difference,
    value,
)

# The source numbers the hub's spin about its axes z, y, x as u4, u5, u6; here it is about x, y, z.
_ORDER = [0, 1, 2, 5, 4, 3, 6, 7, 8, 9]
_COORDINATES = [*(f"W.q{i}" for i in range(1, 7)), *(f"A{i}.q1" for i in range(1, 5))]
_SPEEDS = [name.replace("q", "u") for name in _COORDINATES]
_BENT = {"A1.q1": 0.3, "A2.q1": -0.2, "W.u1": 0.01, "W.u2": -0.02, "A4.u1": 0.05}
_KEPT = (("p", 10.0), ("h", 0.1))  # momentum and angular momentum, with their sizes
_TABLE = "Sayers (1990), Table 9.5.2"


def _rates(model: Model) -> Iterator[float]:
    found, expected = [], []
    for state in reference("spacecraft_2")["states"]:
        found.append(model.derivatives(0.0, [*state["q"], *np.array(state["u"])[_ORDER]]))
        expected.append([*state["qdot"], *np.array(state["udot"])[_ORDER]])
    yield relative_difference(found, expected)


_STATES = States(lambda: example("spacecraft_2").system(), _rates)


def measure() -> Iterator[float]:
    data, spacecraft = reference("spacecraft_2"), example("spacecraft_2")
    eom = equations("spacecraft_2")
    model = eom.compile()
    yield from _STATES.measure(model)
    record = columns(data["trajectory"])
    run = model.simulate(1000.0, sample=record["t"], initial=spacecraft.START, **TIGHT)
    yield largest(
        [largest_difference(run[name], record[f"q{i}"]) for i, name in enumerate(_COORDINATES, start=1)]
    )
    speeds = [_SPEEDS[k] for k in _ORDER]
    yield largest([largest_difference(run[name], record[f"u{i}"]) for i, name in enumerate(speeds, start=1)])
    free, damped = (tumbling(model, damping) for damping in (0.0, 0.001359))
    kept = [(run[f"{of}{a}"], scale) for run in (free, damped) for of, scale in _KEPT for a in "xyz"]
    yield largest([drift(column, scale) for column, scale in kept])
    yield drift(free["energy"])
    yield int(np.sum(~(np.diff(damped["energy"]) < 0)))
    additions, multiplications, functions = counts(eom)
    yield additions
    yield multiplications + functions


def tumbling(model: Model, damping: float) -> Run:
    """The spacecraft bent and turning, with its dampers as given."""
    start = example("spacecraft_2").START | _BENT
    return model.simulate(200.0, sample=1.0, initial=start, parameters={"D": damping}, **TIGHT)


CASES = (
    Case(
        "spacecraft_2",
        "Spacecraft 2",
        "Sayers (1990), section 9.5",
        (
            difference("accelerations and coordinate rates at 12 random states", ACCELERATIONS),
            difference("run of 1000 s in the published scenario: coordinates (rad, m)", TRAJECTORIES),
            difference("the same: speeds, of the order of 1e-3", 1e-3 * TRAJECTORIES),
            difference("momenta over 200 s, without and with dampers", 1e-10, "conservation"),
            difference("energy of the same without dampers", 1e-10, "conservation"),
            value("seconds of 200 in which it does not fall with dampers", 0, 0, "dissipation"),
            at_most("additions", 338, _TABLE, "AUTOSIM; SYMBA has 514 and 760"),
            at_most("multiplications, divisions and functions", 455, _TABLE),
        ),
        measure,
        "spacecraft-2",
        (_STATES,),
    ),
)
