"""Orbits by classical elements, the initial motion of a mass centre, and attitudes as expressions.

With periapsis direction and normal given by raan Ω, inclination i and argument of periapsis ω (the turns z,
x, z of the ground's axes), true anomaly ν and semi-latus rectum p:

    r = p/(1 + e cos ν),   position = r (cos ν, sin ν, 0),   velocity = √(μ/p) (−sin ν, e + cos ν, 0)

Source: Montenbruck & Gill (2000), Satellite Orbits, section 2.2.

An orbit is the path of a spacecraft's mass centre, not of its hub. A description only records the requested
motion of a mass centre. When a run starts and all other initial values are known, the coordinates and speeds
of the body's joint are computed so that the mass centre of the body and its descendants has that motion.

Attitudes are Euler parameters, modified Rodrigues parameters (MRP) or angles of any sequence. All describe R
with v_reference = R v_body, the turn that takes the reference's axes to the body's:

    Euler parameters      e = (cos φ/2, a sin φ/2), scalar first
    MRP                   σ = a tan φ/4 = (e₁, e₂, e₃)/(1 + e₀), of the short turn: |σ| ≤ 1
    sequence such as zyx  R = R_z(α) R_y(β) R_x(γ), turns about axes of the body one after the other

Source: Schaub & Junkins (2018), Analytical Mechanics of Space Systems, sections 3.3 to 3.5.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Final

import numpy as np

from armillary.algebra import functions as fn
from armillary.algebra.arguments import records_arguments
from armillary.algebra.expression import ZERO, Expr, as_expr
from armillary.algebra.node import plain_float
from armillary.algebra.triples import (
    ExprTriple,
    Matrix,
    Triple,
    add,
    is_zero,
    joined,
    matrix_product,
    matrix_vector,
    scaled,
    transposed,
)
from armillary.algebra.units import LENGTH, ONE, SPEED, parse_unit
from armillary.algebra.vectors import Frame, Vector, direction_cosines
from armillary.algebra.walk import substitute
from armillary.errors import ModelError, nearest, shown
from armillary.model.bodies import motion
from armillary.model.bodies.body import Body, BodyLike
from armillary.model.bodies.motion import composites
from armillary.model.description import Description
from armillary.model.joints import Drift, Flexed, Slide, Tumble
from armillary.model.joints.base import UNIT_AXES, principal_rotation
from armillary.model.joints.free import euler_parameters
from armillary.model.reading.expressions import read_expression
from armillary.model.reading.kinds import (
    NAME,
    NUMBER,
    WORDS,
    Either,
    Number,
    ObjectForm,
    OneOf,
    TripleLike,
    UnitText,
    Words,
)
from armillary.model.reading.references import find_body, ground_place, known_value
from armillary.model.signals import output
from armillary.model.space.attraction import Attractor, find_attractor
from armillary.model.verbs import EntryForm, verb

_Angle = Annotated[float | str, Either((NUMBER, WORDS))]
_FLAT = 1e-11  # an orbit with a smaller eccentricity has no periapsis, with a smaller inclination no node


@records_arguments
class Orbit:
    """A Kepler orbit. Give its size in one of four ways: ``a`` (semi-major axis, negative for a
    hyperbola), ``p`` (semi-latus rectum), ``periapsis`` (least distance), or ``altitude`` of the periapsis
    above the ``radius`` of the attracting body.

    Angles are in radians, or texts with a unit such as "51.6 deg". ``position`` and ``velocity`` are relative
    to the attracting body, in the ground's axes; ``mu``, ``p``, ``e``, ``a`` (infinite for a parabola),
    ``i``, ``raan``, ``argp`` and ``nu`` are numbers, angles in radians.
    """

    mu: Final[float]
    p: Final[float]
    e: Final[float]
    a: Final[float]
    i: Final[float]
    raan: Final[float]
    argp: Final[float]
    nu: Final[float]

    def __init__(
        self,
        mu: Number,
        *,
        a: Number | None = None,
        p: Number | None = None,
        periapsis: Number | None = None,
        altitude: Number | None = None,
        radius: Number | None = None,
        e: Number = 0.0,
        i: _Angle = 0.0,
        raan: _Angle = 0.0,
        argp: _Angle = 0.0,
        nu: _Angle = 0.0,
    ) -> None:
        strength, shape = _read_number(mu, "mu"), _read_number(e, "e")
        if strength <= 0:
            raise ModelError(f"Orbit: mu={mu!r} is not positive; an orbit needs an attracting body")
        if shape < 0:
            raise ModelError(f"Orbit: the eccentricity e={e!r} is negative; give 0 for a circle")
        size = _semilatus_rectum(a=a, p=p, periapsis=periapsis, altitude=altitude, radius=radius, e=shape)
        tilt, node, turn, anomaly = (
            _read_angle(value, name) for name, value in (("i", i), ("raan", raan), ("argp", argp), ("nu", nu))
        )
        if 1 + shape * math.cos(anomaly) <= _FLAT:
            raise ModelError(
                f"Orbit: nu={nu!r} is beyond the asymptote of a path with e={shape:g}; its true anomaly "
                f"stays within ±{math.degrees(math.acos(-1 / shape)):.6g} deg"
            )
        self.mu, self.p, self.e = strength, size, shape
        self.a = math.inf if shape == 1 else size / (1 - shape**2)
        self.i, self.raan, self.argp, self.nu = tilt, node, turn, anomaly

    @classmethod
    def from_state(cls, mu: float, position: object, velocity: object) -> Orbit:
        """Return the orbit through a position with a velocity.

        A circle has its periapsis at its node, and an equatorial orbit its node on the x axis.
        """
        r, v = (_read_vector(x, name) for x, name in ((position, "position"), (velocity, "velocity")))
        strength, distance = _read_number(mu, "mu"), float(np.linalg.norm(r))
        if strength <= 0:
            raise ModelError(f"Orbit: mu={mu!r} is not positive; an orbit needs an attracting body")
        h = np.cross(r, v)
        size = float(np.linalg.norm(h))
        if size <= _FLAT * distance * float(np.linalg.norm(v)) or distance == 0:
            raise ModelError(
                "Orbit.from_state: position and velocity are along one line, so the path is not an orbit"
            )
        eccentric = np.cross(v, h) / strength - r / distance
        e = float(np.linalg.norm(eccentric))
        normal = h / size
        tilt = math.atan2(math.hypot(normal[0], normal[1]), normal[2])
        flat = math.hypot(normal[0], normal[1]) <= _FLAT
        raan = 0.0 if flat else math.atan2(normal[0], -normal[1])
        node = np.array([math.cos(raan), math.sin(raan), 0.0])
        aside = np.cross(normal, node)
        argp = 0.0 if e <= _FLAT else math.atan2(eccentric @ aside, eccentric @ node)
        nu = math.atan2(r @ aside, r @ node) - argp
        p = size * size / strength
        return cls(strength, p=p, e=e, i=tilt, raan=raan, argp=argp, nu=math.remainder(nu, 2 * math.pi))

    @property
    def period(self) -> float:
        """Time of one revolution; infinite if the path is not closed."""
        return 2 * math.pi / self.mean_motion if self.e < 1 else math.inf

    @property
    def mean_motion(self) -> float:
        """√(μ/|a|³), in rad per unit of time; of a parabola √(μ/p³)."""
        return math.sqrt(self.mu / abs(self.p if self.e == 1 else self.a) ** 3)

    @property
    def position(self) -> np.ndarray:
        """Position from the attracting body, in the ground's axes."""
        r = self.p / (1 + self.e * math.cos(self.nu))
        return np.asarray(self._axes @ [r * math.cos(self.nu), r * math.sin(self.nu)])

    @property
    def velocity(self) -> np.ndarray:
        """Velocity relative to the attracting body, in the ground's axes."""
        factor = math.sqrt(self.mu / self.p)
        return np.asarray(self._axes @ [-factor * math.sin(self.nu), factor * (self.e + math.cos(self.nu))])

    @property
    def _axes(self) -> np.ndarray:
        """Two columns: the direction of periapsis, and the direction a quarter turn ahead of it."""
        (co, so), (ci, si), (cw, sw) = ((math.cos(x), math.sin(x)) for x in (self.raan, self.i, self.argp))
        return np.array(
            [
                [co * cw - so * ci * sw, -co * sw - so * ci * cw],
                [so * cw + co * ci * sw, -so * sw + co * ci * cw],
                [si * sw, si * cw],
            ]
        )

    def after(self, time: float) -> Orbit:
        """Return this orbit after a time, by Kepler's equation."""
        e, n = self.e, self.mean_motion
        later = _read_number(time, "time")
        nu = _near_a_parabola(self.nu, e, later * math.sqrt(self.mu / self.p**3))
        if nu is None:
            nu = _true_from_mean(_mean_from_true(self.nu, e) + n * later, e)
        return Orbit(self.mu, p=self.p, e=e, i=self.i, raan=self.raan, argp=self.argp, nu=nu)

    def __repr__(self) -> str:
        angles = ", ".join(
            f"{name}={math.degrees(getattr(self, name)):.6g} deg" for name in ("i", "raan", "argp", "nu")
        )
        return f"Orbit(p={self.p:.8g}, e={self.e:.6g}, {angles})"


