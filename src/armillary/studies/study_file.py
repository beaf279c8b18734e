"""Study files: a run file with the varied quantities, the results kept of each run, and the number of runs.

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
    select = ["r"]                  # outputs whose histories are kept too (default: none)

    [study]
    design = "sobol"
    runs = 8192
    seed = 1
    folder = "studies/car"          # relative to this file (default: named after it)

A study file is data: nothing in it is executed. This module checks its form, and in `StudySetup` its values
against the model.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from armillary.ensembles.metrics import read_metric
from armillary.errors import ArmillaryError, nearest, shorten_message, shown, suggestion
from armillary.files.model.documents import SCHEMA_VERSION, Document, read_document
from armillary.model.parameter_meanings import parameter_units
from armillary.model.reading.kinds import (
    ANY_TABLE,
    FLAG,
    NUMBER,
    QUANTITY,
    WORDS,
    Described,
    Either,
    KeyedTable,
    Kind,
    ListOf,
    TableOf,
    Tested,
    choice,
    whole_number,
)
from armillary.run_files.execute import Simulation
from armillary.run_files.resolve import RunValues, resolve
from armillary.run_files.run_file import (
    COMMAND_LINE,
    RUN_FILE,
    SELECTED,
    RunFile,
    RunFileError,
    SourcedValue,
    by_dotted_name,
    key_problems,
    where,
)
from armillary.run_files.run_file import TABLES as RUN_TABLES
from armillary.studies.definition import definition_for_writing, read_definition
from armillary.studies.folder import Folder
from armillary.studies.sampling import KINDS, Design
from armillary.studies.study import Study
from armillary.untyped import DataMapping, DataTable, Given

if TYPE_CHECKING:
    from armillary.stages.equations import Equations


TABLES = ("vary", "metrics", "study")


def _is_positive(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


def _is_file_name(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip()) and "\0" not in value


STUDY_TABLE = KeyedTable(
    "the settings of the study",
    {
        "design": Described(choice(*KINDS), "kind of design, by which runs are spread; random by default"),
        "runs": Described(whole_number(1), "number of runs; designs grid and list determine it themselves"),
        "seed": Described(whole_number(0), "seed of the random numbers; 0 by default"),
        "levels": Described(
            Either(
                (whole_number(2), ANY_TABLE),
                "a whole number, at least 2, or a table of such numbers by name",
            ),
            "number of values of each quantity in a grid or in Morris' screening, for all or by name",
        ),
        "second_order": Described(FLAG, "whether a saltelli design also gives second-order indices"),
        "block": Described(whole_number(1), "runs that are made and written together"),
        "watch": Described(
            Tested("a positive number of seconds", _is_positive, {"type": "number", "exclusiveMinimum": 0}),
            "seconds between two evaluations of metrics with an adaptive method",
        ),
        "precision": Described(
            choice("double", "single", "fast"), "precision of numbers; single and fast are for GPUs"
        ),
        "folder": Described(
            Tested("the name of a folder", _is_file_name, {"type": "string"}),
            "folder of the results, relative to this file",
        ),
    },
)
STUDY_KEYS = tuple(STUDY_TABLE.fields)
_RUN_KEYS = ("model", "title", *RUN_TABLES)


_NUMBER = Described(QUANTITY, QUANTITY.words, [1000, "55 mile/hour"])
_UNITS: dict[str, Kind] = {"units": Described(WORDS, "units of numbers that do not state their own")}
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
            "weights": ListOf(Described(NUMBER, "relative frequency", minimum=0)),
            **_UNITS,
        },
        ("choice",),
    ),
    KeyedTable(
        "quantities that vary together",
        {
            "correlated": Described(ANY_TABLE, "distributions by name"),
            "correlation": Described(ListOf(ListOf(NUMBER)), "matrix of correlations between -1 and 1"),
        },
        ("correlated", "correlation"),
    ),
    Described(ListOf(_NUMBER), "values, equally likely", minItems=1),
    Described(ANY_TABLE, "further names: RB.q1 = … is the same as \"RB.q1\" = …"),
))  # fmt: skip
_STUDY_FILE = KeyedTable(
    "a study file",
    {
        **{name: kind for name, kind in RUN_FILE.fields.items() if name in _RUN_KEYS},
        "output": KeyedTable(
            "the results", {"select": Described(SELECTED, "outputs whose histories are kept too")}
        ),
        "vary": Described(
            TableOf(_VARIED), "parameters and initial values with their distributions", minProperties=1
        ),
        "metrics": Described(
            TableOf(Described(Either((WORDS, ANY_TABLE)), "a metric of one output", _METRICS)),
            "numbers kept of each run, by name",
        ),
        "study": STUDY_TABLE,
    },
    ("model", "vary"),
)


@dataclass(frozen=True)
class StudyFile:
    """The content of a study file, as written; made by `StudyFile.read`.

    StudySetup(StudyFile.read("car_study.toml")).study().run()
    """

    run: RunFile  # the model, and how each run is made
    document: Document  # gives line numbers for faults in [vary], found once the model is loaded
    vary: DataMapping = field(default_factory=dict)
    metrics: Mapping[str, SourcedValue] = field(default_factory=dict)
    settings: Mapping[str, SourcedValue] = field(default_factory=dict)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> StudyFile:
        """Read the study file at a path; its faults are raised when it is run."""
        document = read_document(path, "study file")
        if "bodies" in document.data and "model" not in document.data:
            raise ArmillaryError(
                f"'{os.fspath(path)}' is a model; a study file names it, model = \"{Path(path).name}\", and "
                "lists what varies: armillary examples show car_study"
            )
        return cls.of_document(document)

    @classmethod
    def of_document(cls, document: Document) -> StudyFile:
        """Return the study file in a TOML document."""
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
        """Return the study file with other values: "study.runs", "study.seed", …, and all names of
        `RunFile.setting`.
        """
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
    """Return the errors in the file's keys, which do not depend on its model."""
    content = document.data
    own = {key: value for key, value in content.items() if key not in _RUN_KEYS}
    found = key_problems(replace(document, data=own), _STUDY_FILE)
    if not content.get("vary"):
        message = 'nothing varies; give [vary] with lines such as SPEED = { uniform = ["10 m/s", "20 m/s"] }'
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


