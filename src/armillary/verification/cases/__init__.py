"""The cases, each in a file of its own: checks as data, and a function that measures them in turn."""

from __future__ import annotations

from armillary.verification.cases import (
    bicycle,
    bowling_ball,
    closed_forms,
    contact,
    impact_maps,
    impacts,
    ivp,
    mechanisms,
    rolling,
    rotation,
)
from armillary.verification.cases.flexible import beams, elastica, flexible_slider_crank, moving_base, shafts
from armillary.verification.cases.published import (
    basilisk,
    car,
    cart,
    four_bar,
    jpl,
    momentum,
    spacecraft_1,
    spacecraft_2,
    stanford_arm,
)
from armillary.verification.rows import Case

_FILES = (
    stanford_arm, spacecraft_1, spacecraft_2, car, cart, four_bar, jpl, momentum, basilisk, bowling_ball,
    bicycle, beams, shafts, moving_base, elastica, rolling, closed_forms, rotation, mechanisms, contact, ivp,
    flexible_slider_crank, impacts, impact_maps,
)  # fmt: skip

CASES: dict[str, Case] = {case.name: case for file in _FILES for case in file.CASES}
