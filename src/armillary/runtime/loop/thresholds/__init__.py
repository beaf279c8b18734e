"""Thresholds that the compiled loop shares with the solver and with SciPy's methods."""
