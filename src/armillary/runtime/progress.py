"""A line of progress for runs that take long."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_PATIENCE = 1.0  # seconds without a word


@contextmanager
def progress_line(
    wanted: bool | Callable[[float], None], t0: float, t_end: float
) -> Iterator[Callable[[float], None] | None]:
    """A function to call with the time reached: the user's own, one that writes a line on a terminal, or
    None.
    """
    if callable(wanted):
        yield wanted
        return
    if not wanted or not sys.stderr.isatty():
        yield None
        return
    started = time.monotonic()
    shown = False

    def report(t: float) -> None:
        nonlocal shown
        elapsed = time.monotonic() - started
        if elapsed < _PATIENCE or t_end <= t0:
            return
        share = (t - t0) / (t_end - t0)
        left = elapsed * (1 - share) / share if share > 0 else float("inf")
        sys.stderr.write(f"\r  {100 * share:5.1f} %  t = {t:.4g} s  about {left:.0f} s left ")
        sys.stderr.flush()
        shown = True

    try:
        yield report
    finally:
        if shown:
            sys.stderr.write("\r" + " " * 60 + "\r")
