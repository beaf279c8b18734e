"""Solar radiation pressure on flat plates and spheres.

For a plate with area A, unit normal n, and unit vector s towards the Sun, with c = n·s > 0 and the shares ρ
of light reflected specularly and δ diffusely:

    F = −P A c [ (1 − ρ) s + 2 (ρ c + δ/3) n ]            sphere: F = −P A (1 + 4/9 δ) s

(of a sphere specular light leaves evenly in all directions). A body in the cylinder of an attractor's shadow
gets none.

Source: Wertz (1978), Spacecraft Attitude Determination and Control, section 17.2.2; Montenbruck & Gill
(2000), section 3.4.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from armillary.algebra import functions as fn
from armillary.algebra.expression import Expr, as_expr, number
from armillary.algebra.units import FORCE, LENGTH, ONE
from armillary.algebra.vectors import Vector, direction, dot
from armillary.errors import ModelError
from armillary.model.bodies import motion
from armillary.model.bodies.body import Point, PointLike
from armillary.model.description import Description
from armillary.model.loads.forces import add_load
from armillary.model.reading.argument_types import ExpressionLike, Flag, VectorLike
from armillary.model.reading.kinds import NAME
from armillary.model.reading.names import check_new_name
from armillary.model.reading.references import bounded_constant, find_point, known_value, unit_direction
from armillary.model.recording.records import Load
from armillary.model.recording.verbs import EntryForm, verb
from armillary.model.signals.events import event
from armillary.model.signals.memory import memory
from armillary.model.space.attraction import find_attractor
from armillary.model.space.attractor import Attractor
from armillary.model.space.fields import term, total

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
