"""Operating points of a model: from a request to a solution, or to an error that states why there is none."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from armillary.analysis.operating.contacts import (
    Fault,
    problem_at_start,
    refusal,
    solve_with_statuses,
)
from armillary.analysis.operating.newton import Root, newton
from armillary.analysis.operating.point import OperatingPoint, operating_point
from armillary.analysis.operating.problem import Problem
from armillary.analysis.operating.request import Request, read_request, with_named_speeds
from armillary.analysis.operating.starts import damped_rest, rough_starts, scattered_starts, start_vector
from armillary.columns import counted, listed
from armillary.errors import ArmillaryError
from armillary.runtime.models.programs.instance import Instance
from armillary.untyped import Given

if TYPE_CHECKING:
    from armillary.runtime.models.compiled import CompiledModel

_SAME = 1e-6  # of the size of an unknown: solutions that are nearer than this are one
_ALL_ROUND = 3.2  # how far scattered starts lie from the first, in sizes: angles all round


def trim(model: CompiledModel, **asked: Given) -> OperatingPoint:
    """The operating point that a request means; see ``Model.trim`` in ``stages/model.py``."""
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
        raise ArmillaryError(_why_not(m, root))
    points = [operating_point(m, root) for m, root in _distinct_roots(roots)]
    if named is not model.base:  # the same state as the model itself takes it
        points = [replace(op, state=model.state(op, op.parameters, op.time)) for op in points]
    return replace(points[0], others=tuple(points[1:])) if len(points) > 1 else points[0]


def _inputs_in_units(request: Request) -> dict[str, float]:
    """Inputs that are parameters, in stated units."""
    return {
        name: value / request.quantities[name].factor
        for name, value in request.inputs.items()
        if request.quantities[name].kind == "parameter"
    }


def _search_from(
    made: Problem, x: np.ndarray, given: np.ndarray, *, thorough: bool
) -> tuple[Problem, Root, list[Fault]]:
    """The root from a start, with the statuses of contacts that agree with it."""

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
    """The root from a start, or the place nearest to one that was met."""
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
    """Solutions that differ, in the order in which they were found."""
    kept: list[tuple[Problem, Root]] = []
    for made, root in roots:
        size = np.maximum(np.abs(root.x), made.sizes(root.x, idle=True)[0])
        if all(np.max(np.abs(root.x - o.x) / size, initial=0.0) > _SAME for _, o in kept):
            kept.append((made, root))
    return kept


def _why_not(made: Problem, root: Root) -> str:
    """Why there is no solution: the conditions that are left, the most violated first."""
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
        value, want = made.shown(i, root.residual[k] + made.wanted[i]), made.shown(i, made.wanted[i])
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
    contacts = made.conditions.equations.system.contacts
    if contacts:
        places = {c.name: c.status for c in made.conditions.contacts}
        apart = [name for name in contacts if made.request.memory[places[name]] == 0]
        if apart:
            wider += (
                f", start where '{apart[0]}', which is open at the start, touches (or close it with "
                f"memory={{'{apart[0]}_status': 1}})"
            )
    return (
        f"no operating point of '{name}' was found{count}. Nearest to one{bound}, what cannot be met is"
        f"{''.join(lines)}\n{made.remedy(worst)}{wider}, or start elsewhere with starts="
    )
