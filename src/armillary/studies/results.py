"""Results of a study: its table and dataset, single runs' values, and pictures of all runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from armillary.algebra.node import plain_float
from armillary.ensembles.metrics import read_metric
from armillary.errors import ArmillaryError
from armillary.runtime.progress import clock, report_line
from armillary.studies import reading
from armillary.studies.definition import Definition
from armillary.studies.folder import METRIC, VARIED, Folder, StoreLayout, owner
from armillary.studies.records import BlockRecord, finished_blocks, read_record
from armillary.studies.sampling import Design
from armillary.untyped import Given

if TYPE_CHECKING:
    import pandas
    import xarray
    from matplotlib.figure import Figure

    from armillary.studies.sensitivity import Sensitivity


# The progress of a study: a record, and a line on a terminal.

_NAMED = 3  # failed runs named in a summary
_LONGEST = 80  # characters of a reason in a summary


@dataclass(frozen=True)
class StudyStatus:
    """The progress of a study."""

    runs: int  # number of runs in the study
    made: int  # number of runs that are made
    failed: int  # number of these that diverged or could not start
    failures: tuple[tuple[int, str], ...]  # the first failed runs, with reasons
    blocks: int  # number of blocks of runs in the study
    finished: int  # number of blocks that are finished
    rate: float = 0.0  # runs per second since the last start
    seconds_left: float | None = None  # None if unknown, or if the study is not running

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
            named = "; ".join(f"run {run}: {_first_line(why)}" for run, why in self.failures[:_NAMED])
            more = "; …" if self.failed > min(len(self.failures), _NAMED) else ""
            lines.append(f"{self.failed} failed ({named}{more})")
        return "\n".join(lines)


def _three_digits(rate: float) -> str:
    """Return a rate as people write it: 0.0123, 12.3, 12300."""
    rough = f"{rate:.3g}"
    return f"{float(rough):.0f}" if rate >= 100 else rough


def _first_line(reason: str) -> str:
    """Return the first line of a reason, cut to the room in a summary."""
    line = reason.partition("\n")[0].partition(";")[0]
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


class Progress:
    """The progress of a study, counted from the blocks found at the start and the blocks finished since."""

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
        """Add one more block."""
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
    """Yield a function to call after each block: it calls the user's function with the status, or shows a
    line.
    """

    def words(_: float, status: StudyStatus) -> str:
        line = f"  {100.0 * status.made / status.runs:5.1f} %  {str(status).partition(chr(10))[0]}"
        return line + (f", {status.failed} failed" if status.failed else "")

    with report_line(wanted, words) as report:
        yield lambda: report(progress.status) if report else None


class StudyResults:
    """The results in the folder of a study, whether it is finished or not."""

    _folder: Folder
    _definition: Definition
    _design: Design | None

    # ------------------------------------------------------------ description

    @property
    def path(self) -> Path:
        """The study's folder."""
        return self._folder.root

    @property
    def runs(self) -> int:
        """The number of runs."""
        return self._definition.runs

    @property
    def varied(self) -> tuple[str, ...]:
        """Names of the varied quantities."""
        return self._definition.layout.names(VARIED)

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics."""
        return tuple(self._definition.content["metrics"])

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the outputs whose histories are kept."""
        return tuple(self._definition.content["outputs"])

    @property
    def units(self) -> dict[str, str]:
        """Units of varied quantities, metrics and outputs, by name."""
        layout = self._definition.layout
        return {a.name: a.units for a in layout.arrays} | {c.name: c.units for c in layout.columns}

    @property
    def run_by(self) -> str:
        """The process that runs the study now, "process 1234 on node1, since …"; "" if none does."""
        return owner(self.path)

    def status(self) -> StudyStatus:
        """Return the progress: the number of runs made, and failed runs with reasons."""
        found = finished_blocks(self._folder, self._definition.layout, self._definition.digest, patience=0.0)
        return Progress(self._definition.layout, found.records.values()).status

    def __repr__(self) -> str:
        content = self._definition.content
        lines = [f"Study of '{self._definition.system}' in '{self.path}'"]
        names = ", ".join(self.varied)
        lines.append(f"  {content['design']['kind']} over {names}, seed {content['design']['seed']}")
        for name, metric in content["metrics"].items():
            lines.append(f"  {name} = {metric}")
        if self.outputs:
            lines.append(f"  histories of {', '.join(self.outputs)}")
        return "\n".join([*lines, *(f"  {line}" for line in str(self.status()).split("\n"))])

    # ------------------------------------------------------------ results

    def dataset(self, **options: object) -> xarray.Dataset:
        """Return an xarray dataset over the store: histories over ``run`` and ``time``, metrics, status, and
        the varied quantities as coordinates.

        Values are read on access; ``options`` go to ``xarray.open_zarr``, such as ``chunks={}`` for Dask
        arrays. Runs not made yet are NaN.
        """
        return reading.dataset(self._folder, self._definition, **options)

    def table(self) -> pandas.DataFrame:
        """Return a table with a row per run: varied values, metrics, status; ``attrs["units"]`` has their
        units.
        """
        return reading.run_table(self._folder, self._definition)

    def values(self, run: int) -> dict[str, float]:
        """Return the varied values of one run: from its record, or from the design if it is not made yet."""
        layout = self._definition.layout
        number = plain_float(run)
        if number is None or not number.is_integer():
            raise ArmillaryError(f"runs are whole numbers from 0 on: there is no run {run!r}")
        if not 0 <= run < layout.runs:
            raise ArmillaryError(f"there is no run {run}: the study has runs 0 to {layout.runs - 1}")
        run = int(run)
        found = read_record(self._folder, layout, self._definition.digest, run // layout.block)
        if found is None:
            return self._require_design().values(run)
        rows = zip(layout.columns, found[1][:, run - found[0].first].tolist(), strict=True)
        return {column.name: value for column, value in rows if column.kind == VARIED}

    # ------------------------------------------------------------ pictures

    def fan(self, output: str, **options: Given) -> Figure:
        """Draw the spread of an output over time: median, bands of runs, some single runs.

        ``options``: ``bands=(0.5, 0.9)``, ``singles=5``, ``title``, ``path`` of a file to save it.
        """
        from armillary.results.plots import distributions

        times, values, units = reading.history(self._folder, self._definition, output)
        return distributions.fan(times, values, name=output, units=units, **options)

    def histogram(self, metric: str, **options: Given) -> Figure:
        """Draw the histogram of a metric; ``options``: ``bins``, ``title``, ``path``.

        If the metric is itself a histogram of each run, the mean over all runs is drawn.
        """
        from armillary.results.plots import distributions

        if (counted := reading.counts_of(self._folder, self._definition, metric)) is not None:
            if options.pop("bins", None) is not None:
                raise ArmillaryError(f"metric '{metric}' has its bins already: leave bins= out")
            counts, bins = counted
            output = read_metric(self._definition.content["metrics"][metric]).output
            return distributions.mean_histogram(
                counts, bins.edges, name=metric, output=output, units=bins.edge_units, **options
            )
        found = reading.columns_of(self._folder, self._definition, metric)[metric]
        return distributions.histogram(found.values, name=metric, units=found.units, **options)

    def scatter(self, *names: str, **options: Given) -> Figure:
        """Draw metrics over varied quantities: the named ones, or all; ``options``: ``title``, ``path``."""
        from armillary.results.plots import distributions

        layout, groups = self._definition.layout, []
        for kind in (VARIED, METRIC):
            every = layout.names(kind)
            groups.append([name for name in names if name in every] or every)
        unknown = [name for name in names if not any(name in group for group in groups)]
        found = reading.columns_of(self._folder, self._definition, *unknown, *groups[0], *groups[1])
        shown = [{name: found[name].values for name in group} for group in groups]
        return distributions.scatter(
            *shown, units={name: each.units for name, each in found.items()}, **options
        )

    def sensitivity(self, metric: str, *, level: float = 0.95) -> Sensitivity:
        """Return the sensitivity of a metric to each varied quantity; print it, or ``.plot()`` it.

        For a "saltelli" design: Sobol' indices; for "morris": Morris screening; for any other design: the
        explained variance.
        """
        from armillary.studies.sensitivity import sensitivity

        found = reading.columns_of(self._folder, self._definition, metric)[metric]
        return sensitivity(
            self._require_design(), found.values, metric=metric, units=found.units, level=level
        )

    def _require_design(self) -> Design:
        if self._design is None:
            raise ArmillaryError(
                f"study '{self.path}' varies something by a function, which its folder cannot hold: make it "
                "with Study(…) again to go on"
            )
        return self._design
