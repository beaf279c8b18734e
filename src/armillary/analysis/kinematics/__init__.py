"""Kinematics without dynamics: a model and values of driven quantities in, positions of the mechanism out.

``sweep.py`` is the verb and the file to read first. ``kinematics.py`` and ``mechanism.py`` state the
conditions and compile them, ``follower.py`` finds their solutions row after row by compiled code,
``motion.py`` speeds and accelerations, ``landmarks.py`` limits of reach, singular positions and turning
points; ``result.py`` is what a user holds.
"""
