"""Signals of a system: events, memories, inputs, outputs and continuous states.

Events: what happens when an expression passes zero.

Memories: discrete states, renewed once per step, periodically or by events; inputs, set from outside.

Outputs: quantities of interest, computed at each sample.

Continuous states of the user's own: variables with rate equations besides the equations of the bodies,

    ż = f(t, q, u, z, parameters, memory)

such as a controller's integral, an actuator's lag, a tyre's relaxation or a temperature. In a model's state
they follow the speeds, and they are integrated with it.

Source: Sayers (1990), section 3.2 and Table 3.2.1, extra variables with derivatives given by equations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import Annotated

from armillary.algebra.arguments import flag, one_of, text
from armillary.algebra.expression import ZERO, Expr, number, symbol
from armillary.algebra.functions import CONDITIONS
from armillary.algebra.units import ONE, TIME, Dimension, parse_unit
from armillary.errors import ModelError, nearest
from armillary.model.description import Description, EventRecord, Memory, OutputRecord, StateRecord
from armillary.model.reading.expressions import (
    check_dimension,
    check_new_name,
    finite_number,
    read_expression,
    refuse_equation,
)
from armillary.model.reading.kinds import (
    EXPRESSION,
    NAME,
    QUANTITY,
    Count,
    ExpressionLike,
    Flag,
    GivenValues,
    ListOf,
    Number,
    TableOf,
    UnitText,
    VariableLike,
    Words,
    choice,
)
from armillary.model.reading.references import find_speeds
from armillary.model.units import seconds
from armillary.model.verbs import EntryForm, LaterForm, verb


@verb(EntryForm("events", key="when", argument="expression"))
def event(
    system: Description,
    name: str,
    expression: ExpressionLike,
    *,
    direction: Count = 0,
    set: Annotated[GivenValues | None, TableOf(EXPRESSION)] = None,
    lock: Annotated[VariableLike | Sequence[VariableLike], ListOf(NAME)] = (),
    unlock: Annotated[VariableLike | Sequence[VariableLike], ListOf(NAME)] = (),
    stop: Flag = False,
    about: Words = "",
) -> None:
    """Add an event that happens when ``expression`` passes zero: upwards (``direction`` 1), downwards (−1) or
    either way (0). Memories, coordinates, speeds and states named in ``set`` then take new values, computed
    from the old ones; ``stop`` ends the run.

    Joints named in ``lock`` (coordinates or speeds) stand still from then on: the impulse that stops them
    changes all other speeds too. ``unlock`` sets them free with their present speeds.
    """
    if text(name, "the name of an event", ModelError) in system.events:
        raise ModelError(f"event '{name}' exists already; choose another name")
    if not isinstance(direction, int | float) or direction not in (-1, 0, 1):
        raise ModelError(f"event '{name}': direction={direction!r} is not −1, 0 or 1")
    where = f"event '{name}'"
    text(about, f"the description of {where}", ModelError)
    stop = flag(stop, f"{where}: stop=", ModelError)
    changes: dict[Expr, Expr] = {}
    if set is not None and not isinstance(set, Mapping):
        raise ModelError(f"{where}: set={set!r} must hold new values by name, {{'name': value, …}}")
    for target, value in (set or {}).items():
        node = read_expression(system, target, where)
        if node.kind != "symbol" or node.data.role not in ("memory", "coordinate", "speed", "state"):
            raise ModelError(f"{where}: '{node}' cannot be set; memories, coordinates, speeds and states can")
        if node.data.role == "memory" and system.memories[node.name].input:
            raise ModelError(f"{where}: '{node}' is an input, which is set from outside; set a memory")
        changes[node] = read_expression(system, value, f"{where}, new value of '{node}'", node.dimension)
    refuse_equation(expression, where, "give an expression that passes zero")
    watched = read_expression(system, expression, where)
    if watched.kind == "call" and watched.data in CONDITIONS:
        raise ModelError(
            f"{where}: '{watched}' is a condition, which jumps between 0 and 1; give an expression that "
            "passes zero, e.g. 'bob.q1 - 0.5' with direction=1"
        )
    locked, freed = find_speeds(system, lock, where), find_speeds(system, unlock, where)
    if both := [u for u in locked if u in freed]:
        raise ModelError(f"{where}: '{both[0]}' cannot be locked and unlocked at once")
    if moved := [u for u in locked if u in changes]:
        raise ModelError(f"{where}: '{moved[0]}' is locked, so it stands still; it cannot be set too")
    system.events[name] = EventRecord(
        name, watched, direction, changes, stop, about, lock=locked, unlock=freed
    )


@verb(EntryForm("outputs", key="value", argument="expression"))
def output(
    system: Description,
    name: str,
    expression: ExpressionLike,
    *,
    units: UnitText | None = None,
    about: Words = "",
) -> None:
    """Add an output: a quantity computed at each sample and labelled with units and description."""
    if text(name, "the name of an output", ModelError) in system.outputs:
        raise ModelError(f"output '{name}' exists already; choose another name")
    text(about, f"the description of output '{name}'", ModelError)
    states = [*system.moving(), *(m.symbol for m in system.memories.values())]
    if name in ("t", "time") or any(name == s.data.name for s in states):
        raise ModelError(f"output '{name}': every run has a column of that name; choose another name")
    value = read_expression(system, expression, f"output '{name}'")
    scale = 1.0
    if units is not None:
        unit = parse_unit(units)
        check_dimension(system, value, unit.dimension, f"output '{name}' in {units}")
        scale = 1.0 / system.units.factor(unit)
    system.outputs[name] = OutputRecord(
        name, value, units if units is not None else system.units.unit_text(value.dimension), about, scale
    )


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
    """Add a continuous state of the user's own: an expression for loads, outputs, events and other rates.

    ``rate`` (text, expression or number) is its derivative by time, in the model's units; it may hold the
    state itself. If it refers to quantities that are described later, leave it out and give it with
    ``s.rate(name, …)``. ``initial`` is in ``units``; runs may set it with ``initial={name: …}``, events with
    ``set=``.
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
    """Return the symbol of a new state or memory, its initial value in the model's units, and the factor from
    its stated units to the model's.
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
    """Set the rate of a state of the user's own, once everything that it refers to is described."""
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
    """Return all states of the user's own with their rates; raise an error if one has none."""
    for name, record in system.states.items():
        if record.rate is None:
            raise ModelError(f"state '{name}' has no rate; give it with s.rate('{name}', …)")
    return {r.symbol: r.rate for r in system.states.values() if r.rate is not None}


