"""Surfaces of any part of a body, with the colours it has by itself: solids, lines, planes and meshes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from armillary.files.meshes.surface import Paint
from armillary.untyped import DataMapping
from armillary.viewer.parts.meshes import PictureMesh
from armillary.viewer.parts.surfaces import MAKERS as SOLIDS
from armillary.viewer.parts.surfaces import DrawnSurface, between, joined, placed, surface_of

_CREASE = np.cos(np.deg2rad(35.0))  # faces that meet at more are seen as an edge
# Colours of what is not a body's own, where the part states none.
_COLOURS = {"plane": "#cfd6dc", "grid": "#8a949d", "heights": "#a9b4a2", "earth": "#2b6ca3"}
_ORBIT = "#e69f00"
_FINE = 4096  # corners of a mesh are one where they are as close in its picture, whose side is one
_LINE = 0.002  # width of a line as a part of what it belongs to


def surfaces_of(
    part: DataMapping, meshes: Mapping[str, PictureMesh | None]
) -> list[tuple[DrawnSurface, str]]:
    """Surfaces of a part in the axes of its body, each with a colour; "" is that of the body."""
    own = part.get("colour") or _COLOURS.get(part["kind"], "")
    if part["kind"] == "mesh":
        known = mesh_surfaces(meshes[part["mesh"]])
        return [(placed(one.surface, part), own or one.paint.colour) for one in known]
    if part["kind"] in SOLIDS:
        made = surface_of(part)
        return [] if made is None else [(made, own)]
    if (maker := _MAKERS.get(part["kind"])) is None:
        return []
    found = [(placed(maker(part), part), own)]
    if "orbit" in part:
        line = _tube(np.array(part["orbit"]), 2 * _LINE * part["radius"])
        found.append((placed(line, part), _ORBIT))
    return found


# ------------------------------------------------------------ meshes


class PaintedSurface(NamedTuple):
    """A surface with its paint, and places (n, 2) of its corners in the paint's picture, if it has one."""

    surface: DrawnSurface
    paint: Paint
    mapped: np.ndarray | None


def mesh_surfaces(mesh: PictureMesh | None) -> list[PaintedSurface]:
    """The faces of each paint of a mesh, with normals that are smooth except for edges."""
    if mesh is None:
        return []
    ends = [*(first for first, _ in mesh.paints[1:]), len(mesh.faces)]
    normals = _creased(mesh)
    found = []
    for (first, paint), end in zip(mesh.paints, ends, strict=True):
        corners, directions = mesh.faces[first:end].ravel(), normals[3 * first : 3 * end]
        keys = np.column_stack([corners, np.rint(1000 * directions).astype(np.int64)])
        spots = mesh.mapped[first:end].reshape(-1, 2) if mesh.mapped is not None and paint.image else None
        if spots is not None:
            keys = np.column_stack([keys, np.rint(_FINE * spots).astype(np.int64)])
        _, index, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        vertices = mesh.corners[corners[index]]
        made = DrawnSurface(vertices, directions[index], inverse.reshape(-1, 3))
        found.append(PaintedSurface(made, paint, None if spots is None else spots[index]))
    return found


def _creased(mesh: PictureMesh) -> np.ndarray:
    """A unit normal for each corner of each face: the sum of those of the faces around that make no edge
    with its own, weighted by their areas.
    """
    A, B, C = mesh.corners[mesh.faces].transpose(1, 0, 2)
    areas = np.cross(B - A, C - A)
    units = areas / np.maximum(np.linalg.norm(areas, axis=1, keepdims=True), 1e-300)
    corners, faces = mesh.faces.ravel(), np.repeat(np.arange(len(mesh.faces)), 3)
    order = np.argsort(corners, kind="stable")
    count = np.bincount(corners)
    start = np.cumsum(count) - count
    many = count[corners]  # faces around each corner
    mine = np.repeat(np.arange(len(corners)), many)
    other = order[
        np.arange(many.sum()) - np.repeat(np.cumsum(many) - many, many) + np.repeat(start[corners], many)
    ]
    smooth = np.einsum("ij,ij->i", units[faces[mine]], units[faces[other]]) > _CREASE
    normals = np.stack(
        [np.bincount(mine, np.where(smooth, areas[faces[other], k], 0.0), len(corners)) for k in range(3)],
        axis=1,
    )
    return np.asarray(normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300))


# ------------------------------------------------------------ lines and planes, across z


def _polyline(part: DataMapping) -> DrawnSurface:
    return _tube(np.array(part["points"]), part["radius"])


def _tube(points: np.ndarray, radius: float) -> DrawnSurface:
    """Cylinders from point to point with a ball at each."""
    ball = surface_of({"kind": "sphere", "radius": radius})
    assert ball is not None
    rods = [between(a, b, radius, around=10) for a, b in pairwise(points)]
    return joined([*rods, *(ball.moved(np.eye(3), p) for p in points)])


def _sheet(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> DrawnSurface:
    """A surface of heights above a grid of places, with both sides."""
    nx, ny = z.shape
    vertices = np.stack([np.repeat(x, ny), np.tile(y, nx), z.ravel()], axis=1)
    faces = sheet_faces(nx, ny)
    slopes = [np.gradient(z, places, axis=k) for k, places in enumerate((x, y))]
    normals = np.stack([-slopes[0].ravel(), -slopes[1].ravel(), np.ones(nx * ny)], axis=1)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    return both_sides(DrawnSurface(vertices, normals, faces))


def sheet_faces(nx: int, ny: int) -> np.ndarray:
    """Triangles between nx × ny places in rows."""
    k = (np.arange(nx - 1)[:, None] * ny + np.arange(ny - 1)).ravel()
    one, other = np.stack([k, k + ny, k + 1], axis=1), np.stack([k + ny, k + ny + 1, k + 1], axis=1)
    return np.concatenate([one, other])


def both_sides(made: DrawnSurface) -> DrawnSurface:
    """A surface that is seen from behind, too."""
    return joined([made, DrawnSurface(made.vertices, -made.normals, made.faces[:, ::-1])])


def _heights(part: DataMapping) -> DrawnSurface:
    z = np.array(part["z"])
    (x0, x1), (y0, y1) = part["x"], part["y"]
    return _sheet(np.linspace(x0, x1, z.shape[0]), np.linspace(y0, y1, z.shape[1]), z)


def _rectangle(x: tuple[float, float], y: tuple[float, float]) -> DrawnSurface:
    return _sheet(np.array(x), np.array(y), np.zeros((2, 2)))


def _plane(part: DataMapping) -> DrawnSurface:
    a, b = 0.5 * part["x"], 0.5 * part["y"]
    return _rectangle((-a, a), (-b, b))


def _grid(part: DataMapping) -> DrawnSurface:
    """Narrow strips."""
    a, b = 0.5 * part["x"], 0.5 * part["y"]
    step = max(part["spacing"], max(a, b) / 500)
    w = _LINE * max(a, b)
    lines = [_rectangle((x - w, x + w), (-b, b)) for x in np.arange(-a, a * (1 + 1e-9), step)]
    return joined(lines + [_rectangle((-a, a), (y - w, y + w)) for y in np.arange(-b, b * (1 + 1e-9), step)])


def _earth(part: Mapping[str, object]) -> DrawnSurface:
    ball = surface_of({"kind": "sphere", "radius": part["radius"]})
    assert ball is not None
    return ball


_MAKERS: dict[str, Callable[[DataMapping], DrawnSurface]] = {
    "polyline": _polyline, "plane": _plane, "grid": _grid, "heights": _heights, "earth": _earth,
}  # fmt: skip
