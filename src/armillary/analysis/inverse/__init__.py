"""Inverse dynamics: the efforts that a motion takes.

In: a compiled model and places of a motion, with the rates of its speeds. Out: `Efforts` by the names of
speeds. `equations.py` has the efforts as expressions, and `inverse.py` compiles and evaluates; read it first.
"""
