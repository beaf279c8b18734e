"""Surfaces of the parts of bodies as triangles, rigid and bent, for writers that do not use a browser.

All round solids come from one construction: a profile (distance r from the axis, height h along it, and the
normal there) turned about the axis. Parts of any kind (solids, lines, planes, meshes) become surfaces with
their own colours; bending parts have, for each mode, the displacements of their corners at a
unit amplitude.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from armillary.files.mesh_surface import Paint
from armillary.untyped import DataMapping
from armillary.viewer.page_data import PictureMesh

_AROUND = 28  # corners of a circle


class DrawnSurface(NamedTuple):
    """Corners with their normals, and triangles as triples of corners."""

    vertices: np.ndarray  # n × 3
    normals: np.ndarray  # n × 3, unit
    faces: np.ndarray  # m × 3

    def move(self, rotation: np.ndarray, place: object = (0.0, 0.0, 0.0)) -> DrawnSurface:
        """Return the surface after a rotation and a shift."""
        turned = self.vertices @ rotation.T + np.asarray(place, dtype=float)
        return DrawnSurface(turned, self.normals @ rotation.T, self.faces)


def join_surfaces(surfaces: list[DrawnSurface]) -> DrawnSurface:
    """Join surfaces into one."""
    if not surfaces:
        return DrawnSurface(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((0, 3), dtype=int))
    first = np.cumsum([0, *(len(s.vertices) for s in surfaces[:-1])])
    return DrawnSurface(
        np.concatenate([s.vertices for s in surfaces]),
        np.concatenate([s.normals for s in surfaces]),
        np.concatenate([s.faces + k for s, k in zip(surfaces, first, strict=True)]),
    )


def surface_of(part: DataMapping) -> DrawnSurface | None:
    """Return the surface of a part of ``Appearance.parts``, in the axes of its body; None for a part without
    one.
    """
    maker = MAKERS.get(part["kind"])
    return None if maker is None else place_surface(maker(part), part)


def place_surface(made: DrawnSurface, part: DataMapping) -> DrawnSurface:
    """Return a surface along z, stretched, turned and shifted as its part states."""
    if "scale" in part:
        made = scale_surface(made, part["scale"])
    if "axis" in part:
        made = made.move(turned_to(part["axis"]))
    if "axes" in part:
        made = made.move(np.reshape(part["axes"], (3, 3)))
    return made.move(np.eye(3), part["at"]) if "at" in part else made


def scale_surface(made: DrawnSurface, factors: object) -> DrawnSurface:
    """Stretch a surface along its axes; reverse the faces of a mirrored surface."""
    s = np.asarray(factors, dtype=float)
    normals = made.normals / s
    normals = normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    faces = made.faces[:, ::-1] if np.prod(s) < 0 else made.faces
    return DrawnSurface(made.vertices * s, normals, faces)


def _strips(rows: int, columns: int) -> np.ndarray:
    """Return two triangles for each cell of a grid of points, which has ``rows`` × ``columns`` cells."""
    k = (np.arange(rows)[:, None] * (columns + 1) + np.arange(columns)).ravel()
    one = np.stack([k, k + 1, k + columns + 2], axis=1)
    other = np.stack([k, k + columns + 2, k + columns + 1], axis=1)
    return np.concatenate([one, other])


# ------------------------------------------------------------ solids, along z


def lathe(*profiles: object, around: int = _AROUND) -> DrawnSurface:
    """Turn profiles about z; each has rows (r, h, n_r, n_h)."""
    made = []
    angle = np.linspace(0.0, 2 * np.pi, around + 1)
    c, s = np.cos(angle), np.sin(angle)
    for profile in profiles:
        r, h, nr, nh = np.asarray(profile, dtype=float).T
        corners = np.stack([np.outer(r, c), np.outer(r, s), np.repeat(h[:, None], around + 1, 1)], axis=2)
        normals = np.stack([np.outer(nr, c), np.outer(nr, s), np.repeat(nh[:, None], around + 1, 1)], axis=2)
        lengths = np.linalg.norm(normals, axis=2, keepdims=True)
        made.append(
            DrawnSurface(
                corners.reshape(-1, 3),
                (normals / np.maximum(lengths, 1e-300)).reshape(-1, 3),
                _strips(len(r) - 1, around),
            )
        )
    return join_surfaces(made)


def _arc(radius: float, low: float, high: float, middle: float = 0.0, steps: int = 12) -> np.ndarray:
    """Return an arc about a point of the axis, with angles from the equator."""
    a = np.linspace(low, high, steps + 1)
    return np.stack([radius * np.cos(a), middle + radius * np.sin(a), np.cos(a), np.sin(a)], axis=1)


def _sphere(radius: float) -> DrawnSurface:
    return lathe(_arc(radius, -np.pi / 2, np.pi / 2))


def cylinder(radius: float, length: float, around: int = _AROUND) -> DrawnSurface:
    """Return a cylinder about z, its middle at the origin."""
    r, h = radius, 0.5 * length
    pieces = max(1, min(12, int(length / (6 * radius)))) if radius > 0 else 1
    side = [(r, x, 1, 0) for x in np.linspace(-h, h, pieces + 1)]
    return lathe([(0, -h, 0, -1), (r, -h, 0, -1)], side, [(r, h, 0, 1), (0, h, 0, 1)], around=around)


def _cone(radius: float, length: float) -> DrawnSurface:
    h = 0.5 * length
    side = [(radius, -h, length, radius), (0, h, length, radius)]
    return lathe([(0, -h, 0, -1), (radius, -h, 0, -1)], side)


def _capsule(radius: float, length: float) -> DrawnSurface:
    h = 0.5 * length
    top, bottom = _arc(radius, 0, np.pi / 2, h, 6), _arc(radius, -np.pi / 2, 0, -h, 6)
    return lathe(np.concatenate([bottom, top]))


def _wheel(radius: float, width: float) -> DrawnSurface:
    """Return a tyre, its hub and six spokes."""
    tyre = 0.5 * min(width, 0.5 * radius)
    a = np.linspace(-np.pi, np.pi, 15)
    ring = np.stack([radius - tyre + tyre * np.cos(a), tyre * np.sin(a), np.cos(a), np.sin(a)], axis=1)
    spoke = cylinder(0.025 * radius, 2 * (radius - tyre), around=8)
    spokes = [
        spoke.move(turned_to((np.cos(b), np.sin(b), 0.0))) for b in np.linspace(0, np.pi, 6, endpoint=False)
    ]
    return join_surfaces([lathe(ring, around=2 * _AROUND), cylinder(0.16 * radius, width), *spokes])


def box(size: object) -> DrawnSurface:
    """Return a box with edges along the axes, its middle at the origin."""
    corners: list[np.ndarray] = []
    normals: list[np.ndarray] = []
    faces: list[tuple[int, ...]] = []
    for axis in range(3):
        for sign in (-1.0, 1.0):
            n = sign * np.eye(3)[axis]
            a, b = np.eye(3)[(axis + 1) % 3], np.eye(3)[(axis + 2) % 3]
            k = len(corners)
            corners += [n + i * a + j * b for i, j in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
            normals += [n] * 4
            quad = (k, k + 1, k + 2, k + 3) if sign > 0 else (k, k + 3, k + 2, k + 1)
            faces += [quad[:3], (quad[0], quad[2], quad[3])]
    return DrawnSurface(
        0.5 * np.array(corners) * np.asarray(size, dtype=float), np.array(normals), np.array(faces)
    )


def cylinder_between(start: object, end: object, radius: float, around: int = 14) -> DrawnSurface:
    """Return a cylinder from one point to another."""
    a, b = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    length = float(np.linalg.norm(b - a))
    if length <= 0:
        return join_surfaces([])
    return cylinder(radius, length, around).move(turned_to(b - a), 0.5 * (a + b))


def helix(radius: float, length: float, turns: int = 9, around: int = 5, steps: int = 150) -> DrawnSurface:
    """Return a spring along z, its middle at the origin, as the page draws it."""
    s = np.linspace(0.0, 1.0, steps + 1)
    inner = np.clip((s - 0.08) / 0.84, 0.0, 1.0)
    r = np.where((s < 0.06) | (s > 0.94), 0.0, radius)
    a = 2 * np.pi * turns * inner
    line = np.stack([r * np.cos(a), r * np.sin(a), length * (s - 0.5)], axis=1)
    out = np.stack([np.cos(a), np.sin(a), 0 * a], axis=1)
    thick = 0.14 * radius
    b = np.linspace(0, 2 * np.pi, around + 1)
    away, up = np.cos(b)[None, :, None], np.sin(b)[None, :, None]
    normals = out[:, None] * away + np.array([0, 0, 1.0]) * up
    vertices = (line[:, None] + thick * normals).reshape(-1, 3)
    return DrawnSurface(vertices, normals.reshape(-1, 3), _strips(steps, around)[:, ::-1])


def turned_to(axis: object) -> np.ndarray:
    """Return the shortest rotation that takes z to an axis."""
    k = np.asarray(axis, dtype=float)
    x, y, z = k / max(float(np.linalg.norm(k)), 1e-300)
    if z < -1 + 1e-12:
        return np.diag([1.0, -1.0, -1.0])
    return np.array(
        [
            [1 - x * x / (1 + z), -x * y / (1 + z), x],
            [-x * y / (1 + z), 1 - y * y / (1 + z), y],
            [-x, -y, z],
        ]
    )


# Functions that make each kind of part along z; `surface_of` turns and places the result.
MAKERS: dict[str, Callable[[DataMapping], DrawnSurface]] = {
    "box": lambda p: box(p["size"]),
    "sphere": lambda p: _sphere(p["radius"]),
    "ball": lambda p: _sphere(p["radius"]),
    "ellipsoid": lambda p: scale_surface(_sphere(1.0), np.maximum(p["radii"], 1e-12)),
    "cylinder": lambda p: cylinder(p["radius"], p["length"]),
    "cone": lambda p: _cone(p["radius"], p["length"]),
    "capsule": lambda p: _capsule(p["radius"], p["length"]),
    "wheel": lambda p: _wheel(p["radius"], p["width"]),
    "rod": lambda p: cylinder_between(p.get("from", (0, 0, 0)), p["to"], p["radius"]),
    "pin": lambda p: cylinder(0.5 * p["size"], 2.2 * p["size"]),
    "sleeve": lambda p: box((1.1 * p["size"], 1.1 * p["size"], 2.4 * p["size"])),
}


_CREASE = np.cos(np.deg2rad(35.0))  # faces that meet at a larger angle form a visible edge
# Colours, by kind, of parts that have no colour of their own and do not take the colour of their body.
_COLOURS = {"plane": "#cfd6dc", "grid": "#8a949d", "heights": "#a9b4a2", "earth": "#2b6ca3"}
_ORBIT = "#e69f00"
_FINE = 4096  # corners are merged if their places in a picture agree to 1/_FINE of its sides
_LINE = 0.002  # width of a line, relative to the object it belongs to


def surfaces_of(
    part: DataMapping, meshes: Mapping[str, PictureMesh | None]
) -> list[tuple[DrawnSurface, str]]:
    """Return surfaces of a part in the axes of its body, each with a colour; "" is the body's colour."""
    own = part.get("colour") or _COLOURS.get(part["kind"], "")
    if part["kind"] == "mesh":
        known = mesh_surfaces(meshes[part["mesh"]])
        return [(place_surface(one.surface, part), own or one.paint.colour) for one in known]
    if part["kind"] in MAKERS:
        made = surface_of(part)
        return [] if made is None else [(made, own)]
    if (maker := _MAKERS.get(part["kind"])) is None:
        return []
    found = [(place_surface(maker(part), part), own)]
    if "orbit" in part:
        line = _tube(np.array(part["orbit"]), 2 * _LINE * part["radius"])
        found.append((place_surface(line, part), _ORBIT))
    return found


