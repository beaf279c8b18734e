"""Meshes of a picture: each file read once, its corners with 16 bits, and packed for a page.

Corners go from the lowest one in steps of 1/65535 of the mesh's longest side, so equal corners of faces
become one. They are numbered as faces first use them; then most indices are near the highest one so far
(Chun, 2012, "WebGL models: end-to-end"), and differences of corners that follow each other are small, so
deflate packs both well.
"""

from __future__ import annotations

import base64
import hashlib
import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from armillary.errors import PictureWarning, outside
from armillary.files.meshes.reading import read_surface
from armillary.files.meshes.surface import MOST, MeshFault, Paint, Surface, hull
from armillary.untyped import DataTable
from armillary.viewer.poses import LEVELS, compress

FINEST = 200_000  # triangles of a mesh in a picture; more are merged
PICTURES = 4_000_000  # bytes of all textures of a picture


@dataclass(frozen=True, eq=False)
class PictureMesh:
    """Corners as levels of 16 bits (n, 3), from ``low`` in steps; faces; (first face, paint); and where there
    are pictures, places in them (m, 3, 2) of the corners of faces.
    """

    levels: np.ndarray
    low: np.ndarray
    step: float
    faces: np.ndarray
    paints: tuple[tuple[int, Paint], ...]
    mapped: np.ndarray | None = None

    @property
    def colours(self) -> tuple[tuple[int, str], ...]:
        """(first face, colour) in order."""
        return tuple((first, paint.colour) for first, paint in self.paints)

    def plain(self) -> PictureMesh:
        """Return the mesh with colours in place of pictures."""
        paints = tuple((first, paint._replace(image=b"")) for first, paint in self.paints)
        return replace(self, paints=paints, mapped=None)

    @property
    def corners(self) -> np.ndarray:
        """Corners as lengths."""
        return np.asarray(self.low + self.step * self.levels)

    def pack(self) -> DataTable:
        """Return the mesh as JSON data of a page."""
        order = self.faces.ravel()
        highest = np.maximum.accumulate(order) + 1
        codes = np.concatenate([[0], highest[:-1]]) - order
        return {
            "low": self.low.tolist(),
            "step": self.step,
            "corners": compress(_planes(_row_differences(self.levels), 2)),
            "faces": compress(_planes(codes, 3)),
            "colours": [list(entry) for entry in self.colours],
            **self._pictures(),
        }

    def _pictures(self) -> DataTable:
        """Pictures of the paints, empty for those without, and places in them."""
        if self.mapped is None:
            return {}
        places = self.mapped.reshape(-1, 2)
        low = places.min(axis=0)
        step = np.maximum(np.ptp(places, axis=0), 1e-9) / LEVELS
        levels = np.rint((places - low) / step).astype(np.int64)
        return {
            "images": [base64.b64encode(paint.image).decode("ascii") for _, paint in self.paints],
            "mapped": {
                "low": low.tolist(),
                "step": step.tolist(),
                "data": compress(_planes(_row_differences(levels), 2)),
            },
        }


def _row_differences(levels: np.ndarray) -> np.ndarray:
    """From one row to the next, modulo 2¹⁶, column by column."""
    return np.diff(levels, axis=0, prepend=0).T & 0xFFFF


def _planes(values: np.ndarray, count: int) -> bytes:
    """Whole numbers byte by byte: all lowest bytes first."""
    flat = values.ravel()
    return b"".join((flat >> 8 * k & 0xFF).astype(np.uint8).tobytes() for k in range(count))


class MeshStore:
    """The meshes of a picture by a key that their file and direction decide."""

    def __init__(self) -> None:
        self.found: dict[str, PictureMesh | None] = {}
        self._pictures: set[bytes] = set()

    def __len__(self) -> int:
        return sum(mesh is not None for mesh in self.found.values())

    def key(self, shape: str, file: str, up: str, texture: str = "") -> str | None:
        """Return the key of a file's mesh; where it cannot be used a warning, once a file, and None."""
        key = hashlib.sha256(f"{file}\n{up}\n{texture}".encode()).hexdigest()[:16]
        if key not in self.found:
            try:
                surface = read_surface(Path(file), Path(texture) if texture else None)
                if texture and not any(paint.image for _, paint in surface.paints):
                    warnings.warn(
                        f"shape '{shape}' is shown without the texture '{Path(texture).name}': "
                        + _missing(texture, Path(file).name),
                        PictureWarning,
                        outside(),
                    )
                made = self._limit_pictures(
                    picture_mesh(_upright(surface, Path(file), up)), shape, Path(file).name
                )
                self.found[key] = made
                if len(surface.faces) > FINEST:
                    warnings.warn(
                        f"shape '{shape}': mesh '{Path(file).name}' has {len(surface.faces):,} triangles; "
                        f"the picture shows {len(made.faces):,}, with near corners merged",
                        PictureWarning,
                        outside(),
                    )
            except MeshFault as fault:
                self.found[key] = None
                warnings.warn(
                    f"shape '{shape}' is left out: mesh '{Path(file).name}' cannot be used: {fault} ({file})",
                    PictureWarning,
                    outside(),
                )
        return None if self.found[key] is None else key

    def _limit_pictures(self, mesh: PictureMesh, shape: str, name: str) -> PictureMesh:
        """Return a mesh without its pictures where all of them together would take too much room."""
        images = {paint.image for _, paint in mesh.paints}
        if sum(map(len, self._pictures | images)) <= PICTURES:
            self._pictures |= images
            return mesh
        warnings.warn(
            f"shape '{shape}': textures of mesh '{name}' are shown as their mean colours: all together would "
            f"take more than {PICTURES / 1e6:g} MB",
            PictureWarning,
            outside(),
        )
        return mesh.plain()

    def add_mesh(self, shape: str, corners: Sequence[object], faces: Sequence[object]) -> str | None:
        """Return the key of a mesh of given corners, or of their convex hull where there are no faces."""
        key = hashlib.sha256(repr((corners, faces)).encode()).hexdigest()[:16]
        if key not in self.found:
            try:
                places = np.array(corners, dtype=float)
                self.found[key] = picture_mesh(Surface(places, np.array(faces) if faces else hull(places)))
            except MeshFault as fault:
                self.found[key] = None
                warnings.warn(f"shape '{shape}' is left out: {fault}", PictureWarning, outside())
        return None if self.found[key] is None else key

    def pack(self, known: Collection[str] = ()) -> dict[str, DataTable]:
        """Return all meshes but those that are known, as JSON data of a page, by key."""
        fresh = {key: mesh for key, mesh in self.found.items() if mesh is not None and key not in known}
        return {key: mesh.pack() for key, mesh in fresh.items()}


