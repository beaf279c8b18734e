"""Integration of generated functions through time.

Enters: `Functions` (addresses and sizes), the settings of a run, state, memory, constants. Leaves: an
`Integration`, also when the run diverges or is interrupted. `integrate.py` is the interface; the methods
are in solver/methods, the steps in solver.
"""
