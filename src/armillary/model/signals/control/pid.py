"""PID controllers with limits and anti-windup.

    v = kₚ e + I + D        İ = kᵢ e + (u − v)/Tₜ        u = min( max(v, low), high )

While u is at a limit, the integral follows it within the tracking time Tₜ instead of winding up (back
calculation). D = k_d ė where the rate of the error is given, else of the error behind a lag:

    D = k_d (e − x)/T_f        ẋ = (e − x)/T_f

Source: Åström and Murray, Feedback Systems (2008), section 10.4 and figure 10.11.
"""

from __future__ import annotations

from armillary.algebra import functions as fn
from armillary.algebra.expression import Expr
from armillary.algebra.units import TIME
from armillary.errors import ModelError
from armillary.model.description import Description
from armillary.model.reading.argument_types import ExpressionLike, Number, UnitText, Words
from armillary.model.reading.expressions import read_expression
from armillary.model.recording.verbs import EntryForm, verb
from armillary.model.signals.control.signals import (
    block_output,
    block_state,
    coefficient,
    dimension_of,
    positive,
    quotient,
    units_text,
)
from armillary.model.signals.states import rate, state
from armillary.untyped import Given

_FILTER = 10.0  # T_f = k_d / (10 kₚ), in the middle of what Åström and Murray recommend, 2 to 20


@verb(EntryForm("blocks", key="pid", argument="error"))
def pid(
    system: Description,
    name: str,
    error: ExpressionLike,
    kp: ExpressionLike,
    ki: ExpressionLike | None = None,
    kd: ExpressionLike | None = None,
    *,
    derivative: ExpressionLike | None = None,
    filter: ExpressionLike | None = None,
    low: ExpressionLike | None = None,
    high: ExpressionLike | None = None,
    tracking: ExpressionLike | None = None,
    initial: Number = 0.0,
    units: UnitText | None = None,
    about: Words = "",
) -> Expr:
    """The output of a PID controller of an error, limited to ``low`` … ``high``, in ``units``.

    ``derivative`` is the rate of the error, where it is at hand (minus a speed, say); else the error's rate
    is taken behind a lag of time constant ``filter``, kd/(10 kp) by default, that starts at zero.
    ``tracking`` is the time constant of the anti-windup, kp/ki by default. The integral is the state
    ``name_integral``, in the units of the output, which starts at ``initial``.
    """
    where = f"PID controller '{name}'"
    e = read_expression(system, error, where)
    dimension = dimension_of(units, None)
    per_error = quotient(dimension, e.dimension)
    p = coefficient(system, kp, f"kp of {where}", per_error)
    dimension = dimension if dimension is not None else (p * e).dimension
    v = p * e
    units = units or units_text(system, dimension)
    if kd is not None:
        v = v + _differential(system, name, e, kd, derivative, filter, p, per_error)
    elif derivative is not None or filter is not None:
        raise ModelError(f"{where}: derivative= and filter= need a gain kd=")
    if ki is not None:
        words = f"integral of {name}" + (f": {about}" if about else "")
        integral = state(system, f"{name}_integral", initial=initial, units=units, about=words)
        integral_gain = coefficient(system, ki, f"ki of {where}", quotient(per_error, TIME))
        v = v + integral
    v = fn.named(v, f"{name}_unlimited")
    u: Expr = v
    if high is not None:
        u = fn.minimum(u, coefficient(system, high, f"upper limit of {where}", dimension))
    if low is not None:
        u = fn.maximum(u, coefficient(system, low, f"lower limit of {where}", dimension))
    u = block_output(system, name, u, dimension)
    if ki is None:
        return u
    grown = integral_gain * e
    if low is not None or high is not None:
        reset = p / integral_gain
        if tracking is not None:
            reset = positive(system, tracking, f"tracking time of {where}", TIME)
        grown = grown + (u - v) / reset
    rate(system, integral, grown)
    return u


def _differential(
    system: Description,
    name: str,
    e: Expr,
    kd: Given,
    derivative: object,
    filter: object,
    p: Expr,
    per_error: Given,
) -> Expr:
    where = f"PID controller '{name}'"
    gain = coefficient(system, kd, f"kd of {where}", None if per_error is None else per_error * TIME)
    if derivative is not None:
        return gain * read_expression(
            system, derivative, f"derivative of {where}", quotient(e.dimension, TIME)
        )
    lag = gain / (_FILTER * p)
    if filter is not None:
        lag = positive(system, filter, f"filter of {where}", TIME)
    x = block_state(
        system, f"{name}_filtered", lambda x: (e - x) / lag, 0.0, units_text(system, e.dimension),
        f"error of {name} behind the filter of its derivative",
    )  # fmt: skip
    return gain * (e - x) / lag
