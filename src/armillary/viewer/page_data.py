"""Data of a page: poses of all bodies in every row of a run, motions and meshes, packed as text.

One compiled function gives the pose of each body in its parent: the displacement d of its origin, in the
parent's axes, and the rotation R with v_parent = R v_body. Poses are composed from the ground outwards for
all rows at once:

    R_B = R_P R,    p_B = p_P + R_P d

A motion is stored with 16 bits per number. A channel (a coordinate of a position, a component of a
quaternion) is stored as a whole number of steps from its lowest value, a step being 1/65535 of its range.
Second differences of a smooth motion are small, so deflate packs them well; the page sums them.

Each mesh file is read once. Coordinates of its corners are stored as whole numbers of steps from the lowest,
a step being 1/65535 of the mesh's longest side, so equal corners of faces become one. Corners are numbered in
the order of first use by faces. Then most indices are near the highest one so far (Chun, 2012, "WebGL models:
end-to-end"), and differences of consecutive corners are small, so deflate packs both well.
"""

from __future__ import annotations

import base64
import hashlib
import warnings
import zlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from armillary.algebra.calculus import NumericValue
from armillary.algebra.walk import symbols
from armillary.errors import ArmillaryError, PictureWarning, nearest, outside
from armillary.files.mesh_formats import read_surface
from armillary.files.mesh_surface import MOST, MeshFault, Paint, Surface, hull
from armillary.model.units import state_factor
from armillary.program.equations import DerivedEquations
from armillary.program.pieces import LENGTH, moving_bodies, pose_expressions
from armillary.results import Run
from armillary.runtime.models.compiled_program import ModelFunctions
from armillary.untyped import DataTable


@dataclass(frozen=True, eq=False)
class Poses:
    """``positions[i, b]`` and ``rotations[i, b]``, v_ground = R v_body, of body ``names[b]`` in row i."""

    names: tuple[str, ...]
    positions: np.ndarray  # rows × bodies × 3, in the model's units of length
    rotations: np.ndarray  # rows × bodies × 3 × 3


class PoseFunction:
    """The compiled poses of a system's bodies in their parents."""

    def __init__(self, equations: DerivedEquations) -> None:
        self.equations = equations
        self.bodies = moving_bodies(equations)
        wanted = pose_expressions(equations)
        self.needed = {s.data.name for s in symbols(*wanted)}
        self._function = ModelFunctions(equations, {"poses": wanted}, search=False)

    def of_run(self, run: Run) -> Poses:
        """Return poses in all rows of a run."""
        parameters = {
            name: run.parameters[name] for name in self.equations.parameters if name in run.parameters
        }
        return self.at(run.time, self._states(run), parameters)

    def at(self, time: NumericValue, states: np.ndarray, parameters: dict[str, float]) -> Poses:
        """Return poses at states, one row for each."""
        found = self._function.rows("poses", time, states, parameters)
        n, index = len(found), {body.name: i for i, body in enumerate(self.bodies)}
        relative = found.reshape(n, len(self.bodies), LENGTH)
        positions, rotations = np.zeros((n, len(index), 3)), np.zeros((n, len(index), 3, 3))
        for i, body in enumerate(self.bodies):
            d, R = relative[:, i, :3], relative[:, i, 3:].reshape(n, 3, 3)
            parent = body.parent.name if body.parent is not None else ""
            if (p := index.get(parent)) is None:
                positions[:, i], rotations[:, i] = d, R
            else:
                positions[:, i] = positions[:, p] + (rotations[:, p] @ d[..., None])[..., 0]
                rotations[:, i] = rotations[:, p] @ R
        return Poses(tuple(index), positions, rotations)

    def amplitudes(self, run: Run) -> np.ndarray:
        """Return amplitudes of all modes of flexible bodies in all rows of a run, body after body."""
        index = {name: i for i, name in enumerate(self.equations.coordinates)}
        modes = [q.data.name for b in self.bodies if b.flex is not None for q in b.flex.coordinates]
        states = self._states(run, frozenset(modes))
        return states[:, [index[name] for name in modes]]

    def _states(self, run: Run, also: frozenset[str] = frozenset()) -> np.ndarray:
        """Return states with the coordinates of a run; states that do not affect poses are zero."""
        equations = self.equations
        states = np.zeros((len(run), len(equations.program.state)))
        symbols = {q.data.name: q for q in equations.system.coordinates}
        for i, name in enumerate(equations.coordinates):
            if name not in self.needed and name not in also:
                continue
            if name not in run:
                raise ArmillaryError(
                    f"the run of '{run.system}' has no coordinate '{name}'{nearest(name, run.names)}, so the "
                    f"bodies of '{equations.system.name}' have no place in it; give the model of the run, "
                    "and keep all coordinates among its outputs"
                )
            states[:, i] = run[name] * (state_factor(symbols[name]) if name in symbols else 1.0)
        return states


LEVELS = 65535
_LARGEST = float(np.finfo(np.float32).max)
_LARGE = 1_000_000  # bytes above which the time of compression matters


