"""Where the compiled code that closes loops finds its numbers: a record with eight bytes per field."""

from __future__ import annotations

from armillary.solver.language.translator import VECTORS as KINDS
from armillary.solver.language.translator import loop_fields

LOOP_FEATURES = ("AGREEMENT", "UNITS")
_FIELDS = {f.name: f.type for f in loop_fields(LOOP_FEATURES)}
REALS = tuple(name for name, kind in _FIELDS.items() if kind == "real")
SIZES = (
    *("N_COORDINATES", "N_SPEEDS", "N_GAPS", "N_ROWS", "N_ELEMENTS", "N_RATES", "N_UNITS"),
    *("N_JACOBIAN", "N_RATE_PLACES", "AT_JACOBIAN", "AT_RATES", "AT_SIZES"),
    *("scaled", "figures", "sides"),  # figures that the geometry gives, and with the sizes of gaps; equations
)
WHOLES = (
    "patience",  # looks at the geometry that are left: without any, gaps are not numbers, and this ends soon
    *(name for name, kind in _FIELDS.items() if kind == "whole"),
    *("redundant", *SIZES),
    "agreeing",  # whether speeds are found, too
)
# Tables of the system, and vectors of the workspace by kind: fields that say where they begin.
TABLES = (
    *("ELEMENT_ROW", "ELEMENT_SPEED", "RATE_PLACE", "RATE_SPEED", "UNIT_FROM", "KNOWN_OF"),
    *("DEPENDENT", "HOLDING", "DEPENDENT_SPEED", "HOLDING_SPEED", "IS_KEPT"),
)
WHOLE_TABLES = TABLES[:6]
VECTORS = {name: kind for name, kind in _FIELDS.items() if kind in KINDS}
# Outside: the tables, the function of the geometry and what it takes; factors of figures, sizes of speeds and
# of gaps; coordinates and speeds, which are changed; what of both is given; what remains where that fails.
ADDRESSES = ("tables", "geometry", "constants", "memory", "scales", "q", "u", "flags", "left_over")
FIELDS = {name: k for k, name in enumerate((*REALS, *WHOLES, *TABLES, *VECTORS, *ADDRESSES))}
