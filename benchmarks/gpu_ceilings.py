"""What a card can do at most: fused multiply-adds in registers, and copies in its memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

_PEAK = r"""
extern "C" __global__ void peak(REAL *out, int n, REAL a, REAL b)
{
    REAL x[8];
    for (int i = 0; i < 8; i++)
        x[i] = threadIdx.x + i;
    for (int k = 0; k < n; k++) {
#pragma unroll
        for (int j = 0; j < 16; j++)
#pragma unroll
            for (int i = 0; i < 8; i++)
                x[i] = x[i] * a + b;
    }
    REAL sum = 0;
    for (int i = 0; i < 8; i++)
        sum += x[i];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
"""
_FUSED = 16 * 8  # in one turn of the loop
_TURNS = 4000


def ceilings() -> dict[str, Any]:
    """Flops per second in double and single precision, bytes per second read and written, names."""
    import cupy

    properties = cupy.cuda.runtime.getDeviceProperties(0)
    found: dict[str, Any] = {"card": properties["name"].decode(), "cupy": cupy.__version__}
    found["driver"] = cupy.cuda.runtime.driverGetVersion()
    blocks, threads = 8 * properties["multiProcessorCount"], 256
    for real, kind in (("double", np.float64), ("float", np.float32)):
        kernel = cupy.RawKernel(_PEAK, "peak", options=(f"-DREAL={real}",))
        out = cupy.empty(blocks * threads, dtype=kind)
        arguments = (out, np.int32(_TURNS), kind(0.999999), kind(1e-3))
        seconds = timed(lambda k=kernel, a=arguments: k((blocks,), (threads,), a))
        found[real] = 2 * _FUSED * _TURNS * blocks * threads / seconds
    source = cupy.random.random(1 << 28)
    target = cupy.empty_like(source)
    found["copy"] = 2 * source.nbytes / timed(lambda: cupy.copyto(target, source))
    return found


def timed(work: Callable[[], Any], repeats: int = 7) -> float:
    """The median of seconds on the card."""
    import cupy

    work()
    found = []
    for _ in range(repeats):
        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        work()
        end.record()
        end.synchronize()
        found.append(1e-3 * cupy.cuda.get_elapsed_time(start, end))
    return float(np.median(found))