def _upright(surface: Surface, path: Path, up: str) -> Surface:
    """Return a surface with the file's upward axis turned to ``up``, by a cyclic change of axes."""
    if not up:
        return surface
    if (own := upward_axis(path)) is None:
        raise MeshFault(f"up='{up}', but a {path.suffix} file does not state what is upwards")
    return surface._replace(corners=np.roll(surface.corners, "xyz".index(up) - own, axis=1))


def upward_axis(path: Path) -> int | None:
    """0, 1, 2 for x, y, z; `None` if a file does not state it."""
    if path.suffix.lower() == ".glb":
        return 1
    if path.suffix.lower() != ".dae":
        return None
    with path.open("rb") as file:
        head = file.read(20_000)
    return next((i for i, name in enumerate((b"X_UP", b"Y_UP", b"Z_UP")) if name in head), 1)


def picture_mesh(surface: Surface) -> PictureMesh:
    """Return a surface with corners of 16 bits and at most ``FINEST`` triangles; flat ones are left out."""
    if not len(surface.faces):
        raise MeshFault("it has no triangles")
    if len(surface.faces) > MOST:
        raise MeshFault(f"it has {len(surface.faces):,} triangles; up to {MOST:,} are read")
    used = surface.corners[surface.faces.ravel()]
    low, longest = used.min(axis=0), float(np.max(np.ptp(used, axis=0)))
    step = longest / LEVELS or 1.0
    levels = np.rint((used - low) / step).astype(np.int64)
    cells = LEVELS + 1 if len(surface.faces) <= 4 * FINEST else 512
    places, faces, kept = _merge_corners(levels, cells)
    while len(faces) > FINEST:
        cells = min(cells // 2, 512)
        places, faces, kept = _merge_corners(levels, cells)
    if not len(faces):
        raise MeshFault("its faces have no area")
    order, first = _by_use(faces)
    starts = [int(np.searchsorted(kept, face)) for face, _ in surface.paints]
    ends = [*starts[1:], len(kept)]
    paints = tuple((s, p) for s, e, (_, p) in zip(starts, ends, surface.paints, strict=True) if e > s)
    mapped = None if surface.mapped is None else surface.mapped[kept]
    return PictureMesh(places[first].astype(np.int64), low, step, order, paints, mapped)


def _merge_corners(levels: np.ndarray, cells: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Merge the corners in each of this number of cells per side; return the middles, the faces with area,
    and their indices.
    """
    coarse = levels * cells // (LEVELS + 1)
    x, y, z = coarse.T
    keys = (x << 34) + (y << 17) + z
    _, inverse = np.unique(keys, return_inverse=True)
    inverse = inverse.ravel()
    count = np.bincount(inverse)
    sums = [np.bincount(inverse, weights=levels[:, k]) for k in range(3)]
    middles = np.rint(np.stack(sums, axis=1) / count[:, None]).astype(np.int64)
    faces = inverse.reshape(-1, 3)
    a, b, c = faces.T
    solid = (a != b) & (b != c) & (c != a)
    return middles, faces[solid], np.flatnonzero(solid)


def _missing(texture: str, mesh: str) -> str:
    """Why a mesh is shown without a texture."""
    if not Path(texture).is_file():
        return f"there is no such file ({texture})"
    unread = "Pillow (pip install 'armillary[plot]') does not read it"
    return f"{unread}, or mesh '{mesh}' has no texture coordinates"


def _by_use(faces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number corners in the order of their first use; return faces and corners."""
    used, index, inverse = np.unique(faces.ravel(), return_index=True, return_inverse=True)
    order = np.argsort(index)
    rank = np.empty(len(used), dtype=np.int64)
    rank[order] = np.arange(len(used))
    return rank[inverse.ravel()].reshape(-1, 3), used[order]
