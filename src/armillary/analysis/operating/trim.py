"""Search for operating points of a model: from a request to a solution, or to an error with the reason.

The search starts from the given point. If Newton's method fails there, further starts follow. The first is
the point at which a damped motion comes to rest, if the unknowns are coordinates and speeds alone. In this
motion q has the accelerations as its rates:

    q̇ = N(q) u̇(q, u)            N = ∂q̇/∂u

If a static equilibrium is sought, this motion descends the potential of the loads, in the metric of the
masses, and keeps loops closed. The implicit Euler method takes steps of a length δ that grows as the rates
decay (pseudo-transient continuation; Kelley & Keyes 1998, SIAM J. Numer. Anal. 35, 508–523). The second start
is the end of the homotopy of scaled loads (below). The last ones are random points around the given start.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from armillary.analysis.operating.conditions import conditions
from armillary.analysis.operating.contacts import (
    Fault,
    problem_at_start,
    refusal,
    solve_with_statuses,
    with_open_contacts,
)
from armillary.analysis.operating.curve import BranchCurve
from armillary.analysis.operating.newton import Root, RootProblem, newton, rest
from armillary.analysis.operating.point import OperatingPoint, operating_point
from armillary.analysis.operating.problem import Problem, Request, read_request, with_named_speeds
from armillary.errors import ArmillaryError, ParameterError
from armillary.numerics.scatter import ScatterNumbers
from armillary.runtime.models.instance import Instance
from armillary.runtime.start.initial import initial_states, initial_values
from armillary.text_tables import counted, listed
from armillary.untyped import DataMapping, DataTable, Given

if TYPE_CHECKING:
    from armillary.runtime.models.compiled import CompiledModel


# A homotopy for rough starts: loads that would hold the start are reduced to zero.
#
# At a start x₀ the conditions c miss their wanted values w by c(x₀) − w. Additional loads and shifted outputs
# could compensate for that; they are scaled from 1 to 0,
#
#     H(x, λ) = c(x) − w − (1 − λ) (c(x₀) − w) = 0            λ from 0 to 1
#
# so that x₀ solves H for λ = 0 and an operating point for λ = 1. The curve between is followed by its
# length (`curve.py`), because λ turns back where the mechanism snaps through. Source: Allgower and
# Georg (1990), Numerical Continuation Methods, section 11.3 (the global homotopy).

_STEPS = 200  # most steps along the curve
_FIRST, _LONGEST, _SHORTEST = 0.05, 0.5, 1e-5  # lengths of steps along the curve, in sizes
_TURN = 0.8  # cosine of the angle between two tangents, below which a step is repeated at half its length


def scaled_loads(equations: RootProblem) -> np.ndarray | None:
    """Follow H = 0 from λ = 0 to 1; return x at λ = 1, or `None` if the curve does not reach it."""
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


_REACHES = (0.3,) * 4 + (1.0,) * 8 + (3.0,) * 12  # largest distances of scattered starts, in sizes
_ASIDE = 1e-4  # the damped motion starts this far from x, in sizes: x may be an unstable equilibrium


def rough_starts(made: Problem, x: np.ndarray) -> Iterator[np.ndarray]:
    """Yield further starts, the most promising first."""
    rested = None if made.request.settle else damped_rest(made, x)
    if rested is not None:
        yield rested
    unloaded = scaled_loads(made.equations(x))
    if unloaded is not None:
        yield unloaded
    yield from scattered_starts(made, x, _REACHES)


def scattered_starts(made: Problem, x: np.ndarray, reaches: Sequence[float]) -> list[np.ndarray]:
    """Return one random start for each reach: within this distance (in sizes) of x, and within bounds.

    Every call returns the same starts.
    """
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
        # A search may start with an overlap, or with an approach that would be an impact.
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
    """Set the speeds of a state to zero, except fixed ones, if the request is for rest; return the state."""
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


_SAME = 1e-6  # solutions count as one if no unknown differs by more than this share of its size
_ALL_ROUND = 3.2  # reach of scattered starts about the first, in sizes; angles cover a full turn


def trim(
    model: CompiledModel,
    fixed: Mapping[str, object] | None = None,
    free: Sequence[str] | None = None,
    rates: Mapping[str, object] | None = None,
    *,
    inputs: Sequence[str] | Mapping[str, object] = (),
    outputs: Mapping[str, object] | None = None,
    parameters: Mapping[str, object] | None = None,
    bounds: Mapping[str, object] | None = None,
    starts: object = None,
    settle: bool = False,
    memory: Mapping[str, object] | None = None,
    t: float | str = 0.0,
) -> OperatingPoint:
    """Return a steady motion: a state whose rates are zero unless given, and the inputs that hold it.

    ``fixed`` are values of states, ``free`` the states to find (by default all that are not fixed),
    ``rates`` the rates of states other than zero (None: any rate), ``inputs`` the parameters or inputs to
    find, ``outputs`` values of outputs that must be met, ``bounds`` pairs (low, high) by name. Cyclic
    coordinates, on which no rate depends, keep their start values, and their rates are conditions only if
    given. ``starts`` are values by name from which to start; a list of these, or a number of scattered
    starts, may give several ``solutions``. With ``settle`` the search begins where a heavily damped
    motion of the coordinates from the start comes to rest. This is near a stable point in most cases;
    ``stable`` of the result shows whether it is. In the result, loops are closed and Euler parameters have
    unit length.
    """
    return find_point(
        model, fixed=fixed, free=free, rates=rates, inputs=inputs, outputs=outputs, parameters=parameters,
        bounds=bounds, starts=starts, settle=settle, memory=memory, t=t,
    )  # fmt: skip


def equilibrium(
    model: CompiledModel,
    fixed: Mapping[str, object] | None = None,
    free: Sequence[str] | None = None,
    *,
    inputs: Sequence[str] | Mapping[str, object] = (),
    outputs: Mapping[str, object] | None = None,
    parameters: Mapping[str, object] | None = None,
    bounds: Mapping[str, object] | None = None,
    starts: object = None,
    settle: bool = False,
    memory: Mapping[str, object] | None = None,
    t: float | str = 0.0,
) -> OperatingPoint:
    """Find a state of rest: all rates are zero, also of cyclic coordinates. Arguments are as for ``trim``."""
    return find_point(
        model, at_rest=True, settle=settle, fixed=fixed, free=free, inputs=inputs, outputs=outputs,
        parameters=parameters, bounds=bounds, starts=starts, memory=memory, t=t,
    )  # fmt: skip


def find_point(model: CompiledModel, **asked: Given) -> OperatingPoint:
    """Return the operating point that a request asks for; ``asked`` goes to `read_request`."""
    named = with_named_speeds(model)
    request = read_request(named, **asked)
    given = request.parameters | _inputs_in_units(request)
    instance = Instance(request.model, given)
    firsts = [start_vector(request, instance, start) for start in request.starts]
    made = problem_at_start(request, instance, firsts[0])
    searches = [(made, firsts[0])]
    own = bool(made.conditions.contacts)
    searches += [(problem_at_start(request, instance, x) if own else made, x) for x in firsts[1:]]
    if request.scattered > 1:
        searches += [
            (made, x) for x in scattered_starts(made, firsts[0], [_ALL_ROUND] * (request.scattered - 1))
        ]
    tried = [_search_from(m, x, request.memory, thorough=len(searches) == 1) for m, x in searches]
    roots = [(m, root) for m, root, faults in tried if root.met and not faults]
    if not roots:
        for m, root, faults in tried:
            if root.met and faults:
                raise ArmillaryError(refusal(m, faults))
        m, root, _ = min(tried, key=lambda found: found[1].error)
        raise ArmillaryError(_no_solution_message(m, root))
    points = [operating_point(m, root) for m, root in _distinct_roots(roots)]
    if named is not model.base:  # the state in the variables of the given model
        points = [replace(op, state=model.state(op, op.parameters, op.time)) for op in points]
    return replace(points[0], others=tuple(points[1:])) if len(points) > 1 else points[0]


def _inputs_in_units(request: Request) -> dict[str, float]:
    """Return the inputs that are parameters, in stated units."""
    return {
        name: value / request.quantities[name].factor
        for name, value in request.inputs.items()
        if request.quantities[name].kind == "parameter"
    }


def _search_from(
    made: Problem, x: np.ndarray, given: np.ndarray, *, thorough: bool
) -> tuple[Problem, Root, list[Fault]]:
    """Return the root from a start, with the statuses of contacts that agree with it."""

    def solve(made: Problem) -> Root:
        return _solve_from(made, _settle_motion(made, x) if made.request.settle else x, thorough=thorough)

    return solve_with_statuses(made, x, given, solve)


def _settle_motion(made: Problem, x: np.ndarray) -> np.ndarray:
    """Return the place where the damped motion from a start comes to rest; raise an error if it does not."""
    found = damped_rest(made, x)
    if found is None:
        raise ArmillaryError(
            "settle= is for operating points whose unknowns are coordinates and their speeds alone, and "
            "whose motion stays finite; leave it out, and give starts= near the solution"
        )
    return found


def _solve_from(made: Problem, x: np.ndarray, *, thorough: bool) -> Root:
    """Return the root from a start, or the point with the smallest error that was found."""
    best = newton(made.equations(x))
    if best.met or not thorough:
        return best
    for start in rough_starts(made, x):
        root = newton(made.equations(start))
        if root.met:
            return root
        best = min(best, root, key=lambda found: found.error)
    return best


def _distinct_roots(roots: list[tuple[Problem, Root]]) -> list[tuple[Problem, Root]]:
    """Return the solutions that differ, in the order in which they were found."""
    kept: list[tuple[Problem, Root]] = []
    for made, root in roots:
        size = np.maximum(np.abs(root.x), made.sizes(root.x, idle=True)[0])
        if all(np.max(np.abs(root.x - o.x) / size, initial=0.0) > _SAME for _, o in kept):
            kept.append((made, root))
    return kept


def _no_solution_message(made: Problem, root: Root) -> str:
    """Return why there is no solution: the conditions that fail, the most violated first."""
    name = made.conditions.equations.system.name
    if not np.isfinite(root.error):
        return (
            f"the conditions of an operating point of '{name}' are not finite numbers at the start; give "
            "another with starts={'name': value}"
        )
    off = np.abs(root.relative)
    order = [int(k) for k in np.argsort(-off) if off[k] > 1e-3 * np.max(off)][:3]
    lines = []
    for k in order:
        i = int(made.rows[k])
        value = made.value_text(i, root.residual[k] + made.wanted[i])
        want = made.value_text(i, made.wanted[i])
        lines.append(f"\n  {made.conditions.labels[i]} is {value}, wanted {want}")
    worst = int(made.rows[order[0]])
    more = len(made.rows) - len(made.unknown)
    count = (
        f"; {counted(len(made.rows), 'condition')} for {counted(len(made.unknown), 'unknown')} "
        f"({listed(made.names)})"
        if more > 0
        else ""
    )
    held = [n for n, at in zip(made.names, root.held, strict=True) if at]
    bound = f", with {listed(held)} at a bound" if held else ""
    wider = ", widen bounds=" if held else ""
    if made.open_contacts:
        apart = made.open_contacts[0]
        wider += (
            f", start where '{apart}', which is open at the start, touches (or close it with "
            f"memory={{'{apart}_status': 1}})"
        )
    return (
        f"no operating point of '{name}' was found{count}. At the nearest point{bound} these conditions fail:"
        f"{''.join(lines)}\n{made.remedy(worst)}{wider}, or start elsewhere with starts="
    )
