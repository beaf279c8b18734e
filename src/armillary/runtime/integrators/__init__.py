"""Integration of generated functions through time.

Enters: `Functions` (addresses and sizes), the name of a method, times, state, memory, constants. Leaves: an
`Integration`, also when the run diverges or is interrupted.

One method per file: its tableau, its source, and the alternative not taken. Which to use: "rk4" for a given
step, "midpoint" where speed matters more than accuracy, "dopri5" for tolerances down to about 1e-7, "dop853"
below, and "scipy:Radau", "scipy:BDF" or "scipy:LSODA" for stiff systems.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, isfinite
from typing import Any

import numpy as np

from armillary.algebra.arguments import reals
from armillary.algebra.arithmetic import plain_float
from armillary.errors import ArmillaryError, nearest, shown
from armillary.runtime.integrators import dop853, dopri5, midpoint, projected, rk4, staggered
from armillary.runtime.integrators.driving import CompiledRun, drive
from armillary.runtime.integrators.records import Functions, Integration, Method, Status, Stepping
from armillary.runtime.integrators.sampling import SampleTimes, check_rows
from armillary.runtime.integrators.scipy import integrate_with_scipy

__all__ = ["METHODS", "Functions", "Integration", "Method", "Status", "Stepping", "integrate"]

_METHODS = (
    Method("rk4", 4, False, "classical Runge–Kutta, fixed step", rk4.TABLEAU),
    Method("midpoint", 2, False, "explicit midpoint, two evaluations per fixed step", midpoint.TABLEAU),
    Method("dopri5", 5, True, "Dormand–Prince 5(4), adaptive, dense output", dopri5.TABLEAU),
    Method("dop853", 8, True, "Dormand–Prince 8(5,3), adaptive, dense output", dop853.TABLEAU),
    Method("staggered", 2, False, "staggered stabilised constraints", staggered.TABLEAU, redundant=True),
    Method("projected", 4, False, "rk4 and projection onto constraints", projected.TABLEAU, redundant=True),
    Method("scipy:RK45", 5, True, "SciPy's Dormand–Prince 5(4); Python at every step", solver="RK45"),
    Method("scipy:DOP853", 8, True, "SciPy's Dormand–Prince 8(5,3); Python at every step", solver="DOP853"),
    Method("scipy:LSODA", 12, True, "Adams or BDF as stiffness asks; Python at every step", solver="LSODA"),
    Method(
        "scipy:Radau", 5, True, "implicit Runge–Kutta, stiff systems; Python at every step", solver="Radau"
    ),
    Method("scipy:BDF", 5, True, "implicit multistep, stiff systems; Python at every step", solver="BDF"),
)
METHODS: dict[str, Method] = {method.name: method for method in _METHODS}


def check_run(method: str, t0: float, t_end: float, step: float | None) -> None:
    """Errors for a method that there is not, a time that does not pass and a step that cannot be taken."""
    if not isinstance(method, str) or method not in METHODS:
        raise ArmillaryError(
            f"no integration method '{method}'{nearest(method, METHODS)}; there are {', '.join(METHODS)}"
        )
    for what, value in (("t0", t0), ("t_end", t_end), ("step", step)):
        if (value is not None or what != "step") and plain_float(value) is None:
            raise ArmillaryError(f"{what} must be a number of seconds, not {shown(value)}")
    if not (isfinite(t0) and isfinite(t_end) and t0 <= t_end):
        raise ArmillaryError(f"a run must lead from one finite time to a later one, not from {t0} to {t_end}")
    if step is None and not METHODS[method].adaptive:
        raise ArmillaryError(f"method '{method}' takes steps of one size: give it, e.g. step=1e-3")
    if step is not None and not 0.0 < step < inf:
        raise ArmillaryError(f"the step must be positive, not {step}")


def check_tolerances(rtol: float, atol: Any, max_step: float, states: int) -> np.ndarray:
    """The absolute tolerances; errors for those that cannot be met and for a step that cannot be taken."""
    for what, value in (("rtol", rtol), ("max_step", max_step)):
        if plain_float(value) is None:
            raise ArmillaryError(f"{what} must be a number, not {value!r}")
    if not max_step > 0.0:
        raise ArmillaryError(f"the largest step must be positive, not {max_step}")
    tolerances = reals(atol, "atol").copy()
    if not (rtol >= 0.0 and np.all(tolerances >= 0.0) and (rtol > 0.0 or np.all(tolerances > 0.0))):
        raise ArmillaryError(f"tolerances must be positive; rtol is {rtol} and atol {atol}")
    if tolerances.shape not in ((), (states,)):
        raise ArmillaryError(f"atol must be one number or {states}, one per state")
    return tolerances


def integrate(
    functions: Functions,
    method: str,
    *,
    t0: float,
    t_end: float,
    state: Any,
    memory: Any = (),
    constants: Any = (),
    step: float | None = None,
    sample: float | Any | None = None,
    rtol: float = 1e-8,
    atol: float | Any = 1e-10,
    max_step: float = inf,
    max_steps: int = 1_000_000_000,
    progress: Callable[[float], None] | None = None,
    stepping: Stepping | None = None,
) -> Integration:
    """The motion from `t0` to `t_end`.

    step        the step of a fixed-step method, the first one of an adaptive method (None: it chooses)
    sample      seconds between rows (t₀ + i·sample), or the times of rows, or None: the end of every step
    rtol, atol  the tolerated error of an adaptive method; `atol` one number or one per state
    max_steps   steps tried, rejected ones included, after which the run ends
    progress    called about ten times a second with the time reached
    stepping    of redundant coordinates, whose methods are "staggered" and "projected"

    A last step that does not fit is shortened. Memory is updated at the start of every step. A row shows the
    state and memory as the next step begins with them, so at an event the ones after it. Divergence and
    Ctrl-C end the run with a status, and so do events that come faster and faster and more rows than memory
    should hold (Ctrl-C while its loop is still being compiled is raised: there is nothing to keep); nothing
    is raised but errors of the input.
    """
    check_run(method, t0, t_end, step)
    chosen = METHODS[method]
    check_kind(chosen, stepping is not None)
    tolerances = check_tolerances(rtol, atol, max_step, functions.n_states)
    samples = SampleTimes(sample, float(t0), float(t_end))
    check_rows(samples, None if chosen.adaptive else step, functions.n_outputs)
    arguments: dict[str, Any] = {
        "t0": float(t0),
        "t_end": float(t_end),
        "state": _vector("state", state, functions.n_states),
        "memory": _vector("memory", memory, functions.n_memory),
        "constants": np.ascontiguousarray(constants, dtype=float),
        "samples": samples,
        "step": step,
        "rtol": float(rtol),
        "atol": tolerances,
        "max_step": float(max_step),
    }
    if chosen.tableau is None:
        return integrate_with_scipy(
            functions, chosen.solver, **arguments, max_steps=max_steps, progress=progress
        )
    return drive(CompiledRun(functions, chosen.tableau, **arguments, stepping=stepping), max_steps, progress)


def check_kind(method: Method, redundant: bool) -> None:
    """An error for a method that does not fit the coordinates."""
    if method.redundant == redundant:
        return
    fitting = ", ".join(m.name for m in _METHODS if m.redundant == redundant)
    kind = "redundant coordinates" if redundant else "equations without redundant coordinates"
    raise ArmillaryError(f"method '{method.name}' is not for {kind}; there are {fitting}")


def _vector(name: str, values: Any, length: int) -> np.ndarray:
    vector = np.array(values, dtype=float)
    if vector.shape != (length,):
        raise ArmillaryError(f"the {name} must be {length} numbers, not an array of shape {vector.shape}")
    return vector
