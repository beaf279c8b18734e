"""What may come of a damaged file: it is read, or refused by one clear error, soon."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from armillary.errors import ArmillaryError
from tests.fuzz.damage import damaged

SECONDS = 2.0  # of the processor, for one file
READ = "read"
LONGEST = 4000  # characters of a message; several problems may be told at once


def complaint(load: Callable[[Path], Any], path: Path) -> str:
    """What is wrong with the way a file was taken; nothing where all is well."""
    trials = [_seconds_and_message(load, path)]
    if (
        trials[0][0] > SECONDS
    ):  # once more: garbage of a thousand files before it may have been swept meanwhile
        trials.append(_seconds_and_message(load, path))
    spent, message, fault = min(trials)
    if fault:
        return fault
    if spent > SECONDS:
        return f"{spent:.1f} s"
    if not message.strip() or len(message) > LONGEST or "Traceback" in message:
        return f"no clear sentence: {len(message)} characters, {message[:200]!r}"
    if message != READ and path.name not in message:
        return f"no name of the file: {message[:200]!r}"
    return ""


def _seconds_and_message(load: Callable[[Path], Any], path: Path) -> tuple[float, str, str]:
    """(seconds of the processor, what was said, an error that should not be)."""
    start = time.process_time()
    message, fault = READ, ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            load(path)
    except ArmillaryError as error:
        message = str(error)
    except Exception as error:
        fault = f"{type(error).__name__}: {str(error)[:200]}"
    return time.process_time() - start, message, fault


def complaints(
    load: Callable[[Path], Any],
    good: dict[str, bytes],
    count: int,
    folder: Path,
    *,
    first: int = 0,
    damage: Callable[[bytes, int], bytes] = damaged,
) -> dict[str, str]:
    """Complaints by file and seed over so many damaged copies of good files, in turn."""
    found: dict[str, str] = {}
    names = list(good)
    for seed in range(first, first + count):
        name = names[seed % len(names)]
        path = folder / name
        path.write_bytes(damage(good[name], seed))
        if wrong := complaint(load, path):
            found[f"{name}, seed {seed}"] = wrong
    return found
