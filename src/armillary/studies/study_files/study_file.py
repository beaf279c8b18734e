"""Study files: a run file, and what varies, what is kept of each run, and how many runs there are.

    model = "car.toml"              # all that a run file has: parameters, initial, run, …
    [run]
    duration = 2.0
    step = 0.005

    [vary]                          # parameters and initial values, as distributions or lists
    CA1 = { normal = [-444, 30] }
    SPEED = { uniform = ["40 mile/hour", "70 mile/hour"] }

    [metrics]                       # numbers kept of each run
    peak = "maximum(r)"

    [output]
    select = ["r"]                  # outputs whose histories are kept too; none where it is left out

    [study]
    design = "sobol"
    runs = 8192
    seed = 1
    folder = "studies/car"          # relative to this file; its own name where it is left out

A study file is data: nothing in it is executed. Its own form is checked here, its values against the model in
`study_setup.py`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from armillary.ensembles.metrics import read_metric
from armillary.errors import ArmillaryError
from armillary.files.model.documents import Document, read_document
from armillary.model.kinds import shown
from armillary.run_files.run_file import TABLES as RUN_TABLES
from armillary.run_files.run_file import Entry, RunFile, RunFileError, flat, instead, where
from armillary.studies.sampling import KINDS

TABLES = ("vary", "metrics", "study")
STUDY_KEYS = ("design", "runs", "seed", "levels", "second_order", "block", "watch", "precision", "folder")
_RUN_KEYS = ("model", "title", *RUN_TABLES)


@dataclass(frozen=True)
class StudyFile:
    """The content of a study file, as written; made by `StudyFile.read`.

    StudySetup(StudyFile.read("car.toml")).study().run()
    """

    run: RunFile  # the model, and how each run is made
    document: Document  # for the lines of what varies, whose names only the model tells
    vary: Mapping[str, Any] = field(default_factory=dict)
    metrics: Mapping[str, Entry] = field(default_factory=dict)
    settings: Mapping[str, Entry] = field(default_factory=dict)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> StudyFile:
        """The study file at a path; what is wrong with it is told with its values, when it is run."""
        document = read_document(path, "study file")
        if "bodies" in document.data and "model" not in document.data:
            raise ArmillaryError(
                f"'{os.fspath(path)}' is a model; a study file names it, model = \"{Path(path).name}\", and "
                "says what varies: armillary examples show car_study"
            )
        return cls.of_document(document)

    @classmethod
    def of_document(cls, document: Document) -> StudyFile:
        """The study file in a TOML document."""
        content, problems = document.data, _form_problems(document)
        run = RunFile.of_document(
            replace(document, data={key: value for key, value in content.items() if key in _RUN_KEYS})
        )
        tables = {name: content[name] if isinstance(content.get(name), dict) else {} for name in TABLES}

        def entries(table: str, nested: bool) -> dict[str, Entry]:
            values = flat(tables[table], lambda name: nested)
            return {name: Entry(v, where(document, table, *keys)) for name, (keys, v) in values.items()}

        file = cls(
            run=run,
            document=document,
            vary=tables["vary"],
            metrics=entries("metrics", nested=True),
            settings={n: entry for n, entry in entries("study", nested=False).items() if n in STUDY_KEYS},
        )
        problems += [*_metric_problems(file.metrics), *_setting_problems(file.settings)]
        return replace(file, run=replace(run, problems=(*problems, *run.problems)))

    def setting(self, settings: Mapping[str, Any], source: str = "override") -> StudyFile:
        """The same with other values: "study.runs", "study.seed", …, and all that `RunFile.setting` knows."""
        own = {name.removeprefix("study."): v for name, v in settings.items() if name.startswith("study.")}
        problems = [
            f"{source}: there is no setting 'study.{name}'{instead(name, STUDY_KEYS)}"
            for name in own
            if name not in STUDY_KEYS
        ]
        changed = {name: Entry(value, source) for name, value in own.items()}
        if problems := problems + _setting_problems(changed):
            raise RunFileError(problems)
        others = {name: value for name, value in settings.items() if not name.startswith("study.")}
        return replace(
            self,
            run=self.run.setting(others, source) if others else self.run,
            settings={**self.settings, **changed},
        )


def _form_problems(document: Document) -> list[str]:
    """What is wrong with its keys, whatever its model."""
    content, known = document.data, (*_RUN_KEYS, *TABLES)
    found = [
        f"{where(document, key)}: unknown key '{key}'{instead(key, known)}"
        for key in content
        if key not in known
    ]
    for table in TABLES:
        if not isinstance(content.get(table, {}), dict):
            told = f"{table} must be a table, [{table}], not {shown(content[table])}"
            found.append(f"{where(document, table)}: {told}")
    if not content.get("vary"):
        told = 'what varies? give [vary] with lines such as SPEED = { uniform = ["10 m/s", "20 m/s"] }'
        found.append(f"{where(document, 'vary')}: {told}")
    own = content.get("study", {})
    for key in own if isinstance(own, dict) else ():
        if key not in STUDY_KEYS:
            told = f"unknown key '{key}' in [study]{instead(key, STUDY_KEYS)}"
            found.append(f"{where(document, 'study', key)}: {told}")
    output = content.get("output", {})
    if isinstance(output, dict) and "file" in output:
        told = "a study's results go to a folder: give [study] folder instead"
        found.append(f"{where(document, 'output', 'file')}: {told}")
    return found


def _metric_problems(metrics: Mapping[str, Entry]) -> list[str]:
    found = []
    for name, entry in metrics.items():
        if not isinstance(entry.value, str):
            told = f"metric '{name}' must be text such as \"maximum(r)\", not {shown(entry.value)}"
            found.append(f"{entry.source}: {told}")
            continue
        try:
            read_metric(entry.value)
        except ArmillaryError as error:
            found.append(f"{entry.source}: metric '{name}': {error}")
    return found


def _whole(least: int) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= least


_KINDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "design": (lambda value: isinstance(value, str), "must be text"),
    "runs": (_whole(1), "must be a whole number, at least 1"),
    "seed": (_whole(0), "must be a whole number, at least 0"),
    "levels": (
        lambda value: _whole(2)(value) or isinstance(value, dict),
        "must be a whole number, at least 2, or a table of such numbers by name",
    ),
    "second_order": (lambda value: isinstance(value, bool), "must be true or false"),
    "block": (_whole(1), "must be a whole number, at least 1"),
    "watch": (
        lambda value: isinstance(value, int | float) and not isinstance(value, bool) and value > 0,
        "must be a positive number of seconds",
    ),
    "precision": (lambda value: isinstance(value, str), 'must be text, "double", "single" or "fast"'),
    "folder": (
        lambda value: isinstance(value, str) and bool(value.strip()) and "\0" not in value,
        "must be the name of a folder",
    ),
}


def _setting_problems(settings: Mapping[str, Entry]) -> list[str]:
    found = [
        f"{entry.source}: {name} {_KINDS[name][1]}, not {shown(entry.value)}"
        for name, entry in settings.items()
        if name in _KINDS and not _KINDS[name][0](entry.value)
    ]
    design = settings.get("design")
    if design is not None and isinstance(design.value, str) and design.value not in KINDS:
        found.append(f"{design.source}: there is no design '{design.value}'{instead(design.value, KINDS)}")
    return found
