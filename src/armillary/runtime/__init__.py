"""Runs of generated functions through time.

Enters: the addresses of compiled functions (derivatives, outputs, events, update, fire, normalise), a state,
a memory, constants, and how to integrate. Leaves: sampled outputs, the last state, and why the run ended.

Read `integrators/__init__.py` first: it is the interface. Then `shape.py` (what one compiled loop is made for
and where its numbers live) and `loops.py` (the loop itself, as a list of phases). `code.py` is the small
language the loops are written in; `steps.py`, `dense.py`, `events.py` and `accumulation.py` are their parts.
"""
