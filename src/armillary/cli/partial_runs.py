"""Runs that had to stop: their data so far are kept, and the error names the file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from armillary.errors import SimulationError

if TYPE_CHECKING:
    from armillary.results import Run


def partial_run(simulate: Callable[[], Run]) -> tuple[Run, SimulationError | None]:
    """A run as far as it came, and the error that ended it early, if one did."""
    try:
        return simulate(), None
    except SimulationError as error:
        if error.run is None:
            raise
        return error.run, error


def failure_with_data(failure: SimulationError, file: Path | None) -> SimulationError:
    """The same error with the place of the data in files."""
    message = str(failure).removesuffix("; the data so far are in the error's .run")
    return SimulationError(f"{message}; the data so far are in '{file}'" if file is not None else message)
