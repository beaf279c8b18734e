"""Ready beams: textbook frequencies, effective masses, tip bodies, high modes, foreshortening."""

from __future__ import annotations

import numpy as np
import pytest

from armillary.model.flexible.beam import _STEP, Beam, Section, roots
from armillary.model.flexible.modal_data import flexible_part
from armillary.model.flexible.part import FlexiblePart

LENGTH, EI, MASS = 2.0, 3.0, 0.5


def plane(modes: int, root: str = "clamped", tip: str = "free", **more: float) -> FlexiblePart:
    """Bending along y only."""
    beam = Beam(LENGTH, EI=EI, mass_per_length=MASS, root=root, tip=tip, motions="y", **more)
    return flexible_part("body 'boom'", beam, modes=modes)


def wave_numbers(part: FlexiblePart) -> np.ndarray:
    """kL of bending."""
    return np.sqrt(part.frequencies / np.sqrt(EI / MASS)) * LENGTH


@pytest.mark.parametrize(
    ("root", "tip", "expected"),
    [
        ("clamped", "free", [1.87510407, 4.69409113, 7.85475744, 10.99554073, 14.13716839]),
        ("free", "free", [4.73004074, 7.85320462, 10.9956078, 14.1371655, 17.2787597]),
        ("clamped", "clamped", [4.73004074, 7.85320462, 10.9956078, 14.1371655, 17.2787597]),
        ("clamped", "pinned", [3.92660231, 7.06858275, 10.21017612, 13.35176878, 16.49336143]),
        ("pinned", "free", [3.92660231, 7.06858275, 10.21017612, 13.35176878, 16.49336143]),
        ("pinned", "pinned", [np.pi, 2 * np.pi, 3 * np.pi, 4 * np.pi, 5 * np.pi]),
    ],
)
def test_wave_numbers_are_those_of_the_tables(root: str, tip: str, expected: list[float]) -> None:
    """Blevins (1979), table 8-1."""
    np.testing.assert_allclose(wave_numbers(plane(5, root, tip)), expected, rtol=5e-9)


def test_effective_masses_of_a_cantilever() -> None:
    """Shares of the mass 0.6131, 0.1883, 0.0647, 0.0331 and mean shapes 4σ²/(kL)² in closed form."""
    part = plane(4)
    kl = wave_numbers(part)
    sigma = (np.sinh(kl) - np.sin(kl)) / (np.cosh(kl) + np.cos(kl))
    shares = part.effective_masses[:, 1] / part.mass
    np.testing.assert_allclose(shares, 4 * sigma**2 / kl**2, rtol=1e-10)
    np.testing.assert_allclose(shares, [0.6131, 0.1883, 0.0647, 0.0331], atol=5e-5)
    tip, root = part.node("tip"), part.node("root")
    np.testing.assert_allclose(np.abs(tip.shape[1]), 2 / np.sqrt(LENGTH * MASS), rtol=1e-10)  # w(L) = 2
    assert np.max(np.abs(root.shape)) < 1e-12 and np.max(np.abs(root.rotation)) < 1e-10


def test_stretching_and_twisting_are_quarter_waves() -> None:
    """ω = (n − ½)π/L √(EA/μ) and √(GJ/ι)."""
    beam = Beam(LENGTH, EA=8.0, GJ=5.0, mass_per_length=MASS, polar=0.2)
    part = flexible_part("body 'boom'", beam, modes=6)
    waves = (np.arange(1, 4) - 0.5) * np.pi / LENGTH
    np.testing.assert_allclose(part.frequencies, np.sort(np.concatenate([4 * waves, 5 * waves])), rtol=1e-12)


def test_hundredth_mode_is_as_orthogonal_as_the_first() -> None:
    """Modes 1 to 100, where cosh kL is 1e135; and kL = (n − ½)π to rounding."""
    part = plane(100)
    assert part.check_orthogonal() < 1e-11
    np.testing.assert_allclose(wave_numbers(part)[10:], (np.arange(11, 101) - 0.5) * np.pi, rtol=1e-12)
    assert part.effective_masses[:, 1].sum() == pytest.approx(part.mass, rel=5e-3)


