"""Triangles of binary glTF 2.0 files: meshes at their nodes, with base colours and textures of materials.

A file is a header, a JSON chunk that describes accessors into buffers, and a binary chunk. Buffers in other
files are not opened. Axes and lengths are the file's: metres, y upwards.

Source: Khronos Group (2021), glTF 2.0 Specification, sections 3.5 to 3.9 and 4.4.
"""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Iterator

import numpy as np

from armillary.files.meshes.surface import (
    MOST,
    Beside,
    MeshFault,
    Paint,
    Patch,
    fans,
    hex_colour,
    srgb,
    texture,
    transform_patch,
)
from armillary.untyped import DataTable

_KINDS = {5120: "<i1", 5121: "<u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
_WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4}
_READ = {"KHR_mesh_quantization", "KHR_materials_unlit", "KHR_texture_transform"}
_TRIANGLES, _STRIP, _FAN = 4, 5, 6


def read_glb(data: bytes, beside: Beside) -> Iterator[Patch]:
    """The patches of all meshes in the scene."""
    scene = _GltfFile(data)
    total = 0
    for node, T in scene.nodes():
        for patch in scene.patches(node):
            total += len(patch.faces)
            if total > MOST:
                raise MeshFault(f"it has more than {MOST:,} triangles")
            yield transform_patch(patch, T)