def rate_dimension(state: Expr) -> Dimension | None:
    """Return the dimension of a state's rate; `None` if the state's dimension is unknown."""
    return None if state.dimension is None else state.dimension / TIME


INTERPOLATIONS = ("hold", "linear", "smooth", "cubic")  # of data that drive an input


@verb(EntryForm("memory", writes_defaults=True))
def memory(
    system: Description,
    name: str,
    initial: Number = 0.0,
    *,
    update: ExpressionLike | None = None,
    every: Annotated[float | str | None, QUANTITY] = None,
    units: UnitText | None = None,
    about: Words = "",
) -> Expr:
    """Add a discrete state; ``initial`` is in ``units``. ``update`` (a text or an expression, which may use
    the memory's old value) is applied once per step. With ``every`` it is applied once per period (in
    seconds), first one period after the start of a run. Events may change the memory too.
    """
    node, start, factor = new_variable(system, "memory", name, initial, units, about)
    system.memories[name] = Memory(node, start, None, about, factor=factor)
    system.rates[node] = ZERO
    if every is not None:
        _renew_periodically(system, node, update, every)
    elif update is not None:
        _renew_each_step(system, node, update)
    return node


@verb(EntryForm("inputs"))
def input(
    system: Description,
    name: str,
    default: Number = 0.0,
    *,
    interpolation: Annotated[str, choice(*INTERPOLATIONS)] = "linear",
    units: UnitText | None = None,
    about: Words = "",
) -> Expr:
    """Add an input, a signal from outside: ``simulate(inputs={name: (t, y)})`` drives it by data over time.
    Without data it is constant: ``default``, or the value in ``memory=``. In an FMU it is an input, in
    exported code an argument.

    ``interpolation`` is for data that state no interpolation: "hold", "linear", "smooth" (cubics that
    never overshoot) or "cubic" (a spline with continuous second derivative). The rate of an input,
    ``arm.time_derivative(road)``, is a further input, ``"road rate"``, which the same data drive.
    """
    one_of(interpolation, INTERPOLATIONS, f"input '{name}': interpolation=", ModelError)
    node = memory(system, name, default, units=units, about=about)
    record = replace(system.memories[name], input=True, interpolation=interpolation)
    system.memories[name] = record
    _declare_rates(system, record)
    return node


