"""dopri5: Dormand–Prince 5(4) with its 4th order dense output.

Six evaluations a step, since the last stage is the first of the next step. Reference: Dormand, Prince (1980),
J. Comp. Appl. Math. 6, 19-26; Hairer, Nørsett, Wanner (1993), Solving Ordinary Differential Equations I, II.5
and II.6; coefficients and PI control as in their code dopri5.f.

Not taken: Tsitouras 5(4). Its error constants are a little smaller, but other programs have dopri5, so that
their steps can be compared with ours.
"""

from __future__ import annotations

from armillary.solver.methods.tableau import StepControl, Tableau

TABLEAU = Tableau(
    order=5,
    c=(0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1),
    a=(
        (),
        (1 / 5,),
        (3 / 40, 9 / 40),
        (44 / 45, -56 / 15, 32 / 9),
        (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
        (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    ),
    b=(35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
    errors=((71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40),),
    control=StepControl(exponent=1 / 5 - 0.75 * 0.04, beta=0.04, least=0.2, most=10.0),
    dense=(
        (
            -12715105075 / 11282082432, 0, 87487479700 / 32700410799, -10690763975 / 1880347072,
            701980252875 / 199316789632, -1453857185 / 822651844, 69997945 / 29380423,
        ),
    ),
)  # fmt: skip
