"""Ready parts of spacecraft: wheels, control moment gyros, panels, thrusters and solar radiation pressure.

Wheels and gyros are balanced rotors on ordinary joints. A wheel with equal transverse moments of inertia
costs little: the derivation first moves its mass and transverse inertia to its carrier
(mechanics/tree/regroup.py).

Panels form a chain of hinged bodies, such as a solar array that flexes on springs, or unfolds and latches.

Thrusters are forces fixed in a body that are switched on and off at given times. Inside a step the thrust
must not jump. So it depends not on the time, but on a memory, the clock. An event at each switching time sets
the clock to that time, so steps end and begin exactly there.

Solar radiation pressure acts on flat plates and spheres. For a plate with area A, unit normal n, and unit
vector s towards the Sun, with c = n·s > 0 and the shares of light that it reflects specularly, ρ, and
diffusely, δ:

    F = −P A c [ (1 − ρ) s + 2 (ρ c + δ/3) n ]            sphere: F = −P A (1 + 4/9 δ) s

A sphere reflects specular light evenly in all directions, so ρ has no effect on it. The shadow of an
attractor is taken as a cylinder, in which a body gets no light.

Source: Wertz (1978), Spacecraft Attitude Determination and Control, section 17.2.2; Montenbruck & Gill
(2000), section 3.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from math import pi
from typing import Annotated, NamedTuple

import numpy as np

from armillary.algebra import functions as fn
from armillary.algebra.arguments import one_of
from armillary.algebra.expression import HALF, ZERO, Expr, as_expr, number, symbol
from armillary.algebra.triples import SIX, Triple, is_zero, matrix_vector, sum_of_products
from armillary.algebra.units import ACCELERATION, FORCE, INERTIA, LENGTH, MOMENT, ONE, RATE, TIME
from armillary.algebra.vectors import Vector, direction, dot
from armillary.errors import ModelError, nearest, shown
from armillary.model import constraints
from armillary.model.bodies import motion
from armillary.model.bodies.bodies import INERTIA as INERTIA_KIND
from armillary.model.bodies.bodies import body
from armillary.model.bodies.body import Body, BodyLike, Point, PointLike
from armillary.model.constraints import AXES, prescribe, start
from armillary.model.description import Description, Load, Memory
from armillary.model.joints import Revolute
from armillary.model.joints.base import UNIT_AXES
from armillary.model.loads.forces import add_load, force, moment
from armillary.model.reading.expressions import check_new_name, read_expression
from armillary.model.reading.kinds import (
    EXPRESSION,
    NAME,
    AxisLike,
    Either,
    ExpressionLike,
    Flag,
    GivenScalar,
    ListOf,
    TripleLike,
    VectorLike,
    Words,
    tuples,
)
from armillary.model.reading.references import (
    bounded_constant,
    constant_reader,
    find_body,
    find_point,
    known_value,
    orientation_matrix,
    unit_direction,
    unit_triple,
)
from armillary.model.signals import event, memory, output
from armillary.model.space.attraction import Attractor, find_attractor, sum_of_terms, term
from armillary.model.verbs import EntryForm, all_or_nothing, verb
from armillary.untyped import DataTable, Given


class GimbalAxes(Either):
    """The kind of one axis, or of a list with the axes of two gimbals."""

    def python(self, value: object) -> Given:
        if not isinstance(value, list):
            return value
        several = any(isinstance(item, list) or item in ("x", "y", "z") for item in value)
        return [tuples(item) for item in value] if several else tuple(value)


class PerGimbal(Either):
    """The kind of one value, or of a list with a value for each gimbal, in which "" stands for no value."""

    def python(self, value: object) -> Given:
        if not isinstance(value, list):
            return value
        return [None if item == "" else tuples(item) for item in value]


PER_GIMBAL = PerGimbal((EXPRESSION, ListOf(EXPRESSION)))
DRIVES = ("free", "torque", "constant")


class Gyro(NamedTuple):
    """A control moment gyro: its gimbals, outer one first, and its wheel."""

    gimbals: tuple[Body, ...]
    wheel: Body


@verb(EntryForm("bodies", key="wheel_on", argument="on", is_body=True))
def reaction_wheel(
    system: Description,
    name: str,
    *,
    on: BodyLike,
    axis: AxisLike,
    inertia: ExpressionLike,
    transverse: ExpressionLike | None = None,
    mass: ExpressionLike = 0,
    at: TripleLike = (0, 0, 0),
    drive: Words | None = None,
    torque: ExpressionLike | None = None,
    speed: ExpressionLike = 0,
) -> Body:
    """Add a balanced rotor that spins about an axis of its carrier, with its mass centre at the place ``at``.

    ``inertia`` is about the axis, and ``transverse`` about an axis perpendicular to it, by default half of
    ``inertia``, as for a thin disc. With the ``drive`` "free" there is no motor. With "torque" a motor's
    ``torque`` acts on the wheel, and its opposite on the carrier (load ``name_motor``). With "constant" the
    wheel spins at ``speed`` relative to the carrier; with the other drives ``speed`` is the speed at the
    start, in rad/s. The wheel's angle is ``name.q1``, its relative speed ``name.u1``.
    """
    where = f"wheel '{name}'"
    chosen = drive if drive is not None else ("free" if torque is None else "torque")
    one_of(chosen, DRIVES, f"{where}: there is no drive ", ModelError)
    if (chosen == "torque") != (torque is not None):
        raise ModelError(f"{where}: torque= and drive='torque' go together")
    carrier = find_body(system, on, where)
    spin = bounded_constant(system, inertia, f"inertia of {where}", INERTIA, positive=True)
    across = (
        HALF * spin
        if transverse is None
        else bounded_constant(system, transverse, f"transverse inertia of {where}", INERTIA)
    )
    unit = unit_triple(system, axis, f"axis of {where}")
    wheel = body(system, name, carrier, Revolute(axis), at=at, mass=mass, inertia=_axial(spin, across, unit))
    if chosen == "constant":
        prescribe(system, wheel.u1, speed)
    else:
        start(system, {wheel.u1: speed})
    if torque is not None:
        moment(system, f"{name}_motor", torque, carrier.frame.vector(unit), on=wheel, reaction=carrier)
    return wheel


@verb(EntryForm("bodies", key="gyro_on", argument="on"))
def control_moment_gyro(
    system: Description,
    name: str,
    *,
    on: BodyLike,
    gimbal_axis: Annotated[AxisLike | Sequence[AxisLike], GimbalAxes(AXES.kinds)],
    spin_axis: AxisLike,
    wheel_inertia: ExpressionLike,
    wheel_speed: ExpressionLike,
    wheel_transverse: ExpressionLike | None = None,
    gimbal_inertia: Annotated[object, PerGimbal((INERTIA_KIND, ListOf(INERTIA_KIND)))] = 0,
    mass: ExpressionLike = 0,
    at: TripleLike = (0, 0, 0),
    gimbal_rate: Annotated[GivenScalar | Sequence[GivenScalar | None] | None, PER_GIMBAL] = None,
    gimbal_torque: Annotated[GivenScalar | Sequence[GivenScalar | None] | None, PER_GIMBAL] = None,
) -> Gyro:
    """Add a wheel at constant relative speed in one gimbal or in two; all axes pass through its mass centre.

    ``gimbal_axis`` is one axis of the carrier, or a list of two: the axis of the outer gimbal, then that of
    the inner gimbal. ``spin_axis`` is the wheel's axis at zero gimbal angles. ``gimbal_inertia`` is 0, or the
    inertia of a gimbal about the wheel's mass centre, in the gimbal's axes. ``gimbal_rate`` prescribes the
    rate of a gimbal; ``gimbal_torque`` acts between a gimbal and its carrier (load ``name_gimbal_motor``);
    without both the gimbal is free. With two gimbals these three are lists of two, with `None` for a value
    that is left out. The bodies are ``name_gimbal`` (or ``name_outer`` and ``name_inner``) and
    ``name_wheel``; ``mass`` is that of the wheel.
    """
    where = f"control moment gyro '{name}'"
    axes = gimbal_axis if isinstance(gimbal_axis, list) else [gimbal_axis]
    if len(axes) not in (1, 2):
        raise ModelError(f"{where}: gimbal_axis= is one axis or a list of two, not of {len(axes)}")
    rates, torques, inertias = (
        _one_each(value, len(axes), f"{word} of {where}")
        for word, value in (
            ("gimbal_rate", gimbal_rate),
            ("gimbal_torque", gimbal_torque),
            ("gimbal_inertia", gimbal_inertia),
        )
    )
    spun, held = unit_triple(system, spin_axis, where), unit_triple(system, axes[-1], where)
    if not _at_right_angles(spun, held):
        raise ModelError(f"{where}: spin_axis= is not at right angles to the gimbal axis that carries it")
    names = [f"{name}_gimbal"] if len(axes) == 1 else [f"{name}_outer", f"{name}_inner"]
    gimbals: list[Body] = []
    carrier = find_body(system, on, where)
    for label, axis, rate, torque, inertia in zip(names, axes, rates, torques, inertias, strict=True):
        if rate is not None and torque is not None:
            raise ModelError(f"{where}: body '{label}' has both a rate and a torque; give one of them")
        place = (0, 0, 0) if gimbals else at
        gimbal = body(system, label, carrier, Revolute(axis), at=place, mass=0, inertia=inertia)
        if rate is not None:
            prescribe(system, gimbal.u1, rate)
        if torque is not None:
            unit = carrier.frame.vector(unit_triple(system, axis, where))
            moment(system, f"{label}_motor", torque, unit, on=gimbal, reaction=carrier)
        gimbals.append(gimbal)
        carrier = gimbal
    wheel = reaction_wheel(
        system,
        f"{name}_wheel",
        on=carrier,
        axis=spin_axis,
        inertia=wheel_inertia,
        transverse=wheel_transverse,
        mass=mass,
        drive="constant",
        speed=read_expression(system, wheel_speed, f"wheel_speed of {where}", RATE),
    )
    return Gyro(tuple(gimbals), wheel)


def _axial(spin: Expr, across: Expr, axis: Given) -> list[Given]:
    """Return the inertia I = t 1 + (s − t) a aᵀ of a rotor with axis a, moment of inertia s, ``spin``, about
    it, and t, ``across``, perpendicular to it: three moments if a is a coordinate axis, else six elements.
    """
    if any(axis == unit for unit in UNIT_AXES.values()):
        return [spin if x else across for x in axis]
    a = [as_expr(x) for x in axis]
    return [(spin - across) * (a[i] * a[j]) + (across if i == j else 0) for i, j in SIX]


def _at_right_angles(a: Given, b: Given) -> bool:
    cosine = as_expr(sum_of_products(zip(a, b, strict=True)))
    return cosine.kind != "number" or is_zero(cosine) or abs(float(cosine)) < 1e-9


def _one_each(value: object, count: int, where: str) -> list[Given]:
    """Return one value for each gimbal: those of a list, the value for one gimbal, or `None` or 0 for all."""
    nothing = value is None or (isinstance(value, int | float) and value == 0)
    values = value if isinstance(value, list) else [value] * (count if nothing else 1)
    if len(values) != count:
        raise ModelError(f"{where}: give a list of {count}, one for each gimbal, outer one first")
    return values


_MOST = 10_000


@all_or_nothing
def panels(
    system: Description,
    parent: Body,
    n: int,
    *,
    length: object,
    mass: object,
    inertia: object,
    com: object = None,
    at: Given = (0, 0, 0),
    orient: Given = None,
    axis: object = "y",
    along: object = "x",
    stiffness: object = 0,
    damping: object = 0,
    rest: object = 0,
    start: object = None,
    latch: object = None,
    name: str = "panel",
    first: int = 1,
) -> list[Body]:
    """Add a chain of ``n`` panels on a parent, each on a hinge at the end of the panel before it. Return the
    bodies, ``panel1``, ``panel2``, …, numbered from ``first``, in this order.

    A value that differs from panel to panel is a list of ``n`` values (or an array, except for ``inertia``);
    any other value applies to all panels.

    ``length`` is the distance from hinge to hinge, in the direction ``along`` of the panel's axes. ``com`` is
    the distance of the mass centre from the inner hinge (half the length if left out); ``inertia`` is about
    the mass centre. ``axis`` is the axis of the hinges in the panels' axes. ``at`` is the place of the first
    hinge on the parent, and ``orient`` the orientation of the panels' axes relative to the parent at zero
    angles.

    A hinge with ``stiffness`` k or ``damping`` c has the moment −k (q − rest) − c q̇ (load ``panel1_hinge``).
    ``start`` are angles at the start, or "folded": then the first panel is a quarter turn from its deployed
    direction, and the others are folded on it like an accordion. When a hinge first passes the angle
    ``latch``, it locks for good (event ``panel1 latches``); with None it never locks.
    """
    if isinstance(n, bool) or not isinstance(n, int) or not 1 <= n <= _MOST:
        raise ModelError(f"panels: n={shown(n)} is not a number of panels, from 1 to {_MOST}")
    base = find_body(system, parent, "parent of panels")
    table = {
        word: _each(value, n, word)
        for word, value in (
            ("length", length), ("mass", mass), ("inertia", inertia), ("com", com), ("stiffness", stiffness),
            ("damping", damping), ("rest", rest), ("start", _start_angles(system, start, n)),
            ("latch", latch),
        )
    }  # fmt: skip
    unit: Triple = unit_triple(system, axis, "axis of panels")
    outwards: Triple = unit_triple(system, along, "direction of panels")
    turned = orientation_matrix(orient, "panels", constant_reader(system, "orient of panels", ONE))
    chain: list[Body] = []
    hinge_position = at
    for i in range(n):
        label, options = f"{name}{first + i}", {word: values[i] for word, values in table.items()}
        where = f"panel '{label}'"
        size = bounded_constant(system, options["length"], f"length of {where}", LENGTH, positive=True)
        arm = (
            size * 0.5
            if options["com"] is None
            else bounded_constant(system, options["com"], f"com of {where}", LENGTH)
        )
        hinge = unit if turned is None or chain else matrix_vector(turned, unit)
        panel = body(
            system,
            label,
            chain[-1] if chain else base,
            Revolute(hinge),
            at=hinge_position,
            orient=None if chain else orient,
            com=tuple(arm * x for x in outwards),
            mass=options["mass"],
            inertia=options["inertia"],
        )
        _spring(system, panel, options, unit)
        if options["start"] is not None:
            constraints.start(system, {panel.q1: options["start"]})
        if options["latch"] is not None:
            angle = constant_reader(system, f"latch of {where}", ONE)(options["latch"])
            event(system, f"{label} latches", panel.q1 - angle, lock=[panel.q1])
        chain.append(panel)
        hinge_position = tuple(size * x for x in outwards)
    return chain


def _spring(system: Description, panel: Body, own: DataTable, axis: Triple) -> None:
    """Add the moment of a hinge's spring and damper, if it has any."""
    where = f"hinge of panel '{panel.name}'"
    stiffness = bounded_constant(system, own["stiffness"], f"stiffness of {where}", MOMENT)
    damping = bounded_constant(system, own["damping"], f"damping of {where}", MOMENT * TIME)
    angle = constant_reader(system, f"rest angle of {where}", ONE)(own["rest"])
    torque: Expr = -stiffness * (panel.q1 - angle) - damping * panel.u1
    if torque.kind == "number":
        return
    moment(system, f"{panel.name}_hinge", torque, panel.frame.vector(axis), on=panel, reaction=panel.parent)