def pack_channels(channels: np.ndarray, levels: int = LEVELS, *, gaps: bool = False) -> DataTable:
    """Return channels (rows × channels) as JSON data: lowest values, steps, and the coded differences.
    ``levels`` is the number of steps in the range of a channel. Values that are not finite in single
    precision are stored as the lowest; with ``gaps`` they are listed, as (channel, first row, end).
    """
    rows, count = channels.shape
    finite = np.abs(channels) <= _LARGEST  # false for a NaN, too
    low = np.min(channels, axis=0, where=finite, initial=np.inf)
    high = np.max(channels, axis=0, where=finite, initial=-np.inf)
    low, high = np.where(np.isfinite(low), low, 0.0), np.where(np.isfinite(high), high, 0.0)
    step = np.where(high > low, (high - low) / levels, 1.0)
    steps = np.rint((np.where(finite, channels, low) - low) / step).astype(np.int32)
    coded = np.diff(steps, n=2, axis=0, prepend=np.zeros((2, count), dtype=np.int32))
    wrapped = (coded.T & 0xFFFF).astype("<u2")  # sums modulo 2¹⁶ restore the levels
    split = np.concatenate([(wrapped & 0xFF).ravel(), (wrapped >> 8).ravel()]).astype(np.uint8)
    found = {"rows": rows, "low": low.tolist(), "step": step.tolist(), "data": compress(split.tobytes())}
    return found | {"gaps": _gaps(~finite)} if gaps and not finite.all() else found


def _gaps(absent: np.ndarray) -> list[list[int]]:
    """Return the ranges of absent values, as (channel, first row, end)."""
    edges = np.diff(np.pad(absent.T.astype(np.int8), ((0, 0), (1, 1))), axis=1)
    channels, first = np.nonzero(edges > 0)
    found: list[list[int]] = np.stack([channels, first, np.nonzero(edges < 0)[1]], axis=1).tolist()
    return found


def compress(data: bytes) -> str:
    """Return bytes compressed by zlib, in base 64. For 14 MB of motion, level 9 saved 8 % over level 6 but
    took most of the time of a page.
    """
    return base64.b64encode(zlib.compress(data, 9 if len(data) < _LARGE else 6)).decode("ascii")


FINEST = 200_000  # triangles of a mesh in a picture; more are merged
PICTURES = 4_000_000  # bytes of all textures of a picture


@dataclass(frozen=True, eq=False)
class PictureMesh:
    """A mesh as stored in a page.

    Corners (n, 3) are at ``low + step*levels``; ``faces`` are their indices (m, 3). Each of ``paints``
    (first face, paint) applies from its first face on. ``mapped`` (m, 3, 2) has the texture coordinates of
    the corners of faces.
    """

    levels: np.ndarray
    low: np.ndarray
    step: float
    faces: np.ndarray
    paints: tuple[tuple[int, Paint], ...]
    mapped: np.ndarray | None = None

    @property
    def colours(self) -> tuple[tuple[int, str], ...]:
        """The colours of faces: pairs (first face, colour) in order."""
        return tuple((first, paint.colour) for first, paint in self.paints)

    def plain(self) -> PictureMesh:
        """Return the mesh with colours instead of textures."""
        paints = tuple((first, paint._replace(image=b"")) for first, paint in self.paints)
        return replace(self, paints=paints, mapped=None)

    @property
    def corners(self) -> np.ndarray:
        """The corners (n, 3), as lengths."""
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
        """Return the textures of the paints, "" for a paint without one, and coordinates in them; {} without
        any.
        """
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
    """Return differences from one row to the next, modulo 2¹⁶, column by column."""
    return np.diff(levels, axis=0, prepend=0).T & 0xFFFF


def _planes(values: np.ndarray, count: int) -> bytes:
    """Return whole numbers byte by byte: all lowest bytes first."""
    flat = values.ravel()
    return b"".join((flat >> 8 * k & 0xFF).astype(np.uint8).tobytes() for k in range(count))


class MeshStore:
    """The meshes of a picture, by keys made from their file, upward axis and texture, or their corners."""

    def __init__(self) -> None:
        self.found: dict[str, PictureMesh | None] = {}
        self._pictures: set[bytes] = set()

    def __len__(self) -> int:
        return sum(mesh is not None for mesh in self.found.values())

    def key(self, shape: str, file: str, up: str, texture: str = "") -> str | None:
        """Return the key of a file's mesh. If it cannot be used, warn once per file and return None."""
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
        """Return a mesh, without its textures if all textures together would be too large."""
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
        """Return the key of a mesh of given corners, or of their convex hull if there are no faces."""
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
        """Return all meshes except known ones, as JSON data of a page, by key."""
        fresh = {key: mesh for key, mesh in self.found.items() if mesh is not None and key not in known}
        return {key: mesh.pack() for key, mesh in fresh.items()}


def _upright(surface: Surface, path: Path, up: str) -> Surface:
    """Return a surface with the file's upward axis turned to ``up``, by a cyclic change of axes."""
    if not up:
        return surface
    if (own := upward_axis(path)) is None:
        raise MeshFault(f"up='{up}', but a {path.suffix} file does not state its vertical axis")
    return surface._replace(corners=np.roll(surface.corners, "xyz".index(up) - own, axis=1))


def upward_axis(path: Path) -> int | None:
    """Return 0, 1, 2 for x, y, z; `None` if a file does not state its vertical axis."""
    if path.suffix.lower() == ".glb":
        return 1
    if path.suffix.lower() != ".dae":
        return None
    with path.open("rb") as file:
        head = file.read(20_000)
    return next((i for i, name in enumerate((b"X_UP", b"Y_UP", b"Z_UP")) if name in head), 1)


def picture_mesh(surface: Surface) -> PictureMesh:
    """Return a surface with 16-bit corners and at most ``FINEST`` triangles, without flat ones."""
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
    """Merge the corners in each cell, with ``cells`` cells per side; return the middles, the faces with area,
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
    """Return the reason why a mesh is shown without a texture."""
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
