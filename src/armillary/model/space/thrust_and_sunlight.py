"""Forces on spacecraft: thrusters and solar radiation pressure.

Thrusters: forces fixed in a body that are switched on and off at given times.

Inside a step thrust must not jump, so what counts is not the time but a hidden clock memory, which events set
to each switching time when it is reached: steps end and begin exactly there.

Solar radiation pressure on flat plates and spheres.

For a plate with area A, unit normal n, and unit vector s towards the Sun, with c = n·s > 0 and the shares ρ
of light reflected specularly and δ diffusely:

    F = −P A c [ (1 − ρ) s + 2 (ρ c + δ/3) n ]            sphere: F = −P A (1 + 4/9 δ) s

(of a sphere specular light leaves evenly in all directions). A body in the cylinder of an attractor's shadow
gets none.

Source: Wertz (1978), Spacecraft Attitude Determination and Control, section 17.2.2; Montenbruck & Gill
(2000), section 3.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Annotated

from armillary.algebra import functions as fn
from armillary.algebra.expression import ZERO, Expr, as_expr, number, symbol
from armillary.algebra.units import ACCELERATION, FORCE, LENGTH, ONE, TIME
from armillary.algebra.vectors import Vector, direction, dot
from armillary.errors import ModelError
from armillary.model.bodies import motion
from armillary.model.bodies.body import Point, PointLike
from armillary.model.description import Description
from armillary.model.loads.forces import add_load, force
from armillary.model.reading.expressions import check_new_name, read_expression
from armillary.model.reading.kinds import (
    EXPRESSION,
    NAME,
    Either,
    ExpressionLike,
    Flag,
    GivenScalar,
    ListOf,
    VectorLike,
)
from armillary.model.reading.references import (
    bounded_constant,
    constant_reader,
    find_point,
    known_value,
    unit_direction,
)
from armillary.model.recording.records import Load, Memory
from armillary.model.recording.verbs import EntryForm, verb
from armillary.model.signals.signals import event, memory, output
from armillary.model.space.attraction import find_attractor
from armillary.model.space.fields import Attractor, term, total
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


PRESSURE = 1361.0 / 299792458.0  # N/m² at one astronomical unit: solar constant of Kopp & Lean (2011) over c
ASTRONOMICAL_UNIT = 149597870700.0  # m
UNKNOWN, LIT, DARK = 0, 1, 2  # values of the memory of a shadow


@verb(EntryForm("loads", key="solar_area", argument="area"))
def solar_pressure(
    system: Description,
    name: str,
    *,
    at: PointLike,
    area: ExpressionLike,
    sun: VectorLike,
    normal: VectorLike | None = None,
    specular: ExpressionLike = 0,
    diffuse: ExpressionLike = 0,
    pressure: ExpressionLike | None = None,
    two_sided: Flag = False,
    shadow: Annotated[str | None, NAME] = None,
) -> Expr:
    """Force of sunlight on a plate with this normal, or on a sphere where there is none, at a point (of a
    body: at its origin).

    ``sun``: the direction towards the Sun as a vector, or the name of an attractor that is the Sun; then
    the pressure falls with the square of the distance. ``specular`` and ``diffuse`` are the shares of
    light reflected so. ``pressure`` is that on a black surface, 4.54e-6 N/m² where left out, for an
    attractor at one astronomical unit. A plate is lit on the side of its normal, or ``two_sided``.
    ``shadow`` names an attractor with a radius whose cylindrical shadow is met as an event, with the
    memory ``name_light`` (1 lit, 2 dark). Returns the force's size.
    """
    where = f"solar pressure '{name}'"
    check_new_name(system, name, "solar pressure")
    point = find_point(system, at, where)
    face = bounded_constant(system, area, f"area of {where}", LENGTH**2)
    mirror, matt = (
        bounded_constant(system, x, f"{word} of {where}", ONE)
        for word, x in (("specular", specular), ("diffuse", diffuse))
    )
    shares = known_value(mirror), known_value(matt)
    if shares[0] is not None and shares[1] is not None and shares[0] + shares[1] > 1:
        raise ModelError(f"{where}: specular {shares[0]:g} and diffuse {shares[1]:g} reflect more than all")
    unit = FORCE / LENGTH**2
    default = number(PRESSURE / system.units.scale(unit), unit)
    light = default if pressure is None else bounded_constant(system, pressure, f"pressure of {where}", unit)
    towards, light = _sunlight(system, sun, point, light, where)
    if normal is None:
        force = towards * term(-1, light, face, total(1, term(4 / 9, matt)))
    else:
        axis = unit_direction(system, normal, f"normal of {where}")
        cosine = fn.named(as_expr(dot(axis, towards)), f"{name}_cosine")
        lit = fn.absolute(cosine) if two_sided else fn.maximum(cosine, 0)
        push = fn.named(term(1, light, face, lit), f"{name}_push")
        side = total(term(2, mirror, cosine), term(2 / 3, matt, fn.sign(cosine) if two_sided else 1))
        force = towards * term(-1, push, total(1, term(-1, mirror))) + axis * term(-1, push, side)
    if shadow is not None:
        force = force * _light_factor(system, name, point, towards, _shadow_caster(system, shadow, where))
    force = force.map(lambda c: fn.named(as_expr(c), name))
    size = fn.sqrt(as_expr(dot(force, force)))
    return add_load(system, Load(name, "force", size, force, point.body, point))


def _sunlight(system: Description, sun: object, point: Point, light: Expr, where: str) -> tuple[Vector, Expr]:
    """(unit vector towards the Sun, pressure)."""
    if not isinstance(sun, str) or "." in sun:
        return unit_direction(system, sun, f"sun of {where}"), light
    star = find_attractor(system, sun, f"sun of {where}")
    line = system.ground.frame.vector(star.place) - motion.position(point)
    square = fn.named(as_expr(dot(line, line)), "sun_distance2")
    unit = number(ASTRONOMICAL_UNIT / system.units.scale(LENGTH), LENGTH)
    return direction(line), light * unit**2 / square


def _shadow_caster(system: Description, shadow: str, where: str) -> Attractor:
    found = find_attractor(system, shadow, f"shadow of {where}")
    if found.radius is None:
        raise ModelError(f"{where}: attractor '{shadow}' has no radius, so no shadow; give it radius=")
    return found


def _light_factor(system: Description, name: str, point: Point, towards: Vector, caster: Attractor) -> Expr:
    """1 in light and 0 in the shadow: r² − R² − min(r·s, 0)² passes zero at the cylinder's wall."""
    assert caster.radius is not None
    line = motion.position(point) - system.ground.frame.vector(caster.place)
    behind = fn.minimum(as_expr(dot(line, towards)), 0)
    outside = fn.named(as_expr(dot(line, line)) - caster.radius**2 - behind * behind, f"{name}_outside")
    about = f"{name}: 0 not begun, 1 lit, 2 dark"
    now = fn.select(outside >= 0, LIT, DARK)
    mode = memory(system, f"{name}_light", UNKNOWN, units="-", about=about)
    system.memories[mode.name] = replace(system.memories[mode.name], start=now)
    event(system, f"{name} into light", outside, direction=1, set={mode: LIT})
    event(system, f"{name} into shadow", outside, direction=-1, set={mode: DARK})
    begun = fn.select(mode > LIT, 0, 1)
    found: Expr = fn.select(mode > UNKNOWN, begun, fn.select(outside >= 0, 1, 0))
    return found
