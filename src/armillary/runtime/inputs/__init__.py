"""Inputs over time: data that drive the inputs of a model through a run.

Enters: what a user gives as ``inputs=`` (points, functions, tables, files). Leaves: blocks of numbers whose
addresses the compiled code finds in its memory, and the times at which they jump. Read `signal.py` first.
"""
