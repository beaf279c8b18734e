"""What one compiled loop is made for, and where its numbers live.

A loop is compiled once per `LoopShape`. Everything it keeps between two calls is in two blocks of memory that
the caller owns: `Control`, a record of scalars and addresses, and a workspace of reals. So a run can be left
after any step and taken up again, bit for bit, and many runs can share one compiled loop.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, replace
from enum import IntEnum

from armillary.runtime.loop.redundant_layout import Scheme
from armillary.runtime.loop.tableau import Tableau

# A grid point of a fixed step this close (in steps) to a sample time or to the end takes exactly that time.
# An event is moved by at most this much, and only as far as rounding explains: see `closeness` in
# runtime/solver/events.py.
SNAP = 1e-6


class Reason(IntEnum):
    """Why a call of the loop came back. The first group ends a run, the second wants another call."""

    RUNNING = 0
    FINISHED = 1
    EVENT = 2
    DIVERGED = 3
    TOO_SMALL = 4
    ACCUMULATES = 5  # one event happens faster and faster: see runtime/solver/events.py

    PAUSED = 6  # the budget of steps is spent
    FULL = 7  # no room for another row, or for another set of events


class Phase(IntEnum):
    """Where the loop stands at its present time; see loop.py."""

    READY = 0  # to take the next step
    SETTLED = 1  # the row at this time is due
    ARRIVED = 2  # rows inside the step just taken are due, then events and memory


REALS = (
    "t", "t0", "t_end",  # now, start, end
    "step", "max_step", "rtol",
    "h",  # adaptive: the next step to try
    "t_old", "h_taken",  # the step just taken, whole, even where an event cuts it short
    "error_old",
    "near",  # rows this close to the time of an event show the state after it
    "blind",  # so long after an event that happened a little early its function may still not have crossed
    "shortest",  # the least time between two firings of one of the events that happened last
    "due",  # the time of the next row
    "stop",  # the next time at which inputs jump
    "look",  # when weak constraints are looked at again
)  # fmt: skip
WHOLES = (
    "phase", "status", "failed",  # Phase, Reason, the state or event to blame (−1: none)
    "index",  # fixed step: number of the grid point last reached
    "at_grid",  # 0 where an event has split a fixed step
    "restart",  # the derivative kept for the next step is not valid
    "choose_step",  # adaptive: h is to be chosen afresh
    "after_rejection", "prepared", "pending",
    "steps", "rejected", "evaluations",
    "budget",  # steps this call may still try
    "jump",  # number of the next of the times at which inputs jump
    "every_step",  # rows at the ends of steps, times written here, instead of at given times
    "configuration", "configurations",  # the number of the present one, and how many there are
    "used",  # states of the present configuration, or of a run in a roomy loop
    "columns",  # numbers of a row, in a roomy loop
    "pairs",  # rows that have a dependent speed in the choice made last
    "changing",  # an event that happens now asks for another configuration
    "filled", "capacity", "firings", "log_capacity",
)  # fmt: skip
EVENT_VECTORS = (
    "g", "g_start",  # the event functions now, and at the start of the step
    "sign", "side",  # the sign last seen (0: none yet), and the one before the last firing
    "low", "crossed", "direction", "terminal",
    "last", "gap", "longest", "streak", "stuck", "returning",  # see runtime/solver/events.py
)  # fmt: skip
FUNCTIONS = ("derivatives", "outputs", "events", "update", "fire", "normalise", "solve", "residuals")
ADDRESSES = ("constants", "times", "rows", "log", "stops", "sections", "figures", *FUNCTIONS)

FIELDS = {name: place for place, name in enumerate((*REALS, *WHOLES, *ADDRESSES))}


class Control(ctypes.Structure):
    """The scalars of one run; every field takes eight bytes."""

    _fields_ = [
        *((name, ctypes.c_double) for name in REALS),
        *((name, ctypes.c_int64) for name in WHOLES),
        *((name, ctypes.c_void_p) for name in ADDRESSES),
    ]


# What a configuration brings: the addresses that become those of Control, and those of its changes.
INSTALLED = ("constants", "derivatives", "outputs", "events", "update", "fire", "normalise")
SECTIONS = (*INSTALLED, "geometry", "leave", "enter", "impulse", "ratings", "change_constants")
MOST_CONFIGURATIONS = 64


@dataclass(frozen=True)
class ChangeShape:
    """Sizes of what all configurations of a system have in common."""

    coordinates: int
    speeds: int
    motion: int
    lockable: int
    own_events: int  # of the user's own: they come first in every configuration
    rows: int  # of constraints
    elements: int  # of their matrix, at most
    geometry: int  # numbers that constraints are made of, at most
    listed: int = 0  # configurations of a table that has all of them; 0: others may follow

    def figures(self, events: int) -> tuple[dict[str, int], int]:
        """Where each table of numbers by configuration begins, and the length of all."""
        many = self.listed or MOST_CONFIGURATIONS
        lengths = dict.fromkeys(("role", "direction", "ends", "lands"), many * events)
        lengths["locked"] = many * self.lockable
        lengths |= dict.fromkeys(("row_of", "speed_of"), many * self.elements)
        lengths |= dict.fromkeys(("speed_of_row", "row_of_step", "speed_of_step"), many * self.rows)
        one = ("used", "watched", "strikes", "choice", "rank", "elements", "first_element")
        lengths |= dict.fromkeys(one, many)
        lengths |= {"speed_kind": self.speeds, "member": self.listed**2}
        lengths |= dict.fromkeys(("locks", "unlocks"), self.own_events * self.lockable)
        return _offsets(lengths)


def _offsets(lengths: dict[str, int]) -> tuple[dict[str, int], int]:
    offsets, end = {}, 0
    for name, length in lengths.items():
        offsets[name], end = end, end + length
    return offsets, end


@dataclass(frozen=True)
class LoopShape:
    """The sizes and the method a loop is compiled for; `dense`: values inside a step can be asked for."""

    tableau: Tableau
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
    roomy: bool = False  # sizes are upper bounds

    def with_room(self) -> LoopShape:
        """A shape that many runs have in common: sizes are the next power of two. States beyond those of a
        run are zero and have no rates, event functions are one. The numbers are the same to the last bit.
        """
        if self.scheme or self.changes:
            return self
        states, memory, events = (
            n and max(4, 1 << (n - 1).bit_length()) for n in (self.states, self.memory, self.events)
        )
        return replace(
            self, states=states, memory=memory, events=events, outputs=min(self.outputs, 1), roomy=True
        )

    @property
    def adaptive(self) -> bool:
        return self.tableau.control is not None

    @property
    def derivative_vectors(self) -> int:
        """How many derivative vectors k are kept."""
        return self.tableau.stages + (1 + len(self.tableau.extra_c) if self.dense else 0)

    @property
    def dense_vectors(self) -> int:
        """How many vectors F make the dense output; see tableau.py."""
        return 3 + len(self.tableau.dense) if self.dense else 0

    def layout(self) -> tuple[dict[str, int], int]:
        """The offset of each vector in the workspace, and the length of the whole."""
        lengths = dict.fromkeys(("state", "trial", "stage"), self.states)
        lengths |= {f"k{i}": self.states for i in range(self.derivative_vectors)}
        if self.adaptive:
            lengths |= dict.fromkeys(("atol", "ratio", "ratio_low"), self.states)
        if self.dense:
            lengths |= dict.fromkeys(("base", "end", "point"), self.states)
            lengths |= {f"F{i}": self.states for i in range(self.dense_vectors)}
        lengths |= dict.fromkeys(("memory", "new_memory"), self.memory)
        lengths |= dict.fromkeys(EVENT_VECTORS, self.events)
        if self.scheme:
            rows, work = self.scheme.rows, self.scheme.work
            lengths |= {"work": work, "answer": self.scheme.answer, "gaps": 2 * rows, "settings": 2}
        if self.changes:
            c = self.changes
            lengths |= {"motion": c.motion, "geometry": c.geometry, "rating": c.listed}
            lengths |= dict.fromkeys(("speeds", "size", "speed_taken", "allowed"), c.speeds)
            lengths |= dict.fromkeys(("jacobian", "left"), c.rows * c.speeds)
            lengths |= dict.fromkeys(("pair_row", "pair_speed", "row_taken", "preferred"), c.rows)
            lengths |= dict.fromkeys(("after", "held", "closing", "opening"), self.changes.lockable)
        return _offsets(lengths)
