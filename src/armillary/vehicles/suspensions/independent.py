"""Independent suspensions: double wishbone, MacPherson strut, five links, trailing arm.

All take hard points of the left side in the frame of their chassis; `HardPoints` mirrors them. Each returns a
`Corner` with the seats of its spring. The inner end of the tie rod is on ``rack``, or on the chassis if there
is none; at rest the rack has the origin and axes of the chassis, so its hard points have the same numbers.
``compliance`` makes links and pivots elastic.
"""

from __future__ import annotations

from collections.abc import Sequence
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
