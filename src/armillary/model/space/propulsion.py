"""Thrusters: forces fixed in a body that are switched on and off at given times.

Inside a step thrust must not jump, so what counts is not the time but a hidden clock memory, which events set
to each switching time when it is reached: steps end and begin exactly there.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated

from armillary.algebra import functions as fn
from armillary.algebra.expression import ZERO, Expr, number, symbol
from armillary.algebra.units import ACCELERATION, FORCE, ONE, TIME
from armillary.errors import ModelError
from armillary.model.bodies.body import PointLike
from armillary.model.description import Description
from armillary.model.loads.forces import force
from armillary.model.reading.argument_types import ExpressionLike, GivenScalar, VectorLike
from armillary.model.reading.expressions import read_expression
from armillary.model.reading.kinds import EXPRESSION, Either, ListOf
from armillary.model.reading.names import check_new_name
from armillary.model.reading.references import (
    bounded_constant,
    constant_reader,
    find_point,
    known_value,
    unit_direction,
)
from armillary.model.recording.records import Memory
from armillary.model.recording.verbs import EntryForm, verb
from armillary.model.signals.events import event
from armillary.model.signals.outputs import output
from armillary.untyped import Given

PULSES = Either((EXPRESSION, ListOf(ListOf(EXPRESSION, 2))))
STANDARD_GRAVITY = 9.80665  # m/s², exactly, by the definition of specific impulse


@verb(EntryForm("loads", key="thrust"))
def thruster(
    system: Description,
    name: str,
    thrust: ExpressionLike,
    direction: VectorLike,
    *,
    at: PointLike,
    on: Annotated[
        GivenScalar | Sequence[GivenScalar] | Sequence[Sequence[GivenScalar]] | None, PULSES
    ] = None,
    specific_impulse: ExpressionLike | None = None,
) -> Expr:
    """A force of this magnitude along a direction at a point of a body, for example ``hub.x``.

    ``on``: pairs of times (start, stop), at which steps of integration begin and end; or an expression
    that multiplies the thrust, such as a memory that events switch; always on where it is left out. With
    a ``specific_impulse`` in seconds the output ``name propellant`` is what constant thrust has used
    since its first pulse. Masses stay as they are described: a burn that uses much of a vehicle's mass
    is not modelled. Returns the force.
    """
    where = f"thruster '{name}'"
    check_new_name(system, name, "thruster")
    value = read_expression(system, thrust, where, FORCE)
    point, axis = find_point(system, at, where), unit_direction(system, direction, where)
    pulses: list[tuple[Expr, Expr]] | None = None
    factor: Expr | None = None
    if isinstance(on, list | tuple):
        pulses = _pulses(system, on, where)
    elif on is not None:
        factor = read_expression(system, on, f"'on' of {where}", ONE)
    flow: Expr | None = None
    if specific_impulse is not None:
        exhaust = bounded_constant(
            system, specific_impulse, f"specific impulse of {where}", TIME, positive=True
        )
        if pulses is None or not value.constant:
            raise ModelError(
                f"{where}: the propellant is known for constant thrust and on= given as times; "
                "leave specific_impulse= out, or give these"
            )
        g = number(STANDARD_GRAVITY / system.units.scale(ACCELERATION), ACCELERATION)
        flow = value / (exhaust * g)
    if pulses is not None:
        factor = _switch(system, name, pulses)
    made = force(system, name, value if factor is None else value * factor, axis, at=point)
    if flow is not None and pulses is not None:
        used: Expr = ZERO
        for start, stop in pulses:
            used = used + flow * fn.minimum(fn.maximum(system.time - start, 0), stop - start)
        output(system, f"{name} propellant", used, about=f"propellant that {name} has used")
    return made


def _switch(system: Description, name: str, pulses: list[tuple[Expr, Expr]]) -> Expr:
    """1 in a pulse and 0 elsewhere, by a clock that stands at the last switching time."""
    clock = symbol(f"{name} clock", "memory", dimension=TIME, owner=system.identity, units="s")
    system.memories[clock.name] = Memory(clock, 0.0, None, f"last switching of {name}", 0.0)
    system.rates[clock] = ZERO
    factor: Expr = ZERO
    for i, (start, stop) in enumerate(pulses, start=1):
        for word, moment in (("on", start), ("off", stop)):
            label = f"{name} {word} {i}" if len(pulses) > 1 else f"{name} {word}"
            event(system, label, system.time - moment, direction=1, set={clock: moment})
        factor = factor + fn.select(fn.and_(clock >= start, clock < stop), 1, 0)
    return factor


def _pulses(system: Description, on: Given, where: str) -> list[tuple[Expr, Expr]]:
    if len(on) == 2 and not any(isinstance(x, list | tuple) for x in on):
        on = [on]
    found: list[tuple[Expr, Expr]] = []
    for pulse in on:
        if not isinstance(pulse, list | tuple) or len(pulse) != 2:
            raise ModelError(f"{where}: {pulse!r} in on= is not a pair of times (start, stop)")
        read = constant_reader(system, f"'on' of {where}", TIME)
        found.append((read(pulse[0]), read(pulse[1])))
    if not found:
        raise ModelError(f"{where} has no pulse in on=; give pairs of times (start, stop)")
    times = [t for pulse in found for t in pulse]
    for i, (before, after) in enumerate(pairwise(times)):
        a, b = known_value(before), known_value(after)
        if a is not None and b is not None and (b < a or (i % 2 == 0 and b == a)):
            raise ModelError(f"{where}: its switching times {a:g} and {b:g} in on= are not in order")
    return found
