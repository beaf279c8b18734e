"""Parts that engines on a GPU share: the kernel compiled for the card, constants, inputs, chunks of runs.

Several threads may call an engine: one prepares starts or takes results while the card computes for another.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence

import numpy as np

from armillary.ensembles.engines.engine import Engine, Outcome
from armillary.ensembles.engines.gpu.device import Device
from armillary.ensembles.engines.gpu.signals import SignalData
from armillary.ensembles.plan import Plan
from armillary.ensembles.starts import CompactBlock, Starts
from armillary.errors import ArmillaryError
from armillary.export.cuda.ensemble import BLOCK, PRECISIONS, Kernel
from armillary.untyped import DataTable, LibraryObject

_REALS = ctypes.POINTER(ctypes.c_double)
_SHARE = 0.4  # of the card's free memory that a chunk may take: two threads make one each


class CardEngine(Engine):
    """Runs on a CUDA card, one per thread.

    ``precision``: "double", "single", or "fast", which is single with the card's own sines and cosines.
    ``chunk`` is the number of runs that are best made at a time, ``evaluations`` of the derivatives took
    ``seconds`` on the card so far, and ``info`` has that and what the compiler made of the model.
    """

    name = "gpu"
    threads = 2  # one prepares and fetches while the card computes for the other
    leaves_runs = True

    @classmethod
    def made_for(cls, plan: Plan, precision: str) -> Engine:
        return cls(plan, precision)

    def __init__(self, plan: Plan, precision: str = "double") -> None:
        super().__init__(plan)
        self.precision = precision
        self._real = np.dtype(np.float64 if PRECISIONS[precision] == "double" else np.float32)
        self._lock = threading.Lock()
        self._signals: SignalData | None = None
        self.evaluations, self.seconds = 0, 0.0
        self.device = Device()
        self._load(self.written())

    def written(self) -> Kernel:
        """The kernel for the plan."""
        raise NotImplementedError

    def precomputing(self) -> Sequence[tuple[int, int]]:
        """The function that computes the constants of each program in the kernel, and their number."""
        return [(self.plan.model.address("precompute"), len(self.plan.program.constants))]

    def _load(self, kernel: Kernel) -> None:
        self.kernel = kernel
        real, name = PRECISIONS[self.precision], self.plan.program.name
        self._code = self.device.compiled(kernel.text, real, name, kernel.room)
        self._shared: np.ndarray | None = None

    @property
    def info(self) -> DataTable:
        """Threads that make a run together, registers and bytes of local memory of a thread (spilled values,
        mostly), the share of a multiprocessor's threads that is in use, and evaluations of the derivatives
        per second on the card.
        """
        code = self._code
        found = {
            "gpu": self.device.name,
            "threads_per_run": self.kernel.threads,
            "registers": code.registers,
            "local_bytes": code.local_bytes,
            "block": BLOCK,
            "occupancy": round(code.occupancy, 4),
        }
        speed = {"evaluations_per_second": self.evaluations / self.seconds} if self.seconds else {}
        return {**found, **speed}

    @property
    def wanted(self) -> int:
        """Runs that are best made at a time, whatever memory there is."""
        raise NotImplementedError

    @property
    def wave(self) -> int:
        """Runs that the whole card holds at a time."""
        return self._code.resident // self.kernel.threads

    @property
    def chunk(self) -> int:
        """Runs to make at a time: whole waves, and no more than the card has room for."""
        wave = self.wave
        room = int(_SHARE * self.device.free() / self.bytes_per_run)
        if room < 1:
            raise ArmillaryError(
                f"a run needs {self.bytes_per_run:.3g} bytes, more than the GPU has free; keep fewer samples"
            )
        return min(self.wanted, max(1, room // wave) * wave if room >= wave else room)

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
        """Runs i0 … i1 − 1 at once."""
        raise NotImplementedError

    def _results(self, n: int) -> DataTable:
        """Arrays on the card for what comes of n runs."""
        plan, cupy = self.plan, self.device.cupy
        return {
            "rows": cupy.full((len(plan.samples), len(plan.history), n), np.nan, self._real),
            "slots": cupy.zeros((len(plan.slots), n)) + cupy.asarray(plan.slots)[:, None],
            "stops": cupy.full(n, np.nan),
            "status": cupy.zeros(n, np.int8),
        }

    def _varied(self, block: CompactBlock, n: int) -> LibraryObject:
        """Parameters that differ between runs, on the card."""
        columns = [block.varied.get(i, block.parameters[i]) for i in self.kernel.varied]
        found = np.empty((len(columns), n))
        for place, column in zip(found, columns, strict=True):
            place[:] = column
        return self.device.cupy.asarray(found)

    def _spread(self, values: np.ndarray, n: int) -> LibraryObject:
        """Values of n runs on the card, from a column for each or one for all."""
        cupy, rounded = self.device.cupy, np.ascontiguousarray(values, self._real)
        if rounded.shape[1] == n:
            return cupy.asarray(rounded)
        return cupy.zeros((len(rounded), n), self._real) + cupy.asarray(rounded)

    def _timed(self, work: Callable[[], None]) -> Callable[[], None]:
        """Work begun on the card; what is returned waits for its end."""
        cupy = self.device.cupy
        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        work()
        end.record()

        def waited() -> None:
            end.synchronize()
            with self._lock:
                self.seconds += 1e-3 * cupy.cuda.get_elapsed_time(start, end)

        return waited

    def _outcome(self, on_card: DataTable, status: np.ndarray) -> Outcome:
        """The results of runs, fetched from the card; ``status`` by the kernel's own numbers."""
        names = {"state": "state", "memory": "memory", "rows": "rows", "slots": "slots", "stops": "t_stop"}
        names |= {"ended": "event"} if "ended" in on_card else {}
        back = {name: self.device.fetch(on_card[key]) for key, name in names.items()}
        return Outcome(status=status[self.device.fetch(on_card["status"])], messages={}, **back)

    # ------------------------------------------------------------ what all runs share

    def _signals_of(self, starts: Starts) -> SignalData | None:
        """Inputs over time on the card, one set for all chunks of a batch."""
        if starts.inputs is None:
            return None
        with self._lock:
            if self._signals is None or self._signals.inputs is not starts.inputs:
                self._signals = SignalData(starts.inputs, self.device, self._real)
            return self._signals

    def _put_constants(self, parameters: np.ndarray, signals: SignalData | None) -> None:
        """The data that all runs share, in constant memory."""
        inside = np.ascontiguousarray(parameters)
        shared = []
        for (address, count), places in zip(self.precomputing(), self.kernel.shared, strict=True):
            constants = np.zeros(max(1, count))
            precompute = ctypes.CFUNCTYPE(None, _REALS, _REALS)(address)
            precompute(inside.ctypes.data_as(_REALS), constants.ctypes.data_as(_REALS))
            shared.append(constants[list(places)])
        given = [inside[list(places)] for places in self.kernel.given]
        both = np.concatenate([*shared, *given])
        if self._shared is None or not np.array_equal(both, self._shared):
            self._code.put("shared", np.concatenate(shared).astype(self._real))
            self._code.put("given", np.concatenate(given))
            self._shared = both
        if signals is not None:
            self._code.put("data", signals.address)
