"""The engine for adaptive steps and events: the compiled loop of single runs, called without Python."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, replace

import numpy as np

from armillary.ensembles.engines.engine import LEFT_OVER, Engine, Outcome, add_metrics_function
from armillary.ensembles.plan import AT_ONCE, KEPT, MEASURED, NOT_RUN, Plan, restrict_outputs
from armillary.ensembles.starts import Starts
from armillary.llvm.building import emitter
from armillary.llvm.building.builder import Code, Local, Span, Value
from armillary.llvm.building.emitter import (
    ADDRESS,
    NOTHING,
    REAL,
    WHOLE,
    Callee,
    Function,
    FunctionType,
    Raw,
    constant,
)
from armillary.llvm.jit import Compiled, Passes, engine
from armillary.llvm.module import Module
from armillary.llvm.sections import process_text
from armillary.program.targets.targets import DEPENDENT_SPEEDS, INTERNAL_EVENTS
from armillary.runtime.integrators.compiled_run import CompiledRun
from armillary.runtime.integrators.settings import RunChanges
from armillary.runtime.models.configurations import Configurations
from armillary.runtime.models.configured_program import ConfiguredProgram
from armillary.runtime.models.instance import ChangeCode, Instance
from armillary.runtime.models.run_changes import known_changes
from armillary.solver.llvm.layout import FIELDS, SECTIONS, Control, LoopShape, Reason
from armillary.solver.thresholds import CHOICE_MARGIN, FIRST_STEPS, NOWHERE, SHORT_STEPS

_LOG = 256  # room for recorded events, besides those of one step


class Scalar(Engine):
    """Engine for any method except methods for redundant coordinates, with events.

    Runs that need a configuration which no run has met yet are left to single runs (status LEFT_OVER).
    """

    name = "scalar"
    leaves_runs = True

    @classmethod
    def refusal(cls, plan: Plan) -> str:
        if plan.method.family:
            return f"method '{plan.method.name}' is for redundant coordinates"
        return ""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        model, program = plan.code, plan.program
        functions = model.run_functions
        if program is not model.equations.program:
            self._code = Compiled(process_text(program))
            functions = replace(
                functions,
                outputs=self._code.address("outputs"),
                n_outputs=len(plan.columns),
                owner=self._code,
            )
        else:
            # mypy: the owner of these functions is compiled code.
            self._code = functions.owner  # type: ignore[assignment]
        self._functions = functions
        self._known = 0
        self.renew()

    def renew(self) -> bool:
        """Compile the loop again if single runs have met further configurations; return whether they have."""
        plan, functions = self.plan, self._functions
        known = len(plan.code.configuration_models)
        if known == self._known:
            return False
        self._known = known
        self.changes = changes = scalar_changes(plan)
        self.first = CompiledRun(
            functions,
            replace(plan.settings, sample=plan.times),
            state=np.zeros(functions.n_states),
            memory=np.zeros(functions.n_memory),
            constants=np.zeros(max(len(plan.program.constants), 1)),
            stops=plan.stops,
            changes=replace(changes.tables, start=changes.first, complete=True) if changes else None,
        )
        self.loops = self.first.loops
        self.drives = np.array([loop.drive_address for loop in self.loops])
        self.workspace = self.first.workspace
        first = changes.first if changes else 0
        loop, metrics = scalar_modules(plan, self.first.shape, LEFT_OVER, first)

        self._engine = engine(f"scalar {loop} {metrics}", lambda: [loop, metrics], 2, Passes(2))
        kind = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * len(WHOLES), *[ctypes.c_void_p] * len(ARGUMENTS))
        self.loop = kind(self._engine.get_function_address("runs"))
        watched, more = plan.code.equations.targets.watched, self.first.shape.events
        stopping = [e.stop and e.name not in INTERNAL_EVENTS for e in watched]
        self.asks, self.stopping = (
            np.array([*found, *[False] * (1 + more - len(watched))], dtype=float)
            for found in (plan.code.may_change_configuration, stopping)
        )
        return True

    def __call__(self, starts: Starts, i0: int, i1: int) -> Outcome:
        """Make the runs; mark as LEFT_OVER those that need an unknown configuration or do not advance."""
        visits = ScalarVisits(self, starts, i0, i1)
        visits.visit(np.arange(i1 - i0), begins=True)
        return visits.outcome()


class ScalarVisits:
    """Runs of a scalar engine, advanced by one or more visits.

    With ``apart`` each run has its own record, which several visits of a run need.
    """

    def __init__(self, engine: Scalar, starts: Starts, i0: int, i1: int, apart: bool = False) -> None:
        plan, n, columns = engine.plan, i1 - i0, len(engine.plan.columns)
        self._engine, self.count = engine, n
        block = starts.block_with_motion(i0, i1)
        parameters, state, memory, motion = self._start = tuple(np.ascontiguousarray(a) for a in block)
        self._made = made = Outcome.empty(plan, n)
        self.status, self._stops, self._ended = (
            np.full(n, float(NOT_RUN)),
            np.full(n, np.nan),
            np.full(n, -1.0),
        )
        self._times = times = np.append(plan.times, np.inf)
        rows = np.empty((len(times), columns))
        log = np.empty((_LOG + engine.first.shape.events, 2))
        self._fresh = fresh = Control.from_buffer_copy(engine.first.control)
        fresh.times, fresh.samples, fresh.capacity = times.ctypes.data, rows.ctypes.data, len(times)
        fresh.log, fresh.log_capacity = log.ctypes.data, len(log)
        constants = np.zeros(max(len(plan.program.constants), 1))
        precompute = np.array([plan.model.address("precompute"), constants.ctypes.data], dtype=np.int64)
        sizes = np.zeros(0, dtype=np.int64)
        fresh.constants = constants.ctypes.data
        if engine.changes is not None:
            self._room = tables = engine.changes.room()
            precompute, sizes = tables.precompute, tables.sizes
            fresh.sections, fresh.figures = tables.sections.ctypes.data, tables.figures.ctypes.data
            fresh.constants = int(tables.sections[engine.changes.first, SECTIONS.index("constants")])
        places = n if apart else 1
        self.controls = np.empty((places, len(FIELDS)), dtype=np.int64)
        self.rooms = np.empty((places, len(engine.workspace)))
        given = np.empty(max(len(parameters), 1))
        out, own_slots = np.empty(max(columns, 1)), np.empty(max(len(plan.slots), 1))
        self._arrays = (
            self.controls, engine.workspace, self.rooms, parameters, state, memory, made.rows,
            made.slots, self.status, self._stops, given, out, own_slots, plan.uses,
            np.cumsum(plan.kept) - 1.0, engine.asks, engine.stopping, self._ended, engine.halt, precompute,
            sizes, motion, engine.drives,
        )  # fmt: skip
        self.columns = parameters, state, memory, made.rows, made.slots, self.status, self._stops
        self._kept = constants, rows, log  # kept while their addresses are in use
        self._addresses = (
            ctypes.addressof(fresh), *(a.ctypes.data for a in self._arrays), engine.loops[0].choice_address
        )  # fmt: skip
        self._strides = (self.controls.shape[1], self.rooms.shape[1]) if apart else (0, 0)
        self._tables = len(precompute) // 2, len(sizes) // 2

    def visit(self, runs: np.ndarray, *, begins: bool = False, most: int = 1 << 62) -> None:
        """Advance given runs by the scalar loop, by at most ``most`` steps."""
        if not runs.size:
            return
        visited = runs.astype(float)
        wholes = (len(runs), self.count, len(self._times) - 1, *self._tables, begins, most, *self._strides)
        self._engine.loop(*wholes, visited.ctypes.data, *self._addresses)

    def outcome(self) -> Outcome:
        made, (_, state, memory, _) = self._made, self._start
        status, ended = self.status.astype(np.int8), self._ended.astype(np.int32)
        return Outcome(status, self._stops, state, memory, made.rows, made.slots, {}, ended)


# The function that makes many runs by the single run's loop, one after another, as LLVM code.
#
# Each run is visited once, or several times with at most ``most`` steps. The first visit begins with a fresh
# record and workspace, the run's parameters, state and memory, and the configuration in which it starts. Then
# the loop makes steps, and the rows of this visit (outputs at sample times) are used for metrics and
# histories. If each run is visited once, all runs use the same record and workspace.

# count, stride, rows              numbers of runs to visit, of columns in arrays, and of rows
# sets, sized                      numbers of functions that compute constants, and of constants that are
#                                  sizes of states
# begins, most                     whether this is the first visit; most steps of the visit
# control_stride, room_stride      lengths of a record and of a workspace; zero if all runs share one
WHOLES = (
    "count", "stride", "rows", "sets", "sized", "begins", "most", "control_stride", "room_stride",
)  # fmt: skip
# Addresses:
#
# visited                          numbers of the runs to visit
# fresh_control, fresh_room        record and workspace at the start of a run
# controls, rooms                  records and workspaces of the runs
# parameters … stops, ended,       arrays with a number or a column per run
#   motion
# given, out, own_slots            one run's parameters, outputs and slots
# due, places                      purpose of each row, and its index in histories
# asks, stopping                   by event: whether it may change the configuration; whether it ends the run
# halt                             not zero: begin nothing more
# precompute, sizes                tables of `ScalarRoom`
# drives, choose_start             the single run's loop by each method, and its choice of dependent speeds at
#                                  the start
ARGUMENTS = (
    "visited", "fresh_control", "controls", "fresh_room", "rooms", "parameters", "states", "memory", "kept",
    "slots", "status", "stops", "given", "out", "own_slots", "due", "places", "asks", "stopping", "ended",
    "halt", "precompute", "sizes", "motion", "drives", "choose_start",
)  # fmt: skip


def scalar_modules(plan: Plan, shape: LoopShape, again: int, first: int = 0) -> tuple[str, str]:
    """Return the modules of the loop over runs, ``runs(WHOLES…, ARGUMENTS…)``, and of the metrics.

    ``shape`` describes the loop. ``again`` is the status of a run that needs a change of configuration or
    does not advance. ``first`` is the number of the configuration in which runs start.
    """
    metrics = Module()
    add_metrics_function(metrics, plan.metrics)
    return str(_Runs(plan, shape, again, first).module), metrics.text()


class _Runs(Code):
    """The loop over runs, as a function under construction."""

    def __init__(self, plan: Plan, shape: LoopShape, again: int, first: int) -> None:
        self.module = emitter.IRModule()
        kind = FunctionType(NOTHING, (*[WHOLE] * len(WHOLES), *[ADDRESS] * len(ARGUMENTS)))
        super().__init__(Function(self.module, kind, "runs"))
        self.plan, self.shape, self.again, self.first = plan, shape, again, first
        self.given = {name: self.argument(i) for i, name in enumerate(WHOLES)}
        self.stride = self.given["stride"]
        self.address = {name: self.function.args[len(WHOLES) + i] for i, name in enumerate(ARGUMENTS)}
        with self.each(self.given["count"]) as i:
            self.fuses = False
            run = self.array("visited")[i].to_whole()
            for one, all_of_them in (("control", "controls"), ("room", "rooms")):
                place = run * self.given[f"{one}_stride"]
                self.address[one] = self.builder.place(self.address[all_of_them], place.raw, WHOLE)
            self.reason = Local(self, self.whole(Reason.FULL))
            self.nowhere = Local(self, self.whole(0).differs(0))
            with self.when(self.given["begins"].differs(0)):
                self.prepare(run)
            self.constants(run)
            with self.when(self.given["begins"].differs(0)):
                self.choose_start(run)
            self.column(len(self.plan.slots), "slots", run, self.array("own_slots"))
            self.first_row, self.first_event = (
                Local(self, self.field(name, WHOLE)) for name in ("filled", "firings")
            )
            with self.when(self.reason.get().equals(int(Reason.FULL))):
                self.drive()
            self.show_rows(run)
            self.column(len(self.plan.slots), "slots", run, self.array("own_slots"), back=True)
            with self.when(self.is_over()):
                self.give_back(run)
        self.give()

    # ------------------------------------------------------------ places

    def array(self, name: str) -> Span:
        return Span(self, self.address[name])

    def field(self, name: str, kind: str = REAL) -> Value:
        return Value(self, self.builder.load(self._place(name), kind))

    def set_field(self, name: str, value: Value) -> None:
        self.builder.store(value.raw, self._place(name))

    def _place(self, name: str) -> Raw:
        return self.builder.place(self.address["control"], constant(WHOLE, FIELDS[name]), WHOLE)

    def room(self, name: str) -> Span:
        offset = constant(WHOLE, self.shape.layout()[0][name])
        return Span(self, self.builder.place(self.address["room"], offset, REAL))

    def column(self, count: int, name: str, run: Value, target: Span, back: bool = False) -> None:
        """Emit: copy a run's column of an array to a vector, or ``back``."""
        with self.each(count) as i:
            if back:
                self.array(name)[i * self.stride + run] = target[i]
            else:
                target[i] = self.array(name)[i * self.stride + run]

    def copy_numbers(self, source: str, target: str, count: int) -> None:
        """Emit: copy ``count`` numbers of eight bytes."""
        with self.each(count) as i:
            places = [self.builder.place(self.address[a], i.raw, WHOLE) for a in (source, target)]
            self.builder.store(self.builder.load(places[0], WHOLE), places[1])

    def call_address(self, function: Raw, result: str, *arguments: Raw) -> Value:
        kind = FunctionType(result, tuple([a.type for a in arguments]))
        return Value(self, self.builder.call(Callee(kind, function.name), arguments))

    def entry(self, table: Raw, index: Value) -> Raw:
        """Return an address from a table of addresses."""
        return self.builder.load(self.builder.place(table, index.raw, WHOLE), ADDRESS)

    # ------------------------------------------------------------ one run

    def prepare(self, run: Value) -> None:
        self.copy_numbers("fresh_control", "control", len(FIELDS))
        self.copy_numbers("fresh_room", "room", self.shape.layout()[1])
        self.column(len(self.plan.program.state), "states", run, self.room("state"))
        self.column(self.shape.memory, "memory", run, self.room("memory"))
        for place, start in enumerate(self.plan.slots):
            self.array("slots")[run + self.stride * place] = float(start)

    def constants(self, run: Value) -> None:
        """Emit: compute constants of all configurations from the run's parameters, and sizes of states."""
        self.column(len(self.plan.program.parameters), "parameters", run, self.array("given"))
        with self.each(self.given["sets"]) as i:
            function, constants = (self.entry(self.address["precompute"], i * 2 + k) for k in (0, 1))
            self.call_address(function, NOTHING, self.address["given"], constants)
        with self.each(self.given["sized"]) as i:
            constant, size = (Span(self, self.entry(self.address["sizes"], i * 2 + k)) for k in (0, 1))
            size[0] = constant[0]

    def choose_start(self, run: Value) -> None:
        """Emit: choose other dependent speeds if the first program's choice is poor at the start.

        A single run does the same; if no other choice is known here, the run ends.
        """
        k = self.plan.code.watched_index.get(DEPENDENT_SPEEDS)
        if k is None:
            return
        t, (events, constants) = self.field("t"), (self.field(n, ADDRESS) for n in ("events", "constants"))
        state, memory, g = (self.room(part).address for part in ("state", "memory", "g"))
        self.call_address(events.raw, NOTHING, t.raw, state, constants.raw, memory, g)
        with self.when(self.room("g")[k] <= CHOICE_MARGIN):
            if self.shape.changes:
                self.column(len(self.plan.code.equations.motion_names), "motion", run, self.room("motion"))
                rooms = self.address["control"], self.address["room"]
                self.call_address(self.address["choose_start"], NOTHING, *rooms)
            else:
                self.reason.set(self.whole(Reason.EVENT))

    def drive(self) -> None:
        """Emit: continue the loop to the end of the run or of the visit.

        When the room for recorded events is full, they are discarded.
        """
        stiff = Local(self, self.whole(0))  # 1: the linearly implicit method of `auto` makes the steps
        with self.repeat() as loop:
            self.nowhere.set(self.gets_nowhere())
            with self.when(self.nowhere.get()):
                self.reason.set(self.whole(Reason.PAUSED))
                loop.leave()
            self.allow_steps()
            drive = self.entry(self.address["drives"], stiff.get())
            found = self.call_address(drive, WHOLE, self.address["control"], self.address["room"])
            self.reason.set(found)
            with self.when(found.equals(int(Reason.PAUSED))):
                ends = (self.remaining_steps() <= 0) | (self.given["most"] < AT_ONCE)
                with self.when(ends | self.is_halted()):
                    loop.leave()
                loop.again()
            with self.when(found.equals(int(Reason.OTHER_METHOD))):
                stiff.set(1 - stiff.get())
                loop.again()
            with self.when(found.differs(int(Reason.FULL))):
                loop.leave()
            self.set_field("firings", self.whole(0))
            self.first_event.set(self.whole(0))

    def allow_steps(self) -> None:
        """Emit: set the number of steps after which the loop returns at the latest."""
        self.set_field("budget", self.whole(AT_ONCE))
        first = self.whole(FIRST_STEPS) - self.attempt_count()
        with self.when(first > 0):
            self.set_field("budget", first)
        for most in (self.given["most"], self.remaining_steps()):
            with self.when(most < self.field("budget", WHOLE)):
                self.set_field("budget", most)

    def is_over(self) -> Value:
        """Return whether the run has ended, not only this visit."""
        paused = self.reason.get().equals(int(Reason.PAUSED))
        return ~paused | (self.remaining_steps() <= 0) | self.nowhere.get()

    def gets_nowhere(self) -> Value:
        """Return whether the first steps under error control led nowhere; a single run finds the reason."""
        if not self.shape.adaptive:
            return self.whole(0).differs(0)
        t, t0, t_end, max_step = (self.field(name) for name in ("t", "t0", "t_end", "max_step"))
        short = (t - t0 < NOWHERE * (t_end - t0)) & (t - t0 < SHORT_STEPS * max_step)
        return self.attempt_count().equals(FIRST_STEPS) & short

    def remaining_steps(self) -> Value:
        """Return the number of steps that may still be tried."""
        return self.whole(self.plan.settings.max_steps) - self.attempt_count()

    def attempt_count(self) -> Value:
        return self.field("steps", WHOLE) + self.field("rejected", WHOLE)

    def is_halted(self) -> Value:
        return self.array("halt")[0].differs(0.0)

    def show_rows(self, run: Value) -> None:
        """Emit: use the rows of this visit for metrics and histories."""
        filled, outputs, due = self.field("filled", WHOLE), self.shape.outputs, self.array("due")
        times, rows = (Span(self, self.field(name, ADDRESS).raw) for name in ("times", "samples"))
        history = self.plan.history
        latest = Local(self, self.real(float("-inf")))
        first, row_count = self.first_row.get(), self.given["rows"]
        with self.each(filled - first) as later:
            r = first + later
            place = rows.at(r * outputs)
            with self.when((r < row_count) & (due[r] >= float(MEASURED))):
                self.update_metrics(times[r], place)
                latest.set(times[r])
            flag = due[r].equals(float(KEPT)) | due[r].equals(float(KEPT + MEASURED))
            with self.when((r < row_count) & flag):
                for k, column in enumerate(history):
                    target = (self.array("places")[r].to_whole() * len(history) + k) * self.stride + run
                    self.array("kept")[target] = rows[r * outputs + column]
        ended = self.reason.get().equals(int(Reason.EVENT)) & (latest.get() < self.field("t"))
        with self.when(ended):
            self.show_last_row()

    def show_last_row(self) -> None:
        """Emit: update metrics by the row at which an event ended the run."""
        if not self.plan.metrics:
            return
        arguments = (
            self.field("t").raw, self.room("state").address, self.field("constants", ADDRESS).raw,
            self.room("memory").address, self.address["out"],
        )  # fmt: skip
        self.call_address(self.field("outputs", ADDRESS).raw, NOTHING, *arguments)
        if self.shape.partitioned:  # near a singular configuration the loop interpolates the row
            between = self.field("between", WHOLE).equals(1)
            with self.when(between), self.each(self.shape.outputs) as i:
                self.array("out")[i] = self.room("shown")[i]
        self.update_metrics(self.field("t"), self.address["out"])

    def update_metrics(self, t: Value, outputs: Raw) -> None:
        if not self.plan.metrics:
            return
        self._call_function("update_metrics", NOTHING, [t.raw, outputs, self.address["own_slots"]])

    def give_back(self, run: Value) -> None:
        self.column(len(self.plan.program.state), "states", run, self.last_state(), back=True)
        self.column(self.shape.memory, "memory", run, self.room("memory"), back=True)
        status = Local(self, (self.reason.get() - 1).to_real())
        ended = Local(self, self.real(-1.0))
        if self.shape.events:
            self.find_end(status, ended)
        with self.when(self.nowhere.get()):
            status.set(self.real(self.again))
        self.array("status")[run] = status.get()
        self.array("ended")[run] = ended.get()
        self.array("stops")[run] = self.field("t")

    def find_end(self, status: Local, ended: Local) -> None:
        """Emit: find the event that ended the run, and the status of a run that cannot go on here.

        Such a run needs a change of configuration that the loop cannot make, at an event or at the start.
        """
        log, asks = Span(self, self.field("log", ADDRESS).raw), self.array("asks")
        first = self.first_event.get()
        with self.each(self.field("firings", WHOLE) - first) as later:
            i = first + later
            number = log[i * 2 + 1]
            with self.when(log[i * 2].equals(self.field("t")) & (number >= 0.0)):
                event = number.to_whole()
                with self.when(self.array("stopping")[event].differs(0.0)):
                    ended.set(number)
                if not self.shape.changes:
                    with self.when(asks[event].differs(0.0)):
                        status.set(self.real(self.again))
        ends = self.reason.get().equals(int(Reason.EVENT)) & (ended.get() < 0.0)
        with self.when(ends | self.reason.get().equals(int(Reason.LACKING))):
            status.set(self.real(self.again))

    def last_state(self) -> Span:
        """Return the state in the configuration in which runs start."""
        if not self.shape.changes:
            return self.room("state")
        self.section("leave", self.field("configuration", WHOLE), "state", "motion")
        self.section("enter", self.whole(self.first), "motion", "stage")
        return self.room("stage")

    def section(self, name: str, configuration: Value, given: str, result: str) -> None:
        """Emit a call of the section ``name`` ("leave" or "enter") of a configuration."""
        table, first = self.field("sections", ADDRESS).raw, configuration * len(SECTIONS)
        function, constants = (
            self.entry(table, first + SECTIONS.index(part)) for part in (name, "change_constants")
        )
        rooms = [self.room(part).address for part in (given, "memory", result)]
        self.call_address(function, NOTHING, self.field("t").raw, rooms[0], constants, *rooms[1:])


