"""The sizes for which a loop is compiled, and the offsets of its numbers.

Everything that a loop keeps between two calls is in two blocks of memory that the caller owns: `Control`, a
record of scalars and addresses, and a workspace of reals. So a run can be left after any step and resumed,
bit for bit, and many runs can share one compiled loop. Both blocks have the fields that solver/record.py
declares, for exported programs too: a new field is one line there. A `general` loop reads its sizes from
`Control`, so that one loop serves all models: it is compiled once for each method and set of features
(events, memory, …), and then kept in the cache.

For redundant models, this is the layout of the state, and of the work vector that their sections read; see
program/formalisms/redundant.py.

    state   coordinates d, e of each part | joints' coordinates | speeds v, w of each part |
            the user's own states | accelerations | λ | rates of the user's own states
    work    a state | joints' speeds | λ₀ | ρ | weight | σ of constraints with a position form, and of others
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cache
from itertools import accumulate

from armillary.solver.language.translator import read_fields
from armillary.solver.methods.registry import WATCHED_VECTORS
from armillary.solver.methods.tableau import Rosenbrock, Tableau
from armillary.solver.tables import ACROSS, NESTS, STAGES, TABLES

# σ that keeps a multiplier at λ₀: so large that all other terms of the matrix are lost in rounding.
RIGID = 1e60


@dataclass(frozen=True)
class Scheme:
    """The scheme of a redundant model: with "staggered" or "projected" steps."""

    kind: str
    translations: tuple[int, ...]  # number of translations of each part
    joints: int  # coordinates of joints
    joint_speeds: int
    rows: int
    own: int = 0  # the user's own states
    passes: int = 1
    implicit: bool = False  # translations by the mid-point rule instead of central differences

    @property
    def coordinates(self) -> int:
        return sum(self.translations) + 4 * len(self.translations)

    @property
    def speeds(self) -> int:
        return sum(self.translations) + 3 * len(self.translations)

    @property
    def first_speed(self) -> int:
        return self.coordinates + self.joints

    @property
    def first_own(self) -> int:
        """Index of the first of the user's own states."""
        return self.first_speed + self.speeds

    @property
    def first_acceleration(self) -> int:
        return self.first_own + self.own

    @property
    def ahead(self) -> int:
        """The distance from a speed to its acceleration."""
        return self.first_acceleration - self.first_speed

    @property
    def answer(self) -> int:
        """Length of the result of `solve`: accelerations, multipliers, rates of the user's own states."""
        return self.speeds + self.rows + self.own

    @property
    def first_multiplier(self) -> int:
        return self.first_acceleration + self.speeds

    @property
    def first_rate(self) -> int:
        """Index of the first rate of the user's own states."""
        return self.first_multiplier + self.rows

    @property
    def states(self) -> int:
        return self.first_rate + self.own

    @property
    def first_given(self) -> int:
        """Index of λ₀ in the work vector."""
        return self.states + self.joint_speeds

    @property
    def first_target(self) -> int:
        return self.first_given + self.rows

    @property
    def weight(self) -> int:
        return self.first_target + self.rows

    @property
    def work(self) -> int:
        """Length of the work vector."""
        return self.weight + 3

    def parts(self) -> list[tuple[int, int, int]]:
        """Return (first coordinate, first speed, number of translations) of each part."""
        places = accumulate((k + 4 for k in self.translations), initial=0)
        speeds = accumulate((k + 3 for k in self.translations), initial=self.first_speed)
        return list(zip(places, speeds, self.translations, strict=False))


class Reason(IntEnum):
    """The reason why a call of the loop returned; after one of the second group, the call is repeated."""

    RUNNING = 0
    FINISHED = 1
    EVENT = 2
    DIVERGED = 3
    TOO_SMALL = 4
    ACCUMULATES = 5  # one event happens faster and faster: see solver/events.py

    PAUSED = 6  # the budget of steps is spent
    FULL = 7  # no room for another row, or for another set of events
    LACKING = 8  # a change of configuration needs entries that the tables lack: see solver/changes.py
    OTHER_METHOD = 9  # the other method of `auto` must make the next step: see solver/linearly_implicit.py