def _semilatus_rectum(
    *,
    a: float | None,
    p: float | None,
    periapsis: float | None,
    altitude: float | None,
    radius: float | None,
    e: float,
) -> float:
    """Return the semi-latus rectum from the size that is given."""
    sizes = {"a": a, "p": p, "periapsis": periapsis, "altitude": altitude}
    stated = {name: _read_number(value, name) for name, value in sizes.items() if value is not None}
    if len(stated) != 1:
        found = ", ".join(stated) or "none"
        raise ModelError(f"Orbit: give one of a, p, periapsis or altitude, not {found}")
    ((name, size),) = stated.items()
    if (name == "altitude") != (radius is not None):
        raise ModelError("Orbit: altitude= and radius= (of the attracting body) go together")
    if name == "altitude":
        size = size + _read_number(radius, "radius")
    if name == "a":
        if e == 1 or size * (1 - e) <= 0:
            need = (
                "a parabola has none; give p or periapsis"
                if e == 1
                else (
                    "give a positive one for an ellipse" if e < 1 else "give a negative one for a hyperbola"
                )
            )
            raise ModelError(f"Orbit: the semi-major axis a={size:g} does not go with e={e:g}: {need}")
        return size * (1 - e * e)
    if size <= 0:
        raise ModelError(f"Orbit: {name}={stated[name]:g} leaves no distance from the attracting body")
    return size if name == "p" else size * (1 + e)


