"""Spacecraft 1: bus, clock platform, camera and boom; thrusters that switch; and its small version's cost.

The bus's origin is B*, as for the source's speeds; the source's coordinates are those of its own mass centre
B0, which the example gives as outputs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from armillary.stages import System
from armillary.verification.reference import (
    ACCELERATIONS,
    TIGHT,
    TRAJECTORIES,
    apart,
    columns,
    counts,
    drift,
    example,
    largest,
    reference,
    relative,
)
from armillary.verification.rows import Case, at_most, difference

COORDINATES = ["B0x", "B0y", "B0z", "B.q4", "B.q5", "B.q6", "C.q1", "D.q1", "E.q1", "F.q1"]
SPEEDS = [*(f"B.u{i}" for i in range(1, 7)), "C.u1", "D.u1", "E.u1", "F.u1"]
SMALL = [f"B.{letter}{i}" for letter in "qu" for i in range(1, 7)] + ["E.q1", "F.q1", "E.u1", "F.u1"]
_TABLE = "Sayers (1990), Table 9.4.3"


def height() -> float:
    """B0 above B*, the mass centre of bus and clock."""
    parameters = {name: entry[0] for name, entry in example("spacecraft_1").PARAMETERS.items()}
    bus, clock = parameters["BM"], parameters["CM"]
    return (parameters["L1"] - parameters["L2"]) * clock / (bus + clock)


def start() -> dict[str, float]:
    """The initial state with B0 at the ground's origin."""
    return example("spacecraft_1").START | {"B.q3": -height()}


def commanded() -> System:
    """The spacecraft with the thrusters' commands as parameters fire1, fire2, fire3."""
    spacecraft = example("spacecraft_1")
    s: System = spacecraft.system(thrusters=False)
    bus = s.bodies["B"]
    for i, axis in enumerate((bus.x, bus.y, bus.z), start=1):
        s.parameter(f"fire{i}", 0.0, units="-")
        s.parameter(f"LTT{i}", spacecraft.THRUSTERS[f"LTT{i}"][0], units="N*m")
        s.moment(f"TT{i}", f"LTT{i}*fire{i}", axis, on=bus)
    return s


def fired(commands: Any) -> dict[str, float]:
    """Parameters of `commanded` for three commands."""
    return {f"fire{i}": float(value) for i, value in enumerate(commands, start=1)}


def turned(angles: Any) -> np.ndarray:
    """R with v_ground = R v_bus, for angles about the bus's own x, y, z in turn."""
    (c1, c2, c3), (s1, s2, s3) = np.cos(angles), np.sin(angles)
    about_x = np.array([[1, 0, 0], [0, c1, -s1], [0, s1, c1]])
    about_y = np.array([[c2, 0, s2], [0, 1, 0], [-s2, 0, c2]])
    about_z = np.array([[c3, -s3, 0], [s3, c3, 0], [0, 0, 1]])
    return about_x @ about_y @ about_z


def _run(model: Any, expected: dict[str, np.ndarray], **how: Any) -> Any:
    return model.simulate(30.0, sample=expected["t"], initial=start(), **TIGHT, **how)


def _differences(run: Any, expected: dict[str, np.ndarray]) -> Iterator[float]:
    yield largest([apart(run[name], expected[f"q{i}"]) for i, name in enumerate(COORDINATES, start=1)])
    yield largest([apart(run[name], expected[f"u{i}"]) for i, name in enumerate(SPEEDS, start=1)])


def measure() -> Iterator[float]:
    data, spacecraft = reference("spacecraft_1"), example("spacecraft_1")
    model, up = commanded().derive().compile(), height()
    found, wanted = [], []
    for state in data["states"]:
        rates = model.derivatives(state["t"], [*state["q"], *state["u"]], fired(state["thruster_fire"]))
        # Ours is the velocity of B*, the source's that of B0.
        rates[:3] += turned(state["q"][3:6]) @ np.cross(state["u"][3:6], [0, 0, up])
        found.append(rates)
        wanted.append([*state["qdot"], *state["udot"]])
    yield relative(found, wanted)
    expected = columns(data["without_thrusters"])
    run = _run(spacecraft.system(thrusters=False).derive().compile(), expected)
    yield from _differences(run, expected)
    yield largest([drift(run[f"{of}{axis}"], 1.0) for of in "ph" for axis in "xyz"])
    expected = columns(data["continuous_switching"])
    switched = _run(spacecraft.system(thrusters="events").derive().compile(), expected, max_step=0.02)
    first = [time for time, _, kind, *_ in data["first_switchings"] if kind in ("up", "dn")]
    on = [event.time for event in switched.events if event.name.split()[2:] in (["low"], ["high"])]
    yield apart(on[: len(first)], first)
    yield from _differences(switched, expected)
    yield largest([apart(switched[f"fire{i}"], expected[f"fire{i}"]) for i in (1, 2, 3)])
    additions, multiplications, functions = counts(spacecraft.system().derive())
    yield additions
    yield multiplications + functions


def measure_small() -> Iterator[float]:
    s = example("spacecraft_1").system()
    s.small(*SMALL)
    s.large("KB", "BB")
    additions, multiplications, functions = counts(s.derive())
    yield additions
    yield multiplications + functions


CASES = (
    Case(
        "spacecraft_1",
        "Spacecraft 1",
        "Sayers (1990), section 9.4 and Appendix D",
        (
            difference("accelerations and coordinate rates at 12 random states", ACCELERATIONS),
            difference("run of 30 s without thrusters: coordinates", TRAJECTORIES),
            difference("the same: speeds", TRAJECTORIES),
            difference("momentum and angular momentum of the same", 1e-10, "conservation"),
            difference("times of the first switchings, by events (s)", TRAJECTORIES),
            difference("run of 30 s with thrusters: coordinates", TRAJECTORIES),
            difference("the same: speeds", TRAJECTORIES),
            difference("the same: thrusters that fire", 0.0),
            at_most("additions", 628, _TABLE, "AUTOSIM; SD/FAST has 709 and 1094"),
            at_most("multiplications, divisions and functions", 791, _TABLE),
        ),
        measure,
        "spacecraft-1",
    ),
    Case(
        "spacecraft_1_small",
        "Spacecraft 1 with small variables",
        "Sayers (1990), section 9.4",
        (
            at_most("additions", 442, _TABLE, "the source prints nothing but counts of this version"),
            at_most("multiplications, divisions and functions", 514, _TABLE),
        ),
        measure_small,
        "spacecraft-1",
    ),
)
