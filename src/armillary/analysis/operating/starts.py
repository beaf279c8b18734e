"""Starts of the search for an operating point: the given one, and others where it was too rough.

First where the damped motion comes to rest: where the unknowns are coordinates, and speeds that stay at their
start, q moves along

    q̇ = N(q) u̇(q, u)            N = ∂q̇/∂u

which for a static equilibrium goes down the potential of the loads, in the metric of the masses, and keeps
loops closed. The implicit Euler method takes steps of a length δ that grows as the rates decay
(pseudo-transient continuation; Kelley & Keyes 1998, SIAM J. Numer. Anal. 35, 508–523). Then where the
homotopy of scaled loads leads (below), and at last starts scattered about the given one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from armillary.analysis.operating.conditions import conditions
from armillary.analysis.operating.contacts import with_open_contacts
from armillary.analysis.operating.curve import BranchCurve
from armillary.analysis.operating.newton import RootProblem, newton, rest
from armillary.analysis.operating.problem import Problem
from armillary.analysis.operating.request import Request
from armillary.errors import ParameterError
from armillary.numerics.scatter import ScatterNumbers
from armillary.runtime.start.initial import initial_states, initial_values
from armillary.untyped import DataMapping, DataTable

if TYPE_CHECKING:
    from armillary.runtime.models.programs.instance import Instance


# A homotopy for rough starts: the loads that would hold the start are taken away little by little.
#
# At a start x₀ the conditions c are off by c(x₀) − w, which further loads and shifted outputs could make up
# for. These are scaled from all to nothing,
#
#     H(x, λ) = c(x) − w − (1 − λ) (c(x₀) − w) = 0            λ from 0 to 1
#
# so that x₀ solves H for λ = 0 and an operating point for λ = 1. The curve between is followed by its
# length (`curve.py`), because λ turns back where the mechanism snaps through. Source: Allgower and
# Georg (1990), Numerical Continuation Methods, section 11.3 (the global homotopy).

_STEPS = 200
_FIRST, _LONGEST, _SHORTEST = 0.05, 0.5, 1e-5  # in sizes
_TURN = 0.8  # cosine of the angle between two tangents, below which a step is repeated at half its length


def scaled_loads(equations: RootProblem) -> np.ndarray | None:
    """Follow H = 0 from λ = 0 to λ = 1; return x there, or `None` if the curve does not reach λ = 1."""
    e = equations
    whole, both = e.x.copy(), np.ix_(e.rows, e.unknown)
    off = e.values.values(whole)[e.rows] - e.wanted
    if not np.all(np.isfinite(off)) or not len(e.unknown):
        return None

    def residual(z: np.ndarray) -> np.ndarray:
        whole[e.unknown] = z[:-1]
        found: np.ndarray = e.values.values(whole)[e.rows] - e.wanted - (1.0 - z[-1]) * off
        return found

    def jacobian(z: np.ndarray) -> np.ndarray:
        whole[e.unknown] = z[:-1]
        return np.column_stack([e.values.jacobian(whole)[both], off])

    sizes = np.append(e.sizes, 1.0)
    curve = BranchCurve(residual, jacobian, sizes, e.weights, lambda z: None)
    forward = np.append(np.zeros(len(e.unknown)), 1.0)
    here = curve.place(np.append(e.x[e.unknown], 0.0), forward)
    h = _FIRST
    for _ in range(_STEPS):
        if here is None:
            return None
        found = curve.step(here, h)
        if found is None or found[0].tangent @ here.tangent < _TURN:
            h *= 0.5
            if h < _SHORTEST:
                return None
            continue
        there, corrections = found
        before, after = float(here.z[-1]), float(there.z[-1])
        if after >= 1.0:
            whole[e.unknown] = (here.z + (1.0 - before) / (after - before) * (there.z - here.z))[:-1]
            return whole
        here, h = there, min(h * (2.0 if corrections <= 3 else 0.7), _LONGEST)
    return None


_REACHES = (0.3,) * 4 + (1.0,) * 8 + (3.0,) * 12
_ASIDE = (
    1e-4  # sizes by which the damped motion starts beside its start, which may be an unstable equilibrium
)


def rough_starts(made: Problem, x: np.ndarray) -> Iterator[np.ndarray]:
    """Further starts, the most promising first."""
    rested = None if made.request.settle else damped_rest(made, x)
    if rested is not None:
        yield rested
    unloaded = scaled_loads(made.equations(x))
    if unloaded is not None:
        yield unloaded
    yield from scattered_starts(made, x, _REACHES)


def scattered_starts(made: Problem, x: np.ndarray, reaches: Sequence[float]) -> list[np.ndarray]:
    """A start for each reach in sizes about x, within the bounds; the same in every call."""
    chance = ScatterNumbers()
    equations = made.equations(x)
    found = []
    for reach in reaches:
        start = x.copy()
        step = equations.sizes * chance.spread(reach, len(made.unknown))
        moved = x[made.unknown] + step
        inside: np.ndarray = np.clip(moved, equations.low, equations.high)
        start[made.unknown] = inside
        for first in made.conditions.equations.targets.quaternions:
            length = float(np.linalg.norm(start[first : first + 4]))
            start[first : first + 4] /= length or 1.0
        found.append(start)
    return found


def damped_rest(made: Problem, x: np.ndarray) -> np.ndarray | None:
    """Return where the damped motion from x comes to rest; `None` if it does not."""
    found, n = made.conditions, len(made.conditions.states)
    speeds = np.arange(found.speeds.start, found.speeds.stop)
    moved = np.array([j for j in made.unknown if j < found.coordinates], dtype=int)
    others = set(made.unknown.tolist()) - set(moved.tolist()) - set(speeds.tolist())
    if made.request.outputs or not len(moved) or others:
        return None
    closed = np.array([i for i in made.rows if i >= n], dtype=int)
    sizes = made.sizes(x)[0][moved]
    x = x.copy()
    x[moved] += _ASIDE * sizes * ScatterNumbers().spread(1.0, len(moved))
    return rest(made.values, x, moved, closed, sizes)


# The start of a search: x = [state, inputs] from values by name, with loops closed where they can be.


def start_vector(request: Request, instance: Instance, start: Mapping[str, object]) -> np.ndarray:
    """Return x from the values of one start, with fixed values in their place."""
    own: DataTable = {name: value for name, value in start.items() if name not in request.inputs}
    own |= {name: value / request.quantities[name].factor for name, value in request.fixed.items()}
    inputs = np.array([start.get(name, value) for name, value in request.inputs.items()], dtype=float)
    model = request.model
    plain = request.at_rest and not model.equations.system.centres
    if plain:
        quick = _close_loops(request, np.concatenate([_given_state(request, own), inputs]), set(own))
        if quick is not None:
            return quick
    try:
        # An overlap, or an approach that would be an impact, may be where a search starts.
        memory = with_open_contacts(instance, request.memory, only_undecided=True)
        place = model.place_at_start(instance, own, request.t, memory)
        state = instance.pack_state(place)
    except ParameterError:
        if not model.equations.reduction.rows:
            raise
        state = _given_state(request, own)
    return np.concatenate([_at_rest(request, state), inputs])


def _given_state(request: Request, own: DataMapping) -> np.ndarray:
    """Return the given state, without closing its loops."""
    equations, model = request.model.equations, request.model
    q, u, _ = initial_values(equations, own)
    speeds = dict(zip((s.data.name for s in equations.system.speeds), u, strict=True))
    state = np.concatenate([q, [speeds[name] for name in model.speed_names], initial_states(equations, own)])
    return _at_rest(request, state)


def _at_rest(request: Request, state: np.ndarray) -> np.ndarray:
    """The state with speeds of zero, where rest is looked for."""
    if request.at_rest:
        first = len(request.model.coordinate_names)
        for i, name in enumerate(request.model.speed_names, first):
            state[i] = request.fixed.get(name, 0.0)
    return state


def _close_loops(request: Request, x: np.ndarray, named: set[str]) -> np.ndarray | None:
    """Close the loops of x by the dependent coordinates that were not named.

    Return `None` if Newton's method does not close them. Runs do the same, with more attempts and more time.
    """
    found = conditions(request.model, tuple(request.outputs), tuple(request.inputs))
    if not found.gaps:
        return x
    follow = {q.data.name for q in request.model.equations.reduction.corrections} - named
    columns = np.array([i for i, name in enumerate(found.states) if name in follow], dtype=int)
    rows = np.arange(found.closed.start, found.closed.stop)
    values = found.instance(request.t, request.parameters, request.memory, found.at_rest)
    root = newton(
        RootProblem(values, x, rows, columns, np.zeros(len(rows)), np.ones(len(columns)), np.ones(len(rows)))
    )
    return root.x if root.met else None
