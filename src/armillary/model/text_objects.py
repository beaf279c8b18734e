"""Joints, laws of friction and orbits in a text model: a table whose one key tells what it is.

joint = { revolute = "z" }          joint = { planar = "z", velocity = "body" }
friction = { coefficient = 0.3, transition = 0.01 }
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
from armillary.model.kinds import (
    AXIS,
    EXPRESSION,
    FLAG,
    NUMBER,
    WORDS,
    Either,
    Kind,
    ListOf,
    Maker,
    ObjectName,
    OneOf,
    choice,
)
from armillary.model.laws import SmoothFriction, StickSlip
from armillary.model.space.orbit import Orbit

GIMBAL = Either((WORDS, ListOf(AXIS)), 'a sequence of axes such as "zx" or ["x", [0, 0.6, 0.8]]')
SMALL: dict[str, Kind] = {"small": FLAG}
VELOCITY: dict[str, Kind] = {"velocity": choice("parent", "body")}
FREE_VELOCITY: dict[str, Kind] = {"velocity": choice("parent", "body", "auto")}
ROTATION = Either((WORDS, FLAG), 'how it turns, such as "quaternion" or "zyx", or true')
ANGLE = Either((NUMBER, WORDS))

JOINTS = (
    Maker("revolute", Revolute, {"revolute": AXIS, **SMALL}, "axis"),
    Maker("prismatic", Prismatic, {"prismatic": AXIS, **SMALL}, "axis"),
    Maker("cylindrical", Cylindrical, {"cylindrical": AXIS, **SMALL}, "axis"),
    Maker("planar", Planar, {"planar": AXIS, **VELOCITY, **SMALL}, "normal"),
    Maker("gimbal", Gimbal, {"gimbal": GIMBAL, **SMALL}, "sequence"),
    Maker("spherical", Spherical, {"spherical": ROTATION, **SMALL}, "rotation"),
    Maker("free", Free, {"free": ROTATION, **FREE_VELOCITY, **SMALL}, "rotation"),
    Maker("translate", Joint, {"translate": ListOf(AXIS), "rotate": ListOf(AXIS), **SMALL}),
    Maker("rotate", Joint, {"rotate": ListOf(AXIS), **SMALL}),
    Maker("fixed", Fixed, {"fixed": FLAG}, ""),
)
FRICTIONS = (
    Maker(
        "transition",
        SmoothFriction,
        dict.fromkeys(("coefficient", "transition", "static", "stribeck"), EXPRESSION),
    ),
    Maker(
        "stiffness", StickSlip, dict.fromkeys(("coefficient", "stiffness", "damping", "static"), EXPRESSION)
    ),
)
ORBITS = (
    Maker(
        "mu",
        Orbit,
        {
            **dict.fromkeys(("mu", "a", "p", "periapsis", "altitude", "radius", "e"), NUMBER),
            **dict.fromkeys(("i", "raan", "argp", "nu"), ANGLE),
        },
    ),
)

JOINT = Either((ObjectName(JOINTS, "fixed", "free", "spherical"), OneOf(JOINTS)))
FRICTION = OneOf(FRICTIONS)
ORBIT = OneOf(ORBITS)