@pytest.mark.parametrize(("ratio", "expected"), [(1.0, 1.24792), (0.2, 1.61640), (10.0, 0.73578)])
def test_tip_mass_lowers_the_first_wave_number(ratio: float, expected: float) -> None:
    """Roots of 1 + cos cosh + r kL (cos sinh − sin cosh) = 0, r the mass over that of the beam."""
    part = plane(3, tip_mass=ratio * LENGTH * MASS)
    kl = wave_numbers(part)
    left = 1 + np.cos(kl) * np.cosh(kl) + ratio * kl * (np.cos(kl) * np.sinh(kl) - np.sin(kl) * np.cosh(kl))
    assert np.max(np.abs(left / np.cosh(kl))) < 1e-10
    assert kl[0] == pytest.approx(expected, rel=5e-5)
    assert part.check_orthogonal() < 1e-12
    assert part.mass == pytest.approx((1 + ratio) * LENGTH * MASS, rel=1e-12)


def test_heavy_tip_body_turns_as_on_a_massless_beam() -> None:
    """A body 10⁴ times heavier: det(K − ω²M) = 0 with K = EI/L³ [12 −6L; −6L 4L²], to its mass share."""
    mass, inertia = 1e4, 6e3
    part = plane(2, tip_mass=mass, tip_inertia=inertia)
    K = EI / LENGTH**3 * np.array([[12, -6 * LENGTH], [-6 * LENGTH, 4 * LENGTH**2]])
    scale = np.diag([mass**-0.5, inertia**-0.5])
    expected = np.sqrt(np.linalg.eigvalsh(scale @ K @ scale))
    np.testing.assert_allclose(part.frequencies, expected, rtol=1e-4)


def test_free_beam_with_a_tip_body_moves_its_centre_with_no_mode() -> None:
    part = plane(4, "free", "free", tip_mass=0.7, tip_inertia=0.1)
    assert np.max(np.abs(part.P)) < 1e-10 and np.max(np.abs(part.H)) < 1e-10
    assert part.check_orthogonal() < 1e-12


def test_rigid_properties_of_a_placed_beam() -> None:
    """Along −y from (1, 2, 3): mass centre and inertia of a rod, by Steiner."""
    beam = Beam(LENGTH, EI=EI, mass_per_length=MASS, origin=(1, 2, 3), along="-y")
    part = flexible_part("body 'boom'", beam, modes=2)
    centre = np.array([1.0, 1.0, 3.0])
    np.testing.assert_allclose(part.first, centre, rtol=1e-12)
    rod = LENGTH**2 / 12 * np.diag([1.0, 0.0, 1.0])
    steiner = centre @ centre * np.eye(3) - np.outer(centre, centre)
    np.testing.assert_allclose(part.inertia, rod + steiner, atol=1e-12)
    np.testing.assert_allclose(part.node("tip").position, [1, 0, 3])
    assert np.max(np.abs(part.node("tip").shape[1])) < 1e-12  # nothing moves along the beam
    np.testing.assert_allclose(np.abs(part.node("tip").shape[[0, 2]].sum(axis=0)), 2.0, rtol=1e-9)


