"""Surfaces of the parts of bodies as triangles, for what draws or writes them without a browser.

All round solids come from one construction: a profile (distance r from the axis, height h along it, and the
normal there) turned about the axis.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from armillary.untyped import DataMapping

_AROUND = 28  # corners of a circle


class DrawnSurface(NamedTuple):
    """Corners with their normals, and triangles as triples of corners."""

    vertices: np.ndarray  # n × 3
    normals: np.ndarray  # n × 3, unit
    faces: np.ndarray  # m × 3

    def moved(self, rotation: np.ndarray, place: object = (0.0, 0.0, 0.0)) -> DrawnSurface:
        """The surface turned, then shifted."""
        turned = self.vertices @ rotation.T + np.asarray(place, dtype=float)
        return DrawnSurface(turned, self.normals @ rotation.T, self.faces)


def joined(surfaces: list[DrawnSurface]) -> DrawnSurface:
    """Several surfaces as one."""
    if not surfaces:
        return DrawnSurface(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((0, 3), dtype=int))
    first = np.cumsum([0, *(len(s.vertices) for s in surfaces[:-1])])
    return DrawnSurface(
        np.concatenate([s.vertices for s in surfaces]),
        np.concatenate([s.normals for s in surfaces]),
        np.concatenate([s.faces + k for s, k in zip(surfaces, first, strict=True)]),
    )


def surface_of(part: DataMapping) -> DrawnSurface | None:
    """The surface of a part as ``Appearance.parts`` describes it, in the axes of its body; None for a part
    that has none.
    """
    maker = MAKERS.get(part["kind"])
    return None if maker is None else placed(maker(part), part)


def placed(made: DrawnSurface, part: DataMapping) -> DrawnSurface:
    """A surface made along z, stretched, turned and shifted as its part states."""
    if "scale" in part:
        made = scaled(made, part["scale"])
    if "axis" in part:
        made = made.moved(turned_to(part["axis"]))
    if "axes" in part:
        made = made.moved(np.reshape(part["axes"], (3, 3)))
    return made.moved(np.eye(3), part["at"]) if "at" in part else made


def scaled(made: DrawnSurface, factors: object) -> DrawnSurface:
    """A surface stretched along its axes; one that is mirrored has its faces turned around."""
    s = np.asarray(factors, dtype=float)
    normals = made.normals / s
    normals = normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    faces = made.faces[:, ::-1] if np.prod(s) < 0 else made.faces
    return DrawnSurface(made.vertices * s, normals, faces)


def _strips(rows: int, columns: int) -> np.ndarray:
    """Triangles between places in rows, one more each way than there are strips."""
    k = (np.arange(rows)[:, None] * (columns + 1) + np.arange(columns)).ravel()
    one = np.stack([k, k + 1, k + columns + 2], axis=1)
    other = np.stack([k, k + columns + 2, k + columns + 1], axis=1)
    return np.concatenate([one, other])


# ------------------------------------------------------------ solids, along z


def lathe(*profiles: object, around: int = _AROUND) -> DrawnSurface:
    """Profiles turned about z; each has rows (r, h, n_r, n_h)."""
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
    return joined(made)


def _arc(radius: float, low: float, high: float, middle: float = 0.0, steps: int = 12) -> np.ndarray:
    """A part of a circle about a point of the axis, angles from the equator."""
    a = np.linspace(low, high, steps + 1)
    return np.stack([radius * np.cos(a), middle + radius * np.sin(a), np.cos(a), np.sin(a)], axis=1)


def _sphere(radius: float) -> DrawnSurface:
    return lathe(_arc(radius, -np.pi / 2, np.pi / 2))


def cylinder(radius: float, length: float, around: int = _AROUND) -> DrawnSurface:
    """A cylinder about z, its middle at the origin."""
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
    """A tyre, its hub and six spokes."""
    tyre = 0.5 * min(width, 0.5 * radius)
    a = np.linspace(-np.pi, np.pi, 15)
    ring = np.stack([radius - tyre + tyre * np.cos(a), tyre * np.sin(a), np.cos(a), np.sin(a)], axis=1)
    spoke = cylinder(0.025 * radius, 2 * (radius - tyre), around=8)
    spokes = [
        spoke.moved(turned_to((np.cos(b), np.sin(b), 0.0))) for b in np.linspace(0, np.pi, 6, endpoint=False)
    ]
    return joined([lathe(ring, around=2 * _AROUND), cylinder(0.16 * radius, width), *spokes])


def box(size: object) -> DrawnSurface:
    """A box with edges along the axes, its middle at the origin."""
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


def between(start: object, end: object, radius: float, around: int = 14) -> DrawnSurface:
    """A cylinder from one point to another."""
    a, b = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    length = float(np.linalg.norm(b - a))
    if length <= 0:
        return joined([])
    return cylinder(radius, length, around).moved(turned_to(b - a), 0.5 * (a + b))


def helix(radius: float, length: float, turns: int = 9, around: int = 5, steps: int = 150) -> DrawnSurface:
    """A spring along z, its middle at the origin, as the page draws it."""
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
    return DrawnSurface(vertices, normals.reshape(-1, 3), _strips(steps, around))


def turned_to(axis: object) -> np.ndarray:
    """The rotation by the shorter way that takes z to an axis."""
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


# One line per kind of part; `surface_of` turns and places what is made here along z.
MAKERS: dict[str, Callable[[DataMapping], DrawnSurface]] = {
    "box": lambda p: box(p["size"]),
    "sphere": lambda p: _sphere(p["radius"]),
    "ball": lambda p: _sphere(p["radius"]),
    "ellipsoid": lambda p: scaled(_sphere(1.0), np.maximum(p["radii"], 1e-12)),
    "cylinder": lambda p: cylinder(p["radius"], p["length"]),
    "cone": lambda p: _cone(p["radius"], p["length"]),
    "capsule": lambda p: _capsule(p["radius"], p["length"]),
    "wheel": lambda p: _wheel(p["radius"], p["width"]),
    "rod": lambda p: between(p.get("from", (0, 0, 0)), p["to"], p["radius"]),
    "pin": lambda p: cylinder(0.5 * p["size"], 2.2 * p["size"]),
    "sleeve": lambda p: box((1.1 * p["size"], 1.1 * p["size"], 2.4 * p["size"])),
}
