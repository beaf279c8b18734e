"""The description of a system: its records other than bodies, and the symbols of its motion.

Functions that add to a description are in other files, one for each topic; ``stages.System`` lists them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sized
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from armillary.algebra.arguments import NamedTable, text
from armillary.algebra.expression import UNIT, Expr, symbol
from armillary.algebra.triples import ExprTriple, Matrix, Triple
from armillary.algebra.units import FORCE, MOMENT, RATE, TIME
from armillary.algebra.vectors import Vector
from armillary.errors import ModelError
from armillary.model.bodies.body import Body, Point, make_ground
from armillary.model.units import unit_system
from armillary.model.verbs import Call, Identity, Recorder, register_ground
from armillary.untyped import AnyFunction, DataMapping, DataTable, Given

if TYPE_CHECKING:
    from armillary.model.flexible.part import FlexibleNode, FlexiblePart
    from armillary.model.space.attraction import Attractor


@dataclass(frozen=True, eq=False)
class Gravity:
    """A uniform field: acceleration ``magnitude`` along a direction fixed in the ground."""

    magnitude: Expr
    direction: Vector


@dataclass(frozen=True, eq=False)
class Load:
    """A force at a point of a body, or a moment on a body; a second body may bear the opposite reaction.

    ``vector`` is the force or moment as a vector. A force acts at ``at`` on its body. Its reaction acts at
    ``reaction_at`` on ``reaction_body``, or along the same line of action if ``reaction_at`` is `None`.
    ``axis`` is the unit vector if ``vector`` is ``magnitude`` times a unit vector.
    """

    name: str
    kind: str  # "force" or "moment"
    magnitude: Expr
    vector: Vector
    body: Body
    at: Point | None = None
    reaction_body: Body | None = None
    reaction_at: Point | None = None
    collinear: bool = False  # whether the force is along the line between its two points, as for a strut
    axis: Vector | None = None

    @property
    def balanced(self) -> bool:
        """Whether load and reaction cancel. Forces with different lines of action have a resultant moment."""
        return self.kind == "moment" or self.reaction_at is None or self.collinear


@dataclass(frozen=True, eq=False)
class OutputRecord:
    """A named quantity of interest, computed at each sample."""

    name: str
    expression: Expr
    units: str
    about: str
    scale: float = 1.0  # from SI to the stated units


@dataclass(frozen=True, eq=False)
class Memory:
    """A discrete state, which is constant during steps and is changed once per step or by events."""

    symbol: Expr
    initial: float  # in the model's units
    update: Expr | None
    about: str
    period: float | None = None  # of periodic updates; the first update is one period after a run's start
    start: Expr | None = None  # the value at the start of a run, unless the run sets another one
    input: bool = False  # a signal from outside, which the model does not change
    factor: float = 1.0  # from the stated units to the model's
    hidden: bool = False  # runs have no column of it, as for a time of impact or an external object
    interpolation: str = "linear"  # of data that drive an input
    rate_of: str = ""  # the input whose rate this input is


@dataclass(frozen=True, eq=False)
class StateRecord:
    """A continuous state of the user's own; ``rate`` is None until the user gives it."""

    symbol: Expr
    rate: Expr | None
    about: str


# Values of ``direction`` besides 1, 0 and −1. ENDS_STATUS: the event ends the status of a contact, and its
# expression is positive before the event. FINDS_LOWEST: the expression is the rate of a gap; it is used only
# to locate the lowest gap and causes no event.
ENDS_STATUS = -2
FINDS_LOWEST = 2


@dataclass(frozen=True, eq=False)
class EventRecord:
    """An event: changes that occur when an expression passes zero, upwards if ``direction`` is 1, downwards
    if −1, either way if 0.
    """

    name: str
    expression: Expr
    direction: int
    changes: dict[Expr, Expr]
    stop: bool
    about: str
    hidden: bool = False  # not among the events of a run, since it is only the clock of a periodic update
    lock: tuple[Expr, ...] = ()  # speeds that become zero and remain zero
    unlock: tuple[Expr, ...] = ()  # speeds that become free again


@dataclass(frozen=True, eq=False)
class Constraint:
    """An expression that remains zero: ``speed``, linear in the speeds, and ``position`` if there is one.

    As long as the constraint holds, ``speed`` is the rate of ``position``, and ``acceleration`` the rate of
    ``speed``. ``eliminate`` is the speed that the user chooses as dependent; if it is `None`, the derivation
    chooses one. ``force`` is the symbol that outputs use for the force that maintains the constraint;
    ``load`` is this force with unit magnitude.
    """

    name: str
    position: Expr | None
    speed: Expr
    acceleration: Expr
    eliminate: Expr | None
    about: str
    force: Expr
    load: Load | None = None


@dataclass(frozen=True, eq=False)
class Prescription:
    """A speed given as a function of time and constants, so that it has no equation of motion.

    If ``coordinate`` is not None, this coordinate is given as ``position``, and the speed is its rate.
    """

    speed: Expr
    value: Expr
    coordinate: Expr | None = None
    position: Expr | None = None


# Values of a contact's status (mechanics/contact/state.py lists all), and names of memories that all contacts
# share.
JAMS, UNDECIDED = 3, 9
FAILED, AMBIGUOUS = "contacts_failed", "contacts_ambiguous"
JAMMED, WITHOUT_REBOUND = "contacts_jammed", "contacts_without_rebound"


