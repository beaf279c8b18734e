"""Environments and gradients on the processor at hand.

    python -m benchmarks.learning

Steps of RK4 per second of cart and pole through `gymnasium.vector.VectorEnv` (Gymnasium needed), by CPU time
and by the clock with two threads, random actions and resets included; and the time of a gradient of a 2-s run
of a quadruped and of ANYmal (if example-robot-data is installed) by all of its initial values beside that of
the run, in turns, the least of several; and an iteration of iLQR for a six-axis arm with 30 steps of 10 ms, a
whole call with one iteration, and a sample of nonlinear predictive control.
"""

from __future__ import annotations

import time
from typing import Any

from benchmarks.branches import quadruped
from benchmarks.build import NotAvailable
from benchmarks.fresh import described_system
from benchmarks.gpu_environments import HOW, system
from benchmarks.optimal import six_axis_arm
from benchmarks.timing import least_seconds

REPEATS = 15


def environment_rates(copies: int, threads: int) -> dict[str, float]:
    """Steps per second of CPU time and of the clock."""
    from armillary import gym

    env = gym.ModelEnvironments(
        system().derive().compile(), copies, within={"cart.q1": (-2.4, 2.4), "pole.q1": (-0.2, 0.2)},
        time_limit=10.0, initial={"pole.q1": (-0.05, 0.05)}, parameters={"L": (0.4, 0.6)}, threads=threads,
        **HOW,
    )  # fmt: skip
    env.reset(seed=1)
    actions: list[Any] = [env.action_space.sample() for _ in range(8)]
    best = {"cpu": 0.0, "clock": 0.0}
    for _ in range(REPEATS):
        cpu, clock = time.process_time(), time.perf_counter()
        for a in actions:
            env.step(a)
        steps = len(actions) * copies
        best["cpu"] = max(best["cpu"], steps / (time.process_time() - cpu))
        best["clock"] = max(best["clock"], steps / (time.perf_counter() - clock))
    return best


def gradient_ratio(system: Any, joint: str) -> tuple[float, float]:
    """Seconds of a run, and how many times that a gradient of a joint's last angle takes."""
    model = system.derive().compile()
    names, how = [*model.coordinate_names, *model.speed_names], {"step": 1e-3, "initial": {joint: 0.3}}
    work = (
        lambda: model.simulate(2.0, sample=2.0, **how),
        lambda: model.gradient(2.0, names, final_cost=joint, **how),
    )
    run, gradient = least_seconds(work, REPEATS)
    return run, gradient / run


def plan_times() -> tuple[float, float, float]:
    """Seconds of an iteration of iLQR from rest, of a call with one iteration from the last plan, and of a
    sample of predictive control.
    """
    model = six_axis_arm().derive().compile()
    torques = [f"torque_{i}" for i in range(1, 7)]
    goal = dict(zip(model.coordinate_names, (0.6, -0.4, 0.8, 0.3, -0.5, 0.2), strict=True))
    final = {**dict.fromkeys(model.coordinate_names, 100.0), **dict.fromkeys(model.speed_names, 1.0)}
    how: dict[str, Any] = dict(
        step=0.01, inputs=torques, Q=dict.fromkeys(goal, 1.0), R=1e-3, final=final, target=goal
    )
    found = model.ilqr(0.3, **how)
    near = {"guess": found.input, "initial": {"link_1.q1": 0.02}, "iterations": 1}
    law, start = model.nmpc(0.3, **how), [0.0] * (2 * len(goal))
    work = (
        lambda: model.ilqr(0.3, **how), lambda: model.ilqr(0.3, **how, **near), lambda: law.input(start)
    )  # fmt: skip
    whole, one, sample = least_seconds(work, 10 * REPEATS)
    return whole / (len(found.costs) - 1), one, sample


def main() -> None:
    """All tables."""
    for copies in (1024, 16_384, 65_536):
        for threads in (1, 2):
            rates = environment_rates(copies, threads)
            print(
                f"{copies:6d} copies, {threads} thread(s): {rates['cpu']:.3g} steps per CPU s, "
                f"{rates['clock']:.3g} by the clock"
            )
    robots = {
        "quadruped": (quadruped, "hip1.q1"),
        "ANYmal": (lambda: described_system("anymal"), "LF_HIP.q1"),
    }
    for name, (described, joint) in robots.items():
        try:
            seconds, ratio = gradient_ratio(described(), joint)
        except NotAvailable as missing:
            print(f"{name}: {missing}")
            continue
        print(f"{name}, 2 s of rk4 at 1 ms: run {1e3 * seconds:.2f} ms, gradient {ratio:.2f} times that")
    iteration, call, sample = plan_times()
    print(
        f"iLQR of a six-axis arm: {1e3 * iteration:.2f} ms an iteration, {1e3 * call:.2f} ms a call with "
        "one, "
        f"{1e3 * sample:.2f} ms a sample of predictive control"
    )


if __name__ == "__main__":
    main()
