"""Names of the solver's small language (solver/language/language.py) that this folder uses.

The functions of this folder run as Python, too: see `python_functions.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from math import floor as floor
from math import isnan as isnan
from math import sqrt as sqrt
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from armillary.numerics.roots_record import Roots

real = float
whole = int
truth = bool
Equations = np.ndarray  # one real per equation and unknown, and one more per equation
Sides = np.ndarray  # one real per equation
Steps = np.ndarray  # one real per unknown
StepNumbers = np.ndarray  # one whole number per unknown
StepFlags = np.ndarray  # one truth value per unknown
Square = np.ndarray  # one real per pair of unknowns

# Features. CHORDS: derivatives serve several steps, since they cost much more than residuals. BOUNDED:
# unknowns have bounds. COMPLETE: pivots are the largest elements of all columns.
CHORDS = BOUNDED = COMPLETE = True

FIRST = 0
NONE = -1
INFINITY = np.inf

# Functions that a module which uses roots.py must define.
look: Callable[[Roots], None]  # find the residuals at the place
look_there: Callable[[Roots], None]  # find `missed`, the residuals after a step
differentiate: Callable[[Roots], None]  # set the matrix of derivatives at the place
displace: Callable[[Roots], None]  # find the place to which a step leads; set the step to the actual change
accept: Callable[[Roots], None]  # make that the place, with its residuals
arrive: Callable[[Roots], None]  # make that the place; its residuals are not known yet
set_radius: Callable[[Roots], None]  # set the radius of the first step, whose factors are known


def at(i: whole, n: whole, j: whole) -> whole:
    """Return the index of element j of row i in a table with rows of n."""
    return i * n + j


def below(i: whole, n: whole) -> truth:
    """Return whether number i is one of the first n."""
    return i < n
