"""Run files resolved against their model: values, units, sources, inputs over time, and the user's functions.

Inputs over time in run files: a file, two columns of a file, or points.

[inputs]
steer = 0.02                                    # a constant
road = "road.csv"                               # over column 1: the column named road, or else column 2

[inputs.wind]
file = "weather.csv"                            # relative to the run file
time = "t"                                      # a heading, or the number of a column from 1
column = "gust"
units = "km/h"                                  # by default the heading's
interpolation = "hold"

[inputs.torque]
t = [0.0, 1.0, 1.0001, 5.0]
y = [0.0, 0.0, 12.0, 12.0]

Every value becomes a number in its unit, with its source. Nothing is derived here, so that a run file is
checked in milliseconds. Models are found by path or by the name of an example.

The user may give functions that are called when a run file is read and when its echo is written.
Source: Sayers (1990), Appendix A, add-subroutine with where = input and echo: routines that read their own
keywords from the input, and print their values into the echo file.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from armillary.algebra.expression import Expr
from armillary.algebra.tables import read_columns
from armillary.errors import ArmillaryError, nearest, nearest_file, shown, suggestion
from armillary.files.model.load import FORMATS
from armillary.model.description import Memory
from armillary.model.parameter_meanings import parameter_descriptions, parameter_units
from armillary.model.units import about_value, read_number, state_factor, stated_value
from armillary.results.run import Run
from armillary.run_files.run_file import COMMAND_LINE, RunFile, RunFileError, SourcedValue
from armillary.runtime.inputs.reading import factor
from armillary.runtime.inputs.signal import Signal
from armillary.settings import RUN_TABLE
from armillary.stages import System, load
from armillary.untyped import DataMapping, DataTable, Given

_OF_FILES = ("file", "time", "column", "units", "interpolation")
_OF_POINTS = ("t", "y", "units", "interpolation")
_SUFFIXES = (".csv", ".txt", ".tsv")


class FileSignal(NamedTuple):
    """An input over time: its signal, the table that describes it, and the file and line of the table."""

    signal: Signal
    table: DataTable
    source: str

    def table_for(self, folder: Path) -> DataTable:
        """Return the table for a run file in ``folder``; the path of a file below it becomes relative."""
        if "file" not in self.table:
            return self.table
        path = Path(self.table["file"]).resolve()
        near = path.relative_to(folder.resolve()) if path.is_relative_to(folder.resolve()) else path
        return {**self.table, "file": near.as_posix()}


def group_by_input(given: Mapping[str, SourcedValue]) -> dict[str, SourcedValue]:
    """Return one entry for each input; ``road.units=…`` from the command line joins the table of ``road``."""
    found: dict[str, SourcedValue] = {}
    for name, entry in given.items():
        head, dot, key = name.partition(".")
        before = found[head].value if head in found else {}
        if not dot:
            found[name] = entry
        else:
            table = before if isinstance(before, dict) else {"file": before}
            found[head] = SourcedValue({**table, key: entry.value}, entry.source)
    return found


def is_signal(value: object) -> bool:
    """Return whether an entry of [inputs] is data over time instead of a constant."""
    return isinstance(value, dict) or (isinstance(value, str) and value.lower().endswith(_SUFFIXES))


def file_signal(name: str, entry: SourcedValue, folder: Path) -> FileSignal:
    """Return the signal that an entry describes; errors do not name its file and line."""
    table = dict(entry.value) if isinstance(entry.value, dict) else {"file": entry.value}
    known = _OF_POINTS if "t" in table or "y" in table else _OF_FILES
    for key in table:
        if key not in known:
            raise ArmillaryError(f"unknown key '{key}'{suggestion(key, known)}")
    how = {key: table[key] for key in ("units", "interpolation") if key in table}
    if known is _OF_POINTS:
        for key in ("t", "y"):
            if key not in table:
                raise ArmillaryError(f"points need both t and y, and {key} is missing")
        return FileSignal(Signal(table["t"], table["y"], name=name, **how), table, entry.source)
    if not isinstance(table.get("file"), str):
        raise ArmillaryError(f"file must be the name of a file, not {shown(table.get('file'))}")
    # A path on the command line is relative to where the command is given.
    path = Path(table["file"]) if entry.source == COMMAND_LINE else folder / table["file"]
    column = table.get("column")
    if column is None:
        column = name if name in read_columns(path).headings else 2
    signal = Signal.from_csv(path, table.get("time", 1), column, **how)
    return FileSignal(signal, {**table, "file": str(path), "column": column}, entry.source)


MODEL = "model default"
JOINT = "joint default"
STARTED = "start of the model"


class RunValue(NamedTuple):
    """A number in its unit, with its meaning and its source.

    The number is `None` for a parameter that has no default and is not given: only some runs need such a
    parameter.
    """

    number: float | None
    units: str
    about: str
    source: str

    @property
    def given(self) -> bool:
        return self.source not in (MODEL, JOINT, STARTED)


@dataclass(frozen=True)
class RunValues:
    """All values of a run by name; values that are not given come from the model."""

    parameters: dict[str, RunValue]
    initial: dict[str, RunValue]
    inputs: dict[str, RunValue]
    memory: dict[str, RunValue]
    settings: dict[str, SourcedValue]  # times are numbers of seconds
    select: tuple[tuple[str, str], ...]  # names or patterns of outputs, with their sources
    signals: dict[str, FileSignal]  # inputs over time


def resolve(file: RunFile, system: System) -> RunValues:
    """Return the values of a run; raise one error with all problems."""
    resolver = _Resolver(system)
    parameters = resolver.parameters(file.parameters)
    initial = resolver.initial(file.initial)
    given = group_by_input(file.inputs)
    signals = resolver.signals({n: e for n, e in given.items() if is_signal(e.value)}, file.folder)
    inputs = resolver.memories({n: e for n, e in given.items() if not is_signal(e.value)}, "input")
    inputs = {name: value for name, value in inputs.items() if name not in signals}
    memory = resolver.memories(file.memory, "memory")
    settings = resolver.settings(file.settings)
    select = resolver.selection(file.output)
    if file.problems or resolver.problems:
        raise RunFileError([*file.problems, *resolver.problems])
    return RunValues(parameters, initial, inputs, memory, settings, select, signals)


def matching_outputs(names: Iterable[str], select: tuple[tuple[str, str], ...]) -> list[str]:
    """Return the outputs that patterns match, in the order of the patterns; all if there is no pattern."""
    known = list(names)
    if not select:
        return known
    found: dict[str, None] = {}
    problems = []
    for pattern, source in select:
        matches = [pattern] if pattern in known else [n for n in known if fnmatchcase(n, pattern)]
        if not matches:
            problems.append(f"{source}: no output '{pattern}'{nearest(pattern, known)}")
        found |= dict.fromkeys(matches)
    if problems:
        raise RunFileError(problems)
    return list(found)


class _Resolver:
    """The model's names and units, and the problems met so far."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.problems: list[str] = []

    def parameters(self, given: Mapping[str, SourcedValue]) -> dict[str, RunValue]:
        system = self.system
        units, about = parameter_units(system), parameter_descriptions(system)
        values = {
            name: RunValue(node.data.default, units[name], about[name], MODEL)
            for name, node in system.parameters.items()
        }
        states = {s.data.name for s in system.moving()}
        for name, entry in given.items():
            if name not in values:
                where = f"there is no parameter '{name}'"
                if name in states:
                    hint = (
                        "; it is a coordinate, speed or state: give it in [initial], or "
                        f"--set initial.{name}=…"
                    )
                elif name in system.memories:
                    kind = "inputs" if _is_input(system.memories[name]) else "memory"
                    hint = f"; it is in [{kind}]: give it there, or --set {kind}.{name}=…"
                else:
                    hint = nearest(name, values)
                self.problems.append(f"{entry.source}: {where}{hint}")
                continue
            node = system.parameters[name]
            number = self._number(entry, f"parameter '{name}'", units[name], node)
            values[name] = RunValue(number, units[name], about[name], entry.source)
        return values

    def initial(self, given: Mapping[str, SourcedValue]) -> dict[str, RunValue]:
        system = self.system
        fixed = {
            s.data.name: "prescribed"
            for p in system.prescriptions.values()
            for s in (p.speed, p.coordinate)
            if s is not None
        }
        fixed |= {s.data.name: "locked" for s in system.locked}
        started = {s.data.name for s in system.started}
        values = {}
        symbols = {s.data.name: s for s in system.moving()}
        for name, s in symbols.items():
            if name not in fixed:
                source = STARTED if name in started else JOINT
                start = stated_value(system.initial[s], state_factor(s))
                values[name] = RunValue(start, s.data.units or "", s.data.about, source)
        for name, entry in given.items():
            if name in fixed:
                self.problems.append(f"{entry.source}: '{name}' is {fixed[name]}, so it has no initial value")
            elif name not in values:
                hint = self._joint_of_import(name) or nearest(name, values)
                self.problems.append(f"{entry.source}: there is no coordinate, speed or state '{name}'{hint}")
            else:
                known = values[name]
                number = self._number(entry, f"initial value of '{name}'", known.units, symbols[name])
                values[name] = known._replace(number=number, source=entry.source)
        return values

    def _joint_of_import(self, name: str) -> str:
        """Return a hint with the coordinates of the imported joint that a name means; "" if there is none."""
        joints = self.system.imported.joints if self.system.imported is not None else {}
        own = joints.get(name.partition(".")[0])
        return f"; the file's joint '{name.partition('.')[0]}' has {', '.join(own)} here" if own else ""

    def memories(self, given: Mapping[str, SourcedValue], kind: str) -> dict[str, RunValue]:
        """Return constant values of inputs (kind "input") or start values of other memories ("memory").

        Clocks of periodic updates are left out, since users cannot set them.
        """
        memories_of_kind = {
            name: m
            for name, m in self.system.memories.items()
            if _is_input(m) == (kind == "input") and m.period is None
        }
        values = {
            name: RunValue(stated_value(m.initial, m.factor), m.symbol.data.units or "", m.about, MODEL)
            for name, m in memories_of_kind.items()
        }
        for name, entry in given.items():
            if name not in values:
                hint = nearest(name, values) or (
                    f"; there are {', '.join(values)}" if values else f"; the model has no {kind}"
                )
                self.problems.append(f"{entry.source}: there is no {kind} '{name}'{hint}")
                continue
            known = values[name]
            number = self._number(entry, f"{kind} '{name}'", known.units, memories_of_kind[name].symbol)
            values[name] = known._replace(number=number, source=entry.source)
        return values

    def signals(self, given: Mapping[str, SourcedValue], folder: Path) -> dict[str, FileSignal]:
        """Return the inputs over time that entries describe."""
        known = [name for name, m in self.system.memories.items() if m.input]
        found = {}
        for name, entry in given.items():
            if name not in known:
                hint = nearest(name, known) or (f"; there are {', '.join(known)}" if known else "")
                self.problems.append(f"{entry.source}: there is no input '{name}'{hint}")
                continue
            try:
                made = file_signal(name, entry, folder)
                factor(self.system, self.system.memories[name], made.signal)
                found[name] = made
            except ArmillaryError as error:
                self.problems.append(f"{entry.source}: input '{name}': {error}")
        return found

    def _number(self, entry: SourcedValue, what: str, units: str, node: Expr) -> float | None:
        try:
            return read_number(entry.value, units, self.system.units, node.dimension)
        except ArmillaryError as error:
            self._problem(entry, what, error)
            return None

    def _problem(self, entry: SourcedValue, what: str, error: ArmillaryError) -> None:
        self.problems.append(f"{entry.source}: {about_value(what, error)}")

    # ------------------------------------------------------------ [run] and [output]

    def settings(self, given: Mapping[str, SourcedValue]) -> dict[str, SourcedValue]:
        found: dict[str, SourcedValue] = {}
        for name, entry in given.items():
            try:
                found[name] = SourcedValue(_setting(name, entry.value), entry.source)
            except ArmillaryError as error:
                self._problem(entry, name, error)
        return found

    def selection(self, given: Mapping[str, SourcedValue]) -> tuple[tuple[str, str], ...]:
        file = given.get("file")
        if file is not None and (not isinstance(file.value, str) or not file.value.strip()):
            self.problems.append(f"{file.source}: file must be the name of a file, not {shown(file.value)}")
        entry = given.get("select")
        if entry is None:
            return ()
        names = [entry.value] if isinstance(entry.value, str) else entry.value
        if not isinstance(names, list) or not names or not all(isinstance(n, str) for n in names):
            message = f'select must be a list of outputs, e.g. ["r", "A.*"], not {shown(entry.value)}'
            self.problems.append(f"{entry.source}: {message}")
            return ()
        return tuple((name, entry.source) for name in names)


