"""Triangles of OBJ files, with the colours and textures of the material files (.mtl) that they name.

Source: Wavefront, Advanced Visualizer, appendices B1 (.obj) and B2 (.mtl).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from armillary.files.meshes.surface import Paint, Patch, hex_colour, texture

Beside = Callable[[str], bytes]  # a file in the folder of another, by its name; empty where it cannot be read


def read_obj(data: bytes, beside: Beside) -> list[Patch]:
    """Lines "v x y z", "vt u v" and "f a/b …", whose numbers begin with 1 or count back from the last corner
    and place in a picture; "usemtl" begins the faces of another material.
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
            spots.append([float(words[1]), 1.0 - float(words[2])])  # from the lower left in the file
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
                more = mapped.setdefault(material, [])
                more += [(seen[0], seen[i], seen[i + 1]) for i in range(1, len(seen) - 1)]
        elif words[0] == "usemtl":
            material = " ".join(words[1:])
        elif words[0] == "mtllib":
            paints |= material_paints(beside(" ".join(words[1:])), beside)
    if not faces:
        return [Patch(np.array(corners), np.zeros((0, 3)))]
    # The first patch has all corners, as a file without materials; each other one those that it uses.
    (first, own), *others = faces.items()
    start = len(corners)

    def look(name: str, count: int) -> tuple[Paint, np.ndarray | None]:
        """The paint of a material, and places in its picture where all of its faces have them."""
        places = np.array(mapped.get(name, ()), dtype=np.int64)
        if len(places) != count or not 0 <= places.min() <= places.max() < len(spots):
            return paints.get(name, Paint()), None
        return paints.get(name, Paint()), np.array(spots)[places]

    patches = [Patch(np.array(corners), np.array(own), *look(first, len(own)))]
    for name, more in others:
        used, order = np.unique(np.array(more), return_inverse=True)
        if not 0 <= used[0] <= used[-1] < start:
            raise ValueError("a face refers to a corner that is not there")
        patches.append(Patch(np.array(corners)[used], order.reshape(-1, 3), *look(name, len(more))))
    return patches


def material_paints(data: bytes, beside: Beside) -> dict[str, Paint]:
    """Paints of the materials of a .mtl file: diffuse colours ("Kd") or textures ("map_Kd")."""
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
                continue  # "Kd spectral" and "Kd xyz"
        elif words[:1] == ["map_Kd"] and len(words) > 1:
            seen = texture(beside(words[-1]))
            found[name] = seen if seen.colour else found.get(name, seen)
    return found
