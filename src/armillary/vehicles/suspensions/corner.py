"""Hard points of an axle, and the suspension of one wheel (corner) made from them.

Hard points are numbers, or parameters of the model if derivatives with respect to them are needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

import armillary as arm
from armillary.vehicles.parts.bushings import Law, add_bushing, apply_law
from armillary.vehicles.tyres.tyre import Scalar

Place: TypeAlias = tuple[Scalar, Scalar, Scalar]


class HardPoints:
    """Points of an axle's left side in the frame of its chassis, in metres, mirrored for the right side.

    vary  names of the points that become parameters AXLE_POINT_x, _y, _z, which both sides share, or "all".
          Numbers make smaller equations: a car with all points as parameters has a quarter more operations
          and takes three times as long to derive.

    With all coordinates zero the suspension is at its hard points, whatever their values, because lengths of
    links are computed from them.
    """

    def __init__(
        self,
        system: arm.System,
        axle: str,
        places: Mapping[str, Sequence[float]],
        *,
        side: int = 1,
        vary: Iterable[str] = (),
    ) -> None:
        if side not in (1, -1):
            raise arm.ModelError(f"{axle}: side={side!r} is not known; use 1 for left and -1 for right")
        self.axle, self.side = axle, side
        chosen = set(places) if vary == "all" else set(vary)
        unknown = chosen - set(places)
        if unknown:
            raise arm.ModelError(
                f"{axle}: there is no hard point {sorted(unknown)[0]!r}; known are {', '.join(places)}"
            )
        self._places = {
            name: _place(system, axle, name, place, name in chosen) for name, place in places.items()
        }

    def __getitem__(self, name: str) -> Place:
        try:
            x, y, z = self._places[name]
        except KeyError:
            raise arm.ModelError(
                f"{self.axle}: the hard point {name!r} is missing; given are {', '.join(self._places)}"
            ) from None
        return x, self.side * y, z

    def __contains__(self, name: str) -> bool:
        return name in self._places

    def between(self, start: str, end: str) -> Place:
        """Return the vector from one point to another."""
        a, b = self[start], self[end]
        return b[0] - a[0], b[1] - a[1], b[2] - a[2]

    def distance(self, start: str, end: str) -> Scalar:
        """Return the distance between two points."""
        x, y, z = self.between(start, end)
        square = x * x + y * y + z * z
        if not isinstance(square, arm.Expr) and square < 1e-12:
            raise arm.ModelError(f"{self.axle}: the hard points {start!r} and {end!r} are at one place")
        return arm.sqrt(square)


def _place(system: arm.System, axle: str, name: str, place: Sequence[float], vary: bool) -> Place:
    if len(place) != 3:
        raise arm.ModelError(f"{axle}: hard point {name!r} must have three coordinates, not {len(place)}")
    numbers = [float(value) for value in place]
    if not vary:
        return numbers[0], numbers[1], numbers[2]
    found = []
    for letter, value in zip("xyz", numbers, strict=True):
        label = f"{axle}_{name}_{letter}"
        known = system.parameters
        found.append(
            known[label]
            if label in known
            else system.parameter(label, value, units="m", about=f"{letter} of {name} of the {axle} axle")
        )
    return found[0], found[1], found[2]


# A corner of a suspension: an upright with six freedoms relative to the chassis, and the loops that hold it.
#
# The upright's origin is the wheel's centre and its y the axle, so its coordinates are the usual measures of
# a suspension: q1, q2, q3 the travel along x, y, z of the chassis, q4 the steer angle, q5 the inclination.
# Links, arms and guides remove freedoms by closed loops until one is left, the travel. A chain of bodies with
# the upright at its end would cost 27 % more operations in a car with four wishbones.


ROTATION = "zxy"  # order of the upright's rotations: steer, inclination, then about the axle


@dataclass(frozen=True)
class Compliance:
    """Stiffness and damping of a suspension's joints: numbers, or functions of displacement or rate.

    link            rate of a rod along its line, with the bushings at its ends, N/m
    link_damping    damping of a rod, N·s/m
    pivot           rates of a wishbone's pivot along x, y, z of the chassis, N/m
    pivot_damping   damping of a pivot along x, y, z, N·s/m
    torsion         rates of a pivot about x, y, z, N·m/rad
    """

    link: Law = 1e7
    link_damping: Law = 2e3
    pivot: tuple[Law, Law, Law] = (5e6, 1e7, 1e7)
    pivot_damping: tuple[Law, Law, Law] = (2e3, 2e3, 2e3)
    torsion: tuple[Law, Law, Law] = (20.0, 20.0, 20.0)


class Closure(Protocol):
    """A closed loop, as `System.close_joint` returns it."""

    @property
    def name(self) -> str:
        """Name of the loop."""

    @property
    def position(self) -> Scalar:
        """The expression that vanishes when the loop is closed."""


@dataclass(frozen=True)
class Corner:
    """The suspension of one wheel, without the wheel."""

    name: str
    side: int  # 1 left, −1 right
    chassis: arm.Body
    upright: arm.Body
    bodies: tuple[arm.Body, ...]  # upright and arms
    closures: tuple[Closure, ...]  # loops that hold the bodies
    seats: Mapping[str, arm.Point]  # of a spring: "spring_top" on the chassis, "spring_foot"

    @property
    def travel(self) -> Scalar:
        """Upward displacement of the wheel's centre relative to the chassis, m."""
        return self.upright.q3

    @property
    def coordinates(self) -> list[Scalar]:
        """All coordinates of the corner."""
        return [q for body in self.bodies for q in body.coordinates]

    def steer(self) -> Scalar:
        """Return the angle of the wheel plane about z of the chassis, positive to the left, rad."""
        axle = self.upright.y
        return arm.atan2(-arm.dot(axle, self.chassis.x), arm.dot(axle, self.chassis.y))

    def camber(self) -> Scalar:
        """Return the camber relative to the chassis, positive if the top leans outwards, rad."""
        return -self.side * arm.asin(arm.dot(self.upright.y, self.chassis.z))

    def ratios(self, system: arm.System, of: Sequence[Scalar]) -> list[float]:
        """Return motion ratios: derivatives of quantities with respect to the travel, at rest.

        Coordinates outside the corner, such as the rack's, are constant.
        """
        return motion_ratios(system, self.name, self.coordinates, self.closures, {self.travel: 1.0}, of)

    def add_outputs(self, system: arm.System) -> None:
        """Add travel, toe, camber and the displacements of the wheel's centre as outputs."""
        place = arm.position(self.upright.origin, self.chassis.origin)
        at_rest = [self.upright.q1, self.upright.q2]
        system.output(f"{self.name} travel", self.travel, units="mm", about="of the wheel's centre, up")
        system.output(f"{self.name} toe", -self.side * self.steer(), units="deg", about="positive inwards")
        system.output(f"{self.name} camber", self.camber(), units="deg", about="positive outwards at the top")
        system.output(f"{self.name} recession", -at_rest[0], units="mm", about="rearwards")
        system.output(
            f"{self.name} half track",
            self.side * arm.dot(place, self.chassis.y),
            units="mm",
            about="of the wheel's centre",
        )


