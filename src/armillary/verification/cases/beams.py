"""Beams, plates and shafts, compared with handbooks and published results.

- Frequencies of beams and plates at rest, and of a rotating beam, also at a pitch angle.
- Shafts that spin about their own axis, round and flat.
- A cantilever bent far by a force at its tip: many rigid links with springs, compared with the elastica.
- The slider-crank with a flexible connecting rod, from the test set for initial value problems.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from armillary.algebra.vectors import dot
from armillary.model.bodies.motion import position
from armillary.model.flexible.beam import Beam
from armillary.model.flexible.modal_data import flexible_part
from armillary.model.flexible.part import FlexiblePart
from armillary.model.flexible.plate import Plate
from armillary.model.joints import Prismatic, Revolute
from armillary.stages import System
from armillary.stages.model import Model
from armillary.untyped import DataTable
from armillary.verification.rows import TIGHT, published_case, value

_WRIGHT = "Wright, Smith, Thresher & Wang (1982)"
# First flapping frequencies at Ω = 0, 1, …, 10, for EI = μ = L = 1 and no hub radius.
FLAPPING = (3.5160, 3.6816, 4.1373, 4.7973, 5.5850, 6.4495, 7.3604, 8.2996, 9.2568, 10.2257, 11.2023)
# Relative error allowed: with eight modes of the beam at rest, the first frequency at Ω = 10 is off by 4e-5.
TRUNCATION = 5e-5


_BLEVINS = "Blevins (1979), table 8-1"
_LEISSA = "Leissa (1973)"
# Wave numbers kL of the first three modes, by the ends of the beam.
_WAVES = {
    ("clamped", "free"): (1.87510407, 4.69409113, 7.85475744),
    ("free", "free"): (4.73004074, 7.85320462, 10.9956078),
    ("clamped", "pinned"): (3.92660231, 7.06858275, 10.21017612),
}
# A square plate, ν = 0.3: ω a² √(ρh/D).
_PLATES = {"clamped": (3.4917, 8.5246, 21.429), "free": (13.489, 19.789, 24.432)}
_BOUND = "published: a bound from above by beam functions; here: a closer one by polynomials"


@published_case(
    "beams_and_plates",
    "Beams and plates",
    "handbooks",
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
    page="beams-and-plates",
)
def measure_waves() -> Iterator[float]:
    for (root, tip), known in _WAVES.items():
        part = _part(Beam(1.0, EI=1.0, mass_per_length=1.0, root=root, tip=tip, motions="y"), len(known))
        yield from np.sqrt(part.frequencies)
    for root, known in _PLATES.items():
        plate = Plate(1.0, 1.0, 0.01, E=70e9, nu=0.3, density=2700.0, root=root)
        frequencies = _part(plate, 6).frequencies[: len(known)]
        yield from frequencies * np.sqrt(plate.mass_per_area / plate.rigidity)


def _part(shape: Beam | Plate, modes: int) -> FlexiblePart:
    return flexible_part("the part", shape, modes=modes)


def spinning(motion: str, *, radius: float = 0.0, modes: int = 8, stiffening: bool = True) -> System:
    """Return a beam along x, EI = μ = L = 1, on a hub that spins about z at W."""
    s = System("rotating beam")
    s.parameter("W", units="rad/s")
    hub = s.body("hub", joint=Revolute("z"), mass=1.0, inertia=(1.0, 1.0, 1.0))
    s.prescribe(hub.u1, "W")
    beam = s.body("beam", hub)
    shape = Beam(1.0, EI=1.0, mass_per_length=1.0, motions=motion, origin=(radius, 0, 0))
    beam.flexible(shape, modes=modes, stiffening=stiffening)
    return s


@published_case(
    "rotating_beam",
    "Rotating beam",
    _WRIGHT,
    *(
        value(
            f"first flapping frequency at Ω = {spin}",
            published,
            TRUNCATION * published,
            remark="the error of 8 modes of the beam at rest is 4e-5 at Ω = 10" if spin == 10 else "",
        )
        for spin, published in enumerate(FLAPPING)
    ),
    page="rotating-beam",
)
def measure_rotating() -> Iterator[float]:
    """Yield the first flapping frequency ω at each spin.

    ω² is the least eigenvalue of A, where −A η are the accelerations of the modal states η of a beam that is
    at rest in the rotating frame.
    """
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


_WRIGHT_AT_PITCH = "Wright et al. (1982) for flapping, and ω² = ω_flap² − Ω² sin²θ"
_FLAPPING = {spin: FLAPPING[spin] for spin in (4, 10)}
_PITCHES = (0, 30, 60, 90)

_HARTOG = "Den Hartog, Mechanical Vibrations, sections 6.5 and 6.6"
FIRST = np.pi**2  # first frequency of a shaft on bearings, EI = μ = L = 1
STIFFER = 1.44  # EI of the flat shaft for bending in its stiffer direction; 1 in the other


def pitched_beam(degrees: float) -> System:
    """Return a beam along x on a hub that spins about z at W.

    The beam bends along one axis, which is turned from z about x by the pitch angle.
    """
    s = System("pitched beam")
    s.parameter("W", units="rad/s")
    hub = s.body("hub", joint=Revolute("z"), mass=1.0, inertia=(1.0, 1.0, 1.0))
    s.prescribe(hub.u1, "W")
    beam = s.body("beam", hub, orient=("x", float(np.radians(degrees))))
    beam.flexible(Beam(1.0, EI=1.0, mass_per_length=1.0, motions="z"), modes=8, stiffening=True)
    return s


def shaft(EI: tuple[float, float]) -> System:
    """Return a shaft along x that spins about x at W with its bearings, and bends along y and z."""
    s = System("shaft")
    s.parameter("W", units="rad/s")
    bearings = s.body("bearings", joint=Revolute("x"), mass=1.0, inertia=(1.0, 1.0, 1.0))
    s.prescribe(bearings.u1, "W")
    body = s.body("shaft", bearings)
    line = Beam(1.0, EI=EI, mass_per_length=1.0, root="pinned", tip="pinned", motions=["y", "z"])
    body.flexible(line, modes=4)
    return s


def eigenvalues(s: System, spin: float) -> np.ndarray:
    """Return the eigenvalues of small vibrations in the spinning axes; rates are linear in modal states."""
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


@published_case(
    "pitched_beam",
    "Rotating beam at a pitch angle",
    _WRIGHT_AT_PITCH,
    *(
        value(
            f"first frequency at a pitch of {degrees}°, Ω = {spin}",
            float(np.sqrt(flap**2 - (spin * np.sin(np.radians(degrees))) ** 2)),
            1e-4 * flap,
        )
        for degrees in _PITCHES
        for spin, flap in _FLAPPING.items()
    ),
    page="rotating-beam",
)
def measure_pitched_beam() -> Iterator[float]:
    for degrees in _PITCHES:
        s = pitched_beam(degrees)
        for spin in _FLAPPING:
            found = eigenvalues(s, float(spin))
            yield float(np.abs(found.imag)[np.abs(found.real) < 1e-6].min())


def flat_shaft(spin: float) -> float:
    """Return the growth rate of a flat shaft: λ⁴ + λ² (ω₁² + ω₂² + 2Ω²) + (ω₁² − Ω²)(ω₂² − Ω²) = 0."""
    a, b = FIRST**2, STIFFER * FIRST**2
    squares = np.roots([1.0, a + b + 2 * spin**2, (a - spin**2) * (b - spin**2)])
    return float(np.sqrt(squares.max()))


_ROUND = (5.0, 15.0)  # spins of the round shaft, below and above its critical speed
_FLAT = 1.1 * FIRST  # spin of the flat shaft, between its critical speeds of 1 and 1.2 times FIRST


@published_case(
    "spinning_shaft",
    "Spinning shafts",
    _HARTOG,
    *(
        value(f"round shaft at Ω = {spin:g}, {way} whirl in its own axes", expected, 1e-7)
        for spin in _ROUND
        for way, expected in (("forward", abs(FIRST - spin)), ("backward", FIRST + spin))
    ),
    value("flat shaft between its critical speeds: growth rate", flat_shaft(_FLAT), 1e-7),
    value("flat shaft just below both critical speeds: growth rate", 0.0, 1e-6),
    value("flat shaft just above both critical speeds: growth rate", 0.0, 1e-6),
    page="spinning-shaft",
)
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


_MATTIASSON = "Mattiasson (1981), elliptic integrals"
# Displacements of the tip by load P L²/EI: down, w/L, and back, u/L.
TABLE = {1.0: (0.30172, 0.05643), 2.0: (0.49346, 0.16064), 5.0: (0.71379, 0.38763), 10.0: (0.81061, 0.55500)}
LINKS = (6, 12)


def cantilever(links: int) -> System:
    """Return a cantilever as rigid links: a hinge with a spring EI/ℓ in the middle of each element of length
    ℓ = L/links.

    EI = L = 1. A constant force P acts downwards on the tip.
    """
    s = System("elastica")
    s.parameter("P", units="N")
    length = 1.0 / links
    body, place = s.ground, 0.5 * length
    for i in range(links):
        own = length if i < links - 1 else 0.5 * length
        body = s.body(
            f"link{i}", body, Revolute("z"), at=(place, 0, 0), com=(own / 2, 0, 0), mass=own,
            inertia=(0, own**3 / 12, own**3 / 12),
        )  # fmt: skip
        s.moment(
            f"spring{i}", f"-{links}*link{i}.q1 - 0.05*link{i}.u1", body.z, on=body, reaction=body.parent
        )
        place = length
    tip = body.point("tip", (0.5 * length, 0, 0))
    s.force("load", "P", -s.ground.y, at=tip)
    for name, axis in (("x", s.ground.x), ("y", s.ground.y)):
        s.output(name, dot(position(tip), axis), units="m")
    return s


def deflections(links: int) -> np.ndarray:
    """Return (w, u) of the tip in equilibrium, one row for each load."""
    model = cantilever(links).derive("recursive").compile()
    state = np.zeros(2 * links)
    found = []
    for load in TABLE:
        state = _balance(model, state, load)
        shown = model.outputs(0.0, state, {"P": load})
        found.append((-shown["y"], 1.0 - shown["x"]))
    return np.array(found)


def _balance(model: Model, state: np.ndarray, load: float) -> np.ndarray:
    """Return the state of equilibrium under a load, by Newton's method from the state of a smaller load."""
    count = len(state) // 2

    def accelerations(q: np.ndarray) -> np.ndarray:
        found: np.ndarray = model.accelerations(0.0, q, np.zeros(count), {"P": load})
        return found

    q = state[:count].copy()
    for _ in range(40):
        now = accelerations(q)
        columns = [accelerations(q + 1e-6 * e) - accelerations(q - 1e-6 * e) for e in np.eye(count)]
        slope = np.array(columns).T / 2e-6
        step = np.linalg.solve(slope, -now)
        q = q + step * np.minimum(1.0, 0.5 / np.abs(step).max())
        if np.abs(step).max() < 1e-10:
            break
    return np.concatenate([q, np.zeros(count)])


