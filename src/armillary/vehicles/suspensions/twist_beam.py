"""A twist beam: two trailing arms that a beam joins, stiff in bending and soft in torsion.

Each half, an arm with its half of the beam, turns in a ball at its pivot in the chassis. At the beam's shear
centre amid the car the halves turn against each other about the beam and slide along it, so that two
freedoms are left: both wheels together, and one against the other, when each half turns about the line from
its pivot to the shear centre. The beam resists its twist.

Source: Matschinsky, Radführungen der Straßenfahrzeuge (2007), section 7.4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import armillary as arm
from armillary.vehicles.suspensions.corner import Closure, Corner, add_upright
from armillary.vehicles.suspensions.hard_points import HardPoints
from armillary.vehicles.tyres.tyre import Scalar


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

    places   of the left side: wheel, pivot, beam (the shear centre amid the car, y = 0), spring_top,
             spring_foot
    mass     of one half, its moments of inertia about the wheel's centre
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
