"""Inputs over time: data that drive the inputs of a model through a run.

Enters: the argument ``inputs=`` (points, functions, tables, files). Leaves: blocks of numbers, whose
addresses compiled code finds in the model's memory, and the times at which inputs jump. Read `signal.py`
first.
"""