@published_case(
    "elastica",
    "Cantilever bent far by a tip force",
    _MATTIASSON,
    *(
        value(f"tip {way} at PL²/EI = {load:g}, relative to the length", number, 1e-4)
        for load, both in TABLE.items()
        for way, number in zip(("down", "back"), both, strict=True)
    ),
    page="elastica",
)
def _measure_elastica() -> Iterator[float]:
    """Yield the limit for short links, extrapolated from two lengths: errors fall as the length squared."""
    coarse, fine = (deflections(links) for links in LINKS)
    yield from ((4 * fine - coarse) / 3).ravel()


_SOURCE = "Simeon (1996); test set for IVP solvers, problem crank, index 2"
L1, L2 = 0.15, 0.30
RHO, E, SIDE = 7870.0, 0.2e12, 0.008
CRANK = 0.002727  # inertia about the pin
ROD = (0.151104, 0.0045339259)  # mass, inertia about the crank pin
BLOCK = 0.075552
SPIN = 150.0

# Start of the rod: q2 and q3 are amplitudes (m) of two sine waves across it, q4 and q5 displacements (m) of
# its middle and its end along it, u2 to u5 their rates.
START = {"rod.q4": 0.103339863e-4, "rod.q5": 0.169327969e-4, "rod.u2": 0.444896105, "rod.u3": 0.463434311e-2,
         "rod.u4": -0.178591076e-5, "rod.u5": -0.268938672e-5}  # fmt: skip
