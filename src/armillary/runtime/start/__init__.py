"""The start of a run: initial values, closed loops, momenta, mass centres.

In: values by name as a user gives them. Out: a `Place` with all coordinates and speeds. Read `initial.py`
first, then `assembly.py`.
"""
