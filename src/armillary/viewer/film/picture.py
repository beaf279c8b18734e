"""One picture: the floor with grid and shadows, opaque surfaces, then transparent ones from far to near."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from armillary.files.meshes.surface import from_hex
from armillary.viewer.film.camera import Camera, scene_axes
from armillary.viewer.film.figure import Painted
from armillary.viewer.film.raster import Fragments, fragments, nearest, plane
from armillary.viewer.parts.surfaces import DrawnSurface, joined

FINE = 2  # pixels that are drawn for each of the picture, in both directions
_SHADOW = 0.16
_RIBBON = 1.6  # pixels


class Theme(NamedTuple):
    """Colours of a picture's background from top to bottom, and of the grid."""

    sky: str
    ground: str
    grid: str


THEMES = {"light": Theme("#f8fafb", "#eef1f4", "#9aa7b2"), "dark": Theme("#1a2128", "#12171c", "#5d6b78")}


class Floor(NamedTuple):
    """A plane: how high it lies along the vertical, the spacing of its grid, and how far it is drawn."""

    height: float
    spacing: float
    centre: np.ndarray
    reach: float


class Painter:
    """Draws pictures of one scene in one theme."""

    def __init__(self, up: np.ndarray, floor: Floor | None, theme: str) -> None:
        self.up, self.floor, self.theme = up, floor, THEMES[theme]
        right, front = scene_axes(up)
        sun = 2.2 * up + 1.1 * right - 0.8 * front
        self.sun = sun / np.linalg.norm(sun)
        self._backgrounds: dict[bytes, np.ndarray] = {}

    def picture(self, camera: Camera, figures: list[Painted], lines: list[Painted]) -> np.ndarray:
        """Rows × columns × 3 bytes."""
        base = self._background(camera)
        fine = replace(camera, width=FINE * camera.width, height=FINE * camera.height)
        image = np.repeat(np.repeat(base, FINE, axis=0), FINE, axis=1).reshape(-1, 3)
        if self.floor is not None and fine.eye @ self.up > self.floor.height:
            self._shadows(image, fine, figures)
        all_parts = [*figures, *lines]
        surface = joined([p.surface for p in all_parts])
        colours = np.concatenate([p.colours for p in all_parts]).astype(np.float32)
        opacities = np.concatenate([p.opacities for p in all_parts])
        parts = _distinct([p.parts for p in all_parts])
        corners, near = fine.projected(surface.vertices)
        light, gloss = self._light(surface, fine)
        faces = surface.faces
        before = np.all(near[faces] > 0, axis=1)  # nothing that reaches behind the camera is drawn
        buffer = np.zeros(fine.width * fine.height)

        def paint(chosen: np.ndarray, alpha: float, depth: np.ndarray) -> None:
            shown = faces[chosen]
            found = fragments(corners[shown], near[shown], fine.width, fine.height)
            seen = nearest(found, depth)
            bright = plane(corners[shown], light[shown]).at(seen.face, seen.x, seen.y)
            shine = plane(corners[shown], gloss[shown]).at(seen.face, seen.x, seen.y)
            hue = colours[chosen[seen.face]] * np.clip(bright, 0, 1.3).astype(np.float32)[:, None]
            hue += np.clip(shine, 0, 0.5).astype(np.float32)[:, None]
            np.clip(hue, 0, 1, out=hue)
            image[seen.pixel] = hue if alpha >= 1 else (1 - alpha) * image[seen.pixel] + alpha * hue

        paint(np.flatnonzero(before & (opacities >= 1)), 1.0, buffer)
        clear = np.flatnonzero(before & (opacities < 1))
        for part in _far_to_near(clear, parts, near, faces):
            alpha = float(opacities[part[0]])
            paint(part, alpha, buffer.copy() if len(part) else buffer)
        whole = image.reshape(fine.height, fine.width, 3)
        pixels = [
            whole[i::FINE, j::FINE] for i in range(FINE) for j in range(FINE)
        ]  # a mean by axes: 5 × slower
        mean = sum(pixels[1:], pixels[0]) * np.float32(255 / FINE**2)
        return np.rint(np.clip(mean, 0, 255)).astype(np.uint8)

    def _light(self, surface: DrawnSurface, camera: Camera) -> tuple[np.ndarray, np.ndarray]:
        """Brightness and highlights at the corners; surfaces are seen from both sides."""
        view = camera.eye - surface.vertices
        view = view / np.maximum(np.linalg.norm(view, axis=1, keepdims=True), 1e-300)
        n = surface.normals * np.where(np.sum(surface.normals * view, axis=1) < 0, -1.0, 1.0)[:, None]
        half = view + self.sun
        half = half / np.maximum(np.linalg.norm(half, axis=1, keepdims=True), 1e-300)
        bright = 0.62 + 0.14 * (n @ self.up) + 0.38 * np.clip(n @ self.sun, 0, 1)
        return bright, 0.22 * np.clip(np.sum(n * half, axis=1), 0, 1) ** 30

    def _shadows(self, image: np.ndarray, camera: Camera, figures: list[Painted]) -> None:
        assert self.floor is not None
        surface = joined([p.surface for p in figures])
        above = surface.vertices @ self.up - self.floor.height
        flat = surface.vertices - (above / (self.sun @ self.up))[:, None] * self.sun
        corners, near = camera.projected(flat)
        solid = np.concatenate([p.opacities for p in figures]) >= 0.5
        shown = surface.faces[solid & np.all(near[surface.faces] > 0, axis=1)]
        found: Fragments = fragments(corners[shown], near[shown], camera.width, camera.height)
        dark = np.ones(len(image), dtype=np.float32)
        dark[found.pixel] = 1 - _SHADOW
        image *= dark[:, None]

    def _background(self, camera: Camera) -> np.ndarray:
        """Sky and grid; the same for all pictures from one place."""
        key = camera.eye.tobytes()
        if key not in self._backgrounds:
            self._backgrounds = {key: self._drawn_background(camera)}
        return self._backgrounds[key]

    def _drawn_background(self, camera: Camera) -> np.ndarray:
        s = np.linspace(0, 1, camera.height)[:, None, None]
        image = np.broadcast_to(
            (1 - s) * from_hex(self.theme.sky) + s * from_hex(self.theme.ground),
            (camera.height, camera.width, 3),
        ).copy()
        if self.floor is None:
            return image.astype(np.float32)
        rays = camera.rays()
        down = rays @ self.up
        height = self.floor.height - camera.eye @ self.up
        with np.errstate(divide="ignore", invalid="ignore"):
            distance = height / down
            hit = np.isfinite(distance) & (distance > 0)
            places = camera.eye + np.where(hit, distance, 0.0)[..., None] * rays - self.floor.centre
        right, front = scene_axes(self.up)
        strength = np.zeros(hit.shape)
        for axis in (right, front):
            c = places @ axis / self.floor.spacing
            wide = np.maximum(np.maximum(*(np.abs(g) for g in np.gradient(c))), 1e-9)  # of a pixel
            strength = np.maximum(strength, np.clip(1 - np.abs(c - np.rint(c)) / wide, 0, 1) * (wide < 0.5))
        far = np.linalg.norm(places, axis=2) / self.floor.reach
        strength = np.where(hit, 0.35 * strength * np.clip(1.4 - far, 0, 1), 0.0)[..., None]
        found: np.ndarray = ((1 - strength) * image + strength * from_hex(self.theme.grid)).astype(np.float32)
        return found


