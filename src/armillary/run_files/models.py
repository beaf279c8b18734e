"""Models of run files by path or example, and the user's functions around a run.

Models by path or by the name of an example.

Functions of the user's where a run file is read and where its echo is written.

Source: Sayers (1990), Appendix A, add-subroutine with where = input and echo: routines that read their own
keywords from the input, and print their values into the echo file.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from types import ModuleType

from armillary.errors import ArmillaryError, nearest, nearest_file
from armillary.files.model.load import FORMATS
from armillary.results.run import Run
from armillary.run_files.resolve import RunValue, RunValues
from armillary.run_files.run_file import RunFile, RunFileError
from armillary.stages import System, load
from armillary.untyped import DataMapping, DataTable, Given

_PACKAGE = Path(__file__).resolve().parents[1]
_PLACES = (_PACKAGE / "_examples", _PACKAGE.parents[1] / "examples")  # in a wheel; in a checkout


class NoSuchModelError(ArmillaryError):
    """A name that stands for no model."""


def open_model(
    model: str | os.PathLike[str],
    folder: str | os.PathLike[str] = "",
    *,
    trust: bool = False,
    **options: object,
) -> System:
    """Return the system in a model file, whose path is relative to ``folder``, or the example of that name.

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
    near = nearest_file(path.name, [*_models_in(path.parent), *example_names()])
    raise NoSuchModelError(f"there is no model file '{path}', and no example of that name{near}")


def _is_file(path: Path) -> bool:
    """Return whether there is a file; a path that no file can have, too long or with a null, has none."""
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
    """Where the examples are: inside an installed package, or in the checkout around it."""
    for folder in _PLACES:
        if (folder / "pendulum.py").is_file():
            return folder
    raise ArmillaryError("the examples are not installed with this copy of Armillary")


def example_names() -> list[str]:
    """Names of the examples that hold a model, as a program or as a text."""
    try:
        folder = example_folder()
    except ArmillaryError:
        return []
    return sorted({path.stem for path in folder.iterdir() if path.is_file() and _holds_model(path)})


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
    """Return a model file; only a text model can name machine code, so that there is something to trust."""
    granted = {"trust": True} if trust and path.suffix.lower() == ".toml" else {}
    return load(path, **granted, **options)


OnInput = Callable[[DataTable], DataMapping | None]
OnEcho = Callable[[Run], str | Iterable[str]]
SOURCE, START = "on_input", "on_start"


def user_input(file: RunFile, function: OnInput | None) -> RunFile:
    """Return the run file with the settings that ``function`` makes of its table [user]; what the file sets
    itself stays. A table that no function reads is an error.
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
    """Return the function with its result recorded in ``changes``."""

    def record_changes(values: dict[str, float]) -> Given:
        found = on_start(values)
        if isinstance(found, Mapping):
            changes.update({str(name): value for name, value in found.items()})
        return found

    return record_changes


def with_changes(values: RunValues, changes: DataMapping, run: Run) -> RunValues:
    """Return the values of a run, updated by on_start, for the echo file: it gives the same run without the
    function.
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
    """Text as comment lines at the end of an echo file."""
    lines = (
        text.splitlines() if isinstance(text, str) else [line for t in text for line in str(t).splitlines()]
    )
    return "".join(
        ["\n", *(f"# {''.join(c for c in line if c.isprintable())}".rstrip() + "\n" for line in lines)]
    )
