"""Control blocks: lags, PID controllers and state feedback; and functions that all blocks share.

The lags are of first and second order, and one has a limited rate:

    lag                 τ ẏ = K u − y
    second_order_lag    ÿ = ω² (K u − y) − 2 ζ ω ẏ
    rate_limit          ẏ = max( −f, min( r, (u − y)/τ ) )

Source: Åström and Murray, Feedback Systems (2008), sections 2.2 and 6.3. Without the lag τ, integrators could
not solve the equation of a rate limit: once y has reached u, its rate would jump between −f, 0 and r without
end.

PID controllers have limits and anti-windup:

    v = kₚ e + I + D        İ = kᵢ e + (u − v)/Tₜ        u = min( max(v, low), high )

While u is at a limit, the term (u − v)/Tₜ keeps the integral I from growing further, within the tracking time
Tₜ (back calculation). If the rate ė of the error is given, D = k_d ė. Otherwise ė is estimated with a lag
T_f:

    D = k_d (e − x)/T_f        ẋ = (e − x)/T_f

Source: Åström and Murray, Feedback Systems (2008), section 10.4 and figure 10.11.

State feedback makes the inputs u of a plant linear functions of its states x:

    u = u₀ − K (x − x₀)

K comes from pole placement, from a Riccati equation (LQR) or from a fit. Its elements are parameters, so runs
may change them, batches may vary them, and sensitivities and fits treat them like other parameters. With K =
0 the control loop is open, so the model without feedback, from which K is computed, is the same model.

Source: Åström and Murray, Feedback Systems (2008), section 6.2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, SupportsFloat

import numpy as np

from armillary.algebra import functions as fn
from armillary.algebra.arguments import reals
from armillary.algebra.expression import Expr, as_expr
from armillary.algebra.functions import named, with_stated_dimension
from armillary.algebra.units import ONE, TIME, Dimension, parse_unit
from armillary.errors import ModelError, shown
from armillary.model.description import Description
from armillary.model.reading.expressions import (
    check_new_name,
    declare_parameter,
    finite_number,
    read_expression,
)
from armillary.model.reading.kinds import (
    NUMBERS,
    UNITS,
    ExpressionLike,
    ExpressionsLike,
    GivenMatrix,
    ListOf,
    Number,
    UnitText,
    Words,
)
from armillary.model.signals import rate, state
from armillary.model.verbs import EntryForm, verb
from armillary.untyped import Given


def dimension_of(units: str | None, otherwise: Dimension | None) -> Dimension | None:
    """Return the dimension of units; ``otherwise`` if no units are stated."""
    return otherwise if units is None else parse_unit(units).dimension


def dimension_quotient(a: Dimension | None, b: Dimension | None) -> Dimension | None:
    """Return the dimension of a / b; `None` if either is unknown."""
    return None if a is None or b is None else a / b


def units_text(system: Description, dimension: Dimension | None) -> str | None:
    """Return the model's own units for a dimension, as text; `None` if the dimension is unknown."""
    if dimension is None:
        return None
    return system.units.unit_text(dimension) or "1"


def coefficient(system: Description, value: object, where: str, dimension: Dimension | None) -> Expr:
    """Return a coefficient as an expression; a number gets the expected ``dimension``, if that is known."""
    if dimension is None and isinstance(value, int | float) and not isinstance(value, bool):
        return as_expr(finite_number(value, where))
    return read_expression(system, value, where, dimension)


def expressions_of(system: Description, values: object, where: str) -> list[Expr]:
    """Read a list of expressions."""
    if not isinstance(values, list | tuple):
        raise ModelError(f"{where}: {shown(values)} is not a list of expressions such as ['b.q1', 'b.u1']")
    return [read_expression(system, value, where) for value in values]


def read_positive(system: Description, value: object, where: str, dimension: Dimension | None) -> Expr:
    """Read a coefficient; raise an error if it is a number that is not positive."""
    node = coefficient(system, value, where, dimension)
    if node.kind == "number" and not node.data > 0:
        raise ModelError(f"{where}: {float(node.data):g} is not positive")
    return node


def block_state(
    system: Description,
    name: str,
    value: Callable[[Expr], Expr],
    initial: float,
    units: str | None,
    about: str,
) -> Expr:
    """Add a state whose rate is a function of the state."""
    node = state(system, name, initial=initial, units=units, about=about)
    rate(system, node, value(node))
    return node