class Phase(IntEnum):
    """The phase of the loop at its present time; see loop.py."""

    READY = 0  # to take the next step
    SETTLED = 1  # the row at this time is due
    ARRIVED = 2  # rows inside the step just taken are due, then events and memory


# Features of the solver (language/language.py) that a loop may have.
_LOOP_FEATURES = frozenset((
    *("PROCESS", "EVENTS", "CONTACTS", "UPDATE", "NORMALISE", "JUMPS", "ADAPTIVE", "LANDING_EVENTS"),
    *("SCHEME", "CONFIGURATIONS", "LOCKING_EVENTS", "SETTINGS", "CHOICES", "RATED", "ADJUSTING"),
    *("PARTITIONED", "PASSING", "IMPLICIT", "SPARSE", "DIFFERENTIATED", "DRIVEN", "WATCHED", "KINKS"),
    *("MULTISTEP", "ARRIVING"),
))  # fmt: skip
_Number = type[ctypes.c_double] | type[ctypes.c_int64] | type[ctypes.c_void_p]
_NUMBERS: dict[str, _Number] = {
    "real": ctypes.c_double, "whole": ctypes.c_int64, "count": ctypes.c_int64, "truth": ctypes.c_int64,
    "address": ctypes.c_void_p,
}  # fmt: skip
# For each type of vectors, the name of its size; whole numbers and truth values are reals in the workspace.
VECTOR_SIZES = {
    **dict.fromkeys(("States", "StateNumbers"), "states"), "Partials": "partials", "Memory": "memory",
    **dict.fromkeys(("Reals", "Wholes", "Truths"), "events"),
    "SchemeWork": "work", "SchemeAnswer": "answer", "SchemeGaps": "gaps", "SchemeSettings": "settings",
    "Motion": "motion", "Ratings": "members", "Geometry": "geometry",
    **dict.fromkeys(("Speeds", "SpeedNumbers"), "speeds"), "Jacobian": "jacobian",
    **dict.fromkeys(("RowNumbers", "RowReals"), "rows"), "Locks": "lockable",
    "Slopes": "slopes", "Nests": "nests",
    "Entries": "entry_values", "Factors": "factors", "Unknowns": "unknowns",
    **dict.fromkeys(("Outputs", "OutputFlags"), "outputs"),
}  # fmt: skip
_SIZES = [*dict.fromkeys(VECTOR_SIZES.values())]
_TYPES = {"atol": "States"}  # types that differ from exported programs
_SCALARS = {
    f.name: f.type
    for f in read_fields()
    if f.type in _NUMBERS and f.name not in _TYPES and f.is_there(_LOOP_FEATURES)
}
REALS = tuple(name for name, kind in _SCALARS.items() if kind == "real")
ADDRESSES = tuple(name for name, kind in _SCALARS.items() if kind == "address")
FUNCTIONS = (
    *("derivatives", "outputs", "events", "update", "fire", "normalise", "solve", "residuals"),
    *("partial_rates", "evaluate_end"),
)
FIELDS = {name: place for place, name in enumerate(_SCALARS)}


class Control(ctypes.Structure):
    """The scalars of one run; every field takes eight bytes."""

    __slots__ = ()  # setting a name that is no field raises an error
    _fields_ = [(name, _NUMBERS[kind]) for name, kind in _SCALARS.items()]


# Addresses of a configuration: those that are copied into Control, and those for its changes.
INSTALLED = (
    *("constants", "derivatives", "outputs", "events", "update", "fire", "normalise"),
    *("partial_rates", "structure"),
)
SECTIONS = (
    *(*INSTALLED, "geometry", "leave", "enter", "impulse", "adjust", "change_constants"),
    *("ratings", "rating_constants"),
)
ROOM_FOR_CONFIGURATIONS = 64  # number in the tables of a run; doubled when they are full
PASSED = -1000  # the number by which a step across a singular configuration is logged


