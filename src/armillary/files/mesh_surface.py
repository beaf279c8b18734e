"""Surfaces of triangles, patches of one colour or texture, and the reader of OBJ and MTL files.

A texture is an image of at most 512 pixels a side and its mean colour, averaged in linear light. Pages and
GLB files show the image; formats without images, and films, show the mean colour. Pillow decodes images
(``pip install 'armillary[plot]'``); without it, and for images that cannot be read, a material has its plain
colour.

Source of the file formats: Wavefront, Advanced Visualizer, appendices B1 (.obj) and B2 (.mtl).
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

Triangles = tuple[np.ndarray, np.ndarray]  # corners (n, 3), faces (m, 3) as indices of corners
MOST = 10_000_000  # triangles that are read from a file


class MeshFault(Exception):
    """An error in a mesh file, in words."""


class Paint(NamedTuple):
    """A colour such as "#0072b2", and the image of which it is the mean colour."""

    colour: str = ""  # "" if the file has none
    image: bytes = b""  # JPEG; empty if there is no image


class Patch(NamedTuple):
    """Triangles of one paint. ``mapped`` (m, 3, 2) holds the texture coordinates of the corners of each face:
    0 to 1 along the sides of the image, from its upper left corner.
    """

    corners: np.ndarray
    faces: np.ndarray
    paint: Paint = Paint()
    mapped: np.ndarray | None = None


class Surface(NamedTuple):
    """Corners (n, 3), and faces (m, 3) as indices of corners.

    ``paints`` lists the paints in the order of the faces, each with the index of its first face. ``mapped``
    has texture coordinates as in `Patch`.
    """

    corners: np.ndarray
    faces: np.ndarray
    paints: tuple[tuple[int, Paint], ...] = ((0, Paint()),)
    mapped: np.ndarray | None = None

    @property
    def colours(self) -> tuple[tuple[int, str], ...]:
        """(first face, colour) in order."""
        return tuple((first, paint.colour) for first, paint in self.paints)


def transform_patch(patch: Patch, T: np.ndarray) -> Patch:
    """Return a patch moved by a 4 × 4 matrix; if the matrix mirrors, the order of corners is reversed."""
    turn, shift = T[:3, :3], T[:3, 3]
    corners = np.asarray(patch.corners, dtype=float).reshape(-1, 3) @ turn.T + shift
    faces, mapped = np.asarray(patch.faces).reshape(-1, 3), patch.mapped
    if np.linalg.det(T[:3, :3]) < 0:
        faces, mapped = faces[:, ::-1], mapped if mapped is None else mapped[:, ::-1]
    return Patch(corners, faces, patch.paint, mapped)


def fans(counts: np.ndarray) -> np.ndarray:
    """Return triangles (m, 3) for polygons with these numbers of corners, as fans about first corners.

    Triangles are indices into the list of the corners of all polygons.
    """
    counts = np.asarray(counts, dtype=np.int64)
    if counts.size and counts.min() < 0:
        raise ValueError("a polygon has a negative number of corners")
    first = np.cumsum(counts) - counts
    each = np.maximum(counts - 2, 0)
    if each.sum() > MOST:
        raise MeshFault(f"it has {each.sum():,} triangles; up to {MOST:,} are read")
    within = np.arange(each.sum()) - np.repeat(np.cumsum(each) - each, each)
    start = np.repeat(first, each)
    return np.stack([start, start + within + 1, start + within + 2], axis=1)


def hex_colour(rgb: Iterable[float]) -> str:
    """Return red, green and blue between 0 and 1 as text like "#0072b2"."""
    values = [min(max(float(x), 0.0), 1.0) for x in list(rgb)[:3]]
    if len(values) < 3:
        raise ValueError("a colour has fewer than three components")
    return "#" + "".join(f"{round(255 * x):02x}" for x in values)


def from_hex(colour: str) -> np.ndarray:
    """Return red, green and blue of "#0072b2", between 0 and 1."""
    return np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255.0


def hull(corners: np.ndarray) -> np.ndarray:
    """Return the faces of the convex hull, with normals that point outwards."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        found = ConvexHull(corners)
    except (QhullError, ValueError) as error:
        raise MeshFault(f"it has no convex hull ({str(error).splitlines()[0][:100]})") from None
    faces = np.array(found.simplices)
    A, B, C = (corners[faces[:, i]] for i in range(3))
    inwards = np.einsum("ij,ij->i", np.cross(B - A, C - A), found.equations[:, :3]) < 0
    faces[inwards] = faces[inwards][:, ::-1]
    return faces


SIDE = 512  # pixels of the longer side to which an image is reduced
_MOST = 50_000_000  # pixels; larger images are not read
_FEW = 64  # pixels a side of the reduced image from which the mean colour is taken
_QUALITY = 85


