"""The layout of the record with which loops are closed: eight bytes per field."""

from __future__ import annotations

from armillary.solver.language.translator import VECTORS as KINDS
from armillary.solver.language.translator import loop_fields

LOOP_FEATURES = ("AGREEMENT", "UNITS")
_FIELDS = {f.name: f.type for f in loop_fields(LOOP_FEATURES)}
REALS = tuple(name for name, kind in _FIELDS.items() if kind == "real")
SIZES = (
    *("N_COORDINATES", "N_SPEEDS", "N_GAPS", "N_ROWS", "N_ELEMENTS", "N_RATES", "N_UNITS"),
    *("N_JACOBIAN", "N_RATE_PLACES", "AT_JACOBIAN", "AT_RATES", "AT_SIZES"),
    # lengths: numbers of the geometry (each is scaled); these and the sizes of gaps; right sides of equations
    *("scaled", "figures", "sides"),
)
WHOLES = (
    "patience",  # evaluations of the geometry that are left; after them gaps are NaN, which ends the search
    *(name for name, kind in _FIELDS.items() if kind == "whole"),
    *("redundant", *SIZES),
    "agreeing",  # whether speeds are adjusted, too
)
# Offsets of the system's tables, and of the vectors of the workspace by kind.
TABLES = (
    *("ELEMENT_ROW", "ELEMENT_SPEED", "RATE_PLACE", "RATE_SPEED", "UNIT_FROM", "KNOWN_OF"),
    *("DEPENDENT", "HOLDING", "DEPENDENT_SPEED", "HOLDING_SPEED", "IS_KEPT"),
)
WHOLE_TABLES = TABLES[:6]
VECTORS = {name: kind for name, kind in _FIELDS.items() if kind in KINDS}
# Addresses of data outside the record: the tables; the function of the geometry; its constants and memory;
# ``scales`` (factors of the numbers of the geometry, then sizes of speeds and of gaps); coordinates and
# speeds, which are changed; flags of given coordinates; the gaps that are left.
ADDRESSES = ("tables", "geometry", "constants", "memory", "scales", "q", "u", "flags", "left_over")
FIELDS = {name: k for k, name in enumerate((*REALS, *WHOLES, *TABLES, *VECTORS, *ADDRESSES))}
