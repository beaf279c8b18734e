"""Memories: discrete states, renewed once per step, periodically or by events; inputs, set from outside."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Annotated

from armillary.algebra.arguments import one_of
from armillary.algebra.expression import ZERO, Expr, number, symbol
from armillary.algebra.units import ONE, TIME
from armillary.errors import ModelError
from armillary.model.description import Description
from armillary.model.reading.argument_types import ExpressionLike, Number, UnitText, Words
from armillary.model.reading.expressions import read_expression
from armillary.model.reading.kinds import QUANTITY, choice
from armillary.model.recording.records import EventRecord, Memory
from armillary.model.recording.verbs import EntryForm, LaterForm, verb
from armillary.model.signals.states import new_variable, rate_dimension
from armillary.model.units.values import seconds

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
    """A discrete state; ``initial`` is in ``units``. ``update`` (text or expression, may use the memory's
    own old value) is applied once per step, or with ``every`` once per so many seconds, first one period
    after the start of a run; events may change it too."""
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
    """A signal from outside: ``simulate(inputs={name: (t, y)})`` drives it by data over time. Without them it
    is constant, ``default`` or what ``memory=`` sets; it is an input of an FMU and an argument of exported
    code.

    ``interpolation`` joins the data where they do not say themselves: "hold", "linear", "smooth" (cubics that
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
    """The first two rates of an input. They become inputs themselves where a time derivative needs them."""
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
    """The expression that renews a memory once per step, or once per so many seconds; for memories that
    refer to each other, or to what is described after them."""
    node = read_expression(system, memory, "update")
    record = system.memories.get(node.name)
    if record is None or record.symbol is not node:
        raise ModelError(f"'{node}' is not a memory of this system; make one with memory(name, initial)")
    if f"{node.name} clock" in system.memories:
        raise ModelError(f"memory '{node}' is renewed periodically already; give one of both")
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
    """A clock memory that holds the time of the next update, and the event of reaching it."""
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
    """A memory of the time of the next tick, and what a tick makes of it.

    Ticks are counted, tₙ = t₀ + n·period: a sum of periods would drift away from them.
    """
    clock = symbol(f"{name} clock", "memory", dimension=TIME, owner=system.identity, units="s")
    start = symbol(f"{name} clock start", "memory", dimension=TIME, owner=system.identity, units="s")
    ticks = symbol(f"{name} clock ticks", "memory", dimension=ONE, owner=system.identity)
    system.memories[clock.name] = Memory(clock, 0.0, None, about, period)
    system.memories[start.name] = Memory(start, 0.0, None, f"start of the clock of {name}", 0.0)
    system.memories[ticks.name] = Memory(ticks, 1.0, None, f"ticks of the clock of {name}", hidden=True)
    system.rates |= {clock: ZERO, start: ZERO, ticks: ZERO}
    return clock, {clock: start + (ticks + 1) * number(period, TIME), ticks: ticks + 1}
