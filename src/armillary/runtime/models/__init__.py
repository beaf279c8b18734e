"""Compiled models: programs that can be called and run through time.

In: equations, parameter values, settings of a run. Out: numbers at a state, and runs. Read `compiled.py`
first, then `legs.py`.
"""
