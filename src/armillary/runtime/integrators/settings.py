"""Input and output of an integration: settings with a method and the times of rows, functions, results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, lru_cache
from math import floor, inf, log10
from operator import attrgetter
from typing import Any, Literal, NamedTuple

import numpy as np

from armillary.algebra.arguments import count, one_of, reals
from armillary.errors import ArmillaryError
from armillary.program.sparse_rates import SparseStructure
from armillary.runtime.addresses import address, kept_with_owner
from armillary.settings import KEPT, RunSettings
from armillary.solver.llvm.layout import ChangeShape, Scheme
from armillary.solver.methods.registry import (
    FORMER_METHODS,
    METHODS,
    check_family,
    replace_former_method,
    usual_method,
)
from armillary.solver.methods.tableau import Method
from armillary.solver.thresholds import LONGEST_WITH_CONTACTS, SNAP
from armillary.untyped import Given

# Larger results are refused as mistakes, since they could exhaust the machine's memory.
MOST_BYTES = 4 * 2**30
_GOOD_ROWS = 1e6  # number of rows with the ``sample`` that an error message proposes


def most_rows(outputs: int) -> int:
    """Return the largest number of rows that a run keeps, given its number of outputs."""
    return MOST_BYTES // (8 * max(outputs, 1))


def check_rows(samples: SampleTimes, step: float | None, outputs: int) -> None:
    """Raise an error if a run will certainly have too many rows; ``step`` is the fixed step, if any."""
    length = samples.t_end - samples.t0
    rows = float(samples.count)
    if samples.every_step:
        rows = length / step if step else 0.0
    if rows <= most_rows(outputs):
        return
    size, wiser = _size(8.0 * rows * max(outputs, 1)), _round_up(length / _GOOD_ROWS)
    give = "give" if samples.every_step else "give a larger"
    raise ArmillaryError(
        f"this would record {rows:.3g} rows of {outputs} outputs ({size}); "
        f"{give} sample=, e.g. sample={wiser:g}"
    )


def _size(count: float) -> str:
    """Return a number of bytes as text."""
    for unit, factor in (("TB", 1e12), ("GB", 1e9)):
        if count >= factor:
            return f"{count / factor:.3g} {unit}"
    return f"{count / 1e6:.3g} MB"


def _round_up(seconds: float) -> float:
    """Return the next larger number of the series 1, 2, 5, 10, …; allow for rounding."""
    decade = 10.0 ** floor(log10(seconds))
    return next(m * decade for m in (1, 2, 5, 10, 20) if m * decade >= seconds * (1 - 1e-9))


class SampleTimes:
    """The times of rows.

    A number ``sample`` gives the times t₀ + i·sample up to the end, an array gives the times themselves, and
    None gives the end of every step.

    Each time is computed from i, not from the time before it, which would accumulate rounding. The last time
    equals the end if they differ only by rounding.
    """

    def __init__(self, sample: float | Sequence[float] | np.ndarray | None, t0: float, t_end: float) -> None:
        self.t0 = t0
        self.t_end = t_end
        self.every_step = sample is None
        self.interval = 0.0
        self.given: np.ndarray | None = None
        self.count = 0
        if sample is None:
            return
        times = reals(sample, "sample")
        if times.ndim:
            self.given = _check_times(times, t0, t_end)
            self.count = len(self.given)
        else:
            self.interval = float(times)
            if not 0.0 < self.interval < np.inf:
                raise ArmillaryError(f"the time between samples must be positive, not {sample}")
            intervals = (t_end - t0) / self.interval
            if intervals == inf:
                raise ArmillaryError(f"the time between samples, {sample} s, is too short for any run")
            near = abs(intervals - round(intervals)) <= 1e-9 + 4 * np.spacing(intervals)
            self.ends_on_sample = near and (round(intervals) > 0 or t_end == t0)
            self.count = 1 + (round(intervals) if self.ends_on_sample else floor(intervals))

    def times(self, start: int, stop: int) -> np.ndarray:
        """Return the times of rows `start` … `stop` − 1, infinity beyond the last."""
        result = np.full(stop - start, np.inf)
        known = min(stop, self.count) - start
        if known > 0:
            if self.given is not None:
                result[:known] = self.given[start : start + known]
            else:
                result[:known] = self.t0 + np.arange(start, start + known) * self.interval
                if self.ends_on_sample and start + known == self.count:
                    result[known - 1] = self.t_end
        return result

    def on_grid(self, step: float) -> bool:
        """Return whether every time is a grid point t₀ + i·step or the end, so no time is inside a step."""
        if self.every_step:
            return True
        if self.given is None:
            stride = round(min(self.interval / step, 2.0**53))
            strays = abs(self.interval - stride * step) * (self.count - 1)
            last = self.times(self.count - 1, self.count)[0]
            return bool(stride and strays <= 0.5 * SNAP * step and self._meets_end(last, step))
        nearest = self.t0 + np.rint((self.given - self.t0) / step) * step
        near = np.abs(nearest - self.given) <= 0.5 * SNAP * step
        return bool(np.all((near | (self.given == self.t_end)) & self._meets_end(self.given, step)))

    def _meets_end(self, times: np.ndarray, step: float) -> np.ndarray:
        """Return which times are the end or clearly before it.

        A time between them is no end of a step, since the loop moves a grid point near the end to the end.
        """
        found: np.ndarray = (times == self.t_end) | (times < self.t_end - 2 * SNAP * step)
        return found


def _check_times(given: np.ndarray, t0: float, t_end: float) -> np.ndarray:
    """Return given sample times after checking that they increase and lie in the run."""
    times = given + 0.0  # a copy without negative zeros
    if times.ndim != 1 or not np.all(np.diff(times) > 0):
        raise ArmillaryError("sample times must be a one-dimensional array of increasing numbers")
    if len(times) and not (times[0] >= t0 and times[-1] <= t_end):
        raise ArmillaryError(
            f"sample times must lie between {t0} and {t_end}; they reach from {times[0]} to {times[-1]}"
        )
    return times


ROWS = 1000  # number of intervals between rows of an adaptive run without ``sample``


@dataclass(frozen=True, eq=False)
class IntegrationSettings(RunSettings):
    """The settings of one integration, made by `complete_settings`.

    If a run consists of several integrations, the settings of each have its own start and end.
    """

    # In runs with contacts for which no longest step was given: ``max_step`` holds only while anything moves.
    longer_at_rest: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        method = one_of(self.method, METHODS, "no integration method ")
        if self.step is None and not METHODS[method].adaptive:
            raise ArmillaryError(f"method '{method}' takes steps of one size: give step=, e.g. step=1e-3")
        _ = self.samples  # raises an error for wrong sample times

    @property
    def integrator(self) -> Method:
        """The integration method."""
        return METHODS[str(self.method)]

    @property
    def fixed_step(self) -> float | None:
        """The step size if all steps have the same; else `None`."""
        return None if self.integrator.adaptive else self.step

    @cached_property
    def samples(self) -> SampleTimes:
        """The times of rows."""
        return SampleTimes(self.sample, self.t0, self.t_end)

    @cached_property
    def on_grid(self) -> bool:
        """Whether all rows are at ends of fixed steps."""
        return self.samples.on_grid(self.step or inf)

    @cached_property
    def sampled(self) -> IntegrationSettings:
        """These settings, with a ``sample`` for adaptive methods if none is given."""
        if self.sample is not None or not self.integrator.adaptive or not self.t_end > self.t0:
            return self
        return replace(self, sample=(self.t_end - self.t0) / ROWS)

    @cached_property
    def row_times(self) -> np.ndarray:
        """Times of all rows, read-only; without ``sample`` the ends of steps."""
        times = self.samples if not self.samples.every_step else SampleTimes(self.step, self.t0, self.t_end)
        found = times.times(0, times.count)
        if self.samples.every_step and not (len(found) and found[-1] >= self.t_end):
            found = np.append(found, self.t_end)
        if times.given is None and not np.all(np.diff(found) > 0):
            raise ArmillaryError(
                f"times that are {times.interval:g} s apart are not distinct near t0 = {self.t0:g} s: "
                f"floating-point numbers there are {np.spacing(max(abs(self.t0), abs(self.t_end))):.2g} s "
                "apart; start at a t0 nearer to zero"
            )
        found.flags.writeable = False
        return found

    @cached_property
    def at_times(self) -> IntegrationSettings:
        """These settings, with the times of all rows as ``sample``."""
        return replace(self, sample=np.maximum(self.row_times, self.t0))

    @cached_property
    def _by_method(self) -> dict[str, IntegrationSettings]:
        return {}

    def with_method(self, name: str) -> IntegrationSettings:
        """Return these settings with another method; each call with one name returns one object."""
        if name not in self._by_method:
            self._by_method[name] = replace(self, method=name)
        return self._by_method[name]

    @cached_property
    def summary(self) -> dict[str, str | int | float]:
        """The settings of a run for its ``info``."""
        tolerances: dict[str, str | float] = {"rtol": self.rtol, "atol": str(self.atol)}
        step = self.step or 0.0
        step = step if type(step) in (int, float) else float(step)
        return {
            "method": self.integrator.name, "step": step, **(tolerances if self.integrator.adaptive else {}),
        }  # fmt: skip

    def tolerances(self, states: int) -> float | np.ndarray:
        """Return the absolute tolerances: one number, or one per state."""
        if type(self.atol) is float:
            return self.atol
        found = reals(self.atol, "atol").copy()
        if found.shape not in ((), (states,)):
            raise ArmillaryError(f"atol must be one number or {states}, one per state")
        return found


def complete_settings(
    settings: RunSettings, family: str = "", *, contacts: bool = False
) -> IntegrationSettings:
    """Return settings in which all values are numbers and the method is chosen.

    A given method must belong to the ``family``, the name of a group of methods for one kind of equations.
    With ``contacts``, adaptive steps are at most the part LONGEST_WITH_CONTACTS of the run.
    """
    if type(settings.method) is str and settings.method in FORMER_METHODS:
        settings = replace(settings, method=replace_former_method(settings.method))
    values = (*_in_order(settings), family, contacts)
    try:
        return _kept(*values)
    except TypeError:  # arrays and lists cannot be keys
        return _complete(*values)


_NAMES = tuple(f.name for f in fields(RunSettings))
_in_order = attrgetter(*_NAMES)


def _complete(*values: Given) -> IntegrationSettings:
    *own, family, contacts = values
    given = dict(zip(_NAMES, own, strict=True))
    # Adding 0.0 removes the sign of zeros.
    given |= {name: float(given[name]) + 0.0 for name in ("t0", "t_end", "rtol", "max_step")}
    if given["method"] is None:
        given["method"] = usual_method(given["step"] is not None, family)
    given["max_steps"] = count(given["max_steps"], "max_steps")
    made = IntegrationSettings(**given)
    check_family(made.integrator, family)
    if contacts and made.integrator.adaptive and made.max_step == inf and made.t_end > made.t0:
        longest = LONGEST_WITH_CONTACTS * (made.t_end - made.t0)
        return replace(made, max_step=longest, longer_at_rest=True)
    return made


_kept = lru_cache(maxsize=KEPT, typed=True)(_complete)


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
    """The generated functions of a model, by address (0: there is none), and their sizes."""

    derivatives: int
    outputs: int
    events: int = 0
    update: int = 0
    fire: int = 0
    normalise: int = 0
    solve: int = 0  # for redundant coordinates
    residuals: int = 0
    structure: SparseStructure | None = None  # of the linear equations of implicit steps, if sparse
    # partial derivatives of the rates, for linearly implicit methods; 0: differences replace them
    partial_rates: int = 0
    evaluate_end: int = 0  # normalised state, rates and event functions at the end of a step
    driven: bool = False  # inputs come from data over time, so derivatives of rates by time are differences
    may_rest: bool = False  # while no state changes, nothing does
    n_states: int = 0
    n_own: int = 0  # number of states of the motion; derivatives of the motion follow them; 0: all states
    n_outputs: int = 0
    n_memory: int = 0
    n_events: int = 0
    event_directions: tuple[int, ...] = ()  # −1 falling, +1 rising, 0 both; empty: all 0
    event_terminal: tuple[float, ...] = ()  # 1: the run ends there, 2: LANDING; empty: all 0
    # which speeds have the same dimension and units (`SpeedPlaces.table`), for `may_jump` of loop.py
    speed_kinds: np.ndarray | None = field(default=None, repr=False, compare=False)
    owner: object = field(default=None, repr=False, compare=False)  # keeps the code at these addresses alive

    @cached_property
    def kinds_at(self) -> int:
        """The address of the kinds of speeds; 0 if they are unknown."""
        return 0 if self.speed_kinds is None else address(self.speed_kinds)

    @kept_with_owner
    def structure_tables(self) -> np.ndarray:
        """The tables of sparse equations in one array."""
        assert self.structure is not None
        return self.structure.packed_tables()

    # Data common to runs of one kind: `_Plan` by shape, `_PreparedRuns` by method (compiled_run.py).
    plans: dict[Any, Any] = field(init=False, default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True)
class Stepping:
    """Steps of redundant coordinates: the scheme, the ε by which its constraints may slip, and the softness
    with which exact constraints are solved (solver/llvm/redundant.py).
    """

    scheme: Scheme
    epsilon: float
    softness: float


class Outlook(NamedTuple):
    """What a run has found about singular configurations; solver/record.py explains the fields."""

    look: float = -inf
    share: float = 1.0
    short_begin: float = 0.0
    short_end: float = -inf
    short_step: float = 0.0
    met_singularity: int = 0


@dataclass(frozen=True)
class RunChanges:
    """The configurations that a run may enter inside its loop; solver/llvm/layout.py defines the tables.

    ``states`` and ``events`` are the largest numbers of states and events of a configuration; ``start`` is
    the number of the first configuration. ``complete`` states whether the tables have the sections that
    change configurations, which are not compiled for runs that never change. ``normalises`` states if some
    configuration corrects its state after each step. ``tolerances`` are the tolerances of states by
    configuration, if each state has its own. ``sparse`` has the numbers of unknowns, entries and factors of
    the largest sparse equations of implicit steps. ``owners`` keeps the memory at the addresses alive.
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
    """The table entry that a run lacks for a change of configuration (solver/changes.py), and the state of
    the run.
    """

    what: int  # the kind of entry
    known: int  # number of configurations in the run's tables
    present: int  # number of the present configuration
    configuration: int  # number of a configuration with the locks for which the entry is missing
    member: int  # index of the missing choice of dependent speeds for these locks
    after: list[bool]  # locks after the simultaneous events
    held: list[bool]  # locks during the impulse of these events
    choice: list[tuple[int, int]]  # rows and their dependent speeds
    events: list[int]  # numbers of the events
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
    configurations that were entered, `passages` (time, length) of the steps across singular configurations.
    `refused_event` is an event that cannot happen at the end, or the event of lost rank if no step led across
    a singular configuration. `failure` is the reason why a change of configuration failed. `calm` is True if
    the rows certainly show no jump of a speed.
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
    near: float = 0.0  # rows within this time of the event at the end show the state after it
    changeovers: list[tuple[float, str]] = field(default_factory=list)  # times and methods that took over
    last_row: np.ndarray | None = None  # the row at that event, if the state alone does not determine it
