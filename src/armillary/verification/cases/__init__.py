"""The cases, by subject: checks as data, and functions that measure them in turn."""

from __future__ import annotations

from armillary.verification.cases import (
    beams,
    closed_forms,
    impact_maps,
    impacts,
    jpl,
    mechanisms,
    momentum,
    moving_base,
    optimal_motions,
    spacecraft,
    stanford_arm,
    vehicles,
)
from armillary.verification.rows import Case

_FILES = (
    stanford_arm, spacecraft, jpl, momentum, vehicles, mechanisms, beams, moving_base, closed_forms, impacts,
    impact_maps, optimal_motions,
)  # fmt: skip

CASES: dict[str, Case] = {case.name: case for file in _FILES for case in file.CASES}
