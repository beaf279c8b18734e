"""Suspensions of an axle: independent ones, and axles that connect both wheels.

Independent suspensions are a double wishbone, a MacPherson strut, five links and a trailing arm; the others a
solid axle on four links or on leaf springs, and a twist beam.

All take hard points of the left side in the frame of their chassis; `HardPoints` mirrors them. Each
independent suspension returns a `Corner` with the seats of its spring. The inner end of the tie rod is on
``rack``, or on the chassis if there is none; at rest the rack has the origin and axes of the chassis, so its
hard points have the same numbers. ``compliance`` makes links and pivots elastic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import armillary as arm
from armillary.vehicles.suspensions.corner import (
    Closure,
    Compliance,
    Corner,
    HardPoints,
    add_upright,
    close_arm,
    close_link,
)
from armillary.vehicles.tyres.tyre import Scalar


class Masses(NamedTuple):
    """Masses and moments of inertia of a corner without its wheel."""

    upright: Scalar = 20.0
    upright_inertia: Scalar | Sequence[Scalar] = (0.4, 0.3, 0.4)
    arm: Scalar = 4.0
    arm_inertia: Scalar | Sequence[Scalar] = (0.05, 0.03, 0.08)


def double_wishbone(
    system: arm.System,
    name: str,
    chassis: arm.Body,
    points: HardPoints,
    *,
    masses: Masses | None = None,
    rack: arm.Body | None = None,
    compliance: Compliance | None = None,
) -> Corner:
    """Add a suspension of two wishbones and a tie rod; the spring stands on the lower wishbone.

    Points: wheel, lower_front, lower_rear, lower_ball, upper_front, upper_rear, upper_ball, rack, rod_end,
    spring_top, spring_foot. The lower wishbone is a body, the upper one two links without mass.
    """
    masses = masses or Masses()
    upright = _upright(system, name, chassis, points, masses)
    lower, closures = close_arm(
        system, name, chassis, upright, points, "lower", mass=masses.arm, inertia=masses.arm_inertia,
        compliance=compliance,
    )  # fmt: skip
    for end in ("upper_front", "upper_rear"):
        closures += close_link(system, name, chassis, upright, points, end, "upper_ball", compliance)
    closures += close_link(system, name, rack or chassis, upright, points, "rack", "rod_end", compliance)
    seats = _seats(name, chassis, lower, points, "lower_rear")
    return Corner(name, points.side, chassis, upright, (upright, lower), closures, seats)


def macpherson(
    system: arm.System,
    name: str,
    chassis: arm.Body,
    points: HardPoints,
    *,
    masses: Masses | None = None,
    rack: arm.Body | None = None,
    compliance: Compliance | None = None,
) -> Corner:
    """Add a MacPherson suspension: a lower arm, a tie rod, and a strut that is part of the upright.

    Points: wheel, lower_front, lower_rear, lower_ball, strut_top, strut_foot, rack, rod_end. The line from
    strut_foot to strut_top at rest is fixed in the upright and slides through the ball at strut_top. The
    spring acts along this line.
    """
    masses = masses or Masses()
    upright = _upright(system, name, chassis, points, masses)
    lower, closures = close_arm(
        system, name, chassis, upright, points, "lower", mass=masses.arm, inertia=masses.arm_inertia,
        compliance=compliance,
    )  # fmt: skip
    top = chassis.point(f"{name}_strut_top", points["strut_top"])
    foot = upright.point(f"{name}_strut_foot", points.between("wheel", "strut_foot"))
    x, y, z = points.between("strut_foot", "strut_top")
    line = x * upright.x + y * upright.y + z * upright.z
    across = arm.direction(arm.cross(line, upright.x))
    aside = arm.direction(arm.cross(line, across))
    closures += system.close_loop(top, foot, [across, aside], name=f"{name}_strut_guide")
    closures += close_link(system, name, rack or chassis, upright, points, "rack", "rod_end", compliance)
    seats = {"spring_top": top, "spring_foot": foot}
    return Corner(name, points.side, chassis, upright, (upright, lower), closures, seats)


def five_link(
    system: arm.System,
    name: str,
    chassis: arm.Body,
    points: HardPoints,
    *,
    masses: Masses | None = None,
    rack: arm.Body | None = None,
    compliance: Compliance | None = None,
) -> Corner:
    """Add a suspension of five links without mass; the spring stands on the upright.

    Points: wheel, inner_1 to inner_5 on the chassis and outer_1 to outer_5 on the upright, spring_top,
    spring_foot. Link 5 is the tie rod; its inner end is on ``rack`` if given.
    """
    masses = masses or Masses()
    upright = _upright(system, name, chassis, points, masses)
    closures: tuple[Closure, ...] = ()
    for i in range(1, 6):
        inner = rack if i == 5 and rack is not None else chassis
        closures += close_link(system, name, inner, upright, points, f"inner_{i}", f"outer_{i}", compliance)
    seats = _seats(name, chassis, upright, points, "wheel")
    return Corner(name, points.side, chassis, upright, (upright,), closures, seats)


def trailing_arm(
    system: arm.System,
    name: str,
    chassis: arm.Body,
    points: HardPoints,
    *,
    masses: Masses | None = None,
    rack: arm.Body | None = None,
    compliance: Compliance | None = None,
) -> Corner:
    """Add a trailing or semi-trailing arm, which is the upright: it turns about the line through two pivots.

    Points: wheel, pivot_inner, pivot_outer, spring_top, spring_foot.
    """
    if rack is not None:
        raise arm.ModelError(f"suspension '{name}': a trailing arm has no tie rod, so a rack cannot steer it")
    if compliance is not None:
        raise arm.ModelError(f"suspension '{name}': a trailing arm has rigid pivots; leave out compliance=")
    masses = masses or Masses()
    upright = _upright(system, name, chassis, points, masses)
    axis = points.between("pivot_inner", "pivot_outer")
    closures = system.close_joint(
        "revolute",
        upright.point(f"{name}_pivot", points.between("wheel", "pivot_inner")),
        chassis.point(f"{name}_pivot", points["pivot_inner"]),
        axis=axis,
        name=f"{name}_pivot",
    )
    seats = _seats(name, chassis, upright, points, "wheel")
    return Corner(name, points.side, chassis, upright, (upright,), closures, seats)


def _upright(
    system: arm.System, name: str, chassis: arm.Body, points: HardPoints, masses: Masses
) -> arm.Body:
    return add_upright(system, name, chassis, points, mass=masses.upright, inertia=masses.upright_inertia)


def _seats(
    name: str, chassis: arm.Body, carrier: arm.Body, points: HardPoints, origin: str
) -> dict[str, arm.Point]:
    return {
        "spring_top": chassis.point(f"{name}_spring_top", points["spring_top"]),
        "spring_foot": carrier.point(f"{name}_spring_foot", points.between(origin, "spring_foot")),
    }


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
    free to heave and roll. Without links, leaf springs must hold the axle: add a `LeafSpring` on each side
    between the seats.
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
        raise arm.ModelError(
            f"twist beam '{name}': the point 'beam' lies in the middle of the car, so its y must be 0"
        )
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
