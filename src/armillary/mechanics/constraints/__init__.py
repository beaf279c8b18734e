"""Constraints: their rows and elimination, the choice of dependent speeds, and the closing of loops.

In: constraints of a description and a tree of links. Out: a ``Reduction`` to the independent speeds. Read
`rows.py` first, then `reduction.py`.
"""
