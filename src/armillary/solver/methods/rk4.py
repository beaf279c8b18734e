"""rk4: the classical Runge–Kutta method, fixed step, order 4.

Reference: Kutta (1901); Hairer, Nørsett, Wanner (1993), Solving Ordinary Differential Equations I, II.1.
Values inside a step come from the cubic Hermite polynomial, of order 3, without further evaluations: the
derivative at the end is the first of the next step.

Not taken: Kutta's 3/8 rule. It has somewhat smaller error constants but three more multiply-adds per state
and step, and reference programs do not use it.
"""

from __future__ import annotations

from armillary.solver.methods.tableau import Tableau

TABLEAU = Tableau(
    order=4,
    c=(0, 1 / 2, 1 / 2, 1),
    a=((), (1 / 2,), (0, 1 / 2), (0, 0, 1)),
    b=(1 / 6, 1 / 3, 1 / 3, 1 / 6),
)
