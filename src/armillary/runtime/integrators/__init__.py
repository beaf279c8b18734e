"""Integration of generated functions through time.

In: `Functions` (addresses and sizes), the settings of a run, state, memory, constants. Out: an `Integration`,
also if the run diverges or is interrupted. `integrate.py` is the interface; the package solver has the steps,
and solver/methods the methods.
"""
