"""Studies: many runs over a design, kept in a folder that survives whatever stops them.

Enters: a model, what varies and how, what is kept. Leaves: ``results.zarr`` and ``metrics.parquet``, and a
``Study`` that reads them. Read ``study.py`` first, then ``records.py`` (when a block counts), ``store.py``
(the Zarr chunks), ``cluster.py`` (the same on Dask), and ``study_file.py`` (a study as a text file).
"""

from __future__ import annotations

from armillary.studies.progress import Status
from armillary.studies.study import Study, open_study

__all__ = ["Status", "Study", "open_study"]
