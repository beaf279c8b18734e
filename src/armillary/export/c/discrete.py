"""A discrete step for acados: RK4 with constant inputs, from the exported rates and their derivatives.

φ is the state after a step from x; λ are acados' multipliers. Each function returns the results of the one
above it and one more:

    dyn_disc_phi_fun            φ(x, u, p)
    dyn_disc_phi_fun_jac        ∂φ/∂(u, x)ᵀ
    dyn_disc_phi_fun_jac_hess   ∂²(λᵀφ)/∂(u, x)²

Source: acados, acados_template/casadi_function_generation.py (generate_c_code_discrete_dynamics), for names,
arguments and results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from armillary.export.text.files import fill, template

# Returns the C text of a function with CasADi's interface, from its name, the names of its arguments, the
# shapes of its results, and the statement that computes them.
Interface = Callable[[str, Sequence[str], Sequence[tuple[int, int]], str], str]

_FORMS = (
    ("dyn_disc_phi_fun", ("x", "u", "p")),
    ("dyn_disc_phi_fun_jac", ("x", "u", "p")),
    ("dyn_disc_phi_fun_jac_hess", ("x", "u", "lambda", "p")),
)
# Functions that the discrete step calls; the file has them as plain functions, NAME_plain_….
NEEDED = ("expl_ode_fun", "expl_vde_forw", "expl_ode_hess")


def discrete_code(stem: str, step: float, states: int, inputs: int, interface: Interface) -> str:
    """Return the code of the discrete functions; ``interface`` writes a function with CasADi's interface."""
    both = states + inputs
    values = {"stem": stem, "step": repr(step), "states": str(states), "inputs": str(inputs)}
    shapes = [(states, 1), (both, states), (both, both)]
    parts = [fill(template(__package__, "discrete.c.txt"), values)]
    for k, (name, arguments) in enumerate(_FORMS):
        given = {a: f"arg[{i}]" for i, a in enumerate(arguments)}
        outs = [f"res[{i}]" if i <= k else "NULL" for i in range(3)]
        words = [given["x"], given["u"], given.get("lambda", "NULL"), given["p"], *outs]
        call = f"    return {stem}_discrete({', '.join(words)});"
        parts.append(interface(f"{stem}_{name}", arguments, shapes[: k + 1], call))
    return "\n\n".join(parts)
