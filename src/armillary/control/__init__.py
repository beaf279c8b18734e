"""Control of compiled models: regulators, estimators and optimal motions.

Enter with a model and its inputs (``s.input``); leave with gains, filters and motions, as numbers by the
names of states and inputs and as runs. All derivatives are compiled from the symbolic program. The verbs of
models are in ``stages/analyses.py``; functions of a linear model are public here.

    plant.py                the rates of a model with chosen inputs, their derivatives, and one step
    knot_functions.py       any functions at many knots, with exact first and second derivatives, as machine
                            code or, for single problems, as lists of operations (operation_list.py)
    regulators.py           LQR, Kalman gains and LQG at an operating point, which must be steady
    tracking.py             LQR along a run
    ilqr.py                 the best inputs from a start, by iterated LQR; receding.py plans again and again
    predictive.py           linear model predictive control in a fixed time, as expressions
    estimation.py           EKF, UKF and the smoother over measured data
    optimize.py             optimal motions, also in phases: problem.py reads the problem, scheme.py
                            discretises it, nonlinear_program.py has its derivatives, from point_values.py;
                            interior_point.py solves it, with elastic_program.py and symmetric_factors.py
    run_gradient.py         the gradient of a scalar result of a run: adjoint.py has runs as differentiable
                            maps, adjoint_loop.py the compiled loops of their steps, forwards and backwards
    array_functions.py      the same maps as functions of arrays; jax_functions.py and torch_functions.py
                            make functions of these libraries from them
    environment_loop.py     steps of many copies for learning (armillary.gym); card_environments.py on a GPU
"""

from armillary.control.optimize import Phase, optimize_phases
from armillary.control.predictive import mpc
from armillary.control.regulators import finite_horizon, kalman, lqg, lqr
from armillary.control.tracking import tracking_inputs

__all__ = ["Phase", "finite_horizon", "kalman", "lqg", "lqr", "mpc", "optimize_phases", "tracking_inputs"]
