"""Kinematics without dynamics: positions of a mechanism.

In: a model and the values of driven quantities. Out: a `Sweep` of positions, one for each row of values.
Read ``sweep.py`` first: it has the function that users call. ``mechanism.py`` has the conditions and compiles
them, ``path.py`` solves them row after row, ``follower.py`` compiles and calls ``path.py``, ``motion.py``
finds speeds, accelerations, limits of reach, singular positions and turning points, and ``result.py`` has the
`Sweep`.
"""