def _is_input(memory: Memory) -> bool:
    return memory.input


def known_names(key: str) -> Iterable[str]:
    """Return the names that a setting of [run] may have; empty if its value is not a name."""
    if key == "method":
        from armillary.solver.methods.registry import METHODS

        return METHODS
    if key == "formalism":
        from armillary.program.derive import FORMALISMS

        return ["auto", *FORMALISMS]
    if key == "effort":
        from armillary.program.derive import EFFORTS

        return EFFORTS
    if key == "tier":
        from armillary.runtime.models.compilation import TIERS

        return TIERS
    return ()


def _setting(key: str, value: object) -> Given:
    """Return a value of [run], read and checked."""
    found = RUN_TABLE[key].read(value)
    known = known_names(key)
    if key == "method":
        from armillary.solver.methods.registry import replace_former_method

        found = replace_former_method(found)
    if known and found not in known:
        raise ArmillaryError(f"there is no {key} '{found}'{suggestion(found, known)}")
    return found


_PACKAGE = Path(__file__).resolve().parents[1]
_PLACES = (_PACKAGE / "_examples", _PACKAGE.parents[1] / "examples")  # in a wheel; in a checkout
_VEHICLES = _PACKAGE / "vehicles" / "models"  # text models, read here as data


class NoSuchModelError(ArmillaryError):
    """The error for a name that is neither a model file nor an example nor a vehicle of the package."""


