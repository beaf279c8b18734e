"""Constraints and given motion: what takes freedom away from a description, and where motion starts.

Enters: expressions that stay zero, points that stay together, coordinates with given values. Leaves:
``Constraint`` and ``Prescription`` records, locked speeds, initial values. Read ``equations.py`` first, then
``loops.py`` and ``given_motion.py``.
"""
