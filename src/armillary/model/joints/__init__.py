"""Joints: ``assemble`` of each gives its steps (turn, slide, …) and coordinate rates q̇ = N(q) u.

A joint is made with settings such as an axis, and makes an ``Assembly`` of steps for the mechanics. Read
``base.py`` first, then ``simple.py`` (turns and slides) and ``free.py`` (ball joint and free body). A new
joint needs one class in a file of this folder, and one entry in ``JOINTS`` for text models. In a text model a
joint is a table, and one of its keys names the joint:

    joint = { revolute = "z" }          joint = { planar = "z", velocity = "body" }
"""

from armillary.model.joints.base import Assembly, Drift, Flexed, JointType, Maker, Slide, Step, Tumble, Turn
from armillary.model.joints.free import Free, Spherical
from armillary.model.joints.simple import Cylindrical, Fixed, Gimbal, Joint, Planar, Prismatic, Revolute
from armillary.model.reading.kinds import Either, ObjectForm, ObjectName, OneOf

__all__ = [
    "JOINT", "JOINTS", "Assembly", "Cylindrical", "Drift", "Fixed", "Flexed", "Free", "Gimbal", "Joint",
    "JointType", "Maker", "Planar", "Prismatic", "Revolute", "Slide", "Spherical", "Step", "Tumble",
    "Turn",
]  # fmt: skip

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
