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
`setup.py`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from armillary.ensembles.metrics import read_metric
from armillary.errors import ArmillaryError, shown, suggestion
from armillary.files.model.documents import Document, read_document
from armillary.model.reading.kinds import (
    FLAG,
    Described,
    Either,
    FileName,
    KeyedTable,
    PositiveNumber,
    TableKind,
    WholeNumber,
    choice,
)
from armillary.run_files.run_file import TABLES as RUN_TABLES
from armillary.run_files.run_file import (
    RunFile,
    RunFileError,
    SourcedValue,
    by_dotted_name,
    table_problems,
    unknown_keys,
    where,
)
from armillary.studies.sampling import KINDS
from armillary.untyped import DataMapping

TABLES = ("vary", "metrics", "study")
STUDY_TABLE = KeyedTable(
    "the settings of the study",
    {
        "design": Described(choice(*KINDS), "how runs are spread; random where left out"),
        "runs": Described(WholeNumber(1), "number of runs; grid and list have their own"),
        "seed": Described(WholeNumber(0), "of the random numbers; 0 where left out"),
        "levels": Described(
            Either(
                (WholeNumber(2), TableKind()),
                "a whole number, at least 2, or a table of such numbers by name",
            ),
            "of a grid or of Morris' screening: values between the bounds, for all or by name",
        ),
        "second_order": Described(FLAG, "indices of pairs too, of a saltelli design"),
        "block": Described(WholeNumber(1), "runs that are made and written together"),
        "watch": Described(
            PositiveNumber("a positive number of seconds"),
            "seconds between two looks of metrics with an adaptive method",
        ),
        "precision": Described(choice("double", "single", "fast"), "single and fast are for GPUs"),
        "folder": Described(FileName("the name of a folder"), "of the results, relative to this file"),
    },
)
STUDY_KEYS = tuple(STUDY_TABLE.fields)
_RUN_KEYS = ("model", "title", *RUN_TABLES)


@dataclass(frozen=True)
class StudyFile:
    """The content of a study file, as written; made by `StudyFile.read`.

    StudySetup(StudyFile.read("car.toml")).study().run()
    """

    run: RunFile  # the model, and how each run is made
    document: Document  # for the lines of what varies, whose names are the model's
    vary: DataMapping = field(default_factory=dict)
    metrics: Mapping[str, SourcedValue] = field(default_factory=dict)
    settings: Mapping[str, SourcedValue] = field(default_factory=dict)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> StudyFile:
        """The study file at a path; what is wrong with it is an error when it is run."""
        document = read_document(path, "study file")
        if "bodies" in document.data and "model" not in document.data:
            raise ArmillaryError(
                f"'{os.fspath(path)}' is a model; a study file names it, model = \"{Path(path).name}\", and "
                "lists what varies: armillary examples show car_study"
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

        def entries(table: str, nested: bool) -> dict[str, SourcedValue]:
            values = by_dotted_name(tables[table], lambda name: nested)
            return {
                name: SourcedValue(v, where(document, table, *keys)) for name, (keys, v) in values.items()
            }

        file = cls(
            run=run,
            document=document,
            vary=tables["vary"],
            metrics=entries("metrics", nested=True),
            settings={n: entry for n, entry in entries("study", nested=False).items() if n in STUDY_KEYS},
        )
        problems += [*_metric_problems(file.metrics), *_setting_problems(file.settings)]
        return replace(file, run=replace(run, problems=(*problems, *run.problems)))

    def setting(self, settings: Mapping[str, object], source: str = "override") -> StudyFile:
        """The same with other values: "study.runs", "study.seed", …, and all names of `RunFile.setting`."""
        own = {name.removeprefix("study."): v for name, v in settings.items() if name.startswith("study.")}
        problems = [
            f"{source}: there is no setting 'study.{name}'{suggestion(name, STUDY_KEYS)}"
            for name in own
            if name not in STUDY_KEYS
        ]
        changed = {name: SourcedValue(value, source) for name, value in own.items()}
        if problems := problems + _setting_problems(changed):
            raise RunFileError(problems)
        others = {name: value for name, value in settings.items() if not name.startswith("study.")}
        return replace(
            self,
            run=self.run.setting(others, source) if others else self.run,
            settings={**self.settings, **changed},
        )


def _form_problems(document: Document) -> list[str]:
    """The errors in its keys, which do not depend on its model."""
    content = document.data
    found = unknown_keys(document, (*_RUN_KEYS, *TABLES))
    found += table_problems(document, {"vary": None, "metrics": None, "study": STUDY_KEYS})
    if not content.get("vary"):
        message = 'what varies? give [vary] with lines such as SPEED = { uniform = ["10 m/s", "20 m/s"] }'
        found.append(f"{where(document, 'vary')}: {message}")
    output = content.get("output", {})
    if isinstance(output, dict) and "file" in output:
        message = "a study's results go to a folder: give [study] folder instead"
        found.append(f"{where(document, 'output', 'file')}: {message}")
    return found


def _metric_problems(metrics: Mapping[str, SourcedValue]) -> list[str]:
    found = []
    for name, entry in metrics.items():
        if not isinstance(entry.value, str):
            message = f"metric '{name}' must be text such as \"maximum(r)\", not {shown(entry.value)}"
            found.append(f"{entry.source}: {message}")
            continue
        try:
            read_metric(entry.value)
        except ArmillaryError as error:
            found.append(f"{entry.source}: metric '{name}': {error}")
    return found


def _setting_problems(settings: Mapping[str, SourcedValue]) -> list[str]:
    found = []
    for name, (value, source) in settings.items():
        kind = STUDY_TABLE.fields.get(name)
        if kind is None or kind.fits(value):
            continue
        choices = kind.schema().get("enum")
        if choices and isinstance(value, str):
            found.append(f"{source}: there is no {name} '{value}'{suggestion(value, choices)}")
        else:
            found.append(f"{source}: {name} must be {kind.words}, not {shown(value)}")
    return found
