"""One picture without a browser: camera, raster, figures as triangles, floor and shadows.

NumPy alone turns triangles into pixels: it finds the rows of each triangle, the pixels of each row, and the
nearest triangle of each pixel. A corner at distance z before the camera appears at x' = f x/z, y' = f y/z;
1/z is linear on the screen, so each pixel keeps the largest 1/z. Brightness is interpolated linearly too, as
an approximation.

A picture consists of the floor with grid and shadows, opaque surfaces, then transparent ones from far to
near.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from armillary.files.mesh_surface import from_hex
from armillary.untyped import DataTable
from armillary.viewer.appearance import COLOUR as LINK
from armillary.viewer.appearance import SURROUNDINGS, bars_of
from armillary.viewer.page_data import MeshStore
from armillary.viewer.surfaces import (
    DrawnSurface,
    deform_surface,
    join_surfaces,
    scale_surface,
    surfaces_of,
    turned_to,
)

FIELD = np.radians(38.0)  # angle of view from the lower to the upper edge of the picture
_MARGIN = 0.9  # fraction of the picture that is filled


@dataclass(frozen=True, eq=False)
class Camera:
    """Axes of a camera that looks along ``forward``, its position, and the size of its picture in pixels."""

    eye: np.ndarray
    right: np.ndarray
    upward: np.ndarray
    forward: np.ndarray
    width: int
    height: int

    @property
    def focus(self) -> float:
        """Focal length f in pixels: the size on the screen of a length that is as far away as it is long."""
        return float(0.5 * self.height / np.tan(0.5 * FIELD))

    def project(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return positions on the screen (pixels, from its upper left corner), and 1/z; z is the distance
        before the camera, negative behind it.
        """
        relative = points - self.eye
        z = relative @ self.forward
        near = 1.0 / np.where(np.abs(z) < 1e-12, 1e-12, z)
        x = 0.5 * self.width + self.focus * near * (relative @ self.right)
        y = 0.5 * self.height - self.focus * near * (relative @ self.upward)
        return np.stack([x, y], axis=-1), near

    def move(self, shift: np.ndarray) -> Camera:
        """Return the camera after a shift."""
        return replace(self, eye=self.eye + shift)

    def rays(self) -> np.ndarray:
        """Return rays through the middles of all pixels (height × width × 3), of length 1 along the view."""
        x = (np.arange(self.width) + 0.5 - 0.5 * self.width) / self.focus
        y = (0.5 * self.height - np.arange(self.height) - 0.5) / self.focus
        rays: np.ndarray = self.forward + x[None, :, None] * self.right + y[:, None, None] * self.upward
        return rays


