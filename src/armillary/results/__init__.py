"""What a simulation leaves: runs, their files and plots.

In: the samples, names, units, parameters and circumstances of one simulation. Out: an immutable `Run`,
indexed by name, that is compared, plotted, handed to xarray or pandas, and saved as NetCDF, CSV or Parquet
without losing a bit. Read `run.py` first; `compare.py`, `files.py` and `plots.py` each do one of its verbs on
plain data, and `atomic.py` keeps an old file safe while a new one is written.
"""

from armillary.results.compare import Comparison, Difference
from armillary.results.run import Event, Run, load_run

__all__ = ["Comparison", "Difference", "Event", "Run", "load_run"]
