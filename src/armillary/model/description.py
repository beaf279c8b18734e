"""The record of a description, and the symbols of its motion.

It has bodies, joints, points, parameters, and the other records.

Functions that add to it stand above this file, each in the file of its idea; see ``core.py``.

Symbols of a description that stand for quantities of its motion.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sized
from contextlib import contextmanager
from typing import TYPE_CHECKING, ClassVar, TypeVar

from armillary.algebra.arguments import NamedTable, text
from armillary.algebra.expression import UNIT, Expr, symbol
from armillary.algebra.triples import ExprTriple
from armillary.algebra.units import FORCE, MOMENT, RATE, TIME
from armillary.algebra.vectors import Vector
from armillary.errors import ModelError
from armillary.model.bodies.body import Body, make_ground
from armillary.model.recording.records import (
    Constraint,
    EventRecord,
    Flexible,
    Gravity,
    Load,
    Memory,
    OutputRecord,
    Prescription,
    RigidContact,
    Shape,
    StateRecord,
)
from armillary.model.recording.verbs import Call, Identity, Recorder, register_ground
from armillary.model.units import unit_system
from armillary.untyped import AnyFunction, DataTable, Given

if TYPE_CHECKING:
    from armillary.model.flexible.part import FlexiblePart
    from armillary.model.space.fields import Attractor


class Description:
    """The description of a mechanical system. SI units unless ``units`` names another system."""

    # What methods of bodies call, which stands above bodies: ``SystemCore`` has it.
    _triple: ClassVar[Callable[..., ExprTriple]]
    shape: ClassVar[Callable[..., Shape]]
    _make_flexible: ClassVar[Callable[..., FlexiblePart]]
    _node: ClassVar[Callable[..., Body]]
    _deflection: ClassVar[Callable[..., Vector]]

    def __init__(self, name: str, units: str = "SI") -> None:
        self.name = text(name, "the name of a system", ModelError)
        self.recorder = Recorder()
        self.imported: Given = None  # notes of a reader of robot files
        self.units = unit_system(units)
        self.identity = Identity(self)
        self.time = symbol("t", "time", dimension=TIME, owner=self.identity, units="s", about="time")
        self.parameters: NamedTable[Expr] = NamedTable("parameter")
        self.bodies: NamedTable[Body] = NamedTable("body")
        self.flexibles: NamedTable[Flexible] = NamedTable("flexible body")
        self.loads: NamedTable[Load] = NamedTable("load")
        self.outputs: NamedTable[OutputRecord] = NamedTable("output")
        self.shapes: NamedTable[Shape] = NamedTable("shape")
        self.memories: NamedTable[Memory] = NamedTable("memory")
        self.states: NamedTable[StateRecord] = NamedTable("state")
        self.events: NamedTable[EventRecord] = NamedTable("event")
        self.contacts: NamedTable[RigidContact] = NamedTable("contact")
        self.prescriptions: dict[Expr, Prescription] = {}
        self.constraints: NamedTable[Constraint] = NamedTable("constraint")
        self.locked: list[Expr] = []
        self.armatures: dict[Expr, Expr] = {}
        self.started: list[Expr] = []
        self.reactions: dict[str, tuple[Expr, ...]] = {}
        self.efforts: dict[Expr, Expr] = {}
        self.functions: NamedTable[tuple[AnyFunction, Given]] = NamedTable("function")
        self.definitions: DataTable = {}
        self.calls: dict[Given, Call] = {}  # that made expressions and vectors, for saved models
        self.declared_only = False  # unknown names in texts are errors, not new parameters
        self.gravities: list[Gravity] = []
        self.attractors: NamedTable[Attractor] = NamedTable("attractor")
        self.centres: dict[str, tuple[ExprTriple, ExprTriple]] = {}
        self.smallness: dict[Expr, int] = {}
        self.coordinates: list[Expr] = []
        self.speeds: list[Expr] = []
        self.initial: dict[Expr, float] = {}
        self.rates: dict[Expr, Expr] = {self.time: UNIT}
        self.input_rates: dict[Expr, Memory] = {}  # of inputs; memories once a time derivative holds them
        self.accelerations: dict[Expr, Expr] = {}
        self.ground = make_ground(self)
        register_ground(self.ground.frame, self)

    @contextmanager
    def declared_names(self) -> Iterator[None]:
        """Meanwhile an unknown name in a text is an error, as in text models."""
        before, self.declared_only = self.declared_only, True
        try:
            yield
        finally:
            self.declared_only = before

    # ------------------------------------------------------------ what there is

    def moving(self) -> list[Expr]:
        """Symbols of all coordinates, speeds and states of the user's own: what has initial values."""
        return [*self.coordinates, *self.speeds, *(s.symbol for s in self.states.values())]

    def extent(self) -> int:
        """The number of entries of the description."""
        made: list[Sized] = [self.bodies, self.loads, self.outputs, self.memories, self.states, self.events]
        made += [self.constraints, self.prescriptions, self.reactions, self.efforts, self.armatures]
        return sum(len(things) for things in made)

    def __repr__(self) -> str:
        return f"System({self.name!r}: {len(self.bodies)} bodies, {len(self.speeds)} speeds)"


SystemType = TypeVar("SystemType", bound=Description)  # the class that a reader of files makes


def variables(system: Description) -> list[Expr]:
    """Return the symbols of quantities of the motion, reactions of all joints included."""
    forces = [c.force for c in system.constraints.values()]
    joints = [s for body in system.bodies.values() for s in reaction_symbols(system, body)]
    efforts = [effort_symbol(system, u) for u in system.speeds]
    memories = [m.symbol for m in system.memories.values()]
    return [*system.moving(), *system.accelerations.values(), *memories, *forces, *joints, *efforts]


def reaction_symbols(system: Description, body: Body) -> tuple[Expr, ...]:
    """Components of the force and the moment of a body's joint on the body, in its axes."""
    if body.name not in system.reactions:
        system.reactions[body.name] = tuple(
            symbol(f"{body.name} joint {what} {axis}", "variable", dimension=dimension, owner=system.identity)
            for what, dimension in (("force", FORCE), ("moment", MOMENT))
            for axis in "xyz"
        )
    return system.reactions[body.name]


def effort_symbol(system: Description, speed: Expr) -> Expr:
    """Return the symbol of the force or moment along a speed that maintains its given value."""
    if speed not in system.efforts:
        dimension = MOMENT if speed.dimension is RATE else FORCE
        system.efforts[speed] = symbol(
            f"effort of {speed}",
            "variable",
            dimension=dimension,
            owner=system.identity,
            about=f"effort along {speed}",
        )
    return system.efforts[speed]
