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
from armillary.model.reading.kinds import (
    AXIS,
    FLAG,
    WORDS,
    Either,
    Kind,
    ListOf,
    ObjectForm,
    ObjectName,
    OneOf,
    choice,
)

GIMBAL = Either((WORDS, ListOf(AXIS)), 'a sequence of axes such as "zx" or ["x", [0, 0.6, 0.8]]')
SMALL: dict[str, Kind] = {"small": FLAG}
VELOCITY: dict[str, Kind] = {"velocity": choice("parent", "body")}
FREE_VELOCITY: dict[str, Kind] = {"velocity": choice("parent", "body", "auto")}
ROTATION = Either((WORDS, FLAG), 'how it turns, such as "quaternion" or "zyx", or true')

JOINTS = (
    ObjectForm("revolute", Revolute, {"revolute": AXIS, **SMALL}, "axis"),
    ObjectForm("prismatic", Prismatic, {"prismatic": AXIS, **SMALL}, "axis"),
    ObjectForm("cylindrical", Cylindrical, {"cylindrical": AXIS, **SMALL}, "axis"),
    ObjectForm("planar", Planar, {"planar": AXIS, **VELOCITY, **SMALL}, "normal"),
    ObjectForm("gimbal", Gimbal, {"gimbal": GIMBAL, **SMALL}, "sequence"),
    ObjectForm("spherical", Spherical, {"spherical": ROTATION, **SMALL}, "rotation"),
    ObjectForm("free", Free, {"free": ROTATION, **FREE_VELOCITY, **SMALL}, "rotation"),
    ObjectForm("translate", Joint, {"translate": ListOf(AXIS), "rotate": ListOf(AXIS), **SMALL}),
    ObjectForm("rotate", Joint, {"rotate": ListOf(AXIS), **SMALL}),
    ObjectForm("fixed", Fixed, {"fixed": FLAG}, ""),
)
JOINT = Either((ObjectName(JOINTS, "fixed", "free", "spherical"), OneOf(JOINTS)))
