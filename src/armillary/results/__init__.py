"""The results of simulations: runs, their files, comparisons and plots.

In: the samples, names, units, parameters and circumstances of one simulation. Out: an immutable `Run`,
indexed by name, which users compare, plot, convert to xarray or pandas, and save as NetCDF, Parquet, CSV or
ERD without losing a bit. Read `run.py` first; `compare.py` and `files.py` do its verbs on plain data.
`plots/` draws runs, and the spread of many runs.
"""

from armillary.results.compare import Comparison, Difference
from armillary.results.plots.run_plot import plot
from armillary.results.run import Event, Run, load_run

__all__ = ["Comparison", "Difference", "Event", "Run", "load_run", "plot"]
