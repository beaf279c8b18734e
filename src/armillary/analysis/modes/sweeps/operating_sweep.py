"""The values of a parameter, a speed or an operating point along which modes are followed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from armillary.algebra.arguments import reals, table
from armillary.analysis.linear.derivatives.jacobians import Linearization, linearization
from armillary.analysis.linear.points import OperatingPoints, operating_points
from armillary.analysis.operating.point import OperatingPoint
from armillary.analysis.operating.trim import trim
from armillary.errors import ArmillaryError, ParameterError, nearest, shown
from armillary.model.units import state_factor
from armillary.program.derivatives.linearization.form import Variable
from armillary.runtime.models.compiled import CompiledModel
from armillary.untyped import AnyFunction, DataMapping, Given


@dataclass(frozen=True, eq=False)
class OperatingSweep:
    """A model at operating points that depend on the value of one name."""

    model: CompiledModel
    name: str
    at: Given  # as for ``linearize``, or a function of the value
    parameters: DataMapping

    @property
    def compiled(self) -> Linearization:
        """The linearised equations."""
        return linearization(self.model, (), ())

    @property
    def states(self) -> tuple[Variable, ...]:
        """The variables of the linear models."""
        return self.compiled.form.states

    def points(self, values: np.ndarray) -> OperatingPoints:
        """The operating points at these values."""
        if callable(self.at):
            return operating_points(self.model, [self.at(float(v)) for v in values], self.parameters or None)
        if self.name in self.model.equations.system.parameters:
            return operating_points(self.model, self.at, {**self.parameters, self.name: values})
        return operating_points(self.model, {**(self.at or {}), self.name: values}, self.parameters)

    def matrices(self, values: np.ndarray) -> np.ndarray:
        """A at these values in stated units, from one compiled loop."""
        points = self.points(values)
        A = self.compiled.rows(points.t, points.states, points.parameters, points.memory).A
        factors = np.array([v.factor for v in self.states])
        found: np.ndarray = A * factors / factors[:, None]
        if not np.all(np.isfinite(found)):
            k = int(np.flatnonzero(~np.isfinite(found).all(axis=(1, 2)))[0])
            raise ArmillaryError(
                f"'{self.model.equations.system.name}' has no linear model where '{self.name}' is "
                f"{values[k]:.6g}: an element of A is not a finite number there"
            )
        return found

    @property
    def units(self) -> str:
        """Units of the values."""
        system = self.model.equations.system
        symbols = {**system.parameters, **{s.data.name: s for s in system.moving()}}
        if self.name in system.memories:
            return system.memories[self.name].symbol.data.units or ""
        return (symbols[self.name].data.units or "") if self.name in symbols else ""


def operating_sweep(
    model: CompiledModel, name: object, at: object, trimmed: object, parameters: Mapping[str, object] | None
) -> OperatingSweep:
    """A sweep from what users give, checked."""
    if not isinstance(model, CompiledModel):
        raise ArmillaryError(f"a compiled model is needed, as compile() gives it, not {shown(model)}")
    if not isinstance(name, str):
        raise ArmillaryError(
            f"the name of a parameter, input, coordinate or speed is needed, not {shown(name)}"
        )
    system = model.equations.system
    known = [*system.parameters, *(s.data.name for s in system.moving()), *system.memories]
    given = table(parameters, "parameters=", ParameterError)
    if not callable(at) and not callable(trimmed) and name not in known:
        raise ParameterError(
            f"'{system.name}' has no parameter, input, coordinate or speed '{name}'{nearest(name, known)}; "
            "for any other meaning give at= a function of the value"
        )
    if trimmed is not None:
        if at is not None:
            raise ArmillaryError("give the operating points by at= or by trim=, not by both")
        return OperatingSweep(model, name, _trimmed(model, name, trimmed, given), {})
    if name not in system.parameters and not (at is None or callable(at) or isinstance(at, Mapping)):
        raise ArmillaryError(
            f"'{name}' is varied at an operating point given by names, at={{…}}, or by a function of its "
            "value"
        )
    return OperatingSweep(model, name, at, given)


def _trimmed(model: CompiledModel, name: str, asked: object, parameters: Mapping[str, object]) -> AnyFunction:
    """A function of the value that gives the operating point which is requested, from the last one found."""
    if callable(asked):
        return asked
    request = table(asked, "trim=")
    system = model.equations.system
    where = "parameters" if name in system.parameters else "memory" if name in system.memories else "fixed"
    last: dict[str, float] = {}

    def at(value: float) -> OperatingPoint:
        own = {"parameters": parameters, **({"starts": dict(last)} if last else {}), **request}
        own[where] = {**(own.get(where) or {}), name: value}
        found = trim(model, **own)
        last.update({key: found[key] for key in found if key != name})
        return found

    return at


def sorted_values(values: object) -> np.ndarray:
    """At least two different values in ascending order."""
    found = np.unique(reals(values, "values"))
    if found.ndim != 1 or len(found) < 2 or not np.all(np.isfinite(found)):
        raise ArmillaryError("modes are followed over at least two different finite values")
    return found


def radians_per_value(sweep: OperatingSweep) -> float:
    """rad/s in a unit of the values of a spin."""
    from armillary.algebra.units.units import parse_unit

    system = sweep.model.equations.system
    moving = {s.data.name: s for s in system.moving()}
    if sweep.name in moving:
        return state_factor(moving[sweep.name])
    return parse_unit(sweep.units).scale if sweep.units else 1.0
