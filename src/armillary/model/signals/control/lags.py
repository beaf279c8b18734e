"""Lags: first and second order, and one whose rate is limited.

    lag                 τ ẏ = K u − y
    second_order_lag    ÿ = ω² (K u − y) − 2 ζ ω ẏ
    rate_limit          ẏ = max( −f, min( r, (u − y)/τ ) )

Source: Åström and Murray, Feedback Systems (2008), sections 2.2 and 6.3. A rate limit without the lag τ is no
differential equation: its rate would be −f, 0 or r, and jump between them without end once y has reached u.
"""

from __future__ import annotations

from armillary.algebra import functions as fn
from armillary.algebra.expression import Expr
from armillary.algebra.units import ONE, TIME
from armillary.model.description import Description
from armillary.model.reading.argument_types import ExpressionLike, Number, UnitText, Words
from armillary.model.reading.expressions import read_expression
from armillary.model.recording.verbs import EntryForm, verb
from armillary.model.signals.control.signals import (
    block_state,
    coefficient,
    dimension_of,
    positive,
    quotient,
    units_text,
)
from armillary.model.signals.states import rate, state


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
    """A first-order lag, τ ẏ = K u − y: a state with the block's name, which starts at ``initial``.

    ``units`` are those of y; left out, y has the dimension of u.
    """
    where = f"lag '{name}'"
    u = read_expression(system, input, where)
    dimension = dimension_of(units, u.dimension)
    tau = positive(system, time_constant, f"time constant of {where}", TIME)
    K = coefficient(system, gain, f"gain of {where}", quotient(dimension, u.dimension))
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
    """A second-order lag, ÿ = ω² (K u − y) − 2 ζ ω ẏ: a state with the block's name, and its rate,
    ``name_rate``. ``frequency`` is ω in rad/s, ``damping`` is ζ; it starts at ``initial``, at rest.
    """
    where = f"second-order lag '{name}'"
    u = read_expression(system, input, where)
    dimension = dimension_of(units, u.dimension)
    omega = positive(system, frequency, f"frequency of {where}", ONE / TIME)
    zeta = coefficient(system, damping, f"damping of {where}", ONE)
    K = coefficient(system, gain, f"gain of {where}", quotient(dimension, u.dimension))
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
    """A signal that follows another with the lag ``time_constant``, at a rate between −``falling`` and
    ``rising`` (both positive; ``falling`` left out is ``rising``): a state with the block's name.
    """
    where = f"rate limit '{name}'"
    u = read_expression(system, input, where, dimension_of(units, None))
    dimension = dimension_of(units, u.dimension)
    tau = positive(system, time_constant, f"time constant of {where}", TIME)
    up = positive(system, rising, f"rising rate of {where}", quotient(dimension, TIME))
    down = up
    if falling is not None:
        down = positive(system, falling, f"falling rate of {where}", quotient(dimension, TIME))
    return block_state(
        system, name, lambda y: fn.maximum(-down, fn.minimum(up, (u - y) / tau)), initial,
        units or units_text(system, dimension), about,
    )  # fmt: skip
