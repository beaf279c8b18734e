"""Ready plates against published frequencies and the beam that a narrow plate is."""

from __future__ import annotations

import numpy as np
import pytest

from armillary.model.flexible.modal_data import flexible_part
from armillary.model.flexible.part import FlexiblePart
from armillary.model.flexible.plate import Plate


def parameters(root: str, a: float, b: float, nu: float, modes: int) -> tuple[FlexiblePart, np.ndarray]:
    """The part, and ω a² √(ρh/D)."""
    plate = Plate(a, b, 0.01, E=70e9, nu=nu, density=2700.0, root=root)
    part = flexible_part("body 'panel'", plate, modes=modes)
    return part, part.frequencies * a**2 * np.sqrt(plate.mass_per_area / plate.rigidity)


@pytest.mark.parametrize(
    ("root", "published"),
    [
        ("clamped", [3.4917, 8.5246, 21.429, 27.331, 31.111, 54.443]),
        ("free", [13.489, 19.789, 24.432, 35.024, 35.024, 61.526]),
    ],
)
def test_square_plates_lie_just_below_leissas_bounds(root: str, published: list[float]) -> None:
    """Leissa (1973), cases CFFF and FFFF at ν = 0.3: 36 beam functions, so bounds from above, within 1 %."""
    found = parameters(root, 1.0, 1.0, 0.3, 6)[1]
    assert np.all(found < published) and np.all(found > 0.99 * np.array(published))


def test_plate_without_lateral_contraction_bends_as_a_beam() -> None:
    """ν = 0: the modes that do not twist are those of a cantilever beam, 3.5160, 22.0345, 61.6972."""
    found = parameters("clamped", 1.0, 0.1, 0.0, 3)[1]
    np.testing.assert_allclose(found, np.array([1.87510407, 4.69409113, 7.85475744]) ** 2, rtol=1e-7)


def test_more_polynomials_lower_the_frequencies_and_hardly() -> None:
    few, many = (parameters("clamped", 1.0, 1.0, 0.3, modes)[1][:4] for modes in (4, 60))
    assert np.all(many <= few * (1 + 1e-12))
    np.testing.assert_allclose(many, few, rtol=1e-4)


def test_free_plate_has_no_momentum_in_its_modes() -> None:
    part, _ = parameters("free", 2.0, 1.0, 0.3, 6)
    assert np.max(np.abs(part.P)) < 1e-10 and np.max(np.abs(part.H)) < 1e-10
    assert part.check_orthogonal() < 1e-10


def test_plate_stands_where_it_was_put() -> None:
    """Mass, centre and inertia of a lamina in the x-z plane; the clamped edge holds still and level."""
    plate = Plate(2.0, 1.0, 0.01, E=70e9, nu=0.3, density=2700.0, along="x", across="z", origin=(0.5, 0, 0))
    part = flexible_part("body 'panel'", plate, modes=4)
    mass = 2700 * 0.02
    assert part.mass == pytest.approx(mass, rel=1e-12)
    np.testing.assert_allclose(part.first, [1.5 * mass, 0, 0], atol=1e-12)
    rod, width = mass * (4 / 12 + 1.5**2), mass / 12
    np.testing.assert_allclose(np.diag(part.inertia), [width, rod + width, rod], rtol=1e-12)
    for name in ("root", "corner1", "corner4"):
        assert np.max(np.abs(part.node(name).shape)) == 0 and np.max(np.abs(part.node(name).rotation)) == 0
    np.testing.assert_allclose(part.node("corner2").position, [2.5, 0, -0.5])
    assert np.max(np.abs(part.node("tip").shape[[0, 2]])) == 0  # only along its normal, −y


def test_rotations_are_the_slopes_of_the_surface() -> None:
    plate = Plate(2.0, 1.0, 0.01, E=70e9, nu=0.3, density=2700.0)
    part = flexible_part("body 'panel'", plate, modes=5)
    step = 1e-6
    along = (part.node((1.2 + step, 0.1)).shape[2] - part.node((1.2 - step, 0.1)).shape[2]) / (2 * step)
    across = (part.node((1.2, 0.1 + step)).shape[2] - part.node((1.2, 0.1 - step)).shape[2]) / (2 * step)
    np.testing.assert_allclose(part.node((1.2, 0.1)).rotation, [across, -along, 0 * along], atol=1e-7)
