"""Kinematics, inertia, loads and constraints of a system, written once for expressions, numbers and arrays.

Enters: a ``System``. Leaves: the terms from which the formalisms (program/formalisms) compute the rates of
the speeds, as expressions (for a program) or as numbers (for one state).

    tree/         links of a system, their kinematics, inertia and loads
    constraints/  rows, dependent speeds, reduced equations, closing of loops, reactions
    massless.py   motions that move no mass, found from the pivots that mass_sweep.py computes
    contact/      contacts without compliance: which of them stick, slide or open

Each folder imports only from those above it in this list. Read ``tree/tree.py`` first, then
``tree/build.py``, ``tree/regroup.py``, ``tree/kinematics.py`` and ``tree/mass_matrix.py``.
"""