@dataclass(frozen=True)
class ChangeShape:
    """Sizes that all configurations of a system share."""

    coordinates: int
    speeds: int
    motion: int
    settings: int  # values that events set for speeds that are possibly no states, at the end of a motion
    adjusting: int  # after them, a number for each speed if events may set dependent ones; else zero
    lockable: int
    own_events: int  # the user's events, which come first in every configuration
    members: int  # configurations of the table with the same locks, at most
    rows: int  # of constraints, if choices beyond the table are made; else zero, as the next two
    elements: int  # of their matrix, at most
    geometry: int  # figures of the constraints, at most
    passing: int  # states of runs that may pass singular configurations; else zero
    listed: int = 0  # configurations of a table that has all of them; 0: others may follow
    room: int = ROOM_FOR_CONFIGURATIONS  # of a table to which others may be added

    def any_size(self) -> ChangeShape:
        """Return this shape without sizes."""
        sizes = dict.fromkeys(vars(self), 0)
        return ChangeShape(**(sizes | {"listed": min(self.listed, 1), "adjusting": min(self.adjusting, 1)}))

    def sizes(self) -> dict[str, int]:
        found = {**vars(self), "jacobian": self.rows * self.speeds}
        found |= {"slopes": STAGES * self.passing, "nests": NESTS * self.passing}
        return {**found, "own_motion": self.motion - self.settings - self.adjusting}

    def figures(self, events: int) -> tuple[dict[str, int], int]:
        """Return the offset of each table of numbers by configuration, and the total length. The first table
        has sizes and these offsets, in the order of `HEAD`.
        """
        many, sizes = self.listed or self.room, {**self.sizes(), "events": events}
        lengths = {"head": len(HEAD), **{t.name: t.length(sizes, many) for t in TABLES}}
        if self.listed and not self.passing:
            lengths["near_place"] = 0
        return _offsets(lengths | {name: length if self.passing else 0 for name, length in ACROSS.items()})

    def first_size(self, events: int, configuration: int) -> int:
        """Return the offset of the sizes of a configuration's states."""
        return self.figures(events)[0]["state_size"] + configuration * self.sizes()["own_motion"]

    def head(self, events: int) -> list[int]:
        found = {**self.sizes(), **{f"first {name}": at for name, at in self.figures(events)[0].items()}}
        return [found[name] for name in HEAD]


HEAD = (
    *("coordinates", "speeds", "motion", "lockable", "own_events", "members", "rows", "elements"),
    *("geometry", "listed", "jacobian", "settings", "own_motion", "slopes", "nests"),
    *(f"first {name}" for name in (*(t.name for t in TABLES), *ACROSS)),
)


def _offsets(lengths: dict[str, int]) -> tuple[dict[str, int], int]:
    offsets, end = {}, 0
    for name, length in lengths.items():
        offsets[name], end = end, end + length
    return offsets, end


@cache
def _vector_sizes(features: frozenset[str], method_vectors: tuple[str, ...]) -> dict[str, str]:
    """Return the vectors of a workspace, each with the name of its size; see `LoopShape.lengths`."""
    declared = {f.name: _TYPES.get(f.name, f.type) for f in read_fields() if f.is_there(features)}
    found = {name: VECTOR_SIZES[kind] for name, kind in declared.items() if kind in VECTOR_SIZES}
    found |= dict.fromkeys(method_vectors, "states")
    return dict(sorted(found.items(), key=lambda item: _SIZES.index(item[1])))