# ------------------------------------------------------------ meshes


class PaintedSurface(NamedTuple):
    """A surface with its paint, and positions (n, 2) of its corners in the paint's picture, if any."""

    surface: DrawnSurface
    paint: Paint
    mapped: np.ndarray | None


def mesh_surfaces(mesh: PictureMesh | None) -> list[PaintedSurface]:
    """Return the faces of each paint of a mesh, with normals that are smooth except for edges."""
    if mesh is None:
        return []
    ends = [*(first for first, _ in mesh.paints[1:]), len(mesh.faces)]
    normals = _creased_normals(mesh)
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


def _creased_normals(mesh: PictureMesh) -> np.ndarray:
    """Return a unit normal for each corner of each face: the sum of the normals of adjacent faces that form
    no edge with it, weighted by their areas.
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
    """Return cylinders from point to point, with a ball at each point."""
    ball = surface_of({"kind": "sphere", "radius": radius})
    assert ball is not None
    rods = [cylinder_between(a, b, radius, around=10) for a, b in pairwise(points)]
    return join_surfaces([*rods, *(ball.move(np.eye(3), p) for p in points)])


def _sheet(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> DrawnSurface:
    """Return a surface of heights above a grid of points, with both sides."""
    nx, ny = z.shape
    vertices = np.stack([np.repeat(x, ny), np.tile(y, nx), z.ravel()], axis=1)
    faces = sheet_faces(nx, ny)
    slopes = [np.gradient(z, places, axis=k) for k, places in enumerate((x, y))]
    normals = np.stack([-slopes[0].ravel(), -slopes[1].ravel(), np.ones(nx * ny)], axis=1)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    return both_sides(DrawnSurface(vertices, normals, faces))


def sheet_faces(nx: int, ny: int) -> np.ndarray:
    """Return triangles between nx × ny points in rows."""
    k = (np.arange(nx - 1)[:, None] * ny + np.arange(ny - 1)).ravel()
    one, other = np.stack([k, k + ny, k + 1], axis=1), np.stack([k + ny, k + ny + 1, k + 1], axis=1)
    return np.concatenate([one, other])


def both_sides(made: DrawnSurface) -> DrawnSurface:
    """Return a surface that is visible from behind, too."""
    return join_surfaces([made, DrawnSurface(made.vertices, -made.normals, made.faces[:, ::-1])])


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
    """Return the lines of a grid as narrow strips."""
    a, b = 0.5 * part["x"], 0.5 * part["y"]
    step = max(part["spacing"], max(a, b) / 500)
    w = _LINE * max(a, b)
    lines = [_rectangle((x - w, x + w), (-b, b)) for x in np.arange(-a, a * (1 + 1e-9), step)]
    return join_surfaces(
        lines + [_rectangle((-a, a), (y - w, y + w)) for y in np.arange(-b, b * (1 + 1e-9), step)]
    )


def _earth(part: Mapping[str, object]) -> DrawnSurface:
    ball = surface_of({"kind": "sphere", "radius": part["radius"]})
    assert ball is not None
    return ball


_MAKERS: dict[str, Callable[[DataMapping], DrawnSurface]] = {
    "polyline": _polyline, "plane": _plane, "grid": _grid, "heights": _heights, "earth": _earth,
}  # fmt: skip


_BENT_AROUND = 12  # corners around a beam


def bent_surface(part: DataMapping) -> tuple[DrawnSurface, list[np.ndarray]]:
    """Return a tube along a beam, a sheet for a plate, or balls at the points of another part; and
    displacements of the corners, an array per mode. A corner moves with the point of the part to which it
    belongs.
    """
    places = np.asarray(part["places"], dtype=float)
    shapes = np.asarray(part["shapes"], dtype=float)  # points × modes × 3
    if "sheet" in part:
        surface, owner = _bent_sheet(places, *part["sheet"])
    elif part["chain"]:
        surface, owner = _bent_tube(places, part["radius"])
    else:
        ball = surface_of({"kind": "sphere", "radius": 1.6 * part["radius"]})
        assert ball is not None
        surface = join_surfaces([ball.move(np.eye(3), place) for place in places])
        owner = np.repeat(np.arange(len(places)), len(ball.vertices))
    return surface, [shapes[owner, m] for m in range(shapes.shape[1])]


def deform_surface(part: DataMapping, amplitudes: np.ndarray) -> DrawnSurface:
    """Return the surface for these amplitudes of the modes; the normals of a plate are computed again."""
    surface, targets = bent_surface(part)
    moved = surface.vertices + sum(a * target for a, target in zip(amplitudes, targets, strict=True))
    if "sheet" not in part:
        return DrawnSurface(moved, surface.normals, surface.faces)
    nx, ny = part["sheet"]
    front = moved[: nx * ny]
    return both_sides(DrawnSurface(front, _normals(front, nx, ny), sheet_faces(nx, ny)))


def _bent_sheet(places: np.ndarray, nx: int, ny: int) -> tuple[DrawnSurface, np.ndarray]:
    made = DrawnSurface(places, _normals(places, nx, ny), sheet_faces(nx, ny))
    return both_sides(made), np.tile(np.arange(len(places)), 2)


def _normals(places: np.ndarray, nx: int, ny: int) -> np.ndarray:
    """Return unit normals of a sheet of nx × ny points."""
    grid = places.reshape(nx, ny, 3)
    normals = np.cross(np.gradient(grid, axis=0), np.gradient(grid, axis=1)).reshape(-1, 3)
    return np.asarray(normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300))


def _bent_tube(places: np.ndarray, radius: float) -> tuple[DrawnSurface, np.ndarray]:
    """Return rings of corners around the points of a beam, with flat ends."""
    angle = np.linspace(0.0, 2 * np.pi, _BENT_AROUND + 1)
    along = np.gradient(places, axis=0)
    ring = np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1)
    around = np.stack([ring @ turned_to(d).T for d in along])  # points × corners × 3
    vertices = (places[:, None] + radius * around).reshape(-1, 3)
    owner = np.repeat(np.arange(len(places)), _BENT_AROUND + 1)
    outward = sheet_faces(len(places), _BENT_AROUND + 1)[:, ::-1]
    tube = DrawnSurface(vertices, around.reshape(-1, 3), outward)
    caps, owners = [], [owner]
    for k, side in ((0, -1.0), (len(places) - 1, 1.0)):
        corners = np.concatenate([places[k][None], places[k] + radius * around[k, :-1]])
        i = np.arange(_BENT_AROUND)
        fan = np.stack([0 * i, i + 1, (i + 1) % _BENT_AROUND + 1], axis=1)
        normal = side * along[k] / max(float(np.linalg.norm(along[k])), 1e-300)
        caps.append(
            DrawnSurface(corners, np.tile(normal, (len(corners), 1)), fan if side > 0 else fan[:, ::-1])
        )
        owners.append(np.full(len(corners), k))
    return join_surfaces([tube, *caps]), np.concatenate(owners)