def _mean_from_true(nu: float, e: float) -> float:
    """Return the mean anomaly; of a parabola ½ (D + D³/3), with D = tan ν/2 and time in units of √(p³/μ)."""
    half = math.tan(nu / 2)
    if e == 1:
        return 0.5 * (half + half**3 / 3)
    if e < 1:
        E = 2 * math.atan2(math.sqrt(1 - e) * math.sin(nu / 2), math.sqrt(1 + e) * math.cos(nu / 2))
        return E - e * math.sin(E)
    F = 2 * math.atanh(math.sqrt((e - 1) / (e + 1)) * half)
    return e * math.sinh(F) - F


def _true_from_mean(mean: float, e: float) -> float:
    """Return the true anomaly by Newton's method on Kepler's equation, or Barker's closed form for a
    parabola.
    """
    if e == 1:
        b = 3 * mean
        y = math.copysign((abs(b) + math.hypot(b, 1)) ** (1 / 3), b)
        return 2 * math.atan(y - 1 / y)
    if e < 1:
        mean = math.remainder(mean, 2 * math.pi)
        E = mean + e * math.sin(mean) if e < 0.8 else math.copysign(math.pi, mean)
        for _ in range(50):
            step = (E - e * math.sin(E) - mean) / (1 - e * math.cos(E))
            E -= step
            if abs(step) < 1e-15 * max(1.0, abs(E)):
                break
        return 2 * math.atan2(math.sqrt(1 + e) * math.sin(E / 2), math.sqrt(1 - e) * math.cos(E / 2))
    F = math.asinh(mean / e)
    for _ in range(50):
        step = (e * math.sinh(F) - F - mean) / (e * math.cosh(F) - 1)
        F -= step
        if abs(step) < 1e-15 * max(1.0, abs(F)):
            break
    return 2 * math.atan(math.sqrt((e + 1) / (e - 1)) * math.tanh(F / 2))


