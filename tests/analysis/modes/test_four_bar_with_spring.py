"""A four-bar linkage with a diagonal spring and damper against its Lagrangian of one freedom, in 40 digits.

The benchmark "fourbar linkage with diagonal spring" of the IFToMM committee, a square, is a case of the
verification manual (mechanisms); this linkage has four different lengths, and its closed form is derived
here. The angle φ of the rocker follows from that of the crank, θ, by Freudenstein's equation,

    K₁ cos φ − K₂ cos θ + K₃ = cos(θ − φ)      K₁ = d/a, K₂ = d/c, K₃ = (a² − b² + c² + d²)/(2 a c)

with crank a, coupler b, rocker c and ground d. With V the energy of weights and spring and ℓ the length of
the latter, the motion near equilibrium is M δθ̈ + D δθ̇ + V'' δθ = 0, where V'(θ) = 0,

    M = J_A + m_B |r'_B|² + J_B ψ'² + J_C φ'²        D = r ℓ'²        (' = d/dθ)

Source: Freudenstein (1955), Approximate synthesis of four-bar linkages, Trans. ASME 77, 853–861.
"""

from __future__ import annotations

import numpy as np
import pytest

import armillary as arm
from armillary.stages.model import Model
from tests.later import later

mp = later("mpmath")

LENGTHS = {"a": 0.5, "b": 1.1, "c": 0.9, "d": 1.2}
MASSES = {"A": 1.0, "B": 2.5, "C": 1.5}
SPRING = {"k": 300.0, "rest": 1.65, "r": 4.0}
G = 9.81


@pytest.fixture(scope="module")
def linkage() -> Model:
    """Uniform rods; the spring and the damper act between the crank's hinge and the rocker's end."""
    s = arm.System("four-bar with a diagonal spring")
    a, b, c, d = LENGTHS.values()
    N = s.ground

    def rod(name: str, length: float) -> dict[str, object]:
        across = MASSES[name] * length**2 / 12
        return {"com": (length / 2, 0, 0), "mass": MASSES[name], "inertia": (0, across, across)}

    A = s.body("A", joint=arm.Revolute("z"), **rod("A", a))
    B = s.body("B", A, arm.Revolute("z"), at=(a, 0, 0), **rod("B", b))
    C = s.body("C", joint=arm.Revolute("z"), at=(d, 0, 0), **rod("C", c))
    end = C.point("end", (c, 0, 0))
    s.close_loop(B.point("end", (b, 0, 0)), end, directions=[N.x, N.y], name="pin")
    s.gravity(G, -N.y)
    k, rest, r = SPRING.values()
    s.strut("spring", f"-{k}*(x - {rest}) - {r}*v", between=(N.origin, end))
    s.start({"A.q1": 0.9, "B.q1": -0.4, "C.q1": 1.47})
    return s.derive().compile()


class ClosedForm:
    """The linkage as functions of the crank's angle, in numbers of mpmath."""

    def __init__(self) -> None:
        self.a, self.b, self.c, self.d = (mp.mpf(str(v)) for v in LENGTHS.values())
        self.k, self.rest, self.r = (mp.mpf(str(v)) for v in SPRING.values())
        self.mA, self.mB, self.mC = (mp.mpf(str(v)) for v in MASSES.values())

    def rocker(self, theta: mp.mpf) -> mp.mpf:
        """φ of the open branch, from Freudenstein's equation in tan φ/2."""
        a, b, c, d = self.a, self.b, self.c, self.d
        K1, K2, K3 = d / a, d / c, (a * a - b * b + c * c + d * d) / (2 * a * c)
        P = mp.cos(theta) - K1 - K2 * mp.cos(theta) + K3
        Q, R = -2 * mp.sin(theta), K1 - (K2 + 1) * mp.cos(theta) + K3
        return 2 * mp.atan((-Q - mp.sqrt(Q * Q - 4 * P * R)) / (2 * P))

    def ends(self, theta: mp.mpf) -> list[mp.mpf]:
        """Ends of the crank and of the rocker."""
        phi = self.rocker(theta)
        crank = [self.a * mp.cos(theta), self.a * mp.sin(theta)]
        return [*crank, self.d + self.c * mp.cos(phi), self.c * mp.sin(phi)]

    def coupler(self, theta: mp.mpf) -> mp.mpf:
        x0, y0, x1, y1 = self.ends(theta)
        return mp.atan2(y1 - y0, x1 - x0)

    def length(self, theta: mp.mpf) -> mp.mpf:
        """Of the spring."""
        _, _, x, y = self.ends(theta)
        return mp.hypot(x, y)

    def potential(self, theta: mp.mpf) -> mp.mpf:
        _, y0, _, y1 = self.ends(theta)
        heights = self.mA * y0 / 2 + self.mB * (y0 + y1) / 2 + self.mC * y1 / 2
        return mp.mpf(str(G)) * heights + self.k * (self.length(theta) - self.rest) ** 2 / 2

    def mass(self, theta: mp.mpf) -> mp.mpf:
        def slope(f: object) -> mp.mpf:
            return mp.diff(f, theta)

        middle = [slope(lambda t, i=i: (self.ends(t)[i] + self.ends(t)[i + 2]) / 2) for i in (0, 1)]
        turning = self.mA * self.a**2 / 3 + self.mC * self.c**2 / 3 * slope(self.rocker) ** 2
        own = self.mB * self.b**2 / 12 * slope(self.coupler) ** 2
        return turning + own + self.mB * (middle[0] ** 2 + middle[1] ** 2)

    def answer(self) -> tuple[float, float, complex]:
        """θ and φ at equilibrium, and the eigenvalue with positive imaginary part."""
        theta = mp.findroot(lambda t: mp.diff(self.potential, t), mp.mpf("0.9"))
        M, K = self.mass(theta), mp.diff(self.potential, theta, 2)
        D = self.r * mp.diff(self.length, theta) ** 2
        root = mp.sqrt(mp.mpc(D * D - 4 * M * K))
        eigenvalue = (-D + root) / (2 * M)
        return float(theta), float(self.rocker(theta)), complex(eigenvalue)


def test_equilibrium_and_eigenvalues_are_those_of_the_closed_form(linkage: Model) -> None:
    """The issue asks for 1e-10; the found errors are below 1e-13."""
    with mp.workdps(40):
        theta, phi, eigenvalue = ClosedForm().answer()
    assert abs(eigenvalue.imag) > 1.0 and eigenvalue.real < 0.0  # a damped oscillation
    op = linkage.equilibrium()
    assert op["A.q1"] == pytest.approx(theta, rel=1e-12)
    assert op["C.q1"] == pytest.approx(phi, rel=1e-12)
    poles = linkage.linearize(at=op).poles()
    assert len(poles) == 2  # one freedom, whatever the number of coordinates
    found = poles[np.argmax(poles.imag)]
    assert abs(found - eigenvalue) < 1e-12 * abs(eigenvalue)
    assert op.eigenvalues[np.argmax(op.eigenvalues.imag)] == pytest.approx(eigenvalue, rel=1e-12)


def test_the_undamped_frequency_is_that_of_the_closed_form(linkage: Model) -> None:
    with mp.workdps(40):
        form = ClosedForm()
        theta = mp.findroot(lambda t: mp.diff(form.potential, t), mp.mpf("0.9"))
        frequency = float(mp.sqrt(mp.diff(form.potential, theta, 2) / form.mass(theta)))
    (mode,) = linkage.undamped_modes(at=linkage.equilibrium())
    assert mode.frequency == pytest.approx(frequency / (2 * np.pi), rel=1e-12)
