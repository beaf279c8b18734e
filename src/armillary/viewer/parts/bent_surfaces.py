"""Surfaces of bending parts, and how far a unit of each mode moves their corners."""

from __future__ import annotations

import numpy as np

from armillary.untyped import DataMapping
from armillary.viewer.parts.part_surfaces import both_sides, sheet_faces
from armillary.viewer.parts.surfaces import DrawnSurface, joined, surface_of, turned_to

_AROUND = 12  # corners around a beam


def bent_surface(part: DataMapping) -> tuple[DrawnSurface, list[np.ndarray]]:
    """A tube along a beam, a sheet for a plate, balls at the points of another part; and displacements of
    the corners, an array per mode. A corner moves as the point of the part that it belongs to.
    """
    places = np.asarray(part["places"], dtype=float)
    shapes = np.asarray(part["shapes"], dtype=float)  # points × modes × 3
    if "sheet" in part:
        surface, owner = _sheet(places, *part["sheet"])
    elif part["chain"]:
        surface, owner = _tube(places, part["radius"])
    else:
        ball = surface_of({"kind": "sphere", "radius": 1.6 * part["radius"]})
        assert ball is not None
        surface = joined([ball.moved(np.eye(3), place) for place in places])
        owner = np.repeat(np.arange(len(places)), len(ball.vertices))
    return surface, [shapes[owner, m] for m in range(shapes.shape[1])]


def bent(part: DataMapping, amplitudes: np.ndarray) -> DrawnSurface:
    """The surface with these amplitudes of the modes; that of a plate with its normals there."""
    surface, targets = bent_surface(part)
    moved = surface.vertices + sum(a * target for a, target in zip(amplitudes, targets, strict=True))
    if "sheet" not in part:
        return DrawnSurface(moved, surface.normals, surface.faces)
    nx, ny = part["sheet"]
    front = moved[: nx * ny]
    return both_sides(DrawnSurface(front, _normals(front, nx, ny), sheet_faces(nx, ny)))


def _sheet(places: np.ndarray, nx: int, ny: int) -> tuple[DrawnSurface, np.ndarray]:
    made = DrawnSurface(places, _normals(places, nx, ny), sheet_faces(nx, ny))
    return both_sides(made), np.tile(np.arange(len(places)), 2)


def _normals(places: np.ndarray, nx: int, ny: int) -> np.ndarray:
    """Unit normals of a sheet of nx × ny places."""
    grid = places.reshape(nx, ny, 3)
    normals = np.cross(np.gradient(grid, axis=0), np.gradient(grid, axis=1)).reshape(-1, 3)
    return np.asarray(normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300))


def _tube(places: np.ndarray, radius: float) -> tuple[DrawnSurface, np.ndarray]:
    """Rings of corners around the points of a beam, with flat ends."""
    angle = np.linspace(0.0, 2 * np.pi, _AROUND + 1)
    along = np.gradient(places, axis=0)
    ring = np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1)
    around = np.stack([ring @ turned_to(d).T for d in along])  # points × corners × 3
    vertices = (places[:, None] + radius * around).reshape(-1, 3)
    owner = np.repeat(np.arange(len(places)), _AROUND + 1)
    tube = DrawnSurface(vertices, around.reshape(-1, 3), sheet_faces(len(places), _AROUND + 1))
    caps, owners = [], [owner]
    for k, side in ((0, -1.0), (len(places) - 1, 1.0)):
        corners = np.concatenate([places[k][None], places[k] + radius * around[k, :-1]])
        i = np.arange(_AROUND)
        fan = np.stack([0 * i, i + 1, (i + 1) % _AROUND + 1], axis=1)
        normal = side * along[k] / max(float(np.linalg.norm(along[k])), 1e-300)
        caps.append(
            DrawnSurface(corners, np.tile(normal, (len(corners), 1)), fan if side > 0 else fan[:, ::-1])
        )
        owners.append(np.full(len(corners), k))
    return joined([tube, *caps]), np.concatenate(owners)
