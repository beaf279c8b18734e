"""Many runs: batches on vectors, threads and GPUs; studies on disk and on clusters.

Enters: a compiled model, values that differ between runs, metrics and histories to keep. Leaves: a `Batch`,
or a `Study` in a folder. Read `batch.py` first: a `Plan` (plan.py, planning.py) says what is to be made from
which `Starts`, and an engine makes it: vectors of runs (lanes.py), the loop of single runs without Python
(scalar.py), Python run by run (singly.py), a GPU (gpu/). `metrics.py` says what is kept of a motion,
`result.py` what users get. `sampling/` has what a study varies, `study/` how it survives.
"""
