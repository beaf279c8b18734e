"""Bodies and points of a description, their frames, shapes, and motion as vectors.

In: arguments of verbs. Out: entries of a description, and vectors. Read `body.py` first.
"""