# Published numbers at 0.1 s, with relative tolerances. The rod vibrates along itself at 1.4e4 rad/s; the
# reference, by a stiff method, is good to 1e-5 of that vibration. The source's equations, integrated as
# ordinary differential equations to 1e-12, give the numbers found here.
_STRETCH = "the reference is good to about 1e-5 of the vibration along the rod"
END = {
    "angle of the rod (rad)": (-3.311734987910881e-01, 1e-8, ""),
    "place of the block (m)": (1.697373326718410e-01, 1e-8, ""),
    "first bending amplitude (m)": (1.893192460247178e-04, 1e-7, ""),
    "second bending amplitude (m)": (2.375751865617931e-05, 1e-6, ""),
    "stretch of the middle (m)": (-5.323907988763734e-06, 1e-5, _STRETCH),
    "stretch of the end (m)": (-8.363283141616840e-06, 1e-5, _STRETCH),
    "rate of the rod (rad/s)": (6.025346682645789e01, 1e-7, ""),
    "speed of the block (m/s)": (-8.753116989887888e00, 1e-6, ""),
}


def integrals() -> DataTable:
    """Return modal integrals of the rod about the crank pin, with x along the rod, in Stoneking's form.

    The published mass matrix of the stretch is 15 times the matrix of its quadratic elements; it is used as
    published. The part of the rod's inertia that is quadratic in the modal states q, q·Mq, has the same
    matrix M.
    """
    volume = SIDE * SIDE * L2
    mass, stiff = RHO * volume, E * SIDE * SIDE / L2
    M, K, B = np.zeros((4, 4)), np.zeros((4, 4)), np.zeros((4, 4))
    M[0, 0] = M[1, 1] = 0.5
    M[2:, 2:] = [[8, 1], [1, 2]]
    K[0, 0], K[1, 1] = np.pi**4 / 24 * (SIDE / L2) ** 2, np.pi**4 * 2 / 3 * (SIDE / L2) ** 2
    K[2:, 2:] = np.array([[16, -8], [-8, 7]]) / 3
    B[0, 2:] = -16 / np.pi**3, 8 / np.pi**3 - 1 / np.pi
    B[1, 3] = 0.5 / np.pi
    B -= B.T
    P, H = np.zeros((3, 4)), np.zeros((3, 4))
    P[0, 2:], P[1, 0] = (2 / 3, 1 / 6), 2 / np.pi
    H[2, :2] = 1 / np.pi, -0.5 / np.pi
    R, S, Q = np.zeros((4, 3, 3)), np.zeros((4, 4, 3, 3)), np.zeros((3, 4, 4))
    R[2:, 2, 2] = -mass * L2 * np.array([1 / 3, 1 / 6])
    S[:, :, 2, 2] = -mass * M
    Q[2] = mass * B.T
    tip = np.zeros((1, 3, 4))
    tip[0, 0, 3] = 1.0
    return {
        "m": ROD[0], "c": (ROD[0] * L2 / 2, 0, 0), "J": np.diag([0.0, ROD[1], ROD[1]]), "P": mass * P,
        "H": mass * L2 * H, "M": mass * M, "K": stiff * K, "Q": Q, "R": R, "S": S,
        "nodes": {"end": (L2, 0, 0)}, "shapes": tip,
    }  # fmt: skip


