"""Runs of generated functions through time.

Enters: the addresses of compiled functions (derivatives, outputs, events, update, fire, normalise), a state,
a memory, constants, and the settings of the run. Leaves: sampled outputs, the last state, and why it ended.

Read `models/compiled.py` first: a model and its run. `start/` finds where a run starts, `integrators/` has
the methods and their interface, `loop/` the compiled loop: `loop/layout.py` (what one loop is made for and
where its numbers live), then `loop/loop.py` (the loop itself, as a list of phases).
"""
