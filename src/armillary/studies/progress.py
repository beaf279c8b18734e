"""The progress of a study: a record, and a line on a terminal."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from armillary.runtime.progress import clock, report_line
from armillary.studies.store.layout import StoreLayout
from armillary.studies.store.records import BlockRecord

_NAMED = 3  # failed runs named in a summary
_LONGEST = 80  # letters of a reason there


@dataclass(frozen=True)
class StudyStatus:
    """The progress of a study."""

    runs: int  # that the study has
    made: int  # of them
    failed: int  # of those made: diverged, or could not start
    failures: tuple[tuple[int, str], ...]  # the first failed ones, and why
    blocks: int
    finished: int  # blocks
    rate: float = 0.0  # runs per second, since it was started last
    seconds_left: float | None = None  # None where it is not known, or the study is not being run

    @property
    def complete(self) -> bool:
        return self.finished == self.blocks

    def __str__(self) -> str:
        lines = [f"{self.made} of {self.runs} runs made, in {self.finished} of {self.blocks} blocks"]
        if self.rate:
            lines[0] += f", {_three_digits(self.rate)} runs/s"
        if self.seconds_left:
            lines[0] += f", about {clock(max(self.seconds_left, 1.0))} left"
        if self.failed:
            named = "; ".join(f"run {run}: {_short(why)}" for run, why in self.failures[:_NAMED])
            more = "; …" if self.failed > min(len(self.failures), _NAMED) else ""
            lines.append(f"{self.failed} failed ({named}{more})")
        return "\n".join(lines)


def _three_digits(rate: float) -> str:
    """A rate as people write it: 0.0123, 12.3, 12300."""
    rough = f"{rate:.3g}"
    return f"{float(rough):.0f}" if rate >= 100 else rough


def _short(reason: str) -> str:
    """The first line of a reason, or as much of it as a summary has room for."""
    line = reason.partition("\n")[0].partition(";")[0]
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


class Progress:
    """The count of what is made, from the blocks that were there and each one that is finished."""

    def __init__(self, layout: StoreLayout, there: Iterable[BlockRecord]) -> None:
        self._layout = layout
        self._finished = self._made = self._failed = 0
        self._failures: list[tuple[int, str]] = []
        for record in there:
            self._count(record)
        self._before = self._made
        self._started = time.monotonic()

    def _count(self, record: BlockRecord) -> None:
        self._finished += 1
        self._made += record.end - record.first
        self._failed += record.failed
        if record.failures:
            self._failures = sorted([*self._failures, *record.failures])[:_NAMED]

    def add(self, record: BlockRecord) -> None:
        """One more block."""
        self._count(record)

    @property
    def status(self) -> StudyStatus:
        layout = self._layout
        elapsed, made = time.monotonic() - self._started, self._made - self._before
        rate = made / elapsed if elapsed > 0 else 0.0
        left = (layout.runs - self._made) / rate if rate else None
        return StudyStatus(
            layout.runs,
            self._made,
            self._failed,
            tuple(self._failures),
            layout.blocks,
            self._finished,
            rate,
            left,
        )


@contextmanager
def reporting(
    wanted: bool | Callable[[StudyStatus], object], progress: Progress
) -> Iterator[Callable[[], None]]:
    """A function to call after each block: it calls the user's function with the status, or shows a line."""

    def words(_: float, status: StudyStatus) -> str:
        line = f"  {100.0 * status.made / status.runs:5.1f} %  {str(status).partition(chr(10))[0]}"
        return line + (f", {status.failed} failed" if status.failed else "")

    with report_line(wanted, words) as report:
        yield lambda: report(progress.status) if report else None
