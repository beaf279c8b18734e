"""The common parts of engines on a GPU: the kernel compiled for the card, constants, inputs, chunks of runs.

Several threads may call an engine: one prepares starts or takes results while the card computes for another.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from armillary.ensembles.engines.engine import Engine, Outcome
from armillary.ensembles.plan import Plan
from armillary.ensembles.starts import CompactBlock, Starts
from armillary.errors import ArmillaryError, MissingExtraError, require
from armillary.export.cuda.kernels import BLOCK, PRECISIONS, Kernel
from armillary.runtime.inputs.reading import DrivenInputs
from armillary.solver.thresholds import ROUNDINGS, SNAP
from armillary.untyped import DataTable, LibraryObject

# The card, through CuPy: its properties, kernels compiled for it, arrays on it.

_STAGING = threading.Lock()  # held while large results come through page-locked memory
_STAGED = 1 << 26  # bytes of page-locked memory through which large results come
_COPYING = 6  # threads that copy from page-locked memory
_SMALL = 1 << 22  # most bytes that are fetched without page-locked memory

# With these options of single precision, numbers below 1e-38 are zero, and quotients and roots are right to 2
# units in the last place.
_OPTIONS = {"double": (), "float": ("--ftz=true", "--prec-div=false", "--prec-sqrt=false")}


class Device:
    """One card; its constructor raises an error if there is no usable card."""

    def __init__(self) -> None:
        try:
            self.cupy = require("cupy", extra="gpu", purpose="runs on a GPU")
        except MissingExtraError as error:
            raise MissingExtraError(f"{error} (for NVIDIA's cards), or run with device='cpu'") from error
        self._check()
        properties = self.cupy.cuda.runtime.getDeviceProperties(self.cupy.cuda.runtime.getDevice())
        name = properties["name"]
        self.name = name.decode() if isinstance(name, bytes) else str(name)
        self.multiprocessors = int(properties["multiProcessorCount"])
        self.threads = int(properties["maxThreadsPerMultiProcessor"])
        self.room = int(properties["sharedMemPerBlockOptin"])  # most bytes of shared memory per block

    def _check(self) -> None:
        runtime = self.cupy.cuda.runtime
        try:
            count = runtime.getDeviceCount()
        except Exception as error:  # CuPy has its own class of errors only with CUDA's library
            if "InsufficientDriver" in str(error) and runtime.driverGetVersion() > 0:
                raise ArmillaryError(
                    "the driver of the GPU is too old for this CuPy; update the driver, install the CuPy of "
                    "an older CUDA, or run with device='cpu'"
                ) from error
            count = 0
        if not count:
            raise ArmillaryError("CuPy finds no GPU on this machine; run with device='cpu'")

    def free(self) -> int:
        """Return the free bytes of the card's memory."""
        pool = self.cupy.get_default_memory_pool()
        return int(self.cupy.cuda.runtime.memGetInfo()[0]) + int(pool.free_bytes())

    def fetch(self, array: LibraryObject) -> np.ndarray:
        """Return an array on the card as an array of doubles or whole numbers in host memory.

        Large arrays come through page-locked memory, from which several threads copy, since the first write
        to new memory is slow: one thread takes 20 ms for 48 MB on an H200's host, six take 4 ms.
        """
        kind = np.dtype(float) if array.dtype.kind == "f" else array.dtype
        if array.nbytes <= _SMALL:
            return np.asarray(array.get(), kind)
        found = np.empty(array.shape, kind)
        flat, from_card = found.reshape(-1), array.reshape(-1)
        with _STAGING, ThreadPoolExecutor(_COPYING) as pool:
            locked = self.cupy.cuda.alloc_pinned_memory(_STAGED)
            staged = np.frombuffer(locked, array.dtype, _STAGED // array.dtype.itemsize)
            for first in range(0, flat.size, staged.size):
                part = flat[first : first + staged.size]
                here = staged[: part.size]
                from_card[first : first + part.size].get(out=here)
                pieces = zip(np.array_split(part, _COPYING), np.array_split(here, _COPYING), strict=True)
                for copied in [pool.submit(np.copyto, *piece) for piece in pieces]:
                    copied.result()
        return found

    def compile_kernel(self, text: str, real: str, what: str, room: int = 0) -> LoadedKernel:
        """Compile a kernel with NVRTC; its blocks use ``room`` bytes of shared memory.

        CuPy keeps compiled kernels on disk.
        """
        try:
            module = self.cupy.RawModule(code=text, options=("--std=c++14", *_OPTIONS[real]), backend="nvrtc")
            return LoadedKernel(self, module, room)
        except Exception as error:
            lines = str(error).strip().splitlines() or [type(error).__name__]
            line = next((line for line in lines if "error" in line.lower()), lines[0])
            raise ArmillaryError(f"CUDA cannot compile the code of '{what}': {line.strip()}") from error


class LoadedKernel:
    """A kernel on a card, and the registers, memory and blocks that it uses."""

    def __init__(self, device: Device, module: LibraryObject, room: int) -> None:
        self.device, self._module, self._room = device, module, room
        self._function = module.get_function("runs")
        if room:
            self._function.max_dynamic_shared_size_bytes = room
        self.registers = int(self._function.num_regs)
        self.local_bytes = int(self._function.local_size_bytes)
        self.blocks = self._blocks()

    def _blocks(self) -> int:
        """Return the number of blocks that a multiprocessor holds at a time."""
        driver = self.device.cupy.cuda.driver
        function = self._function.kernel.ptr
        return int(driver.occupancyMaxActiveBlocksPerMultiprocessor(function, BLOCK, self._room))

    @property
    def resident(self) -> int:
        """The number of threads that the whole card holds at a time: one wave."""
        return self.blocks * BLOCK * self.device.multiprocessors

    @property
    def occupancy(self) -> float:
        """The number of threads that a multiprocessor holds, as a share of its maximum."""
        return self.blocks * BLOCK / self.device.threads

    def put(self, name: str, values: np.ndarray) -> None:
        """Copy numbers to constant memory."""
        if values.size:
            cupy = self.device.cupy
            cupy.ndarray(values.shape, values.dtype, self._module.get_global(name))[...] = cupy.asarray(
                values
            )

    def launch(self, threads: int, runs: int, arguments: Sequence[object]) -> None:
        """Start the kernel with this many threads on this many runs; do not wait for its end."""
        blocks = -(-threads // BLOCK)
        self._function((blocks,), (BLOCK,), (np.int64(runs), *arguments), shared_mem=self._room)


# Inputs over time on a card: their data in one array, and steps that end at their jumps.

_SIGNAL_SHARE = 0.5  # share of the card's free memory that data of inputs may take


class SignalData:
    """The data blocks of all inputs in the form that ``export/cuda/templates/signals.txt`` reads."""

    def __init__(self, inputs: DrivenInputs, device: Device, real: np.dtype) -> None:
        self.inputs = inputs
        self._first: dict[str, int] = {}
        numbers: list[np.ndarray] = []
        begins: list[float] = []
        end = sum(len(b.numbers) for b in inputs.blocks.values())
        for name, block in inputs.blocks.items():
            self._first[name] = len(begins)
            breaks, end = end, end + len(block.breaks)
            rows = block.numbers.copy()
            places = end + rows.shape[1] * np.arange(len(rows))
            rows[:, 0] = breaks - places
            begins += places.tolist()
            end += rows.size
            # Times of jumps are rounded as the kernel's time is, so that a step that begins at a jump reads
            # the values after it.
            numbers += [block.breaks.astype(real).astype(float), rows.ravel()]
        if 8 * end > _SIGNAL_SHARE * device.free():
            raise ArmillaryError(
                f"the data of inputs take {8 * end / 2**30:.3g} GiB, more than half of what the GPU has "
                "free; give fewer instants or fewer runs, or run with device='cpu'"
            )
        self._data = device.cupy.asarray(np.concatenate([np.array(begins, dtype=float), *numbers]))
        self.address = np.array([self._data.data.ptr], dtype=np.uint64)

    def replace_addresses(self, memory: np.ndarray, first: int) -> np.ndarray:
        """Return memory of runs from ``first`` on, with numbers of data blocks instead of their addresses."""
        memory = memory.copy()
        for name, place in self.inputs.places.items():
            several = len(self.inputs.blocks[name].numbers) > 1
            own = first + np.arange(memory.shape[1]) if several else 0
            memory[place] = self._first[name] + own
        return memory


def steps_to_jumps(plan: Plan, real: np.dtype) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the grid points, the steps between them, and the code of the row due at each point (0: none).

    Steps to jumps of inputs end a few rounding errors of the type ``real`` before the jumps, as
    ``before_jump`` of solver/steps.py makes them.
    """
    rounding = ROUNDINGS * float(np.finfo(real).eps)
    assert plan.grid is not None and plan.steps is not None and plan.row_at is not None
    due = np.append(codes_of_rows(plan), np.int32(0))[plan.row_at]  # −1 (no row) is the last index: code 0
    if plan.stops is None:
        return plan.grid, plan.steps, due
    near = SNAP * float(plan.settings.fixed_step or 0.0)
    points, steps, wanted = [float(plan.grid[0])], [], [int(due[0])]
    ahead = iter([*plan.stops.tolist(), np.inf])
    stop = next(ahead)
    for target, step, now in zip(plan.grid[1:].tolist(), plan.steps.tolist(), due[1:].tolist(), strict=True):
        t = points[-1]
        while stop < target - near:
            steps.append((stop - t) - rounding * max(abs(t), abs(stop)))
            points.append(stop)
            wanted.append(0)
            t, stop, step = stop, next(ahead), target - stop
        met = stop <= target + near
        if met:
            end = min(stop, target)
            step = (end - t) - rounding * max(abs(t), abs(end))
        steps.append(step)
        points.append(max(stop, target) if met else target)
        wanted.append(now)
        while stop <= points[-1]:
            stop = next(ahead)
    return np.array(points), np.array(steps), np.array(wanted, dtype=np.int32)


def codes_of_rows(plan: Plan) -> np.ndarray:
    """Return a code for each row, 2 k + m.

    k is the row's number among the kept rows, counted from 1, or 0 if it is not kept; m is 1 if metrics use
    the row, else 0.
    """
    number = np.where(plan.kept & bool(plan.history), np.cumsum(plan.kept), 0)
    found: np.ndarray = (2 * number + (plan.measured & bool(plan.metrics))).astype(np.int32)
    return found


_REALS = ctypes.POINTER(ctypes.c_double)
_SHARE = 0.4  # share of the card's free memory that a chunk may take; two threads make one chunk each


class CardEngine(Engine):
    """Engine for a CUDA card, with one or several threads of the card per run.

    ``precision``: "double", "single", or "fast", which is single with the card's approximate sines and
    cosines. ``evaluations`` is the number of evaluations of the derivatives so far, which took ``seconds`` on
    the card.
    """

    name = "gpu"
    threads = 2  # one prepares and fetches while the card computes for the other
    leaves_runs = True

    @classmethod
    def for_plan(cls, plan: Plan, precision: str) -> Engine:
        return cls(plan, precision)

    def __init__(self, plan: Plan, precision: str = "double") -> None:
        super().__init__(plan)
        self.precision = precision
        self._real = np.dtype(np.float64 if PRECISIONS[precision] == "double" else np.float32)
        self._lock = threading.Lock()
        self._signals: SignalData | None = None
        self.evaluations, self.seconds = 0, 0.0
        self.device = Device()
        self._load(self.write_kernel())

    def write_kernel(self) -> Kernel:
        """Return the kernel for the plan."""
        raise NotImplementedError

    def precompute_functions(self) -> Sequence[tuple[int, int]]:
        """Return the address of ``precompute`` and the number of constants of each program in the kernel."""
        return [(self.plan.model.address("precompute"), len(self.plan.program.constants))]

    def _load(self, kernel: Kernel) -> None:
        self.kernel = kernel
        real, name = PRECISIONS[self.precision], self.plan.program.name
        self._code = self.device.compile_kernel(kernel.text, real, name, kernel.room)
        self._shared: np.ndarray | None = None

    @property
    def info(self) -> DataTable:
        """Resources of the kernel, and evaluations of the derivatives per second on the card.

        Local memory holds mostly values for which there were no registers; occupancy is the share of a
        multiprocessor's threads in use.
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
        """The best number of runs per chunk, regardless of memory."""
        raise NotImplementedError

    @property
    def wave(self) -> int:
        """The number of runs that the whole card holds at a time."""
        return self._code.resident // self.kernel.threads

    @property
    def chunk(self) -> int:
        """The number of runs per chunk: whole waves, at most as many as the card has memory for."""
        wave = self.wave
        room = int(_SHARE * self.device.free() / self.bytes_per_run)
        if room < 1:
            raise ArmillaryError(
                f"a run needs {self.bytes_per_run:.3g} bytes, more than the GPU has free; keep fewer samples"
            )
        return min(self.wanted, max(1, room // wave) * wave if room >= wave else room)

    @property
    def bytes_per_run(self) -> int:
        """Bytes of the card's memory per run."""
        plan, program = self.plan, self.plan.program
        numbers = 2 * len(program.state) + len(program.memory) + len(plan.samples) * len(plan.history)
        doubles = len(self.kernel.varied) + len(plan.slots) + 1
        return numbers * self._real.itemsize + 8 * doubles + 1

    # ------------------------------------------------------------ runs

    def __call__(self, starts: Starts, i0: int, i1: int) -> Outcome:
        """Make runs i0 … i1 − 1, in chunks for which the card has memory."""
        chunk = self.chunk
        if i1 - i0 <= chunk:
            return self._chunk(starts, i0, i1)
        whole = Outcome.empty(self.plan, i1 - i0)
        for first in range(i0, i1, chunk):
            whole.put_runs(first - i0, self._chunk(starts, first, min(first + chunk, i1)))
        return whole

    def _chunk(self, starts: Starts, i0: int, i1: int) -> Outcome:
        """Make runs i0 … i1 − 1 as one chunk."""
        raise NotImplementedError

    def _results(self, n: int) -> DataTable:
        """Return arrays on the card for the results of n runs."""
        plan, cupy = self.plan, self.device.cupy
        return {
            "rows": cupy.full((len(plan.samples), len(plan.history), n), np.nan, self._real),
            "slots": cupy.zeros((len(plan.slots), n)) + cupy.asarray(plan.slots)[:, None],
            "stops": cupy.full(n, np.nan),
            "status": cupy.zeros(n, np.int8),
        }

    def _varied_on_card(self, block: CompactBlock, n: int) -> LibraryObject:
        """Return the parameters that differ between runs, on the card."""
        columns = [block.varied.get(i, block.parameters[i]) for i in self.kernel.varied]
        found = np.empty((len(columns), n))
        for place, column in zip(found, columns, strict=True):
            place[:] = column
        return self.device.cupy.asarray(found)

    def _spread(self, values: np.ndarray, n: int) -> LibraryObject:
        """Return values of n runs on the card, from a column per run or one column for all."""
        cupy, rounded = self.device.cupy, np.ascontiguousarray(values, self._real)
        if rounded.shape[1] == n:
            return cupy.asarray(rounded)
        return cupy.zeros((len(rounded), n), self._real) + cupy.asarray(rounded)

    def _time_work(self, work: Callable[[], None]) -> Callable[[], None]:
        """Begin work on the card; return a function that waits for its end and adds its time to the total."""
        cupy = self.device.cupy
        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        work()
        end.record()

        def wait_for_end() -> None:
            end.synchronize()
            with self._lock:
                self.seconds += 1e-3 * cupy.cuda.get_elapsed_time(start, end)

        return wait_for_end

    def _outcome(self, on_card: DataTable, status: np.ndarray) -> Outcome:
        """Return the results of runs, fetched from the card.

        ``status`` has the batch's status for each status number of the kernel.
        """
        names = {"state": "state", "memory": "memory", "rows": "rows", "slots": "slots", "stops": "t_stop"}
        names |= {"ended": "event"} if "ended" in on_card else {}
        back = {name: self.device.fetch(on_card[key]) for key, name in names.items()}
        return Outcome(status=status[self.device.fetch(on_card["status"])], messages={}, **back)

    # ------------------------------------------------------------ data common to all runs

    def _signals_of(self, starts: Starts) -> SignalData | None:
        """Return the inputs over time on the card, copied once for all chunks of a batch."""
        if starts.inputs is None:
            return None
        with self._lock:
            if self._signals is None or self._signals.inputs is not starts.inputs:
                self._signals = SignalData(starts.inputs, self.device, self._real)
            return self._signals

    def _put_constants(self, parameters: np.ndarray, signals: SignalData | None) -> None:
        """Put the data common to all runs into constant memory."""
        inside = np.ascontiguousarray(parameters)
        shared = []
        for (address, count), places in zip(self.precompute_functions(), self.kernel.shared, strict=True):
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
