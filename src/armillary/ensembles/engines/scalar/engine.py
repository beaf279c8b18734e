"""The engine for adaptive steps and events: the single run's compiled loop, run after run, without Python."""

from __future__ import annotations

import ctypes
from dataclasses import replace

import numpy as np

from armillary.ensembles.engines.engine import LEFT_OVER, Engine, Outcome
from armillary.ensembles.plan import NOT_RUN, Plan
from armillary.ensembles.starts import Starts
from armillary.llvm.jit import Compiled, Passes, engine
from armillary.llvm.sections import process_text
from armillary.program.targets.targets import INTERNAL_EVENTS
from armillary.runtime.integrators.compiled_run import CompiledRun
from armillary.runtime.loop.layout import FIELDS, SECTIONS, Control
from armillary.runtime.loop.machine_code import compiled_loop

_LOG = 256  # events whose times are remembered between two looks at them


class Scalar(Engine):
    """Any Runge-Kutta method, with events; runs that need a configuration which no run has met yet are left
    over.
    """

    name = "scalar"
    leaves_runs = True

    @classmethod
    def refusal(cls, plan: Plan) -> str:
        if plan.method.tableau is None or plan.method.family:
            return f"method '{plan.method.name}' has no Runge-Kutta tableau"
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
        """The loop with the configurations that are known by now; whether there are more than before."""
        from armillary.ensembles.engines.scalar.changes import scalar_changes
        from armillary.ensembles.engines.scalar.loop import ARGUMENTS, WHOLES, scalar_modules

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
            changes=replace(changes.tables, start=changes.first) if changes else None,
        )
        self.drive = compiled_loop(self.first.shape, functions.ir)
        loop, metrics = scalar_modules(plan, self.first.shape, LEFT_OVER, changes.first if changes else 0)

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
        """The runs; those that a change of configuration interrupts are marked LEFT_OVER."""
        visits = ScalarVisits(self, starts, i0, i1)
        visits.visit(np.arange(i1 - i0), begins=True)
        return visits.outcome()


class ScalarVisits:
    """Runs of a scalar engine that have a place in memory each, or share one where they are visited once."""

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
            self._tables = tables = engine.changes.room()
            precompute, sizes = tables.precompute, tables.sizes
            fresh.sections, fresh.figures = tables.sections.ctypes.data, tables.figures.ctypes.data
            fresh.constants = int(tables.sections[engine.changes.first, SECTIONS.index("constants")])
        places = n if apart else 1
        self.controls = np.empty((places, len(FIELDS)), dtype=np.int64)
        self.rooms = np.empty((places, len(engine.first.workspace)))
        given = np.empty(max(len(parameters), 1))
        out, own_slots = np.empty(max(columns, 1)), np.empty(max(len(plan.slots), 1))
        self._arrays = (
            self.controls, engine.first.workspace, self.rooms, parameters, state, memory, made.rows,
            made.slots, self.status, self._stops, given, out, own_slots, plan.uses,
            np.cumsum(plan.kept) - 1.0, engine.asks, engine.stopping, self._ended, engine.halt, precompute,
            sizes, motion,
        )  # fmt: skip
        self.columns = parameters, state, memory, made.rows, made.slots, self.status, self._stops
        self._kept = constants, rows, log  # as long as their addresses are in use
        self._addresses = (
            ctypes.addressof(fresh), *(a.ctypes.data for a in self._arrays), *engine.drive.addresses
        )  # fmt: skip
        self._strides = (self.controls.shape[1], self.rooms.shape[1]) if apart else (0, 0)
        self._sets = len(precompute) // 2, len(sizes) // 2

    def visit(self, runs: np.ndarray, *, begins: bool = False, most: int = 1 << 62) -> None:
        """These runs by the scalar loop, by so many steps at most."""
        if not runs.size:
            return
        visited = runs.astype(float)
        wholes = (len(runs), self.count, len(self._times) - 1, *self._sets, begins, most, *self._strides)
        self._engine.loop(*wholes, visited.ctypes.data, *self._addresses)

    def outcome(self) -> Outcome:
        made, (_, state, memory, _) = self._made, self._start
        status, ended = self.status.astype(np.int8), self._ended.astype(np.int32)
        return Outcome(status, self._stops, state, memory, made.rows, made.slots, {}, ended)