def add_upright(
    system: arm.System, name: str, chassis: arm.Body, points: HardPoints, *, mass: Scalar, inertia: Scalar
) -> arm.Body:
    """Add the body that carries a wheel, at the hard point "wheel", with six freedoms in the chassis."""
    return system.body(
        f"{name}_upright", chassis, arm.Free(rotation=ROTATION), at=points["wheel"], mass=mass,
        inertia=inertia,
    )  # fmt: skip


def close_link(
    system: arm.System,
    name: str,
    chassis: arm.Body,
    upright: arm.Body,
    points: HardPoints,
    inner: str,
    outer: str,
    compliance: Compliance | None = None,
) -> tuple[Closure, ...]:
    """Hold an upright by a rod without mass between two hard points, with ball joints at its ends.

    With a compliance the rod is a spring and a damper, and closes no loop.
    """
    if compliance is not None:
        rod = compliance
        length = points.distance(inner, outer)
        system.strut(
            f"{name}_{inner}_{outer}",
            lambda x, v: -apply_law(rod.link, x - length) - apply_law(rod.link_damping, v),
            between=(
                upright.point(f"{outer}_of_{inner}", points.between("wheel", outer)),
                chassis.point(f"{name}_{inner}", points[inner]),
            ),
        )
        return ()
    closed: tuple[Closure, ...] = system.close_joint(
        "distance",
        upright.point(f"{outer}_of_{inner}", points.between("wheel", outer)),
        chassis.point(f"{name}_{inner}", points[inner]),
        length=points.distance(inner, outer),
        name=f"{name}_{inner}_{outer}",
    )
    return closed