def open_model(
    model: str | os.PathLike[str],
    folder: str | os.PathLike[str] = "",
    *,
    trust: bool = False,
    **options: object,
) -> System:
    """Return the system in a model file, whose path is relative to ``folder``, or the example or vehicle of
    that name.

    A Python file is never executed: a path may come from a run file, which is data. With ``trust`` a text
    model may load the FMUs that it names; ``options`` go to ``arm.load`` for other formats.
    """
    path = Path(folder) / model
    if path.suffix.lower() == ".py":
        raise NoSuchModelError(
            f"'{model}' is a program, which is not executed here; save its system as text first, "
            f"system.save('{path.with_suffix('.toml').name}'), or name an example"
        )
    if _is_file(path):
        if path.suffix.lower() not in FORMATS:
            saved = path.suffix.lower() in (".csv", ".nc", ".parquet", ".erd")
            run = "; to see a saved run, name its model first: armillary view MODEL RUN" if saved else ""
            raise NoSuchModelError(
                f"'{model}' is not a model: its name must end in {', '.join(FORMATS)}{run}"
            )
        return _load_model_file(path, trust, options)
    if str(model) in example_names():
        return example_system(str(model), trust=trust, **options)
    if str(model) in (vehicles := vehicle_files()):
        return _load_model_file(vehicles[str(model)], trust, options)
    near = nearest_file(path.name, [*_models_in(path.parent), *example_names(), *vehicles])
    raise NoSuchModelError(f"there is no model file '{path}', and no example or vehicle of that name{near}")


