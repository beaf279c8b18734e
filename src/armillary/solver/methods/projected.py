"""projected: redundant coordinates by rk4 and a projection after each step, fixed step, order 4.

The projection is in solver/llvm/redundant.py, with its sources. A step takes four evaluations and three
solutions of the same bordered system.
"""

from __future__ import annotations

from armillary.solver.methods.rk4 import TABLEAU

__all__ = ["TABLEAU"]
