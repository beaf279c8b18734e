"""A figure as triangles in the ground's axes, in each frame of a film."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from armillary.files.meshes.surface import from_hex
from armillary.untyped import DataTable
from armillary.viewer.parts.bent_surfaces import bent
from armillary.viewer.parts.given_shapes import SURROUNDINGS
from armillary.viewer.parts.links import COLOUR as LINK
from armillary.viewer.parts.links import bars_of
from armillary.viewer.parts.meshes import MeshStore
from armillary.viewer.parts.part_surfaces import surfaces_of
from armillary.viewer.parts.surfaces import DrawnSurface, joined, scaled, turned_to

_JOINTS, _STEEL = ("pin", "sleeve", "ball"), "#7d8790"


class Painted(NamedTuple):
    """A surface with the colour (three numbers from 0 to 1), opacity and number of the part of each face."""

    surface: DrawnSurface
    colours: np.ndarray
    opacities: np.ndarray
    parts: np.ndarray


class FilmFigure:
    """The figure of a run (``figures.bodies_of``) with its motion at the times of the frames.

    ``channels`` has seven numbers per body in each frame, ``amplitudes`` those of all modes.
    """

    def __init__(
        self,
        content: DataTable,
        channels: np.ndarray,
        amplitudes: np.ndarray,
        *,
        opacity: float = 1.0,
        shift: object = (0.0, 0.0, 0.0),
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
        surfaces: list[DrawnSurface] = []
        owners, around, colours, opacities, parts = (list[np.ndarray]() for _ in range(5))
        known = {} if self._meshes is None else self._meshes.found
        for b, body in enumerate([*self.content["bodies"], self.content["ground"]]):
            for part in body["parts"]:
                for made, own in surfaces_of(part, known):
                    faces = len(made.faces)
                    surfaces.append(made)
                    owners.append(np.full(len(made.vertices), b))
                    around.append(np.full(len(made.vertices), part["kind"] in SURROUNDINGS))
                    colours.append(np.tile(_colour(part, own, body["colour"]), (faces, 1)))
                    opacities.append(np.full(faces, opacity * part.get("opacity", 1.0)))
                    parts.append(np.full(faces, len(parts)))
        self._surface = joined(surfaces)
        self._owner = np.concatenate([np.zeros(0, dtype=int), *owners])
        self._around = np.concatenate([np.zeros(0, dtype=bool), *around])
        self._colours = np.concatenate([np.zeros((0, 3)), *colours])
        self._opacities = np.concatenate([np.zeros(0), *opacities])
        self._parts = np.concatenate([np.zeros(0, dtype=int), *parts])
        self._count, self._opacity = len(parts), opacity

    def place(self, frame: int, body: str, at: object) -> np.ndarray:
        """A place of a body in the ground's axes; that of an unknown body is one of the ground."""
        b = self.index.get(body, -1)
        found: np.ndarray = self.positions[frame, b] + self.rotations[frame, b] @ np.asarray(at, dtype=float)
        return found

    def path(self, body: str, at: object) -> np.ndarray:
        """The places of a point of a body in all frames."""
        b = self.index.get(body, -1)
        found: np.ndarray = self.positions[:, b] + self.rotations[:, b] @ np.asarray(at, dtype=float)
        return found

    def points(self, frame: int) -> np.ndarray:
        """Corners that must be in the picture: of all but planes and the like, if there are others."""
        vertices = self.painted(frame).surface.vertices
        kept = np.ones(len(vertices), dtype=bool)
        kept[: len(self._around)] = ~self._around
        return vertices[kept] if kept.any() else vertices

    def painted(self, frame: int) -> Painted:
        """All surfaces in one frame."""
        positions, rotations = self.positions[frame], self.rotations[frame]
        R = rotations[self._owner]
        vertices = np.einsum("nij,nj->ni", R, self._surface.vertices) + positions[self._owner]
        normals = np.einsum("nij,nj->ni", R, self._surface.normals)
        surfaces = [DrawnSurface(vertices, normals, self._surface.faces)]
        colours, opacities, parts = [self._colours], [self._opacities], [self._parts]
        for surface, colour in self._changing(frame):
            count = len(surface.faces)
            surfaces.append(surface)
            colours.append(np.tile(colour, (count, 1)))
            opacities.append(np.full(count, self._opacity))
            parts.append(np.full(count, self._count + len(parts)))
        return Painted(joined(surfaces), *map(np.concatenate, (colours, opacities, parts)))

    def _changing(self, frame: int) -> list[tuple[DrawnSurface, np.ndarray]]:
        """Shapes that change their form: springs and bent bodies."""
        found = []
        for spring in self.content["springs"]:
            places = [self.path(end["body"], end["at"]) for end in spring["ends"]]
            for bar in bars_of(spring, places, self.content["up"]):
                a, b = bar.start[frame], bar.end[frame]
                made = scaled(bar.surface, (1, 1, max(float(np.linalg.norm(b - a)), 1e-12)))
                colour = from_hex(spring.get("colour") or LINK)
                found.append((made.moved(turned_to(b - a), 0.5 * (a + b)), colour))
        first = 0
        for part in self.content["bending"]:
            weights = self.amplitudes[frame, first : first + part["modes"]]
            first += part["modes"]
            if not part["places"]:
                continue
            b, body = part["body"], self.content["bodies"][part["body"]]
            placed = bent(part, weights).moved(self.rotations[frame, b], self.positions[frame, b])
            found.append((placed, from_hex(body["colour"])))
        return found


def _colour(part: DataTable, own: str, body: str) -> np.ndarray:
    if own:
        return from_hex(own)
    if part["kind"] in _JOINTS:
        return from_hex(_STEEL)
    return from_hex(body) * (0.62 if part["kind"] == "rod" else 1.0)
