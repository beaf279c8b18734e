"""A car and a driver who looks ahead, in the double lane change of ISO 3888-1 between cones.

The car has 14 freedoms: six of its body, and for each wheel its travel and its spin. Tyres are brushes in
closed form, a little stiffer at the rear. The driver follows the middle of the lanes.
"""

from __future__ import annotations

import sys
from pathlib import Path

import armillary as arm
import armillary.vehicles as veh

TRACK = veh.double_lane_change_track(width=1.8)


def car() -> veh.Car:
    """The car with its driver."""
    front, rear = (
        veh.BrushTyre(slip_stiffness=stiffness, friction=1.0, vertical_damping=300.0, radius=0.32)
        for stiffness in (18.0, 24.0)
    )
    return veh.fourteen_freedom_car(front, rear, speed=60 / 3.6, driver=veh.PathDriver(TRACK.path))


def system() -> arm.System:
    """The description of the car alone."""
    return car().system


def main(folder: str = "out") -> None:
    """The track at 60 km/h, and the highest speed that leaves all cones in place."""
    driven = car()
    print(f"{driven.model.equations.formalism}: {driven.model.equations.operations}")
    result = veh.lane_change(driven, TRACK, speed=60 / 3.6)
    print(result.table())
    best = veh.fastest(lambda v: veh.lane_change(driven, TRACK, speed=v), 50 / 3.6, 80 / 3.6, within=0.3)
    print(f"fastest pass: {3.6 * best:.0f} km/h")
    Path(folder).mkdir(parents=True, exist_ok=True)
    result.run.plot("body.q2", x="body.q1", path=Path(folder) / "lane_change.png")


if __name__ == "__main__":
    main(*sys.argv[1:2])
