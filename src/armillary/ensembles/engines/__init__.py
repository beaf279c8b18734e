"""Engines, which make the runs of a plan.

Enters: a `Plan`. Leaves: an outcome per run. `engine.py` has their interface; read it first. `table.py`
lists them, the fastest first: a GPU (gpu_engine.py, gpu_runs.py), vectors of runs (lane_engines.py and the
loops of lane_*.py), the loop of single runs without Python (scalar.py), Python run by run.
"""
