"""Environments on the GPU at hand: steps of RK4 per second of cart and pole, all arrays on the card.

    python benchmarks/gpu_environments.py             # prints a line for each size and precision

NumPy, CuPy and llvmlite are enough. First copies without draws are compared with a run on the processor; then
a number of steps is taken with random actions that lie on the card, resets included, and timed by the card's
own clock. The last line has the best rate and the target.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "src")]

import armillary as arm  # noqa: E402
from armillary.control.card_environments import CardEnvironments  # noqa: E402

TARGET = 1e9  # steps of RK4 per second on an H200
STEPS = 200
SIZES = ((65_536, 1), (1_048_576, 1), (4_194_304, 1), (1_048_576, 4))  # copies, and parts of a step
LEAST_ERROR = {"double": 1e-12, "single": 1e-4, "fast": 1e-2}


def system() -> arm.System:
    """The cart and pole of the documentation."""
    s = arm.System("cart and pole")
    s.parameter("L", 0.5, units="m")
    cart = s.body("cart", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    s.body("pole", parent=cart, joint=arm.Revolute("z"), com=(0, "L", 0), mass=0.1, inertia=0)
    s.gravity(9.81, -s.ground.y)
    s.input("F", units="N")
    s.force("motor", "F", s.ground.x, at=cart.com)
    return s


HOW: dict[str, Any] = {
    "step": 0.02,
    "inputs": {"F": (-10, 10)},
    "observations": ["cart.q1", "pole.q1", "cart.u1", "pole.u1"],
    "reward": "1 - 0.01*F^2",
}


def largest_error(model: Any, precision: str) -> float:
    """The largest difference from a run on the processor, over 50 steps of a pole that falls."""
    env = CardEnvironments(model, 33, initial={"pole.q1": 0.3}, precision=precision, **HOW)
    env.reset()
    for _ in range(50):
        seen = env.step(np.full((33, 1), 2.0))[0]
    run = model.simulate(1.0, step=0.02, initial={"pole.q1": 0.3}, memory={"F": 2.0}, progress=False)
    expected = np.array([run.final[name] for name in HOW["observations"]])
    return float(np.max(np.abs(seen.get() - expected) / np.maximum(np.abs(expected), 1.0)))


def rate(model: Any, copies: int, parts: int, precision: str) -> dict[str, Any]:
    """Steps of RK4 per second, the median of five times."""
    import cupy

    env = CardEnvironments(
        model, copies, within={"cart.q1": (-2.4, 2.4), "pole.q1": (-0.2, 0.2)}, time_limit=10.0,
        initial={"pole.q1": (-0.05, 0.05)}, parameters={"L": (0.4, 0.6)}, parts=parts, precision=precision,
        **HOW,
    )  # fmt: skip
    env.reset(seed=1)
    real = np.float64 if precision == "double" else np.float32
    actions = cupy.random.uniform(-10, 10, (copies, 1)).astype(real)
    ends, found = 0, []
    for _ in range(5):
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record()
        for _ in range(STEPS):
            _, _, ended, _ = env.step(actions)
        end.record()
        end.synchronize()
        ends += int(ended.sum())
        found.append(STEPS * copies * parts / (1e-3 * cupy.cuda.get_elapsed_time(begin, end)))
    if not ends:
        raise SystemExit("no episode ended: resets were not part of the work")
    return {
        "copies": copies, "parts": parts, "precision": precision, "steps_per_second": float(np.median(found)),
        "spread": (max(found) - min(found)) / float(np.median(found)),
    }  # fmt: skip


def main() -> None:
    """All sizes in all precisions."""
    model = system().derive().compile()
    rates = []
    for precision, least in LEAST_ERROR.items():
        error = largest_error(model, precision)
        print(json.dumps({"precision": precision, "error": error}), flush=True)
        if not error < least:
            raise SystemExit(f"{precision} precision is off by {error:.2g}")
        for copies, parts in SIZES:
            rates.append(rate(model, copies, parts, precision))
            print(json.dumps(rates[-1]), flush=True)
    best = max(r["steps_per_second"] for r in rates if r["parts"] == 1)
    print(json.dumps({"best": best, "target": TARGET, "reached": best >= TARGET}))


if __name__ == "__main__":
    main()
