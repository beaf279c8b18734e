"""Loops closed at the start of a run, in the small language; `assembly.py` first."""
