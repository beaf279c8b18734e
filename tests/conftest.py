"""Settings shared by all tests: no screen, and property tests that repeat themselves exactly."""

from __future__ import annotations

import os

from hypothesis import settings

os.environ["MPLBACKEND"] = "Agg"

# No deadline: the first call of a compiled model pays for its compilation, and test machines are shared.
# Derandomised: a red run must be red again when someone looks at it.
settings.register_profile("armillary", deadline=None, derandomize=True)
settings.load_profile("armillary")
