"""Machine code in a process whose free addresses are far from each other, as where JAX is loaded."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.optimised

CODE = """
import ctypes
import armillary as arm
s = arm.System("p")
s.body("A", joint=arm.Gimbal("zx"), mass=1, inertia=(1, 1, 2), com=(1, 0.5, 0))
s.gravity(9.81, -s.ground.y)
equations = s.derive()
library = ctypes.CDLL(None)
library.mmap.restype = ctypes.c_void_p
library.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
kept, found = [], set()
for i in range(60):  # PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE: addresses alone, no memory
    library.mmap(None, 3 << 30 if i % 2 else 4096, 0, 0x4022, -1, 0)
    kept.append(equations.compile())
    found.add(tuple(kept[-1].derivatives(0.0, [0.1, 0.2, 0.3, 0.4])))
assert len(found) == 1
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="addresses are taken by Linux's mmap")
def test_code_and_its_constants_may_lie_far_apart():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-500:]
