"""Batches: many runs of one model at once, on vectors, threads and GPUs.

Enters: a compiled model, values that differ between runs, metrics and histories to keep. Leaves: a `Batch`.
Read `batch.py` first: `request.py` makes a `Plan` (plan.py) from the arguments and from the `Starts`
(starts.py), and an engine makes the runs. `engines/table.py` lists the engines: vectors of runs (lanes/),
the loop of single runs without Python (scalar/), Python run by run (python.py), a GPU (gpu/). `metrics.py`
has what is kept of a motion, `result.py` what users get.
"""
