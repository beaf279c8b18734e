"""Input and output of an integration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from typing import Any, Literal, NamedTuple

import numpy as np

from armillary.program.sparse_rates import SparseStructure
from armillary.runtime.addresses import address, kept_with_owner
from armillary.solver.llvm.layout import ChangeShape, Scheme

IntegrationStatus = Literal[
    "finished",
    "event",
    "diverged",
    "step too small",
    "events accumulate",
    "interrupted",
    "too many steps",
    "too many rows",
]


@dataclass(frozen=True)
class Functions:
    """The generated functions of a model, by address (0: there is none), and their sizes.

    `ir` may hold LLVM text that defines them under their own names; compiled loops are then linked with it
    instead of calling the addresses. It spares an indirect call and lets LLVM inline, at the price of
    compiling the model again with every loop.
    """

    derivatives: int
    outputs: int
    events: int = 0
    update: int = 0
    fire: int = 0
    normalise: int = 0
    solve: int = 0  # of redundant coordinates
    residuals: int = 0
    structure: SparseStructure | None = None  # of the equations of their steps, where these are sparse
    partial_rates: int = 0  # of linearly implicit methods; 0: they take differences
    driven: bool = False  # inputs are read from data over time, whose slopes only differences show
    n_states: int = 0
    n_own: int = 0  # those of the motion, before its derivatives; 0: all
    n_outputs: int = 0
    n_memory: int = 0
    n_events: int = 0
    event_directions: tuple[int, ...] = ()  # −1 falling, +1 rising, 0 both; empty: all 0
    event_terminal: tuple[float, ...] = ()  # 1: the run ends there, 2: LANDING; empty: all 0
    ir: str = field(default="", repr=False)
    speed_kinds: np.ndarray | None = field(default=None, repr=False, compare=False)  # of `may_jump`; loop.py
    owner: object = field(default=None, repr=False, compare=False)  # keeps the code at these addresses alive

    @cached_property
    def kinds_at(self) -> int:
        """The address of the kinds of speeds; 0 where they are not known."""
        return 0 if self.speed_kinds is None else address(self.speed_kinds)

    @kept_with_owner
    def structure_tables(self) -> np.ndarray:
        """Return the tables of sparse equations, one after the other, with their places before them."""
        assert self.structure is not None
        tables = list(self.structure.tables().values())
        starts = np.cumsum([len(tables), *(len(table) for table in tables[:-1])])
        return np.concatenate([starts, *tables]).astype(np.int32)

    # What runs have in common, by the kind of run: see compiled_run.py.
    plans: dict[Any, Any] = field(init=False, default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True)
class Stepping:
    """Steps of redundant coordinates: the scheme, its ε, and the softness of exact constraints."""

    scheme: Scheme
    epsilon: float
    softness: float


class Outlook(NamedTuple):
    """Data of places where constraints lose rank in a run, by the names of solver/record.py."""

    look: float = -inf
    share: float = 1.0
    short_begin: float = 0.0
    short_end: float = -inf
    short_step: float = 0.0
    wary: int = 0


@dataclass(frozen=True)
class RunChanges:
    """The configurations that a run may enter without leaving its loop; tables are in solver/llvm/layout.py.

    ``states`` and ``events`` are the counts of the largest configuration, ``start`` is the number of the
    first one; ``complete`` tables have the sections of changes, which are not compiled for runs that never
    change; ``normalises``: some configuration corrects its state after each step; ``tolerances`` are those of
    the states of each configuration, if each state has its own; ``sparse``: unknowns, entries and factors of
    the largest sparse equations of implicit steps; ``owners`` keeps the memory at the addresses alive.
    """

    shape: ChangeShape
    states: int
    events: int
    count: int
    sections: np.ndarray
    figures: np.ndarray
    start: int = 0
    outlook: Outlook = field(default_factory=Outlook)
    complete: bool = False
    normalises: bool = False
    tolerances: tuple[Sequence[float], ...] = ()
    sparse: tuple[int, int, int] | None = None
    owners: object = field(default=None, repr=False, compare=False)

    @cached_property
    def places(self) -> tuple[int, int]:
        """Addresses of both tables."""
        return address(self.sections), address(self.figures)


class Lack(NamedTuple):
    """What a run lacks for a change of configuration (solver/changes.py), and where it stands: the
    number of the present configuration and of the one in question, the locks after the events of the instant
    and while their impulse acts, the rows and dependent speeds of a choice, the events, the motion.
    """

    what: int
    known: int  # configurations in its tables
    present: int
    configuration: int
    member: int
    after: list[bool]
    held: list[bool]
    choice: list[tuple[int, int]]
    events: list[int]
    t: float
    motion: np.ndarray
    memory: np.ndarray


@dataclass
class Integration:
    """The results of an integration, however it ended.

    `samples` has one row per entry of `time`. `final_state` and `final_memory` belong to `t_stop`, the last
    time at which all was well. `failed_state` is the index of the state that was not finite ("diverged") or
    had the largest error ("step too small"), `failed_event` the number of the event that happened faster and
    faster ("events accumulate"). `events` lists (time, number) in the order in which they happened, `changes`
    (time, number) of the configurations that were entered on the way, `passages` times of places of lost rank
    and the lengths of the steps across; `refused_event` is an event that cannot happen in such a place, or
    the event of lost rank if no step led across. `failure` says why a change of configuration could not be
    made. `calm`: speeds are known not to jump in its rows.
    """

    time: np.ndarray
    samples: np.ndarray
    final_state: np.ndarray
    final_memory: np.ndarray
    status: IntegrationStatus
    failed_state: int | None
    t_stop: float
    events: list[tuple[float, int]]
    steps: int
    rejected: int
    evaluations: int
    failed_event: int | None = None
    changes: list[tuple[float, int]] = field(default_factory=list)
    passages: list[tuple[float, float]] = field(default_factory=list)
    refused_event: int | None = None
    failure: str = ""
    outlook: Outlook | None = None
    calm: bool = False
    near: float = 0.0  # of the event at the end: rows as close to it show what is after it
    changeovers: list[tuple[float, str]] = field(default_factory=list)  # times and methods that took over
    last_row: np.ndarray | None = None  # at that event, where its state alone does not determine it
