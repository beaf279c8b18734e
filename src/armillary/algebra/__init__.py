"""Symbolic algebra: scalars that simplify as they are made, and vectors without a chosen frame.

Enters: numbers, names and text. Leaves: interned expressions, vectors and dyadics with physical dimensions.
Read ``expression.py`` first, then ``functions.py`` and ``vectors.py``; ``parsing.py`` is the text form of it
all.
"""