def scene_axes(up: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return directions to the right and to the front of a scene, as in the page."""
    side = np.eye(3)[1] if abs(up[1]) < 0.9 else np.eye(3)[2]
    front = side - up * (side @ up)
    front = front / np.linalg.norm(front)
    return np.cross(front, up), front


def direction_of(view: str, up: np.ndarray) -> np.ndarray:
    """Return the direction from a scene to the eye, for the name of a view."""
    right, front = scene_axes(up)
    ways = {
        "oblique": 0.75 * right - front + 0.5 * up,
        "front": -front,
        "side": right,
        "top": up - 1e-3 * front,
    }
    ways |= dict(zip("xyz", np.eye(3), strict=True))
    found: np.ndarray = ways[view] / np.linalg.norm(ways[view])
    return found


def fit_camera(points: np.ndarray, view: str, up: np.ndarray, width: int, height: int) -> Camera:
    """Return a camera that has all points in its picture."""
    towards = direction_of(view, up)
    upward = up - towards * (up @ towards)
    if np.linalg.norm(upward) < 1e-6:  # seen along the vertical
        upward = np.eye(3)[1] - towards * towards[1]
    upward = upward / np.linalg.norm(upward)
    right = np.cross(upward, towards)
    tall = _MARGIN * np.tan(0.5 * FIELD)
    wide = tall * width / height
    target = 0.5 * (points.min(axis=0) + points.max(axis=0))
    for _ in range(4):  # the middle of the visible part moves with the distance
        relative = points - target
        x, y, depth = relative @ right, relative @ upward, relative @ towards
        distance = float(np.max(np.maximum(np.abs(x) / wide, np.abs(y) / tall) + depth))
        z = distance - depth
        seen = [x / z / wide, y / z / tall]
        shift = [0.5 * (s.min() + s.max()) for s in seen]
        target = target + distance * (shift[0] * wide * right + shift[1] * tall * upward)
    relative = points - target
    x, y, depth = relative @ right, relative @ upward, relative @ towards
    distance = float(np.max(np.maximum(np.abs(x) / wide, np.abs(y) / tall) + depth))
    return Camera(target + max(distance, 1e-9) * towards, right, upward, -towards, width, height)


class Fragments(NamedTuple):
    """Pixels of triangles: indices of pixel and triangle, 1/z there, and the position on the screen."""

    pixel: np.ndarray
    face: np.ndarray
    nearness: np.ndarray
    x: np.ndarray
    y: np.ndarray


class PixelPlane(NamedTuple):
    """Values a + b x + c y of triangles on the screen."""

    a: np.ndarray
    b: np.ndarray
    c: np.ndarray

    def at(self, face: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return values at pixels of faces."""
        found: np.ndarray = self.a[face] + self.b[face] * x + self.c[face] * y
        return found


def plane(corners: np.ndarray, values: np.ndarray) -> PixelPlane:
    """Return the plane through the values at the corners (faces × 3) of triangles (faces × 3 × 2)."""
    (x0, y0), (x1, y1), (x2, y2) = (corners[:, k].T for k in range(3))
    area = (x1 - x0) * (y2 - y0) - (x2 - x0) * (y1 - y0)
    area = np.where(np.abs(area) < 1e-12, np.inf, area)
    v0, v1, v2 = values.T
    d1, d2 = v1 - v0, v2 - v0
    b = (d1 * (y2 - y0) - d2 * (y1 - y0)) / area
    c = (d2 * (x1 - x0) - d1 * (x2 - x0)) / area
    return PixelPlane(v0 - b * x0 - c * y0, b, c)


def fragments(corners: np.ndarray, nearness: np.ndarray, width: int, height: int) -> Fragments:
    """Return all pixels of the screen whose middle lies in a triangle."""
    y = corners[:, :, 1]
    first = np.clip(np.ceil(y.min(axis=1) - 0.5), 0, height).astype(np.int64)
    last = np.clip(np.floor(y.max(axis=1) - 0.5), -1, height - 1).astype(np.int64)
    face, row = _expand_ranges(first, last)
    middle = row + 0.5
    left, right = np.full(len(row), np.inf), np.full(len(row), -np.inf)
    for k in range(3):
        (xa, ya), (xb, yb) = corners[:, k].T, corners[:, (k + 1) % 3].T
        rise = np.where(yb == ya, np.inf, yb - ya)
        slope = (xb - xa) / rise
        crossing = xa[face] + (middle - ya[face]) * slope[face]
        met = (np.minimum(ya, yb)[face] <= middle) & (middle <= np.maximum(ya, yb)[face]) & (ya != yb)[face]
        left = np.where(met, np.minimum(left, crossing), left)
        right = np.where(met, np.maximum(right, crossing), right)
    known = np.isfinite(left)
    left, right = np.where(known, left, 1.0), np.where(known, right, 0.0)
    begin = np.clip(np.ceil(left - 0.5), 0, width).astype(np.int64)
    end = np.clip(np.floor(right - 0.5), -1, width - 1).astype(np.int64)
    span, column = _expand_ranges(begin, end)
    owner, line = face[span], row[span]
    x, yy = column + 0.5, line + 0.5
    near = plane(corners, nearness).at(owner, x, yy)
    return Fragments(line * width + column, owner, near, x, yy)


def nearest(found: Fragments, buffer: np.ndarray) -> Fragments:
    """Return the fragments in front of all others and of the buffer, which is updated."""
    np.maximum.at(buffer, found.pixel, found.nearness)
    seen = found.nearness >= buffer[found.pixel]
    return Fragments(*(a[seen] for a in found))


def _expand_ranges(first: np.ndarray, last: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers from first to last of each range, one after another, with the index of the range."""
    counts = np.maximum(last - first + 1, 0)
    owner = np.repeat(np.arange(len(first)), counts)
    begin = np.cumsum(counts) - counts
    return owner, first[owner] + np.arange(len(owner)) - begin[owner]


_JOINTS, _STEEL = ("pin", "sleeve", "ball"), "#7d8790"


class Painted(NamedTuple):
    """A surface, and for each face its colour (three numbers from 0 to 1), opacity and part number."""

    surface: DrawnSurface
    colours: np.ndarray
    opacities: np.ndarray
    parts: np.ndarray


class FilmFigure:
    """The figure of a run (``figures.bodies_of``) with its motion at the times of the frames.

    ``channels`` has seven numbers per body in each frame, ``amplitudes`` the amplitudes of all modes.
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
        """Collect the surfaces of all parts in the axes of their bodies, one after another."""
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
        self._surface = join_surfaces(surfaces)
        self._owner = np.concatenate([np.zeros(0, dtype=int), *owners])
        self._around = np.concatenate([np.zeros(0, dtype=bool), *around])
        self._colours = np.concatenate([np.zeros((0, 3)), *colours])
        self._opacities = np.concatenate([np.zeros(0), *opacities])
        self._parts = np.concatenate([np.zeros(0, dtype=int), *parts])
        self._count, self._opacity = len(parts), opacity

    def place(self, frame: int, body: str, at: object) -> np.ndarray:
        """Return a point of a body in the ground's axes; an unknown body counts as the ground."""
        b = self.index.get(body, -1)
        found: np.ndarray = self.positions[frame, b] + self.rotations[frame, b] @ np.asarray(at, dtype=float)
        return found

    def path(self, body: str, at: object) -> np.ndarray:
        """Return the positions of a point of a body in all frames."""
        b = self.index.get(body, -1)
        found: np.ndarray = self.positions[:, b] + self.rotations[:, b] @ np.asarray(at, dtype=float)
        return found

    def points(self, frame: int) -> np.ndarray:
        """Return corners that must be in the picture: without planes and other surroundings, if possible."""
        vertices = self.paint_frame(frame).surface.vertices
        kept = np.ones(len(vertices), dtype=bool)
        kept[: len(self._around)] = ~self._around
        return vertices[kept] if kept.any() else vertices

    def paint_frame(self, frame: int) -> Painted:
        """Return all surfaces in one frame."""
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
        return Painted(join_surfaces(surfaces), *map(np.concatenate, (colours, opacities, parts)))

    def _changing(self, frame: int) -> list[tuple[DrawnSurface, np.ndarray]]:
        """Return surfaces that change their form: springs and bent bodies."""
        found = []
        for spring in self.content["springs"]:
            places = [self.path(end["body"], end["at"]) for end in spring["ends"]]
            for bar in bars_of(spring, places, self.content["up"]):
                a, b = bar.start[frame], bar.end[frame]
                made = scale_surface(bar.surface, (1, 1, max(float(np.linalg.norm(b - a)), 1e-12)))
                colour = from_hex(spring.get("colour") or LINK)
                found.append((made.move(turned_to(b - a), 0.5 * (a + b)), colour))
        first = 0
        for part in self.content["bending"]:
            weights = self.amplitudes[frame, first : first + part["modes"]]
            first += part["modes"]
            if not part["places"]:
                continue
            b, body = part["body"], self.content["bodies"][part["body"]]
            placed = deform_surface(part, weights).move(self.rotations[frame, b], self.positions[frame, b])
            found.append((placed, from_hex(body["colour"])))
        return found


def _colour(part: DataTable, own: str, body: str) -> np.ndarray:
    if own:
        return from_hex(own)
    if part["kind"] in _JOINTS:
        return from_hex(_STEEL)
    return from_hex(body) * (0.62 if part["kind"] == "rod" else 1.0)


FINE = 2  # subpixels per pixel of the picture, in both directions
_SHADOW = 0.16
_RIBBON = 1.6  # pixels


class Theme(NamedTuple):
    """Colours of a picture's background from top to bottom, and of the grid."""

    sky: str
    ground: str
    grid: str


THEMES = {"light": Theme("#f8fafb", "#eef1f4", "#9aa7b2"), "dark": Theme("#1a2128", "#12171c", "#5d6b78")}


class Floor(NamedTuple):
    """A plane: its height along the vertical, the spacing of its grid, and the range in which it is drawn."""

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
        """Return a picture: rows × columns × 3 bytes."""
        base = self._background(camera)
        fine = replace(camera, width=FINE * camera.width, height=FINE * camera.height)
        image = np.repeat(np.repeat(base, FINE, axis=0), FINE, axis=1).reshape(-1, 3)
        if self.floor is not None and fine.eye @ self.up > self.floor.height:
            self._shadows(image, fine, figures)
        all_parts = [*figures, *lines]
        surface = join_surfaces([p.surface for p in all_parts])
        colours = np.concatenate([p.colours for p in all_parts]).astype(np.float32)
        opacities = np.concatenate([p.opacities for p in all_parts])
        parts = _differing_parts([p.parts for p in all_parts])
        corners, near = fine.project(surface.vertices)
        light, gloss = self._light(surface, fine)
        faces = surface.faces
        before = np.all(near[faces] > 0, axis=1)  # faces that reach behind the camera are not drawn
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
        ]  # np.mean over axes would be 5 times slower
        mean = sum(pixels[1:], pixels[0]) * np.float32(255 / FINE**2)
        return np.rint(np.clip(mean, 0, 255)).astype(np.uint8)

    def _light(self, surface: DrawnSurface, camera: Camera) -> tuple[np.ndarray, np.ndarray]:
        """Return brightness and highlights at the corners; surfaces are visible from both sides."""
        view = camera.eye - surface.vertices
        view = view / np.maximum(np.linalg.norm(view, axis=1, keepdims=True), 1e-300)
        n = surface.normals * np.where(np.sum(surface.normals * view, axis=1) < 0, -1.0, 1.0)[:, None]
        half = view + self.sun
        half = half / np.maximum(np.linalg.norm(half, axis=1, keepdims=True), 1e-300)
        bright = 0.62 + 0.14 * (n @ self.up) + 0.38 * np.clip(n @ self.sun, 0, 1)
        return bright, 0.22 * np.clip(np.sum(n * half, axis=1), 0, 1) ** 30

    def _shadows(self, image: np.ndarray, camera: Camera, figures: list[Painted]) -> None:
        assert self.floor is not None
        surface = join_surfaces([p.surface for p in figures])
        above = surface.vertices @ self.up - self.floor.height
        flat = surface.vertices - (above / (self.sun @ self.up))[:, None] * self.sun
        corners, near = camera.project(flat)
        solid = np.concatenate([p.opacities for p in figures]) >= 0.5
        shown = surface.faces[solid & np.all(near[surface.faces] > 0, axis=1)]
        found: Fragments = fragments(corners[shown], near[shown], camera.width, camera.height)
        dark = np.ones(len(image), dtype=np.float32)
        dark[found.pixel] = 1 - _SHADOW
        image *= dark[:, None]

    def _background(self, camera: Camera) -> np.ndarray:
        """Return sky and grid, which are the same for all pictures from one position."""
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
    """Return a line through points, with constant width on the screen."""
    a, b = points[:-1], points[1:]
    _, near = camera.project(points)
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


def _differing_parts(parts: list[np.ndarray]) -> np.ndarray:
    """Return part numbers that differ between figures."""
    found, first = [], 0
    for p in parts:
        found.append(p + first)
        first += int(p.max(initial=-1)) + 1
    return np.concatenate([np.zeros(0, dtype=int), *found])


def _far_to_near(
    chosen: np.ndarray, parts: np.ndarray, near: np.ndarray, faces: np.ndarray
) -> list[np.ndarray]:
    """Return the faces of each transparent part, the farthest part first."""
    groups = [chosen[parts[chosen] == part] for part in np.unique(parts[chosen])]
    return sorted(groups, key=lambda g: float(np.mean(near[faces[g]])))
