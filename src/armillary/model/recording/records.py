"""The records of a description besides bodies, in the user's words."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from armillary.algebra.expression import Expr
from armillary.algebra.triples import Matrix, Triple
from armillary.algebra.vectors import Vector
from armillary.model.bodies.body import Body, Point
from armillary.untyped import DataMapping

if TYPE_CHECKING:
    from armillary.model.flexible.part import FlexibleNode, FlexiblePart


@dataclass(frozen=True, eq=False)
class Gravity:
    """A uniform field: acceleration ``magnitude`` along a direction fixed in the ground."""

    magnitude: Expr
    direction: Vector


@dataclass(frozen=True, eq=False)
class Load:
    """A force at points, or a moment on bodies: positive on the first, opposite on the second where there is
    one.

    ``vector`` is the whole force or moment. A force acts at ``at`` on its body and, reversed, at
    ``reaction_at``, or where it is None along the same line of action. ``axis`` is the direction, where
    ``vector`` is ``magnitude`` along one.
    """

    name: str
    kind: str  # "force" or "moment"
    magnitude: Expr
    vector: Vector
    body: Body
    at: Point | None = None
    reaction_body: Body | None = None
    reaction_at: Point | None = None
    collinear: bool = False  # a strut's: along the line between its two points
    axis: Vector | None = None

    @property
    def balanced(self) -> bool:
        """Whether both ends cancel as a whole: a force and its reaction off its line leave a couple."""
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
    """A discrete state: kept between steps, changed once per step or by events."""

    symbol: Expr
    initial: float  # in the model's units
    update: Expr | None
    about: str
    period: float | None = None  # of the clock behind a periodic update: it starts one period after the run
    start: Expr | None = None  # what it is at the start of a run that does not set it
    input: bool = False  # a signal from outside, which nothing in the model renews
    factor: float = 1.0  # from the stated units to the model's
    hidden: bool = False  # the handle of something outside: no column of a run
    interpolation: str = "linear"  # of data that drive an input
    rate_of: str = ""  # the input of which this one is the rate


@dataclass(frozen=True, eq=False)
class StateRecord:
    """A continuous state of the user's own; ``rate`` is None until it is given."""

    symbol: Expr
    rate: Expr | None
    about: str


ENDS_STATUS = -2  # a direction: of events that end a status, whose expression is positive before
FINDS_LOWEST = 2  # a direction: of rates of gaps, which show where a gap is lowest, and never happen


@dataclass(frozen=True, eq=False)
class EventRecord:
    """Something that happens when an expression passes zero."""

    name: str
    expression: Expr
    direction: int
    changes: dict[Expr, Expr]
    stop: bool
    about: str
    hidden: bool = False  # the clock of a periodic update: not among the events of a run
    lock: tuple[Expr, ...] = ()  # speeds that become zero and stay so
    unlock: tuple[Expr, ...] = ()  # speeds that are free again


@dataclass(frozen=True, eq=False)
class Constraint:
    """An expression that stays zero: ``speed``, linear in the speeds, and ``position`` where there is one.

    ``speed`` is the rate of ``position``, and ``acceleration`` that of ``speed``, where these are zero.
    ``eliminate`` is the speed that the user wants to give up, None to leave the choice to the derivation.
    ``force`` stands for the force that keeps the constraint, in outputs; ``load`` is a unit of it,
    where it acts.
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
    """A speed given as a function of time and constants: its equation disappears.

    Where a coordinate is given, the speed is its rate.
    """

    speed: Expr
    value: Expr
    coordinate: Expr | None = None
    position: Expr | None = None


# Memories of contacts: a mode that is not decided yet, at the start of a run, and those of all together.
JAMS, UNDECIDED = 3, 9
FAILED, AMBIGUOUS = "contacts_failed", "contacts_ambiguous"
JAMMED, WITHOUT_REBOUND = "contacts_jammed", "contacts_without_rebound"


@dataclass(frozen=True, eq=False)
class RigidContact:
    """A one-sided contact without compliance, or with ``gap`` None a brake or clutch that locks.

    ``closing`` is the rate of the gap, and ``sliding`` are the velocities of the slip, along no direction,
    one or two; all are linear in the speeds. ``push`` and ``drag`` stand for the forces that do work on
    them; the derivation replaces them. ``friction`` is the coefficient, of a brake the greatest force, while
    sliding, ``held`` the same at rest. ``place`` are expressions of coordinates whose rates ``sliding`` are,
    where there are such.
    """

    name: str
    status: Expr  # memories: see mechanics/contact/state.py
    last: Expr | None = None
    opened: Expr | None = None
    longest: Expr | None = None
    size: Expr | None = None
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
    law: str = "newton"
    settle: float | None = None


@dataclass(frozen=True, eq=False)
class Flexible:
    """A flexible part as it sits on a body: its numbers, and the symbols of its modes."""

    part: FlexiblePart
    coordinates: tuple[Expr, ...]
    speeds: tuple[Expr, ...]
    held: str | None = None
    nodes: dict[Any, Body] = field(default_factory=dict)  # those that were used, by `FlexibleNode.key`
    places: dict[str, FlexibleNode] = field(
        default_factory=dict
    )  # and where they are, by their bodies' names


@dataclass(frozen=True, eq=False)
class Shape:
    """A figure on a body: its kind, sizes, and its centre and axes in the body's; or one between points."""

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
