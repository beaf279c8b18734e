"""The regressor of inverse dynamics: efforts as linear functions of inertial parameters, at places."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from armillary.algebra.arguments import reals
from armillary.analysis.identification.inertial_parameters import (
    BaseParameters,
    LinearEfforts,
    count_of_places,
    grouped_parameters,
    grouping,
    has_loops,
    linear_efforts,
    random_regressor,
)
from armillary.analysis.inverse.equations import refuse_rigid_contacts
from armillary.analysis.places import PlaceReader, Places
from armillary.columns import counted
from armillary.errors import ArmillaryError
from armillary.kept_results import kept_per_object
from armillary.model.units import state_factor
from armillary.runtime.models.compiled import CompiledModel
from armillary.runtime.models.programs.functions import ModelFunctions

_NEAR = 0.3  # radians, or units of length: of the start, where closed positions are looked for
_TRIES = 5  # for each


@dataclass(frozen=True, eq=False, repr=False)
class Regressor:
    """Efforts at places of a motion as e = Y π + e₀, linear in the base parameters π.

    y.values          Y, (…, speeds, parameters)
    y.rest            e₀, (…, speeds): efforts against all loads but gravity
    y.names           names of the speeds
    y.parameters      the base parameters, with names, values and expressions
    """

    system: str
    names: tuple[str, ...]
    parameters: BaseParameters
    values: np.ndarray
    rest: np.ndarray

    def efforts(self, parameters: object = None) -> np.ndarray:
        """Y π + e₀ for base parameters π; left out, for the values that they have in the description."""
        pi = self.parameters.values if parameters is None else reals(parameters, "parameters=")
        if pi.shape != (len(self.parameters),):
            raise ArmillaryError(
                f"parameters= must hold the {counted(len(self.parameters), 'base parameter')} of "
                f"'{self.system}', in the order of y.parameters; it has the shape {pi.shape}"
            )
        return np.asarray(self.values @ pi + self.rest)

    @property
    def condition(self) -> float:
        """Condition number of all rows together, columns brought to equal length."""
        return condition(self.values.reshape(-1, self.values.shape[-1]))

    def __repr__(self) -> str:
        places = int(np.prod(self.values.shape[:-2]))
        sizes = f"{counted(len(self.names), 'speed')}, {counted(len(self.parameters), 'base parameter')}"
        return (
            f"Regressor of '{self.system}' at {counted(places, 'place')}: {sizes}, "
            f"condition number {self.condition:.3g}"
        )


def condition(rows: np.ndarray) -> float:
    """The largest over the least singular value, columns brought to equal length."""
    sizes = np.linalg.norm(rows, axis=0)
    if rows.shape[0] < rows.shape[1] or not np.all(sizes > 0):
        return float("inf")
    found = np.linalg.svd(rows / sizes, compute_uv=False)
    return float(found[0] / found[-1]) if found.size and found[-1] > 0 else float("inf")


class RegressorModel:
    """The linear efforts of a model: expressions, and machine code once it is wanted."""

    def __init__(self, model: CompiledModel, *, every: bool = False) -> None:
        refuse_rigid_contacts(model.base.equations, "the regressor of its efforts")
        self.linear: LinearEfforts = linear_efforts(model.base.equations, every=every)
        self.equations = self.linear.expressions.equations
        found, speeds = self.linear.expressions, self.equations.system.speeds
        self.names = tuple(speeds[i].data.name for i in (*found.independent, *found.given))
        loops = has_loops(self.equations)
        closed = closed_places(model.base, count_of_places(self.linear)) if loops else ()
        self.groups = grouping(random_regressor(self.linear, *closed))
        self.reader = PlaceReader(self.equations, "regressor()")

    @cached_property
    def parameters(self) -> BaseParameters:
        """The base parameters, one for each column."""
        return grouped_parameters(self.linear, self.groups)

    @cached_property
    def functions(self) -> ModelFunctions:
        """Y of the base parameters row by row, and e₀."""
        chosen = [row[k] for row in self.linear.rows for k in self.groups.independent]
        wanted = {"regressor": chosen, "rest": list(self.linear.rest)}
        return ModelFunctions(self.equations, wanted, self.linear.expressions.rates)

    def at(self, places: Places, parameters: Mapping[str, object] | None) -> tuple[np.ndarray, np.ndarray]:
        """Rows of Y and e₀ at places."""
        at = (places.t, places.states, parameters, places.memory, places.rates)
        columns = len(self.groups.independent)
        rest = self.functions.rows("rest", *at)
        Y = self.functions.rows("regressor", *at).reshape(len(rest), len(self.names), columns)
        return Y, rest


def closed_places(model: CompiledModel, count: int) -> tuple[np.ndarray, np.ndarray]:
    """States of a system with its loops closed, near the start, with random speeds; and their times."""
    equations = model.equations
    rng = np.random.default_rng(0)
    start = model.state()
    guessed = {q.data.name for q in equations.reduction.corrections}
    symbols = {s.data.name: s for s in equations.system.initial}
    free = [(i, name) for i, name in enumerate(model.coordinate_names) if name not in guessed]
    found: list[np.ndarray] = []
    times = np.random.default_rng(1).uniform(0.0, 1.0, _TRIES * count) * bool(equations.system.prescriptions)
    kept: list[float] = []
    for t in times.tolist():
        moved = {n: (start[i] + rng.uniform(-_NEAR, _NEAR)) / state_factor(symbols[n]) for i, n in free}
        try:
            state = model.state(moved, t=t)
        except ArmillaryError:  # out of reach
            continue
        first = len(model.coordinate_names)
        state[first : first + len(model.speed_names)] = rng.uniform(-1.0, 1.0, len(model.speed_names))
        found.append(state)
        kept.append(t)
        if len(found) == count:
            return np.array(found), np.array(kept)
    raise ArmillaryError(
        f"the regressor of '{equations.system.name}': too few positions near the start close its loops; "
        "start away from singular positions, s.start({…})"
    )


_made = kept_per_object(RegressorModel)


def regressor_model(model: CompiledModel, *, every: bool = False) -> RegressorModel:
    """The linear efforts of a model, made once."""
    return _made(model.base, every=every)


def regressor(
    model: CompiledModel,
    q: object,
    u: object = None,
    udot: object = None,
    parameters: Mapping[str, object] | None = None,
    *,
    t: object = 0.0,
    memory: object = None,
    states: object = None,
) -> Regressor:
    """The regressor at places of a motion; see ``Model.regressor``."""
    made = regressor_model(model)
    places = made.reader.read(model.base, q, u, udot, t, memory, states, parameters)
    Y, rest = made.at(places, parameters)
    shape = places.shape
    return Regressor(
        made.equations.system.name,
        made.names,
        made.parameters,
        Y.reshape(*shape, *Y.shape[1:]),
        rest.reshape(*shape, *rest.shape[1:]),
    )
