"""Where motion starts, said for a mass centre: a spacecraft's orbit does not know its hub's origin.

A description only records the wish. When a run starts and all other initial values are known, the joint of
the body is set so that the mass centre of the body with all that hangs on it is where it should be.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from armillary.algebra.dimension import LENGTH, SPEED
from armillary.algebra.expression import Expr, as_expr
from armillary.algebra.triples import add, scaled
from armillary.algebra.vectors import Triple, direction_cosines, matrix_vector, transposed
from armillary.errors import ModelError, nearest
from armillary.model import motion
from armillary.model.body import Body
from armillary.model.joints import Drift, Slide
from armillary.model.joints.base import UNIT_AXES
from armillary.model.space.attraction import Attraction
from armillary.model.space.checking import ground_place
from armillary.model.space.orbit import Orbit


@dataclass(frozen=True, eq=False)
class MassCentreStart:
    """Coordinates and speeds of a body's joint, with the values that place its mass centre."""

    body: Body
    coordinates: Triple
    speeds: Triple
    places: Triple  # expressions in which these coordinates and speeds do not matter
    rates: Triple


class Placing(Attraction):
    """Initial values by mass centres; a part of ``System``."""

    centres: dict[str, tuple[Triple, Triple]]
    started: list[Expr]

    def start_mass_centre(self, body: Any, *, position: Any, velocity: Any = (0, 0, 0)) -> None:
        """Where the mass centre of a body with all that hangs on it is at the start of a run, and its
        velocity, in the ground's axes: numbers, parameters or functions of time.

        It holds for whatever initial values a run gives the other coordinates and speeds. The body must be
        free to move in the ground: a Free joint, or a Joint that translates along x, y and z.
        """
        found = self._find_body(body, "start_mass_centre")
        where = f"start_mass_centre of body '{found.name}'"
        coordinates, speeds = _translations(found, where)
        for s in (*coordinates, *speeds):
            if s in self.started:
                raise ModelError(f"{where}: start() gives '{s}' a value already; leave one of the two out")
        place = ground_place(self, position, f"position in {where}")
        rate = ground_place(self, velocity, f"velocity in {where}", SPEED)
        self.centres[found.name] = (place, rate)

    def start_orbit(self, body: Any, orbit: Orbit, *, around: str | None = None) -> None:
        """An orbit on which the mass centre of a body with all that hangs on it starts, about the ground's
        origin or ``around`` an attractor."""
        if not isinstance(orbit, Orbit):
            raise ModelError(f"start_orbit: {orbit!r} is not an orbit; give arm.Orbit(mu, a=…, e=…, …)")
        place: Triple = tuple(self.expression(x, "start_orbit", LENGTH) for x in orbit.position)  # type: ignore[assignment]
        rate: Triple = tuple(self.expression(x, "start_orbit", SPEED) for x in orbit.velocity)  # type: ignore[assignment]
        if around is not None:
            if around not in self.attractors:
                hint = nearest(str(around), self.attractors)
                raise ModelError(f"start_orbit: there is no attractor '{around}'{hint}")
            centre = self.attractors[around].place
            place = add(place, centre)
            rate = add(rate, [motion.time_derivative(as_expr(x)) for x in centre])
        self.start_mass_centre(body, position=place, velocity=rate)

    def mass_centre_starts(self) -> list[MassCentreStart]:
        """What the wishes mean for the joints' coordinates and speeds, once all bodies are known."""
        found = []
        composites = self.composites() if self.centres else {}
        for name, (place, rate) in self.centres.items():
            body = self.bodies[name]
            mass, moment = composites[name]
            if mass.kind == "number" and mass.data == 0:
                raise ModelError(
                    f"body '{name}' and what hangs on it have no mass, so no mass centre to place"
                )
            arm = body.frame.vector([x / mass for x in moment])
            offset = arm.components(self.ground.frame)
            sweep = motion.time_derivative(arm).components(self.ground.frame)
            speed = add(rate, scaled(sweep, -1))
            step = body.assembly.steps[0]
            if isinstance(step, Drift) and step.velocity == "body":
                cosines = direction_cosines(self.ground.frame, body.frame)
                speed = matrix_vector(transposed(cosines), speed)
            places = add(place, scaled(offset, -1), scaled(body.at, -1))
            coordinates, speeds = _translations(body, name)
            found.append(MassCentreStart(body, coordinates, speeds, places, speed))
        return found


def _translations(body: Body, where: str) -> tuple[Triple, Triple]:
    """Coordinates and speeds along x, y, z by which a joint on the ground moves its body."""
    steps = body.assembly.steps
    if body.parent is body.system.ground and steps:
        if isinstance(steps[0], Drift) and len(steps[0].linear) == 3:
            return steps[0].position, tuple(steps[0].linear[i] for i in range(3))  # type: ignore[return-value]
        slides = {step.axis: step for step in steps if isinstance(step, Slide)}
        axes = [UNIT_AXES[letter] for letter in "xyz"]
        if all(axis in slides for axis in axes):
            ordered = [slides[axis] for axis in axes]
            return tuple(s.distance for s in ordered), tuple(s.speed for s in ordered)  # type: ignore[return-value]
    raise ModelError(
        f"{where}: its joint ({body.joint.describe()} on '{body.parent.name if body.parent else 'ground'}') "
        "does not let it move freely in the ground; give it a Free joint on the ground"
    )
