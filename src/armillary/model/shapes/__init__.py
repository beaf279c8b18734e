"""Shapes of bodies, for pictures: solids of simple form at a place of a body. They have no mass.

Read ``solids.py`` (what there is), then ``shape.py`` (the verb that gives a body one).
"""

from armillary.model.shapes.solids import Box, Capsule, Cone, Cylinder, Ellipsoid, Solid, Sphere, Wheel

__all__ = ["Box", "Capsule", "Cone", "Cylinder", "Ellipsoid", "Solid", "Sphere", "Wheel"]
