"""The engine for adaptive steps and events: the single run's compiled loop, run after run, without Python."""

from __future__ import annotations

import ctypes
from dataclasses import replace

import numpy as np

from armillary.ensembles.engines.engine import LEFT_OVER, Engine, Outcome
from armillary.ensembles.plan import AT_ONCE, Plan
from armillary.ensembles.starts import Starts
from armillary.llvm.jit import Compiled, Passes, engine, registers
from armillary.llvm.sections import for_this_machine, llvm_text
from armillary.program.targets import INTERNAL_EVENTS
from armillary.runtime.integrators.driving import CompiledRun
from armillary.runtime.loop.layout import Control
from armillary.runtime.loop.machine_code import compiled_loop
from armillary.runtime.models.configurations import changes_configuration

_LOG = 256  # events whose times are remembered between two looks at them


class Scalar(Engine):
    """Any Runge-Kutta method, with events; runs that change their configuration are left over."""

    name = "scalar"
    leaves_runs = True

    @classmethod
    def refusal(cls, plan: Plan) -> str:
        if plan.method.tableau is None or plan.method.redundant:
            return f"method '{plan.method.name}' has no Runge-Kutta tableau"
        return ""

    def __init__(self, plan: Plan) -> None:
        from armillary.ensembles.engines.scalar_loop import ARGUMENTS, scalar_modules

        super().__init__(plan)
        model, program = plan.code, plan.program
        functions = model.run_functions
        if program is not model.equations.program:
            self._code = Compiled(llvm_text(for_this_machine(program), registers()))
            functions = replace(
                functions,
                outputs=self._code.address("outputs"),
                n_outputs=len(plan.columns),
                owner=self._code,
            )
        else:
            self._code = functions.owner  # type: ignore[assignment]
        self._functions = functions
        size = max(len(program.constants), 1)
        self._first = CompiledRun(
            functions,
            replace(plan.settings, sample=plan.times),
            state=np.zeros(functions.n_states),
            memory=np.zeros(functions.n_memory),
            constants=np.zeros(size),
            stops=plan.stops,
        )
        self._drive = compiled_loop(self._first.shape, functions.ir)
        loop, metrics = scalar_modules(plan, self._first.shape, LEFT_OVER)

        self._engine = engine(f"scalar {loop} {metrics}", lambda: [loop, metrics], 2, Passes(2))
        kind = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 3, *[ctypes.c_void_p] * len(ARGUMENTS))
        self._runs = kind(self._engine.get_function_address("runs"))
        self._due = plan.uses
        watched = model.equations.targets.watched
        asking = [e.name in INTERNAL_EVENTS or changes_configuration(e, model.equations) for e in watched]
        self._asks = np.array([*asking, False], dtype=float)
        self._stopping = np.array([*(e.stop for e in watched), False], dtype=float)

    def __call__(self, starts: Starts, i0: int, i1: int) -> Outcome:
        """The runs; those that a change of configuration interrupts are marked LEFT_OVER."""
        plan, n, columns = self.plan, i1 - i0, len(self.plan.columns)
        parameters, state, memory = (np.ascontiguousarray(a) for a in starts.block(i0, i1))
        outcome = Outcome.empty(plan, n)
        times = np.append(plan.times, np.inf)
        rows = np.empty((len(times), columns))
        log = np.empty((_LOG + self._first.shape.events, 2))
        constants = np.zeros(max(len(plan.program.constants), 1))
        fresh = Control.from_buffer_copy(self._first.control)
        fresh.times, fresh.rows, fresh.capacity = times.ctypes.data, rows.ctypes.data, len(times)
        fresh.log, fresh.log_capacity = log.ctypes.data, len(log)
        fresh.constants, fresh.budget = constants.ctypes.data, min(plan.settings.max_steps, AT_ONCE)
        control = Control()
        status, stops, ended = np.empty(n), np.empty(n), np.empty(n)
        room = np.empty_like(self._first.workspace)
        given = np.empty(max(len(parameters), 1))
        out, own_slots = np.empty(max(columns, 1)), np.empty(max(len(plan.slots), 1))
        arrays = (
            self._first.workspace, room, parameters, state, memory, outcome.rows, outcome.slots, status,
            stops, given, constants, out, own_slots, self._due, self._asks, self._stopping, ended, self.halt,
        )  # fmt: skip
        addresses = [ctypes.addressof(fresh), ctypes.addressof(control), *(a.ctypes.data for a in arrays)]
        code = [self._drive.address, plan.model.address("precompute"), self._functions.outputs]
        self._runs(n, n, len(plan.times), *addresses, *code)
        status, ended = status.astype(np.int8), ended.astype(np.int32)
        return Outcome(status, stops, state, memory, outcome.rows, outcome.slots, {}, ended)
