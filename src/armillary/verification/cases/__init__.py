"""The cases, each in one file: checks as data, and a function that measures them in turn."""

from __future__ import annotations

from armillary.verification.cases import (
    basilisk,
    beams,
    bicycle,
    bowling_ball,
    car,
    cart,
    closed_forms,
    contact,
    elastica,
    flexible_slider_crank,
    four_bar,
    impact_maps,
    impacts,
    ivp,
    jpl,
    mechanisms,
    momentum,
    moving_base,
    optimal_motions,
    rolling,
    rotation,
    shafts,
    spacecraft_1,
    spacecraft_2,
    stanford_arm,
)
from armillary.verification.rows import Case

_FILES = (
    stanford_arm, spacecraft_1, spacecraft_2, car, cart, four_bar, jpl, momentum, basilisk, bowling_ball,
    bicycle, beams, shafts, moving_base, elastica, rolling, closed_forms, rotation, mechanisms, contact, ivp,
    flexible_slider_crank, impacts, impact_maps, optimal_motions,
)  # fmt: skip

CASES: dict[str, Case] = {case.name: case for file in _FILES for case in file.CASES}
