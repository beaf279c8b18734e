"""Manoeuvres with given steering and braking: sine, pulse, sine with dwell, fishhook, J-turn, braking, step.

Steer angles belong to the front wheels in rad, positive to the left; the input of the car is the angle
times its steering ratio. All manoeuvres begin with straight running at a speed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

import armillary as arm
from armillary.vehicles.arguments import require_numbers
from armillary.vehicles.cars import CORNERS, Car
from armillary.vehicles.manoeuvres.result import (
    Manoeuvre,
    at_time,
    first_peak,
    peak,
    require_speed,
    require_whole_run,
)

START = 0.5  # s of straight running before the steering or braking begins
DWELL = 0.5  # s for which the sine with dwell is held at its second peak
GRAVITY = 9.80665


def drive(
    car: Car,
    duration: float,
    speed: float,
    steer: tuple[Sequence[float], Sequence[float]],
    *,
    step: float | None = None,
    inputs: Mapping[str, object] | None = None,
    parameters: Mapping[str, float] | None = None,
    sample: float = 2e-3,
    whole: str = "",
) -> arm.Run:
    """Run a car from straight running with given angles of the front wheels over time.

    sample  least time between samples, s
    whole   name of a manoeuvre whose figures need the whole run: raise an error if the car overturns
    """
    require_speed(speed)
    times, angles = steer
    scaled = [angle * car.steering_ratio for angle in angles]
    run: arm.Run = car.model.simulate(
        duration,
        step=step or car.step,
        sample=max(step or car.step, sample),
        inputs={"steer": (list(times), scaled), **(inputs or {})},
        initial=car.start(speed),
        parameters={**car.hands_off(speed), **(parameters or {})},
    )
    if whole:
        require_whole_run(whole, run)
    return run


def sine_steer(
    car: Car, *, steer: float, speed: float, frequency: float = 0.5, settle: float = 3.0
) -> Manoeuvre:
    """Run one period of sinusoidal steering, ISO 7401:2011 clause 9.

    Figures: first peaks of yaw velocity and lateral acceleration over the peak steer angle, and their delays
    against the steer angle, by the largest correlation.
    """
    require_numbers("sine_steer", positive={"frequency": frequency}, not_zero={"steer": steer})
    grid = np.linspace(0, 1 / frequency, 401)
    times = [0.0, *(START + grid), START + 1 / frequency + settle]
    angles = [0.0, *(steer * np.sin(2 * np.pi * frequency * grid)), 0.0]
    run = drive(car, START + 1 / frequency + settle, speed, (times, angles), whole="sine_steer")
    t = np.asarray(run.time)
    given = np.interp(t, times, angles)
    figures: dict[str, tuple[float, str]] = {
        "steer amplitude": (np.degrees(steer), "deg"),
        "frequency": (frequency, "Hz"),
    }
    for name, unit in (("yaw velocity", "deg/s"), ("lateral acceleration", "m/s2")):
        values = np.asarray(run[name])
        top = first_peak(values)
        figures[f"{name} peak"] = (top, unit)
        figures[f"{name} gain"] = (abs(top) / np.degrees(abs(steer)), f"{unit}/deg")
        figures[f"{name} delay"] = (_delay(t, given, values), "s")
    return Manoeuvre("sine steer", "ISO 7401", run, figures)


def pulse_steer(
    car: Car, *, steer: float, speed: float, width: float = 0.4, highest: float = 3.0, duration: float = 8.0
) -> Manoeuvre:
    """Run a triangular pulse of steering and find the frequency response, ISO 7401:2011 clause 11.

    Figures: gain of the yaw velocity at low frequency, frequency and height of its peak, and the phase of the
    lateral acceleration at 1 Hz, from transforms of output over input up to ``highest`` Hz.
    """
    numbers = {"width": width, "highest": highest, "duration": duration}
    require_numbers("pulse_steer", positive=numbers, not_zero={"steer": steer})
    if duration <= START + width:
        raise arm.ModelError(
            f"pulse_steer: duration={duration:g} s must exceed the pulse, {START + width:g} s"
        )
    times = [0.0, START, START + width / 2, START + width, duration]
    run = drive(car, duration, speed, (times, [0.0, 0.0, steer, 0.0, 0.0]), whole="pulse_steer")
    frequencies = np.linspace(0.1, highest, 117)
    yaw = frequency_response(run, "yaw velocity", times, [0.0, 0.0, steer, 0.0, 0.0], frequencies)
    side = frequency_response(run, "lateral acceleration", times, [0.0, 0.0, steer, 0.0, 0.0], frequencies)
    figures = _response_figures(frequencies, yaw, side, "yaw velocity gain at 0.1 Hz")
    return Manoeuvre("pulse steer", "ISO 7401", run, figures)


def _response_figures(
    frequencies: np.ndarray, yaw: np.ndarray, side: np.ndarray, lowest: str
) -> dict[str, tuple[float, str]]:
    """Return figures of the responses of yaw velocity and lateral acceleration; the first is ``lowest``."""
    top = int(np.argmax(np.abs(yaw)))
    one = int(np.argmin(np.abs(frequencies - 1.0)))
    scale = np.pi / 180  # outputs in degrees per rad of steer
    return {
        lowest: (float(np.abs(yaw[0])) * scale, "1/s"),
        "yaw velocity gain, peak": (float(np.abs(yaw[top])) * scale, "1/s"),
        "frequency of that peak": (float(frequencies[top]), "Hz"),
        "lateral acceleration phase at 1 Hz": (float(np.degrees(np.angle(side[one]))), "deg"),
    }


def frequency_response(
    run: arm.Run,
    output: str,
    times: Sequence[float],
    angles: Sequence[float],
    frequencies: np.ndarray,
) -> np.ndarray:
    """Return the complex response of an output to the steering at frequencies in Hz, per rad.

    Output and steering are zero at the beginning and end of the run, so the response is the ratio of their
    Fourier integrals, by the trapezium rule on the samples.
    """
    t = np.asarray(run.time)
    given, found = np.interp(t, times, angles), np.asarray(run[output])
    ratio: np.ndarray = _transform(t, found, frequencies) / _transform(t, given, frequencies)
    return ratio


def random_steer(
    car: Car, *, steer: float, speed: float, highest: float = 3.0, duration: float = 60.0, seed: int = 0
) -> Manoeuvre:
    """Run random steering and find the frequency response by spectra, ISO 7401:2011 clause 10.

    The angle is a sum of sines of random phase with equal amplitudes and frequencies up to ``highest`` Hz;
    ``steer`` is its standard deviation. Spectra are computed from the second half of the run, which contains
    whole numbers of periods of each sine. The figures are those of `pulse_steer`.
    """
    require_numbers(
        "random_steer", positive={"highest": highest, "duration": duration}, not_zero={"steer": steer}
    )
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise arm.ModelError(f"random_steer: seed={seed!r} must be a whole number, not negative")
    window = duration / 2
    step = 1 / window
    count = int(highest / step)
    if count < 4:
        raise arm.ModelError(f"random_steer: {duration:g} s are too short for {highest:g} Hz; give more")
    frequencies = step * np.arange(1, count + 1)
    phases = np.random.default_rng(seed).uniform(0, 2 * np.pi, count)
    t = np.arange(0, duration + 0.005, 0.01)
    angle = steer * np.sqrt(2 / count) * np.cos(2 * np.pi * np.outer(t, frequencies) + phases).sum(axis=1)
    run = drive(car, duration, speed, (list(t), list(angle * np.clip(t, 0, 1))), whole="random_steer")
    times = np.asarray(run.time)
    late = times >= duration - window - 1e-9
    given, yaw, side = (
        _transform(times[late], values, frequencies)
        for values in (
            np.interp(times[late], t, angle),
            np.asarray(run["yaw velocity"])[late],
            np.asarray(run["lateral acceleration"])[late],
        )
    )
    lowest = f"yaw velocity gain at {frequencies[0]:.2f} Hz"
    figures = _response_figures(frequencies, yaw / given, side / given, lowest)
    return Manoeuvre("random steer", "ISO 7401", run, figures)


def sine_with_dwell(
    car: Car, *, steer: float, speed: float = 80 / 3.6, frequency: float = 0.7, heavy: bool = False
) -> Manoeuvre:
    """Run the sine with dwell of ISO 19365 and FMVSS 126: stability and responsiveness.

    steer   amplitude; the regulation asks for 1.5 to 6.5 times the angle that gives 0.3 g
    heavy   for vehicles of more than 3,500 kg: 1.52 m in place of 1.83 m of lateral displacement

    The sine is held at its second peak for 0.5 s. Verdict: relative to its second peak, the yaw velocity is
    at most 35 % one second after the end of the steering, and at most 20 % 1.75 s after it; and the lateral
    displacement 1.07 s after the steering begins is large enough (the regulation asks for this only if the
    amplitude is at least 5 times the angle that gives 0.3 g).
    """
    require_numbers("sine_with_dwell", positive={"frequency": frequency}, not_zero={"steer": steer})
    whole = 1 / frequency
    first = np.linspace(0, 0.75 * whole, 301)
    last = np.linspace(0.75 * whole, whole, 101)[1:]
    times = [0.0, *(START + first), *(START + DWELL + last)]
    times.insert(len(first) + 1, START + DWELL + 0.75 * whole)
    wave = [0.0, *np.sin(2 * np.pi * first / whole), *np.sin(2 * np.pi * last / whole)]
    wave.insert(len(first) + 1, -1.0)
    end = START + DWELL + whole
    run = drive(car, end + 2.5, speed, (times, [steer * value for value in wave]), parameters=_coast(car))
    t, yaw = np.asarray(run.time), np.asarray(run["yaw velocity"])
    second = yaw[(t > START + 0.5 * whole) & (t <= end)]
    top = peak(second)
    after = [abs(at_time(run, "yaw velocity", end + wait) / top) for wait in (1.0, 1.75)]
    moved = abs(at_time(run, "body.q2", START + 1.07) - at_time(run, "body.q2", START))
    enough = 1.52 if heavy else 1.83
    stable = after[0] <= 0.35 and after[1] <= 0.20
    figures = {
        "steer amplitude": (np.degrees(steer), "deg"),
        "second peak of yaw velocity": (top, "deg/s"),
        "yaw velocity ratio after 1.00 s": (100 * after[0], "%"),
        "yaw velocity ratio after 1.75 s": (100 * after[1], "%"),
        "lateral displacement at 1.07 s": (moved, "m"),
        "peak lateral acceleration": (peak(run["lateral acceleration"]), "m/s2"),
    }
    words = f"stable: {'yes' if stable else 'no'}; responsive: {'yes' if moved >= enough else 'no'}"
    return Manoeuvre("sine with dwell", "ISO 19365", run, figures, stable and moved >= enough, words)


def j_turn(car: Car, *, steer: float, speed: float, rate: float = np.radians(62.5)) -> Manoeuvre:
    """Run a J-turn of NHTSA: steer at a rate to an angle, then hold it for 4 s.

    rate  of the front wheels, rad/s: 1000 deg/s of a steering wheel of ratio 16

    Verdict: at no time are both wheels of a side without load.
    """
    require_numbers("j_turn", positive={"rate": rate}, not_zero={"steer": steer})
    rise = abs(steer) / rate
    run = drive(
        car, START + rise + 4.0, speed, ([0, START, START + rise], [0, 0, steer]), parameters=_coast(car)
    )
    return _rollover("J-turn", run)


def fishhook(car: Car, *, steer: float, speed: float, rate: float = np.radians(45.0)) -> Manoeuvre:
    """Run a fishhook of NHTSA with fixed timing: steer, hold 0.25 s, steer to the other side, hold 3 s.

    rate  of the front wheels, rad/s: 720 deg/s of a steering wheel of ratio 16

    Verdict: at no time are both wheels of a side without load.
    """
    require_numbers("fishhook", positive={"rate": rate}, not_zero={"steer": steer})
    rise = abs(steer) / rate
    turn = START + rise + 0.25
    times = [0, START, START + rise, turn, turn + 2 * rise, turn + 2 * rise + 3.0]
    run = drive(car, times[-1], speed, (times, [0, 0, steer, steer, -steer, -steer]), parameters=_coast(car))
    return _rollover("fishhook", run)


def braking_in_a_turn(
    car: Car, *, steer: float, speed: float, brake: float, settle: float = 6.0, duration: float = 3.0
) -> Manoeuvre:
    """Brake on a steady circle with the steering held, ISO 7975.

    brake  pedal, 0 to 1

    Figures: mean deceleration; yaw velocity one second after the brakes were applied; and the ratio of this
    yaw velocity to that before braking, divided by the ratio of speeds, which is 1 if the radius is kept.
    """
    _require_brake(car, "braking_in_a_turn")
    begin = START + settle
    run = drive(
        car,
        begin + duration,
        speed,
        ([0, START, START + 0.5], [0, 0, steer]),
        inputs={"brake": ([0, begin, begin + 0.1], [0.0, 0.0, brake])},
        whole="braking_in_a_turn",
    )
    before, after = (at_time(run, "yaw velocity", begin + wait) for wait in (0.0, 1.0))
    speeds = [at_time(run, "speed", begin + wait) for wait in (0.0, 1.0)]
    late = np.asarray(run.time) >= begin
    figures = {
        "lateral acceleration before": (at_time(run, "lateral acceleration", begin), "m/s2"),
        "mean deceleration in 1 s": (speeds[0] - speeds[1], "m/s2"),
        "yaw velocity before": (before, "deg/s"),
        "yaw velocity after 1 s": (after, "deg/s"),
        "its ratio at equal radius": (after / before * speeds[0] / speeds[1], ""),
        "peak yaw velocity": (peak(np.asarray(run["yaw velocity"])[late]), "deg/s"),
        "peak sideslip angle": (peak(np.asarray(run["sideslip angle"])[late]), "deg"),
    }
    return Manoeuvre("braking in a turn", "ISO 7975", run, figures)


def braking(car: Car, *, speed: float, brake: float, duration: float = 4.0) -> Manoeuvre:
    """Brake straight ahead with the steering held, ISO 21994."""
    _require_brake(car, "braking")
    run, figures, _ = _brake_straight(car, speed, brake, duration, {})
    return Manoeuvre("braking", "ISO 21994", run, figures)


def split_braking(
    car: Car, *, speed: float, brake: float, right: float = 0.3, left: float = 1.0, duration: float = 4.0
) -> Manoeuvre:
    """Brake straight ahead on a road of two frictions with the steering held, ISO 14512.

    car          on a `split_road`: ``full_car(…, road=split_road(1.0))``, or one whose wheels have parameters
                 WHEEL_grip, as the text models of this package have
    right, left  scales of friction of the two sides

    Figures: those of `braking`, yaw velocity and yaw angle one second after the brakes were applied, and the
    deceleration as a share of the limit by friction, g (right + left)/2.
    """
    _require_brake(car, "split_braking")
    if not (right > 0 and left > 0):
        raise arm.ModelError(f"split_braking: right={right:g} and left={left:g} must be positive")
    sides = {"mu_right": right, "mu_left": left}
    wheels = {f"{wheel}_grip": sides[f"mu_{wheel.partition('_')[2]}"] for wheel in CORNERS}
    known = car.system.parameters
    if all(name in known for name in wheels):
        sides = wheels
    elif "mu_right" not in known:
        raise arm.ModelError(
            "split_braking: this car's road has one friction; build it with road=split_road(1.0)"
        )
    run, figures, begin = _brake_straight(car, speed, brake, duration, sides)
    begin_time = float(run.time[begin])
    turned = at_time(run, "body.q4", begin_time + 1.0) - float(run["body.q4"][begin])
    figures |= {
        "yaw velocity after 1 s": (at_time(run, "yaw velocity", begin_time + 1.0), "deg/s"),
        "yaw angle after 1 s": (float(np.degrees(turned)), "deg"),
        "use of friction": (figures["mean deceleration"][0] / (GRAVITY * (right + left) / 2), ""),
    }
    return Manoeuvre("braking on two frictions", "ISO 14512", run, figures)


def _brake_straight(
    car: Car, speed: float, brake: float, duration: float, parameters: Mapping[str, float]
) -> tuple[arm.Run, dict[str, tuple[float, str]], int]:
    """Return the run, its figures until the car stands, and the sample at which the brakes are applied."""
    run = drive(
        car, START + duration, speed, ([0, 1], [0, 0]),
        inputs={"brake": ([0, START, START + 0.1], [0.0, 0.0, brake])},
        parameters={**_coast(car), **parameters},
    )  # fmt: skip
    t = np.asarray(run.time)
    late = t >= START
    speeds = np.asarray(run["speed"])
    stopped = np.nonzero(late & (speeds < 0.3))[0]
    end = int(stopped[0]) if len(stopped) else len(t) - 1
    begin = int(np.argmax(late))
    figures = {
        "mean deceleration": (float((speeds[begin] - speeds[end]) / (t[end] - t[begin])), "m/s2"),
        "distance": (float(run["body.q1"][end] - run["body.q1"][begin]), "m"),
        "lateral deviation": (float(run["body.q2"][end] - run["body.q2"][begin]), "m"),
        "yaw angle": (float(np.degrees(run["body.q4"][end] - run["body.q4"][begin])), "deg"),
        "peak yaw velocity": (peak(np.asarray(run["yaw velocity"])[begin : end + 1]), "deg/s"),
    }
    return run, figures, begin


def _transform(t: np.ndarray, values: np.ndarray, frequencies: np.ndarray) -> np.ndarray:
    """Return Fourier integrals of samples by the trapezium rule."""
    weights = np.gradient(t)
    weights[[0, -1]] /= 2
    turned: np.ndarray = np.exp(-2j * np.pi * np.multiply.outer(frequencies, t)) @ (weights * values)
    return turned


def _delay(t: np.ndarray, given: np.ndarray, found: np.ndarray) -> float:
    """Return the time shift of the largest correlation, from a parabola through its peak."""
    step = t[1] - t[0]
    both = np.correlate(found, given, mode="full")
    both = both * np.sign(both[int(np.argmax(np.abs(both)))])
    top = int(np.argmax(both))
    left, here, right = both[top - 1 : top + 2]
    return float((top - (len(t) - 1) + 0.5 * (left - right) / (left - 2 * here + right)) * step)


def _coast(car: Car) -> dict[str, float]:
    """Return the parameters that switch the drive force off, if the car has one."""
    return {"hold": 0.0} if "hold" in car.system.parameters else {}


def _require_brake(car: Car, name: str) -> None:
    if "brake" not in car.system.memories:
        raise arm.ModelError(f"{name}: this car has no brakes; use full_car, or add the input 'brake'")


def _rollover(name: str, run: arm.Run) -> Manoeuvre:
    loads = {wheel: np.asarray(run[f"{wheel} Fz"]) for wheel in CORNERS if f"{wheel} Fz" in run}
    if not loads:
        raise arm.ModelError(f"{name}: this car has no loads of its wheels; use one with four wheels")
    lifted = {wheel: load < 1.0 for wheel, load in loads.items()}
    sides = [
        np.logical_and.reduce([gone for wheel, gone in lifted.items() if wheel.endswith(side)])
        for side in ("left", "right")
    ]
    safe = not any(side.any() for side in sides)
    figures = {
        "peak lateral acceleration": (peak(run["lateral acceleration"]), "m/s2"),
        "peak roll angle": (peak(run["roll angle"]), "deg"),
        "least load of a wheel": (float(min(load.min() for load in loads.values())), "N"),
        "peak sideslip angle": (peak(run["sideslip angle"]), "deg"),
    }
    return Manoeuvre(name, "NHTSA", run, figures, safe, "" if safe else "both wheels of a side lift off")


# The step input of ISO 7401: the response of a car on a straight line to a sudden steer angle.


REACHED = 0.9  # share of the steady value at which the response time ends


@dataclass(frozen=True)
class Response:
    """The response of one quantity to the step."""

    steady: float  # mean over the last tenth of the run
    gain: float  # steady value over the steer angle
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
    duration  s; if the last tenth is not steady, an error is raised

    Response times count from the time of half the steer angle, as ISO 7401:2011 defines them.
    """
    if not steer:
        raise arm.ModelError("step_steer: steer=0 is no step; give an angle in rad")
    if not 0 < rise < duration - start:
        raise arm.ModelError(f"step_steer: rise={rise:g} s must be positive and end before the duration")
    run = drive(
        car, duration, speed, ([0.0, start, start + rise, duration], [0.0, 0.0, steer, steer]),
        step=step, parameters=parameters, sample=1e-3, whole="step_steer",
    )  # fmt: skip
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