# The configurations that runs of a batch may enter in the scalar engine's loop.
#
# They are the configurations that runs of the model have entered before; single runs use the same tables
# (runtime/models/run_changes.py). In a batch, each run has its own constants and sizes of states, and
# programs have only the outputs of the batch.


@dataclass(frozen=True)
class ScalarChanges:
    """Tables of the loop, and functions that compute the constants of each configuration."""

    tables: RunChanges
    models: tuple[ConfiguredProgram, ...]
    # Sections by which runs enter and leave configurations, compiled before threads begin.
    sections: tuple[ChangeCode, ...]
    codes: tuple[Compiled | None, ...]  # functions of the batch's outputs; None if it has all outputs
    ratings: tuple[ChangeCode | None, ...]  # ratings of choices of dependent speeds; None for one choice
    first: int  # number of the configuration in which runs start

    def room(self) -> ScalarRoom:
        """Return tables and constants for one thread."""
        sections, figures = self.tables.sections.copy(), self.tables.figures.copy()
        precompute: list[int] = []
        sizes: list[int] = []
        constants: list[np.ndarray] = []
        for c, (model, code) in enumerate(zip(self.models, self.codes, strict=True)):
            if code is not None:
                sections[c, SECTIONS.index("outputs")] = code.address("outputs")
            own = {"constants": (model.address("precompute"), len(model.equations.program.constants))}
            for name in self.sections[c].lengths:  # if there is only one configuration, its table lacks them
                sections[c, SECTIONS.index(name)] = self.sections[c].address(name)
            codes = {"change_constants": self.sections[c], "rating_constants": self.ratings[c]}
            own |= {
                name: (made.address("precompute"), len(made.program.constants))
                for name, made in codes.items()
                if made is not None
            }
            for name, (address, size) in own.items():
                constants.append(np.zeros(max(size, 1)))
                sections[c, SECTIONS.index(name)] = constants[-1].ctypes.data
                precompute += [address, constants[-1].ctypes.data]
            first = figures[self.tables.shape.first_size(self.tables.events, c) :].ctypes.data
            for state, place in model.equations.size_constants.items():
                sizes += [int(sections[c, SECTIONS.index("constants")]) + 8 * place, first + 8 * state]
        functions, sized = (np.array(found, dtype=np.int64) for found in (precompute, sizes))
        return ScalarRoom(sections, figures, functions, sized, constants)


