"""Where motion starts, for a mass centre: an orbit is that of a spacecraft's mass centre, not of its hub.

A description only records what is wanted. When a run starts and all other initial values are known, the joint
of the body is set so that the mass centre of the body with all that hangs on it is where it should be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from armillary.algebra.expression import ZERO, Expr, as_expr
from armillary.algebra.triples import (
    ExprTriple,
    Triple,
    add,
    is_zero,
    joined,
    matrix_vector,
    scaled,
    transposed,
)
from armillary.algebra.units import LENGTH, SPEED
from armillary.algebra.vectors import Frame, Vector, direction_cosines
from armillary.algebra.walk import substitute
from armillary.errors import ModelError
from armillary.model.bodies import motion
from armillary.model.bodies.body import Body
from armillary.model.description import Description
from armillary.model.joints import Drift, Flexed, Slide
from armillary.model.joints.base import UNIT_AXES
from armillary.model.quantities.mass_properties import composites
from armillary.model.reading.argument_types import TripleLike
from armillary.model.reading.expressions import read_expression
from armillary.model.reading.kinds import NAME
from armillary.model.reading.references import find_body, ground_place, known_value
from armillary.model.recording.verbs import EntryForm, verb
from armillary.model.space.attraction import find_attractor
from armillary.model.space.attractor import Attractor
from armillary.model.space.orbit import ORBIT, Orbit

_ALIKE = 1e-3  # relative: values of μ rounded to four digits agree


@dataclass(frozen=True, eq=False)
class MassCentreStart:
    """Coordinates and speeds of a body's joint, with the values that place its mass centre."""

    body: Body
    coordinates: ExprTriple
    speeds: ExprTriple
    places: Triple  # expressions in which these coordinates and speeds do not matter
    rates: Triple


@verb(EntryForm("start_mass_centre", name_argument="body"))
def start_mass_centre(
    system: Description, body: object, *, position: TripleLike, velocity: TripleLike = (0, 0, 0)
) -> None:
    """Where the mass centre of a body with all that hangs on it is at the start of a run, and its
    velocity, in the ground's axes: numbers, parameters or functions of time.

    It holds for whatever initial values a run gives the other coordinates and speeds. The body must be
    free to move in the ground: a Free joint, or a Joint that translates along x, y and z.
    """
    found = find_body(system, body, "start_mass_centre")
    where = f"start_mass_centre of body '{found.name}'"
    if found.name in system.centres:
        raise ModelError(f"{where}: its mass centre is placed already; leave one of the two out")
    _check_not_started(system, found, where)
    place = ground_place(system, position, f"position in {where}")
    rate = ground_place(system, velocity, f"velocity in {where}", SPEED)
    system.centres[found.name] = (place, rate)


@verb(EntryForm("start_orbit", name_argument="body"))
def start_orbit(
    system: Description,
    body: object,
    orbit: Annotated[Orbit, ORBIT],
    *,
    around: Annotated[str | None, NAME] = None,
) -> None:
    """An orbit on which the mass centre of a body with all that hangs on it starts, about the ground's
    origin or ``around`` an attractor, whose μ must then be the orbit's."""
    if not isinstance(orbit, Orbit):
        raise ModelError(f"start_orbit: {orbit!r} is not an orbit; give arm.Orbit(mu, a=…, e=…, …)")
    place: Triple = joined(read_expression(system, x, "start_orbit", LENGTH) for x in orbit.position)
    rate: Triple = joined(read_expression(system, x, "start_orbit", SPEED) for x in orbit.velocity)
    if around is not None:
        attractor = find_attractor(system, around, "start_orbit")
        _check_strength(orbit, attractor)
        centre = attractor.place
        place = add(place, centre)
        rate = add(rate, [motion.time_derivative(as_expr(x)) for x in centre])
    elif len(system.attractors) == 1:
        (only,) = system.attractors.values()
        if all(is_zero(x) for x in only.place):  # the one that the orbit must be about
            _check_strength(orbit, only)
    start_mass_centre(system, body, position=place, velocity=rate)