def _near_a_parabola(nu: float, e: float, later: float) -> float | None:
    """Return the true anomaly after a time in units of √(p³/μ); `None` far from a parabola, where Kepler's
    equation is accurate.

    With w = tan ν/2 and λ = (1 − e)/(1 + e) the time since periapsis is 2/(1 + e)² times

        ∫ (1 + w²)/(1 + λw²)² dw = Σ (k + 1)(−λ)ᵏ (w^(2k+1)/(2k + 1) + w^(2k+3)/(2k + 3))

    In Kepler's equation E − e sin E loses digits by cancellation as e approaches 1. Source: Gauss (1809),
    Theoria Motus, art. 33 to 37, in another form.
    """
    shape = (1 - e) / (1 + e)
    if abs(nu) >= 3.0:
        return None
    w = math.tan(nu / 2)
    target = None
    for _ in range(60):
        if abs(shape) * (1 + w * w) > 0.1:
            return None
        powers = [(k + 1) * (-shape) ** k for k in range(20)]
        sums = (
            c * (w ** (2 * k + 1) / (2 * k + 1) + w ** (2 * k + 3) / (2 * k + 3))
            for k, c in enumerate(powers)
        )
        passed = 2 / (1 + e) ** 2 * math.fsum(sums)
        target = passed + later if target is None else target
        slope = 2 / (1 + e) ** 2 * (1 + w * w) / (1 + shape * w * w) ** 2
        step = (target - passed) / slope
        w += step
        if abs(step) <= 1e-15 * (1 + abs(w)):
            return 2 * math.atan(w)
    return None


def _read_number(value: object, name: str) -> float:
    found = plain_float(value)
    if found is None or not math.isfinite(found):
        raise ModelError(f"Orbit: {name}={value!r} is not a finite number")
    return found


def _read_angle(value: object, name: str) -> float:
    """Return radians from a number, or from a text such as "51.6 deg"."""
    if not isinstance(value, str):
        return _read_number(value, name)
    size, _, unit = value.strip().partition(" ")
    try:
        read = parse_unit(unit.strip() or "rad")
        if read.dimension is ONE:
            return _read_number(float(size), name) * read.scale
    except ValueError:  # UnitsError is one
        pass
    raise ModelError(f"Orbit: {name}={value!r} is not an angle; give radians, or a text such as '51.6 deg'")


def _read_vector(value: object, name: str) -> np.ndarray:
    try:
        found = np.array(value, dtype=float)
    except (TypeError, ValueError):
        found = np.array([])
    if found.shape != (3,) or not np.all(np.isfinite(found)):
        raise ModelError(f"Orbit.from_state: the {name} {value!r} is not three finite numbers")
    return found


ORBITS = (ObjectForm("mu", Orbit),)
ORBIT = OneOf(ORBITS)


_ALIKE = 1e-3  # relative tolerance of μ: values that are rounded to four digits agree


@dataclass(frozen=True, eq=False)
class MassCentreStart:
    """Coordinates and speeds of a body's joint, with the values that place its mass centre."""

    body: Body
    coordinates: ExprTriple
    speeds: ExprTriple
    places: Triple  # values of the coordinates, which do not depend on them; rates likewise
    rates: Triple