def close_arm(
    system: arm.System,
    name: str,
    chassis: arm.Body,
    upright: arm.Body,
    points: HardPoints,
    which: str,
    *,
    mass: Scalar,
    inertia: Scalar | Sequence[Scalar],
    compliance: Compliance | None = None,
) -> tuple[arm.Body, tuple[Closure, ...]]:
    """Add a wishbone: a body that turns about WHICH_rear to WHICH_front and carries the upright on a ball.

    The ball joint is at WHICH_ball. The wishbone's mass centre is midway between the rear pivot and the ball.
    With a compliance its pivots are bushings.
    """
    rear, front, ball = f"{which}_rear", f"{which}_front", f"{which}_ball"
    x, y, z = points.between(rear, ball)
    joint = arm.Revolute(points.between(rear, front)) if compliance is None else arm.Free(rotation="zyx")
    wishbone = system.body(
        f"{name}_{which}", chassis, joint, at=points[rear], com=(x / 2, y / 2, z / 2), mass=mass,
        inertia=inertia,
    )  # fmt: skip
    if compliance is not None:
        for pivot in (rear, front):
            add_bushing(
                system, f"{name}_{pivot}_bushing",
                wishbone.point(f"{pivot}_pin", points.between(rear, pivot)),
                chassis.point(f"{name}_{pivot}_seat", points[pivot]), stiffness=compliance.pivot,
                damping=compliance.pivot_damping, torsion=compliance.torsion,
            )  # fmt: skip
    end = points.between(rear, front)
    wishbone.shape(arm.Polyline([(0, 0, 0), (x, y, z), end]))
    closed = system.close_joint(
        "spherical",
        upright.point(f"{name}_{ball}", points.between("wheel", ball)),
        wishbone.point(f"{name}_{which}_end", (x, y, z)),
        name=f"{name}_{ball}",
    )
    return wishbone, closed


def rest_values(system: arm.System) -> dict[str, float]:
    """Return the values of parameters as declared, and zero for all coordinates and speeds."""
    values = {name: p.data.default for name, p in system.parameters.items() if p.data.default is not None}
    variables = [x for body in system.bodies.values() for x in (*body.coordinates, *body.speeds)]
    return {**values, **{x.data.name: 0.0 for x in variables}}


def motion_ratios(
    system: arm.System,
    name: str,
    coordinates: Sequence[Scalar],
    closures: Sequence[Closure],
    driven: Mapping[Scalar, float],
    of: Sequence[Scalar],
) -> list[float]:
    """Return the rates of quantities at rest when the driven coordinates move at given rates.

    Rates of the other coordinates follow from the closures, J q' = 0.
    """
    values = rest_values(system)

    def at_rest(value: Scalar) -> float:
        return float(arm.evaluate(value, values)) if isinstance(value, arm.Expr) else float(value)

    rows = [[at_rest(arm.derivative(c.position, q)) for q in coordinates] for c in closures]
    rows += [[1.0 if q is moved else 0.0 for q in coordinates] for moved in driven]
    wanted = np.array([0.0] * len(closures) + list(driven.values()))
    found, _, rank, _ = np.linalg.lstsq(np.array(rows), wanted, rcond=1e-9)
    if rank < len(coordinates):
        raise arm.ModelError(
            f"suspension '{name}': its links leave {len(coordinates) - rank} freedoms too many at the hard "
            "points; move the points, or add a link"
        )
    return [
        sum(at_rest(arm.derivative(y, q)) * rate for q, rate in zip(coordinates, found, strict=True))
        for y in of
    ]
