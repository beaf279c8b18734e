"""Surfaces as geometry: closed ones have the volume of their polyhedron, normals are unit and point outwards.

Volumes by the divergence theorem, Σ a·(b × c)/6 over the triangles, against closed forms of prisms and of
frustums with as many corners; both hold to rounding.
"""

from __future__ import annotations

import numpy as np
import pytest

from armillary.files.mesh_surface import Paint
from armillary.viewer import surfaces
from armillary.viewer.page_data import PictureMesh
from armillary.viewer.surfaces import DrawnSurface, surface_of, surfaces_of

AROUND = 28


def volume(made: DrawnSurface) -> float:
    a, b, c = made.vertices[made.faces].transpose(1, 0, 2)
    return float(np.einsum("ij,ij->", a, np.cross(b, c))) / 6


def open_edges(made: DrawnSurface) -> int:
    """Edges without another triangle that runs along them the other way."""
    places = np.round(made.vertices / np.ptp(made.vertices, axis=0).max(), 9) + 0.0
    _, same = np.unique(places, axis=0, return_inverse=True)
    edges = same.reshape(-1)[made.faces][:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
    edges = edges[edges[:, 0] != edges[:, 1]]
    forth, back = {tuple(e) for e in edges}, {tuple(e[::-1]) for e in edges}
    return len(forth ^ back)


def check_normals(made: DrawnSurface, least: float) -> None:
    """Unit normals, on the side from which the triangles are seen."""
    assert np.allclose(np.linalg.norm(made.normals, axis=1), 1.0, rtol=1e-12)
    a, b, c = made.vertices[made.faces].transpose(1, 0, 2)
    areas = np.cross(b - a, c - a)
    sizes = np.linalg.norm(areas, axis=1)
    seen = sizes > 1e-9 * sizes.max()
    cosines = np.einsum("ij,ikj->ik", areas[seen] / sizes[seen, None], made.normals[made.faces[seen]])
    assert cosines.min() > least


def ring_area(n: int, r: float) -> float:
    return 0.5 * n * np.sin(2 * np.pi / n) * r * r


def turned_volume(n: int, r: np.ndarray, h: np.ndarray) -> float:
    """Frustums of regular n-gons along a profile."""
    rr = r[:-1] ** 2 + r[:-1] * r[1:] + r[1:] ** 2
    return float(ring_area(n, 1.0) * np.sum(rr * np.diff(h)) / 3)


def arc(radius: float, low: float, high: float, middle: float, steps: int) -> tuple[np.ndarray, np.ndarray]:
    a = np.linspace(low, high, steps + 1)
    return radius * np.cos(a), middle + radius * np.sin(a)


def test_solids_have_the_volume_of_their_polyhedron() -> None:
    r, L = 0.3, 1.1
    low, high = arc(r, -np.pi / 2, 0, -L / 2, 6), arc(r, 0, np.pi / 2, L / 2, 6)
    whole = [np.concatenate(pair) for pair in zip(low, high, strict=True)]
    ball = arc(r, -np.pi / 2, np.pi / 2, 0.0, 12)
    expected = {
        "sphere": (turned_volume(AROUND, *ball), 0.9),
        "cylinder": (ring_area(AROUND, r) * L, 0.99),
        "cone": (ring_area(AROUND, r) * L / 3, 0.9),
        "capsule": (turned_volume(AROUND, *whole), 0.9),
        "box": (0.2 * 0.5 * 0.7, 1 - 1e-12),
        "ellipsoid": (turned_volume(AROUND, *ball) / r**3 * 0.2 * 0.5 * 0.7, 0.8),
        "rod": (ring_area(14, r) * np.sqrt(0.4**2 + 0.2**2 + 0.9**2), 0.97),
        "pin": (ring_area(AROUND, 0.25) * 1.1, 0.99),
        "sleeve": (0.55 * 0.55 * 1.2, 1 - 1e-12),
    }
    details = {"radius": r, "length": L, "size": (0.2, 0.5, 0.7), "radii": (0.2, 0.5, 0.7)}
    for kind, (size, least) in expected.items():
        part = {"kind": kind, **details, "from": (0.1, 0.2, -0.4), "to": (0.5, 0.4, 0.5)}
        if kind in ("pin", "sleeve"):
            part["size"] = 0.5
        made = surface_of(part)
        assert made is not None and volume(made) == pytest.approx(size, rel=1e-12), kind
        assert open_edges(made) == 0, kind
        check_normals(made, least)


def test_solids_lie_along_z_about_their_middle() -> None:
    for kind, half in (
        ("cylinder", (0.3, 0.3, 0.55)),
        ("cone", (0.3, 0.3, 0.55)),
        ("capsule", (0.3, 0.3, 0.85)),
        ("sphere", (0.3, 0.3, 0.3)),
    ):
        made = surface_of({"kind": kind, "radius": 0.3, "length": 1.1})
        assert made is not None
        assert np.allclose(np.abs(made.vertices).max(axis=0), half, rtol=0.01), kind
        assert np.allclose(made.vertices.max(axis=0)[2], half[2]) and np.allclose(
            made.vertices.min(axis=0)[2], -half[2]
        )
    cone = surface_of({"kind": "cone", "radius": 0.3, "length": 1.1})
    assert cone is not None
    top = cone.vertices[:, 2] > 0
    assert np.allclose(cone.vertices[top, :2], 0.0) and np.linalg.norm(cone.vertices, axis=1).max() > 0.6
    slant = cone.normals[top]
    assert np.allclose(slant[:, 2], 0.3 / np.hypot(0.3, 1.1))


@pytest.mark.parametrize(("length", "pieces"), [(0.1, 1), (4.0, 2), (6.5, 3), (90.0, 12)])
def test_long_cylinders_have_rings_between_their_ends(length: float, pieces: int) -> None:
    made = surfaces.cylinder(0.3, length)
    assert len(np.unique(np.round(made.vertices[:, 2], 9))) == pieces + 1
    assert volume(made) == pytest.approx(ring_area(AROUND, 0.3) * length)


def test_a_wheel_has_a_tyre_of_its_size_a_hub_and_six_spokes() -> None:
    made = surfaces._wheel(0.4, 0.15)
    tyre = 0.5 * 0.15
    assert np.linalg.norm(made.vertices[:, :2], axis=1).max() == pytest.approx(0.4, rel=1e-3)
    assert np.abs(made.vertices[:, 2]).max() == pytest.approx(tyre, rel=0.03)
    assert np.abs(surfaces._wheel(0.4, 0.9).vertices[: 15 * 57, 2]).max() == pytest.approx(0.1, rel=0.03)
    a = np.linspace(-np.pi, np.pi, 15)
    ring = turned_volume(56, 0.4 - tyre + tyre * np.cos(a), tyre * np.sin(a))
    spokes = 6 * ring_area(8, 0.01) * 2 * (0.4 - tyre)
    assert volume(made) == pytest.approx(ring + ring_area(AROUND, 0.064) * 0.15 + spokes, rel=1e-9)
    check_normals(made, 0.85)
    spoke = made.vertices[15 * 57 :]
    ends = spoke[np.linalg.norm(spoke[:, :2], axis=1) > 0.3]
    angles = np.degrees(np.arctan2(ends[:, 1], ends[:, 0])) % 360
    assert set(np.round(angles / 30).astype(int) % 12) == set(range(12))
    assert np.abs(angles / 30 - np.round(angles / 30)).max() < 0.07


def test_parts_are_stretched_turned_and_shifted_in_this_order() -> None:
    part = {"kind": "box", "size": (0.2, 0.4, 0.6), "scale": (2.0, 1.0, -0.5), "axis": (1.0, 0.0, 0.0),
            "at": (5.0, 6.0, 7.0)}  # fmt: skip
    made = surface_of(part)
    assert made is not None
    low, high = made.vertices.min(axis=0), made.vertices.max(axis=0)
    assert np.allclose(0.5 * (low + high), (5, 6, 7)) and np.allclose(high - low, (0.3, 0.4, 0.4))
    assert volume(made) == pytest.approx(0.048 * 2 * 0.5)  # mirrored, and seen from outside all the same
    check_normals(made, 1 - 1e-12)
    for factors in ((-1.0, -2.0, 1.0), (-1.0, 2.0, 3.0), (-1.0, -1.0, -1.0)):
        ball = surfaces.scale_surface(surfaces._sphere(1.0), factors)
        assert volume(ball) == pytest.approx(abs(np.prod(factors)) * volume(surfaces._sphere(1.0)))
    turn = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    other = surface_of({"kind": "box", "size": (0.2, 0.4, 0.6), "axes": turn.ravel().tolist()})
    assert other is not None and np.allclose(np.ptp(other.vertices, axis=0), (0.6, 0.2, 0.4))
    bent = surfaces.scale_surface(surfaces._sphere(1.0), (1.0, 2.0, 3.0))
    exact = bent.vertices / np.array([1.0, 4.0, 9.0])
    exact /= np.linalg.norm(exact, axis=1, keepdims=True)
    assert np.allclose(bent.normals, exact, atol=1e-12)


def test_rotations_take_z_to_the_axis_by_the_shorter_way() -> None:
    for axis in ((1.0, 0, 0), (0, -2.0, 0), (0.3, -0.4, 0.5), (0, 0, 3.0), (0.1, 0.2, -0.9), (0, 0, -1.0)):
        R = surfaces.turned_to(axis)
        k = np.array(axis) / np.linalg.norm(axis)
        assert np.allclose(R @ (0, 0, 1), k) and np.allclose(R @ R.T, np.eye(3))
        assert np.linalg.det(R) == pytest.approx(1.0) and np.trace(R) == pytest.approx(1 + 2 * k[2])


def test_a_spring_winds_between_straight_ends() -> None:
    made = surfaces.helix(0.2, 1.5, turns=9, around=5, steps=150)
    line = made.vertices.reshape(151, 6, 3)[:, :-1].mean(axis=1)
    z = np.linspace(-0.75, 0.75, 151)
    assert np.allclose(line[:, 2], z)
    r = np.hypot(line[:, 0], line[:, 1])
    s = np.linspace(0, 1, 151)
    inner = (s > 0.0601) & (s < 0.9399)
    assert np.allclose(r[inner], 0.2, rtol=1e-9) and np.all(r[(s < 0.0599) | (s > 0.9401)] < 1e-12)
    angle = np.unwrap(np.arctan2(line[inner, 1], line[inner, 0]))
    assert angle[-1] - angle[0] == pytest.approx(2 * np.pi * 9)
    assert np.allclose(np.linalg.norm(made.vertices.reshape(151, 6, 3) - line[:, None], axis=2), 0.028)
    wound = (s > 0.09) & (s < 0.91)
    check_normals(made._replace(faces=made.faces[wound[made.faces // 6].all(axis=1)]), 0.5)


def test_lines_are_cylinders_from_point_to_point_with_balls() -> None:
    points = [(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (1.0, 2.0, 0.0)]
    [(made, colour)] = surfaces_of(
        {"kind": "polyline", "points": points, "radius": 0.1, "colour": "#123456"}, {}
    )
    balls = 3 * volume(surfaces._sphere(0.1))
    assert volume(made) == pytest.approx(ring_area(10, 0.1) * 3.0 + balls) and colour == "#123456"
    assert len(surfaces.cylinder_between((1, 2, 3), (1, 2, 3), 0.1).faces) == 0
    with_orbit = {
        "kind": "earth",
        "radius": 2.0,
        "orbit": [(5.0, 0.0, 0.0), (0.0, 5.0, 0.0)],
        "at": (1.0, 0, 0),
    }
    (earth, blue), (orbit, line) = surfaces_of(with_orbit, {})
    assert volume(earth) == pytest.approx(volume(surfaces._sphere(2.0))) and blue != line
    size = ring_area(10, 0.008) * np.sqrt(50.0) + 2 * volume(surfaces._sphere(0.008))
    assert volume(orbit) == pytest.approx(size, rel=1e-9)
    assert orbit.vertices[:, 0].max() == pytest.approx(6.008)
    assert surfaces_of({"kind": "nothing"}, {}) == []


def test_heights_and_planes_are_seen_from_both_sides() -> None:
    x, y = np.linspace(-1, 2, 4), np.linspace(0, 1, 3)
    z = 0.5 * x[:, None] - 0.2 * y
    [(made, _)] = surfaces_of({"kind": "heights", "z": z.tolist(), "x": (-1, 2), "y": (0, 1)}, {})
    assert len(made.vertices) == 24 and len(made.faces) == 24
    corners = made.vertices[:12]
    assert np.allclose(corners[:, 2], 0.5 * corners[:, 0] - 0.2 * corners[:, 1])
    assert np.allclose(corners[[0, -1], :2], [(-1, 0), (2, 1)])
    up = np.array([-0.5, 0.2, 1.0]) / np.sqrt(1.29)
    assert np.allclose(made.normals[:12], up) and np.allclose(made.normals[12:], -up)
    check_normals(made, 1 - 1e-9)
    a, b, c = made.vertices[made.faces[:12]].transpose(1, 0, 2)
    assert np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2 == pytest.approx(3 * np.sqrt(1.29))
    [(plane, _)] = surfaces_of({"kind": "plane", "x": 4.0, "y": 2.0}, {})
    assert np.allclose(np.ptp(plane.vertices, axis=0), (4, 2, 0)) and np.allclose(
        plane.vertices.mean(axis=0), 0
    )


def test_grids_have_a_line_at_each_step_and_on_both_borders() -> None:
    [(made, _)] = surfaces_of({"kind": "grid", "x": 4.0, "y": 2.0, "spacing": 0.5}, {})
    assert len(made.vertices) == 8 * (9 + 5)
    wide = made.vertices[: 8 * 9].reshape(9, 8, 3)
    assert np.allclose(wide[:, :, 0].mean(axis=1), np.linspace(-2, 2, 9))
    assert np.allclose(np.ptp(wide, axis=1), (0.008, 2.0, 0.0))
    deep = made.vertices[8 * 9 :].reshape(5, 8, 3)
    assert np.allclose(deep[:, :, 1].mean(axis=1), np.linspace(-1, 1, 5))
    assert np.allclose(np.ptp(deep, axis=1), (4.0, 0.008, 0.0))
    [(fine, _)] = surfaces_of({"kind": "grid", "x": 1.0, "y": 1.0, "spacing": 1e-9}, {})
    assert len(fine.vertices) == 8 * 2 * 1001


def test_normals_of_a_mesh_are_smooth_except_at_edges() -> None:
    """A box of triangles keeps its edges; a wide prism of 24 sides is round, its ends are flat."""
    angle = np.linspace(0, 2 * np.pi, 24, endpoint=False)
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    corners = np.concatenate([np.c_[ring, -np.ones(24)], np.c_[ring, np.ones(24)], [(0, 0, 1.0)]])
    k, n = np.arange(24), (np.arange(24) + 1) % 24
    sides = np.concatenate([np.stack([k, n, n + 24], 1), np.stack([k, n + 24, k + 24], 1)])
    lid = np.stack([k + 24, n + 24, np.full(24, 48)], axis=1)
    faces = np.concatenate([sides, lid])
    levels = np.round((corners + 1.0) * 30000).astype(int)
    paints = ((0, Paint("#112233")), (48, Paint("#445566")))
    mesh = PictureMesh(levels, np.full(3, -1.0), 1 / 30000, faces, paints)
    side, top = surfaces.mesh_surfaces(mesh)
    assert (side.paint.colour, top.paint.colour) == ("#112233", "#445566") and side.mapped is None
    outward = side.surface.vertices * (1, 1, 0)
    assert np.allclose(np.einsum("ij,ij->i", side.surface.normals, outward), 1.0, atol=2e-3)
    assert np.allclose(side.surface.normals[:, 2], 0.0) and len(side.surface.vertices) == 48
    assert np.allclose(top.surface.normals, (0, 0, 1)) and len(top.surface.vertices) == 25
    assert surfaces.mesh_surfaces(None) == []


def test_bent_parts_move_with_their_points() -> None:
    places = [(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (2.0, 0.0, 0.0)]
    shapes = [[(0.0, 0.0, 0.0)], [(0.0, 0.0, 0.25)], [(0.0, 0.0, 1.0)]]
    part = {"places": places, "shapes": shapes, "radius": 0.1, "chain": False}
    balls = surfaces.deform_surface(part, np.array([0.5]))
    each = len(balls.vertices) // 3
    for i, height in enumerate((0.0, 0.125, 0.5)):
        own = balls.vertices[i * each : (i + 1) * each]
        assert np.allclose(0.5 * (own.min(axis=0) + own.max(axis=0)), (i, 0, height), atol=0.002)
        assert np.ptp(own[:, 2]) == pytest.approx(0.32)
    tube = surfaces.deform_surface({**part, "chain": True}, np.array([0.0]))
    assert volume(tube) == pytest.approx(ring_area(12, 0.1) * 2.0) and open_edges(tube) == 0
    check_normals(tube, 0.9)
    bent = surfaces.deform_surface({**part, "chain": True}, np.array([1.0])).vertices
    assert np.allclose(bent - tube.vertices, np.outer(0.25 * tube.vertices[:, 0] ** 2, (0, 0, 1)), atol=1e-12)
    flat = [(x, y, 0.0) for x in (0.0, 1.0, 2.0) for y in (0.0, 1.0)]
    sheet = {"places": flat, "shapes": [[(0.0, 0.0, x)] for x, _, _ in flat], "sheet": (3, 2), "radius": 0.1}
    found = surfaces.deform_surface(sheet, np.array([0.5]))
    up = np.array([-0.5, 0.0, 1.0]) / np.sqrt(1.25)
    assert np.allclose(found.normals, np.repeat([up, -up], 6, axis=0)) and len(found.faces) == 8
    check_normals(found, 1 - 1e-9)


def test_surfaces_are_joined_with_their_own_faces() -> None:
    """No surface is one without vertices; the volume of two boxes is the sum of theirs."""
    none = surfaces.join_surfaces([])
    assert (none.vertices.shape, none.normals.shape, none.faces.shape) == ((0, 3), (0, 3), (0, 3))
    one, two = surfaces.box((1.0, 2.0, 3.0)), surfaces.box((0.5, 0.5, 2.0)).move(np.eye(3), (4.0, 0, 0))
    both = surfaces.join_surfaces([one, none, two])
    assert volume(both) == pytest.approx(6.5) and len(both.faces) == len(one.faces) + len(two.faces)
    assert open_edges(both) == 0
