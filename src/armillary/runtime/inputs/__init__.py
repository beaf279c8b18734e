"""Inputs over time: data that drive the inputs of a model through a run.

In: the argument ``inputs=`` (points, functions, tables, files). Out: blocks of numbers, whose addresses
compiled code finds in the model's memory, and the times at which inputs jump. Read `signal.py` first.
"""
