"""staggered: redundant coordinates by the staggered stabilised procedure, fixed step, order 2.

Reference: Park & Chiou (1987); the step is in solver/llvm/redundant.py. Values inside a step come from the
cubic Hermite polynomial. The tableau describes only this interpolation: one derivative at each end.

Not taken: feeding the measured violation back in place of ε λ, which is of first order, or unstable with the
extrapolated multiplier.
"""

from __future__ import annotations

from armillary.solver.methods.tableau import Tableau

TABLEAU = Tableau(order=2, c=(0,), a=((),), b=(1,))