def block_output(system: Description, name: str, value: Expr, dimension: Dimension | None) -> Expr:
    """Define a block's output under its name, for use in texts; give it the ``dimension``, if known."""
    check_new_name(system, name, "block")
    made: Expr = named(value, name)
    if dimension is not None and value.dimension is not dimension:
        made = with_stated_dimension(value, dimension, name)
    system.definitions[name] = made
    return made


@verb(EntryForm("blocks", key="lag", argument="input"))
def lag(
    system: Description,
    name: str,
    input: ExpressionLike,
    time_constant: ExpressionLike,
    *,
    gain: ExpressionLike = 1.0,
    initial: Number = 0.0,
    units: UnitText | None = None,
    about: Words = "",
) -> Expr:
    """Add a first-order lag, τ ẏ = K u − y: a state with the block's name, which starts at ``initial``.

    ``units`` are the units of y. If they are left out, y has the dimension of u.
    """
    where = f"lag '{name}'"
    u = read_expression(system, input, where)
    dimension = dimension_of(units, u.dimension)
    tau = read_positive(system, time_constant, f"time constant of {where}", TIME)
    K = coefficient(system, gain, f"gain of {where}", dimension_quotient(dimension, u.dimension))
    return block_state(
        system, name, lambda y: (K * u - y) / tau, initial, units or units_text(system, dimension), about
    )


@verb(EntryForm("blocks", key="second_order_lag", argument="input"))
def second_order_lag(
    system: Description,
    name: str,
    input: ExpressionLike,
    frequency: ExpressionLike,
    damping: ExpressionLike,
    *,
    gain: ExpressionLike = 1.0,
    initial: Number = 0.0,
    units: UnitText | None = None,
    about: Words = "",
) -> Expr:
    """Add a second-order lag, ÿ = ω² (K u − y) − 2 ζ ω ẏ: a state y with the block's name, and its rate, the
    state ``name_rate``. ``frequency`` is ω in rad/s, ``damping`` is ζ; y starts at ``initial``, at rest.
    """
    where = f"second-order lag '{name}'"
    u = read_expression(system, input, where)
    dimension = dimension_of(units, u.dimension)
    omega = read_positive(system, frequency, f"frequency of {where}", ONE / TIME)
    zeta = coefficient(system, damping, f"damping of {where}", ONE)
    K = coefficient(system, gain, f"gain of {where}", dimension_quotient(dimension, u.dimension))
    y = state(system, name, initial=initial, units=units or units_text(system, dimension), about=about)
    rate_units = f"{y.data.units}/s" if y.data.units else None
    v = block_state(
        system, f"{name}_rate",
        lambda v: omega**2 * (K * u - y) - 2 * zeta * omega * v, 0.0, rate_units, f"rate of {name}",
    )  # fmt: skip
    rate(system, y, v)
    return y


@verb(EntryForm("blocks", key="rate_limit", argument="input"))
def rate_limit(
    system: Description,
    name: str,
    input: ExpressionLike,
    rising: ExpressionLike,
    time_constant: ExpressionLike,
    *,
    falling: ExpressionLike | None = None,
    initial: Number = 0.0,
    units: UnitText | None = None,
    about: Words = "",
) -> Expr:
    """Add a state with the block's name that follows a signal with the lag ``time_constant``, but at a rate
    between −``falling`` and ``rising``. Both are positive; ``falling`` is equal to ``rising`` by default.
    """
    where = f"rate limit '{name}'"
    u = read_expression(system, input, where, dimension_of(units, None))
    dimension = dimension_of(units, u.dimension)
    tau = read_positive(system, time_constant, f"time constant of {where}", TIME)
    up = read_positive(system, rising, f"rising rate of {where}", dimension_quotient(dimension, TIME))
    down = up
    if falling is not None:
        down = read_positive(system, falling, f"falling rate of {where}", dimension_quotient(dimension, TIME))
    return block_state(
        system, name, lambda y: fn.maximum(-down, fn.minimum(up, (u - y) / tau)), initial,
        units or units_text(system, dimension), about,
    )  # fmt: skip


