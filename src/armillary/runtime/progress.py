"""A line of progress for long work."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from armillary.algebra.arguments import flag
from armillary.untyped import AnyFunction

_PATIENCE = 1.0  # seconds before the first line
_OFTEN = 0.1  # seconds between two lines


def on_terminal() -> bool:
    """Return whether stderr is a terminal; in a process without a console it may be None or closed."""
    try:
        return sys.stderr is not None and sys.stderr.isatty()
    except ValueError:
        return False


@contextmanager
def report_line(wanted: bool | AnyFunction | None, words: Callable[..., str]) -> Iterator[AnyFunction | None]:
    """Yield the function to call with the progress of some work; `None` if no progress is shown.

    The function is the user's, or one that writes a line of ``words`` on a terminal if the work takes long.
    The first argument of ``words`` is the number of seconds so far.
    """
    if callable(wanted):
        yield wanted
        return
    if wanted is not None:
        wanted = flag(wanted, "progress=, where it is no function,")
    if not wanted or not on_terminal():
        yield None
        return
    started = last = time.monotonic()
    width = 0

    def report(*reached: object) -> None:
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


_SILENT: AbstractContextManager[None] = nullcontext(None)


def progress_line(
    wanted: bool | Callable[[float], None], t0: float, t_end: float
) -> AbstractContextManager[Callable[[float], None] | None]:
    """Return a context with the function to call with the time that a run has reached, or with `None`."""
    if wanted is False or (wanted is True and not on_terminal()):
        return _SILENT
    return _run_line(wanted, t0, t_end)


@contextmanager
def _run_line(
    wanted: bool | Callable[[float], None], t0: float, t_end: float
) -> Iterator[Callable[[float], None] | None]:

    def words(seconds: float, t: float) -> str:
        share = (t - t0) / (t_end - t0) if t_end > t0 else 1.0
        return f"  {100 * share:5.1f} %  t = {t:.4g} s  {time_left(seconds, share)} "

    with report_line(wanted, words) as report:
        yield report


def time_left(seconds: float, share: float) -> str:
    """Return the time left in words, when ``share`` of the work has taken ``seconds``."""
    return f"about {clock(seconds * (1 - share) / share)} left" if share > 0 else ""


def clock(seconds: float) -> str:
    """Return a time in words: 42 s, 3 min 20 s, 2 h 5 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
