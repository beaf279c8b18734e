"""Beams, plates and their cross-sections in a text model, and how any object is described by a table.

beam = { length = 2.0, section = { tube = [0.05, 0.002] }, E = 70e9, density = 2700.0 }
"""

from __future__ import annotations

from armillary.model.bodies.shapes import FIGURES
from armillary.model.flexible.beam import SECTIONS, Beam
from armillary.model.flexible.plate import Plate
from armillary.model.joints import Joint
from armillary.model.joints.text_forms import JOINTS
from armillary.model.loads.laws import FRICTIONS
from armillary.model.reading.kinds import ObjectForm
from armillary.model.space.orbit import ORBITS
from armillary.untyped import Given

BEAMS = (ObjectForm("length", Beam),)
PLATES = (ObjectForm("a", Plate),)
ALL = (*SECTIONS, *JOINTS, *FRICTIONS, *ORBITS, *BEAMS, *PLATES, *FIGURES)


def object_form(value: Given) -> ObjectForm | None:
    """The description of an object; None for one that no text can describe."""
    cls = type(value)
    if cls is Joint:
        return next(m for m in JOINTS if m.key == ("translate" if value.translate else "rotate"))
    return next((m for m in ALL if m.make is cls), None)
