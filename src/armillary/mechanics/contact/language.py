"""Names of the solver's small language (solver/language/language.py) that ``problem.py`` uses.

The functions of ``problem.py`` also run as Python code on NumPy arrays. For this, ``blocks.py`` replaces the
sizes and tables below, which are empty, by the sizes and tables of a problem.
"""

from __future__ import annotations

from math import sqrt as sqrt

import numpy as np

real = float
whole = int
truth = bool
ContactRows = np.ndarray  # one real per row
ContactReals = np.ndarray  # one real per contact
ContactTerms = np.ndarray  # one real per row and speed, row after row
ContactSquare = np.ndarray  # one real per pair of rows
ContactSpeeds = np.ndarray  # one real per speed
Wholes = np.ndarray  # here one whole number per row

N_CONTACTS = N_CONTACT_ROWS = N_CONTACT_SPEEDS = 0
# For each contact: NORMAL_ROW is the row of its normal or NONE, SLIP_ROW the first row of its slip or NONE,
# and SLIP_END the row after the last row of its slip.
NORMAL_ROW: np.ndarray = np.zeros(0, dtype=int)
SLIP_ROW: np.ndarray = np.zeros(0, dtype=int)
SLIP_END: np.ndarray = np.zeros(0, dtype=int)
NONE = -1
FIRST = 0  # the first index; 1 in some exported languages


def at(i: whole, n: whole, j: whole) -> whole:
    """Return the index of element j of row i in a table stored row after row, with n elements in a row."""
    return i * n + j


def below(i: whole, n: whole) -> truth:
    """Return whether index i is one of the first n indices."""
    return i < n
