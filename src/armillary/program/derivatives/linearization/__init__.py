"""Equations linearised about a moving state: independent variables, and A, B, C, D as expressions.

Enter: derived equations, names of inputs and outputs. Leaves: a ``LinearForm`` (form.py, to be read first).
``positions.py`` has the independent positions; dependent ones follow from closed loops.
"""
