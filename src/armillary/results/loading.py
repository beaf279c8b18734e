"""Runs read from files, and damaged files refused."""

from __future__ import annotations

import os

from armillary.errors import ArmillaryError
from armillary.results.files import read_record
from armillary.results.run import FILE_VERSION, Run, run_from_record


def load_run(path: str | os.PathLike[str]) -> Run:
    """Return the run in a .nc, .parquet, .csv or .erd file, equal to the one that was saved.

    A .csv or .erd file may be another program's; a CSV table must have a header, with time first.
    """
    record = read_record(path)
    version = record.metadata.get("armillary_run")
    if version != FILE_VERSION:
        raise ArmillaryError(
            f"'{path}' has run format {version} and this Armillary reads {FILE_VERSION}: "
            "use the version that wrote it"
        )
    try:
        loaded = run_from_record(record)
        _require_texts(loaded)
    except (ValueError, TypeError, AttributeError) as error:
        raise ArmillaryError(f"'{path}' is damaged: {error}") from error
    return loaded


def _require_texts(run: Run) -> None:
    """Checks that an entry is text: a damaged file may hold a number there."""
    tables = (run.units, run.descriptions, run.parameters, run.parameter_units, run.info)
    texts = [
        run.system,
        *run.names,
        *(event.name for event in run.events),
        *(key for t in tables for key in t),
        *run.outputs,
    ]
    texts += [text for table in (run.units, run.descriptions, run.parameter_units) for text in table.values()]
    for text in texts:
        if not isinstance(text, str):
            raise ArmillaryError(f"{text!r} is not a text")
