"""The JSON schema of study files, for editors that complete and check them."""

from __future__ import annotations

from armillary.files.model.sections import SCHEMA_VERSION
from armillary.model.reading.kinds import (
    NUMBER,
    QUANTITY,
    WORDS,
    Described,
    Either,
    KeyedTable,
    Kind,
    ListOf,
    TableKind,
    TableOf,
)
from armillary.run_files.run_file import RUN_FILE, SELECTED
from armillary.studies.study_files.study_file import STUDY_TABLE
from armillary.untyped import DataTable

_NUMBER = Described(QUANTITY, QUANTITY.words, [1000, "55 mile/hour"])
_UNITS: dict[str, Kind] = {"units": Described(WORDS, "of the numbers, where they bring none themselves")}
_METRICS = ["maximum(r)", "crossing(r, 8, rising)", "histogram(r, 0, 20, 40)"]


def _distribution(word: str, *numbers: str, bounded: bool = False) -> KeyedTable:
    listed = Described(ListOf(_NUMBER, len(numbers)), ", ".join(numbers))
    bounds: dict[str, Kind] = {"low": _NUMBER, "high": _NUMBER} if bounded else {}
    return KeyedTable(f"a distribution, {word}", {word: listed, **bounds, **_UNITS}, (word,))


_VARIED = Either((
    _distribution("uniform", "low", "high"),
    _distribution("normal", "mean", "sd", bounded=True),
    _distribution("lognormal", "median", "sigma", bounded=True),
    _distribution("triangular", "low", "mode", "high"),
    KeyedTable(
        "one of several values",
        {
            "choice": Described(ListOf(_NUMBER), "the values", minItems=1),
            "weights": ListOf(Described(NUMBER, "how often", minimum=0)),
            **_UNITS,
        },
        ("choice",),
    ),
    KeyedTable(
        "quantities that vary together",
        {
            "correlated": Described(TableKind(), "distributions by name"),
            "correlation": Described(ListOf(ListOf(NUMBER)), "matrix of correlations between -1 and 1"),
        },
        ("correlated", "correlation"),
    ),
    Described(ListOf(_NUMBER), "values, equally likely", minItems=1),
    Described(TableKind(), "further names: RB.q1 = … is the same as \"RB.q1\" = …"),
))  # fmt: skip
_STUDY_FILE = KeyedTable(
    "a study file",
    {
        **RUN_FILE.fields,
        "output": KeyedTable(
            "the results", {"select": Described(SELECTED, "outputs whose histories are kept too")}
        ),
        "vary": Described(
            TableOf(_VARIED), "parameters and initial values with their distributions", minProperties=1
        ),
        "metrics": Described(
            TableOf(Described(Either((WORDS, TableKind())), "of the output in brackets", _METRICS)),
            "numbers kept of each run, by name",
        ),
        "study": STUDY_TABLE,
    },
    ("model", "vary"),
)


def study_schema() -> DataTable:
    """The schema of study files: that of run files, and what varies."""
    return {"$schema": SCHEMA_VERSION, "title": "Armillary study file", **_STUDY_FILE.schema()}
