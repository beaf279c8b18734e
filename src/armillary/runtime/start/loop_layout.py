"""Where the compiled code that closes loops finds its numbers: a record with eight bytes per field."""

from __future__ import annotations

REALS = ("t", "least", "seed", "chance")
SIZES = (
    *("N_COORDINATES", "N_SPEEDS", "N_GAPS", "N_ROWS", "N_ELEMENTS", "N_RATES", "N_UNITS"),
    *("N_JACOBIAN", "N_RATE_PLACES", "AT_JACOBIAN", "AT_RATES", "AT_SIZES"),
    *("scaled", "figures"),  # figures that the geometry gives, and with the sizes of gaps
)
WHOLES = (
    "patience",  # looks at the geometry that are left: without any, gaps are not numbers, and this ends soon
    *("status", "active", "redundant", *SIZES),
    "agreeing",  # whether speeds are found, too
)
# Tables of the system, and vectors of the workspace by the size of each: fields that say where they begin.
TABLES = (
    *("ELEMENT_ROW", "ELEMENT_SPEED", "RATE_PLACE", "RATE_SPEED", "UNIT_FROM", "KNOWN_OF"),
    *("DEPENDENT", "HOLDING", "DEPENDENT_SPEED", "HOLDING_SPEED", "IS_KEPT"),
)
WHOLE_TABLES = TABLES[:6]
VECTORS = {
    **dict.fromkeys(("start", "place", "moved", "best", "found", "reach"), "states"),
    **dict.fromkeys(("given", "held"), "N_COORDINATES"),
    **dict.fromkeys(("moving", "step", "speed", "change", "fixed", "solution", "lower"), "N_SPEEDS"),
    **dict.fromkeys(("numbers", "there"), "figures"),
    "jacobian": "N_JACOBIAN", "rates": "N_RATE_PLACES",
    "left": "equations", "right": "sides", "residual": "N_ROWS",
    **dict.fromkeys(("basis", "inverse"), "square"),
}  # fmt: skip
# Outside: the tables, the function of the geometry and what it takes; factors of figures, sizes of speeds and
# of gaps; coordinates and speeds, which are changed; what of both is given; what remains where that fails.
ADDRESSES = ("tables", "geometry", "constants", "memory", "scales", "q", "u", "flags", "left_over")
FIELDS = {name: k for k, name in enumerate((*REALS, *WHOLES, *TABLES, *VECTORS, *ADDRESSES))}
