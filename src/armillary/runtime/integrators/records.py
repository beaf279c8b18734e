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

    `ir` may have LLVM text that defines them under their own names; compiled loops are then linked with it
    instead of calling the addresses. This avoids indirect calls and lets LLVM inline, but compiles the model
    again with every loop.
    """

    derivatives: int
    outputs: int
    events: int = 0
    update: int = 0
    fire: int = 0
    normalise: int = 0
    solve: int = 0  # for redundant coordinates
    residuals: int = 0
    structure: SparseStructure | None = None  # of the linear equations of implicit steps, if sparse
    partial_rates: int = 0  # for linearly implicit methods; 0: they use differences
    driven: bool = False  # inputs come from data over time; slopes by time need differences
    n_states: int = 0
    n_own: int = 0  # states of the motion, which come before its derivatives; 0: all
    n_outputs: int = 0
    n_memory: int = 0
    n_events: int = 0
    event_directions: tuple[int, ...] = ()  # −1 falling, +1 rising, 0 both; empty: all 0
    event_terminal: tuple[float, ...] = ()  # 1: the run ends there, 2: LANDING; empty: all 0
    ir: str = field(default="", repr=False)
    # for `may_jump`; see loop.py
    speed_kinds: np.ndarray | None = field(default=None, repr=False, compare=False)
    owner: object = field(default=None, repr=False, compare=False)  # keeps the code at these addresses alive

    @cached_property
    def kinds_at(self) -> int:
        """The address of the kinds of speeds; 0 if they are unknown."""
        return 0 if self.speed_kinds is None else address(self.speed_kinds)

    @kept_with_owner
    def structure_tables(self) -> np.ndarray:
        """The tables of sparse equations in one array, after the indices at which they begin."""
        assert self.structure is not None
        tables = list(self.structure.tables().values())
        starts = np.cumsum([len(tables), *(len(table) for table in tables[:-1])])
        return np.concatenate([starts, *tables]).astype(np.int32)

    # The common parts of runs, by kind of run: see compiled_run.py.
    plans: dict[Any, Any] = field(init=False, default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True)
class Stepping:
    """Steps of redundant coordinates: the scheme, its ε, and the softness of exact constraints."""

    scheme: Scheme
    epsilon: float
    softness: float


class Outlook(NamedTuple):
    """Data of a run about singular configurations, with the names of solver/record.py."""

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
    first one. ``complete`` tables have the sections of changes, which are not compiled for runs that never
    change. ``normalises``: some configuration corrects its state after each step. ``tolerances``: tolerances
    of the states by configuration, if each state has its own. ``sparse``: numbers of unknowns, entries and
    factors of the largest sparse equations of implicit steps. ``owners`` keeps the memory at the addresses
    alive.
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
    """The table entry that a run lacks for a change of configuration (solver/changes.py), and the situation:
    the number of the present configuration and of the needed one, the locks after the simultaneous events and
    during their impulse, the rows and dependent speeds of a choice, the events, and the motion.
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
    """The results of an integration, complete or not.

    `samples` has one row per entry of `time`. `final_state` and `final_memory` belong to `t_stop`, the last
    time without failure. `failed_state` is the index of the state that was not finite ("diverged") or had the
    largest error ("step too small"), `failed_event` the number of the event that came faster and faster
    ("events accumulate"). `events` lists (time, number) in order, `changes` (time, number) of the
    configurations that were entered, `passages` times of singular configurations and lengths of the steps
    across. `refused_event` is an event that cannot happen there, or the event of lost rank if no step led
    across. `failure` says why a change of configuration failed. `calm`: speeds are known not to jump in the
    rows.
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
    near: float = 0.0  # rows this close to the event at the end show the state after it
    changeovers: list[tuple[float, str]] = field(default_factory=list)  # times and methods that took over
    last_row: np.ndarray | None = None  # the row at that event, if the state alone does not determine it
