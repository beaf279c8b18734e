"""Studies: many runs over a design, kept in a folder from which an interrupted study continues.

Enters: a model, the varied quantities with their distributions, and the results to keep. Leaves:
``results.zarr`` and ``metrics.parquet``, and a ``Study`` that reads them. Read ``study.py`` first;
``sampling/`` has distributions and designs, ``runs.py`` makes blocks of runs, ``records.py`` keeps them,
``cluster.py`` makes them on Dask, ``sensitivity.py`` evaluates the results, and ``study_file.py`` reads
studies from text files.
"""

from __future__ import annotations

from armillary.studies.results import StudyStatus
from armillary.studies.study import Study, open_study

__all__ = ["Study", "StudyStatus", "open_study"]
