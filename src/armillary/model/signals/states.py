"""Continuous states of the user's own: variables with rate equations besides those of the bodies.

    ż = f(t, q, u, z, parameters, memory)

A controller's integral, an actuator's lag, a tyre's relaxation, a temperature. They follow the speeds in a
model's state and are integrated with it.

Source: Sayers (1990), section 3.2 and Table 3.2.1, extra variables with derivatives given by equations.
"""

from __future__ import annotations

from dataclasses import replace

from armillary.algebra.arguments import text
from armillary.algebra.expression import Expr, symbol
from armillary.algebra.units import TIME, Dimension, parse_unit
from armillary.errors import ModelError, nearest
from armillary.model.description import Description
from armillary.model.reading.argument_types import ExpressionLike, Number, UnitText, Words
from armillary.model.reading.expressions import read_expression
from armillary.model.reading.inertia_input import finite_number
from armillary.model.reading.names import check_new_name
from armillary.model.recording.records import StateRecord
from armillary.model.recording.verbs import EntryForm, LaterForm, verb


@verb(EntryForm("states", needs=("rate",)))
def state(
    system: Description,
    name: str,
    rate: ExpressionLike | None = None,
    initial: Number = 0.0,
    *,
    units: UnitText | None = None,
    about: Words = "",
) -> Expr:
    """A continuous state of the user's own: an expression for loads, outputs, events and other rates.

    ``rate`` (text, expression or number) is its derivative by time, in the model's units; it may hold
    the state itself. Where it refers to what is described later, leave it out and give it with
    ``s.rate(name, …)``. ``initial`` is in ``units``; runs may set it with ``initial={name: …}``, events
    with ``set=``.
    """
    node, start, _ = new_variable(system, "state", name, initial, units, about)
    system.states[name] = StateRecord(node, None, about)
    system.initial[node] = start
    if rate is not None:
        _set_rate(system, node, rate)
    return node


def new_variable(
    system: Description, kind: str, name: str, initial: object, units: str | None, about: str
) -> tuple[Expr, float, float]:
    """The symbol of a new state or memory, its initial value in the model's units, and the factor of its
    own units to those.
    """
    check_new_name(system, name, kind)
    text(about, f"the description of {kind} '{name}'", ModelError)
    start = finite_number(initial, f"the initial value of {kind} '{name}'")
    dimension, factor = None, 1.0
    if units is not None:
        unit = parse_unit(units)
        dimension, factor = unit.dimension, system.units.factor(unit)
    node = symbol(
        name,
        kind,
        dimension=dimension,
        owner=system.identity,
        units=units or "",
        about=about,
        undeclared=dimension is None,
    )
    return node, start * factor, factor


@verb(LaterForm("states", "state", rate="expression"))
def rate(system: Description, state: object, expression: object) -> None:
    """The rate of a state of the user's own, once all is described that it refers to."""
    node = read_expression(system, state, "rate")
    record = system.states.get(node.name) if node.kind == "symbol" else None
    if record is None or record.symbol is not node:
        hint = nearest(str(node), system.states)
        raise ModelError(f"rate: '{node}' is not a state that was made with s.state(name, …){hint}")
    if record.rate is not None:
        raise ModelError(f"state '{node}' has a rate already; give it once")
    _set_rate(system, node, expression)


def _set_rate(system: Description, node: Expr, expression: object) -> None:
    value = read_expression(system, expression, f"rate of state '{node}'", rate_dimension(node))
    system.states[node.name] = replace(system.states[node.name], rate=value)
    system.rates[node] = value


def state_rates(system: Description) -> dict[Expr, Expr]:
    """All states of the user's own with their rates; an error names one that has none."""
    for name, record in system.states.items():
        if record.rate is None:
            raise ModelError(f"state '{name}' has no rate; give it with s.rate('{name}', …)")
    return {r.symbol: r.rate for r in system.states.values() if r.rate is not None}


def rate_dimension(state: Expr) -> Dimension | None:
    """The dimension of a state's rate; None where that of the state is not known."""
    return None if state.dimension is None else state.dimension / TIME