class _GltfFile:
    """The JSON of a file and its buffers."""

    def __init__(self, data: bytes) -> None:
        magic, version, _ = struct.unpack_from("<4sII", data, 0)
        if magic != b"glTF" or version != 2:
            raise ValueError("not a binary glTF file of version 2")
        chunks: dict[bytes, bytes] = {}
        place = 12
        while place + 8 <= len(data):
            length, kind = struct.unpack_from("<I4s", data, place)
            chunks.setdefault(kind, data[place + 8 : place + 8 + length])
            place += 8 + length
        self.json: DataTable = json.loads(chunks[b"JSON"])
        self.binary = chunks.get(b"BIN\0", b"")
        if unknown := set(self.json.get("extensionsRequired", ())) - _READ:
            raise MeshFault(f"it needs the extension {sorted(unknown)[0][:60]}, which is not read")

    def nodes(self) -> Iterator[tuple[DataTable, np.ndarray]]:
        """Nodes of the scene with a mesh, and their place in it."""
        nodes, scenes = self.json.get("nodes", []), self.json.get("scenes", [])
        children = {i for node in nodes for i in node.get("children", [])}
        others = [i for i in range(len(nodes)) if i not in children]
        roots = scenes[self.json.get("scene", 0)].get("nodes", []) if scenes else others
        stack = [(i, np.eye(4)) for i in reversed(roots)]
        met: set[int] = set()
        while stack:
            index, above = stack.pop()
            if index in met:  # nodes of glTF 2.0 are strict trees
                raise MeshFault("its nodes form a cycle")
            met.add(index)
            node = nodes[index]
            T = above @ _transform(node)
            if "mesh" in node:
                yield node, T
            stack += [(i, T) for i in reversed(node.get("children", []))]

    def patches(self, node: DataTable) -> Iterator[Patch]:
        for primitive in self.json["meshes"][node["mesh"]]["primitives"]:
            mode = primitive.get("mode", _TRIANGLES)
            if mode not in (_TRIANGLES, _STRIP, _FAN):
                continue  # points and lines
            corners = self.array(primitive["attributes"]["POSITION"])
            order = np.arange(len(corners))
            if "indices" in primitive:
                order = self.array(primitive["indices"]).astype(np.int64).ravel()
            faces = _faces(order, mode)
            paint, used = self.paint(primitive)
            yield Patch(corners, faces, paint, self.texture_coordinates(primitive, used, faces))

    def paint(self, primitive: DataTable) -> tuple[Paint, DataTable]:
        """Return the base colour of a material times its texture, in sRGB, and how the texture is used; none
        without both.
        """
        if "material" not in primitive:
            return Paint(), {}
        found = self.json["materials"][primitive["material"]].get("pbrMetallicRoughness", {})
        factor = np.clip(np.asarray(found.get("baseColorFactor", (1, 1, 1))[:3], dtype=float), 0.0, 1.0)
        used = found.get("baseColorTexture") or {}
        seen = texture(image, factor) if (image := self.image(used)) else Paint()
        if seen.colour or "baseColorFactor" not in found:
            return seen, used
        return Paint(hex_colour(srgb(factor))), {}

    def image(self, used: DataTable) -> bytes:
        """Return the bytes of an image inside the file; none without one."""
        if "index" not in used or "source" not in (found := self.json["textures"][used["index"]]):
            return b""
        image = self.json["images"][found["source"]]
        if "bufferView" in image:
            view = self.json["bufferViews"][image["bufferView"]]
            start = int(view.get("byteOffset", 0))
            return self._buffer(view["buffer"])[start : start + int(view["byteLength"])]
        uri = image.get("uri", "")
        return base64.b64decode(uri.partition(",")[2]) if uri.startswith("data:") else b""

    def texture_coordinates(
        self, primitive: DataTable, used: DataTable, faces: np.ndarray
    ) -> np.ndarray | None:
        """Places in the picture of the corners of faces, with KHR_texture_transform."""
        change = used.get("extensions", {}).get("KHR_texture_transform", {})
        name = f"TEXCOORD_{change.get('texCoord', used.get('texCoord', 0))}"
        if name not in primitive["attributes"]:
            return None
        spots = self.array(primitive["attributes"][name]).astype(float)
        angle = float(change.get("rotation", 0.0))
        c, s = np.cos(angle), np.sin(angle)
        spots = spots * np.asarray(change.get("scale", (1.0, 1.0)), dtype=float) @ np.array([[c, -s], [s, c]])
        return np.asarray((spots + np.asarray(change.get("offset", (0.0, 0.0)), dtype=float))[faces])

    def array(self, index: int) -> np.ndarray:
        """Return the values of an accessor, a row each."""
        accessor = self.json["accessors"][index]
        if "sparse" in accessor:
            raise MeshFault("it has a sparse accessor, which is not read")
        count, width = int(accessor["count"]), _WIDTHS[accessor["type"]]
        kind = np.dtype(_KINDS[accessor["componentType"]])
        if not 0 < count <= 3 * MOST:
            raise MeshFault(f"an accessor has {count:,} values")
        if "bufferView" not in accessor:
            return np.zeros((count, width))
        view = self.json["bufferViews"][accessor["bufferView"]]
        data = self._buffer(view["buffer"])
        start = int(view.get("byteOffset", 0)) + int(accessor.get("byteOffset", 0))
        stride = int(view.get("byteStride", 0)) or kind.itemsize * width
        end = start + stride * (count - 1) + kind.itemsize * width
        if start < 0 or stride < kind.itemsize * width or end > len(data):
            raise ValueError("an accessor goes beyond its buffer")
        values = np.ndarray((count, width), kind, data, start, (stride, kind.itemsize))
        if accessor.get("normalized") and kind.kind in "iu":
            return np.maximum(values / float(np.iinfo(kind).max), -1.0)
        return values

    def _buffer(self, index: int) -> bytes:
        uri = self.json["buffers"][index].get("uri")
        if uri is None:
            return self.binary
        if not uri.startswith("data:"):
            raise MeshFault("its numbers are in another file; save it as one .glb")
        return base64.b64decode(uri.partition(",")[2])


def _faces(order: np.ndarray, mode: int) -> np.ndarray:
    if mode == _TRIANGLES:
        return order[: len(order) // 3 * 3].reshape(-1, 3)
    if mode == _FAN:
        found: np.ndarray = order[fans(np.array([len(order)]))]
        return found
    i = np.arange(max(len(order) - 2, 0))
    odd = i % 2  # every other triangle of a strip is turned around
    return order[np.stack([i, i + 1 + odd, i + 2 - odd], axis=1)]


def _transform(node: DataTable) -> np.ndarray:
    """T with x_parent = T x_node, from a matrix (column by column), or translation, rotation and scale."""
    if "matrix" in node:
        return np.asarray(node["matrix"], dtype=float).reshape(4, 4).T
    x, y, z, w = np.asarray(node.get("rotation", (0, 0, 0, 1)), dtype=float)
    T = np.eye(4)
    T[:3, :3] = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    ) * np.asarray(node.get("scale", (1, 1, 1)), dtype=float)
    T[:3, 3] = node.get("translation", (0, 0, 0))
    return T
