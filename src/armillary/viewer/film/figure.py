"""A figure as triangles in the ground's axes, in each frame of a film."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from armillary.viewer.meshes import MeshStore
from armillary.viewer.surfaces import Surface, between, cylinder, helix, joined, surface_of, turned_to

_JOINTS, _STEEL, _SPRING = ("pin", "sleeve", "ball"), "#7d8790", "#6b7680"


class Painted(NamedTuple):
    """A surface with the colour (three numbers from 0 to 1), opacity and number of the part of each face."""

    surface: Surface
    colours: np.ndarray
    opacities: np.ndarray
    parts: np.ndarray


class FilmFigure:
    """The figure of a run (``figures.bodies_of``) with its motion at the times of the frames.

    ``channels`` has seven numbers per body in each frame, ``amplitudes`` those of all modes.
    """

    def __init__(
        self,
        content: dict[str, Any],
        channels: np.ndarray,
        amplitudes: np.ndarray,
        *,
        opacity: float = 1.0,
        shift: Any = (0.0, 0.0, 0.0),
        meshes: MeshStore | None = None,
    ) -> None:
        self._meshes = meshes
        self.content, self.amplitudes, self.shift = content, amplitudes, np.asarray(shift, dtype=float)
        frames, bodies = len(channels), len(content["bodies"])
        poses = channels.reshape(frames, bodies, 7)
        still = np.zeros((frames, 1, 3))  # the ground comes last
        turned = Rotation.from_quat(poses[..., 3:].reshape(-1, 4)).as_matrix().reshape(frames, bodies, 3, 3)
        self.positions = np.concatenate([poses[..., :3], still], axis=1) + self.shift
        fixed = np.broadcast_to(np.eye(3), (frames, 1, 3, 3))
        self.rotations = np.concatenate([turned, fixed], axis=1)
        self.index = {body["name"]: i for i, body in enumerate(content["bodies"])}
        self._static(opacity)

    def _static(self, opacity: float) -> None:
        """Surfaces of all parts in the axes of their bodies, one after another."""
        surfaces: list[Surface] = []
        owners, colours, opacities, parts = (list[np.ndarray]() for _ in range(4))
        for b, body in enumerate([*self.content["bodies"], self.content["ground"]]):
            for part in body["parts"]:
                made = surface_of(part, self._meshes)
                if made is None or not len(made.faces):
                    continue
                faces = len(made.faces)
                surfaces.append(made)
                owners.append(np.full(len(made.vertices), b))
                colours.append(np.tile(_colour(part, body["colour"]), (faces, 1)))
                opacities.append(np.full(faces, opacity * part.get("opacity", 1.0)))
                parts.append(np.full(faces, len(parts)))
        self._surface = joined(surfaces)
        self._owner = np.concatenate([np.zeros(0, dtype=int), *owners])
        self._colours = np.concatenate([np.zeros((0, 3)), *colours])
        self._opacities = np.concatenate([np.zeros(0), *opacities])
        self._parts = np.concatenate([np.zeros(0, dtype=int), *parts])
        self._count, self._opacity = len(parts), opacity

    def place(self, frame: int, body: str, at: Any) -> np.ndarray:
        """A place of a body in the ground's axes; that of an unknown body is one of the ground."""
        b = self.index.get(body, -1)
        found: np.ndarray = self.positions[frame, b] + self.rotations[frame, b] @ np.asarray(at, dtype=float)
        return found

    def path(self, body: str, at: Any) -> np.ndarray:
        """The places of a point of a body in all frames."""
        b = self.index.get(body, -1)
        found: np.ndarray = self.positions[:, b] + self.rotations[:, b] @ np.asarray(at, dtype=float)
        return found

    def painted(self, frame: int) -> Painted:
        """All surfaces in one frame."""
        positions, rotations = self.positions[frame], self.rotations[frame]
        R = rotations[self._owner]
        vertices = np.einsum("nij,nj->ni", R, self._surface.vertices) + positions[self._owner]
        normals = np.einsum("nij,nj->ni", R, self._surface.normals)
        surfaces = [Surface(vertices, normals, self._surface.faces)]
        colours, opacities, parts = [self._colours], [self._opacities], [self._parts]
        for surface, colour in self._changing(frame):
            count = len(surface.faces)
            surfaces.append(surface)
            colours.append(np.tile(colour, (count, 1)))
            opacities.append(np.full(count, self._opacity))
            parts.append(np.full(count, self._count + len(parts)))
        return Painted(joined(surfaces), *map(np.concatenate, (colours, opacities, parts)))

    def _changing(self, frame: int) -> list[tuple[Surface, np.ndarray]]:
        """What changes its form: springs and bent bodies."""
        found = []
        for spring in self.content["springs"]:
            a, *_, b = (self.place(frame, end["body"], end["at"]) for end in spring["ends"])
            if spring.get("kind", "spring") == "spring":
                coil = helix(spring["radius"], float(np.linalg.norm(b - a)), spring.get("coils", 9))
                link = coil.moved(turned_to(b - a), 0.5 * (a + b))
            else:  # a damper, a rod, or a cable, which is drawn taut
                link = between(a, b, spring["radius"])
            found.append((link, rgb(spring.get("colour", _SPRING))))
        first = 0
        for part in self.content["bending"]:
            shapes = np.asarray(part["shapes"])  # points × modes × 3
            weights = self.amplitudes[frame, first : first + shapes.shape[1]]
            first += shapes.shape[1]
            points = np.asarray(part["places"]) + np.einsum("m,pmk->pk", weights, shapes)
            b, body = part["body"], self.content["bodies"][part["body"]]
            bent = joined(_beads(points, part))
            placed = bent.moved(self.rotations[frame, b], self.positions[frame, b])
            found.append((placed, rgb(body["colour"])))
        return found


def _beads(points: np.ndarray, part: dict[str, Any]) -> list[Surface]:
    """Cylinders along a beam, balls at the points of another part."""
    if not part["chain"]:
        ball = surface_of({"kind": "sphere", "radius": 1.6 * part["radius"]})
        assert ball is not None
        return [ball.moved(np.eye(3), p) for p in points]
    unit = cylinder(part["radius"], 1.0, around=10)
    found = []
    for a, b in pairwise(points):
        scaled = Surface(unit.vertices * np.array([1, 1, np.linalg.norm(b - a)]), unit.normals, unit.faces)
        found.append(scaled.moved(turned_to(b - a), 0.5 * (a + b)))
    return found


def rgb(colour: str) -> np.ndarray:
    """'#0072b2' as three numbers from 0 to 1."""
    return np.array([int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)])


def _colour(part: dict[str, Any], body: str) -> np.ndarray:
    if part.get("colour"):
        return rgb(part["colour"])
    if part["kind"] in _JOINTS:
        return rgb(_STEEL)
    return rgb(body) * (0.62 if part["kind"] == "rod" else 1.0)
