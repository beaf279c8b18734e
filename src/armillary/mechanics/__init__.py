"""Equations of motion, each formalism written once over any scalar.

Enters: a ``System``. Leaves: rates of its speeds, as expressions (a program to be) or as numbers (an answer).
Read ``tree.py`` first, then ``regroup.py``, ``kinematics.py``, and the formalisms ``kane.py`` with
``uncouple.py``, and ``recursive.py``.
"""
