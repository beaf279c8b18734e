"""Operating points: states in which a model rests or moves steadily, and the inputs that hold them.

In: a compiled model and a request. Out: `OperatingPoint` (`point.py`) and, along a parameter,
a `Branch` (`branch.py`). Read `trim.py` first: it turns a request into a `Problem`
(`problem.py`) over the compiled conditions and their derivatives (`conditions.py`), solves it (`newton.py`),
from other starts if this fails, and finds the stability (`curve.py`).
"""
