"""Settings shared by all tests: no screen, and property tests that repeat themselves exactly."""

from __future__ import annotations

import os

# Before NumPy is imported: the tests share the cores already, and threads that wait for each other cost most.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ["MPLBACKEND"] = "Agg"
# Every test compiles for itself; those of the cache name a folder of their own.
os.environ["ARMILLARY_CACHE"] = "off"

from hypothesis import settings

# No deadline: the first call of a compiled model pays for its compilation, and test machines are shared.
# Derandomised: a red run must be red again when someone looks at it.
settings.register_profile("armillary", deadline=None, derandomize=True)
settings.load_profile("armillary")