def ribbon(points: np.ndarray, camera: Camera, colour: str) -> Painted:
    """A line of some width on the screen through points."""
    a, b = points[:-1], points[1:]
    _, near = camera.projected(points)
    along = (b - a) - ((b - a) @ camera.forward)[:, None] * camera.forward
    side = np.cross(along, camera.forward)
    length = np.linalg.norm(side, axis=1, keepdims=True)
    kept = (length[:, 0] > 0) & (near[:-1] > 0) & (near[1:] > 0)
    a, b, side = a[kept], b[kept], side[kept] / length[kept]
    wide = 0.5 * _RIBBON / camera.focus
    wa, wb = wide / near[:-1][kept][:, None], wide / near[1:][kept][:, None]
    corners = np.stack([a - wa * side, a + wa * side, b + wb * side, b - wb * side], axis=1).reshape(-1, 3)
    k = 4 * np.arange(len(a))[:, None]
    faces = np.concatenate([k + np.array([0, 1, 2]), k + np.array([0, 2, 3])])
    normals = np.tile(-camera.forward, (len(corners), 1))
    count = len(faces)
    ones = np.ones(count)
    surface = DrawnSurface(corners, normals, faces)
    return Painted(surface, np.tile(from_hex(colour), (count, 1)), ones, np.zeros(count, dtype=int))


def _distinct(parts: list[np.ndarray]) -> np.ndarray:
    """Numbers of parts that differ between figures."""
    found, first = [], 0
    for p in parts:
        found.append(p + first)
        first += int(p.max(initial=-1)) + 1
    return np.concatenate([np.zeros(0, dtype=int), *found])


def _far_to_near(
    chosen: np.ndarray, parts: np.ndarray, near: np.ndarray, faces: np.ndarray
) -> list[np.ndarray]:
    """Faces of each transparent part, the farthest part first."""
    groups = [chosen[parts[chosen] == part] for part in np.unique(parts[chosen])]
    return sorted(groups, key=lambda g: float(np.mean(near[faces[g]])))
