"""A line of progress for work that takes long."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from armillary.algebra.arguments import flag

_PATIENCE = 1.0  # seconds without a word
_OFTEN = 0.1  # seconds between two lines


@contextmanager
def shown_line(
    wanted: bool | Callable[..., Any] | None, words: Callable[..., str]
) -> Iterator[Callable[..., Any] | None]:
    """A function to call with how far the work is: the user's own, one that writes ``words`` of it on a
    terminal once the work takes long, or None. ``words`` gets the seconds gone by first.
    """
    if callable(wanted):
        yield wanted
        return
    if wanted is not None:
        wanted = flag(wanted, "progress=, where it is no function,")
    if not wanted or not sys.stderr.isatty():
        yield None
        return
    started = last = time.monotonic()
    width = 0

    def report(*reached: Any) -> None:
        nonlocal last, width
        now = time.monotonic()
        if now - started < _PATIENCE or now - last < _OFTEN:
            return
        line = words(now - started, *reached)
        sys.stderr.write("\r" + line.ljust(width))
        sys.stderr.flush()
        last, width = now, len(line)

    try:
        yield report
    finally:
        if width:
            sys.stderr.write("\r" + " " * width + "\r")
            sys.stderr.flush()


@contextmanager
def progress_line(
    wanted: bool | Callable[[float], None], t0: float, t_end: float
) -> Iterator[Callable[[float], None] | None]:
    """A function to call with the time that a run has reached, or None."""

    def words(seconds: float, t: float) -> str:
        share = (t - t0) / (t_end - t0) if t_end > t0 else 1.0
        return f"  {100 * share:5.1f} %  t = {t:.4g} s  {left(seconds, share)} "

    with shown_line(wanted, words) as report:
        yield report


def left(seconds: float, share: float) -> str:
    """The time left, in words, where a share of the work took so long."""
    return f"about {clock(seconds * (1 - share) / share)} left" if share > 0 else ""


def clock(seconds: float) -> str:
    """A time in words: 42 s, 3 min 20 s, 2 h 5 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
