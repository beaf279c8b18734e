"""Kinematics without dynamics: a model and values of driven quantities in, positions of the mechanism out.

``sweep.py`` is the verb and the file to read first. ``mechanism.py`` states the conditions and
compiles them, ``path.py`` finds their solutions row after row by compiled code (``follower.py``),
``motion.py`` speeds, accelerations, limits of reach, singular positions and turning points; ``result.py`` has
the `Sweep` that a user holds.
"""
