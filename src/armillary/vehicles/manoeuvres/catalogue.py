"""All manoeuvres by name, for the command line and for loops over them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import armillary as arm
from armillary.vehicles.cars import Car
from armillary.vehicles.manoeuvres.handling import handling_figures, steady_circle
from armillary.vehicles.manoeuvres.lane_changes import (
    Track,
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
    """A manoeuvre: its function of a car and numbers, a description, and the arguments that it uses."""

    drive: Callable[..., Tabled]
    about: str
    uses: tuple[str, ...] = ("speed", "steer")  # names of numbers that ``drive`` takes
    moves: bool = True  # the result has a run, which can be plotted and animated

    def run(self, car: Car, speed: float, steer: float, brake: float) -> Tabled:
        """Run the manoeuvre at a speed (m/s) with a steer angle (rad) and a brake pedal, if it uses these."""
        given = {"speed": speed, "steer": steer, "brake": brake}
        return self.drive(car, **{name: given[name] for name in self.uses})


def _drive_circles(car: Car, *, speed: float, steer: float) -> Tabled:
    return steady_circle(car, speed=speed, steer=[steer / 4, steer / 2, steer])


def _change_lanes(track: Callable[[], Track]) -> Callable[..., Tabled]:
    return lambda car, *, speed: lane_change(car, track(), speed=speed)


MANOEUVRES: Mapping[str, Entry] = {
    "step-steer": Entry(step_steer, "step of the steering, ISO 7401"),
    "sine-steer": Entry(sine_steer, "one period, ISO 7401"),
    "pulse-steer": Entry(pulse_steer, "triangular pulse, ISO 7401"),
    "random-steer": Entry(random_steer, "random steering, ISO 7401"),
    "steady-circle": Entry(_drive_circles, "steady circles by trim, ISO 4138", moves=False),
    "handling": Entry(handling_figures, "figures of the linear car", ("speed",), moves=False),
    "sine-with-dwell": Entry(sine_with_dwell, "stability, ISO 19365"),
    "j-turn": Entry(j_turn, "rollover, NHTSA"),
    "fishhook": Entry(fishhook, "rollover, NHTSA"),
    "braking": Entry(braking, "straight ahead, ISO 21994", ("speed", "brake")),
    "split-braking": Entry(split_braking, "on two frictions, ISO 14512", ("speed", "brake")),
    "braking-in-a-turn": Entry(braking_in_a_turn, "ISO 7975", ("speed", "steer", "brake")),
    "ride": Entry(ride, "over the car's road, ISO 2631-1", ("speed",)),
    "double-lane-change": Entry(_change_lanes(double_lane_change_track), "ISO 3888-1", ("speed",)),
    "obstacle-avoidance": Entry(_change_lanes(obstacle_avoidance_track), "ISO 3888-2", ("speed",)),
}


def run_manoeuvre(
    name: str, car: Car, *, speed: float = 80 / 3.6, steer: float = 0.02, brake: float = 0.3
) -> Tabled:
    """Run a manoeuvre of the catalogue by name and return its result, which has ``table()``."""
    if name not in MANOEUVRES:
        raise arm.ModelError(f"there is no manoeuvre {name!r}; there are {', '.join(MANOEUVRES)}")
    return MANOEUVRES[name].run(car, speed, steer, brake)
