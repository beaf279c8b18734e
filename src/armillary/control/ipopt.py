"""Nonlinear programs by IPOPT, through CasADi's interface, with exact derivatives from compiled code."""

from __future__ import annotations

import numpy as np

from armillary.control.casadi_functions import Call, Ports, make_callback
from armillary.control.interior_point import Solution
from armillary.control.nonlinear_program import Limits, PhasedProgram
from armillary.errors import require
from armillary.untyped import LibraryObject

_SOLVED = ("Solve_Succeeded", "Solved_To_Acceptable_Level")
_INFEASIBLE = ("Infeasible_Problem_Detected", "Restoration_Failed")


def solve_by_ipopt(
    program: PhasedProgram,
    limits: Limits,
    start: np.ndarray,
    tolerance: float,
    iterations: int,
    warm: bool,
    cost_scale: float,
) -> Solution:
    """Solve a program from one start.

    ``warm`` begins with a small barrier parameter, for a start near the solution; IPOPT multiplies the cost
    by ``cost_scale``.
    """
    casadi = require("casadi", extra="casadi", purpose="to solve by IPOPT")
    kept: list[LibraryObject] = []  # CasADi holds no reference to its callbacks
    n, m = program.size, program.rows
    dense = casadi.Sparsity.dense
    jacobian = casadi.Sparsity.triplet(m, n, *(a.tolist() for a in program.jacobian_places))
    rows, columns = program.hessian_places
    hessian = casadi.Sparsity.triplet(n, n, columns.tolist(), rows.tolist())  # the upper triangle
    order = np.lexsort((columns, rows))  # by columns of the upper triangle

    interrupted: list[bool] = []

    def add_callback(label: str, given: Ports, results: Ports, call: Call) -> LibraryObject:
        def call_noting_interrupts(arguments: list[np.ndarray]) -> list[object]:
            try:
                return call(arguments)
            except KeyboardInterrupt:  # CasADi does not pass it on
                interrupted.append(True)
                raise

        kept.append(make_callback(casadi, label, given, results, call_noting_interrupts))
        return kept[-1]

    z, one, row = dense(n, 1), dense(1, 1), dense(m, 1)
    place = {"x": z, "p": dense(0, 0)}
    values = add_callback(
        "nlp", place, {"f": one, "g": row}, lambda a: [program.objective(a[0]), program.constraints(a[0])]
    )
    options = {
        "grad_f": add_callback(
            "grad_f", place, {"f": one, "grad_f_x": z},
            lambda a: [program.objective(a[0]), program.gradient(a[0])],
        ),
        "jac_g": add_callback(
            "jac_g", place, {"g": row, "jac_g_x": jacobian},
            lambda a: [program.constraints(a[0]), program.jacobian(a[0])],
        ),
        "hess_lag": add_callback(
            "hess_lag", {**place, "lam_f": one, "lam_g": row}, {"triu_hess_gamma_x_x": hessian},
            lambda a: [program.hessian(a[0], a[3], float(a[2][0]))[order]],
        ),
        "ipopt": {
            "tol": tolerance, "max_iter": iterations, "print_level": 0, "sb": "yes",
            "obj_scaling_factor": cost_scale,
            **({"mu_init": 1e-4} if warm else {}),
        },
        "print_time": False, "no_nlp_grad": True, "calc_lam_p": False,
    }  # fmt: skip
    solver = casadi.nlpsol("solver", "ipopt", values, options)
    found = solver(x0=start, lbx=limits.low, ubx=limits.high, lbg=limits.row_low, ubg=limits.row_high)
    report = solver.stats()
    status = report["return_status"]
    name = (
        "interrupted" if interrupted or status == "User_Requested_Stop"
        else "solved" if status in _SOLVED
        else "infeasible" if status in _INFEASIBLE
        else "unbounded" if status == "Diverging_Iterates"
        else "iterations" if status == "Maximum_Iterations_Exceeded"
        else "no progress"
    )  # fmt: skip
    best = np.array(found["x"], dtype=float).ravel()
    c = program.constraints(best)
    off = np.maximum(np.maximum(limits.row_low - c, c - limits.row_high), 0.0)
    multipliers = np.array(found["lam_g"], dtype=float).ravel()
    iterations = int(report.get("iter_count", 0))
    return Solution(best, multipliers, iterations, name, float(np.max(off, initial=0.0)), np.nan)
