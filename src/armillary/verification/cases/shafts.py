"""A rotating beam at a pitch angle, and shafts that spin about their own axis, round and not."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from armillary.model.flexible.beam import Beam
from armillary.model.joints import Revolute
from armillary.stages import System
from armillary.verification.cases.beams import FLAPPING
from armillary.verification.rows import Case, value

_WRIGHT = "Wright et al. (1982) for flapping, and ω² = ω_flap² − Ω² sin²θ"
_FLAPPING = {spin: FLAPPING[spin] for spin in (4, 10)}
_PITCHES = (0, 30, 60, 90)

_HARTOG = "Den Hartog, Mechanical Vibrations, sections 6.5 and 6.6"
FIRST = np.pi**2  # of a shaft on bearings, EI = μ = L = 1
STIFFER = 1.44  # EI of the flat shaft across its weaker direction


def pitched_beam(degrees: float) -> System:
    """A beam along x on a hub that turns about z with a spin W; it bends across, at a pitch from z."""
    s = System("pitched beam")
    s.parameter("W", units="rad/s")
    hub = s.body("hub", joint=Revolute("z"), mass=1.0, inertia=(1.0, 1.0, 1.0))
    s.prescribe(hub.u1, "W")
    beam = s.body("beam", hub, orient=("x", float(np.radians(degrees))))
    beam.flexible(Beam(1.0, EI=1.0, mass_per_length=1.0, motions="z"), modes=8, stiffening=True)
    return s


def shaft(EI: tuple[float, float]) -> System:
    """A shaft along x between bearings that turn about x with a spin W, bending both ways."""
    s = System("shaft")
    s.parameter("W", units="rad/s")
    bearings = s.body("bearings", joint=Revolute("x"), mass=1.0, inertia=(1.0, 1.0, 1.0))
    s.prescribe(bearings.u1, "W")
    body = s.body("shaft", bearings)
    line = Beam(1.0, EI=EI, mass_per_length=1.0, root="pinned", tip="pinned", motions=["y", "z"])
    body.flexible(line, modes=4)
    return s


def eigenvalues(s: System, spin: float) -> np.ndarray:
    """Return the eigenvalues of small vibrations in the turning axes; rates are linear in modal states."""
    model = s.derive("kane").compile()
    names = [*model.coordinate_names, *model.speed_names]
    own = [i for i, name in enumerate(names) if name.startswith(("beam", "shaft"))]
    columns = []
    for i in own:
        state = np.zeros(len(names))
        state[i] = 1e-4
        rates = [model.derivatives(0.0, sign * state, {"W": spin}) for sign in (1, -1)]
        columns.append((rates[0] - rates[1])[own] / 2e-4)
    return np.linalg.eigvals(np.transpose(columns))


def measure_pitched_beam() -> Iterator[float]:
    for degrees in _PITCHES:
        s = pitched_beam(degrees)
        for spin in _FLAPPING:
            found = eigenvalues(s, float(spin))
            yield float(np.abs(found.imag)[np.abs(found.real) < 1e-6].min())


def flat_shaft(spin: float) -> float:
    """Growth of a flat shaft: λ⁴ + λ² (ω₁² + ω₂² + 2Ω²) + (ω₁² − Ω²)(ω₂² − Ω²) = 0."""
    a, b = FIRST**2, STIFFER * FIRST**2
    squares = np.roots([1.0, a + b + 2 * spin**2, (a - spin**2) * (b - spin**2)])
    return float(np.sqrt(squares.max()))


_ROUND = (5.0, 15.0)  # below and above the critical speed
_FLAT = 1.1 * FIRST  # between the two of the flat shaft, 1 and 1.2 times the first frequency


def measure_shafts() -> Iterator[float]:
    whirling = shaft((1.0, 1.0))
    for spin in _ROUND:
        found = np.sort(np.abs(eigenvalues(whirling, spin).imag))[::2]
        near = [found[np.argmin(np.abs(found - abs(FIRST + sign * spin)))] for sign in (-1, 1)]
        yield from near
    flat = shaft((1.0, STIFFER))
    yield float(eigenvalues(flat, _FLAT).real.max())
    yield float(eigenvalues(flat, 0.98 * FIRST).real.max())
    yield float(eigenvalues(flat, 1.22 * FIRST).real.max())


CASES = (
    Case(
        "pitched_beam",
        "Rotating beam at a pitch angle",
        _WRIGHT,
        tuple(
            value(
                f"first frequency at a pitch of {degrees}°, Ω = {spin}",
                float(np.sqrt(flap**2 - (spin * np.sin(np.radians(degrees))) ** 2)),
                1e-4 * flap,
            )
            for degrees in _PITCHES
            for spin, flap in _FLAPPING.items()
        ),
        measure_pitched_beam,
        "rotating-beam",
    ),
    Case(
        "spinning_shaft",
        "Spinning shafts",
        _HARTOG,
        (
            *(
                value(f"round shaft at Ω = {spin:g}, {way} whirl seen from it", expected, 1e-7)
                for spin in _ROUND
                for way, expected in (("forward", abs(FIRST - spin)), ("backward", FIRST + spin))
            ),
            value("flat shaft between its critical speeds: growth rate", flat_shaft(_FLAT), 1e-7),
            value("the same just below them: growth rate", 0.0, 1e-6),
            value("the same just above them: growth rate", 0.0, 1e-6),
        ),
        measure_shafts,
        "spinning-shaft",
    ),
)
