"""Options of a command in a run file: a table of the command's name, ``[linearize] inputs = ["STEER"]``.

Options on the command line come before those of the file. A table in it stands for several NAME=VALUE, and
files are relative to the run file.
"""

from __future__ import annotations

from pathlib import Path

import click

from armillary.run_files.run_file import ANALYSES
from armillary.untyped import DataTable, Given


def options_in_file(command: click.Command, name: str, source: str) -> DataTable:
    """Options and arguments of a command by parameter; none without a run file that has a table for it."""
    if name not in ANALYSES or not source.endswith(".toml") or not Path(source).is_file():
        return {}
    from armillary.errors import suggestion
    from armillary.files.model.documents import read_document
    from armillary.run_files.run_file import RunFileError, where

    document = read_document(source, "run file")
    table = document.data.get(name)
    if "model" not in document.data or not isinstance(table, dict):
        return {}
    known = {key: option for option in command.params for key in _keys(option)}
    for key in ("source", "json", "debug", "trust", "import"):  # the file itself, and what it cannot grant
        known.pop(key, None)
    wrong = [
        f"{where(document, name, key)}: unknown key '{key}' in [{name}]{suggestion(key, known)}"
        for key in table
        if key not in known
    ]
    if wrong:
        raise RunFileError(wrong)
    folder = Path(source).parent
    return {str(known[key].name): _value(known[key], value, folder) for key, value in table.items()}


def _keys(option: click.Parameter) -> list[str]:
    """The keys of an option: its long forms without dashes; of an argument its name."""
    return [text.lstrip("-") for text in option.opts if text.startswith("--") or text[:1] != "-"]


def _value(option: click.Parameter, value: object, folder: Path) -> Given:
    if isinstance(option.type, click.Path):
        return str(folder / str(value))
    if not option.multiple and option.nargs == 1:
        return value if isinstance(value, bool) else _text(value)
    if isinstance(value, dict):
        return [f"{key}={_text(item)}" for key, item in value.items()]
    return [_text(item) for item in (value if isinstance(value, list) else [value])]


def _text(value: object) -> str:
    return ",".join(map(_text, value)) if isinstance(value, list) else str(value)
