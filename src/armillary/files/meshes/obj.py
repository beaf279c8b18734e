"""Triangles of OBJ files, with the colours of the material files (.mtl) that they name.

Source: Wavefront, Advanced Visualizer, appendices B1 (.obj) and B2 (.mtl).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from armillary.files.meshes.surface import Patch, hex_colour
from armillary.files.meshes.textures import mean_colour

Beside = Callable[[str], bytes]  # a file in the folder of another, by its name; empty where it cannot be read


def read_obj(data: bytes, beside: Beside) -> list[Patch]:
    """Lines "v x y z" and "f a b c …", whose numbers begin with 1 or count back from the last corner;
    "usemtl" begins the faces of another material.
    """
    corners: list[list[float]] = []
    faces: dict[str, list[tuple[int, int, int]]] = {}
    colours: dict[str, str] = {}
    material = ""
    for line in data.decode("utf-8", "replace").replace("\\\n", " ").splitlines():
        words = line.split()
        if not words:
            continue
        if words[0] == "v":
            if len(words) < 4:
                raise ValueError(f"a vertex has {len(words) - 1} coordinates; give three")
            corners.append([float(word) for word in words[1:4]])
        elif words[0] == "f":
            numbers = [int(word.partition("/")[0]) for word in words[1:]]
            if len(numbers) < 3:
                raise ValueError(f"the face '{line.strip()[:40]}' has fewer than three corners")
            ring = [n - 1 if n > 0 else len(corners) + n for n in numbers]
            some = faces.setdefault(material, [])
            some += [(ring[0], ring[i], ring[i + 1]) for i in range(1, len(ring) - 1)]
        elif words[0] == "usemtl":
            material = " ".join(words[1:])
        elif words[0] == "mtllib":
            colours |= material_colours(beside(" ".join(words[1:])), beside)
    if not faces:
        return [Patch(np.array(corners), np.zeros((0, 3)))]
    # The first patch has all corners, as a file without materials; each other one those that it uses.
    (first, own), *others = faces.items()
    start = len(corners)
    patches = [Patch(np.array(corners), np.array(own), colours.get(first, ""))]
    for name, more in others:
        used, order = np.unique(np.array(more), return_inverse=True)
        if not 0 <= used[0] <= used[-1] < start:
            raise ValueError("a face refers to a corner that is not there")
        patches.append(Patch(np.array(corners)[used], order.reshape(-1, 3), colours.get(name, "")))
    return patches


def material_colours(data: bytes, beside: Beside) -> dict[str, str]:
    """Colours of the materials of a .mtl file: diffuse ("Kd"), or the mean of a texture ("map_Kd")."""
    found: dict[str, str] = {}
    name = ""
    for line in data.decode("utf-8", "replace").splitlines():
        words = line.split()
        if words[:1] == ["newmtl"]:
            name = " ".join(words[1:])
        elif words[:1] == ["Kd"] and name not in found:
            try:
                found[name] = hex_colour([float(word) for word in words[1:4]])
            except ValueError:
                continue  # "Kd spectral" and "Kd xyz"
        elif words[:1] == ["map_Kd"] and len(words) > 1:
            found[name] = mean_colour(beside(words[-1])) or found.get(name, "")
    return found
