"""Kinematics without dynamics: a model and values of driven quantities in, positions of the mechanism out.

Read ``sweep.py`` first: it has the function that users call. ``mechanism.py`` has the conditions and compiles
them, ``path.py`` solves them row after row, ``follower.py`` compiles and calls ``path.py``, ``motion.py``
finds speeds, accelerations, limits of reach, singular positions and turning points, and ``result.py`` has the
`Sweep`.
"""
