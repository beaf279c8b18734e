"""A solid axle: one body for both wheels, on four links or on leaf springs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import armillary as arm
from armillary.vehicles.suspensions.corner import Closure
from armillary.vehicles.suspensions.hard_points import HardPoints
from armillary.vehicles.tyres.tyre import Scalar


class SolidAxle(NamedTuple):
    """An axle that heaves and rolls in its chassis."""

    name: str
    chassis: arm.Body
    body: arm.Body
    half_track: Scalar
    closures: tuple[Closure, ...]
    seats: dict[str, arm.Point]  # left_spring_top, left_spring_foot, and those of the right side

    def wheel_place(self, side: int) -> tuple[Scalar, Scalar, Scalar]:
        """Return the place of a wheel in the axle's frame."""
        return 0.0, side * self.half_track, 0.0


def solid_axle(
    system: arm.System,
    name: str,
    chassis: arm.Body,
    places: Mapping[str, Sequence[float]],
    *,
    mass: Scalar = 90.0,
    inertia: Scalar | Sequence[Scalar] = (18.0, 1.5, 18.0),
    links: bool = True,
) -> SolidAxle:
    """Add a solid axle at the middle of its wheels.

    Points of the left side: wheel, spring_top, spring_foot; with ``links`` also lower_inner, lower_outer,
    upper_inner, upper_outer: two lower links along the car and two upper ones that converge, which leave the
    axle heave and roll. Without links leaf springs must hold it: `add_bushing` between the seats of a side
    has their six stiffnesses.
    """
    left = HardPoints(system, name, places)
    x, half_track, z = left["wheel"]
    body = system.body(name, chassis, arm.Free(rotation="zxy"), at=(x, 0, z), mass=mass, inertia=inertia)
    body.shape(arm.Polyline([(0, -half_track, 0), (0, half_track, 0)], 0.04))
    closures: tuple[Closure, ...] = ()
    seats: dict[str, arm.Point] = {}
    for label, side in (("left", 1), ("right", -1)):
        points = HardPoints(system, name, places, side=side)

        def inside(point: str, points: HardPoints = points) -> tuple[Scalar, Scalar, Scalar]:
            forward, left, up = points[point]
            return forward - x, left, up - z

        for link in ("lower", "upper") if links else ():
            closures += system.close_joint(
                "distance",
                body.point(f"{label}_{link}", inside(f"{link}_outer")),
                chassis.point(f"{name}_{label}_{link}", points[f"{link}_inner"]),
                length=points.distance(f"{link}_inner", f"{link}_outer"),
                name=f"{name}_{label}_{link}",
            )
        seats[f"{label}_spring_top"] = chassis.point(f"{name}_{label}_top", points["spring_top"])
        seats[f"{label}_spring_foot"] = body.point(f"{label}_foot", inside("spring_foot"))
    return SolidAxle(name, chassis, body, half_track, closures, seats)
