"""Thresholds that the compiled loop shares with the solver."""
