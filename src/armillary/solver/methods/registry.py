"""The methods of integration by name, the default method, and replacements of former names.

Use "rk4" for a given step, "midpoint" or "ab2" if speed matters more than accuracy, "dopri5" for tolerances
down to about 1e-7, "dop853" for smaller ones, "rodas5p" for stiff systems, "rodas3" for stiff systems with a
given step, and "auto" if a run may be stiff.
"""

from __future__ import annotations

import warnings

from armillary.errors import ArmillaryError, outside
from armillary.solver.methods import (
    ab2,
    dop853,
    dopri5,
    midpoint,
    projected,
    rk4,
    rodas3,
    rodas5p,
    staggered,
)
from armillary.solver.methods.tableau import Method

_METHODS = (
    Method("rk4", 4, False, "classical Runge–Kutta, fixed step", rk4.TABLEAU, exported=True),
    Method("midpoint", 2, False, "explicit midpoint, two evaluations per fixed step", midpoint.TABLEAU,
           exported=True),
    Method("dopri5", 5, True, "Dormand–Prince 5(4), adaptive, dense output", dopri5.TABLEAU, exported=True),
    Method("dop853", 8, True, "Dormand–Prince 8(5,3), adaptive, dense output", dop853.TABLEAU, exported=True),
    Method("ab2", 2, False, "Adams–Bashforth of order 2, one evaluation per fixed step", ab2.TABLEAU,
           exported=True),
    Method("auto", 5, True, "dop853, and rodas5p while a run is stiff", rosenbrock=rodas5p.ROSENBROCK,
           begins_with="dop853"),
    Method("rodas3", 3, False, "linearly implicit, stiff systems, one factorisation per fixed step",
           rosenbrock=rodas3.ROSENBROCK),
    Method("rodas5p", 5, True, "linearly implicit, stiff systems, adaptive, dense output",
           rosenbrock=rodas5p.ROSENBROCK),
    Method("staggered", 2, False, "staggered stabilised constraints", staggered.TABLEAU,
           family="redundant coordinates"),
    Method("projected", 4, False, "rk4 and projection onto constraints", projected.TABLEAU,
           family="redundant coordinates"),
)  # fmt: skip
STIFF = "rodas5p"  # takes over while a run by "auto" is stiff
METHODS: dict[str, Method] = {method.name: method for method in _METHODS}
WATCHED_VECTORS = (*dop853.TABLEAU.vectors, *rodas5p.ROSENBROCK.vectors)  # of both methods of "auto"
# Names of SciPy's solvers in versions before 0.2, and the compiled methods that replace them: with the same
# tableau, or for the same systems. SciPy's solvers called Python at every evaluation and had their own rules
# for events; they took 50 to 1200 times as long at equal error.
FORMER_METHODS = {
    "scipy:RK45": "dopri5",
    "scipy:DOP853": "dop853",
    "scipy:LSODA": "auto",
    "scipy:Radau": STIFF,
    "scipy:BDF": STIFF,
}


def replace_former_method(name: str) -> str:
    """Return the compiled method that replaces one of SciPy's solvers, and warn; else the name itself."""
    new = FORMER_METHODS.get(name)
    if new is None:
        return name
    warnings.warn(
        f"method '{name}' was removed and is replaced by '{new}', which is compiled, more accurate and far "
        f"faster; write method='{new}'",
        FutureWarning,
        stacklevel=outside(),
    )
    return new


def family_methods(family: str) -> list[Method]:
    """Return the methods of a family, the default first (the empty family has no default)."""
    return [m for m in METHODS.values() if m.family == family]


def usual_method(step: bool, family: str = "") -> str:
    """Return the name of the default method; ``step`` states whether the user gives a step."""
    return family_methods(family)[0].name if family else "rk4" if step else "dop853"


def check_family(method: Method, family: str) -> None:
    """Raise an error for a method of another family."""
    if method.family == family:
        return
    fitting = ", ".join(m.name for m in family_methods(family))
    kind = family or f"equations without {method.family}"
    raise ArmillaryError(f"method '{method.name}' is not for {kind}; use one of: {fitting}")
