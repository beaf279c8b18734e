"""Environments and gradients on the processor at hand.

    python -m benchmarks.learning

Steps of RK4 per second of cart and pole through `gymnasium.vector.VectorEnv` (Gymnasium needed), by CPU time
and by the clock with two threads, random actions and resets included; and the time of a gradient of a 2-s run
of a quadruped by all of its initial values beside that of the run, the least of several, in turns.
"""

from __future__ import annotations

import time
from typing import Any

from benchmarks.branches import quadruped
from benchmarks.gpu_environments import HOW, system
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


def gradient_ratio() -> tuple[float, float]:
    """Seconds of a run, and how many times that a gradient takes."""
    model = quadruped().derive().compile()
    names, how = [*model.coordinate_names, *model.speed_names], {"step": 1e-3, "initial": {"hip1.q1": 0.3}}
    work = (
        lambda: model.simulate(2.0, sample=2.0, **how),
        lambda: model.gradient(2.0, names, final_cost="hip1.q1", **how),
    )
    run, gradient = least_seconds(work, REPEATS)
    return run, gradient / run


def main() -> None:
    """Both tables."""
    for copies in (1024, 16_384, 65_536):
        for threads in (1, 2):
            rates = environment_rates(copies, threads)
            print(
                f"{copies:6d} copies, {threads} thread(s): {rates['cpu']:.3g} steps per CPU s, "
                f"{rates['clock']:.3g} by the clock"
            )
    seconds, ratio = gradient_ratio()
    print(f"quadruped, 2 s of rk4 at 1 ms: run {1e3 * seconds:.2f} ms, gradient {ratio:.2f} times that")


if __name__ == "__main__":
    main()
