"""The engine for adaptive steps and events: the single run's compiled loop, run after run, without Python."""

from __future__ import annotations

import ctypes
from dataclasses import replace

import numpy as np

from armillary.ensembles.engines.engine import LEFT_OVER, Engine, Outcome
from armillary.ensembles.plan import AT_ONCE, Plan
from armillary.ensembles.starts import Starts
from armillary.llvm.jit import Compiled, Passes, engine
from armillary.llvm.sections import process_text
from armillary.program.targets.targets import INTERNAL_EVENTS
from armillary.runtime.integrators.compiled_run import CompiledRun
from armillary.runtime.loop.layout import Control
from armillary.runtime.loop.machine_code import compiled_loop
from armillary.runtime.models.configurations.configurations import changes_configuration

_LOG = 256  # events whose times are remembered between two looks at them


class Scalar(Engine):
    """Any Runge-Kutta method, with events; runs that need a configuration which no run has met yet are left
    over.
    """

    name = "scalar"
    leaves_runs = True

    @classmethod
    def refusal(cls, plan: Plan) -> str:
        if plan.method.tableau is None or plan.method.redundant:
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
            self._code = functions.owner  # type: ignore[assignment]
        self._functions = functions
        self._due = plan.uses
        self._known = 0
        self.renew()

    def renew(self) -> bool:
        """The loop with the configurations that are known by now; whether there are more than before."""
        from armillary.ensembles.engines.scalar_changes import scalar_changes
        from armillary.ensembles.engines.scalar_loop import ARGUMENTS, scalar_modules

        plan, functions = self.plan, self._functions
        known = len(plan.code.configuration_models)
        if known == self._known:
            return False
        self._known = known
        self._changes = changes = scalar_changes(plan)
        self._first = CompiledRun(
            functions,
            replace(plan.settings, sample=plan.times),
            state=np.zeros(functions.n_states),
            memory=np.zeros(functions.n_memory),
            constants=np.zeros(max(len(plan.program.constants), 1)),
            stops=plan.stops,
            changes=replace(changes.tables, start=changes.first) if changes else None,
        )
        self._drive = compiled_loop(self._first.shape, functions.ir)
        loop, metrics = scalar_modules(plan, self._first.shape, LEFT_OVER, changes.first if changes else 0)

        self._engine = engine(f"scalar {loop} {metrics}", lambda: [loop, metrics], 2, Passes(2))
        kind = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 4, *[ctypes.c_void_p] * len(ARGUMENTS))
        self._runs = kind(self._engine.get_function_address("runs"))
        watched, more = plan.code.equations.targets.watched, self._first.shape.events
        equations = plan.code.equations
        asking = [e.name in INTERNAL_EVENTS or changes_configuration(e, equations) for e in watched]
        stopping = [e.stop and e.name not in INTERNAL_EVENTS for e in watched]
        self._asks, self._stopping = (
            np.array([*found, *[False] * (1 + more - len(watched))], dtype=float)
            for found in (asking, stopping)
        )
        return True

    def __call__(self, starts: Starts, i0: int, i1: int) -> Outcome:
        """The runs; those that a change of configuration interrupts are marked LEFT_OVER."""
        plan, n, columns = self.plan, i1 - i0, len(self.plan.columns)
        block = starts.block_with_motion(i0, i1)
        parameters, state, memory, motion = (np.ascontiguousarray(a) for a in block)
        outcome = Outcome.empty(plan, n)
        times = np.append(plan.times, np.inf)
        rows = np.empty((len(times), columns))
        log = np.empty((_LOG + self._first.shape.events, 2))
        fresh = Control.from_buffer_copy(self._first.control)
        fresh.times, fresh.rows, fresh.capacity = times.ctypes.data, rows.ctypes.data, len(times)
        fresh.log, fresh.log_capacity = log.ctypes.data, len(log)
        fresh.budget = min(plan.settings.max_steps, AT_ONCE)
        constants = np.zeros(max(len(plan.program.constants), 1))
        precompute = np.array([plan.model.address("precompute"), constants.ctypes.data], dtype=np.int64)
        fresh.constants = constants.ctypes.data
        if self._changes is not None:
            tables = self._changes.room()
            precompute, fresh.sections = tables.precompute, tables.sections.ctypes.data
            fresh.constants = tables.constants[2 * self._changes.first].ctypes.data
        control = Control()
        status, stops, ended = np.empty(n), np.empty(n), np.empty(n)
        room = np.empty_like(self._first.workspace)
        given = np.empty(max(len(parameters), 1))
        out, own_slots = np.empty(max(columns, 1)), np.empty(max(len(plan.slots), 1))
        arrays = (
            self._first.workspace, room, parameters, state, memory, outcome.rows, outcome.slots, status,
            stops, given, out, own_slots, self._due, self._asks, self._stopping, ended, self.halt, precompute,
            motion,
        )  # fmt: skip
        addresses = [ctypes.addressof(fresh), ctypes.addressof(control), *(a.ctypes.data for a in arrays)]
        self._runs(n, n, len(plan.times), len(precompute) // 2, *addresses, *self._drive.addresses)
        status, ended = status.astype(np.int8), ended.astype(np.int32)
        return Outcome(status, stops, state, memory, outcome.rows, outcome.slots, {}, ended)
