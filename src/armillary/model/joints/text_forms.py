"""Joints in a text model: a table whose one key names the joint.

joint = { revolute = "z" }          joint = { planar = "z", velocity = "body" }
"""

from __future__ import annotations

from armillary.model.joints import (
    Cylindrical,
    Fixed,
    Free,
    Gimbal,
    Joint,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
)
from armillary.model.reading.kinds import Either, ObjectForm, ObjectName, OneOf

JOINTS = (
    ObjectForm("revolute", Revolute, "axis"),
    ObjectForm("prismatic", Prismatic, "axis"),
    ObjectForm("cylindrical", Cylindrical, "axis"),
    ObjectForm("planar", Planar, "normal"),
    ObjectForm("gimbal", Gimbal, "sequence"),
    ObjectForm("spherical", Spherical, "rotation"),
    ObjectForm("free", Free, "rotation"),
    ObjectForm("translate", Joint),
    ObjectForm("rotate", Joint, without=("translate",)),
    ObjectForm("fixed", Fixed, ""),
)
JOINT = Either((ObjectName(JOINTS, "fixed", "free", "spherical"), OneOf(JOINTS)))
