"""Results of a study: its table and dataset, single runs' values, and pictures of all runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from armillary.algebra.node import plain_float
from armillary.ensembles.metrics import read_metric
from armillary.errors import ArmillaryError
from armillary.studies.definition.definition import Definition
from armillary.studies.lock import owner
from armillary.studies.progress import Progress, StudyStatus
from armillary.studies.sampling import Design
from armillary.studies.store import reading
from armillary.studies.store.folder import Folder
from armillary.studies.store.layout import METRIC, VARIED
from armillary.studies.store.records import finished_blocks, read_record
from armillary.untyped import Given

if TYPE_CHECKING:
    import pandas
    import xarray
    from matplotlib.figure import Figure

    from armillary.studies.sensitivity.screening import Sensitivity


class StudyResults:
    """The results in the folder of a study, whether it is finished or not."""

    _folder: Folder
    _definition: Definition
    _design: Design | None

    # ------------------------------------------------------------ what it is

    @property
    def path(self) -> Path:
        """Its folder."""
        return self._folder.root

    @property
    def runs(self) -> int:
        """The number of runs."""
        return self._definition.runs

    @property
    def varied(self) -> tuple[str, ...]:
        """Names of what varies."""
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
        """Units of what varies, of metrics and of outputs, by name."""
        layout = self._definition.layout
        return {a.name: a.units for a in layout.arrays} | {c.name: c.units for c in layout.columns}

    @property
    def run_by(self) -> str:
        """The process that runs it now, "process 1234 on node1, since …"; "" where there is none."""
        return owner(self.path)

    def status(self) -> StudyStatus:
        """The progress: runs made, runs that failed and why."""
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
        """An xarray dataset over the store: histories over ``run`` and ``time``, metrics, status, and what
        varies as coordinates.

        It is read as it is requested; ``options`` are those of ``xarray.open_zarr``, such as ``chunks={}``
        for Dask arrays. Runs that are not made yet are NaN.
        """
        return reading.dataset(self._folder, self._definition, **options)

    def table(self) -> pandas.DataFrame:
        """A table with a row per run: varied values, metrics, status; ``attrs["units"]`` has their units."""
        return reading.table(self._folder, self._definition)

    def values(self, run: int) -> dict[str, float]:
        """The varied values of one run: as it was made, or as the design has them."""
        layout = self._definition.layout
        if plain_float(run) is None or run != int(run):
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
        """The spread of an output over time: median, bands of runs, some single runs.

        ``options``: ``bands=(0.5, 0.9)``, ``singles=5``, ``title``, ``path`` of a file to save it.
        """
        from armillary.results.plots import distributions

        times, values, units = reading.history(self._folder, self._definition, output)
        return distributions.fan(times, values, name=output, units=units, **options)

    def histogram(self, metric: str, **options: Given) -> Figure:
        """The histogram of a metric; ``options``: ``bins``, ``title``, ``path``.

        Of a metric that is a histogram of each run, the mean over all runs.
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
        """Metrics over what varies: the named ones, or all; ``options``: ``title``, ``path``."""
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
        """The sensitivity of a metric to each varied quantity; print it, or ``.plot()`` it.

        Sobol' indices of a "saltelli" design, Morris screening of a "morris" one; of any other the variance
        explained.
        """
        from armillary.studies.sensitivity.screening import sensitivity

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