def study_schema() -> DataTable:
    """Return the schema of study files: the schema of run files, and the varied quantities."""
    return {"$schema": SCHEMA_VERSION, "title": "Armillary study file", **_STUDY_FILE.schema()}


# A study file against its model: names and units of varied quantities are checked, and the study is made.

_DESIGN = ("runs", "seed", "levels", "second_order")  # keys of [study] that are arguments of Design
_OTHERS = ("block", "watch", "precision")  # keys of [study] that are arguments of Study


class StudySetup(Simulation):
    """A study file with its model; each stage is done once, when it is first needed.

    ``options`` are for loading the model, such as ``trust=True``, which a file must not set.
    """

    def __init__(self, file: StudyFile, **options: Given) -> None:
        self.study_file = file
        super().__init__(file.run, **options)
        self.folder = self._folder()

    def study(self) -> Study:
        """Return the study, new or with the finished blocks of its folder.

        If the folder has the same study with fewer runs, it is extended, provided that its design allows
        that.
        """
        settings = self.run_settings()
        if "tier" in self.values.settings:
            source = self.values.settings["tier"].source
            raise RunFileError(
                [
                    f"{source}: runs of a study use fully optimised code, so that they can be "
                    "repeated; leave out tier"
                ]
            )
        self.check_places()
        self.check_values()
        model = self.model  # also derives the equations, which sets and checks `names` and `metrics`
        given = {name: entry.value for name, entry in self.study_file.settings.items()}
        how = {
            "vary": self.vary,
            "metrics": self.metrics or None,
            "outputs": self.names if self.values.select else None,
            **{name: given[name] for name in ("design", *_DESIGN, *_OTHERS) if name in given},
            **settings.non_defaults(),
            **self.given_values(),
        }
        wanted, there = self.design, read_definition(Folder(self.folder))
        if there is not None and there.runs < wanted.runs and wanted.open_ended:
            return Study(model, self.folder, **{**how, "runs": there.runs}).extend(wanted.runs)
        return Study(model, self.folder, **how)

    @property
    def missing(self) -> list[str]:
        varied = self.design.names
        return [name for name in super().missing if name not in varied]

    @cached_property
    def equations(self) -> Equations:
        from armillary.program.equations import derived_equations

        made = super().equations
        self.metrics = self._known_metrics(
            [column.name for column in derived_equations(made).targets.columns]
        )
        return made

    def _known_metrics(self, known: list[str]) -> dict[str, str]:
        """Return metrics as texts; raise an error for outputs that the model does not have."""
        problems = []
        for name, entry in self.study_file.metrics.items():
            output = read_metric(entry.value).output
            if output not in known:
                problem = shorten_message(f"metric '{name}': no output '{output}'{nearest(output, known)}")
                problems.append(f"{entry.source}: {problem}")
        if problems:
            raise RunFileError(problems)
        return {name: entry.value for name, entry in self.study_file.metrics.items()}

    def check_places(self) -> None:
        """Raise an error for a folder with other content, before anything is computed."""
        definition_for_writing(Folder(self.folder))

    def _folder(self) -> Path:
        entry = self.study_file.settings.get("folder")
        if entry is None:
            return self.file.folder / self.file.stem
        # A path on the command line is relative to where the command is given.
        return Path(entry.value) if entry.source == COMMAND_LINE else self.file.folder / entry.value

    # ------------------------------------------------------------ varied quantities

    def _resolve_values(self) -> RunValues:
        """Return the values of all runs; one error lists all faults of the file."""
        self.vary, problems = self._read_distributions()
        if not problems and self.vary and not self.file.problems:
            problems = self._design_problems()
        return resolve(replace(self.file, problems=(*self.file.problems, *problems)), self.system)

    def _read_distributions(self) -> tuple[DataTable, list[str]]:
        """Return distributions by name, each checked alone, and their faults."""
        known, units, document = self._names(), self._units(), self.study_file.document

        def holds_names(name: str) -> bool:
            return name not in known and any(other.startswith(f"{name}.") for other in known)

        found, problems = {}, []
        for name, (keys, value) in by_dotted_name(self.study_file.vary, holds_names).items():
            together = isinstance(value, Mapping) and "correlated" in value
            if together and isinstance(value["correlated"], Mapping):
                value = {
                    **value,
                    "correlated": {
                        n: v for n, (_, v) in by_dotted_name(value["correlated"], holds_names).items()
                    },
                }
                members = list(value["correlated"])
            else:
                members = [name]
            found[name] = value
            problems += [
                f"{where(document, 'vary', *keys)}: {problem}"
                for problem in self._member_problems(name, value, members, known, units)
            ]
        return found, problems

    def _member_problems(
        self, name: str, value: object, members: list[str], known: list[str], units: dict[str, str]
    ) -> Iterator[str]:
        """Yield the errors in the variation of one name."""
        fixed = {**self.file.parameters, **self.file.initial, **self.file.inputs, **self.file.memory}
        unknown = [member for member in members if member not in known]
        for member in unknown:
            yield (
                f"varied '{member}': there is no such parameter, coordinate, speed, state or memory"
                f"{nearest(member, known)}"
            )
        for member in members:
            if member in fixed:
                yield f"'{member}' is varied, and has a value at {fixed[member].source}: leave one out"
        if not unknown:
            try:
                Design({name: value}, runs=1, units=units)
            except ArmillaryError as error:
                yield str(error)

    def _design_problems(self) -> list[str]:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the study itself warns
                _ = self.design
        except ArmillaryError as error:
            return [f"{where(self.study_file.document, 'study')}: {error}"]
        return []

    @cached_property
    def design(self) -> Design:
        """The values of all runs."""
        given = {name: entry.value for name, entry in self.study_file.settings.items()}
        how = {name: given[name] for name in _DESIGN if name in given}
        return Design(self.vary, given.get("design", "random"), **how, units=self._units())

    def _names(self) -> list[str]:
        system = self.system
        return [*system.parameters, *(s.data.name for s in system.initial), *system.memories]

    def _units(self) -> dict[str, str]:
        memories = {name: m.symbol.data.units or "" for name, m in self.system.memories.items()}
        states = {s.data.name: s.data.units or "" for s in self.system.initial}
        return memories | states | parameter_units(self.system)