@dataclass(frozen=True)
class ScalarRoom:
    """Tables of one thread.

    ``sections`` and ``figures`` are tables of the loop. ``precompute`` has pairs of addresses: a function and
    the constants that it computes. ``sizes`` has pairs of addresses: a constant that is the size of a state,
    and the place of this size in ``figures``.
    """

    sections: np.ndarray
    figures: np.ndarray
    precompute: np.ndarray
    sizes: np.ndarray
    constants: list[np.ndarray]


def scalar_changes(plan: Plan) -> ScalarChanges | None:
    """Return the data of a model's configurations; `None` if the loop cannot change configurations."""
    model = plan.code
    if not (model.changes_configuration and model.changes_inside) or np.ndim(plan.settings.atol):
        return None
    first = model.equations.configuration
    given = plan.starts.single(0)["parameters"]  # of any run: each run computes its own constants and sizes
    known = known_changes(Configurations(model.configuration_models, first, Instance(model, given)))
    if len(known.configurations) < 2 and not known.tables.shape.passing:
        return None
    models = tuple(model.configuration_models[c] for c in known.configurations)
    codes = tuple(_outputs(plan, other) for other in models)
    rated = known.tables.sections[:, SECTIONS.index("ratings")]
    choices = (model.choices(c.locked) if rated[n] else None for n, c in enumerate(known.configurations))
    ratings = tuple(found.code if found is not None else None for found in choices)
    sections = tuple(other.change_code for other in models)
    return ScalarChanges(known.tables, models, sections, codes, ratings, known.configurations.index(first))


def _outputs(plan: Plan, model: ConfiguredProgram) -> Compiled | None:
    """Return code for the batch's outputs in a configuration; `None` if the batch has all outputs."""
    program = restrict_outputs(model.equations.program, model.output_names, plan.columns)
    if program is model.equations.program:
        return None
    return Compiled(process_text(program))
