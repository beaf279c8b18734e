"""LAPACK's Cholesky factorisation and solution (dpotrf, dpotrs) as a candidate, called from compiled code.

The routines are those that SciPy brings, by address. They run on one thread only where OPENBLAS_NUM_THREADS=1
was set before SciPy was loaded.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from benchmarks.candidate import Native, address, pointer, timer


class CholeskyRecord(ctypes.Structure):
    """`Cholesky` of native/timer.c."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("potrf", "potrs")),
        *((name, ctypes.c_long) for name in ("states", "nv")),
        *((name, ctypes.c_void_p) for name in ("matrix", "right", "work", "a")),
    )


def routine(name: str) -> int:
    """Address of a LAPACK routine."""
    from scipy.linalg import cython_lapack

    capsule = cython_lapack.__pyx_capi__[name]
    signature = ctypes.pythonapi.PyCapsule_GetName
    signature.restype, signature.argtypes = ctypes.c_char_p, [ctypes.py_object]
    content = ctypes.pythonapi.PyCapsule_GetPointer
    content.restype, content.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return int(content(capsule, signature(capsule)))


def cholesky_candidates(matrices: np.ndarray, right: np.ndarray) -> tuple[Native, Native]:
    """The solution of M a = f for each state, and the copying alone that it begins with."""
    states, nv = right.shape
    arrays = (np.ascontiguousarray(matrices), np.ascontiguousarray(right), np.empty((nv, nv)), np.empty(nv))
    record = CholeskyRecord(routine("dpotrf"), routine("dpotrs"), states, nv, *map(pointer, arrays))

    def native(name: str, kind: str) -> Native:
        loops: dict[str, Any] = {
            "loop": address(timer()[f"{kind}_loop"]),
            "accelerations": address(timer()[f"{kind}_accelerations"]),
        }
        return Native(name=name, self=ctypes.addressof(record), keep=(record, *arrays), **loops)

    return native("LAPACK Cholesky", "cholesky"), native("copy of M and f", "copy")
