"""Joints: ``assemble`` of each gives its steps (turn, slide, …) and coordinate rates q̇ = N(q) u.

Enters: settings such as an axis. Leaves: an Assembly of steps that the mechanics handles. Read ``steps.py``
first, then ``simple.py`` (turns and slides) and ``free.py`` (ball joint and free body). A new joint is one
class here.
"""

from armillary.model.joints.base import Assembly, Drift, Flexed, JointType, Maker, Slide, Step, Tumble, Turn
from armillary.model.joints.free import Free, Spherical
from armillary.model.joints.simple import Cylindrical, Fixed, Gimbal, Joint, Planar, Prismatic, Revolute

__all__ = [
    "Assembly",
    "Cylindrical",
    "Drift",
    "Fixed",
    "Flexed",
    "Free",
    "Gimbal",
    "Joint",
    "JointType",
    "Maker",
    "Planar",
    "Prismatic",
    "Revolute",
    "Slide",
    "Spherical",
    "Step",
    "Tumble",
    "Turn",
]
