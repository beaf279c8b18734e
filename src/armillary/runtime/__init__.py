"""Runs of generated functions through time.

In: the addresses of compiled functions (derivatives, outputs, events, update, fire, normalise), a state, a
memory, constants, and the settings of the run. Out: sampled outputs, the last state, and the reason why the
run ended.

Read `models/compiled.py` first: a model and its run. `start/` finds the start of a run, `inputs/` reads data
over time, `integrators/` calls the solver (the package of steps, events and rows) and reads its results.
"""
