"""Engines: they make the runs of a plan.

In: a `Plan`. Out: an outcome per run. `engine.py` is their interface and the file to read first;
`table.py` lists them, the fastest first: a GPU (gpu_engine.py, gpu_runs.py), vectors of runs
(lane_engines.py and the loops of lane_*.py), the loop of single runs without Python (scalar.py),
Python run by run.
"""
