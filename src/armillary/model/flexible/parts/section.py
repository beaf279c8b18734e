"""Cross-sections of beams."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from armillary.errors import ModelError
from armillary.model.flexible.checks import numbers, positive
from armillary.model.reading.argument_types import Number
from armillary.model.reading.kinds import ObjectForm, OneOf


@dataclass(frozen=True)
class Section:
    """A cross-section in its local y and z: area, second moments about y and z, and torsion constant."""

    area: Number
    Iy: Number
    Iz: Number
    J: Number

    def __post_init__(self) -> None:
        for name in ("area", "Iy", "Iz", "J"):
            value = float(numbers(getattr(self, name), "Section", name, ()))
            if value < 0:
                raise ModelError(f"Section: {name} must not be negative, but it is {value:g}")

    @classmethod
    def circle(cls, radius: Number) -> Section:
        """A full circle."""
        return cls.tube(radius, radius)

    @classmethod
    def tube(cls, radius: Number, thickness: Number) -> Section:
        """A ring of outer ``radius`` and wall ``thickness``."""
        outer, wall = positive(radius, "Section", "radius"), positive(thickness, "Section", "thickness")
        if wall > outer:
            raise ModelError(f"Section: the wall of {wall:g} is thicker than the radius {outer:g}")
        inner = outer - wall
        moment = np.pi / 4 * (outer**4 - inner**4)
        return cls(np.pi * (outer**2 - inner**2), moment, moment, 2 * moment)

    @classmethod
    def rectangle(cls, y: Number, z: Number) -> Section:
        """A full rectangle of sides ``y`` and ``z``.

        J = a b³ (1/3 − 64/π⁵ (b/a) Σ tanh(nπa/2b)/n⁵), n odd, b the shorter side (Timoshenko and Goodier,
        art. 109).
        """
        y, z = positive(y, "Section", "y"), positive(z, "Section", "z")
        long, short = max(y, z), min(y, z)
        n = np.arange(1, 40, 2)
        series = float(np.sum(np.tanh(n * np.pi * long / (2 * short)) / n**5.0))
        torsion = long * short**3 * (1 / 3 - 64 / np.pi**5 * short / long * series)
        return cls(y * z, y * z**3 / 12, z * y**3 / 12, torsion)


# Sections in a text model: section = { tube = [0.05, 0.002] }
SECTIONS = (
    ObjectForm("area", Section),
    ObjectForm("circle", Section.circle, "radius"),
    ObjectForm("tube", Section.tube, spread=True),
    ObjectForm("rectangle", Section.rectangle, spread=True),
)
SECTION = OneOf(SECTIONS)
