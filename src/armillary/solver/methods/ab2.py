"""ab2: Adams–Bashforth of order 2, one evaluation a step, fixed step.

    y₁ = y + h (3/2 f(t, y) − 1/2 f(t − h, y before))

A step whose length differs from that of the step before extrapolates along the line through both rates. The
first step, the first after an event, a jump of data or a change of memory, and a step longer than
LONGEST_RATIO times the one before are steps of the midpoint method. The error of a step is 5/12 h³ y‴, that
of midpoint on linear systems 1/6 h³ y‴. The method is stable for real rates of decay up to 1/h, half of the
range of midpoint; an undamped oscillation grows by h⁴ ω⁴/4 a step.

Reference: Hairer, Nørsett, Wanner (1993), Solving Ordinary Differential Equations I, III.1 and III.5.
Real-time programs for cars use this method, since a step has time for one evaluation only. Values inside a
step come from the cubic Hermite polynomial.

Not taken: AB3, which is stable up to 0.55/h only; and a corrector, since with a second evaluation midpoint is
the better method.
"""

from __future__ import annotations

from armillary.solver.methods.tableau import Tableau

TABLEAU = Tableau(order=2, c=(0, 1 / 2), a=((), (1 / 2,)), b=(0, 1), multistep=True)
