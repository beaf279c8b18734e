"""The step input of ISO 7401: a car on a straight line is steered at once, and its answer is measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

import armillary as arm
from armillary.vehicles.cars import Car
from armillary.vehicles.manoeuvres.result import require_whole_run

REACHED = 0.9  # part of the steady value at which the response time ends


@dataclass(frozen=True)
class Response:
    """The answer of one quantity to the step."""

    steady: float  # value at the end
    gain: float  # over the steer angle
    response_time: float  # s, from half the steer to 90 % of the steady value
    peak_time: float  # s, from half the steer to the first peak; nan if there is none
    overshoot: float  # (peak − steady)/steady; 0 without a peak


@dataclass(frozen=True)
class StepSteer:
    """A step steer and the figures of ISO 7401."""

    run: arm.Run = field(repr=False)
    steer: float  # rad
    yaw_velocity: Response  # rad/s, gain in 1/s
    lateral_acceleration: Response  # m/s², gain in m/s² per rad
    sideslip: float  # steady, rad
    tb_factor: float  # peak time of the yaw velocity times steady sideslip, s·deg

    def table(self) -> str:
        """Return the figures as lines of text."""
        yaw, lateral = self.yaw_velocity, self.lateral_acceleration
        degrees = np.degrees
        rows = [
            ("steer angle", degrees(self.steer), "deg"),
            ("steady yaw velocity", degrees(yaw.steady), "deg/s"),
            ("yaw velocity gain", yaw.gain, "1/s"),
            ("yaw velocity response time", yaw.response_time, "s"),
            ("yaw velocity peak time", yaw.peak_time, "s"),
            ("yaw velocity overshoot", 100 * yaw.overshoot, "%"),
            ("steady lateral acceleration", lateral.steady, "m/s2"),
            ("lateral acceleration gain", lateral.gain * np.pi / 180, "m/s2/deg"),
            ("lateral acceleration response time", lateral.response_time, "s"),
            ("lateral acceleration peak time", lateral.peak_time, "s"),
            ("lateral acceleration overshoot", 100 * lateral.overshoot, "%"),
            ("steady sideslip angle", degrees(self.sideslip), "deg"),
            ("TB factor", self.tb_factor, "s deg"),
        ]
        return "\n".join(f"{name:<36}{value:10.4f}  {unit}" for name, value, unit in rows)


def step_steer(
    car: Car,
    *,
    steer: float,
    speed: float,
    duration: float = 6.0,
    start: float = 0.5,
    rise: float = 0.1,
    step: float | None = None,
    parameters: Mapping[str, float] | None = None,
) -> StepSteer:
    """Run a step steer and return it with its figures.

    steer     angle of the front wheels, rad, reached ``rise`` seconds after ``start``
    speed     m/s
    duration  s; the last tenth must be steady, else an error says so

    Times count from half the steer, as ISO 7401:2011 defines them.
    """
    if not steer:
        raise arm.ModelError("step_steer: steer=0 is no step; give an angle in rad")
    if not 0 < rise < duration - start:
        raise arm.ModelError(f"step_steer: rise={rise:g} s must be positive and end before the duration")
    turned = steer * car.steering_ratio
    run = car.model.simulate(
        duration,
        step=step or car.step,
        sample=max(step or car.step, 1e-3),
        inputs={"steer": ([0.0, start, start + rise, duration], [0.0, 0.0, turned, turned])},
        initial=car.start(speed),
        parameters={**car.hands_off(speed), **(parameters or {})},
    )
    require_whole_run("step_steer", run)
    half = start + rise / 2
    yaw = _measure(run, "yaw velocity", np.pi / 180, half, steer)
    lateral = _measure(run, "lateral acceleration", 1.0, half, steer)
    sideslip = float(np.radians(run["sideslip angle"][-1]))
    tb = yaw.peak_time * np.degrees(abs(sideslip))
    return StepSteer(run, steer, yaw, lateral, sideslip, tb)


def _measure(run: arm.Run, name: str, unit: float, half: float, steer: float) -> Response:
    t, y = np.asarray(run.time), np.asarray(run[name]) * unit
    tail = y[t >= t[-1] - 0.1 * (t[-1] - half)]
    steady = float(np.mean(tail))
    if np.ptp(tail) > 0.02 * abs(steady):
        raise arm.ModelError(
            f"step_steer: {name} still changes by {np.ptp(tail) / abs(steady):.1%} in the last tenth; give a "
            "longer duration, or a smaller steer angle if the car slides"
        )
    share = y / steady
    above = int(np.argmax(share >= REACHED))
    reached = np.interp(REACHED, share[above - 1 : above + 1], t[above - 1 : above + 1])
    top = int(np.argmax(share))
    peak = float(share[top])
    if peak < 1.001 or top in (0, len(share) - 1):
        return Response(steady, steady / steer, float(reached - half), np.nan, 0.0)
    # The vertex of the parabola through the largest sample and its neighbours.
    before, here, after = share[top - 1 : top + 2]
    bend = before - 2 * here + after
    offset = 0.5 * (before - after) / bend if bend else 0.0
    when = t[top] + offset * (t[top] - t[top - 1])
    peak = here - 0.25 * (before - after) * offset
    return Response(steady, steady / steer, float(reached - half), float(when - half), float(peak - 1))