def test_slopes_are_rotations_and_nodes_are_anywhere() -> None:
    """Θ at a station is ½ curl of the displacement there, by finite differences along the beam."""
    beam = Beam(
        LENGTH,
        EI=(3.0, 4.0),
        EA=500.0,
        GJ=9.0,
        polar=0.1,
        mass_per_length=MASS,
        along=(1, 2, -1),
        stations={"mid": 1.0},
    )
    part = flexible_part("body 'boom'", beam, modes=6)
    step, axis = 1e-6, np.array([1, 2, -1]) / np.sqrt(6)
    slope = (part.node(1.0 + step).shape - part.node(1.0 - step).shape) / (2 * step)
    across = np.cross(axis, slope, axisb=0, axisc=0)  # of bending; a twist has no displacement on the axis
    turned = part.node("mid").rotation
    np.testing.assert_allclose(turned - np.outer(axis, axis @ turned), across, atol=1e-8)
    np.testing.assert_allclose(part.node("mid").shape, part.node(1.0).shape, atol=1e-14)
    assert set(part.nodes) == {"root", "tip", "mid"}


def arc(part: FlexiblePart, eta: np.ndarray, count: int) -> float:
    """The length of the deformed axis, by its chords; foreshortening included."""
    places = []
    for s in np.linspace(0, LENGTH, count):
        node = part.node(float(s))
        assert node.shortening is not None
        places.append(
            node.position + node.shape @ eta + 0.5 * np.einsum("p,q,ipq->i", eta, eta, node.shortening)
        )
    return float(np.sum(np.linalg.norm(np.diff(places, axis=0), axis=1)))


def test_foreshortening_keeps_the_length_of_the_beam() -> None:
    """With G the arc grows by the fourth order of the amplitude only; without it by the second."""
    beam = Beam(LENGTH, EI=(3.0, 4.0), mass_per_length=MASS)
    part = flexible_part("body 'boom'", beam, modes=4, stiffening=True)
    direction = np.array([0.3, -0.2, 0.1, 0.15])
    large, small = (arc(part, size * direction, 51) / LENGTH - 1 for size in (0.4, 0.2))
    assert abs(large) < 2e-3
    assert np.log2(abs(large / small)) == pytest.approx(4.0, abs=0.3)


