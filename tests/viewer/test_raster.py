"""Pixels of triangles: those whose middle lies inside, edges and corners included."""

from __future__ import annotations

import numpy as np
import pytest

from armillary.viewer.picture import Painter, fragments, plane, scene_axes

WIDTH, HEIGHT = 12, 9
RNG = np.random.default_rng(6)


def inside(corners: np.ndarray, x: float, y: float) -> bool:
    """By the signs of the three areas."""
    signs = []
    for k in range(3):
        (xa, ya), (xb, yb) = corners[k], corners[(k + 1) % 3]
        signs.append((xb - xa) * (y - ya) - (yb - ya) * (x - xa))
    return min(signs) >= 0 or max(signs) <= 0


TRIANGLES = {
    "corners on middles": [[1.5, 1.5], [7.5, 2.5], [3.5, 6.5]],
    "an even edge": [[2.5, 2.5], [8.5, 2.5], [5.5, 7.5]],
    "beyond the screen": [[-3.0, -2.0], [15.0, 4.0], [4.0, 12.0]],
    **{f"by chance {k}": RNG.uniform(-1.0, 11.0, (3, 2)).tolist() for k in range(4)},
}


@pytest.mark.parametrize("name", TRIANGLES)
def test_the_pixels_are_those_whose_middle_lies_inside(name: str) -> None:
    corners = np.array(TRIANGLES[name])
    nearness = np.array([[1.0, 2.0, 4.0]])
    found = fragments(corners[None], nearness, WIDTH, HEIGHT)
    expected = {
        row * WIDTH + column
        for row in range(HEIGHT)
        for column in range(WIDTH)
        if inside(corners, column + 0.5, row + 0.5)
    }
    assert set(found.pixel.tolist()) == expected and len(found.pixel) == len(expected)


def test_values_are_those_of_the_plane_through_the_corners() -> None:
    corners = RNG.uniform(0.0, 9.0, (5, 3, 2))
    values = RNG.normal(size=(5, 3))
    made = plane(corners, values)
    for k in range(3):
        x, y = corners[:, k].T
        np.testing.assert_allclose(made.at(np.arange(5), x, y), values[:, k], atol=1e-9)


@pytest.mark.parametrize("up", [(0, 0, 1), (0, 1, 0), (0, 0, -1), (0.6, 0, 0.8)])
def test_light_falls_from_above_from_the_right_and_from_behind_the_eye(up: tuple[float, ...]) -> None:
    right, front = scene_axes(np.array(up, dtype=float))
    axes = np.array([up, right, front])
    np.testing.assert_allclose(axes @ axes.T, np.eye(3), atol=1e-15)
    assert np.linalg.det(axes) == pytest.approx(1.0)
    light = axes @ Painter(np.array(up, dtype=float), None, "light").sun
    assert light == pytest.approx(np.array([2.2, 1.1, -0.8]) / np.sqrt(2.2**2 + 1.1**2 + 0.8**2))
