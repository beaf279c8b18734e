"""Kinematics of a suspension on a rig that holds the chassis: tables over bump, roll and steer.

Positions are found by `Model.sweep`, which closes the loops at every row. Derivatives by hard points are
exact: with closures c(q, p) = 0 and the driven coordinates held,

    ∂c/∂q dq/dp = −∂c/∂p        dy/dp = ∂y/∂p + ∂y/∂q dq/dp

where lengths of links change with the points p, so that the suspension at rest stays at its hard points.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

import armillary as arm
from armillary.vehicles.cars import Compiled
from armillary.vehicles.suspensions.corner import Corner, rest_values
from armillary.vehicles.suspensions.hard_points import HardPoints
from armillary.vehicles.suspensions.independent import Masses
from armillary.vehicles.tyres.tyre import Scalar

MEASURED = ("toe", "camber", "recession", "half track")


class Builder(Protocol):
    """A function of `independent.py`."""

    def __call__(
        self,
        system: arm.System,
        name: str,
        chassis: arm.Body,
        points: HardPoints,
        *,
        masses: Masses | None = None,
        rack: arm.Body | None = None,
    ) -> Corner:
        """Add a corner to a system."""


@dataclass(frozen=True)
class SuspensionRig:
    """An axle whose chassis is the ground: wheels are moved in height, and the rack to the side.

    Columns of tables are "left toe", "left camber", "left recession", "left half track", the same of the
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
        """Return the table over equal travels of both wheels, in metres, with derivatives by them."""
        height = np.asarray(list(travel), dtype=float)
        return self._sweep(height, height, np.zeros_like(height))

    def roll(self, angle: Iterable[float]) -> arm.Sweep:
        """Return the table over roll angles of the chassis, in rad: wheels move by ±b/2 tan φ, track b.

        A positive angle lowers the right side of the chassis: its right wheel is in bump. Camber is that
        against the chassis.
        """
        places = (self.left.upright.origin, self.right.upright.origin)
        values = rest_values(self.system)
        ground = self.system.ground
        left, right = (float(arm.evaluate(arm.dot(arm.position(p), ground.y), values)) for p in places)
        height = (left - right) / 2 * np.tan(np.asarray(list(angle), dtype=float))
        return self._sweep(-height, height, np.zeros_like(height))

    def steer(self, rack: Iterable[float]) -> arm.Sweep:
        """Return the table over travels of the rack to the left, in metres, with derivatives by them."""
        travel = np.asarray(list(rack), dtype=float)
        return self._sweep(np.zeros_like(travel), np.zeros_like(travel), travel)

    def hard_point_derivatives(
        self, table: arm.Sweep, output: str, points: Sequence[str] | None = None
    ) -> dict[str, np.ndarray]:
        """Return the derivatives of an output of a table by hard points at constant travels and rack.

        output  such as "left toe"; its derivatives are in rad or m per metre
        points  parameters, such as "axle_upper_ball_z"; left out, all hard points that are parameters

        A parameter moves the points of both sides.
        """
        side, _, what = output.partition(" ")
        corner = {"left": self.left, "right": self.right}.get(side)
        if corner is None or what not in MEASURED:
            names = ", ".join(f"left {name}" for name in MEASURED)
            raise arm.ModelError(
                f"there is no output {output!r} of a rig; there are {names}, and those of right"
            )
        known = [name for name in self.system.parameters if name.startswith("axle_")]
        wanted = known if points is None else list(points)
        unknown = [name for name in wanted if name not in known]
        if unknown:
            raise arm.ModelError(
                f"{unknown[0]!r} is no hard point that is a parameter; name its point in vary= of the rig"
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
                f"rack {rack[worst]:g} m; ask for less, or check the hard points"
            )
        return table


def suspension_rig(
    build: Builder, places: Mapping[str, Sequence[float]], *, vary: Iterable[str] = "all"
) -> SuspensionRig:
    """Return an axle of a kind of suspension on a rig.

    build   `double_wishbone`, `macpherson` or `five_link`, whose tie rods a rack moves
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
