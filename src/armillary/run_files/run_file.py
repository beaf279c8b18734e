"""Run files: which model, which values, how to integrate, what to keep; and their JSON schema.

    model = "car.toml"              # relative to this file; or the name of an example
    title = "step steer"

    [parameters]                    # a number in the parameter's own units, or text with others
    SPEED = "55 mile/hour"

    [initial]                       # coordinates and speeds at the start
    "RB.q1" = "1 deg"

    [inputs]                        # signals from outside;  [memory]: other memories at the start
    steer = 0.02                    # or data over time: see resolve.py
    road = "road.csv"

    [user]                          # data for a function of the user's: see arm.run(…, on_input=…)
    tyre = "soft"

    [run]
    duration = 2.0
    step = 0.025
    method = "midpoint"

    [output]
    file = "step.nc"
    select = ["r", "Ay", "RB.*"]

    [linearize]                     # options of a command, here of `armillary linearize`
    inputs = ["STEER"]

A run file is data: nothing in it is executed. Its own form is checked here, its values against the model in
`resolve.py`. Editors use the JSON schema to complete and check run files.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from armillary.errors import ArmillaryError, shorten_message, shown, suggestion
from armillary.files.model.documents import SCHEMA_VERSION, Document, read_document
from armillary.model.reading.kinds import (
    ANY_TABLE,
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
    TableOf,
    choice,
)
from armillary.model.signals import INTERPOLATIONS
from armillary.settings import RUN_TABLE
from armillary.untyped import DataTable, Given

TABLES = ("parameters", "initial", "inputs", "memory", "user", "run", "output")
# Tables with options of commands.
ANALYSES = ("trim", "linearize", "bode", "modes", "sweep", "solve", "inverse")
COMMAND_LINE = "command line"


def _table_of_values(about: str) -> Kind:
    # A dotted name may be a table in a table: RB.q1 = 1 is the same as "RB.q1" = 1.
    return Described(TableOf(Either((QUANTITY, ANY_TABLE))), about)


SELECTED = Either((WORDS, ListOf(WORDS)))
_OUTPUT = KeyedTable(
    "the results",
    {
        "file": Described(WORDS, "results: .csv, .nc, .parquet or .erd"),
        "select": Described(SELECTED, "outputs to keep, by name or pattern; all if left out"),
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
        ANY_TABLE,
    )
)
RUN_FILE = KeyedTable(
    "a run file",
    {
        "model": Described(WORDS, "model file, relative to this one, or an example"),
        "title": WORDS,
        "parameters": _table_of_values("numbers in the parameters' own units, or text with others"),
        "initial": _table_of_values("coordinates and speeds at the start"),
        "inputs": Described(TableOf(_INPUT), "signals from outside: constants, or data over time"),
        "memory": _table_of_values("memories at the start"),
        "user": Described(ANY_TABLE, "data for the user's own function on_input"),
        "run": KeyedTable("the settings of the run", {key: s.file_kind for key, s in RUN_TABLE.items()}),
        "output": _OUTPUT,
        **{name: Described(ANY_TABLE, f"options of armillary {name}") for name in ANALYSES},
    },
    ("model",),
)
# Tables of fixed keys, with these keys.
FIXED = {name: tuple(kind.fields) for name, kind in RUN_FILE.fields.items() if isinstance(kind, KeyedTable)}


class RunFileError(ArmillaryError):
    """Errors in a run file: one sentence for each problem, with its file and line."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(shorten_message(problem) for problem in problems)
        super().__init__("\n".join(self.problems))

    def __reduce__(self) -> tuple[object, ...]:
        return RunFileError, (self.problems,)


class SourcedValue(NamedTuple):
    """A value as written, and where: "step.toml:5", "command line"."""

    value: Given
    source: str


