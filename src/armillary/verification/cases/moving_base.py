"""A beam whose base is driven about three axes: by modes, by rigid segments, and by equations of textbooks.

The prescribed motion comes from Kane, Ryan & Banerjee (1987), Dynamics of a cantilever beam attached to a
moving base, J. Guidance 10(2): r(t) = t/T − sin(2πt/T)/2π until T, then 1; its second derivative has no jump.
The base spins about z at Ω r, while it cones about −y by the angle β r and pitches about the beam by θ r. The
beam, the axes and all numbers are not from that source.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from armillary.algebra.vectors import dot
from armillary.model.bodies.body import Body
from armillary.model.bodies.motion import position
from armillary.model.flexible.beam import Beam
from armillary.model.joints import Gimbal
from armillary.stages import System
from armillary.stages.model import Model
from armillary.untyped import Given
from armillary.verification.rows import TIGHT, difference, published_case, scaled_difference

LENGTH, DENSITY, POLAR = 8.0, 1.2, 0.02  # m, kg/m, kg m²/m
LAG, FLAP, TWIST = 1.0e4, 5.0e3, 2.0e3  # N m²: EI against motion along y and along z of the base, GJ
DRIVE = {"W": 5.0, "B": 0.01, "P": 1.0, "T": 12.0}  # Ω in rad/s, β and θ in rad, T in s
END, LIMIT = 15.0, 160.0  # end of the run in s; highest frequency of the modes in rad/s
STEP, SAMPLE = 0.00125, 0.05
SEGMENTS = (4, 8)
NAMES = ("lag", "flap", "twist")
_WRITTEN, _LIMIT = "equations of the turning beam", f"limit of {SEGMENTS[0]} and {SEGMENTS[1]} rigid segments"


def _base(s: System) -> Body:
    """Add and return the base, which turns about z, then y, then x, the direction of the beam."""
    for (name, default), units in zip(DRIVE.items(), ("rad/s", "rad", "rad", "s"), strict=True):
        s.parameter(name, default, units=units)
    base = s.body("base", joint=Gimbal("zyx"), mass=1.0, inertia=(1.0, 1.0, 1.0))
    ramp = "select(t < T, t/T - sin(2*pi*t/T)/(2*pi), 1)"
    for variable, law in ((base.u1, "W"), (base.q2, "-B"), (base.q3, "P")):
        s.prescribe(variable, f"{law}*{ramp}")
    return base


def modal() -> System:
    """Return the system with the beam described by its modes at rest."""
    s = System("beam on a moving base")
    base = _base(s)
    beam = s.body("beam", base)
    shape = Beam(LENGTH, EI=(FLAP, LAG), GJ=TWIST, mass_per_length=DENSITY, polar=POLAR)
    part = beam.flexible(shape, frequency_limit=LIMIT, stiffening=True)
    turns = part.nodes["tip"].rotation[0]
    s.output("lag", dot(beam.deflection("tip"), base.y), units="m")
    s.output("flap", dot(beam.deflection("tip"), base.z), units="m")
    s.output("twist", sum(turn * q for turn, q in zip(turns, beam.coordinates, strict=True)))
    return s


def segments(count: int) -> System:
    """Return the system with the beam as rigid segments: three sprung hinges within each element."""
    s = System("segments on a moving base")
    base = inner = _base(s)
    length = LENGTH / count
    place, twist = 0.5 * length, 0.0
    for i in range(1, count + 1):
        own = length if i < count else 0.5 * length
        across = DENSITY * own**3 / 12
        link = s.body(
            f"link{i}", inner, Gimbal("zyx"), at=(place, 0, 0), com=(own / 2, 0, 0), mass=DENSITY * own,
            inertia=(POLAR * own, across, across),
        )  # fmt: skip
        for q, rigidity, axis in zip((1, 2, 3), (LAG, FLAP, TWIST), (link.z, link.y, link.x), strict=True):
            s.moment(f"spring{i}{q}", f"{-rigidity / length}*link{i}.q{q}", axis, on=link, reaction=inner)
        inner, place, twist = link, length, twist + link.q3
    tip = position(inner.point("tip", (0.5 * length, 0, 0)), base)
    for name, quantity in zip(NAMES, (dot(tip, base.y), dot(tip, base.z), twist), strict=True):
        s.output(name, quantity)
    return s


def rates(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return ω and ω̇ of the base in its own axes, a row for each instant."""
    spin, cone, pitch, time = DRIVE.values()
    s = np.minimum(t / time, 1.0)
    r, dr = s - np.sin(2 * np.pi * s) / (2 * np.pi), (1 - np.cos(2 * np.pi * s)) / time
    ddr = 2 * np.pi * np.sin(2 * np.pi * s) / time**2
    (sb, cb), (sp, cp) = ((np.sin(k * r), np.cos(k * r)) for k in (-cone, pitch))
    u1, u2, u3 = spin * r, -cone * dr, pitch * dr
    a1, a2, a3 = spin * dr, -cone * ddr, pitch * ddr
    w = np.array([u3 - u1 * sb, u2 * cp + u1 * cb * sp, u1 * cb * cp - u2 * sp])
    dw = np.array(
        [
            a3 - a1 * sb - u1 * u2 * cb,
            a2 * cp - u2 * u3 * sp + a1 * cb * sp - u1 * u2 * sb * sp + u1 * u3 * cb * cp,
            a1 * cb * cp - u1 * u2 * sb * cp - u1 * u3 * cb * sp - a2 * sp - u2 * u3 * cp,
        ]
    )
    return w, dw


