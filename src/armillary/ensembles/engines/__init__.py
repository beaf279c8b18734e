"""Engines make the runs of a plan: `engine.py` is their interface, `table.py` the list, the fastest first."""
