"""Elastic suspensions: bushings in place of pivots, rods that give, and what forces on a wheel do to it.

A rig holds the chassis, the rack and the height of the wheel, and pulls at the wheel; the rest moves until
the bushings are in balance. Compliances are the derivatives of that balance by the forces, exact from the
linear model of the rig, −C A⁻¹ B + D.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

import armillary as arm
from armillary.vehicles.cars import Compiled
from armillary.vehicles.suspensions.corner import Compliance, Corner
from armillary.vehicles.suspensions.hard_points import HardPoints
from armillary.vehicles.suspensions.independent import Masses
from armillary.vehicles.tyres.tyre import Scalar

# What a rig pulls with: unit, scale of the compliances' table, and its meaning.
PULLS: dict[str, tuple[str, float, str]] = {
    "lateral_force": ("N", 1e3, "at the contact, to the left"),
    "braking_force": ("N", 1e3, "at the contact, rearwards; the wheel is held by its brake"),
    "longitudinal_force": ("N", 1e3, "at the wheel's centre, rearwards"),
    "aligning_moment": ("N*m", 1e2, "about z of the chassis"),
}
MEASURED = ("toe", "camber", "recession", "half track")


class ElasticBuilder(Protocol):
    """A function of `independent.py` whose joints may be elastic."""

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
        """Return the derivatives where the wheel is pulled already, for bushings that are not linear."""
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
    build: ElasticBuilder,
    places: Mapping[str, Sequence[float]],
    compliance: Compliance,
    *,
    radius: float = 0.3,
    vary: Iterable[str] = (),
) -> ComplianceRig:
    """Return the left suspension of an axle on a rig that holds chassis, rack and height of the wheel.

    build       `double_wishbone`, `macpherson` or `five_link`
    places      hard points of the left side
    compliance  of its links and pivots
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
