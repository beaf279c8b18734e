"""Ride over a road: weighted accelerations by ISO 2631-1, wheel loads, peaks.

The road belongs to the car. ``fourteen_freedom_car(…, road=iso8608_road("C", length=400))`` stands on a
random road, and with ``road=obstacle_road([Obstacle(at=20, length=0.05, height=0.02)], tyre, 3600)`` on a
road with a cleat.
"""

from __future__ import annotations

import numpy as np

import armillary as arm
from armillary.vehicles.arguments import require_numbers
from armillary.vehicles.cars import CORNERS, Car
from armillary.vehicles.manoeuvres.open_loop import drive
from armillary.vehicles.manoeuvres.result import Manoeuvre, peak

AXES = {"vertical": "Wk", "lateral": "Wd", "longitudinal": "Wd"}
# Limits of ISO 2631-1:1997, annex C.2.3, m/s²: lower ends of the standard's ranges, which overlap.
FEELING = (
    (2.0, "extremely uncomfortable"),
    (1.25, "very uncomfortable"),
    (0.8, "uncomfortable"),
    (0.5, "fairly uncomfortable"),
    (0.315, "a little uncomfortable"),
    (0.0, "not uncomfortable"),
)


def ride(car: Car, *, speed: float, duration: float = 10.0, settle: float = 2.0) -> Manoeuvre:
    """Drive straight over the road of a car and weigh its accelerations at the mass centre, ISO 2631-1.

    settle  time at the beginning that is left out of the figures, s

    Figures: weighted accelerations by axis (Wk vertical, Wd horizontal); their total value with factors of
    one, as for comfort; the vertical vibration dose (fourth power); peaks; the largest and the least load of
    a wheel; and the dynamic load coefficient of each axle, the standard deviation of loads over their mean.
    """
    if "vertical acceleration" not in car.system.outputs:
        raise arm.ModelError("ride: this car does not heave; use one with four wheels")
    if not 0 <= settle < duration:
        raise arm.ModelError(f"ride: settle={settle:g} s must end before the duration of {duration:g} s")
    run = drive(car, duration, speed, ([0, 1], [0, 0]), whole="ride")
    late = np.asarray(run.time) >= settle
    step = float(run.time[1] - run.time[0])
    figures: dict[str, tuple[float, str]] = {}
    square = 0.0
    for axis, kind in AXES.items():
        weighted = weigh(np.asarray(run[f"{axis} acceleration"])[late], step, kind)
        mean = float(np.sqrt(np.mean(weighted**2)))
        square += mean**2
        figures[f"weighted {axis} acceleration"] = (mean, "m/s2")
        if axis == "vertical":
            dose = float((np.sum(weighted**4) * step) ** 0.25)
    total = float(np.sqrt(square))
    figures |= {
        "total vibration value": (total, "m/s2"),
        "vertical vibration dose": (dose, "m/s^1.75"),
        "peak vertical acceleration": (peak(np.asarray(run["vertical acceleration"])[late]), "m/s2"),
        "peak longitudinal acceleration": (peak(np.asarray(run["longitudinal acceleration"])[late]), "m/s2"),
    }
    loads = {wheel: np.asarray(run[f"{wheel} Fz"])[late] for wheel in CORNERS if f"{wheel} Fz" in run}
    figures["largest load of a wheel"] = (max(float(load.max()) for load in loads.values()), "N")
    figures["least load of a wheel"] = (min(float(load.min()) for load in loads.values()), "N")
    for axle in ("front", "rear"):
        chosen = [load for wheel, load in loads.items() if wheel.startswith(axle)]
        share = np.mean([float(np.std(load) / np.mean(load)) for load in chosen])
        figures[f"dynamic load coefficient, {axle}"] = (float(share), "")
    words = next(text for limit, text in FEELING if total >= limit)
    return Manoeuvre("ride", "ISO 2631-1", run, figures, None, words)


def weigh(acceleration: np.ndarray, step: float, kind: str = "Wk") -> np.ndarray:
    """Return an acceleration over time, weighted by ISO 2631-1: its spectrum times |H(f)|.

    kind  "Wk" vertical, "Wd" horizontal, and the others of `arm.iso2631_weighting`
    """
    values = np.asarray(acceleration, dtype=float)
    require_numbers("weigh", positive={"step": step, "number of samples": values.size})
    spectrum = np.fft.rfft(values - np.mean(values))
    frequency = np.fft.rfftfreq(len(values), step)
    factor = np.zeros_like(frequency)
    factor[1:] = arm.iso2631_weighting(frequency[1:], kind)
    return np.fft.irfft(spectrum * factor, len(values))
