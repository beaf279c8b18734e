"""Output of commands, and the data of runs that had to stop.

Output of commands: tables in columns, JSON with stable keys.

Runs that had to stop: their data so far are kept, and the error names the file.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from armillary.columns import aligned
from armillary.errors import SimulationError
from armillary.untyped import Given

if TYPE_CHECKING:
    from armillary.results import Run


def align_columns(rows: Sequence[Sequence[str]], *, header: bool = True) -> str:
    """Rows of cells in columns; numbers end at the same place, the first row is bold on a terminal."""
    if not rows:
        return ""
    body = rows[1:] if header else rows
    right = [bool(body) and all(map(_numeric, column)) for column in zip(*body, strict=True)]
    sides = "".join(">" if numbers else "<" for numbers in right)
    lines = ["  " + line for line in aligned(rows, sides, width=_width)]
    if header:
        lines[0] = click.style(lines[0], bold=True)
    return "\n".join(lines)


def _width(cell: str) -> int:
    """Characters that a terminal shows of a cell, which may be coloured."""
    return len(click.unstyle(cell))


def _numeric(cell: str) -> bool:
    try:
        float(cell or "0")
    except ValueError:
        return False
    return True


def as_json(value: object) -> str:
    """Return JSON that every reader takes: numbers that are not finite become null."""
    return json.dumps(_replace_nonfinite(value), ensure_ascii=False, indent=2)


def _replace_nonfinite(value: object) -> Given:
    if isinstance(value, Mapping):
        return {str(key): _replace_nonfinite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_replace_nonfinite(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool) or value is None else str(value)


def emit(json_wanted: bool, data: Mapping[str, object], text: str) -> None:
    """The result of a command: ``data`` for scripts, or ``text`` for people."""
    click.echo(as_json({"ok": True, **data}) if json_wanted else text)


def good(text: str) -> str:
    return click.style(text, fg="green")


def bad(text: str) -> str:
    return click.style(text, fg="red")


def doubtful(text: str) -> str:
    return click.style(text, fg="yellow")


def faint(text: str) -> str:
    return click.style(text, dim=True)


def seconds(value: float) -> str:
    """Return a time as people read it: 1.2 s, 35 ms, 120 ns."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"


def partial_run(simulate: Callable[[], Run]) -> tuple[Run, SimulationError | None]:
    """Return a run as far as it came, and the error that ended it early, if one did."""
    try:
        return simulate(), None
    except SimulationError as error:
        if error.run is None:
            raise
        return error.run, error


def failure_with_data(failure: SimulationError, file: Path | None) -> SimulationError:
    """Return the same error with the place of the data in files."""
    message = str(failure).removesuffix("; the data so far are in the error's .run")
    return SimulationError(f"{message}; the data so far are in '{file}'" if file is not None else message)
