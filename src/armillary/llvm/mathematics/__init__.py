"""Sines, lookup tables and inputs over time as LLVM functions."""
