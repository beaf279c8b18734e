"""The tables of configurations, each declared once: its name, its entries, and where an entry stands.

Compiled loops hold the tables in one array of reals (llvm/layout.py); exported programs have one array for
each table, written by the printer of the language. Functions of the solver (in the language of
solver/language) write the names of tables in capitals. The entries are computed by
runtime/models/run_changes.py and export/text/configurations.py.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from armillary.solver.thresholds import LOOKS

# Of the step across a singular configuration (dop853): the number of rates that are kept, the index of the
# rate at the end, and the number of dense-output coefficients after the cubic polynomial.
STAGES, AT_END, NESTS = 16, 12, 4


class Table(NamedTuple):
    """A table has an array of entries with the lengths ``sizes`` for every configuration; a ``common`` table
    has one array for all configurations. ``kind`` is "whole", "truth", "real", or "index" (which starts at
    the first index of the language). If ``present``, the solver indexes the row of the present configuration,
    else the whole table.
    """

    name: str
    kind: str
    sizes: tuple[str, ...] = ()
    present: bool = False
    common: bool = False
    # Users: "process": compiled loops only; "passing": programs that pass singular configurations; "": all
    # programs that change configuration.
    of: str = ""

    @property
    def word(self) -> str:
        """The name of the table in functions of the solver: in capitals."""
        return self.name.upper()

    def length(self, sizes: dict[str, int], configurations: int) -> int:
        """Return the number of entries."""
        return prod(sizes[name] for name in self.sizes) * (1 if self.common else configurations)


_ACROSS = {
    "stage_time": (STAGES,), "stage_weight": (STAGES, STAGES), "error_weight": (STAGES,),
    "low_error_weight": (STAGES,), "nest_weight": (NESTS, STAGES), "look": (len(LOOKS),),
    "gauss_time": (NESTS,), "gauss_weight": (NESTS, NESTS), "gauss_end": (NESTS,),
    "gauss_first_rate": (NESTS,), "gauss_last_rate": (NESTS,), "gauss_nest": (NESTS,),
}  # fmt: skip
# Tables of the step across a singular configuration, and their lengths: reals, the same for all systems.
ACROSS = {name: prod(lengths) for name, lengths in _ACROSS.items()}

_EVENTS, _LOCKS = ("events",), ("own_events", "lockable")
TABLES = (
    Table("role", "whole", _EVENTS, present=True),
    Table("direction", "whole", _EVENTS, present=True),
    Table("stops", "truth", _EVENTS, present=True),
    Table("lands", "truth", _EVENTS, present=True),
    Table("recloses", "truth", _EVENTS, present=True, of="process"),
    Table("locked_in", "truth", ("lockable",)),
    Table("used_states", "whole"),
    Table("watched_events", "whole"),
    Table("strikes", "truth"),
    Table("choice_event", "index"),
    Table("rank_event", "index"),
    Table("is_modal", "truth", ("speeds",), common=True, of="process"),
    Table("group_size", "whole"),
    Table("member", "index", ("members",)),
    Table("locks", "truth", _LOCKS, common=True),
    Table("unlocks", "truth", _LOCKS, common=True),
    Table("elements", "whole", of="passing"),
    Table("first_element", "whole", of="passing"),
    Table("row_of", "index", ("elements",), present=True, of="passing"),
    Table("speed_of", "index", ("elements",), present=True, of="passing"),
    Table("speed_of_row", "index", ("rows",), present=True, of="passing"),
    Table("row_of_step", "index", ("rows",), of="process"),
    Table("speed_of_step", "index", ("rows",), of="process"),
    Table("speed_kind", "index", ("speeds",), common=True, of="passing"),
    Table("sets", "truth", _LOCKS, common=True),
    Table("moves", "truth", _LOCKS, common=True),
    Table("setting_event", "index", ("settings",), common=True),
    Table("setting_speed", "index", ("settings",), common=True),
    Table("setting_acts", "truth", ("settings",), present=True),
    Table("state_size", "real", ("own_motion",), present=True),
    Table("turns_rows", "real", ("own_motion",), present=True),
    Table("near_place", "whole", _EVENTS, present=True, of="passing"),
)
TRUTHS = (*(t.word for t in TABLES if t.kind == "truth" and t.of != "process"), "AT_END")
INDICES = tuple(t.word for t in TABLES if t.kind == "index")
OF_PASSING = tuple(t for t in TABLES if t.of == "passing" and not t.common and t.name != "first_element")
EXPORTED = (*(t.word for t in TABLES if t.of != "process"), *(name.upper() for name in ACROSS), "AT_END")
# For each word that reads the present configuration: the table and the size of its rows.
PRESENT = {t.word: (t.word, f"N_{t.sizes[0].upper()}") for t in TABLES if t.present}
PRESENT["LOCKED"] = "LOCKED_IN", "N_LOCKABLE"
