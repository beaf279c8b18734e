"""The unknowns of a fit: parameters and initial values, with starts and bounds."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from armillary.algebra.units import is_quantity
from armillary.analysis.fitting.experiments import Measured
from armillary.errors import ArmillaryError, ParameterError, nearest
from armillary.program.derivatives.sensitivities import Direction, directions
from armillary.runtime.models.compiled import CompiledModel
from armillary.runtime.models.parameters import plain_number
from armillary.untyped import DataMapping, DataTable

Wanted = Sequence[str] | DataMapping | None


@dataclass(frozen=True)
class Unknown:
    """A number to be found, in stated units; an initial value may belong to one experiment alone."""

    label: str
    name: str
    parameter: bool
    experiment: int | None  # None: shared by all
    units: str
    start: float
    low: float
    high: float


def unknowns(
    model: CompiledModel, parameters: Wanted, initial: Wanted, experiments: Sequence[Measured]
) -> tuple[Unknown, ...]:
    """All numbers to be found: parameters are shared, initial values are those of each experiment."""
    found: list[Unknown] = []
    speeds = (u.data.name for u in model.equations.system.speeds)
    states = [*model.coordinate_names, *speeds, *model.state_names]
    for name, given in _named(parameters, model.parameters, "parameter", states).items():
        if fixed := [m.name for m in experiments if name in map(str, m.experiment.parameters)]:
            raise ParameterError(f"'{name}' is to be fitted, but {fixed[0]} gives it a value")
        (d,) = directions(model.equations, [name])
        found.append(_unknown(model, d, name, None, given, model.parameters[name]))
    described = {s.data.name: value for s, value in model.equations.system.initial.items()}
    for name, given in _named(initial, states, "coordinate, speed or state", model.parameters).items():
        (d,) = directions(model.equations, [name])
        for i, m in enumerate(experiments):
            label = name if len(experiments) == 1 else f"{name} of {m.name}"
            own = {str(key): value for key, value in m.experiment.initial.items()}
            start = own.get(name, described[name] / d.factor)
            found.append(_unknown(model, d, label, i, given, start))
    if not found:
        raise ArmillaryError("nothing is to be fitted: name parameters=[…] or initial=[…]")
    return tuple(found)


def _named(wanted: Wanted, known: Collection[str], what: str, others: Collection[str]) -> DataTable:
    """Unknowns by name, with their given starts and bounds."""
    if isinstance(wanted, Mapping):
        named = {str(name): given for name, given in wanted.items()}
    else:
        listed = [wanted] if isinstance(wanted, str) else () if wanted is None else wanted
        if not isinstance(listed, Iterable):
            raise ParameterError(f"unknowns are given by name, ['k', 'c'] or {{'k': start}}, not {wanted!r}")
        names = [str(name) for name in listed]
        if twice := [name for name in names if names.count(name) > 1]:
            raise ParameterError(f"{what} '{twice[0]}' is to be fitted twice")
        named = dict.fromkeys(names)
    for name in named:
        if name in known:
            continue
        hint = nearest(name, known)
        if name in others:
            hint = "; it is a parameter: name it in parameters=[…]"
            if what == "parameter":
                hint = "; it is a coordinate, speed or state: name it in initial=[…]"
        raise ParameterError(f"there is no {what} '{name}' to be fitted{hint}")
    return named


def _unknown(
    model: CompiledModel, d: Direction, label: str, experiment: int | None, given: object, start: object
) -> Unknown:
    where = f"'{d.name}' to be fitted"
    low, high = -math.inf, math.inf
    if isinstance(given, tuple | list):
        if len(given) != 3:
            raise ParameterError(f"{where}: give a start or (start, lowest, highest), not {given!r}")
        given, *bounds = given
        low, high = (
            limit if bound is None else _plain(model, d, bound, f"a bound of {where}")
            for bound, limit in zip(bounds, (low, high), strict=True)
        )
    start = given if given is not None else start
    if start is None:
        raise ParameterError(f"{where} has no default to start from: give {{'{d.name}': start}}")
    value = _plain(model, d, start, f"the start of {where}")
    if not low < high:
        raise ParameterError(f"{where}: its lowest value {low:g} is not below its highest {high:g}")
    if not low <= value <= high:
        raise ParameterError(f"{where}: its start {value:g} lies outside of its bounds, {low:g} to {high:g}")
    return Unknown(label, d.name, d.role == "parameter", experiment, d.units, value, low, high)


def _plain(model: CompiledModel, d: Direction, value: object, where: str) -> float:
    """A number in stated units, or a quantity; infinite bounds are none."""
    if isinstance(value, float) and math.isinf(value):
        return value
    number = plain_number(value, where, model.equations.system.units, None)
    return number / d.factor if is_quantity(value) else number


def assignments(
    found: Sequence[Unknown], x: np.ndarray, experiment: int
) -> tuple[dict[str, float], dict[str, float]]:
    """Parameters and initial values of one experiment, from the numbers of all."""
    own = [(u, float(v)) for u, v in zip(found, x, strict=True) if u.experiment in (None, experiment)]
    return {u.name: v for u, v in own if u.parameter}, {u.name: v for u, v in own if not u.parameter}
