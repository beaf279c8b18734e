"""The start of a search: x = [state, inputs] from values by name, with loops closed where they can be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from armillary.analysis.operating.conditions import conditions
from armillary.analysis.operating.contacts.contact_statuses import with_open_contacts
from armillary.analysis.operating.request import Request
from armillary.analysis.operating.search.newton import RootProblem, newton
from armillary.errors import ParameterError
from armillary.runtime.start.initial import initial_states, initial_values
from armillary.untyped import DataMapping, DataTable

if TYPE_CHECKING:
    from armillary.runtime.models.programs.instance import Instance


def start_vector(request: Request, instance: Instance, start: Mapping[str, object]) -> np.ndarray:
    """x from the values of one start, with what is fixed in their place."""
    own: DataTable = {name: value for name, value in start.items() if name not in request.inputs}
    own |= {name: value / request.quantities[name].factor for name, value in request.fixed.items()}
    inputs = np.array([start.get(name, value) for name, value in request.inputs.items()], dtype=float)
    model = request.model
    plain = request.at_rest and not model.equations.system.centres
    if plain:
        quick = _closed(request, np.concatenate([_as_given(request, own), inputs]), set(own))
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
        state = _as_given(request, own)
    return np.concatenate([_at_rest(request, state), inputs])


def _as_given(request: Request, own: DataMapping) -> np.ndarray:
    """The state as it is given, whether its loops are closed or not."""
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


def _closed(request: Request, x: np.ndarray, named: set[str]) -> np.ndarray | None:
    """x with its loops closed by the coordinates that follow from others and were not named; None where
    Newton's method does not close them. Runs do the same, with more attempts and more time.
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
