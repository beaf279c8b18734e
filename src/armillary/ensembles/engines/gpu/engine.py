"""The engine on a GPU, for fixed steps without events.

Several threads may call it: one prepares starts or takes results while the card computes for another.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from armillary.ensembles.engines.engine import LEFT_OVER, Engine, Outcome
from armillary.ensembles.engines.gpu.device import Device
from armillary.ensembles.engines.gpu.metric_slots import metric_text
from armillary.ensembles.engines.gpu.signals import SignalData, stopped
from armillary.ensembles.plan import DIVERGED, FINISHED, NOT_RUN, Plan
from armillary.ensembles.starts import Starts
from armillary.errors import ArmillaryError
from armillary.export.cuda.ensemble import BLOCK, PRECISIONS, kernel
from armillary.program.targets import INTERNAL_EVENTS
from armillary.runtime.loop.tableau import Tableau

_REALS = ctypes.POINTER(ctypes.c_double)
_STATUS = np.array([NOT_RUN, FINISHED, DIVERGED, LEFT_OVER], dtype=np.int8)  # by the kernel's own numbers
_MOST_EVENTS = 64  # one bit each
_SPEED = 1e13  # nodes of a program that a large card computes in a second: for the size of chunks alone
_SECONDS = 1.0  # of a chunk, and so until Ctrl-C acts
_SHARE = 0.4  # of the card's free memory that a chunk may take: two threads make one each
_MOST_RUNS = 1 << 19  # of a chunk: more leave the card waiting for the host, fewer cost waves half full


class Gpu(Engine):
    """Fixed steps without events, one run per thread of a CUDA card.

    ``precision``: "double", "single", or "fast", which is single with the card's own sines and cosines.
    ``chunk`` is the number of runs that are best made at a time, ``evaluations`` of the derivatives took
    ``seconds`` on the card so far, and ``info`` has that and what the compiler made of the model.
    """

    name = "gpu"
    threads = 2  # one prepares and fetches while the card computes for the other
    leaves_runs = True

    @classmethod
    def refusal(cls, plan: Plan) -> str:
        program, method = plan.program, plan.method
        handled = [e.name for e in plan.model.equations.targets.watched if e.name not in INTERNAL_EVENTS]
        if method.adaptive or method.tableau is None:
            return f"method '{method.name}' chooses its own steps; give a step, for rk4 or midpoint"
        if handled:
            return f"'{program.name}' has the event '{handled[0]}'"
        if len(program.events.results) > _MOST_EVENTS:
            return f"'{program.name}' has more than {_MOST_EVENTS} constraints to watch"
        if plan.stops is not None and program.update.results:
            return f"inputs jump, and '{program.name}' has memories that are renewed at steps"
        if method.redundant or plan.model.equations.absolute:
            return f"'{program.name}' is in redundant coordinates"
        if plan.row_at is None:
            return "samples lie inside steps; let sample= be a multiple of step="
        if any(weight for row in method.tableau.a for weight in row[:-1]):
            return f"method '{method.name}' needs more than the last stage at a time"
        return ""

    @classmethod
    def made_for(cls, plan: Plan, precision: str) -> Engine:
        return cls(plan, precision)

    def __init__(self, plan: Plan, precision: str = "double") -> None:
        super().__init__(plan)
        self.precision = precision
        assert plan.method.tableau is not None
        self._tableau = plan.method.tableau
        real = PRECISIONS[precision]
        self._real = np.dtype(np.float64 if real == "double" else np.float32)
        self.kernel = kernel(
            plan.program,
            plan.starts.varying,
            self._tableau.stages,
            precision,
            plan.history,
            metric_text(plan.metrics),
        )
        self.device = Device()
        self._code = self.device.compiled(self.kernel.text, real, plan.program.name)
        self._shared: np.ndarray | None = None
        self._lock = threading.Lock()
        self.evaluations, self.seconds = 0, 0.0
        cupy = self.device.cupy
        grid, steps, due = stopped(plan, self._real)
        self._grid, self._due, self._last = cupy.asarray(grid), cupy.asarray(due), len(grid) - 1
        self._spans = _spans(steps)
        self._signals: SignalData | None = None

    @property
    def info(self) -> dict[str, Any]:
        """Registers and bytes of local memory of a thread (spilled values, mostly), the share of a
        multiprocessor's threads that is in use, and evaluations of the derivatives per second on the card.
        """
        code = self._code
        found = {
            "gpu": self.device.name,
            "registers": code.registers,
            "local_bytes": code.local_bytes,
            "block": BLOCK,
            "occupancy": round(code.occupancy, 4),
        }
        speed = {"evaluations_per_second": self.evaluations / self.seconds} if self.seconds else {}
        return {**found, **speed}

    @property
    def chunk(self) -> int:
        """Runs to make at a time: whole waves, about a second's work, no more than the card has room for."""
        plan, wave = self.plan, self._code.resident
        assert plan.steps is not None
        nodes = len(plan.program.derivatives.nodes) + 4 * len(plan.program.state)
        work = max(1, len(plan.steps)) * self._tableau.stages * nodes
        wanted = max(1, round(min(_SECONDS * _SPEED / work, _MOST_RUNS) / wave)) * wave
        room = int(_SHARE * self.device.free() / self.bytes_per_run)
        if room < 1:
            raise ArmillaryError(
                f"a run needs {self.bytes_per_run:.3g} bytes, more than the GPU has free; keep fewer samples"
            )
        return min(wanted, max(1, room // wave) * wave if room >= wave else room)

    @property
    def bytes_per_run(self) -> int:
        """Bytes that a run takes on the card."""
        plan, program = self.plan, self.plan.program
        numbers = 2 * len(program.state) + len(program.memory) + len(plan.samples) * len(plan.history)
        doubles = len(self.kernel.varied) + len(plan.slots) + 1
        return numbers * self._real.itemsize + 8 * doubles + 1

    # ------------------------------------------------------------ runs

    def __call__(self, starts: Starts, i0: int, i1: int) -> Outcome:
        """Runs i0 … i1 − 1, in chunks that the card has room for."""
        chunk = self.chunk
        if i1 - i0 <= chunk:
            return self._chunk(starts, i0, i1)
        whole = Outcome.empty(self.plan, i1 - i0)
        for first in range(i0, i1, chunk):
            whole.put(first - i0, self._chunk(starts, first, min(first + chunk, i1)))
        return whole

    def _chunk(self, starts: Starts, i0: int, i1: int) -> Outcome:
        plan, cupy, real, n = self.plan, self.device.cupy, self._real, i1 - i0
        parameters, state, memory = starts.block(i0, i1)
        signals = self._signals_of(starts)
        if signals is not None:
            memory = signals.numbered(memory, i0)
        rounded = np.ascontiguousarray(state, real)
        lost = state - rounded if real.itemsize == 4 else np.zeros(1)
        on_card = {
            "varied": cupy.asarray(np.ascontiguousarray(parameters[list(self.kernel.varied)])),
            "state": cupy.asarray(rounded),
            "lost": cupy.asarray(np.ascontiguousarray(lost, real)),
            "memory": cupy.asarray(np.ascontiguousarray(memory, real)),
            "rows": cupy.full((len(plan.samples), len(plan.history), n), np.nan, real),
            "slots": cupy.zeros((len(plan.slots), n)) + cupy.asarray(plan.slots)[:, None],
            "stops": cupy.full(n, np.nan),
            "status": cupy.zeros(n, np.int8),
        }
        with self._lock:  # constant memory is one for all
            self._put_constants(parameters[:, 0])
            if signals is not None:
                self._code.put("data", signals.address)
            end = self._launched(n, list(on_card.values()))
        end()
        back = {name: array.get() for name, array in on_card.items() if name not in ("varied", "lost")}
        numbers = {name: back[name].astype(float, copy=False) for name in ("state", "memory", "rows")}
        return Outcome(
            status=_STATUS[back["status"]],
            t_stop=back["stops"],
            slots=back["slots"],
            messages={},
            **numbers,
        )

    def _launched(self, n: int, arrays: list[Any]) -> Callable[[], None]:
        """All steps: one launch for each span of equal ones. What is returned waits for their end."""
        cupy, last = self.device.cupy, self._last
        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        for first, stop, length in self._spans:
            self._code.put("step", _method(self._tableau, length, self._real))
            whole = (np.int32(first), np.int32(stop), np.int32(last), self._grid, self._due, *arrays)
            self._code.launch(n, whole)
        end.record()

        def waited() -> None:
            end.synchronize()
            with self._lock:
                self.seconds += 1e-3 * cupy.cuda.get_elapsed_time(start, end)
                self.evaluations += n * last * self._tableau.stages

        return waited

    def _signals_of(self, starts: Starts) -> SignalData | None:
        """Inputs over time on the card, one set for all chunks of a batch."""
        if starts.inputs is None:
            return None
        with self._lock:
            if self._signals is None or self._signals.inputs is not starts.inputs:
                self._signals = SignalData(starts.inputs, self.device, self._real)
            return self._signals

    def _put_constants(self, parameters: np.ndarray) -> None:
        """What all runs share, in constant memory."""
        program = self.plan.program
        constants = np.zeros(max(1, len(program.constants)))
        inside = np.ascontiguousarray(parameters)
        precompute = ctypes.CFUNCTYPE(None, _REALS, _REALS)(self.plan.model.address("precompute"))
        precompute(inside.ctypes.data_as(_REALS), constants.ctypes.data_as(_REALS))
        shared, given = constants[list(self.kernel.shared)], inside[list(self.kernel.given)]
        both = np.concatenate([shared, given])
        if self._shared is None or not np.array_equal(both, self._shared):
            self._code.put("shared", shared.astype(self._real))
            self._code.put("given", given)
            self._shared = both


# ---------------------------------------------------------------- the plan as the kernel reads it


def _spans(steps: np.ndarray) -> list[tuple[int, int, float]]:
    """Neighbouring equal steps: (first, end, length)."""
    if not steps.size:
        return [(0, 0, 0.0)]
    edges = [0, *(np.flatnonzero(np.diff(steps)) + 1).tolist(), len(steps)]
    return [(a, b, float(steps[a])) for a, b in pairwise(edges)]


def _method(tableau: Tableau, step: float, real: np.dtype) -> np.ndarray:
    """The kernel's ``struct method``: the weights times the step, as bytes."""
    stages = tableau.stages
    kind = np.dtype([("a", real, stages), ("b", real, stages), ("c", np.float64, stages)], align=True)
    record = np.zeros((), kind)
    record["a"] = [step * row[-1] for row in tableau.a[1:]] + [0.0]
    record["b"] = [step * b for b in tableau.b]
    record["c"] = [step * c for c in tableau.c]
    return np.frombuffer(record.tobytes(), np.uint8)