@verb(EntryForm("start_mass_centre", name_argument="body"))
def start_mass_centre(
    system: Description, body: object, *, position: TripleLike, velocity: TripleLike = (0, 0, 0)
) -> None:
    """Set position and velocity of the mass centre of a body and its descendants at the start of a run, in
    the ground's axes: numbers, parameters or functions of time.

    They hold for any initial values of the other coordinates and speeds. The body must be free to move in the
    ground: by a Free joint, or a Joint that translates along x, y and z.
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
    """Start the mass centre of a body and its descendants on an orbit about the ground's origin, or
    ``around`` an attractor, whose μ must equal the orbit's."""
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
        if all(is_zero(x) for x in only.place):  # the orbit can only be about this one
            _check_strength(orbit, only)
    start_mass_centre(system, body, position=place, velocity=rate)


def mass_centre_starts(system: Description) -> list[MassCentreStart]:
    """Return the initial coordinates and speeds of the joints that place mass centres, once all bodies are
    known.
    """
    starts = []
    masses = composites(system) if system.centres else {}
    for name, (place, rate) in system.centres.items():
        body = system.bodies[name]
        _check_not_started(system, body, f"start_mass_centre of body '{name}'")
        mass, moment = masses[name]
        if mass.kind == "number" and mass.data == 0:
            raise ModelError(f"body '{name}' and the bodies on it have no mass, so they have no mass centre")
        coordinates, speeds = _translations(body, name)
        # The displacement without the joint's translations: the place of the joint on its parent, and the
        # offset of a node that holds the body.
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
        starts.append(MassCentreStart(body, coordinates, speeds, places, speed))
    return starts


def _check_not_started(system: Description, body: Body, where: str) -> None:
    for group in _translations(body, where):
        for s in group:
            if s in system.started:
                raise ModelError(f"{where}: start() gives '{s}' a value already; leave one of the two out")


def _check_strength(orbit: Orbit, attractor: Attractor) -> None:
    """Raise an error if μ differs from the attractor's; a μ in km³/s² is 10⁹ times too small."""
    strength = known_value(attractor.mu)
    if strength is not None and abs(orbit.mu - strength) > _ALIKE * orbit.mu:
        raise ModelError(
            f"start_orbit: the orbit's mu is {orbit.mu:g}, that of attractor '{attractor.name}' is "
            f"{strength:g}; give both the same, or place the mass centre with "
            "start_mass_centre(position=orbit.position, velocity=orbit.velocity)"
        )


def _without(vector: Vector, variables: Sequence[Expr]) -> Vector:
    """Return a vector with these variables at zero."""
    zeros = dict.fromkeys(variables, ZERO)
    return vector.map(lambda c: substitute(as_expr(c), zeros))


def _joint_frame(body: Body) -> Frame:
    """Return the axes after the joint's own steps, before the modal step of a body held at a node."""
    if isinstance(body.assembly.steps[-1], Flexed):
        assert body.frame.parent is not None
        return body.frame.parent
    return body.frame


def _translations(body: Body, where: str) -> tuple[ExprTriple, ExprTriple]:
    """Return the coordinates and speeds along x, y, z by which a joint on the ground moves its body."""
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


KINDS = ("quaternion", "mrp")


def attitude(body: object, kind: str = "quaternion", relative_to: Body | None = None) -> tuple[Expr, ...]:
    """Return a body's attitude in the ground, or relative to another body, as expressions for outputs and
    loads.

    ``kind`` is "quaternion" (four Euler parameters, scalar first: the joint's own if it has them, else with a
    scalar that is not negative), "mrp" (three parameters, of the short turn), or a sequence of three letters
    such as "zyx". A sequence gives three angles from −π to π, the second from −π/2 to π/2, or from 0 to π if
    the first and the third letter are the same. In gimbal lock only a sum or difference of the first and the
    third angle is determined; the two are then chosen such that the three angles give the attitude.
    """
    if not isinstance(body, Body):
        raise ModelError(f"attitude needs a body, not {type(body).__name__} {body!r}")
    base = body.system.ground if relative_to is None else relative_to
    if not isinstance(base, Body) or base.system is not body.system:
        raise ModelError(
            f"attitude of '{body.name}': relative_to={relative_to!r} is not a body of its system"
        )
    if not isinstance(kind, str) or not (kind in KINDS or _is_sequence(kind)):
        raise ModelError(
            f"attitude of '{body.name}': there is no kind {shown(kind)}{nearest(kind, KINDS)}; there are "
            "'quaternion', 'mrp', and sequences of three letters without equal neighbours, such as 'zyx' or "
            "'zxz'"
        )
    if kind == "quaternion":
        return _quaternion(body, base)
    if kind == "mrp":
        e0, *e = _quaternion(body, base)
        factor = fn.select(e0 >= 0, 1, -1) / (1 + fn.absolute(e0))
        return tuple(x * factor for x in e)
    return _sequence_angles(direction_cosines(base.frame, body.frame), kind)


