"""Variations of a study: distributions of parameters and initial values, and designs of runs.

Enters: names and their distributions, the kind of design, a number of runs, a seed. Leaves: `Design`, which
returns the values of any block of runs. Read `design.py` first, then `distributions.py`; `points.py` holds
the kinds of design, and random numbers that are computed from their position.
"""

from __future__ import annotations

from armillary.studies.sampling.design import KINDS, OPEN_ENDED, Correlated, Design
from armillary.studies.sampling.distributions import (
    Choice,
    Distribution,
    LogNormal,
    Normal,
    Triangular,
    Uniform,
)

__all__ = [
    "KINDS", "OPEN_ENDED", "Choice", "Correlated", "Design", "Distribution", "LogNormal", "Normal",
    "Triangular", "Uniform",
]  # fmt: skip
