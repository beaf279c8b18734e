"""Kinematics, inertia, loads and constraints of a system, written once over any scalar.

Enters: a ``System``. Leaves: what the formalisms (program/formalisms) combine to rates of its speeds, as
expressions (for a program) or as numbers (an answer).

    tree/         links of a system, their kinematics, inertia and loads; groups of bodies that move as one
    constraints/  rows, dependent speeds, reduced equations, closing of loops, reactions
    massless.py   motions that move no mass, from the pivots of mass_sweep.py
    contact/      contacts without compliance: which of them hold

Each folder imports from those above it. Read ``tree/tree.py`` first, then ``tree/build.py``,
``tree/regroup.py``, ``tree/kinematics.py`` and ``tree/mass_matrix.py``.
"""