def _start_angles(system: Description, start: object, n: int) -> Given:
    """Return the angles at the start; "folded" is converted to a list of angles."""
    if not isinstance(start, str):
        return start
    if start == "folded":
        return [(pi / 2 if i == 0 else pi) * (-1) ** i for i in range(n)]
    angle = read_expression(system, start, "start of panels", ONE)
    if angle.kind != "number":
        hint = nearest(start, ["folded"])
        raise ModelError(f"panels: start={start!r} is neither an angle nor 'folded'{hint}")
    return angle


def _each(value: object, n: int, word: str) -> Sequence[Given]:
    """Return one value per panel, from a list of n or from one value for all. An array or tuple counts as a
    list, except for ``inertia``, where it is one inertia for all panels.
    """
    if word != "inertia" and isinstance(value, tuple | np.ndarray):
        value = list(value) if np.ndim(value) else value
    if not isinstance(value, list):
        return [value] * n
    if len(value) != n:
        raise ModelError(f"panels: {word}= is a list of {len(value)}, but there are {n} panels")
    return value


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
    """Add a force ``thrust`` along a direction, such as ``hub.x``, at a point of a body.

    ``on`` is a list of pairs of times (start, stop), and integration steps begin and end at these times; or
    it is an expression that multiplies the thrust, such as a memory that events switch. If it is left out,
    the thruster is always on. With a ``specific_impulse`` in seconds the output ``name propellant`` is the
    mass of propellant that a constant thrust has used since the first pulse. Masses of bodies do not change,
    so a burn that uses much of a vehicle's mass is not modelled. Returns the force.
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
    """Return a factor that is 1 in a pulse and 0 elsewhere; it uses a memory with the last switching time."""
    clock = symbol(f"{name} clock", "memory", dimension=TIME, owner=system.identity, units="s")
    system.memories[clock.name] = Memory(clock, 0.0, None, f"last switching of {name}", 0.0)
    system.rates[clock] = ZERO
    factor: Expr = ZERO
    for i, (begin, end) in enumerate(pulses, start=1):
        for word, switching in (("on", begin), ("off", end)):
            label = f"{name} {word} {i}" if len(pulses) > 1 else f"{name} {word}"
            event(system, label, system.time - switching, direction=1, set={clock: switching})
        factor = factor + fn.select(fn.and_(clock >= begin, clock < end), 1, 0)
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
UNKNOWN, LIT, DARK = 0, 1, 2  # values of the memory ``name_light``


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
    """Add the force of sunlight on a plate with this normal, or on a sphere if no normal is given. The force
    acts at the point ``at``, or at the origin of the body ``at``.

    ``sun`` is the direction towards the Sun as a vector, or the name of an attractor that is the Sun. In the
    second case the pressure falls with the square of the distance. ``specular`` and ``diffuse`` are the
    shares of light that are reflected in these ways. ``pressure`` is the pressure on a black surface, 4.54e-6
    N/m² if left out; if the Sun is an attractor, it is the pressure at one astronomical unit. A plate is lit
    on the side of its normal, or on both sides if it is ``two_sided``. ``shadow`` names an attractor with a
    radius. The point enters and leaves its cylindrical shadow at events, which set the memory ``name_light``
    (1 lit, 2 dark). Returns the magnitude of the force.
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
        force = towards * term(-1, light, face, sum_of_terms(1, term(4 / 9, matt)))
    else:
        axis = unit_direction(system, normal, f"normal of {where}")
        cosine = fn.named(as_expr(dot(axis, towards)), f"{name}_cosine")
        lit = fn.absolute(cosine) if two_sided else fn.maximum(cosine, 0)
        push = fn.named(term(1, light, face, lit), f"{name}_push")
        side = sum_of_terms(term(2, mirror, cosine), term(2 / 3, matt, fn.sign(cosine) if two_sided else 1))
        force = towards * term(-1, push, sum_of_terms(1, term(-1, mirror))) + axis * term(-1, push, side)
    if shadow is not None:
        force = force * _light_factor(system, name, point, towards, _shadow_caster(system, shadow, where))
    force = force.map(lambda c: fn.named(as_expr(c), name))
    size = fn.sqrt(as_expr(dot(force, force)))
    return add_load(system, Load(name, "force", size, force, point.body, point))


def _sunlight(system: Description, sun: object, point: Point, light: Expr, where: str) -> tuple[Vector, Expr]:
    """Return the unit vector towards the Sun, and the pressure of its light at the point."""
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
    """Return a factor that is 1 in light and 0 in the shadow, whose wall is at r² − R² − min(r·s, 0)² = 0.

    r leads from the caster's centre to the point, R is the caster's radius, and s is ``towards`` the Sun.
    """
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
