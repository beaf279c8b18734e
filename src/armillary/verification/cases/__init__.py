"""The cases, by subject: functions that measure numbers in turn, each with its checks."""

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
from armillary.verification.rows import PUBLISHED, Case

_FILES = (
    stanford_arm, spacecraft, jpl, momentum, vehicles, mechanisms, beams, moving_base, closed_forms, impacts,
    impact_maps, optimal_motions,
)  # fmt: skip

CASES: dict[str, Case] = {
    case.name: case for file in _FILES for case in PUBLISHED if case.measure.__module__ == file.__name__
}