def shapes() -> tuple[np.ndarray, np.ndarray, list[list[np.ndarray]]]:
    """Return Gauss points, weights, and [f, f', f''] of the modes at rest in lag, flap and twist.

    f = cosh kx − cos kx − σ (sinh kx − sin kx),  cos kL cosh kL = −1;     twist: sin((2n − 1)πx/2L)
    """
    points, weights = np.polynomial.legendre.leggauss(60)
    x, weights = 0.5 * LENGTH * (1 + points), 0.5 * LENGTH * weights
    x = np.append(x, LENGTH)  # the tip, with zero weight in integrals
    z = np.pi * (np.arange(1, 9) - 0.5)
    for _ in range(20):  # cos z = −1/cosh z, by Newton's method
        z = z + (np.cos(z) + 1 / np.cosh(z)) / (np.sin(z) + np.sinh(z) / np.cosh(z) ** 2)
    half = np.pi * (np.arange(1, 30) - 0.5) / LENGTH
    found = []
    for rigidity in (LAG, FLAP):
        k = (z / LENGTH)[np.sqrt(rigidity / DENSITY) * (z / LENGTH) ** 2 <= LIMIT][:, None]
        sigma = (np.cosh(k * LENGTH) + np.cos(k * LENGTH)) / (np.sinh(k * LENGTH) + np.sin(k * LENGTH))
        c, ch, s, sh = np.cos(k * x), np.cosh(k * x), np.sin(k * x), np.sinh(k * x)
        found.append(
            [ch - c - sigma * (sh - s), k * (sh + s - sigma * (ch - c)), k**2 * (ch + c - sigma * (sh + s))]
        )
    k = half[np.sqrt(TWIST / POLAR) * half <= LIMIT][:, None]
    found.append([np.sin(k * x), k * np.cos(k * x), -(k**2) * np.sin(k * x)])
    return x, np.append(weights, 0.0), found


