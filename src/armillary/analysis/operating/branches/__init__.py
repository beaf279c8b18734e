"""Branches of operating points along a parameter.

In: an operating point and what is varied. Out: a `Branch` (`branch.py`). Read `trace.py` first; `curve.py`
has places and steps on the curve of solutions, `continuation.py` follows it, `marks.py` locates folds, Hopf
points and branch points.
"""
