"""Conditions that close loops at the beginning of an optimal motion, and make Euler parameters unit.

Under the equations of motion, the gaps of closed loops keep their values at the beginning. A start whose
coordinates are all given is assembled as for a run. If some coordinates or parameters are unknown, the gaps
are conditions at the beginning, and as many coordinates without a given value become unknowns.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np

from armillary.algebra.expression import UNIT, Expr, as_expr, total
from armillary.algebra.walk import symbols
from armillary.control.knot_functions import KnotFunctions, Knots
from armillary.control.plant import Port
from armillary.errors import ParameterError
from armillary.program.equations import DerivedEquations
from armillary.runtime.models.compiled import CompiledModel
from armillary.runtime.start.initial import initial_memory
from armillary.untyped import DataMapping

_DEPENDENT = 1e-9  # least part of a column that earlier ones do not span, relative to the largest column


@dataclass(frozen=True)
class ClosedStart:
    """Expressions by name that are zero at the beginning, and states they determine, with first guesses."""

    conditions: dict[str, Expr] = field(default_factory=dict)
    unknown: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class GivenStart:
    """The known values of the first state, and the names that ``initial`` or a link determines."""

    state: np.ndarray
    named: Collection[str]
    fixed: Collection[str]
    linked: Collection[str]
    continued: bool  # links lead to the end of another phase, where loops are closed


def closed_start(
    model: CompiledModel,
    states: Sequence[Port],
    given: GivenStart,
    unknown_parameters: Collection[Expr],
    parameters: DataMapping,
    t0: float,
) -> ClosedStart:
    """Return the conditions that a start needs; none if all coordinates and parameters are given."""
    t = model.equations.targets
    name_of = {p.symbol: p.name for p in states[: len(t.coordinates)]}
    conditions: dict[str, Expr] = {}
    held: dict[str, set[str]] = {}
    needed = False
    for name, expression in _gaps(model.equations).items():
        found = symbols(expression)
        own = {name_of[s] for s in found if s in name_of}
        if given.continued and own <= {*given.linked, *given.named}:
            continue
        conditions[name], held[name] = expression, own
        needed |= not own <= set(given.fixed) or any(s in unknown_parameters for s in found)
    if not needed:
        return ClosedStart()
    inside = {name for own in held.values() for name in own}
    dependent = [states[i].name for i in t.corrected]
    free = [p.name for p in states if p.name in inside and p.name not in {*given.named, *given.linked}]
    groups = [
        [n for n in free if n in dependent], [n for n in free if n not in dependent],
        [n for n in given.linked if n in inside],
    ]  # fmt: skip
    places = {p.name: i for i, p in enumerate(states)}
    functions = KnotFunctions(
        model.equations, list(conditions.values()), [states[places[n]].symbol for g in groups for n in g],
        tier="quick",
    )  # fmt: skip
    at = Knots(np.array([t0]), given.state[None], initial_memory(model.equations)[None], np.empty((1, 0)))
    chosen = _independent_columns(functions.dense_jacobian(at, dict(parameters))[0], list(map(len, groups)))
    names = [n for g in groups for n in g]
    unknown = [names[j] for j in chosen if names[j] not in given.linked]
    extra = [names[j] for j in chosen if names[j] in given.linked]
    if extra and not given.continued:
        raise ParameterError(
            f"periodic=: '{extra[0]}' of '{model.equations.system.name}' follows from other coordinates by "
            "closed loops or unit Euler parameters; leave it out"
        )
    return ClosedStart(conditions, {n: float(given.state[places[n]]) for n in unknown})


def _gaps(equations: DerivedEquations) -> dict[str, Expr]:
    """Return the independent gaps of loops, and the norms of Euler parameters less 1, by name."""
    t = equations.targets
    found = {
        row.constraint.name: as_expr(row.gap)
        for row in equations.reduction.elimination.kept
        if row.gap is not None
    }
    for i in t.quaternions:
        own = t.integrated[i : i + 4]
        name = f"unit Euler parameters {own[0].data.name} to {own[3].data.name}"
        found[name] = total([(1, q * q) for q in own]) - UNIT
    return found


def _independent_columns(matrix: np.ndarray, groups: Sequence[int]) -> list[int]:
    """Return independent columns, as many as there can be, from earlier groups where possible."""
    left, first = matrix.copy(), 0
    chosen: list[int] = []
    most = float(np.max(np.linalg.norm(matrix, axis=0), initial=0.0))
    for count in groups:
        own = np.arange(first, first + count)
        first += count
        while len(own) and len(chosen) < len(matrix):
            sizes = np.linalg.norm(left[:, own], axis=0)
            j = int(own[np.argmax(sizes)])
            if not sizes.max() > _DEPENDENT * most:
                break
            chosen.append(j)
            axis = left[:, j] / np.linalg.norm(left[:, j])
            left -= np.outer(axis, axis @ left)
    return chosen
