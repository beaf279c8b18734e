"""Shapes of bodies, for pictures: solids, meshes, lines and surfaces at a place of a body. They have no mass.

Read ``solids.py`` (what there is of the simplest kind), then ``shape.py`` (the verb that gives a body one).
"""

from armillary.model.bodies.shapes.figure import Figure
from armillary.model.bodies.shapes.lines import LINES, Cable, Damper, Polyline, Rod, Spring
from armillary.model.bodies.shapes.mesh import MESHES, Mesh, Polyhedron
from armillary.model.bodies.shapes.solids import (
    SOLIDS,
    Box,
    Capsule,
    Cone,
    Cylinder,
    Ellipsoid,
    Sphere,
    Wheel,
)
from armillary.model.bodies.shapes.surfaces import SURFACES, Earth, Grid, HeightProfile, Plane

FIGURES = (*SOLIDS, *MESHES, *LINES, *SURFACES)  # their forms in text models

__all__ = [
    "FIGURES",
    "Box",
    "Cable",
    "Capsule",
    "Cone",
    "Cylinder",
    "Damper",
    "Earth",
    "Ellipsoid",
    "Figure",
    "Grid",
    "HeightProfile",
    "Mesh",
    "Plane",
    "Polyhedron",
    "Polyline",
    "Rod",
    "Sphere",
    "Spring",
    "Wheel",
]
