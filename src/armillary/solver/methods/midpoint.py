"""midpoint: two evaluations a step, fixed step, order 2.

    y½ = y + h/2 f(t, y),    y₁ = y + h f(t + h/2, y½)

Reference: Runge (1895), Math. Ann. 46, 167-178; it is the method of the programs printed in Sayers (1990).
Values inside a step come from the cubic Hermite polynomial, whose error is far below the method's own.

Not taken: Heun's method, which has the same cost and order, and equal results for linear equations that do
not depend on time.
"""

from __future__ import annotations

from armillary.solver.methods.tableau import Tableau

TABLEAU = Tableau(order=2, c=(0, 1 / 2), a=((), (1 / 2,)), b=(0, 1))
