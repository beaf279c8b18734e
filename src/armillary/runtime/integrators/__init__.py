"""Integration of generated functions through time.

Enters: `Functions` (addresses and sizes), the settings of a run, state, memory, constants. Leaves: an
`Integration`, also when the run diverges or is interrupted. `integrate.py` is the interface.

One method per file: its tableau, its source, and the alternative not taken. Which to use: "rk4" for a given
step, "midpoint" where speed matters more than accuracy, "dopri5" for tolerances down to about 1e-7, "dop853"
below, "rodas5p" for stiff systems and "rodas3" for those with a given step. SciPy's solvers serve to compare.
"""

from __future__ import annotations

from armillary.errors import ArmillaryError
from armillary.runtime.integrators.methods import (
    dop853,
    dopri5,
    midpoint,
    projected,
    rk4,
    rodas3,
    rodas5p,
    staggered,
)
from armillary.runtime.integrators.records import Functions, Integration, IntegrationStatus, Method, Stepping

__all__ = [
    "METHODS",
    "Functions",
    "Integration",
    "IntegrationStatus",
    "Method",
    "Stepping",
    "check_family",
    "family_methods",
    "usual_method",
]

_METHODS = (
    Method("rk4", 4, False, "classical Runge–Kutta, fixed step", rk4.TABLEAU, exported=True),
    Method("midpoint", 2, False, "explicit midpoint, two evaluations per fixed step", midpoint.TABLEAU,
           exported=True),
    Method("dopri5", 5, True, "Dormand–Prince 5(4), adaptive, dense output", dopri5.TABLEAU, exported=True),
    Method("dop853", 8, True, "Dormand–Prince 8(5,3), adaptive, dense output", dop853.TABLEAU, exported=True),
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
    Method("scipy:RK45", 5, True, "SciPy's Dormand–Prince 5(4); Python at every step", solver="RK45"),
    Method("scipy:DOP853", 8, True, "SciPy's Dormand–Prince 8(5,3); Python at every step", solver="DOP853"),
    Method("scipy:LSODA", 12, True, "Adams or BDF by stiffness; Python at every step", solver="LSODA"),
    Method(
        "scipy:Radau", 5, True, "implicit Runge–Kutta, stiff systems; Python at every step", solver="Radau"
    ),
    Method("scipy:BDF", 5, True, "implicit multistep, stiff systems; Python at every step", solver="BDF"),
)  # fmt: skip
STIFF = "rodas5p"  # takes over while a run by "auto" is stiff
METHODS: dict[str, Method] = {method.name: method for method in _METHODS}


def family_methods(family: str) -> list[Method]:
    """The methods of a family, the usual one first unless it is the family of most equations."""
    return [m for m in METHODS.values() if m.family == family]


def usual_method(step: bool, family: str = "") -> str:
    """The name of the method where none is given: ``step`` is whether a step is."""
    return family_methods(family)[0].name if family else "rk4" if step else "dop853"


def check_family(method: Method, family: str) -> None:
    """An error for a method of another family."""
    if method.family == family:
        return
    fitting = ", ".join(m.name for m in family_methods(family))
    kind = family or f"equations without {method.family}"
    raise ArmillaryError(f"method '{method.name}' is not for {kind}; there are {fitting}")
