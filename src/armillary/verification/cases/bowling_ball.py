"""The bowling ball of Park and Chiou in redundant coordinates, by their staggered procedure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from armillary.errors import SimulationError
from armillary.verification.reference import apart, example, reference
from armillary.verification.rows import Case, at_most, difference, differs, value

_SPIN = [f"ball.u{i}" for i in (3, 4, 5)]
_MULTIPLIERS = [f"multiplier of {name}" for name in ("rolling in x", "rolling in y", "path")]
_TEXT = "Park and Chiou (1987), section 7"


def _table(run: Any, names: list[str]) -> np.ndarray:
    return np.array([run[name] for name in names]).T


def measure() -> Iterator[float]:
    data, ball = reference("bowling_ball"), example("bowling_ball")
    cases = {"no_offset": 0.0, "offset": ball.OFFSET}
    models = {case: ball.system(offset).derive("redundant").compile() for case, offset in cases.items()}

    def staggered(case: str, end: float, h: float, passes: int) -> Any:
        how = {"step": h, "passes": passes, "epsilon": 1e-6, "translation": "explicit"}
        return models[case].simulate(end, initial=ball.START, **how)

    found, expected = [], []
    for state in data["random_states"]:
        q = [state["x"], np.sin(state["x"]), *state["q"]]
        y = models["offset"].state([*q, *state["udot"]])
        found.append([*models["offset"].joint_accelerations(0.0, y).values()])
        expected.append(state["uddot"])
    yield apart(found, expected)
    for case in cases:
        record = data["staggered"][case]["1"]
        run = staggered(case, record["t"][-1], 0.01, 1)
        at = np.rint(np.array(record["t"]) / 0.01).astype(int)
        yield apart(run["x"][at], record["x"])
        yield apart(_table(run, _MULTIPLIERS)[at], record["lam"])
        if case == "no_offset":
            yield float(np.ptp(np.hypot(run["ball.u1"], run["ball.u2"])))
            yield run["x"][-1] / run.time[-1]
    yield float(np.abs(_table(staggered("offset", 60.0, 0.15, 0), _SPIN)).max())
    try:
        yield staggered("offset", 60.01, 0.17, 0).time[-1]
    except SimulationError as error:
        yield error.run.time[-1] if error.run is not None and len(error.run) else 0.0
    yield staggered("offset", 5.0, 0.02, 0)["x"][-1] / 5


CASES = (
    Case(
        "bowling_ball",
        "Bowling ball in redundant coordinates",
        "Park and Chiou (1987), corrected",
        (
            difference("accelerations at random states", 1e-10),
            difference("steps of 0.01 s over 60 s, no offset: x (m)", 1e-12),
            difference("the same: multipliers, of the order of 10", 1e-8),
            difference("the same: change of the speed, constant as published (m/s)", 2e-6, _TEXT),
            differs(
                "mean velocity over 60 s without offset (m/s)", 1.2, 0.12594487, 1e-5,
                "ten times what any consistent reading of the source's data gives", _TEXT,
            ),
            difference("steps of 0.01 s over 10 s, with offset: x (m)", 1e-10),
            difference("the same: multipliers", 1e-8),
            at_most("bounded for 60 s at a step of 0.15 s: largest spin (rad/s)", 30, _TEXT),
            at_most("diverges at 0.17 s: last time (s)", 59, "independent program"),
            value("mean velocity with offset over 5 s, no corrector (m/s)", 0.35, 3e-3, _TEXT),
        ),
        measure,
        "bowling-ball",
    ),
)  # fmt: skip
