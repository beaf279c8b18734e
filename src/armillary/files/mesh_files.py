"""Triangles of mesh files by their suffix: STL (binary and text), OBJ, MSH as MuJoCo wrote it, GLB and DAE.

Corners and faces are read, and of OBJ, GLB and DAE the colours and textures of materials; normals are not.
Nothing in a file is executed, fetched or expanded.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from armillary.errors import ModelError
from armillary.files.mesh_formats import read_dae, read_glb
from armillary.files.mesh_surface import (
    Beside,
    MeshFault,
    Paint,
    Patch,
    Surface,
    Triangles,
    read_obj,
    texture,
)
from armillary.limited_files import UnreadableFileError, read_limited

LARGEST = 200_000_000  # bytes


def read_mesh(path: Path) -> Triangles:
    """Corners and faces of a file, by its suffix."""
    surface = read_surface(path)
    return surface.corners, surface.faces


def read_surface(path: Path, picture: Path | None = None) -> Surface:
    """Corners, faces and paints of a file, by its suffix; with a ``picture`` in place of its paints."""
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise MeshFault(f"files '{path.suffix}' are not read; {', '.join(READERS)} are")
    try:
        data = read_limited(path, LARGEST)
    except UnreadableFileError as error:
        raise MeshFault(str(error)) from None
    try:
        patches = reader(data, lambda name: _beside(path, name))
        if picture is not None and (paint := texture(_image(picture))).image:
            patches = [patch if patch.mapped is None else patch._replace(paint=paint) for patch in patches]
        return _together(patches)
    except ModelError as error:  # of its XML
        raise MeshFault(f"it is damaged ({error})") from None
    except (
        ValueError,
        OverflowError,
        IndexError,
        KeyError,
        TypeError,
        AttributeError,
        struct.error,
    ) as error:
        raise MeshFault(f"it is damaged ({error})") from None


def _image(path: Path) -> bytes:
    """Return the bytes of a picture; `None` if it cannot be read."""
    try:
        return read_limited(path, LARGEST)
    except ValueError:
        return b""


def _beside(path: Path, name: str) -> bytes:
    """Return a file that another names, inside the folder above its own; empty where it cannot be read."""
    folder = path.resolve().parent
    try:
        other = (folder / name.replace("\\", "/")).resolve()
    except (OSError, ValueError):
        return b""
    return _image(other) if other.is_relative_to(folder.parent) else b""


def _together(patches: Iterable[Patch]) -> Surface:
    """Patches one after the other, each with the paint of its faces."""
    corners, faces, mapped, start, first = [], [], [], 0, 0
    paints: list[tuple[int, Paint]] = []
    for patch in patches:
        places, triangles = check_triangles(patch.corners, patch.faces)
        corners.append(places)
        faces.append(triangles + start)
        paint, spots = _texture_coordinates(patch, len(triangles))
        mapped.append(spots)
        if not paints or paints[-1][1] != paint:
            paints.append((first, paint))
        start, first = start + len(places), first + len(triangles)
    if not corners:
        raise MeshFault("it has no triangles")
    shown = np.concatenate(mapped) if any(paint.image for _, paint in paints) else None
    return Surface(np.concatenate(corners), np.concatenate(faces), tuple(paints), shown)


def _texture_coordinates(patch: Patch, count: int) -> tuple[Paint, np.ndarray]:
    """Return the paint of a patch, without a picture where places in it are missing, and these places."""
    spots = patch.mapped
    if spots is None or spots.shape != (count, 3, 2) or not np.isfinite(spots).all():
        return patch.paint._replace(image=b""), np.zeros((count, 3, 2))
    return patch.paint, np.asarray(spots, dtype=float)


def check_triangles(vertices: np.ndarray, faces: np.ndarray) -> Triangles:
    """Corners and faces as arrays, which must be finite and refer to each other."""
    # Single precision, as in MuJoCo: with the last digits of an OBJ file masses would differ by 1e-7.
    with np.errstate(over="ignore"):  # what is beyond it becomes infinite, which is refused below
        corners = np.asarray(vertices, dtype=np.float32).reshape(-1, 3).astype(float)
    triangles = np.asarray(faces, dtype=np.int64).reshape(-1, 3)
    if not len(corners):
        raise MeshFault("it has no corners")
    if not np.isfinite(corners).all():
        raise MeshFault("a corner is not finite")
    if triangles.size and not 0 <= triangles.min() <= triangles.max() < len(corners):
        raise MeshFault("a face refers to a corner that is not there")
    return corners, triangles


def _stl(data: bytes, beside: Beside) -> list[Patch]:
    """Binary: 80 bytes, a count, and 50 bytes a face. Text begins with "solid", as do some binary files."""
    count = struct.unpack_from("<I", data, 80)[0] if len(data) >= 84 else -1
    if len(data) >= 84 + 50 * count and count > 0:
        kind = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("more", "<u2")])
        corners = np.frombuffer(data, kind, count, 84)["corners"].reshape(-1, 3)
    elif data.lstrip()[:5].lower() == b"solid":
        words = data.decode("utf-8", "replace").split()
        places = [i for i, word in enumerate(words) if word.lower() == "vertex"]
        corners = np.array([_three(words[i + 1 : i + 4]) for i in places])
        if len(corners) % 3:
            raise ValueError(f"it has {len(corners)} vertices; every face has three")
    else:
        raise ValueError("neither a binary nor a text STL file")
    return [Patch(corners, np.arange(len(corners)))]


def _three(words: list[str]) -> list[float]:
    if len(words) < 3:
        raise ValueError(f"a vertex has {len(words)} coordinates; give three")
    return [float(word) for word in words]


def _msh(data: bytes, beside: Beside) -> list[Patch]:
    """Four counts (corners, normals, texture coordinates, faces), then these as floats and integers."""
    corners, normals, textures, faces = struct.unpack_from("<4i", data, 0)
    start = 16 + 4 * (3 * corners + 3 * normals + 2 * textures)
    vertices = np.frombuffer(data, "<f4", 3 * corners, 16)
    return [Patch(vertices, np.frombuffer(data, "<i4", 3 * faces, start))]


READERS: dict[str, Callable[[bytes, Beside], Iterable[Patch]]] = {
    ".stl": _stl, ".obj": read_obj, ".msh": _msh, ".glb": read_glb, ".dae": read_dae,
}  # fmt: skip
