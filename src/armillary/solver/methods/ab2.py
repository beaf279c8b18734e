"""ab2: Adams–Bashforth of order 2, one evaluation a step, fixed step.

    y₁ = y + h (3/2 f(t, y) − 1/2 f(t − h, y before))

A step of another length than the one before takes the line through both rates. The first step, the first
after an event, a jump of data or a change of memory, and a step longer than LONGEST_RATIO times the one
before are steps of the midpoint method. The error of a step is 5/12 h³ y‴, against 1/6 h³ y‴ of midpoint on
linear systems; it is stable for real rates up to 1/h, half of midpoint's; an undamped oscillation grows by h⁴
ω⁴/4 a step.

Reference: Hairer, Nørsett, Wanner (1993), Solving Ordinary Differential Equations I, III.1 and III.5.
Real-time programs for cars use it, since a step has time for one evaluation only. Inside a step:
cubic Hermite.

Not taken: AB3, stable up to 0.55/h only; a corrector, whose second evaluation makes midpoint the better one.
"""

from __future__ import annotations

from armillary.solver.methods.tableau import Tableau

TABLEAU = Tableau(order=2, c=(0, 1 / 2), a=((), (1 / 2,)), b=(0, 1), multistep=True)
