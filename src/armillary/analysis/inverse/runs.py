"""Places along a run: coordinates, speeds, states and memory of its rows, and the rates of its speeds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from armillary.algebra.expression import Expr
from armillary.analysis.places import PlaceReader, Places
from armillary.errors import ArmillaryError
from armillary.model.units import state_factor
from armillary.program.equations import DerivedEquations
from armillary.results import Run
from armillary.results.record import conversion
from armillary.runtime.start.initial import initial_memory

SPLINE = "spline"


def run_places(
    equations: DerivedEquations,
    run: Run,
    udot: object,
    rates: Callable[[Places], np.ndarray],
    speeds: object = None,
) -> Places:
    """The rows of a run. ``udot`` are the rates of its speeds; left out, ``rates`` finds them as the model
    has them, and "spline" takes the slopes of cubic splines through the speeds, or through the coordinates
    where the run has no speeds.
    """
    if speeds is not None:
        raise ArmillaryError("inverse(run): the speeds are those of the run; leave u out")
    count = len(run)
    if not count:
        raise ArmillaryError(f"inverse(run): the run of '{run.system}' has no samples")
    system = equations.system
    symbols = {s.data.name: s for s in system.initial}
    q = np.column_stack(
        [np.empty((count, 0)), *(_column(run, symbols[name]) for name in equations.coordinates)]
    )
    measured = all(name in run for name in equations.speeds)
    u = np.column_stack(
        [
            np.empty((count, 0)),
            *(
                _column(run, symbols[name])
                if measured
                else _rate_of_coordinate(run, equations, symbols, name)
                for name in equations.speeds
            ),
        ]
    )
    own = np.column_stack([np.empty((count, 0)), *(_column(run, symbols[name]) for name in equations.states)])
    memory = np.tile(initial_memory(equations, None, float(run.time[0])), (count, 1))
    for k, (name, m) in enumerate(system.memories.items()):
        if name in run:
            memory[:, k] = _column(run, m.symbol, m.factor)
    still = np.zeros((count, len(equations.speeds)))
    places = Places(run.time, np.hstack([q, u, own]), still, memory, (count,))
    if isinstance(udot, str) and udot != SPLINE:
        raise ArmillaryError(f"inverse(run): unknown udot='{udot}'; use '{SPLINE}', or give numbers")
    if isinstance(udot, str) or (udot is None and not measured):
        found = np.column_stack([still[:, :0], *(_slope(run, u[:, k]) for k in range(u.shape[1]))])
    elif udot is None:
        found = rates(places)
    else:
        given = PlaceReader(equations).rows(udot, equations.speeds, "udot", "speed", {})
        found = np.broadcast_to(given, still.shape)
    return replace(places, rates=found)


def _column(run: Run, node: Expr, factor: float | None = None) -> np.ndarray:
    name = node.data.name
    if name not in run:
        raise ArmillaryError(f"inverse(run): the run of '{run.system}' has no column '{name}'")
    stated = conversion(name, run.units[name], node.data.units or "")
    return run[name] * (stated * (state_factor(node) if factor is None else factor))


def _rate_of_coordinate(
    run: Run, equations: DerivedEquations, symbols: dict[str, Expr], name: str
) -> np.ndarray:
    """A speed that is the rate of a coordinate, as the slope of that."""
    rates = equations.system.rates
    found = [q for q in equations.system.coordinates if rates[q] is symbols[name] and q.data.name in run]
    if not found:
        raise ArmillaryError(
            f"inverse(run): the run of '{run.system}' has no column '{name}', which is not the rate of one "
            "coordinate"
        )
    return _slope(run, _column(run, found[0]))


def _slope(run: Run, values: np.ndarray) -> np.ndarray:
    from scipy.interpolate import CubicSpline

    if len(run) < 4 or not np.all(np.diff(run.time) > 0):
        raise ArmillaryError(
            f"inverse(run): slopes along the run of '{run.system}' need four rows, at increasing times"
        )
    return np.asarray(CubicSpline(run.time, values)(run.time, 1))
