"""Beams and plates: frequencies of handbooks, and the frequencies of a rotating beam."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from armillary.model.flexible.beam import Beam
from armillary.model.flexible.part import FlexiblePart
from armillary.model.flexible.plate import Plate
from armillary.model.flexible.reading import flexible_part
from armillary.model.joints import Revolute
from armillary.stages import System
from armillary.verification.rows import Case, value

_WRIGHT = "Wright, Smith, Thresher & Wang (1982)"
# First flapping frequencies at Ω = 0, 1, …, 10, for EI = μ = L = 1 and no hub radius.
FLAPPING = (3.5160, 3.6816, 4.1373, 4.7973, 5.5850, 6.4495, 7.3604, 8.2996, 9.2568, 10.2257, 11.2023)
# Eight modes of the beam at rest, which flap with Ω = 10 too, leave 4e-5 of the first frequency there.
TRUNCATION = 5e-5


_BLEVINS = "Blevins (1979), table 8-1"
_LEISSA = "Leissa (1973)"
_WAVES = {
    ("clamped", "free"): (1.87510407, 4.69409113, 7.85475744),
    ("free", "free"): (4.73004074, 7.85320462, 10.9956078),
    ("clamped", "pinned"): (3.92660231, 7.06858275, 10.21017612),
}
# A square plate, ν = 0.3: ω a² √(ρh/D).
_PLATES = {"clamped": (3.4917, 8.5246, 21.429), "free": (13.489, 19.789, 24.432)}
_BOUND = "a bound from above by beam functions; ours by polynomials is one too, and lower"


def measure_waves() -> Iterator[float]:
    for (root, tip), published in _WAVES.items():
        part = _part(Beam(1.0, EI=1.0, mass_per_length=1.0, root=root, tip=tip, motions="y"), len(published))
        yield from np.sqrt(part.frequencies)
    for root, published in _PLATES.items():
        plate = Plate(1.0, 1.0, 0.01, E=70e9, nu=0.3, density=2700.0, root=root)
        frequencies = _part(plate, 6).frequencies[: len(published)]
        yield from frequencies * np.sqrt(plate.mass_per_area / plate.rigidity)


def _part(shape: Beam | Plate, modes: int) -> FlexiblePart:
    return flexible_part("the part", shape, modes=modes)


def spinning(motion: str, *, radius: float = 0.0, modes: int = 8, stiffening: bool = True) -> System:
    """A beam along x, EI = μ = L = 1, on a hub that turns about z with a spin W."""
    s = System("rotating beam")
    s.parameter("W", units="rad/s")
    hub = s.body("hub", joint=Revolute("z"), mass=1.0, inertia=(1.0, 1.0, 1.0))
    s.prescribe(hub.u1, "W")
    beam = s.body("beam", hub)
    shape = Beam(1.0, EI=1.0, mass_per_length=1.0, motions=motion, origin=(radius, 0, 0))
    beam.flexible(shape, modes=modes, stiffening=stiffening)
    return s


def measure_rotating() -> Iterator[float]:
    """ω² are the eigenvalues of A where the accelerations at rest in the rotating frame are −A η."""
    model = spinning("z").derive().compile()
    shaken = [i for i, name in enumerate(model.speed_names) if name.startswith("beam")]
    bent = [i for i, name in enumerate(model.coordinate_names) if name.startswith("beam")]
    u = np.zeros(len(model.speed_names))
    for spin in range(len(FLAPPING)):
        columns = []
        for i in bent:
            q = np.zeros(len(model.coordinate_names))
            q[i] = 1e-4
            rates = [model.accelerations(0.0, sign * q, u, {"W": float(spin)}) for sign in (1, -1)]
            columns.append((rates[1] - rates[0])[shaken] / 2e-4)
        yield float(np.sqrt(np.min(np.linalg.eigvals(np.transpose(columns)).real)))


CASES = (
    Case(
        "beams_and_plates",
        "Beams and plates",
        "handbooks",
        (
            *(
                value(f"wave number kL {i}, {root} and {tip}", published, 5e-9 * published, _BLEVINS)
                for (root, tip), numbers in _WAVES.items()
                for i, published in enumerate(numbers, start=1)
            ),
            *(
                value(f"square plate, {root}, frequency {i}", published, 0.01 * published, _LEISSA, _BOUND)
                for root, numbers in _PLATES.items()
                for i, published in enumerate(numbers, start=1)
            ),
        ),
        measure_waves,
        "beams-and-plates",
    ),
    Case(
        "rotating_beam",
        "Rotating beam",
        _WRIGHT,
        tuple(
            value(
                f"first flapping frequency at Ω = {spin}", published, TRUNCATION * published,
                remark="8 modes of the beam at rest leave 4e-5 at Ω = 10" if spin == 10 else "",
            )
            for spin, published in enumerate(FLAPPING)
        ),
        measure_rotating,
        "rotating-beam",
    ),
)  # fmt: skip
