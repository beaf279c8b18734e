"""Rodas5P: a linearly implicit method of order 5 for stiff systems, L-stable, dense output of order 4.

Source: Steinebach (2023), Construction of Rosenbrock–Wanner method Rodas5P and numerical benchmarks within
the Julia Differential Equations package, BIT Numerical Mathematics 63:27. The last stage is the error
estimate, and the end of a step satisfies the equations of the stiffest components (stiffly accurate). The
method meets the conditions of order for problems of Prothero and Robinson's kind, on whose stiff parts Rodas4
(Hairer, Wanner 1996) falls to order 2.

Not taken: Radau IIA of order 5, whose Newton iterations reuse their matrices over several steps. At equal
error Radau takes as many steps as Rodas5P (Robertson's reactions to 1e-8: 131 steps by Rodas5P, between 111
and 326 by SciPy's Radau). A step of Radau has two or three iterations of three evaluations, and a complex
factorisation as costly as four real ones; exact partial derivatives of compiled models cost no more than
those evaluations. Rodas5P has no iterations, so that all its steps take the same time.
"""

from __future__ import annotations

from armillary.solver.methods.tableau import Rosenbrock, StepControl

_G = (-7.502846399306121, 2.561846144803919, -11.627539656261098, -0.18268767659942256, 0.030198172008377946)
_H1 = (
    *(25.948786856663858, -2.5579724845846235, 10.433815404888879, -2.3679251022685204),
    *(0.524948541321073, 1.1241088310450404, 0.4272876194431874, -0.17202221070155493),
)
_H2 = (
    *(-9.91568850695171, -0.9689944594115154, 3.0438037242978453, -24.495224566215796),
    *(20.176138334709044, 15.98066361424651, -6.789040303419874, -6.710236069923372),
)
_H3 = (
    *(11.419903575922262, 2.8879645146136994, 72.92137995996029, 80.12511834622643),
    *(-52.072871366152654, -59.78993625266729, -0.15582684282751913, 4.883087185713722),
)

ROSENBROCK = Rosenbrock(
    order=5,
    gamma=0.21193756319429014,
    c=(0.0, 0.6358126895828704, 0.4095798393397535, 0.9769306725060716, 0.4288403609558664, 1.0, 1.0, 1.0),
    a=(
        (),
        (3.0,),
        (2.849394379747939, 0.45842242204463923),
        (-6.954028509809101, 2.489845061869568, -10.358996098473584),
        (2.8029986275628964, 0.5072464736228206, -0.3988312541770524, -0.04721187230404641),
        _G,
        (*_G, 1.0),
        (*_G, 1.0, 1.0),
    ),
    couplings=(
        (),
        (-14.155112264123755,),
        (-17.97296035885952, -2.859693295451294),
        (147.12150275711716, -1.41221402718213, 71.68940251302358),
        (165.43517024871676, -0.4592823456491126, 42.90938336958603, -5.961986721573306),
        (
            *(24.854864614690072, -3.0009227002832186, 47.4931110020768),
            *(5.5814197821558125, -0.6610691825249471),
        ),
        (
            *(30.91273214028599, -3.1208243349937974, 77.79954646070892),
            *(34.28646028294783, -19.097331116725623, -28.087943162872662),
        ),
        (
            *(37.80277123390563, -3.2571969029072276, 112.26918849496327, 66.9347231244047),
            *(-40.06618937091002, -54.66780262877968, -9.48861652309627),
        ),
    ),
    slopes=(
        *(0.21193756319429014, -0.42387512638858027, -0.3384627126235924, 1.8046452872882734),
        *(2.325825639765069, 0.0, 0.0, 0.0),
    ),
    b=(*_G, 1.0, 1.0, 1.0),
    errors=((0.0,) * 7 + (1.0,),),
    # With a safety of 0.9 the eight small cases of benchmarks/stiff.py take up to 12 % more trial steps at
    # equal error, since twice as many are rejected; Robertson's reactions and the robot take as many as with
    # 0.8. PI control (beta 0.04) saves 6 to 18 % on smooth motions, and costs 5 to 20 % on the robot, whose
    # tip presses on a stiff floor.
    control=StepControl(exponent=1 / 5, beta=0.0, least=0.2, most=6.0, safety=0.8),
    # The paper's terms in s, θ(1−θ)(K₁ + θ(K₂ + θ K₃)), in the nested form of tableau.py.
    dense=(_H1, tuple(p + q for p, q in zip(_H2, _H3, strict=True)), tuple(-q for q in _H3)),
)
