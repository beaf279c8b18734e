"""Kinematics of a suspension on a rig that holds the chassis: tables over bump, roll and steer.

Positions are found by `Model.sweep`, which closes the loops at every row. Derivatives with respect to hard
points are exact. With closures c(q, p) = 0 and the driven coordinates held,

    ∂c/∂q dq/dp = −∂c/∂p        dy/dp = ∂y/∂p + ∂y/∂q dq/dp

where the lengths of links change with the points p, such that the suspension at rest stays at its points.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

import armillary as arm
from armillary.vehicles.cars import Compiled
from armillary.vehicles.suspensions.axles import Masses
from armillary.vehicles.suspensions.corner import Compliance, Corner, HardPoints, rest_values
from armillary.vehicles.tyres.tyre import Scalar

MEASURED = ("toe", "camber", "recession", "half track")  # outputs of a `Corner`


class Builder(Protocol):
    """The signature of functions for independent suspensions."""

    def __call__(
        self,
        system: arm.System,
        name: str,
        chassis: arm.Body,
        points: HardPoints,
        *,
        masses: Masses | None = None,
        rack: arm.Body | None = None,
        compliance: Compliance | None = None,
    ) -> Corner:
        """Add a corner to a system."""


@dataclass(frozen=True)
class SuspensionRig:
    """An axle whose chassis is the ground: the heights of the wheels and the rack's travel are driven.

    Columns of tables are "left toe", "left camber", "left recession", "left half track", the same for the
    right side, and the travels.
    """

    system: arm.System
    left: Corner
    right: Corner
    rack: arm.Body

    @cached_property
    def model(self) -> Compiled:
        """The compiled model, made at the first use."""
        return self.system.derive().compile()

    def bump(self, travel: Iterable[float]) -> arm.Sweep:
        """Return the table over equal travels of both wheels, in metres, with derivatives by the travel."""
        height = np.asarray(list(travel), dtype=float)
        return self._sweep(height, height, np.zeros_like(height))

    def roll(self, angle: Iterable[float]) -> arm.Sweep:
        """Return the table over roll angles φ of the chassis, rad: wheels move by ±b/2 tan φ, with track b.

        A positive angle lowers the right side of the chassis, so its right wheel is in bump. Camber is
        relative to the chassis.
        """
        places = (self.left.upright.origin, self.right.upright.origin)
        values = rest_values(self.system)
        ground = self.system.ground
        left, right = (float(arm.evaluate(arm.dot(arm.position(p), ground.y), values)) for p in places)
        height = (left - right) / 2 * np.tan(np.asarray(list(angle), dtype=float))
        return self._sweep(-height, height, np.zeros_like(height))

    def steer(self, rack: Iterable[float]) -> arm.Sweep:
        """Return the table over travels of the rack to the left, in m, with derivatives by the travel."""
        travel = np.asarray(list(rack), dtype=float)
        return self._sweep(np.zeros_like(travel), np.zeros_like(travel), travel)

    def hard_point_derivatives(
        self, table: arm.Sweep, output: str, points: Sequence[str] | None = None
    ) -> dict[str, np.ndarray]:
        """Return the derivatives of an output of a table by hard points, with travels and rack held.

        output  such as "left toe"; its derivatives are in rad or m per metre
        points  parameters, such as "axle_upper_ball_z"; by default all hard points that are parameters

        A parameter moves the points of both sides.
        """
        side, _, what = output.partition(" ")
        corner = {"left": self.left, "right": self.right}.get(side)
        if corner is None or what not in MEASURED:
            names = ", ".join(f"left {name}" for name in MEASURED)
            raise arm.ModelError(
                f"there is no output {output!r} of a rig; there are {names}, and those of the right side"
            )
        known = [name for name in self.system.parameters if name.startswith("axle_")]
        wanted = known if points is None else list(points)
        unknown = [name for name in wanted if name not in known]
        if unknown:
            raise arm.ModelError(
                f"{unknown[0]!r} is not a parameter of a hard point; name its point in vary= of the rig"
                + (f"; there are {', '.join(known[:6])} …" if known else "")
            )
        values: dict[str, Scalar] = dict(rest_values(self.system))
        values.update({name: np.asarray(table[name]) for name in self.model.coordinate_names})
        rows = len(table[output])
        free = [q for q in corner.coordinates if q is not corner.travel]

        def number(expression: object) -> np.ndarray:
            found = arm.evaluate(expression, values) if isinstance(expression, arm.Expr) else expression
            return np.broadcast_to(np.asarray(found, dtype=float), (rows,))

        measured = {
            "toe": -corner.side * corner.steer(),
            "camber": corner.camber(),
            "recession": -corner.upright.q1,
            "half track": corner.side * arm.dot(arm.position(corner.upright.origin), self.system.ground.y),
        }[what]
        held = [c.position for c in corner.closures]
        slopes = np.array([[number(arm.derivative(c, q)) for q in free] for c in held]).transpose(2, 0, 1)
        outward = np.array([number(arm.derivative(measured, q)) for q in free]).T
        result = {}
        for name in wanted:
            p = self.system.parameters[name]
            right = np.array([number(arm.derivative(c, p)) for c in held]).T
            moved = np.linalg.solve(slopes, -right[:, :, None])[:, :, 0]
            result[name] = number(arm.derivative(measured, p)) + np.einsum("ij,ij->i", outward, moved)
        return result

    def _sweep(self, left: np.ndarray, right: np.ndarray, rack: np.ndarray) -> arm.Sweep:
        driven = {
            self.left.travel.data.name: left,
            self.right.travel.data.name: right,
            self.rack.q1.data.name: rack,
        }
        table: arm.Sweep = self.model.sweep(driven, derivatives=True)
        if not np.all(table.found):
            worst = int(np.argmin(table.found))
            raise arm.ModelError(
                f"the suspension cannot reach row {worst}: travels {left[worst]:g} and {right[worst]:g} m, "
                f"rack {rack[worst]:g} m; give smaller travels, or check the hard points"
            )
        return table


def suspension_rig(
    build: Builder, places: Mapping[str, Sequence[float]], *, vary: Iterable[str] = "all"
) -> SuspensionRig:
    """Return an axle on a rig, with suspensions of one kind.

    build   `double_wishbone`, `macpherson` or `five_link`; the rack moves its tie rods
    places  hard points of the left side
    vary    hard points that become parameters axle_POINT_x, _y, _z
    """
    s = arm.System("suspension rig")
    rack = s.body("rack", joint=arm.Prismatic("y"), mass=4, inertia=0)
    corners = []
    for name, side in (("left", 1), ("right", -1)):
        points = HardPoints(s, "axle", places, side=side, vary=vary)
        corner = build(s, name, s.ground, points, rack=rack)
        corner.add_outputs(s)
        corners.append(corner)
    return SuspensionRig(s, corners[0], corners[1], rack)


# Elastic suspensions have bushings in place of pivots, and elastic rods. They deflect under forces on a
# wheel.
#
# A rig holds the chassis, the rack and the height of the wheel, and loads the wheel by forces and moments
# (pulls); the other bodies move until the bushings are in balance. Compliances are the derivatives of this
# balance by the pulls, computed exactly from the linear model of the rig: −C A⁻¹ B + D.


# Forces and moments on the rig's wheel (pulls): unit, scale in the printed table, meaning.
PULLS: dict[str, tuple[str, float, str]] = {
    "lateral_force": ("N", 1e3, "at the contact, to the left"),
    "braking_force": ("N", 1e3, "at the contact, rearwards; the wheel is held by its brake"),
    "longitudinal_force": ("N", 1e3, "at the wheel's centre, rearwards"),
    "aligning_moment": ("N*m", 1e2, "about z of the chassis"),
}


@dataclass(frozen=True)
class ComplianceRig:
    """The left suspension of an axle on a rig that pulls at its wheel; inputs are the names of PULLS."""

    system: arm.System
    corner: Corner

    @cached_property
    def model(self) -> Compiled:
        """The compiled model, made at the first use."""
        return self.system.derive().compile()

    @cached_property
    def compliances(self) -> dict[tuple[str, str], float]:
        """Derivatives of toe, camber (rad), recession and half track (m) by the pulls, in SI units.

        Keys are pairs such as ("lateral_force", "toe").
        """
        return self.compliances_at({})

    def compliances_at(self, pulls: Mapping[str, float]) -> dict[tuple[str, str], float]:
        """Return the derivatives at given pulls; with linear bushings they do not depend on the pulls."""
        point = self._balance(pulls)
        outputs = [f"left {name}" for name in MEASURED]
        linear = self.model.linearize(at=point, inputs=list(PULLS), outputs=outputs)
        gain = linear.D - linear.C @ np.linalg.solve(np.asarray(linear.A), np.asarray(linear.B))
        scale = {"toe": np.pi / 180, "camber": np.pi / 180, "recession": 1e-3, "half track": 1e-3}
        return {
            (pull, name): float(gain[i, j] * scale[name])
            for i, name in enumerate(MEASURED)
            for j, pull in enumerate(PULLS)
        }

    def sweep(self, pull: str, values: Iterable[float]) -> dict[str, np.ndarray]:
        """Return columns of toe and camber (deg), recession and half track (mm) over a force or moment."""
        if pull not in PULLS:
            raise arm.ModelError(f"there is no pull {pull!r}; there are {', '.join(PULLS)}")
        given = np.asarray(list(values), dtype=float)
        rows = []
        for value in given:
            point = self._balance({pull: float(value)})
            run = self.model.simulate(
                1e-4, step=1e-4, initial=point, inputs={pull: ([0, 1], [float(value)] * 2)}
            )
            rows.append([float(run[f"left {name}"][0]) for name in MEASURED])
        columns = np.array(rows).T
        return {pull: given, **dict(zip(MEASURED, columns, strict=True))}

    def table(self) -> str:
        """Return the compliances as lines of text, per kN and 100 N·m."""
        units = {"toe": ("deg", 180 / np.pi), "camber": ("deg", 180 / np.pi), "recession": ("mm", 1e3),
                 "half track": ("mm", 1e3)}  # fmt: skip
        lines = []
        for pull, (unit, scale, _) in PULLS.items():
            per = "kN" if unit == "N" else "100 N*m"
            for name, (shown, factor) in units.items():
                value = self.compliances[pull, name] * scale * factor
                lines.append(f"{name + ' by ' + pull.replace('_', ' '):<34}{value:10.4f}  {shown}/{per}")
        return "\n".join(lines)

    def _balance(self, pulls: Mapping[str, float]) -> arm.OperatingPoint:
        found: arm.OperatingPoint = self.model.equilibrium(memory=dict.fromkeys(PULLS, 0.0) | dict(pulls))
        return found


def compliance_rig(
    build: Builder,
    places: Mapping[str, Sequence[float]],
    compliance: Compliance,
    *,
    radius: float = 0.3,
    vary: Iterable[str] = (),
) -> ComplianceRig:
    """Return the left suspension of an axle on a rig that holds chassis, rack and height of the wheel.

    build       `double_wishbone`, `macpherson` or `five_link`
    places      hard points of the left side
    compliance  of links and pivots
    radius      height of the wheel's centre over the contact, m
    """
    s = arm.System("compliance rig")
    points = HardPoints(s, "axle", places, vary=vary)
    corner = build(s, "left", s.ground, points, compliance=compliance)
    corner.add_outputs(s)
    upright = corner.upright
    s.prescribe(upright.q3, 0.0)
    pulls: dict[str, Scalar] = {
        name: s.input(name, units=unit, about=about) for name, (unit, _, about) in PULLS.items()
    }
    height: Scalar = s.parameter(
        "radius", radius, units="m", about="height of the wheel's centre over the contact"
    )
    force = pulls["lateral_force"] * s.ground.y - pulls["braking_force"] * s.ground.x
    s.force_vector("pull_at_contact", force, at=upright.origin)
    s.moment_vector("moment_of_contact", arm.cross(-height * s.ground.z, force), on=upright)
    s.force("hub_force", -pulls["longitudinal_force"], s.ground.x, at=upright.origin)
    s.moment("aligning", pulls["aligning_moment"], s.ground.z, on=upright)
    return ComplianceRig(s, corner)
