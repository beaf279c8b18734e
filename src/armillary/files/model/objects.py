"""Joints, beams, orbits and other objects in a text model: a table whose one key tells what it is.

joint = { revolute = "z" }          joint = { planar = "z", velocity = "body" }
friction = { coefficient = 0.3, transition = 0.01 }
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from armillary.files.model.kinds import (
    EXPRESSION,
    FLAG,
    NUMBER,
    NUMBERS,
    TRIPLE,
    WORDS,
    Either,
    Form,
    Kind,
    ListOf,
    TableOf,
    choice,
)
from armillary.model.flexible.beam import Beam
from armillary.model.flexible.plate import Plate
from armillary.model.flexible.section import Section
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
from armillary.model.laws import SmoothFriction, StickSlip
from armillary.model.space.orbit import Orbit

AXIS = Either((choice("x", "y", "z", "-x", "-y", "-z"), TRIPLE))
GIMBAL = Either((WORDS, ListOf(AXIS)), 'a sequence of axes such as "zx" or ["x", [0, 0.6, 0.8]]')
SMALL: dict[str, Kind] = {"small": FLAG}
VELOCITY: dict[str, Kind] = {"velocity": choice("parent", "body")}
FREE_VELOCITY: dict[str, Kind] = {"velocity": choice("parent", "body", "auto")}
ROTATION = Either((WORDS, FLAG), 'how it turns, such as "quaternion" or "zyx", or true')
ANGLE = Either((NUMBER, WORDS))


@dataclass(frozen=True)
class Maker:
    """An object that a table can describe: the key that tells it, and the argument that the key stands for.

    Without an ``argument`` the key stands for itself, or only says what it is (``fixed = true``).
    """

    key: str
    make: Callable[..., Any]
    fields: Mapping[str, Kind]
    argument: str | None = None
    spread: bool = False  # the key's list is all arguments, in order
    cls: type | None = None  # what it makes, where ``make`` is not the class itself

    @property
    def form(self) -> Form:
        return Form(f"a table with '{self.key}'", self.fields, (self.key, *self._needed()))

    def _needed(self) -> list[str]:
        """Keys of arguments that have no default."""
        if self.argument is not None or self.spread:
            return []
        places = inspect.signature(self.make).parameters.values()
        return [
            p.name for p in places if p.default is p.empty and p.name in self.fields and p.name != self.key
        ]

    def arguments(self, table: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Arguments of ``make`` from a table."""
        rest = {key: value for key, value in table.items() if key != self.key}
        if self.spread:
            given = table[self.key]
            return (given if isinstance(given, list) else [given]), rest
        if self.argument == "" or table[self.key] is True:  # free = true: as it is by default
            return [], rest
        return [], {self.argument or self.key: table[self.key], **rest}


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
    Maker("area", Section, {"area": NUMBER, "Iy": NUMBER, "Iz": NUMBER, "J": NUMBER}),
    Maker("circle", Section.circle, {"circle": NUMBER}, "radius", cls=Section),
    Maker("tube", Section.tube, {"tube": ListOf(NUMBER, 2)}, spread=True, cls=Section),
    Maker("rectangle", Section.rectangle, {"rectangle": ListOf(NUMBER, 2)}, spread=True, cls=Section),
)
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


def one_of(makers: Sequence[Maker]) -> Either:
    """The kind of a table that describes one of these."""
    keys = ", ".join(maker.key for maker in makers)
    return Either(tuple(maker.form for maker in makers), f"a table with one of the keys {keys}")


JOINT = Either((choice("fixed", "free", "spherical"), one_of(JOINTS)))
SECTION = one_of(SECTIONS)
BEAMS = (Maker("length", Beam, {**BEAM, "section": SECTION}),)
PLATES = (Maker("a", Plate, PLATE),)
ALL = (*SECTIONS, *JOINTS, *FRICTIONS, *ORBITS, *BEAMS, *PLATES)


def made(makers: Sequence[Maker], table: Mapping[str, Any]) -> Any:
    """The object that a table describes; lists in it are tuples."""
    maker = next(m for m in makers if m.form.fits(table))
    args, options = maker.arguments(table)
    return maker.make(*map(tuples, args), **{key: tuples(value) for key, value in options.items()})


def tuples(value: Any) -> Any:
    """A value with tuples for lists."""
    return tuple(tuples(item) for item in value) if isinstance(value, list) else value


def maker_of(value: Any) -> Maker | None:
    """How an object is described; None for one that no text can describe."""
    cls = type(value)
    if cls is Joint:
        return next(m for m in JOINTS if m.key == ("translate" if value.translate else "rotate"))
    return next((m for m in ALL if m.make is cls), None)


def defaults_of(maker: Maker) -> dict[str, Any]:
    """Defaults of an object's arguments, by argument."""
    parameters = inspect.signature(maker.make).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not p.empty}
