"""The blocks of a study one after another in this process; each uses all its threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from armillary.studies.lock import StudyLock
from armillary.studies.records import Record
from armillary.studies.work import Values, Work


def run_here(
    work: Work,
    values: Callable[[int, int], Values],
    blocks: Iterable[int],
    lock: StudyLock,
    done: Callable[[Record], None],
) -> None:
    """The given blocks made; ``values`` are those of the design from one run up to another."""
    for number in blocks:
        lock.check()
        done(work.do(number, values(*work.layout.span(number))))
