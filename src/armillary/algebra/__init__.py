"""Symbolic algebra: scalars that simplify on construction, and vectors that need no chosen frame.

Enters: numbers, names and text. Leaves: interned expressions, vectors and dyadics with physical dimensions.
Read ``expression.py`` first, then ``functions.py`` and ``vectors.py``; ``parsing.py`` makes expressions and
vectors from text.
"""
