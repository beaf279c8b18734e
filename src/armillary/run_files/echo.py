"""Echo files: every value of a run with its unit, meaning and source, written as a run file.

Source: Sayers (1990), section 9.1 and Table 9.3.3, whose programs echo parameters and initial values so that
the echo can be read again. Numbers have all their digits: the echo gives the same run, bit by bit.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from armillary.atomic import replacing
from armillary.results.run import Run
from armillary.run_files.resolve import RunValue, RunValues
from armillary.run_files.run_file import RunFile
from armillary.settings import RUN_TABLE
from armillary.stages import System
from armillary.toml_text import toml_key, toml_value

_WIDEST = 36  # columns up to which comments are aligned


def write_echo(path: str | os.PathLike[str], text: str) -> None:
    """An echo file, whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def echo_text(file: RunFile, system: System, values: RunValues, run: Run, *, folder: Path) -> str:
    """The text of an echo file that will lie in ``folder``."""
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
    lines.append(f"file = {toml_value(f'{stem}.echo{suffix}')}  # not over the results of the run itself")
    return "\n".join(lines) + "\n"


def _split_initial_values(
    system: System, values: RunValues, run: Run
) -> tuple[dict[str, RunValue], dict[str, RunValue]]:
    """Return initial values to set again, and values that follow from them.

    Where loops must close, or mass centres are placed, a value that is given is kept and the others are found
    from it. With all of them given, the start would be found again, equal only to rounding.
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
    """The model as the echo file names it: relative to its own folder."""
    path = file.folder / file.model
    if not path.exists():
        return file.model  # the name of an example
    try:
        return Path(os.path.relpath(path, folder)).as_posix()
    except ValueError:  # on another drive
        return path.resolve().as_posix()


def _comment_text(text: str) -> str:
    """Text for a comment: one line, no control characters."""
    return re.sub(r"[\x00-\x1f\x7f\s]+", " ", str(text)).strip()
