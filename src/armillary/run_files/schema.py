"""The JSON schema of run files, for editors that complete and check them."""

from __future__ import annotations

from armillary.files.model.schema import SCHEMA_VERSION
from armillary.model.reading.kinds import (
    COUNT,
    NUMBER,
    PATH,
    QUANTITY,
    UNITS,
    WORDS,
    Described,
    Either,
    KeyedTable,
    Kind,
    ListOf,
    TableKind,
    TableOf,
    choice,
)
from armillary.model.signals.signals import INTERPOLATIONS
from armillary.run_files.run_file import ANALYSES
from armillary.settings import RUN_TABLE
from armillary.untyped import DataTable


def _values(about: str) -> Kind:
    # A dotted name may be a table in a table: RB.q1 = 1 is the same as "RB.q1" = 1.
    return Described(TableOf(Either((QUANTITY, TableKind()))), about)


SELECTED = Either((WORDS, ListOf(WORDS)))
_OUTPUT = KeyedTable(
    "the results",
    {
        "file": Described(WORDS, "results: .csv, .nc, .parquet or .erd"),
        "select": Described(SELECTED, "outputs to keep, by name or pattern; all where left out"),
    },
)
_COLUMN = Either((WORDS, COUNT))
_DATA: dict[str, Kind] = {"units": UNITS, "interpolation": choice(*INTERPOLATIONS)}
_INPUT = Either(
    (
        QUANTITY,
        KeyedTable(
            "columns of a file", {"file": PATH, "time": _COLUMN, "column": _COLUMN, **_DATA}, ("file",)
        ),
        KeyedTable("points", {"t": ListOf(NUMBER), "y": ListOf(NUMBER), **_DATA}, ("t", "y")),
        TableKind(),
    )
)
RUN_FILE = KeyedTable(
    "a run file",
    {
        "model": Described(WORDS, "model file, relative to this one, or an example"),
        "title": WORDS,
        "parameters": _values("numbers in the parameters' own units, or text with others"),
        "initial": _values("coordinates and speeds at the start"),
        "inputs": Described(TableOf(_INPUT), "signals from outside: constants, or data over time"),
        "memory": _values("memories at the start"),
        "user": Described(TableKind(), "data for the user's own function on_input"),
        "run": KeyedTable("the settings of the run", {key: s.file_kind for key, s in RUN_TABLE.items()}),
        "output": _OUTPUT,
        **{name: Described(TableKind(), f"options of armillary {name}") for name in ANALYSES},
    },
    ("model",),
)


def run_schema() -> DataTable:
    """The schema of run files."""
    return {"$schema": SCHEMA_VERSION, "title": "Armillary run file", **RUN_FILE.schema()}
