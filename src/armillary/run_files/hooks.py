"""Functions of the user's where a run file is read and where its echo is written.

Source: Sayers (1990), Appendix A, add-subroutine with where = input and echo: routines that read keywords of
their own from the input, and that print what they hold into the echo file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from armillary.errors import ArmillaryError
from armillary.results.run import Run
from armillary.run_files.resolve import RunValue, RunValues
from armillary.run_files.run_file import RunFile, RunFileError
from armillary.untyped import DataMapping, DataTable, Given

OnInput = Callable[[DataTable], DataMapping | None]
OnEcho = Callable[[Run], str | Iterable[str]]
SOURCE, START = "on_input", "on_start"


def user_input(file: RunFile, function: OnInput | None) -> RunFile:
    """The run file with the settings that ``function`` makes of its table [user]; what the file sets itself
    stays. A table that no function reads is an error.
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
    """The same function, with what it returns recorded in ``changes``."""

    def recorded(values: dict[str, float]) -> Given:
        found = on_start(values)
        if isinstance(found, Mapping):
            changes.update({str(name): value for name, value in found.items()})
        return found

    return recorded


def with_changes(values: RunValues, changes: DataMapping, run: Run) -> RunValues:
    """The values of a run with those that on_start gave, for the echo file: it gives the same run without
    the function.
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