_FILTER = 10.0  # T_f = k_d / (10 kₚ) by default; Åström and Murray recommend factors from 2 to 20


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
    """Return the output of a PID controller of an error, limited to ``low`` … ``high``, in ``units``.

    ``derivative`` is the rate of the error, if it is available (minus a speed, say). Otherwise the rate is
    estimated with a lag of the time constant ``filter``, by default kd/(10 kp), whose state starts at zero.
    ``tracking`` is the time constant of the anti-windup, kp/ki by default. The integral is the state
    ``name_integral``, in the units of the output, which starts at ``initial``.
    """
    where = f"PID controller '{name}'"
    e = read_expression(system, error, where)
    dimension = dimension_of(units, None)
    per_error = dimension_quotient(dimension, e.dimension)
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
        integral_gain = coefficient(system, ki, f"ki of {where}", dimension_quotient(per_error, TIME))
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
    integral_rate = integral_gain * e
    if low is not None or high is not None:
        reset = p / integral_gain
        if tracking is not None:
            reset = read_positive(system, tracking, f"tracking time of {where}", TIME)
        integral_rate = integral_rate + (u - v) / reset
    rate(system, integral, integral_rate)
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
            system, derivative, f"derivative of {where}", dimension_quotient(e.dimension, TIME)
        )
    lag = gain / (_FILTER * p)
    if filter is not None:
        lag = read_positive(system, filter, f"filter of {where}", TIME)
    x = block_state(
        system, f"{name}_filtered", lambda x: (e - x) / lag, 0.0, units_text(system, e.dimension),
        f"error of {name} behind the filter of its derivative",
    )  # fmt: skip
    return gain * (e - x) / lag


@verb(EntryForm("blocks", key="feedback", argument="states"))
def feedback(
    system: Description,
    name: str,
    K: Annotated[GivenMatrix | SupportsFloat, NUMBERS],
    states: ExpressionsLike,
    *,
    units: Annotated[Sequence[str], ListOf(UNITS)],
    reference: ExpressionsLike = (),
    feedforward: ExpressionsLike = (),
    about: Words = "",
) -> tuple[Expr, ...]:
    """Return inputs u = u₀ − K (x − x₀) of a plant for its ``states`` x. In texts the inputs are ``name_u1``,
    ``name_u2``, …, or only ``name`` if there is one input. K is a matrix with a row per input, in the model's
    own units (SI), or 0 for an open control loop.

    The elements of K are parameters, ``name_k1``, … row by row, that runs may set. ``units`` are those of the
    inputs. ``reference`` x₀ and ``feedforward`` u₀ are lists of expressions, zero if left out. ``about`` is
    part of the description of each gain.
    """
    where = f"feedback '{name}'"
    if isinstance(units, str):
        raise ModelError(f"{where}: units= is a list, with the units of each input, such as ['N']")
    x = expressions_of(system, states, where)
    if not x or not len(units):
        raise ModelError(f"{where}: it needs at least one state and the units of at least one input")
    gains = _gains(where, K, len(units), len(x))
    for what, given, wanted in (("reference", reference, len(x)), ("feedforward", feedforward, len(units))):
        if len(given) not in (0, wanted):
            raise ModelError(f"{where}: {what}= must be {wanted} expressions, not {len(given)}")
    off = [
        s - read_expression(system, value, f"reference of {where}", s.dimension)
        for s, value in zip(x, reference or [0.0] * len(x), strict=True)
    ]
    made = []
    for i, unit in enumerate(units):
        dimension = parse_unit(unit).dimension
        u = coefficient(system, feedforward[i] if feedforward else 0.0, f"feedforward of {where}", dimension)
        for j, s in enumerate(off):
            label = f"{name}_k{i * len(x) + j + 1}"
            if label not in system.parameters:  # a text model has read its value already
                kind = dimension_quotient(dimension, s.dimension)
                words = f"gain of {name} for {x[j]}" + (f": {about}" if about else "")
                declare_parameter(system, label, kind, words, float(gains[i, j]), units_text(system, kind))
            u = u - system.parameters[label] * s
        made.append(block_output(system, name if len(units) == 1 else f"{name}_u{i + 1}", u, dimension))
    return tuple(made)


def _gains(where: str, K: object, inputs: int, states: int) -> np.ndarray:
    found = reals(K, f"K of {where}", ModelError)
    if found.ndim == 0 and found == 0.0:
        return np.zeros((inputs, states))
    found = np.atleast_2d(found)
    if found.shape != (inputs, states):
        raise ModelError(
            f"{where}: K has shape {found.shape}, but {inputs} inputs and {states} states need "
            f"({inputs}, {states})"
        )
    if not np.all(np.isfinite(found)):
        raise ModelError(f"{where}: K holds a number that is not finite")
    return found
