"""Fits of parameters and initial values to measurements: `fit.py` first, then `outcome.py`, its result."""
