"""A run of a compiled integration loop: its memory, the calls of the loop, and the result."""

from __future__ import annotations

from ctypes import addressof, memmove, sizeof
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from armillary.llvm.jit import machine_settings
from armillary.runtime.addresses import address
from armillary.runtime.integrators.settings import (
    Functions,
    Integration,
    IntegrationSettings,
    IntegrationStatus,
    Lack,
    Outlook,
    RunChanges,
    Stepping,
    check_rows,
    most_rows,
)
from armillary.solver.language.language import LOGGED
from armillary.solver.llvm.layout import (
    FUNCTIONS,
    PASSED,
    SECTIONS,
    Control,
    LoopShape,
    Phase,
    Reason,
)
from armillary.solver.methods.registry import STIFF
from armillary.solver.thresholds import FIRST_PATIENCE
from armillary.untyped import Given

if TYPE_CHECKING:
    from armillary.solver.llvm.compiled_loop import Loop

_FIRST_ROWS = 1024
_MOST_ROWS_AT_ONCE = 1 << 20
_GIVEN_AT_ONCE = 1 << 21  # most numbers in rows that are allocated before the run
_SPARE = 4  # most unused rows in the arrays of a result
_FIRST_EVENTS = 64
# Compiled code searches fewer rows than these for jumps of speeds; models/failures.py searches more rows.
_SEARCHED = 512

_FAILED_STATE = ("diverged", "step too small")


@dataclass(frozen=True)
class _Plan:
    """Data common to all runs with one method and one kind of rows: the loop and initial numbers."""

    shape: LoopShape
    loop: Loop
    offsets: dict[str, int]
    workspace: np.ndarray
    control: Control


def _plan(
    functions: Functions,
    settings: IntegrationSettings,
    stepping: Stepping | None,
    stops: bool,
    changes: RunChanges | None,
    watched: bool,
) -> _Plan:
    """Return the plan of a run; runs with the same shape share the plan that the first of them makes."""
    tableau = settings.integrator.coefficients
    adaptive = tableau.control is not None
    inside = adaptive or functions.n_events > 0 or not settings.on_grid
    events = changes.events if changes else functions.n_events
    states = changes.states if changes else functions.n_states
    normalises = changes.normalises if changes else bool(functions.normalise)
    sparse = changes.sparse if changes else sparse_sizes(functions)
    shape = LoopShape(
        tableau,
        states=states,
        memory=functions.n_memory,
        outputs=functions.n_outputs,
        events=events,
        update=bool(functions.update and functions.n_memory),
        fire=bool(functions.fire),
        normalise=normalises,
        dense=inside,
        scheme=stepping.scheme if stepping else None,
        stops=stops,
        changes=changes.shape if changes else None,
        general=stepping is None,
        differentiated=bool(functions.partial_rates),
        sparse=sparse if watched or settings.integrator.rosenbrock else None,
        driven=functions.driven and settings.integrator.rosenbrock is not None,
        watched=watched,
        arrives=bool(functions.evaluate_end) and changes is None and not tableau.end_enters_error,
        kinks=0 < functions.n_own < functions.n_states,
    )
    key = shape, machine_settings()
    if key in functions.plans:
        found: _Plan = functions.plans[key]
        return found
    from armillary.solver.llvm.compiled_loop import compiled_loop  # llvmlite is slow to import

    loop = compiled_loop(shape)
    offsets, length = shape.layout()
    workspace = np.zeros(max(length, 1))

    def put(name: str, values: Given) -> None:
        workspace[offsets[name] :][: len(values)] = values

    if events:
        put("direction", functions.event_directions or [0.0] * functions.n_events)
        put("terminal", functions.event_terminal or [0.0] * functions.n_events)
        put("last", np.full(events, -inf))
        put("gap", np.full(events, inf))
    if changes and events:
        put("g", np.ones(events))
    if adaptive:
        put("atol", np.ones(shape.sizes()["states"]))  # also in the padding after the last state
    control = Control(
        error_old=1e-4, shortest=inf, phase=Phase.ARRIVED, failed=-1, at_grid=1, restart=1, share=1.0,
        refused=-1, look=-inf, short_begin=-inf, short_end=-inf, resolved=inf,
        fours=shape.fours, n_memory=shape.memory, n_events=events, n_outputs=shape.outputs,
        used=functions.n_states, own=functions.n_own,
        **_sparse_fields(functions, sparse),
        **{name: getattr(functions, name) for name in FUNCTIONS},
    )  # fmt: skip
    functions.plans[key] = _Plan(shape, loop, offsets, workspace, control)
    result: _Plan = functions.plans[key]
    return result


