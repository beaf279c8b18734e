"""Linkages with closed loops as plain data: a tree of links as in `models.py`, and points that stay together.

All links have mass, because MuJoCo asks for it. Held along two axes, a loop is planar; held along three, it
is a ball joint.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, radians, sin

from benchmarks.models import ORIGIN, Link, Model, Vector, X, Y, Z

DOWN = (0.0, -9.81, 0.0)  # gravity of the planar linkages


@dataclass(frozen=True)
class Closure:
    """A point of one link and a point of another that stay together along axes of the ground."""

    link: int
    point: Vector  # in the link's frame
    other: int
    other_point: Vector
    axes: str = "xyz"


@dataclass(frozen=True)
class Linkage(Model):
    closures: tuple[Closure, ...]
    start: tuple[float, ...]  # a configuration near closed ones
    spread: float  # of random configurations around it
    efforts: tuple[float, ...]  # constant, in a simulation

    @property
    def planar(self) -> bool:
        return all(closure.axes == "xy" for closure in self.closures)

    @property
    def freedoms(self) -> int:
        return self.nv - sum(len(closure.axes) for closure in self.closures)


def four_bar() -> Linkage:
    """Sayers (1990), section 9.3, without its strut and with mass on every link."""
    links = (
        Link(-1, "revolute", Z, ORIGIN, 2.0, (0.25, 0.0, 0.0), (0.01, 0.05, 0.05)),
        Link(0, "revolute", Z, (0.5, 0.0, 0.0), 10.0, (0.0, 0.2, 0.0), (1.0, 0.1, 1.0)),
        Link(-1, "revolute", Z, (0.1, 0.3, 0.0), 1.6, (0.2, 0.0, 0.0), (0.01, 0.03, 0.03)),
    )
    pin = Closure(1, (0.0, 0.3, 0.0), 2, (0.4, 0.0, 0.0), "xy")
    return Linkage(
        "fourbar", "four-bar linkage", DOWN, links, (pin,), start=ORIGIN, spread=0.4, efforts=ORIGIN
    )


def slider_crank() -> Linkage:
    links = (
        Link(-1, "revolute", Z, ORIGIN, 1.0, (0.05, 0.0, 0.0), (0.001, 0.01, 0.01)),
        Link(0, "revolute", Z, (0.1, 0.0, 0.0), 1.0, (0.15, 0.0, 0.0), (0.001, 0.01, 0.01)),
        Link(-1, "prismatic", X, ORIGIN, 0.5, ORIGIN, (0.001, 0.001, 0.001)),
    )
    pin = Closure(1, (0.3, 0.0, 0.0), 2, ORIGIN, "xy")
    start = (0.8, -1.04, 0.36)
    return Linkage("slidercrank", "slider-crank", DOWN, links, (pin,), start, spread=0.4, efforts=ORIGIN)


SPRING = (2e4, 200.0)  # stiffness and damping
LEG, HEIGHT, LOAD = 1.3, 1.1, 150.0


def stewart_platform() -> Linkage:
    """A free platform on six sprung legs: a cross, a cylinder and a piston each, closed by ball joints."""
    base, top = (-10, 10, 110, 130, 230, 250), (-50, 50, 70, 170, 190, 290)  # degrees
    links = [Link(-1, "free", ORIGIN, ORIGIN, 50.0, ORIGIN, (2.0, 2.0, 4.0))]
    closures, start = [], [0.0, 0.0, HEIGHT, 1.0, 0.0, 0.0, 0.0]
    for foot, joint in zip(base, top, strict=True):
        at = (cos(radians(foot)), sin(radians(foot)), 0.0)
        head = (0.6 * cos(radians(joint)), 0.6 * sin(radians(joint)), 0.0)
        cross = len(links)
        links += [
            Link(-1, "revolute", X, at, 0.2, ORIGIN, (1e-3, 1e-3, 1e-3)),
            Link(cross, "revolute", Y, ORIGIN, 3.0, (0.0, 0.0, 0.3), (0.1, 0.1, 0.003)),
            Link(cross + 1, "prismatic", Z, ORIGIN, 2.0, (0.0, 0.0, -0.3), (0.06, 0.06, 0.002), *SPRING),
        ]  # fmt: skip
        closures.append(Closure(cross + 2, ORIGIN, 0, head))
        # Cross and cylinder turn z towards the head: R_x(a) R_y(b) z = (sin b, −sin a cos b, cos a cos b).
        start += [-(head[1] - at[1]) / HEIGHT, head[0] - at[0], LEG]
    efforts = 6 * (0.0,) + 6 * (0.0, 0.0, SPRING[0] * LEG + LOAD)
    return Linkage(
        "stewart", "Stewart platform", (0.0, 0.0, -9.81), tuple(links), tuple(closures), tuple(start),
        spread=0.1, efforts=efforts,
    )  # fmt: skip


LINKAGES: dict[str, Linkage] = {
    linkage.key: linkage for linkage in (four_bar(), slider_crank(), stewart_platform())
}
