"""Integration of generated functions through time.

Enters: `Functions` (addresses and sizes), the settings of a run, state, memory, constants. Leaves: an
`Integration`, also if the run diverges or is interrupted. `integrate.py` is the interface; solver/methods has
the methods, solver the steps.
"""