def sparse_sizes(functions: Functions) -> tuple[int, int, int] | None:
    """Return the numbers of unknowns, entries and factors of sparse equations; None if they are dense."""
    return None if functions.structure is None else functions.structure.sizes


def _sparse_fields(functions: Functions, sizes: tuple[int, int, int] | None) -> dict[str, int]:
    """Return the fields of the control record for sparse equations.

    They are the ``sizes``, which hold for all configurations, and the address of the first one's tables.
    """
    if sizes is None or functions.structure is None:
        return {}
    found = dict(zip(("n_unknowns", "n_entries", "n_factors"), sizes, strict=True))
    return {**found, "structure": address(functions.structure_tables)}


_NO_STOPS = np.array([inf])
_NO_STOP = _NO_STOPS.ctypes.data
_NO_ROWS = np.empty(0)
_CONTROL_SIZE = sizeof(Control)
_OWN_FIELDS = (
    *("log", "log_capacity", "sections", "figures", "configurations", "complete", "by_state", "tolerances"),
    *("n_unknowns", "n_entries", "n_factors"),
)  # fields of Control that `_take_over` leaves unchanged


def _by_configuration(changes: RunChanges, states: int) -> np.ndarray:
    """Return tolerances of states, a row per configuration; they are 1 where a configuration has no state."""
    found = np.ones((changes.count, states))
    for row, given in zip(found, changes.tolerances, strict=True):
        row[: len(given)] = given
    return found


@dataclass(frozen=True)
class _PreparedRuns:
    """The common part of a model's runs with the same settings: all numbers except the start values."""

    settings: IntegrationSettings
    figures: np.ndarray | None
    others: tuple[object, ...]  # the other data on which the plan depends
    plan: _Plan
    workspace: np.ndarray  # the loop's numbers; from ``length`` on, the first log of events
    length: int
    control: Control
    times: np.ndarray | None  # of all rows, then infinity; read-only; None if the rows are allocated in parts


def _prepare_runs(
    functions: Functions,
    settings: IntegrationSettings,
    stepping: Stepping | None,
    stops: bool,
    changes: RunChanges | None,
    watched: bool,
) -> _PreparedRuns:
    """Prepare runs with given settings.

    The functions keep the last result of each method for the next run with the same settings. Settings are
    compared by identity, since `complete_settings` returns one object for equal settings.
    """
    figures = None if changes is None else changes.figures
    others = machine_settings(), stops, stepping, watched
    kept: _PreparedRuns | None = functions.plans.get(settings.integrator.name)
    if kept and kept.settings is settings and kept.figures is figures and kept.others == others:
        return kept
    check_rows(settings.samples, settings.fixed_step, functions.n_outputs)
    plan = _plan(functions, settings, stepping, stops, changes, watched)
    samples, step = settings.samples, settings.step
    length, control = len(plan.workspace), Control.from_buffer_copy(plan.control)
    control.log_capacity = _FIRST_EVENTS + plan.shape.events if plan.shape.events else 0
    workspace = np.append(plan.workspace, np.zeros(2 * control.log_capacity))
    if stepping:
        start = plan.offsets["settings"]
        workspace[start : start + 2] = stepping.epsilon, stepping.softness
    tolerances = settings.tolerances(functions.n_states)
    if plan.shape.adaptive:
        start, states = plan.offsets["atol"], changes.states if changes else functions.n_states
        workspace[start : start + (np.size(tolerances) if np.ndim(tolerances) else states)] = tolerances
    control.t = control.t0 = control.t_old = settings.t0
    control.t_end, control.max_step, control.rtol = settings.t_end, settings.max_step, settings.rtol
    if plan.shape.adaptive and plan.shape.events:
        control.moving_step = settings.max_step
        rests = functions.may_rest and settings.longer_at_rest
        control.resting_step = inf if rests else 0.0
    control.step, control.h = step or 0.0, min(step or 0.0, settings.max_step)
    control.choose_step, control.every_step = step is None, samples.every_step
    control.patience = FIRST_PATIENCE
    control.stops = _NO_STOP
    few = not samples.every_step and samples.count * (functions.n_outputs + 1) < _GIVEN_AT_ONCE
    times = samples.times(0, samples.count + 1) if few else None
    if times is not None:
        times.flags.writeable = False
    made = _PreparedRuns(settings, figures, others, plan, workspace, length, control, times)
    functions.plans[settings.integrator.name] = made
    return made


