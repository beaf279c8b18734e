"""The equations of motion in pieces, M u̇ = f, for readers and for control.

In: derived equations, by any formalism. Out: the mass matrix, the forcing and its causes, the map of inputs
and Jacobians of points, as expressions with names. Read `pieces.py` first.
"""