def mass_centre_starts(system: Description) -> list[MassCentreStart]:
    """Initial coordinates and speeds of the joints that place mass centres, once all bodies are known."""
    found = []
    masses = composites(system) if system.centres else {}
    for name, (place, rate) in system.centres.items():
        body = system.bodies[name]
        _check_not_started(system, body, f"start_mass_centre of body '{name}'")
        mass, moment = masses[name]
        if mass.kind == "number" and mass.data == 0:
            raise ModelError(f"body '{name}' and what hangs on it have no mass, so no mass centre to place")
        coordinates, speeds = _translations(body, name)
        # What is left of the joint without its translations: its place, and a node that holds the body
        # at a distance from its origin.
        origin, drift = (_without(v, (*coordinates, *speeds)) for v in (body.displacement, body.drift))
        arm = body.frame.vector([x / mass for x in moment])
        offset = (origin + arm).components(system.ground.frame)
        sweep = drift + motion.time_derivative(arm)
        speed = add(rate, scaled(sweep.components(system.ground.frame), -1))
        step = body.assembly.steps[0]
        if isinstance(step, Drift) and step.velocity == "body":
            cosines = direction_cosines(system.ground.frame, _joint_frame(body))
            speed = matrix_vector(transposed(cosines), speed)
        places = add(place, scaled(offset, -1))
        found.append(MassCentreStart(body, coordinates, speeds, places, speed))
    return found


def _check_not_started(system: Description, body: Body, where: str) -> None:
    for group in _translations(body, where):
        for s in group:
            if s in system.started:
                raise ModelError(f"{where}: start() gives '{s}' a value already; leave one of the two out")


def _check_strength(orbit: Orbit, attractor: Attractor) -> None:
    """An orbit in other units is the usual mistake: km³/s² are 10⁹ times too few."""
    strength = known_value(attractor.mu)
    if strength is not None and abs(orbit.mu - strength) > _ALIKE * orbit.mu:
        raise ModelError(
            f"start_orbit: the orbit's mu is {orbit.mu:g}, that of attractor '{attractor.name}' is "
            f"{strength:g}; give both the same, or place the mass centre with "
            "start_mass_centre(position=orbit.position, velocity=orbit.velocity)"
        )


def _without(vector: Vector, variables: Sequence[Expr]) -> Vector:
    """A vector where these variables are zero."""
    zeros = dict.fromkeys(variables, ZERO)
    return vector.map(lambda c: substitute(as_expr(c), zeros))


def _joint_frame(body: Body) -> Frame:
    """The axes to which a joint leads, before those of a body that a node holds."""
    if isinstance(body.assembly.steps[-1], Flexed):
        assert body.frame.parent is not None
        return body.frame.parent
    return body.frame


def _translations(body: Body, where: str) -> tuple[ExprTriple, ExprTriple]:
    """Coordinates and speeds along x, y, z by which a joint on the ground moves its body."""
    steps = body.assembly.steps
    if body.parent is body.system.ground and steps:
        if isinstance(steps[0], Drift) and len(steps[0].linear) == 3:
            drift = steps[0]
            return joined(map(as_expr, drift.position)), joined(drift.linear[i] for i in range(3))
        slides = {step.axis: step for step in steps if isinstance(step, Slide)}
        axes = [UNIT_AXES[letter] for letter in "xyz"]
        if all(axis in slides for axis in axes):
            ordered = [slides[axis] for axis in axes]
            return joined(s.distance for s in ordered), joined(s.speed for s in ordered)
    raise ModelError(
        f"{where}: its joint ({body.joint.describe()} on '{body.parent.name if body.parent else 'ground'}') "
        "does not let it move freely in the ground; give it a Free joint on the ground"
    )