class CompiledRun:
    """One run of a compiled loop; each call of `advance` makes a number of steps.

    A run by `auto` begins in the loop of the explicit method, and changes to the implicit method and back.
    """

    def __init__(
        self,
        functions: Functions,
        settings: IntegrationSettings,
        *,
        state: np.ndarray,
        memory: np.ndarray,
        constants: np.ndarray,
        stepping: Stepping | None = None,
        stops: np.ndarray | None = None,
        changes: RunChanges | None = None,
    ) -> None:
        begins = settings.integrator.begins_with
        own = settings.with_method(begins) if begins else settings
        made = _prepare_runs(functions, own, stepping, stops is not None, changes, bool(begins))
        self._first = plan = made.plan
        self.shape, self._loop, self._offsets = plan.shape, plan.loop, plan.offsets
        self._room = made.workspace.copy()
        self._at, self._length = address(self._room), made.length
        self._functions = functions  # keeps its machine code alive while addresses are in use
        self.settings, self._constants, self._stepping, self._stops = settings, constants, stepping, stops
        self._changes = changes
        self._samples = settings.samples
        self._room[: len(state)] = state  # the state is the first vector of the workspace
        if memory.size:
            self._put("memory", memory)
        self.control = control = Control.from_buffer_copy(made.control)
        control.constants, control.log = address(constants), self._at + 8 * made.length
        if stops is not None:
            self._stop_times = np.append(stops, inf)
            control.stops = address(self._stop_times)
        if changes is not None:
            control.sections, control.figures = changes.places
            control.configuration, control.configurations = changes.start, changes.count
            control.complete = changes.complete
            control.normalise = int(changes.sections[changes.start, SECTIONS.index("normalise")])
            control.structure = int(changes.sections[changes.start, SECTIONS.index("structure")])
            if changes.tolerances and self.shape.adaptive:
                self._tolerances = _by_configuration(changes, self.shape.sizes()["states"])
                control.by_state, control.tolerances = 1, address(self._tolerances)
            for name, value in zip(Outlook._fields, changes.outlook, strict=True):
                setattr(control, name, value)
        self._times_given = made.times
        self._times: np.ndarray
        self._rows: np.ndarray
        self._begin()

    def _begin(self) -> None:
        """Allocate rows and events of a run that has not begun."""
        self._log: np.ndarray | None = None  # None: the first log, at the end of _room
        if self._times_given is not None:
            self._give_room(self._times_given)
        else:
            self._make_room()

    def keep(self) -> None:
        """Save the workspace and the control record of a run that has not begun; `again` restores them."""
        self.control.capacity = 0
        self.state = self._room[: self.control.used]
        if self._times_given is not None:
            self.control.capacity = len(self._times_given)
        self._kept = self._room.copy(), bytes(self.control)
        self.drop_rows()

    def again(self) -> None:
        """Restore what `keep` saved, with empty rows; the caller sets ``state``."""
        self._room[:], control = self._kept
        memmove(addressof(self.control), control, _CONTROL_SIZE)
        self._loop = self._first.loop
        if self._times_given is None:
            self._begin()
        else:
            self._times, self._log = self._times_given, None
            self._rows = np.empty((len(self._times), self._functions.n_outputs))
            self.control.samples = address(self._rows)

    @property
    def loops(self) -> list[Loop]:
        """The loop of the method; for `auto`, the loops of both methods."""
        if not self.shape.watched:
            return [self._loop]
        settings, jumps = self.settings.with_method(STIFF), self._stops is not None
        stiff = _plan(self._functions, settings, self._stepping, jumps, self._changes, True)
        return [self._first.loop, stiff.loop]

    @property
    def method(self) -> str:
        """The name of the method of the next step."""
        own = self.settings.integrator
        return (own.begins_with or own.name) if self._loop is self._first.loop else STIFF

    def change_method(self) -> None:
        """Continue with the other of the run's two methods."""
        explicit, stiff = self.loops
        self._loop = explicit if self._loop is stiff else stiff

    def change_tables(self, changes: RunChanges) -> CompiledRun:
        """Return a run with other tables of configurations that continues this one from its present state."""
        if changes is self._changes:
            return self
        made = CompiledRun(
            self._functions,
            self.settings,
            state=np.zeros(self._functions.n_states),
            memory=np.zeros(self._functions.n_memory),
            constants=self._constants,
            stepping=self._stepping,
            stops=self._stops,
            changes=changes,
        )
        if self._loop is not self._first.loop:
            made._loop = made.loops[1]
        made._take_over(self)
        return made

    def _take_over(self, other: CompiledRun) -> None:
        """Continue another run: take its numbers, rows and log, but keep this run's tables."""
        control, before = self.control, other.control
        own = {name: getattr(control, name) for name in _OWN_FIELDS}
        memmove(addressof(control), addressof(before), _CONTROL_SIZE)
        for name, value in own.items():
            setattr(control, name, value)
        sizes, others = self.shape.sizes(), other.shape.sizes()
        for name, size in self.shape.lengths().items():
            if name in other._offsets:
                place, length = other._offsets[name], min(sizes[size], others[size])
                self._put(name, other._room[place : place + length])
        self._times_given, self._times = other._times_given, other._times
        self._rows, self._log = other._rows, None
        if before.firings:
            self._log = np.empty((before.log_capacity, 2))
            self._log[: before.firings] = other._logged_events()
            control.log, control.log_capacity = address(self._log), before.log_capacity

    def choose_start(self, motion: np.ndarray) -> bool:
        """Choose the configuration that suits a motion; return False if the tables lack a needed entry."""
        self._put("motion", motion)
        self.control.status = Reason.RUNNING
        self._loop.choose_for_motion(self.control, self._at)
        return bool(self.control.status != Reason.LACKING)

    def try_change_again(self) -> None:
        """Make the loop repeat the change of configuration for which a table entry was missing."""
        self.control.status, self.control.phase, self.control.changing = Reason.RUNNING, Phase.ARRIVED, 1

    def take_closed_motion(self, motion: np.ndarray) -> None:
        """Store a motion whose kinematic loops are closed; the next change of configuration uses it."""
        self._put("closed", motion)
        self.control.closed_now = 1

    def lack(self) -> Lack:
        """Return the missing table entry that stopped a change of configuration, and the state there."""
        control, shape = self.control, self.shape.changes
        assert shape is not None
        after, held = (self._get(name, shape.lockable).astype(bool).tolist() for name in ("after", "held"))
        crossed = self._get("crossed", self.shape.events)
        return Lack(
            control.lack, control.configurations, control.configuration, control.lack_in,
            control.lack_member, after, held, self._choice(), np.flatnonzero(crossed > 0).tolist(), control.t,
            self._get("motion", shape.sizes()["own_motion"]), self._get("memory", self._functions.n_memory),
        )  # fmt: skip

    def drop_rows(self) -> None:
        """Drop the references to rows and log; a result that was made before still has them."""
        self._times, self._rows, self._log = _NO_ROWS, _NO_ROWS, None

    def _put(self, name: str, values: np.ndarray) -> None:
        start = self._offsets[name]
        self._room[start : start + len(values)] = values

    def _get(self, name: str, length: int) -> np.ndarray:
        start = self._offsets[name]
        return self._room[start : start + length].copy()

    def _make_room(self) -> bool:
        """Allocate more rows and events; return False if the limit of rows is reached.

        There is one more row than times of samples: the list of times ends with infinity.
        """
        control = self.control
        if control.filled >= control.capacity:
            rows = max(self._expected_rows() or _FIRST_ROWS, 2 * control.capacity)
            most = (
                most_rows(self._functions.n_outputs) if self._samples.every_step else self._samples.count + 1
            )
            rows = min(rows, most)
            if rows <= control.filled:
                return False
            if not control.filled:
                every = self._samples.every_step  # then the loop writes the times
                self._give_room(np.empty(rows) if every else self._samples.times(0, rows))
            else:
                self._times.resize(rows, refcheck=False)
                self._times[control.filled :] = self._samples.times(control.filled, rows)
                self._rows.resize((rows, self._functions.n_outputs), refcheck=False)
                control.times, control.samples = address(self._times), address(self._rows)
                control.capacity = rows
        if self.shape.events and control.firings + self.shape.events + LOGGED > control.log_capacity:
            events = 2 * control.log_capacity + _FIRST_EVENTS + self.shape.events
            log, self._log = self._logged_events(), np.empty((events, 2))
            self._log[: control.firings] = log
            control.log, control.log_capacity = address(self._log), events
        return True

    def _logged_events(self) -> np.ndarray:
        """Return times and numbers of all events so far."""
        log = self._room[self._length :].reshape(-1, 2) if self._log is None else self._log
        return log[: self.control.firings]

    def _give_room(self, times: np.ndarray) -> None:
        """Allocate the first rows, one per time."""
        control, rows = self.control, len(times)
        self._times, self._rows = times, np.empty((rows, self._functions.n_outputs))
        control.times, control.samples = address(times), address(self._rows)
        control.capacity = rows

    def _expected_rows(self) -> int:
        """Return the number of rows of a run with fixed steps and a row per step, so that its arrays need not
        grow; 0 for other runs.
        """
        control = self.control
        if not self._samples.every_step or self.shape.tableau.control is not None:
            return 0
        return int(min((control.t_end - control.t0) / control.step + 3, _MOST_ROWS_AT_ONCE))

    def advance(self, steps: int) -> Reason:
        """Try at most ``steps`` steps; return why the loop stopped, PAUSED if it has tried all of them.

        FULL is returned only if no more rows can be allocated.
        """
        self.control.budget = steps
        while (reason := self._loop(self.control, self._at)) is Reason.FULL:
            if not self._make_room():
                break
        return reason

    def _outlook(self) -> Outlook:
        return Outlook(*[getattr(self.control, name) for name in Outlook._fields])

    def _near_place(self) -> bool:
        """Return whether the run ends near a singular configuration.

        A row there is interpolated from rows around it (`is_near_place` in solver/passages.py).
        """
        return bool(self.control.between)

    def _choice(self) -> list[tuple[int, int]]:
        """Return the pairs (row, dependent speed) chosen at the end of the run."""
        pairs = self.control.pairs
        if not pairs:
            return []
        rows, speeds = (self._get(name, pairs).astype(int).tolist() for name in ("pair_row", "pair_speed"))
        return list(zip(rows, speeds, strict=True))

    @property
    def workspace(self) -> np.ndarray:
        """The numbers that the loop keeps between two calls."""
        return self._room[: self._length]

    @property
    def reached(self) -> tuple[float, np.ndarray, np.ndarray]:
        """Time, state and memory that the run has reached."""
        return self.control.t, self._get("state", self.control.used), self._get("memory", self.shape.memory)

    @property
    def tried(self) -> int:
        """The number of steps taken or rejected so far."""
        found: int = self.control.steps + self.control.rejected
        return found

    def result(self, status: IntegrationStatus) -> Integration:
        """Return the results of the run, which has ended for the reason ``status``."""
        control, filled, kinds = self.control, self.control.filled, self._functions.kinds_at
        calm = filled < _SEARCHED and bool(kinds) and not self._loop.may_jump(control, self._at, kinds)
        times, rows = self._times, self._rows
        if (spare := len(times) - filled) > _SPARE:  # resizing may move the array in memory
            rows.resize((filled, self._functions.n_outputs), refcheck=False)
            if times is not self._times_given:  # other runs share that array
                times.resize(filled, refcheck=False)
        if spare:
            times, rows = times[:filled], rows[:filled]
        log = self._logged_events().tolist() if control.firings else []
        return Integration(
            time=times,
            samples=rows,
            final_state=self._get("state", control.used),
            final_memory=self._get("memory", n) if (n := self._functions.n_memory) else _NO_ROWS,
            status=status,
            failed_state=control.failed if status in _FAILED_STATE and control.failed >= 0 else None,
            t_stop=control.t,
            events=[(t, int(k)) for t, k in log if k >= 0] if log else log,
            changes=[(t, -1 - int(k)) for t, k in log if PASSED < k < 0] if log else log,
            passages=_pairs([t for t, k in log if k == PASSED]) if log else log,
            outlook=self._outlook() if control.met_singularity or control.look > -inf else None,
            refused_event=control.refused if control.refused >= 0 else None,
            steps=control.steps,
            rejected=control.rejected,
            evaluations=control.evaluations,
            failed_event=control.failed if status == "events accumulate" else None,
            calm=calm,
            near=control.near if status == "event" else 0.0,
            last_row=self._get("shown", self.shape.outputs)
            if status == "event" and self._near_place()
            else None,
        )


def _pairs(numbers: list[float]) -> list[tuple[float, float]]:
    return list(zip(numbers[::2], numbers[1::2], strict=True))
