"""Beams, plates and their cross-sections in a text model, and how any object is described by a table.

beam = { length = 2.0, section = { tube = [0.05, 0.002] }, E = 70e9, density = 2700.0 }
"""

from __future__ import annotations

from typing import Any

from armillary.model.flexible.parts.beam import Beam
from armillary.model.flexible.parts.plate import Plate
from armillary.model.flexible.parts.section import Section
from armillary.model.joints import Joint
from armillary.model.joints.text_forms import JOINTS
from armillary.model.loads.laws import FRICTIONS
from armillary.model.reading.kinds import (
    NUMBER,
    NUMBERS,
    WORDS,
    Either,
    Kind,
    ListOf,
    ObjectForm,
    OneOf,
    TableOf,
)
from armillary.model.shapes import FIGURES
from armillary.model.space.orbit import ORBITS

BEAM: dict[str, Kind] = {
    "length": NUMBER, "EI": NUMBERS, "EA": NUMBER, "GJ": NUMBER, "mass_per_length": NUMBER, "polar": NUMBER,
    "E": NUMBER, "G": NUMBER, "nu": NUMBER, "density": NUMBER, "root": WORDS, "tip": WORDS,
    "tip_mass": NUMBER,
    "tip_inertia": NUMBERS, "motions": Either((WORDS, ListOf(WORDS))), "origin": NUMBERS,
    "stations": Either((NUMBERS, TableOf(NUMBER, keys=False))), "along": Either((WORDS, NUMBERS)),
    "across": Either((WORDS, NUMBERS)),
}  # fmt: skip
PLATE: dict[str, Kind] = {
    "a": NUMBER, "b": NUMBER, "thickness": NUMBER, "E": NUMBER, "nu": NUMBER, "density": NUMBER,
    "root": WORDS,
    "stations": Either((NUMBERS, TableOf(NUMBERS, keys=False))), "origin": NUMBERS,
    "along": Either((WORDS, NUMBERS)), "across": Either((WORDS, NUMBERS)),
}  # fmt: skip

SECTIONS = (
    ObjectForm("area", Section, {"area": NUMBER, "Iy": NUMBER, "Iz": NUMBER, "J": NUMBER}),
    ObjectForm("circle", Section.circle, {"circle": NUMBER}, "radius"),
    ObjectForm("tube", Section.tube, {"tube": ListOf(NUMBER, 2)}, spread=True),
    ObjectForm("rectangle", Section.rectangle, {"rectangle": ListOf(NUMBER, 2)}, spread=True),
)
SECTION = OneOf(SECTIONS)
BEAMS = (ObjectForm("length", Beam, {**BEAM, "section": SECTION}),)
PLATES = (ObjectForm("a", Plate, PLATE),)
ALL = (*SECTIONS, *JOINTS, *FRICTIONS, *ORBITS, *BEAMS, *PLATES, *FIGURES)


def object_form(value: Any) -> ObjectForm | None:
    """How an object is described; None for one that no text can describe."""
    cls = type(value)
    if cls is Joint:
        return next(m for m in JOINTS if m.key == ("translate" if value.translate else "rotate"))
    return next((m for m in ALL if m.make is cls), None)
