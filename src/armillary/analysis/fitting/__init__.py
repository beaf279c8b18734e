"""Fits of parameters and initial values to measurements.

In: a compiled model, measurements and unknowns (`measurements.py`). Out: a `Fit` (`outcome.py`).
Read `fit.py` first.
"""