def _declare_rates(system: Description, source: Memory) -> None:
    """Declare the first two rates of an input; they become inputs once a time derivative needs them."""
    for _ in range(2):
        of = source.symbol
        units = f"{of.data.units}/s" if of.data.units else ""
        node = symbol(
            f"{of.name} rate",
            "memory",
            dimension=rate_dimension(of),
            owner=system.identity,
            units=units,
            about=f"rate of {of.name}",
            undeclared=of.dimension is None,
        )
        record = Memory(
            node, 0.0, None, node.data.about, input=True, factor=source.factor, rate_of=of.name,
            interpolation=source.interpolation,
        )  # fmt: skip
        system.rates[of] = node
        system.input_rates[node] = source = record
    system.rates[source.symbol] = ZERO


@verb(LaterForm("memory", "memory", update="expression", every="every"))
def update(
    system: Description, memory: object, expression: object, *, every: float | str | None = None
) -> None:
    """Set the expression that renews a memory once per step, or once per period (in seconds). Use it for
    memories that refer to each other, or to quantities described later.
    """
    node = read_expression(system, memory, "update")
    record = system.memories.get(node.name)
    if record is None or record.symbol is not node:
        raise ModelError(f"'{node}' is not a memory of this system; make one with memory(name, initial)")
    if f"{node.name} clock" in system.memories:
        raise ModelError(f"memory '{node}' is renewed periodically already; give one update")
    if record.input:
        raise ModelError(f"'{node}' is an input, which is set from outside; make a memory to renew one")
    if every is not None:
        _renew_periodically(system, node, expression, every)
    else:
        _renew_each_step(system, node, expression)


def _renew_each_step(system: Description, memory: Expr, update: object) -> None:
    value = read_expression(system, update, f"update of memory '{memory}'", memory.dimension)
    system.memories[memory.name] = replace(system.memories[memory.name], update=value)


def _renew_periodically(system: Description, memory: Expr, update: object, every: float | str) -> None:
    """Add a clock memory with the time of the next update, and the event that makes the update."""
    name = memory.name
    period = seconds(every, f"the period of memory '{name}'", ModelError)
    if not 0 < period < inf:
        raise ModelError(f"memory '{name}': every={every!r} is not a positive number of seconds")
    if update is None:
        raise ModelError(f"memory '{name}' has a period but no update; give its new value with update=")
    clock, advanced = make_clock(system, name, period, f"next update of {name}")
    value = read_expression(system, update, f"update of memory '{name}'", memory.dimension)
    changes = {memory: value, **advanced}
    system.events[clock.name] = EventRecord(
        clock.name, system.time - clock, 1, changes, False, "", hidden=True
    )


def make_clock(system: Description, name: str, period: float, about: str) -> tuple[Expr, dict[Expr, Expr]]:
    """Return a memory with the time of the next tick, and the changes of memories at a tick.

    The time follows from the number of ticks, tₙ = t₀ + n·period; a sum of periods would accumulate rounding.
    """
    clock = symbol(f"{name} clock", "memory", dimension=TIME, owner=system.identity, units="s")
    start = symbol(f"{name} clock start", "memory", dimension=TIME, owner=system.identity, units="s")
    ticks = symbol(f"{name} clock ticks", "memory", dimension=ONE, owner=system.identity)
    system.memories[clock.name] = Memory(clock, 0.0, None, about, period)
    system.memories[start.name] = Memory(start, 0.0, None, f"start of the clock of {name}", 0.0)
    system.memories[ticks.name] = Memory(ticks, 1.0, None, f"ticks of the clock of {name}", hidden=True)
    system.rates |= {clock: ZERO, start: ZERO, ticks: ZERO}
    return clock, {clock: start + (ticks + 1) * number(period, TIME), ticks: ticks + 1}