@dataclass(frozen=True)
class RunFile:
    """The content of a run file, as written; made by `RunFile.read`, or by `RunFile.of_model`.

    file = RunFile.read("step.toml")
    Simulation(file).run()                                          the run that it describes
    Simulation(file.setting({"SPEED": "60 mile/hour"})).run()       another one
    """

    model: str
    folder: Path  # paths in the file are relative to it
    stem: str  # name of its results
    title: str = ""
    source: str = ""
    model_source: str = ""  # the line that names the model
    parameters: Mapping[str, SourcedValue] = field(default_factory=dict)
    initial: Mapping[str, SourcedValue] = field(default_factory=dict)
    inputs: Mapping[str, SourcedValue] = field(default_factory=dict)
    memory: Mapping[str, SourcedValue] = field(default_factory=dict)
    user: Mapping[str, SourcedValue] = field(default_factory=dict)
    settings: Mapping[str, SourcedValue] = field(default_factory=dict)
    output: Mapping[str, SourcedValue] = field(default_factory=dict)
    problems: tuple[str, ...] = ()  # errors in the file's form: unknown keys, wrong kinds of values

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> RunFile:
        """Read the run file at a path; faults of its keys raise errors when it runs."""
        return cls.of_document(read_document(path, "run file"))

    @classmethod
    def of_document(cls, document: Document) -> RunFile:
        """Return the run file in a TOML document."""
        content, problems = document.data, _form_problems(document)
        if not isinstance(content.get("model"), str):
            raise RunFileError(problems)

        def entries(table: str) -> dict[str, SourcedValue]:
            found = content.get(table, {})
            known: Collection[str] = FIXED.get(table) or found
            sound = {k: v for k, v in found.items() if k in known} if isinstance(found, dict) else {}
            values = by_dotted_name(sound, lambda name: table not in FIXED and table != "inputs")
            return {
                name: SourcedValue(value, where(document, table, *keys))
                for name, (keys, value) in values.items()
            }

        return cls(
            model=content["model"],
            folder=document.path.parent,
            stem=document.path.stem,
            title=str(content.get("title", "")),
            source=str(document.path),
            model_source=where(document, "model"),
            parameters=entries("parameters"),
            initial=entries("initial"),
            inputs=entries("inputs"),
            memory=entries("memory"),
            user=entries("user"),
            settings=entries("run"),
            output=entries("output"),
            problems=tuple(problems),
        )

    @classmethod
    def of_model(cls, model: str | os.PathLike[str]) -> RunFile:
        """Return a run file that only names a model, or an example; results go to the current folder."""
        return cls(model=str(model), folder=Path(), stem=Path(model).stem)

    def setting(self, settings: Mapping[str, object], source: str = "override") -> RunFile:
        """Return a copy with other values: parameters by name, others as "initial.A.q1", "run.step", …"""
        changed = {table: dict(getattr(self, _ATTRIBUTES[table])) for table in TABLES}
        problems = []
        for name, value in settings.items():
            table, key = _split_address(name)
            known = FIXED.get(table)
            if known is not None and key not in known:
                problems.append(f"{source}: there is no setting '{table}.{key}'{suggestion(key, known)}")
            if table == "output" and key == "select" and isinstance(value, str):
                value = [part.strip() for part in value.split(",") if part.strip()]
            changed[table][key] = SourcedValue(value, source)
        if problems:
            raise RunFileError(problems)
        tables: DataTable = {_ATTRIBUTES[table]: values for table, values in changed.items()}
        return replace(self, **tables)

    def under(self, other: RunFile) -> RunFile:
        """Return a copy with the values of another run file, which replace values of the same name."""
        attributes = _ATTRIBUTES.values()
        both: DataTable = {a: {**getattr(self, a), **getattr(other, a)} for a in attributes}
        return replace(self, **both)


_ATTRIBUTES = {table: table for table in TABLES} | {"run": "settings"}


def parse_setting(text: str) -> tuple[str, Given]:
    """Return the name and value of "SPEED=60 mile/hour" or "run.step=1e-3"; the value becomes a number,
    true or false if the text is one of these, and stays text otherwise.
    """
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise ArmillaryError(
            f'--set {shown(text)}: write NAME=VALUE, e.g. --set SPEED="60 mile/hour" or --set run.step=1e-3'
        )
    return name.strip(), _parse_setting(value.strip())


def _parse_setting(text: str) -> Given:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    if text in ("true", "false"):
        return text == "true"
    return text.strip("\"'") if text[:1] == text[-1:] and text[:1] in ("'", '"') else text


def _split_address(name: str) -> tuple[str, str]:
    """Return the table and key of a setting's name; without a table it is a parameter."""
    head, dot, rest = name.partition(".")
    table = {"input": "inputs", "parameter": "parameters", "memories": "memory"}.get(head, head)
    return (table, rest) if dot and table in TABLES and rest else ("parameters", name)


# --------------------------------------------------------------------------------------------- its own form


def _form_problems(document: Document) -> list[str]:
    """Return errors in a run file that do not depend on its model: keys and the kinds of their values."""
    content, found = document.data, key_problems(document, RUN_FILE)
    if "model" not in content:
        found.append(f'{where(document)}: which model? begin with a line such as model = "car.toml"')
    for key in ("model", "title"):
        if key in content and not isinstance(content[key], str):
            found.append(f"{where(document, key)}: {key} must be text, not {shown(content[key])}")
    return found


def key_problems(document: Document, kind: KeyedTable) -> list[str]:
    """Return errors for unknown keys of a file and of its tables of fixed keys, and for entries that should
    be tables and are not.
    """
    found = [
        f"{where(document, key)}: unknown key '{key}'{suggestion(key, kind.fields)}"
        for key in document.data
        if key not in kind.fields
    ]
    for key, value in document.data.items():
        known = kind.fields.get(key)
        if known is None or known.schema().get("type") != "object":
            continue
        elif not isinstance(value, dict):
            found.append(f"{where(document, key)}: {key} must be a table, [{key}], not {shown(value)}")
        elif isinstance(known, KeyedTable):
            for name in value:
                if name not in known.fields:
                    place, near = where(document, key, name), suggestion(name, known.fields)
                    found.append(f"{place}: unknown key '{name}' in [{key}]{near}")
    return found


def where(document: Document, *keys: str) -> str:
    """Return the file and line of an entry."""
    line = document.line(*keys)
    return f"{document.path}:{line}" if line else str(document.path)


def by_dotted_name(
    values: Mapping[str, object], nested: Callable[[str], bool], prefix: tuple[str, ...] = ()
) -> dict[str, tuple[tuple[str, ...], Given]]:
    """Return keys and values by dotted name, so that RB.q1 = 1 is the same as "RB.q1" = 1; a table whose name
    is ``nested`` holds further names.
    """
    found: dict[str, tuple[tuple[str, ...], Given]] = {}
    for key, value in values.items():
        keys = (*prefix, key)
        if isinstance(value, dict) and nested(".".join(keys)):
            found |= by_dotted_name(value, nested, keys)
        else:
            found[".".join(keys)] = (keys, value)
    return found


def run_schema() -> DataTable:
    """Return the schema of run files."""
    return {"$schema": SCHEMA_VERSION, "title": "Armillary run file", **RUN_FILE.schema()}
