"""A stand-in for CuPy without a GPU: arrays are NumPy's, and a kernel's source is compiled as C++ and called
thread by thread.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import numpy as np

from armillary.export.text.files import template
from tests.export.conformance import NATIVE

CXX = shutil.which("c++")
FLAGS = ["-std=c++14", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-unused"]
FLAGS += ["-Wno-unused-parameter", "-ffp-contract=fast", *NATIVE]

_LAUNCHER = """
#include "kernel.cu"
#ifndef TEAM
#define TEAM 1
#endif
real room[1 << 15]; /* shared memory of a block */
extern "C" void *address(const char *name)
{
    switch (name[1]) {
    case 'h': return shared;
    case 'i': return given;
#ifdef DRIVEN
    case 'a': return &data;
#endif
#ifdef SOLVER
    default: return &every;
#elif defined(ENVIRONMENTS)
    default: return 0;
#else
    default: return &step;
#endif
    }
}
#ifdef SOLVER
#define ARGUMENTS(f) \\
    f(unsigned long long *, queue) f(const int *, due) f(const double *, varied) f(real *, state) \\
    f(real *, memory) f(real *, rows) f(double *, slots) f(double *, stops) f(signed char *, status) \\
    f(int *, ended)
#elif defined(ENVIRONMENTS)
#define ARGUMENTS(f) \\
    f(int, parts) f(unsigned long long, seed) f(const double *, settings) f(const real *, actions) \\
    f(real *, state) f(double *, time) f(unsigned char *, ended) f(unsigned *, episode) f(real *, kept) \\
    f(real *, seen) f(real *, reward) f(unsigned char *, outside) f(unsigned char *, cut)
#else
#define ARGUMENTS(f) \\
    f(int, first) f(int, end) f(int, last) f(const double *, grid) f(const int *, due) \\
    f(const double *, varied) f(real *, state) f(real *, lost) f(real *, memory) f(real *, rows) \\
    f(double *, slots) f(double *, stops) f(signed char *, status)
#endif
#define DECLARED(kind, name) , kind name
#define GIVEN(kind, name) , name
extern "C" void launch(unsigned blocks, unsigned threads, long long count ARGUMENTS(DECLARED))
{
    for (unsigned b = 0; b < blocks; b++)
        for (unsigned i = 0; i < threads; i += TEAM)
            cpu_together(TEAM, [&](unsigned lane) {
                blockDim.x = threads;
                blockIdx.x = b;
                threadIdx.x = i + lane;
                runs(count ARGUMENTS(GIVEN));
            });
}
"""


class Array(np.ndarray):
    """An array that can be fetched from the card."""

    def get(self, out: np.ndarray | None = None) -> np.ndarray:
        if out is None:
            return np.array(self)
        out[...] = self
        return out

    @property
    def data(self) -> Any:
        return SimpleNamespace(ptr=self.ctypes.data)


def compiled(code: str, folder: Path) -> ctypes.CDLL:
    """A kernel as a library for the CPU, a copy of its own: kernels have variables."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "kernel.cu").write_text(code)
    (folder / "kernel.so").write_bytes(_library(code))
    return ctypes.CDLL(str(folder / "kernel.so"))


@cache
def _library(code: str) -> bytes:
    beside = Path(__file__).with_name("kernel_cpu.h").read_text(encoding="utf-8")
    header = template("armillary.export.cuda", "cpu.h.txt") + beside
    files = {"kernel.cu": code, "cpu.h": header, "launcher.cpp": _LAUNCHER}
    command = [str(CXX), *FLAGS, *(["-O0"] if "#define SOLVER" in code else [])]
    command += ["-shared", "-fPIC", "launcher.cpp", "-o", "kernel.so"]
    with TemporaryDirectory() as folder:
        for name, text in files.items():
            Path(folder, name).write_text(text)
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return Path(folder, "kernel.so").read_bytes()


class Module:
    """``cupy`` as far as the engine goes; ``launches`` counts kernels, ``free`` is the card's free memory."""

    def __init__(self, folder: Path, free: int = 1 << 34) -> None:
        self.folder, self.memory, self.launches, self.modules = folder, free, 0, 0
        properties = {
            "name": b"no card", "multiProcessorCount": 2, "maxThreadsPerMultiProcessor": 2048,
            "sharedMemPerBlockOptin": 227 << 10,
        }  # fmt: skip
        runtime = SimpleNamespace(
            getDeviceCount=lambda: 1,
            getDevice=lambda: 0,
            driverGetVersion=lambda: 13000,
            getDeviceProperties=lambda _: properties,
            memGetInfo=lambda: (self.memory, 1 << 34),
        )
        event = SimpleNamespace(record=lambda: None, synchronize=lambda: None)
        self.cuda = SimpleNamespace(
            runtime=runtime,
            driver=SimpleNamespace(occupancyMaxActiveBlocksPerMultiprocessor=lambda *_: 2),
            Event=lambda: event,
            get_elapsed_time=lambda *_: 1.0,
            alloc_pinned_memory=bytearray,
        )
        self.get_default_memory_pool = lambda: SimpleNamespace(free_bytes=lambda: 0)

    def asarray(self, values: Any, dtype: Any = None) -> Array:
        """Copy what is not on the card yet."""
        if isinstance(values, Array) and dtype in (None, values.dtype):
            return values
        return np.array(values, dtype, order="C").view(Array)

    def zeros(self, shape: Any, dtype: Any = float) -> Array:
        return np.zeros(shape, dtype).view(Array)

    def full(self, shape: Any, value: float, dtype: Any = float) -> Array:
        return np.full(shape, value, dtype).view(Array)

    def ndarray(self, shape: tuple[int, ...], dtype: Any, pointer: int) -> np.ndarray:
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        return np.frombuffer((ctypes.c_char * size).from_address(pointer), dtype).reshape(shape)

    def RawModule(self, code: str, options: tuple[str, ...], backend: str) -> Any:
        self.modules += 1
        library = compiled(code, self.folder / str(self.modules))
        library.address.restype = ctypes.c_void_p
        return SimpleNamespace(
            get_function=lambda name: _Function(self, library),
            get_global=lambda name: library.address(name.encode()),
        )


class _Function:
    num_regs, local_size_bytes, kernel = 64, 0, SimpleNamespace(ptr=0)
    max_dynamic_shared_size_bytes = 0

    def __init__(self, module: Module, library: ctypes.CDLL) -> None:
        self.module, self.library = module, library

    def __call__(
        self, grid: tuple[int], block: tuple[int], arguments: tuple[Any, ...], shared_mem: int
    ) -> None:
        assert shared_mem == self.max_dynamic_shared_size_bytes
        self.module.launches += 1
        count, *others = arguments
        self.library.launch(
            *map(ctypes.c_uint, (*grid, *block)), ctypes.c_longlong(count), *map(_passed, others)
        )


def _passed(argument: Any) -> Any:
    if isinstance(argument, np.uint64):
        return ctypes.c_ulonglong(int(argument))
    if not isinstance(argument, np.ndarray):
        return ctypes.c_int(argument)
    assert argument.flags.c_contiguous
    return ctypes.c_void_p(argument.ctypes.data)
