"""Whether an operating point is steady, as one gain about it requires.

    |ẏ| ≤ |∂y/∂x| r,     r_i = Σ_j |A_ij| (ρ |x_j| + ε) + Σ_j |B_ij| ρ |v_j| + ε

y is the whole state, x are the independent states and v the inputs. The right side is the rate that rounded
values leave at an equilibrium: x and v given to some four digits. Coordinates that are in no rate, such as
the way of a vehicle, may change at any rate, since A and B stay the same (steady motion).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from armillary.algebra.walk import held_indices
from armillary.analysis.linear.linear_model import LinearModel
from armillary.analysis.operating.conditions import rate_units
from armillary.errors import ArmillaryError
from armillary.model.units import state_factor
from armillary.runtime.models.compiled import CompiledModel
from armillary.runtime.models.instance import Instance

_ROUNDED = 1e-4  # relative errors of given values, such as 3.1416 for π
_ROUNDED_ZERO = 1e-6  # errors of values and rates near zero, in the model's units: those of solutions by trim
_SHOWN = 3  # most rates in an error


def check_steady(model: CompiledModel, linear: LinearModel, verb: str) -> None:
    """Raise an error with the largest rates if the linear model's operating point is not steady."""
    t = model.equations.targets
    known = model.equations.system.parameters
    given = {name: value for name, value in linear.parameters.items() if name in known}
    rates = Instance(model, given).derivatives(float(linear.time), linear.state, linear.memory)
    used = {j for places in held_indices(t.rates, t.integrated) for j in places}
    over = np.abs(rates) / _rounding(linear, given)
    found = [int(j) for j in np.argsort(-over) if over[j] > 1 and j in used]
    if not found:
        return
    described = {s.data.name: s for s in model.equations.system.moving()}
    shown = []
    for j in found[:_SHOWN]:
        own = described.get(t.integrated[j].data.name, t.integrated[j])
        units = rate_units(own.data.units or "")
        shown.append(f"'{own.data.name}' changes by {rates[j] / state_factor(own):.4g} {units}")
    more = f" and {len(found) - _SHOWN} more change" if len(found) > _SHOWN else ""
    raise ArmillaryError(
        f"{verb}: '{linear.system}' is not steady at the operating point: {', '.join(shown)}{more}; give at= "
        "a result of model.trim or model.equilibrium, or the inputs that hold it there; for a motion, call "
        f"model.lqr_along; control.{verb} takes a linear model of any point, model.linearize(…)"
    )


def _rounding(linear: LinearModel, parameters: Mapping[str, object]) -> np.ndarray:
    """Return the rates of the whole state that rounded values leave at an equilibrium."""
    assert linear.linearization is not None
    at = np.atleast_1d(float(linear.time)), linear.state[None], parameters, linear.memory[None]
    basis = linear.linearization.basis(*at)[0]
    fx, fv = (np.array([v.factor for v in linear.variables[k]]) for k in (0, 1))
    A, B = np.abs(linear.A) * fx[:, None] / fx, np.abs(linear.B) * fx[:, None] / fv
    x = np.linalg.lstsq(basis, linear.state, rcond=None)[0]
    v = np.array([float(linear.input_values.get(name, 0.0)) for name in linear.inputs]) * fv
    rates = A @ (_ROUNDED * np.abs(x) + _ROUNDED_ZERO) + B @ (_ROUNDED * np.abs(v)) + _ROUNDED_ZERO
    return np.asarray(np.abs(basis) @ rates + _ROUNDED_ZERO)
