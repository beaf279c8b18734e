"""The published cases, by subject: each is a function that yields numbers, with one check for each number."""

from __future__ import annotations

from armillary.verification.cases import (
    beams,
    closed_forms,
    impact_maps,
    impacts,
    mechanisms,
    momentum,
    moving_base,
    spacecraft,
    vehicles,
)
from armillary.verification.rows import PUBLISHED, Case

_FILES = (
    mechanisms, spacecraft, momentum, vehicles, beams, moving_base, closed_forms, impacts, impact_maps,
)  # fmt: skip

CASES: dict[str, Case] = {
    case.name: case for file in _FILES for case in PUBLISHED if case.measure.__module__ == file.__name__
}
