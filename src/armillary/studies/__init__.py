"""Studies: many runs over a design, kept in a folder that survives whatever stops them.

Enters: a model, what varies and how, what is kept. Leaves: ``results.zarr`` and ``metrics.parquet``, and a
``Study`` that reads them. Read ``study.py`` first; ``sampling/`` has distributions and designs, ``blocks.py``
makes a block of runs, ``store/`` keeps it, ``cluster/`` does the same on Dask, ``sensitivity/`` evaluates the
results, and ``study_files/`` reads studies from text files.
"""

from __future__ import annotations

from armillary.studies.progress import StudyStatus
from armillary.studies.study import Study, open_study

__all__ = ["Study", "StudyStatus", "open_study"]