def _is_file(path: Path) -> bool:
    """Return whether there is a file; false for impossible paths, too long or with a null character."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _models_in(folder: Path) -> list[str]:
    try:
        return [entry.name for entry in folder.iterdir() if entry.suffix.lower() in FORMATS]
    except (OSError, ValueError):
        return []


# ------------------------------------------------------------------------------------------------- examples


def example_folder() -> Path:
    """Return the folder of the examples: inside an installed package, or in the checkout around it."""
    for folder in _PLACES:
        if (folder / "pendulum.py").is_file():
            return folder
    raise ArmillaryError("the examples are not installed with this copy of Armillary")


def example_names() -> list[str]:
    """Return the names of the examples that hold a model, as a program or as a text."""
    try:
        folder = example_folder()
    except ArmillaryError:
        return []
    return sorted({path.stem for path in folder.iterdir() if path.is_file() and _holds_model(path)})


def vehicle_files() -> dict[str, Path]:
    """Return the text models of the vehicles in this package by their names."""
    return {path.stem: path for path in sorted(_VEHICLES.glob("*.toml"))}


def _holds_model(path: Path) -> bool:
    marks = {".py": "\ndef system(", ".toml": "\n[bodies.", ".urdf": "<robot", ".xml": "<mujoco"}
    return path.suffix in marks and marks[path.suffix] in path.read_text(encoding="utf-8")


def example_files(name: str) -> list[Path]:
    """Return the files of an example: program, text model, and the run files of that model."""
    folder = example_folder()
    found = [path for path in sorted(folder.glob(f"{name}.*")) if path.suffix in (".py", *FORMATS)]
    if not found:
        known = [path.stem for path in folder.glob("*.py")]
        near = nearest(name, {*known, *example_names()}) or "; 'armillary examples' lists them"
        raise ArmillaryError(f"there is no example '{name}'{near}")
    mine = tuple(f'model = "{stem}"' for stem in (name, *(path.name for path in found)))
    runs = (p for p in sorted(folder.glob("*.toml")) if p not in found)
    return found + [p for p in runs if any(line in p.read_text(encoding="utf-8") for line in mine)]


def example_module(name: str) -> ModuleType:
    """Return an example as a module: its `system()`, its data."""
    path = example_folder() / f"{name}.py"
    if not path.is_file():
        raise ArmillaryError(f"there is no example '{name}'{nearest(name, example_names())}")
    known = f"armillary._examples.{name}"
    if known in sys.modules:
        return sys.modules[known]
    spec = importlib.util.spec_from_file_location(known, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[known] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[known]
        raise
    return module


def example_system(name: str, *, trust: bool = False, **options: object) -> System:
    """Return the model of an example, with its defaults."""
    first = example_files(name)[0]
    if (example_folder() / f"{name}.py").is_file():
        if options:
            raise ArmillaryError(
                f"the example '{name}' is a program, and takes no option {next(iter(options))}="
            )
        made = example_module(name).system()
        assert isinstance(made, System)
        return made
    return _load_model_file(first, trust, options)


def _load_model_file(path: Path, trust: bool, options: DataTable) -> System:
    """Load a model file; ``trust`` is passed on to the readers that can load FMUs."""
    granted = {"trust": True} if trust and path.suffix.lower() in (".toml", ".ssp") else {}
    return load(path, **granted, **options)


OnInput = Callable[[DataTable], DataMapping | None]
OnEcho = Callable[[Run], str | Iterable[str]]
SOURCE, START = "on_input", "on_start"


def user_input(file: RunFile, function: OnInput | None) -> RunFile:
    """Return the run file with the settings that ``function`` makes of its table [user]; values that the file
    sets itself stay. Raise an error for a table that no function reads.
    """
    if function is None:
        if file.user:
            first = next(iter(file.user.values()))
            raise RunFileError(
                [*file.problems, f"{first.source}: nothing reads [user] here; run it from Python, "
                 "arm.run(path, on_input=function), with a function that returns settings"]
            )  # fmt: skip
        return file
    found = function({name: entry.value for name, entry in file.user.items()})
    if found is None:
        return file
    if not isinstance(found, Mapping):
        raise ArmillaryError(
            f"on_input must return settings by name, {{'SPEED': 20, 'initial.A.q1': 0.1}}, or None, not "
            f"{type(found).__name__}"
        )
    made = file.setting({str(name): value for name, value in found.items()}, SOURCE)
    return made.under(file)


def recording(on_start: Given, changes: DataTable) -> Given:
    """Return a function that calls ``on_start`` and records its result in ``changes``."""

    def record_changes(values: dict[str, float]) -> Given:
        found = on_start(values)
        if isinstance(found, Mapping):
            changes.update({str(name): value for name, value in found.items()})
        return found

    return record_changes


def with_changes(values: RunValues, changes: DataMapping, run: Run) -> RunValues:
    """Return the values of a run with all values that on_start changed, so that its echo file gives the
    same run without on_start.
    """
    first = run.initial if len(run) else {}
    tables: DataTable = {}
    for table in ("initial", "inputs", "memory"):
        known: dict[str, RunValue] = dict(getattr(values, table))
        for name in changes.keys() & known.keys():
            plain = isinstance(changes[name], int | float)
            number = float(changes[name]) if plain else first.get(name, known[name].number)
            known[name] = known[name]._replace(number=number, source=START)
        tables[table] = known
    return replace(values, **tables)


def user_echo(text: str | Iterable[str]) -> str:
    """Return text as comment lines for the end of an echo file."""
    lines = (
        text.splitlines() if isinstance(text, str) else [line for t in text for line in str(t).splitlines()]
    )
    return "".join(
        ["\n", *(f"# {''.join(c for c in line if c.isprintable())}".rstrip() + "\n" for line in lines)]
    )