def equations(t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return A, b and C: the modal states y have ẏ = A y + b at each instant, and C y is the tip's motion.

    Galerkin's method with the modes at rest discretises these equations of a beam that bends without
    stretching: v and w along y and z, φ the twist, N = ½ μ (ω_y² + ω_z²)(L² − x²) the tension,

        μ (v̈ − 2 ω_x ẇ − (ω_x² + ω_z²) v + (ω_y ω_z − ω̇_x) w + (ω̇_z + ω_x ω_y) x) − (N v')' + EI v⁗ = 0
        μ (ẅ + 2 ω_x v̇ − (ω_x² + ω_y²) w + (ω_y ω_z + ω̇_x) v − (ω̇_y − ω_x ω_z) x) − (N w')' + EI w⁗ = 0

    with the terms of Lagrange's equations for the kinetic energy ½ ι n² of the sections, where ι is a
    section's moment of inertia about the beam's axis, and n its spin about that axis after turning by the
    vector (φ, −w', v'), to second order

        n = ω_x + φ̇ + ω_y v' + ω_z w' + ½ φ (ω_z v' − ω_y w') − ½ ω_x (v'² + w'²) + ½ (w' v̇' − v' ẇ')
    """
    x, weights, ((v, dv, ddv), (w, dw, ddw), (f, df, _)) = shapes()
    at = [slice(0, len(v)), slice(len(v), len(v) + len(w)), slice(len(v) + len(w), len(v) + len(w) + len(f))]
    size = at[2].stop
    (wx, wy, wz), (ax, ay, az) = (rows[:, :, None, None] for rows in rates(t))

    def over(a: np.ndarray, b: np.ndarray, weight: object = 1.0) -> np.ndarray:
        found: np.ndarray = (a * weights * weight) @ b.T
        return found

    one, pull = np.ones((1, len(x))), DENSITY * 0.5 * (LENGTH**2 - x**2)
    M, K = np.zeros((size, size)), np.zeros((len(t), size, size))
    G, load = np.zeros_like(K), np.zeros((len(t), size, 1))
    Y, Z, R = at
    M[Y, Y], M[Z, Z], M[R, R] = DENSITY * over(v, v), DENSITY * over(w, w), POLAR * over(f, f)
    tension = wy**2 + wz**2
    K[:, Y, Y] = LAG * over(ddv, ddv) + tension * over(dv, dv, pull) - (wx**2 + wz**2) * M[Y, Y]
    K[:, Z, Z] = FLAP * over(ddw, ddw) + tension * over(dw, dw, pull) - (wx**2 + wy**2) * M[Z, Z]
    K[:, R, R] = TWIST * over(df, df)
    K[:, Y, Z] = (wy * wz - ax) * DENSITY * over(v, w)
    K[:, Z, Y] = (wy * wz + ax) * DENSITY * over(w, v)
    G[:, Y, Z], G[:, Z, Y] = -2 * wx * DENSITY * over(v, w), 2 * wx * DENSITY * over(w, v)
    load[:, Y] = (az + wx * wy) * DENSITY * over(v, one, x)
    load[:, Z] = (wx * wz - ay) * DENSITY * over(w, one, x)
    # terms of the rotation of the sections
    load[:, Y] -= wx * wy * POLAR * over(dv, one)
    load[:, Z] -= wx * wz * POLAR * over(dw, one)
    load[:, R] = ax * POLAR * over(f, one)
    K[:, Y, Y] += (wx**2 - wy**2) * POLAR * over(dv, dv)
    K[:, Z, Z] += (wx**2 - wz**2) * POLAR * over(dw, dw)
    K[:, Y, Z] += (0.5 * ax - wy * wz) * POLAR * over(dv, dw)
    K[:, Z, Y] -= (0.5 * ax + wy * wz) * POLAR * over(dw, dv)
    G[:, Y, Z] += wx * POLAR * over(dv, dw)
    G[:, Z, Y] -= wx * POLAR * over(dw, dv)
    K[:, Y, R], K[:, R, Y] = -0.5 * wx * wz * POLAR * over(dv, f), (ay - 0.5 * wx * wz) * POLAR * over(f, dv)
    K[:, Z, R], K[:, R, Z] = 0.5 * wx * wy * POLAR * over(dw, f), (az + 0.5 * wx * wy) * POLAR * over(f, dw)
    G[:, Y, R], G[:, R, Y] = -wy * POLAR * over(dv, f), wy * POLAR * over(f, dv)
    G[:, Z, R], G[:, R, Z] = -wz * POLAR * over(dw, f), wz * POLAR * over(f, dw)

    inverse = np.linalg.inv(M)
    A = np.zeros((len(t), 2 * size, 2 * size))
    A[:, :size, size:] = np.eye(size)
    A[:, size:, :size], A[:, size:, size:] = -inverse @ K, -inverse @ G
    b = np.concatenate([np.zeros((len(t), size)), -(inverse @ load)[:, :, 0]], axis=1)
    C = np.zeros((3, 2 * size))
    for row, (where, shape) in enumerate(zip(at, (v, w, f), strict=True)):
        C[row, where] = shape[:, -1]
    return A, b, C


def textbook() -> np.ndarray:
    """Return lag, flap and twist of the tip by `equations` and Runge and Kutta's method, a row per sample."""
    steps = round(END / STEP)
    A, b, C = equations(np.linspace(0.0, END, 2 * steps + 1))  # the middles of the steps too
    y = np.zeros(A.shape[1])
    kept = [y]
    for n in range(0, 2 * steps, 2):
        k1 = A[n] @ y + b[n]
        k2 = A[n + 1] @ (y + 0.5 * STEP * k1) + b[n + 1]
        k3 = A[n + 1] @ (y + 0.5 * STEP * k2) + b[n + 1]
        k4 = A[n + 2] @ (y + STEP * k3) + b[n + 2]
        y = y + STEP / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        kept.append(y)
    found: np.ndarray = np.array(kept)[:: round(SAMPLE / STEP)] @ C.T
    return found


def tips(model: Model, **how: Given) -> np.ndarray:
    """Return lag, flap and twist of the tip in a simulation, a row for each sample."""
    run = model.simulate(END, sample=SAMPLE, **how)
    return np.transpose([run[name] for name in NAMES])


def steady(model: Model, parameters: dict[str, float]) -> tuple[np.ndarray, np.ndarray]:
    """Return the static (lag, flap) of the tip in the steady spin, and their values by handbook formulas.

    A load q x/L and a moment m on each unit of length bend a cantilever by (11 q L⁴/120 + m L³/3)/EI at
    its tip. Here q = −μ L ω_x ω_y and m = ι ω_x ω_y along y, and likewise with ω_z along z, where
    ω = Ω (sin β, cos β sin θ, cos β cos θ).
    """
    own = [i for i, name in enumerate(model.coordinate_names) if name.startswith("beam")]
    speeds = [i for i, name in enumerate(model.speed_names) if name.startswith("beam")]
    q, u = np.zeros(len(model.coordinate_names)), np.zeros(len(model.speed_names))

    def accelerations(bent: np.ndarray) -> np.ndarray:
        q[own] = bent
        found: np.ndarray = model.accelerations(2 * parameters["T"], q, u, parameters)
        return found[speeds]

    still = accelerations(np.zeros(len(own)))
    slope = np.transpose([accelerations(bent) - still for bent in np.eye(len(own))])  # linear in q
    q[own] = np.linalg.solve(slope, -still)
    shown = model.outputs(2 * parameters["T"], np.concatenate([q, u]), parameters)
    spin, cone, pitch, _ = parameters.values()
    wx, wy, wz = spin * np.array([np.sin(cone), np.cos(cone) * np.sin(pitch), np.cos(cone) * np.cos(pitch)])
    bending = -11 * DENSITY * LENGTH**5 / 120 + POLAR * LENGTH**3 / 3
    expected = bending * wx * np.array([wy / LAG, wz / FLAP])
    return np.array([shown["lag"], shown["flap"]]), expected


@published_case(
    "moving_base",
    "Beam on a base driven in three dimensions",
    "Kane, Ryan & Banerjee (1987) for the driver",
    difference("lag of the tip, relative to its largest", 1e-9, _WRITTEN),
    difference("flap of the tip, relative to its largest", 1e-9, _WRITTEN),
    difference("twist of the tip, relative to its largest", 1e-5, _WRITTEN),
    difference("lag of the tip, relative to its largest", 5e-3, _LIMIT),
    difference("flap of the tip, relative to its largest", 5e-3, _LIMIT),
    difference("lag of the tip in slow steady spin, relative", 1e-4, "handbooks"),
    difference("flap of the tip in slow steady spin, relative", 1e-4, "handbooks"),
    page="moving-base",
)
def measure() -> Iterator[float]:
    """Yield the numbers of the table.

    Errors of segments fall with the square of their length; Richardson's extrapolation from two lengths
    gives their limit.
    """
    model = modal().derive("kane").compile()
    found, written = tips(model, **TIGHT), textbook()
    for column in range(3):
        yield scaled_difference(found[:, column], written[:, column])
    coarse, fine = (
        tips(segments(count).derive("recursive").compile(), rtol=1e-7, atol=1e-9) for count in SEGMENTS
    )
    for column in range(2):
        yield scaled_difference(((4 * fine - coarse) / 3)[:, column], found[:, column])
    for bent, expected in zip(*steady(model, {**DRIVE, "W": 0.01, "B": 0.3}), strict=True):
        yield abs(bent / expected - 1.0)
