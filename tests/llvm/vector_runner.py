"""Functions on vectors, as LLVM text, applied to arrays."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from armillary.llvm.jit import Compiled

_REALS = ctypes.POINTER(ctypes.c_double)


class Runner:
    """A function of one or two vectors, on arrays of any length, so many numbers at a time."""

    def __init__(self, symbol: str, text: str, lanes: int, arity: int) -> None:
        vector = f"<{lanes} x double>"
        loads = "".join(
            f"  %p{k} = getelementptr double, ptr %x{k}, i64 %i\n"
            f"  %v{k} = load {vector}, ptr %p{k}, align 8\n"
            for k in range(arity)
        )
        passed = ", ".join(f"{vector} %v{k}" for k in range(arity))
        self.lanes = lanes
        self.code = Compiled(f"""
declare double @tan(double)
{text}
define void @all(i64 %n, ptr %x0, ptr %x1, ptr %out) {{
entry:
  br label %more
more:
  %i = phi i64 [ 0, %entry ], [ %next, %more ]
{loads}  %value = call {vector} @{symbol}({passed})
  %p = getelementptr double, ptr %out, i64 %i
  store {vector} %value, ptr %p, align 8
  %next = add i64 %i, {lanes}
  %again = icmp ult i64 %next, %n
  br i1 %again, label %more, label %done
done:
  ret void
}}
!0 = !{{!"branch_weights", i32 2000, i32 1}}
""")
        signature = ctypes.CFUNCTYPE(None, ctypes.c_int64, _REALS, _REALS, _REALS)
        self.function = signature(self.code.address("all"))

    def __call__(self, *arguments: Any) -> np.ndarray:
        count = len(arguments[0])
        size = -(-count // self.lanes) * self.lanes
        arrays = [np.resize(np.asarray(a, dtype=float), size) for a in arguments]
        out = np.empty(size)
        self.function(size, *(a.ctypes.data_as(_REALS) for a in (arrays[0], arrays[-1], out)))
        return out[:count]
