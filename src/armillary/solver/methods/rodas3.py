"""Rodas3: a linearly implicit method of order 3 with a fixed step, L-stable, for stiff systems in real time.

A step always takes the same number of operations: three evaluations, the partial derivatives of the rates,
one factorisation and four solutions with it. Source: Sandu et al. (1997), Benchmarking stiff ODE
solvers for atmospheric chemistry problems II: Rosenbrock solvers, Atmospheric Environment 31:3459–3472.
Values inside a step are of order 2, F₁ = Σ dᵢwᵢ with Σ dᵢγᵢ = 0 and Σ dᵢγᵢⱼβⱼ = −1/2. A cubic polynomial
would be worse, since the rates of the stiffest components at the end of a step are mostly errors.

Not taken: the linearly implicit Euler method, which has order 1 with a third of the evaluations; and Rodas4,
which has order 4 with six evaluations but falls to order 2 on stiff parts.
"""

from __future__ import annotations

from armillary.solver.methods.tableau import Rosenbrock

ROSENBROCK = Rosenbrock(
    order=3,
    gamma=1 / 2,
    c=(0.0, 0.0, 1.0, 1.0),
    a=((), (0.0,), (2.0, 0.0), (2.0, 0.0, 1.0)),
    couplings=((), (4.0,), (1.0, -1.0), (1.0, -1.0, -8 / 3)),
    slopes=(1 / 2, 3 / 2, 0.0, 0.0),
    b=(2.0, 0.0, 1.0, 1.0),
    dense=((3.0, -1.0, 0.0, 0.0),),
)
