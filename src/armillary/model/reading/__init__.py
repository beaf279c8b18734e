"""Reading of what users write: names, texts, numbers, bodies, points and directions, each checked.

Read ``expressions.py`` for texts and scalars and ``references.py`` for bodies, points, directions and speeds;
``names.py`` has parameters and the check of new names.
"""
