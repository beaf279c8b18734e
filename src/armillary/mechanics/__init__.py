"""Equations of motion, each formalism written once over any scalar.

Enters: a ``System``. Leaves: rates of its speeds, as expressions (for a program) or as numbers (an answer).

    tree/         links of a system, their kinematics, inertia and loads; groups of bodies that move as one
    constraints/  rows, dependent speeds, reduced equations, assembly, reactions
    masses/       motions that move no mass
    formalisms/   Kane, recursion, back substitution, momentum states, redundant coordinates, JPL

Each folder imports from those above it. Read ``tree/tree.py`` first, then ``tree/structure/build.py``,
``tree/structure/regroup.py``, ``tree/kinematics.py`` and the formalisms ``kane.py`` and ``recursive.py``.
"""