@dataclass(frozen=True, eq=False)
class RigidContact:
    """A one-sided contact without compliance or, if ``gap`` is None, a brake or clutch that locks.

    ``closing`` is the rate of the gap, and ``sliding`` are the velocities of the slip along zero, one or two
    directions; all are linear in the speeds. ``push`` is the symbol of the force that does work on
    ``closing``, and ``drag`` are those of the forces that do work on ``sliding``; the derivation replaces
    these symbols. ``friction`` is the coefficient of friction while sliding, or the greatest force of a
    brake, ``held`` the same at rest, and ``radius`` the radius of a ball or disc. ``place`` are expressions
    of coordinates whose rates are ``sliding``, if such expressions exist.
    """

    name: str
    status: Expr  # memories: see mechanics/contact/state.py
    last: Expr | None = None
    opened: Expr | None = None
    longest: Expr | None = None
    size: Expr | None = None
    pressed: Expr | None = None
    direction: tuple[Expr, ...] = ()
    gap: Expr | None = None
    closing: Expr | None = None
    closing_rate: Expr | None = None
    push: Expr | None = None
    sliding: tuple[Expr, ...] = ()
    sliding_rate: tuple[Expr, ...] = ()
    place: tuple[Expr, ...] = ()
    drag: tuple[Expr, ...] = ()
    friction: Expr | None = None
    held: Expr | None = None
    restitution: Expr | None = None
    radius: Expr | None = None
    law: str = "newton"
    settle: float | None = None


@dataclass(frozen=True, eq=False)
class Flexible:
    """A flexible part on a body: the numbers of the part, and the symbols of its modes."""

    part: FlexiblePart
    coordinates: tuple[Expr, ...]
    speeds: tuple[Expr, ...]
    held: str | None = None
    nodes: dict[Any, Body] = field(default_factory=dict)  # bodies of nodes in use, by `FlexibleNode.key`
    places: dict[str, FlexibleNode] = field(
        default_factory=dict
    )  # nodes in use, by the names of their bodies


@dataclass(frozen=True, eq=False)
class Shape:
    """A shape drawn in pictures of the system, at a place in a body or between the points ``ends``."""

    name: str
    body: Body
    kind: str
    sizes: tuple[Expr, ...]
    axis: Triple | None
    at: Triple
    orient: Matrix | None
    colour: str
    opacity: float
    ends: tuple[Point, ...] = ()
    details: DataMapping = field(default_factory=dict)


class Description:
    """The description of a mechanical system, in SI units unless ``units`` names another system of units."""

    # Functions from modules that import this one, for methods of bodies; ``stages.System`` sets them.
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
        self.calls: dict[Given, Call] = {}  # calls that made expressions and vectors, for saved models
        self.declared_only = False  # unknown names in texts are errors, not new parameters
        self.gravities: list[Gravity] = []
        self.attractors: NamedTable[Attractor] = NamedTable("attractor")
        self.centres: dict[str, tuple[ExprTriple, ExprTriple]] = {}
        self.smallness: dict[Expr, int] = {}
        self.coordinates: list[Expr] = []
        self.speeds: list[Expr] = []
        self.initial: dict[Expr, float] = {}
        self.rates: dict[Expr, Expr] = {self.time: UNIT}
        self.input_rates: dict[Expr, Memory] = {}  # of inputs; they become memories when used in derivatives
        self.accelerations: dict[Expr, Expr] = {}
        self.ground = make_ground(self)
        register_ground(self.ground.frame, self)

    @contextmanager
    def declared_names(self) -> Iterator[None]:
        """Treat unknown names in texts as errors while this context lasts, as in text models."""
        before, self.declared_only = self.declared_only, True
        try:
            yield
        finally:
            self.declared_only = before

    # ------------------------------------------------------------ contents

    def moving(self) -> list[Expr]:
        """Return the symbols that have initial values: coordinates, speeds and states of the user's own."""
        return [*self.coordinates, *self.speeds, *(s.symbol for s in self.states.values())]

    def extent(self) -> int:
        """Return the number of entries of the description.

        Bodies, loads, outputs, memories, states, events, constraints, prescribed motion, reactions, efforts
        and armatures are counted.
        """
        made: list[Sized] = [self.bodies, self.loads, self.outputs, self.memories, self.states, self.events]
        made += [self.constraints, self.prescriptions, self.reactions, self.efforts, self.armatures]
        return sum(len(things) for things in made)

    def __repr__(self) -> str:
        return f"System({self.name!r}: {len(self.bodies)} bodies, {len(self.speeds)} speeds)"


SystemType = TypeVar("SystemType", bound=Description)  # the class that a reader of files makes


def variables(system: Description) -> list[Expr]:
    """Return the symbols of all quantities of the motion, including reactions of all joints."""
    forces = [c.force for c in system.constraints.values()]
    joints = [s for body in system.bodies.values() for s in reaction_symbols(system, body)]
    efforts = [effort_symbol(system, u) for u in system.speeds]
    memories = [m.symbol for m in system.memories.values()]
    return [*system.moving(), *system.accelerations.values(), *memories, *forces, *joints, *efforts]


def reaction_symbols(system: Description, body: Body) -> tuple[Expr, ...]:
    """Return the symbols of the force and moment of a body's joint on the body, in body axes."""
    if body.name not in system.reactions:
        system.reactions[body.name] = tuple(
            symbol(f"{body.name} joint {what} {axis}", "variable", dimension=dimension, owner=system.identity)
            for what, dimension in (("force", FORCE), ("moment", MOMENT))
            for axis in "xyz"
        )
    return system.reactions[body.name]


def effort_symbol(system: Description, speed: Expr) -> Expr:
    """Return the symbol of the force or moment along a speed that keeps the speed at its given value."""
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
