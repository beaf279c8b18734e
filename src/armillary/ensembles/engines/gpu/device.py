"""The card at hand, through CuPy: what it is, kernels compiled for it, arrays on it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from armillary.errors import ArmillaryError, MissingExtraError, require
from armillary.export.cuda.ensemble import BLOCK
from armillary.untyped import LibraryObject

_STAGING = threading.Lock()  # one thread stages at a time
# Single precision: numbers below 1e-38 are zero; quotients and roots are right to 2 units in the last place.
_STAGED = 1 << 26  # bytes of page-locked memory through which large results come
_COPYING = 6  # threads that copy from there
_SMALL = 1 << 22  # bytes that are fetched at once

_OPTIONS = {"double": (), "float": ("--ftz=true", "--prec-div=false", "--prec-sqrt=false")}


class Device:
    """One card. An error in one sentence where there is none, or none that can be used."""

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
        self.room = int(properties["sharedMemPerBlockOptin"])  # bytes of shared memory that a block may take

    def _check(self) -> None:
        runtime = self.cupy.cuda.runtime
        try:
            count = runtime.getDeviceCount()
        except Exception as error:  # CuPy's own class of errors is not there without CUDA's library
            if "InsufficientDriver" in str(error) and runtime.driverGetVersion() > 0:
                raise ArmillaryError(
                    "the driver of the GPU is too old for this CuPy; update the driver, install the CuPy of "
                    "an older CUDA, or run with device='cpu'"
                ) from error
            count = 0
        if not count:
            raise ArmillaryError("CuPy finds no GPU on this machine; run with device='cpu'")

    def free(self) -> int:
        """Bytes of its memory that are free."""
        pool = self.cupy.get_default_memory_pool()
        return int(self.cupy.cuda.runtime.memGetInfo()[0]) + int(pool.free_bytes())

    def fetch(self, array: LibraryObject) -> np.ndarray:
        """An array on the card as numbers in double precision here, or as whole numbers.

        Large ones come through page-locked memory, from which several threads copy: new memory is slow to
        write at first, by one thread 48 MB took 20 ms on an H200's host, and so they take 4.
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

    def compiled(self, text: str, real: str, what: str, room: int = 0) -> LoadedKernel:
        """A kernel made by NVRTC, whose blocks take so much ``room`` in shared memory; CuPy keeps compiled
        ones on disk.
        """
        try:
            module = self.cupy.RawModule(code=text, options=("--std=c++14", *_OPTIONS[real]), backend="nvrtc")
            return LoadedKernel(self, module, room)
        except Exception as error:
            lines = str(error).strip().splitlines() or [type(error).__name__]
            line = next((line for line in lines if "error" in line.lower()), lines[0])
            raise ArmillaryError(f"CUDA cannot take the code of '{what}': {line.strip()}") from error


class LoadedKernel:
    """A kernel on a card, and what the compiler made of it."""

    def __init__(self, device: Device, module: LibraryObject, room: int) -> None:
        self.device, self._module, self._room = device, module, room
        self._function = module.get_function("runs")
        if room:
            self._function.max_dynamic_shared_size_bytes = room
        self.registers = int(self._function.num_regs)
        self.local_bytes = int(self._function.local_size_bytes)
        self.blocks = self._blocks()

    def _blocks(self) -> int:
        """Blocks that a multiprocessor holds at a time."""
        driver = self.device.cupy.cuda.driver
        function = self._function.kernel.ptr
        return int(driver.occupancyMaxActiveBlocksPerMultiprocessor(function, BLOCK, self._room))

    @property
    def resident(self) -> int:
        """Threads that the whole card holds at a time: one wave."""
        return self.blocks * BLOCK * self.device.multiprocessors

    @property
    def occupancy(self) -> float:
        """The threads that a multiprocessor holds, as a part of the most it could."""
        return self.blocks * BLOCK / self.device.threads

    def put(self, name: str, values: np.ndarray) -> None:
        """Numbers in constant memory."""
        if values.size:
            cupy = self.device.cupy
            cupy.ndarray(values.shape, values.dtype, self._module.get_global(name))[...] = cupy.asarray(
                values
            )

    def launch(self, threads: int, runs: int, arguments: Sequence[object]) -> None:
        """The kernel by so many threads on so many runs; it goes on while this returns."""
        blocks = -(-threads // BLOCK)
        self._function((blocks,), (BLOCK,), (np.int64(runs), *arguments), shared_mem=self._room)