def texture(data: bytes, factor: np.ndarray | None = None) -> Paint:
    """Return the paint of an image whose linear light is multiplied by a factor; empty if unreadable."""
    try:
        from PIL import Image
    except ImportError:
        return Paint()
    try:
        with Image.open(io.BytesIO(data)) as image:
            if image.width * image.height > _MOST:
                return Paint()
            image.thumbnail((SIDE, SIDE))
            seen = image.convert("RGBA")
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):  # what Pillow raises
        return Paint()
    if factor is not None and np.any(factor != 1.0):
        values = np.asarray(seen, dtype=float) / 255.0
        values[..., :3] = srgb(factor * linear_light(values[..., :3]))
        seen = Image.fromarray(np.rint(255.0 * values).astype(np.uint8), "RGBA")
    stored = io.BytesIO()
    seen.convert("RGB").save(stored, "JPEG", quality=_QUALITY)
    small = seen.copy()
    small.thumbnail((_FEW, _FEW))
    pixels = np.asarray(small, dtype=float) / 255.0
    weights = pixels[..., 3].ravel()
    if not weights.sum() > 0.0:
        return Paint()
    light = weights @ linear_light(pixels[..., :3].reshape(-1, 3)) / weights.sum()
    return Paint(hex_colour(srgb(light)), stored.getvalue())


def linear_light(colour: np.ndarray) -> np.ndarray:
    """Return the linear light of sRGB values, both between 0 and 1 (IEC 61966-2-1)."""
    return np.where(colour <= 0.04045, colour / 12.92, ((colour + 0.055) / 1.055) ** 2.4)


def srgb(light: np.ndarray) -> np.ndarray:
    """Return sRGB values of light, both between 0 and 1."""
    return np.where(light <= 0.0031308, 12.92 * light, 1.055 * np.maximum(light, 0.0) ** (1 / 2.4) - 0.055)


Beside = Callable[[str], bytes]  # reads a file in the same folder by its name; empty if it cannot be read


def read_obj(data: bytes, beside: Beside) -> list[Patch]:
    """Read an OBJ file: lines "v x y z", "vt u v" and "f a/b …". Indices in "f" count from 1, or, if
    negative, back from the last corner or texture coordinate; "usemtl" begins the faces of another material.
    """
    corners: list[list[float]] = []
    spots: list[list[float]] = []
    faces: dict[str, list[tuple[int, int, int]]] = {}
    mapped: dict[str, list[tuple[int, int, int]]] = {}
    paints: dict[str, Paint] = {}
    material = ""
    for line in data.decode("utf-8", "replace").replace("\\\n", " ").splitlines():
        words = line.split()
        if not words:
            continue
        if words[0] == "v":
            if len(words) < 4:
                raise ValueError(f"a vertex has {len(words) - 1} coordinates; give three")
            corners.append([float(word) for word in words[1:4]])
        elif words[0] == "vt" and len(words) > 2:
            spots.append([float(words[1]), 1.0 - float(words[2])])  # the file counts from the lower left
        elif words[0] == "f":
            parts = [word.split("/") for word in words[1:]]
            numbers = [int(part[0]) for part in parts]
            if len(numbers) < 3:
                raise ValueError(f"the face '{line.strip()[:40]}' has fewer than three corners")
            ring = [n - 1 if n > 0 else len(corners) + n for n in numbers]
            some = faces.setdefault(material, [])
            some += [(ring[0], ring[i], ring[i + 1]) for i in range(1, len(ring) - 1)]
            if all(len(part) > 1 and part[1] for part in parts):
                seen = [n - 1 if n > 0 else len(spots) + n for n in (int(part[1]) for part in parts)]
                triangles = mapped.setdefault(material, [])
                triangles += [(seen[0], seen[i], seen[i + 1]) for i in range(1, len(seen) - 1)]
        elif words[0] == "usemtl":
            material = " ".join(words[1:])
        elif words[0] == "mtllib":
            paints |= material_paints(beside(" ".join(words[1:])), beside)
    if not faces:
        return [Patch(np.array(corners), np.zeros((0, 3)))]
    # The first patch has all corners, as in a file without materials; other patches only those they use.
    (first, own), *others = faces.items()
    start = len(corners)

    def look(name: str, count: int) -> tuple[Paint, np.ndarray | None]:
        """Return the paint of a material, and texture coordinates if all of its faces have them."""
        places = np.array(mapped.get(name, ()), dtype=np.int64)
        if len(places) != count or not 0 <= places.min() <= places.max() < len(spots):
            return paints.get(name, Paint()), None
        return paints.get(name, Paint()), np.array(spots)[places]

    patches = [Patch(np.array(corners), np.array(own), *look(first, len(own)))]
    for name, triangles in others:
        used, order = np.unique(np.array(triangles), return_inverse=True)
        if not 0 <= used[0] <= used[-1] < start:
            raise ValueError("a face refers to a corner that is not there")
        patches.append(Patch(np.array(corners)[used], order.reshape(-1, 3), *look(name, len(triangles))))
    return patches


def material_paints(data: bytes, beside: Beside) -> dict[str, Paint]:
    """Return the paints of the materials of an MTL file: diffuse colours ("Kd") or textures ("map_Kd")."""
    found: dict[str, Paint] = {}
    name = ""
    for line in data.decode("utf-8", "replace").splitlines():
        words = line.split()
        if words[:1] == ["newmtl"]:
            name = " ".join(words[1:])
        elif words[:1] == ["Kd"] and name not in found:
            try:
                found[name] = Paint(hex_colour([float(word) for word in words[1:4]]))
            except ValueError:
                continue  # "Kd spectral" and "Kd xyz" are not read
        elif words[:1] == ["map_Kd"] and len(words) > 1:
            seen = texture(beside(words[-1]))
            found[name] = seen if seen.colour else found.get(name, seen)
    return found