def test_stiffening_arrays_are_sums_over_the_shortened_beam() -> None:
    """g, J2 and H1 against finite differences of c, J and H of many displaced slices."""
    beam = Beam(LENGTH, EI=(3.0, 4.0), mass_per_length=MASS, origin=(0.3, -0.1, 0.2), along="z", tip_mass=0.4)
    part = flexible_part("body 'boom'", beam, modes=4, stiffening=True)
    points, weights = np.polynomial.legendre.leggauss(60)
    nodes = [part.node(float(s)) for s in np.append(LENGTH / 2 * (1 + points), LENGTH)]
    masses = np.append(MASS * LENGTH / 2 * weights, 0.4)

    places, shapes = np.array([n.position for n in nodes]), np.array([n.shape for n in nodes])
    shortening = np.array([n.shortening for n in nodes])

    def sums(eta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        x = places + shapes @ eta + 0.5 * np.einsum("p,q,nipq->ni", eta, eta, shortening)
        rate = shapes + np.einsum("nipq,q->nip", shortening, eta)
        J = (masses @ np.sum(x * x, axis=1)) * np.eye(3) - np.einsum("n,ni,nj->ij", masses, x, x)
        H = np.einsum("n,nip->ip", masses, np.cross(x[:, :, None], rate, axis=1))
        return masses @ x, J, H

    step, unit = 1e-3, np.eye(4)
    assert part.g is not None and part.J2 is not None and part.H1 is not None
    for p in range(4):
        ahead, behind = sums(step * unit[p]), sums(-step * unit[p])
        np.testing.assert_allclose((ahead[2] - behind[2]) / (2 * step), part.H1[p], atol=1e-5)
        for q in range(4):
            corners = [sums(step * (a * unit[p] + b * unit[q])) for a in (1, -1) for b in (1, -1)]
            second = [
                (corners[0][k] - corners[1][k] - corners[2][k] + corners[3][k]) / (4 * step**2)
                for k in (0, 1)
            ]
            np.testing.assert_allclose(second[0], part.g[p, q], atol=1e-6)
            np.testing.assert_allclose(second[1], part.J2[p, q], atol=1e-4)


def test_stiffening_raises_the_frequency_of_a_spinning_beam_as_southwell_says() -> None:
    """ω² = ω₀² + k Ω²: flapping of a cantilever rotating about its root, k = 1.193 in its first mode.

    k from the energy, ½ΩᵀJ(η)Ω with rotation about the axis at right angles to the flapping plane's normal
    (Wright et al. 1982: k₁ = 1.193 for the mode shape at rest).
    """
    beam = Beam(LENGTH, EI=EI, mass_per_length=MASS, motions="z")
    part = flexible_part("body 'boom'", beam, modes=1, stiffening=True)
    assert part.J2 is not None
    assert -0.5 * part.J2[0, 0, 2, 2] / part.M[0, 0] == pytest.approx(1.193, abs=1e-3)


def test_sections_follow_their_formulas() -> None:
    tube = Section.tube(0.05, 0.002)
    assert tube.area == pytest.approx(np.pi * (0.05**2 - 0.048**2))
    assert pytest.approx(2 * tube.Iy) == tube.J
    square = Section.rectangle(0.1, 0.1)
    assert pytest.approx(0.1406 * 0.1**4, rel=5e-4) == square.J  # Timoshenko and Goodier, table of art. 109
    flat = Section.rectangle(y=0.2, z=0.1)
    assert pytest.approx(0.229 * 0.2 * 0.1**3, rel=2e-3) == flat.J
    assert flat.Iz == pytest.approx(4 * flat.Iy)
    beam = Beam(3.0, E=70e9, nu=0.3, density=2700.0, section=tube)
    part = flexible_part("body 'boom'", beam, modes=4)
    first = 1.87510407**2 / 9 * np.sqrt(70e9 * tube.Iy / (2700 * tube.area))
    np.testing.assert_allclose(part.frequencies[:2], first, rtol=1e-7)


def test_frequency_limit_takes_every_mode_below_it() -> None:
    beam = Beam(LENGTH, EI=(3.0, 4.0), EA=50.0, GJ=9.0, polar=0.1, mass_per_length=MASS)
    many = flexible_part("body 'boom'", beam, modes=20)
    limited = flexible_part("body 'boom'", beam, frequency_limit=float(many.frequencies[12]) * 1.0001)
    np.testing.assert_allclose(limited.frequencies, many.frequencies[:13], rtol=1e-12)


def test_truncation_keeps_the_first_modes() -> None:
    beam = Beam(LENGTH, EI=(3.0, 4.0), mass_per_length=MASS)
    many = flexible_part("body 'boom'", beam, modes=6, stiffening=True, damping=0.02).truncated(3)
    few = flexible_part("body 'boom'", beam, modes=3, stiffening=True, damping=0.02)
    for key in ("P", "H", "M", "K", "C", "J1", "J2", "H1", "g"):
        np.testing.assert_allclose(getattr(many, key), getattr(few, key), atol=1e-10, err_msg=key)
    np.testing.assert_allclose(many.node(0.7).shortening, few.node(0.7).shortening, atol=1e-10)
    np.testing.assert_allclose(many.damping, 0.02)
    np.testing.assert_array_equal(few.truncated(3).frequencies, few.frequencies)  # all of them are some
    assert many.table().splitlines()[1].split() == [
        "1", "0.342678", "0.02", "0", "0", "0.6131",
    ]  # fmt: skip


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_roots_are_found_once_wherever_they_lie(sign: float) -> None:
    """Of a product of which two roots are places of the search itself, to the last bit."""
    grid = np.arange(0.5, 0.5 + 10 * np.pi, _STEP)
    expected = [grid[37], grid[50], 1.2345]

    def product(x: np.ndarray) -> np.ndarray:
        return sign * (x - expected[0]) * (x - expected[1]) * (x - expected[2])

    assert roots(product, 3, 0.5) == pytest.approx(expected, abs=1e-14)
