"""Batches: many runs of one model at once, on vectors, threads and GPUs.

Enters: a compiled model, values that differ between runs, metrics and histories to keep. Leaves: a `Batch`.
Read `batch.py` first: `plan.py` makes a `Plan` from the arguments and from the `Starts` (starts.py), and an
engine makes the runs. `engines/table.py` lists the engines. `metrics.py` computes metrics and histories,
`result.py` has the `Batch`.
"""
