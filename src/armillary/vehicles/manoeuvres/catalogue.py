"""All manoeuvres by name, for the command line and for loops over them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import armillary as arm
from armillary.vehicles.cars import Car
from armillary.vehicles.manoeuvres.handling import handling_figures, steady_circle
from armillary.vehicles.manoeuvres.lane_changes import (
    double_lane_change_track,
    lane_change,
    obstacle_avoidance_track,
)
from armillary.vehicles.manoeuvres.open_loop import (
    braking,
    braking_in_a_turn,
    fishhook,
    j_turn,
    pulse_steer,
    random_steer,
    sine_steer,
    sine_with_dwell,
    split_braking,
    step_steer,
)
from armillary.vehicles.manoeuvres.result import Tabled
from armillary.vehicles.manoeuvres.ride import ride


class Entry(NamedTuple):
    """A manoeuvre: a function of car, speed (m/s), steer angle (rad) and brake pedal, and its standard."""

    run: Callable[[Car, float, float, float], Tabled]
    about: str
    moves: bool = True  # the result has a run, which can be plotted and animated


MANOEUVRES: Mapping[str, Entry] = {
    "step-steer": Entry(
        lambda car, v, steer, brake: step_steer(car, speed=v, steer=steer), "step of the steering, ISO 7401"
    ),
    "sine-steer": Entry(
        lambda car, v, steer, brake: sine_steer(car, speed=v, steer=steer), "one period, ISO 7401"
    ),
    "pulse-steer": Entry(
        lambda car, v, steer, brake: pulse_steer(car, speed=v, steer=steer), "triangular pulse, ISO 7401"
    ),
    "random-steer": Entry(
        lambda car, v, steer, brake: random_steer(car, speed=v, steer=steer), "random steering, ISO 7401"
    ),
    "steady-circle": Entry(
        lambda car, v, steer, brake: steady_circle(car, speed=v, steer=[steer / 4, steer / 2, steer]),
        "steady circles by trim, ISO 4138",
        moves=False,
    ),
    "handling": Entry(
        lambda car, v, steer, brake: handling_figures(car, v), "figures of the linear car", moves=False
    ),
    "sine-with-dwell": Entry(
        lambda car, v, steer, brake: sine_with_dwell(car, speed=v, steer=steer), "stability, ISO 19365"
    ),
    "j-turn": Entry(lambda car, v, steer, brake: j_turn(car, speed=v, steer=steer), "rollover, NHTSA"),
    "fishhook": Entry(lambda car, v, steer, brake: fishhook(car, speed=v, steer=steer), "rollover, NHTSA"),
    "braking": Entry(
        lambda car, v, steer, brake: braking(car, speed=v, brake=brake), "straight ahead, ISO 21994"
    ),
    "split-braking": Entry(
        lambda car, v, steer, brake: split_braking(car, speed=v, brake=brake), "on two frictions, ISO 14512"
    ),
    "braking-in-a-turn": Entry(
        lambda car, v, steer, brake: braking_in_a_turn(car, speed=v, steer=steer, brake=brake), "ISO 7975"
    ),
    "ride": Entry(lambda car, v, steer, brake: ride(car, speed=v), "over the car's road, ISO 2631-1"),
    "double-lane-change": Entry(
        lambda car, v, steer, brake: lane_change(car, double_lane_change_track(), speed=v), "ISO 3888-1"
    ),
    "obstacle-avoidance": Entry(
        lambda car, v, steer, brake: lane_change(car, obstacle_avoidance_track(), speed=v), "ISO 3888-2"
    ),
}


def run_manoeuvre(
    name: str, car: Car, *, speed: float = 80 / 3.6, steer: float = 0.02, brake: float = 0.3
) -> Tabled:
    """Run a manoeuvre of the catalogue by name and return its result, which has ``table()``."""
    if name not in MANOEUVRES:
        raise arm.ModelError(f"there is no manoeuvre {name!r}; there are {', '.join(MANOEUVRES)}")
    return MANOEUVRES[name].run(car, speed, steer, brake)
