"""Execution of a run file: load the model, set values, derive, compile, run, write files.

An echo file has every value of a run with its unit, meaning and source, and is a run file itself.

Source: Sayers (1990), section 9.1 and Table 9.3.3, whose programs echo parameters and initial values so that
the echo can be read again. Numbers have all their digits: the echo gives the same run, bit by bit.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from armillary.algebra.walk import symbols
from armillary.errors import ArmillaryError, ParameterError, alternatives, shown
from armillary.limited_files import write_file
from armillary.results.files import FORMATS
from armillary.results.run import Run
from armillary.run_files.resolve import (
    NoSuchModelError,
    OnEcho,
    OnInput,
    RunValue,
    RunValues,
    matching_outputs,
    open_model,
    recording,
    resolve,
    user_echo,
    user_input,
    with_changes,
)
from armillary.run_files.run_file import COMMAND_LINE, RunFile, RunFileError
from armillary.settings import RUN_TABLE, RunSettings
from armillary.stages import System
from armillary.text_tables import toml_key, toml_value
from armillary.untyped import DataMapping, DataTable, Given

if TYPE_CHECKING:
    from armillary.runtime.start.initial import OnStart
    from armillary.stages.equations import Equations
    from armillary.stages.model import Model


_WIDEST = 36  # longest assignment to which comments are aligned


def write_echo(path: str | os.PathLike[str], text: str) -> None:
    """Write an echo file, whole or not at all."""
    write_file(path, text)


def echo_text(file: RunFile, system: System, values: RunValues, run: Run, *, folder: Path) -> str:
    """Return the text of an echo file that will lie in ``folder``."""
    what = f"run of {Path(file.source).name}" if file.source else f"run of {Path(file.model).name}"
    made = run.info.get("created", "")
    lines = [
        f"# Echo of the {_comment_text(what)}, {made}, by Armillary {run.info.get('armillary', '')}.",
        "# Every value with its units, meaning and source. This is a run file: it gives the same run again.",
        "",
        f"model = {toml_value(_model_path(file, folder))}",
    ]
    lines += [f"title = {toml_value(file.title)}"] if file.title else []
    lines += _table_lines("parameters", values.parameters)
    lines += _table_lines("initial", *_split_initial_values(system, values, run))
    lines += _table_lines("inputs", values.inputs) if values.inputs else []
    for name, found in values.signals.items():
        about = _comment_text(f"{found.signal}; {Path(found.source).name}")
        lines += ["", f"[inputs.{toml_key(name)}]  # {about}"]
        lines += [f"{key} = {toml_value(value)}" for key, value in found.table_for(folder).items()]
    computed = {name for name, m in system.memories.items() if m.start is not None}
    shown = {name: v for name, v in values.memory.items() if v.given or name not in computed}
    lines += _table_lines("memory", shown) if shown else []
    if file.user:
        rows = [
            (f"{toml_key(key)} = {toml_value(e.value)}", Path(e.source).name) for key, e in file.user.items()
        ]
        lines += ["", "[user]", *_align_rows(rows)]
    lines += _setting_lines(values, run)
    lines += ["", "[output]"]
    if values.select:
        lines.append(f"select = {toml_value([name for name, _ in values.select])}")
    entry = file.output.get("file")
    suffix = Path(entry.value).suffix if entry is not None else ".csv"
    stem = Path(entry.value).stem if entry is not None else file.stem
    lines.append(f"file = {toml_value(f'{stem}.echo{suffix}')}  # keeps the results of the run itself")
    return "\n".join(lines) + "\n"


def _split_initial_values(
    system: System, values: RunValues, run: Run
) -> tuple[dict[str, RunValue], dict[str, RunValue]]:
    """Return initial values to set again, and values that follow from them.

    If loops are closed or mass centres placed at the start, a run keeps given values and finds the others. If
    an echo gave all values, its run would start from the same state only up to rounding.
    """
    if not system.constraints and not system.centres:
        return values.initial, {}
    given = {name: v for name, v in values.initial.items() if v.given}
    first = run.initial if len(run) else {}
    found = {
        name: v._replace(number=first.get(name, v.number), source="found at the start")
        for name, v in values.initial.items()
        if not v.given
    }
    return given, found


def _setting_lines(values: RunValues, run: Run) -> list[str]:
    lines = ["", "[run]"]
    chosen = {key: run.info[key] for key in ("method", "formalism", "rtol", "atol") if key in run.info}
    rows = []
    for name, setting in RUN_TABLE.items():
        if name in values.settings:
            value, source = values.settings[name]
            unit = f"{setting.units}; " if setting.units else ""
            became = f"{chosen[name]}; " if value == "auto" else ""
            rows.append((f"{name} = {toml_value(value)}", f"{unit}{became}{Path(source).name}"))
        elif name in chosen:
            shown = chosen[name] if name == "atol" else toml_value(chosen[name])
            rows.append((f"# {name} = {shown}", "as the program chooses"))
    return lines + _align_rows(rows)


def _table_lines(
    name: str, values: Mapping[str, RunValue], found: Mapping[str, RunValue] | None = None
) -> list[str]:
    """Return a table of numbers as lines; numbers that were ``found`` in the run are comments."""
    rows = []
    for key, value in values.items():
        if value.number is None:
            assignment = f"# {toml_key(key)} has no value, and nothing needs one"
        else:
            assignment = f"{toml_key(key)} = {toml_value(value.number)}"
        rows.append((assignment, _comment_of(value)))
    rows += [
        (f"# {toml_key(key)} = {toml_value(value.number)}", _comment_of(value))
        for key, value in (found or {}).items()
    ]
    return ["", f"[{name}]", *_align_rows(rows)]


def _comment_of(value: RunValue) -> str:
    return "; ".join(part for part in (value.units or "-", value.about, Path(value.source).name) if part)


def _align_rows(rows: Iterable[tuple[str, str]]) -> list[str]:
    rows = list(rows)
    width = min(max((len(left) for left, _ in rows), default=0), _WIDEST)
    return [f"{left:<{width}}  # {_comment_text(right)}" for left, right in rows]


def _model_path(file: RunFile, folder: Path) -> str:
    """Return the model as the echo file names it: a path relative to the folder of the echo file."""
    path = file.folder / file.model
    if not path.exists():
        return file.model  # the name of an example, not a path
    try:
        return Path(os.path.relpath(path, folder)).as_posix()
    except ValueError:  # a model on another drive has no relative path
        return path.resolve().as_posix()


def _comment_text(text: str) -> str:
    """Return text for a comment: one line, no control characters."""
    return re.sub(r"[\x00-\x1f\x7f\s]+", " ", str(text)).strip()


SUFFIXES = tuple(FORMATS)
_LONGEST = 200  # bytes of a file name; most systems take 255, and the name of the echo file has 10 more


def run(
    path: str | os.PathLike[str],
    settings: DataMapping | None = None,
    *,
    save: bool = False,
    progress: bool | Callable[[float], None] = True,
    on_input: OnInput | None = None,
    on_start: OnStart | None = None,
    on_echo: OnEcho | None = None,
    **options: Given,
) -> Run:
    """Return the run that a run file describes, with other ``settings`` where given.

        arm.run("step.toml", {"SPEED": "60 mile/hour", "initial.RB.q1": "2 deg", "run.step": 1e-3})

    ``save`` writes the results and the echo file, as the command ``armillary run`` does. ``options`` go to
    ``arm.load`` for the model, such as ``trust=True``, which a run file cannot give.

    The user's functions are called where values are read, used and written: ``on_input`` gets the run file's
    table [user] and returns settings, for values that the file itself does not set; ``on_start`` is as in
    ``simulate``; ``on_echo`` gets the run and returns text that the echo file shows as a comment.
    """
    file = RunFile.read(path)
    file = file.setting(settings, "settings") if settings else file
    simulation = Simulation(file, on_input=on_input, on_echo=on_echo, **options)
    if save:
        simulation.check_places()
    made = simulation.run(progress=progress, on_start=on_start)
    if save:
        simulation.save(made)
    return made


class Simulation:
    """One run file with its model: each stage is done once, when it is first needed.

    ``options`` are for loading the model, such as ``trust=True``, which a run file cannot give.
    """

    def __init__(
        self,
        file: RunFile,
        *,
        on_input: OnInput | None = None,
        on_echo: OnEcho | None = None,
        **options: object,
    ) -> None:
        self.file = user_input(file, on_input)
        file = self.file
        self.on_echo = on_echo
        self.changes: DataTable = {}  # initial values that on_start gave
        self.seconds: dict[str, float] = {}  # seconds that each stage took
        with self._stage("load"):
            self.system = _open(file, options)
            self.values = self._resolve_values()
        self.results = self._results_path()
        self.echo = self.results.with_name(f"{self.results.stem}.echo.toml")

    def _resolve_values(self) -> RunValues:
        return resolve(self.file, self.system)

    @cached_property
    def equations(self) -> Equations:
        from armillary.program.equations import derived_equations

        given = self.values.settings
        chosen = {key: given[key].value for key in ("formalism", "effort") if key in given}
        with self._stage("derive"):
            made = self.system.derive(**chosen)
        self.names = matching_outputs(
            (c.name for c in derived_equations(made).targets.columns), self.values.select
        )
        return made

    @cached_property
    def model(self) -> Model:
        equations, given = self.equations, self.values.settings
        with self._stage("compile"):
            return equations.compile(**{key: given[key].value for key in ("tier",) if key in given})

    def run(self, *, progress: bool | Callable[[float], None] = True, on_start: OnStart | None = None) -> Run:
        """Return the run with all its outputs."""
        from armillary.runtime.models.compiled import compiled_model

        settings = self.run_settings()
        self.check_values()
        model = self.model
        recorded = None if on_start is None else recording(on_start, self.changes)
        with self._stage("simulate"):
            made = compiled_model(model).run_with(
                settings, **self.given_values(), progress=progress, on_start=recorded
            )
        return replace(made, info={**made.info, "title": self.file.title}) if self.file.title else made

    @cached_property
    def needed(self) -> set[str]:
        """Names of the parameters that the equations need."""
        return {s.data.name for s in symbols(*self.equations.program.precompute.results)}

    @property
    def missing(self) -> list[str]:
        """Names of needed parameters that have no value."""
        return [n for n, v in self.values.parameters.items() if v.number is None and n in self.needed]

    def check_values(self) -> None:
        """Raise an error if needed parameters have no value."""
        if names := self.missing:
            remedy = f"give [parameters] {toml_key(names[0])} = …, or --set {names[0]}=…"
            raise ParameterError(
                f"no value for parameter{'s' * (len(names) > 1)} {', '.join(names)}: {remedy}"
            )

    def run_settings(self) -> RunSettings:
        """Return the settings of the run; raise an error if its duration is not given."""
        given = {key: entry.value for key, entry in self.values.settings.items()}
        if "duration" not in given:
            place = f"{self.file.source}: " if self.file.source else ""
            raise RunFileError([f"{place}how long is the run? give [run] duration, or --duration"])
        return RunSettings.from_file(given)

    def given_values(self) -> dict[str, DataTable]:
        """Return the values that the user gave: parameters, initial values, memories (constant inputs are
        among them), and inputs over time.
        """
        values = self.values
        parameters = {name: v.number for name, v in values.parameters.items() if v.given}
        initial = {name: v.number for name, v in values.initial.items() if v.given}
        memory = {name: v.number for name, v in {**values.inputs, **values.memory}.items() if v.given}
        inputs = {name: found.signal for name, found in values.signals.items()}
        tables: dict[str, DataTable] = {
            "parameters": parameters, "initial": initial, "memory": memory, "inputs": inputs,
        }  # fmt: skip
        return {name: table for name, table in tables.items() if table}

    def save(self, made: Run, *, echo: bool = True) -> list[Path]:
        """Write the chosen outputs to the results' file, and the echo file; return the paths."""
        with self._stage("save"):
            self.select_outputs(made).save(self.results)
            if echo:
                write_echo(self.echo, self.echo_text(made))
        return [self.results, self.echo] if echo else [self.results]

    def select_outputs(self, made: Run) -> Run:
        """Return the run with the outputs that the run file selects."""
        if not self.values.select:
            return made
        columns = [made.names.index(name) for name in self.names]
        names = tuple(self.names)
        return replace(made, names=names, values=made.values[:, columns], outputs=names)

    def echo_text(self, made: Run) -> str:
        """Return the text of the echo file of a run."""
        values = with_changes(self.values, self.changes, made)
        text = echo_text(self.file, self.system, values, made, folder=self.echo.parent)
        return text if self.on_echo is None else text + user_echo(self.on_echo(made))

    def check_places(self) -> None:
        """Raise errors for results that could not be written, before anything is computed."""
        if self.results.suffix.lower() not in SUFFIXES:
            entry = self.file.output.get("file")
            where = f"{entry.source}: " if entry is not None and entry.source != COMMAND_LINE else ""
            raise ArmillaryError(
                f"{where}'{self.results.name}' has no known format: use a name that ends in "
                f"{alternatives(SUFFIXES)}"
            )
        if self.results.is_dir():
            raise ArmillaryError(f"'{self.results}' is a folder; name a file for the results")
        folder = self.results.parent
        if not folder.is_dir():
            raise ArmillaryError(f"there is no folder '{folder}' for the results; make it, or name another")
        if not os.access(folder, os.W_OK):
            raise ArmillaryError(f"the folder '{folder}' cannot be written to; name another with --output")

    def _results_path(self) -> Path:
        entry = self.file.output.get("file")
        if entry is None:
            return self.file.folder / f"{self.file.stem}.csv"
        given = Path(entry.value)
        if not given.name or "\0" in entry.value or len(os.fsencode(given.name)) > _LONGEST:
            raise RunFileError(
                [f"{entry.source}: {shown(entry.value)} is not the name of a file for the results"]
            )
        # A path on the command line is relative to where the command is given.
        return given if entry.source == COMMAND_LINE else self.file.folder / given

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        started = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = time.perf_counter() - started


def _open(file: RunFile, options: DataTable) -> System:
    """Return the model of a run file; if it is missing, raise an error with the line that names it."""
    try:
        return open_model(file.model, file.folder, **options)
    except NoSuchModelError as error:
        where = f"{file.model_source}: " if file.model_source else ""
        raise RunFileError([*file.problems, f"{where}{error}"]) from None
