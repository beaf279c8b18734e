"""Exported CUDA, compiled as C++ for the CPU."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

from tests.export.conformance import NATIVE

CXX = shutil.which("c++")


NVCC = shutil.which("nvcc")


FLAGS = ["-std=c++11", "-Wall", "-Wextra", "-Werror", "-O1", "-ffp-contract=fast", *NATIVE]


# The kernel thread by thread, and one function of the model, for ctypes.
WRAPPER = """
#include "{stem}.cuh"
extern "C" void all_runs(long long runs, real step, long long steps, long long stride, const real *parameters,
    real *state, real *memory, real *rows, int *status)
{{
    blockDim.x = 32;
    for (long long i = 0; i < (runs + 31) / 32 * 32; i++) {{
        blockIdx.x = (unsigned)(i / 32);
        threadIdx.x = (unsigned)(i % 32);
        {stem}_runs(runs, 0, step, steps, stride, parameters, state, memory, rows, status);
    }}
}}
extern "C" void rates(real t, const real *parameters, const real *state, const real *memory, real *out)
{{
    real constants[{upper}_CONSTANTS_ROOM];
    {stem}_precompute(parameters, constants);
    {stem}_derivatives(t, state, constants, memory, out);
}}
"""


def library(folder: Path, real: str = "double", level: str = "-O1") -> ctypes.CDLL:
    stem = next(folder.glob("*.cuh")).stem
    (folder / "wrapper.cpp").write_text(WRAPPER.format(stem=stem, upper=stem.upper()))
    command = [str(CXX), *FLAGS, level, f"-DREAL={real}", "-shared", "-fPIC", "wrapper.cpp"]
    subprocess.run([*command, "-o", f"{real}.so"], cwd=folder, check=True)
    return ctypes.CDLL(str(folder / f"{real}.so"))
