"""Readers of the user's input: names, texts, numbers, bodies, points and directions, each checked.

Read ``expressions.py`` for texts and scalars and ``references.py`` for bodies, points, directions and speeds;
``kinds.py`` has the kinds of values in text models.
"""