@verb(EntryForm("outputs", key="attitude", argument="body"))
def attitude_output(
    system: Description,
    name: str,
    body: BodyLike,
    kind: Words = "quaternion",
    *,
    relative_to: BodyLike | None = None,
    units: UnitText | None = None,
) -> None:
    """Add outputs ``name 1``, ``name 2``, … of a body's attitude; see ``arm.attitude`` for the kinds. Angles
    are in rad, or in ``units`` such as "deg"."""
    found = find_body(system, body, f"attitude output '{name}'")
    base = None if relative_to is None else find_body(system, relative_to, f"attitude output '{name}'")
    angles = kind not in KINDS
    if units is not None and not angles:
        raise ModelError(f"attitude output '{name}': a {kind} has no units")
    for i, value in enumerate(attitude(found, kind, base), start=1):
        about = f"{kind} {i} of {found.name} in {base.name if base else 'ground'}"
        output(system, f"{name} {i}", value, units=(units or "rad") if angles else None, about=about)


def _is_sequence(kind: object) -> bool:
    return (
        isinstance(kind, str)
        and len(kind) == 3
        and set(kind) <= set("xyz")
        and all(a != b for a, b in pairwise(kind))
    )


def _quaternion(body: Body, base: Body) -> tuple[Expr, ...]:
    steps, where = body.assembly.steps, body.assembly.quaternions
    if body.parent is base and where and body.orient is None and len(steps) == 1:
        assert isinstance(steps[0], Drift | Tumble)
        return body.coordinates[where[0] : where[0] + 4]
    e = [fn.named(x, "e") for x in euler_parameters(direction_cosines(base.frame, body.frame))]
    flip = fn.select(e[0] >= 0, 1, -1)
    return tuple(x * flip for x in e)


def _sequence_angles(R: Matrix, sequence: str) -> tuple[Expr, Expr, Expr]:
    """Return the angles of three turns about body-fixed axes.

    The first angle follows from R; in gimbal lock both arguments of atan2 vanish, and its result is taken as
    the angle. The third angle follows from R₁ᵀ R = R₂ R₃, which always determines it.
    """
    i, j, k = ("xyz".index(letter) for letter in sequence)
    rows = [[as_expr(x) for x in row] for row in R]
    other = 3 - i - j
    sign = 1 if (j - i) % 3 == 1 else -1  # 1 for xyz, yzx, zxy, xyx, yzy, zxz
    if i == k:
        first = fn.atan2(rows[j][i], -sign * rows[other][i])
        size = fn.sqrt(rows[j][i] ** 2 + rows[other][i] ** 2)
        second = fn.atan2(size, rows[i][i])
    else:
        first = fn.atan2(-sign * rows[j][k], rows[k][k])
        size = fn.sqrt(rows[j][k] ** 2 + rows[k][k] ** 2)
        second = fn.atan2(sign * rows[i][k], size)
    first = fn.named(first, "first")
    rest = matrix_product(transposed(principal_rotation(i, fn.cos(first), fn.sin(first))), R)
    # R₂ leaves axis j alone, so row j of the rest is row j of R₃.
    if i == k:
        third = fn.atan2(-sign * as_expr(rest[j][other]), rest[j][j])
    else:
        third = fn.atan2(sign * as_expr(rest[j][i]), rest[j][j])
    return first, second, third