def system() -> System:
    """Return the slider-crank: a crank with prescribed spin, a rod with four mode shapes, and a block."""
    s = System("flexible slider-crank")
    crank = s.body("crank", joint=Revolute("z"), mass=0.36, inertia=(CRANK, CRANK, CRANK))
    rod = s.body("rod", crank, Revolute("z"), at=(L1, 0, 0))
    rod.flexible(**integrals())
    block = s.body("block", joint=Prismatic("x"), at=(L1 + L2, 0, 0), mass=BLOCK, inertia=0)
    s.parameter("spin", SPIN, units="rad/s")
    s.prescribe(crank.q1, "spin*t")
    s.close_loop(rod.node("end"), block, [s.ground.x, s.ground.y], name="pin")
    return s


@published_case(
    "flexible_slider_crank",
    "Flexible slider-crank",
    _SOURCE,
    *(value(what, number, part * abs(number), "", why) for what, (number, part, why) in END.items()),
    page="flexible-slider-crank",
)
def _measure_slider_crank() -> Iterator[float]:
    run = system().derive("kane").compile().simulate(0.1, initial=START, **TIGHT)
    yield run["rod.q1"][-1] + run["crank.q1"][-1]
    yield run["block.q1"][-1] + L1 + L2
    yield from (run[f"rod.q{i}"][-1] for i in (2, 3, 4, 5))
    yield run["rod.u1"][-1] + SPIN
    yield run["block.u1"][-1]