@dataclass(frozen=True)
class LoopShape:
    """The sizes and the method a loop is compiled for; `dense`: values inside a step can be requested.

    A `general` loop is compiled for the shape `any_size`, which fits all sizes.
    """

    tableau: Tableau | Rosenbrock
    states: int
    memory: int
    outputs: int
    events: int
    update: bool
    fire: bool
    normalise: bool
    dense: bool
    scheme: Scheme | None = None  # of redundant coordinates
    stops: bool = False  # whether inputs over time jump: no step leads across such a time
    changes: ChangeShape | None = None  # of configuration
    general: bool = False
    differentiated: bool = False  # for linearly implicit methods: the program has its partial derivatives
    sparse: tuple[int, int, int] | None = None  # numbers of unknowns, entries, factors of sparse equations
    driven: bool = False  # for linearly implicit methods: the program reads inputs from data over time
    watched: bool = False  # stiffness is watched, to change between two methods
    arrives: bool = False  # whether one function computes all that a step needs where it ends
    kinks: bool = False  # whether the states are followed by their sensitivities

    def any_size(self) -> LoopShape:
        """Return this shape with sizes reduced to 0 or 1 (none or some); unchanged unless `general`."""
        if not self.general:
            return self
        outputs, events = min(self.outputs, 1), min(self.events, 1)
        changes = self.changes and self.changes.any_size()
        sparse = self.sparse and (0, 0, 0)
        return replace(
            self, states=0, memory=0, outputs=outputs, events=events, changes=changes, sparse=sparse
        )

    @property
    def partitioned(self) -> bool:
        """Whether configurations beyond a table can follow."""
        return self.changes is not None and not self.changes.listed

    @property
    def passing(self) -> bool:
        """Whether runs pass singular configurations."""
        return self.partitioned or (self.changes is not None and self.changes.passing > 0)

    @property
    def plain(self) -> bool:
        """Whether steps have a fixed size, and a loop computes nothing else but rows."""
        return not (self.implicit or self.adaptive or self.events or self.scheme or self.changes)

    @property
    def fours(self) -> int:
        return max(1, -(-self.states // 4))

    @property
    def adaptive(self) -> bool:
        return self.tableau.control is not None

    @property
    def implicit(self) -> bool:
        """Whether the method is linearly implicit."""
        return isinstance(self.tableau, Rosenbrock)

    @property
    def features(self) -> frozenset[str]:
        """The features of the solver that this loop has."""
        changes = self.changes
        having = {
            "PROCESS": True, "LOCKING_EVENTS": True, "SETTINGS": True, "CHOICES": True, "RATED": True,
            "STEPS_ONLY": not self.dense, "EVENTS": self.events > 0, "CONTACTS": self.events > 0,
            "UPDATE": self.update, "NORMALISE": self.normalise, "JUMPS": self.stops,
            "ADAPTIVE": self.adaptive, "LANDING_EVENTS": self.scheme is None,
            "SCHEME": self.scheme is not None, "CONFIGURATIONS": changes is not None,
            "ADJUSTING": changes is not None and changes.adjusting > 0,
            "PARTITIONED": self.partitioned, "PASSING": self.passing,
            "IMPLICIT": self.implicit, "DIFFERENTIATED": self.differentiated, "DRIVEN": self.driven,
            "SPARSE": self.sparse is not None, "WATCHED": self.watched, "KINKS": self.adaptive and self.kinks,
            "MULTISTEP": self.tableau.multistep, "ARRIVING": self.arrives,
        }  # fmt: skip
        return frozenset(name for name, there in having.items() if there)

    @property
    def method_vectors(self) -> Sequence[str]:
        """The vectors of the method's stages and dense output, without the vectors common to all methods.

        Both methods of `auto` have the same vectors, so that one continues with the numbers of the other.
        """
        if self.watched:
            return WATCHED_VECTORS
        return self.tableau.vectors if self.dense else self.tableau.stage_vectors

    def lengths(self) -> dict[str, str]:
        """Return the vectors of the workspace in their order, each with the name of its size; states come
        first.

        Vectors of one size are side by side, frequently used sizes first: in a general loop each function
        computes the offset of a vector as a sum over the sizes before it (with events first, rk4 of a
        slider-crank took 1.12 times as long).
        """
        features = self.features | {"IMPLICIT"} if self.watched else self.features
        return dict(_vector_sizes(features, tuple(self.method_vectors)))

    def sizes(self) -> dict[str, int]:
        """Return sizes by name."""
        found = {"states": 4 * self.fours if self.general else self.states, "used": self.states}
        found |= {"memory": self.memory, "events": self.events, "outputs": self.outputs}
        found["partials"] = found["states"] * (found["states"] + 1)
        if self.sparse:
            found["unknowns"], found["entries"], found["factors"] = self.sparse
            found["entry_values"] = found["entries"] + found["states"]
        if self.scheme:
            s = self.scheme
            found |= {"work": s.work, "answer": s.answer, "gaps": 2 * s.rows, "settings": 2}
        return {**found, **(self.changes.sizes() if self.changes else {})}

    def layout(self) -> tuple[dict[str, int], int]:
        """Return the offset of each vector in the workspace, and the length of the whole."""
        sizes = self.sizes()
        return _offsets({name: sizes[size] for name, size in self.lengths().items()})
