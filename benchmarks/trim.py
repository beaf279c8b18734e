"""Operating points of the examples from rough starts: time on one core of a call, after the first compiled.

    python -m benchmarks.trim            a table
    python -m benchmarks.trim bicycle    some of them

The goal is 5 ms each, all of Python's work included: reading the request, closing loops at the start,
Newton's method, eigenvalues and outputs.
"""

from __future__ import annotations

import importlib
import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from armillary.text_tables import aligned

REPEATS = 20
REST, STEADY = "equilibrium", "trim"
# Example, verb, request.
_FREE_FALL = dict.fromkeys([f"hub.{name}{i}" for name in "qu" for i in (1, 2, 3)])
_STILL = {"hub.u4": 0.0, "hub.u5": 0.0, "hub.u6": 0.0}
PROBLEMS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("array_deployment", REST, {"starts": {"panel1.q1": 0.3}}),
    ("basilisk_panels", STEADY, {"fixed": _STILL, "rates": _FREE_FALL, "starts": {"panel1.q1": 0.5}}),
    ("bicycle", STEADY, {"fixed": {"heading.u1": 5.0}, "starts": {"lean.q1": 0.2, "fork.q1": 0.2}}),
    ("bouncing_ball", STEADY, {"rates": {"ball.u1": -9.81}}),
    ("bowling_ball", REST, {}),
    ("bricard", REST, {}),
    ("bump_stop", REST, {}),
    ("car", STEADY, {"inputs": ["STEER"], "outputs": {"Ay": 0.3}}),
    ("car_small", STEADY, {"inputs": ["STEER"], "outputs": {"Ay": 0.3}}),
    ("cart", STEADY, {"fixed": {"B.u1": 2.0}, "inputs": ["F"], "starts": {"FA.q1": 0.4}}),
    ("chain", REST, {"starts": {"link1.q1": 0.3}}),
    ("double_wishbone", REST, {}),
    ("five_bar", REST, {}),
    ("fmu_strut", REST, {"starts": {"oil.q1": 0.02}}),
    ("four_bar", REST, {"starts": {"A.q1": -0.5}}),
    ("hub_and_panels", REST, {"starts": {"panel1.q1": 0.5, "panel6.q1": -0.4}}),
    ("integral_control", REST, {}),
    ("jpl_spinning_rotor", REST, {"starts": {"platform.q1": 0.3}}),
    ("jpl_two_bodies", REST, {"starts": {"platform.q1": 0.3}}),
    ("momentum_tree", REST, {"starts": {"G1.q1": 0.5}}),
    ("pendulum", REST, {"starts": {"bob.q1": 2.0}}),
    ("rolling_disc", STEADY, {"fixed": {"lean.q1": 0.3, "heading.u3": -2.0}, "starts": {"disc.u1": 1.0}}),
    ("slider_crank", REST, {}),
    ("slosh", STEADY, {"rates": {"craft.u3": None}, "starts": {"slosh.q1": 0.6, "slosh.q2": -0.4}}),
    ("spacecraft_1", REST, {}),
    ("spacecraft_1_small", REST, {}),
    ("spacecraft_2", REST, {"starts": {"A1.q1": 0.8, "A3.q1": -0.6}}),
    ("spinning_boom", REST, {"starts": {"boom.q1": 0.3, "boom.q2": -0.2}}),
    ("spinning_top", REST, {"starts": {"top.q1": 0.9, "top.q2": 0.4}, "settle": True}),
    ("stanford_arm", REST, {}),
    ("steered_car", STEADY, {"fixed": {"car.u1": 8.0}, "inputs": ["drive"], "t": math.pi}),
    ("stewart_platform", REST, {"starts": {"platform.q1": 0.1}}),
)


def measure_trims(names: Sequence[str] = ()) -> list[dict[str, Any]]:
    """A record for each example, or for those of these names."""
    examples = str(Path(__file__).resolve().parents[1] / "examples")
    if examples not in sys.path:
        sys.path.insert(0, examples)
    return [measured(*problem) for problem in PROBLEMS if not names or problem[0] in names]


def measured(name: str, verb: str, request: dict[str, Any]) -> dict[str, Any]:
    """Milliseconds of a call, and of the first one."""
    model = importlib.import_module(f"examples.{name}").system().derive().compile()
    call = getattr(model, verb)
    start = time.process_time()
    op = call(**request)
    first = time.process_time() - start
    seconds = []
    for _ in range(REPEATS):
        start = time.process_time()
        call(**request)
        seconds.append(time.process_time() - start)
    return {
        "example": name,
        "verb": verb,
        "steps": op.steps,
        "error": op.error,
        "milliseconds": 1e3 * min(seconds),
        "first_milliseconds": 1e3 * first,
        "stability": str(op.stability),
    }


def trim_table(records: Sequence[dict[str, Any]]) -> str:
    """A row for each example."""
    rows = [["operating points", "", "steps", "error", "ms", "first ms", "stability"]]
    rows += [
        [
            r["example"], r["verb"], str(r["steps"]), f"{r['error']:.0e}", f"{r['milliseconds']:.2f}",
            f"{r['first_milliseconds']:.0f}", r["stability"],
        ]
        for r in records
    ]  # fmt: skip
    return "\n".join(aligned(rows, "<<>>>><"))


if __name__ == "__main__":
    print(trim_table(measure_trims(sys.argv[1:])))
