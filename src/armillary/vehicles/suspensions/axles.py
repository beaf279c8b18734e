"""Axles that connect both wheels: a solid axle on four links or on leaf springs, and a twist beam."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import armillary as arm
from armillary.vehicles.suspensions.corner import Closure, Corner, HardPoints, add_upright
from armillary.vehicles.tyres.tyre import Scalar


class SolidAxle(NamedTuple):
    """An axle that heaves and rolls relative to its chassis."""

    name: str
    chassis: arm.Body
    body: arm.Body
    half_track: Scalar
    closures: tuple[Closure, ...]
    seats: dict[str, arm.Point]  # left_spring_top, left_spring_foot, and those of the right side

    def wheel_place(self, side: int) -> tuple[Scalar, Scalar, Scalar]:
        """Return the position of a wheel's hub in the axle's frame."""
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
    """Add a solid axle, whose origin is the middle between its wheels.

    Points of the left side: wheel, spring_top, spring_foot; with ``links`` also lower_inner, lower_outer,
    upper_inner, upper_outer. Two lower links along the car and two upper ones that converge leave the axle
    free to heave and roll. Without links, leaf springs must hold the axle: `add_bushing` between the seats of
    a side has the six stiffnesses of one.
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


# A twist beam: two trailing arms joined by a beam, which is stiff in bending and soft in torsion.
#
# Each half, an arm with its half of the beam, is held by a ball joint at its pivot in the chassis. At the
# beam's shear centre, in the middle of the car, the halves rotate relative to each other about the beam and
# slide along it. So two freedoms are left: both wheels move together, or in opposition, when each half turns
# about the line from its pivot to the shear centre. The beam resists the twist.
#
# Source: Matschinsky, Radführungen der Straßenfahrzeuge (2007), section 7.4.


class TwistBeam(NamedTuple):
    """An axle of two halves; their corners carry the wheels."""

    left: Corner
    right: Corner
    closures: tuple[Closure, ...]  # of the whole axle
    twist: Scalar  # angle of the beam, rad
    power: Scalar  # of the beam's torsion, W


def twist_beam(
    system: arm.System,
    name: str,
    chassis: arm.Body,
    places: Mapping[str, Sequence[float]],
    *,
    mass: Scalar = 18.0,
    inertia: Scalar | Sequence[Scalar] = (0.6, 0.5, 0.9),
    torsion: float = 6000.0,
) -> TwistBeam:
    """Add a twist beam to a chassis.

    places   of the left side: wheel, pivot, beam (the shear centre, y = 0), spring_top,
             spring_foot
    mass     of one half; ``inertia`` is about the wheel's centre
    torsion  stiffness of the beam, N·m/rad
    """
    if "beam" in places and places["beam"][1] != 0:
        raise arm.ModelError(f"twist beam '{name}': the point 'beam' lies amid the car, so its y must be 0")
    closures: tuple[Closure, ...] = ()
    halves, made = [], []
    for label, side in (("left", 1), ("right", -1)):
        points = HardPoints(system, name, places, side=side)
        half = add_upright(system, f"{name}_{label}", chassis, points, mass=mass, inertia=inertia)
        held: tuple[Closure, ...] = system.close_joint(
            "spherical",
            half.point("pivot", points.between("wheel", "pivot")),
            chassis.point(f"{name}_{label}_pivot", points["pivot"]),
            name=f"{name}_{label}_pivot",
        )
        closures += held
        seats = {
            "spring_top": chassis.point(f"{name}_{label}_spring_top", points["spring_top"]),
            "spring_foot": half.point("spring_foot", points.between("wheel", "spring_foot")),
        }
        half.shape(
            arm.Polyline([(0, 0, 0), points.between("wheel", "pivot"), points.between("wheel", "beam")])
        )
        halves.append((half, points))
        made.append(Corner(f"{name}_{label}", side, chassis, half, (half,), (), seats))
    (left, left_points), (right, right_points) = halves
    closures += system.close_joint(
        "cylindrical",
        left.point("beam", left_points.between("wheel", "beam")),
        right.point("beam", right_points.between("wheel", "beam")),
        axis="y",
        name=f"{name}_beam",
    )
    rate = system.parameter(f"{name}_torsion", torsion, units="N*m/rad", about="stiffness of the beam")
    twist = arm.asin(arm.dot(arm.cross(right.z, left.z), right.y))
    turning = arm.dot(arm.angular_velocity(left) - arm.angular_velocity(right), right.y)
    system.moment(f"{name}_torsion_moment", -rate * twist, right.y, on=left, reaction=right)
    return TwistBeam(made[0], made[1], closures, twist, -rate * twist * turning)
