"""A line of progress for many runs: how many are done, how fast, and the time left."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_PATIENCE = 1.0  # seconds without a word
_OFTEN = 0.2  # seconds between two lines


@contextmanager
def count_line(
    wanted: bool | Callable[[int], None], total: int, what: str = "runs"
) -> Iterator[Callable[[int], None] | None]:
    """A function to call with the number done: the user's own, one that writes on a terminal, or None."""
    if callable(wanted):
        yield wanted
        return
    if not wanted or not sys.stderr.isatty():
        yield None
        return
    started = shown = time.monotonic()
    width = 0

    def report(done: int) -> None:
        nonlocal shown, width
        now = time.monotonic()
        elapsed = now - started
        if elapsed < _PATIENCE or now - shown < _OFTEN or not done:
            return
        rate = done / elapsed
        line = f"  {done:,} of {total:,} {what}, {rate:,.3g} per second, {clock((total - done) / rate)} left"
        sys.stderr.write("\r" + line.ljust(width))
        sys.stderr.flush()
        shown, width = now, len(line)

    try:
        yield report
    finally:
        if width:
            sys.stderr.write("\r" + " " * width + "\r")


def clock(seconds: float) -> str:
    """A time in words: 42 s, 3 min 20 s, 2 h 5 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
