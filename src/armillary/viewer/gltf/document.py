"""The parts of a glTF file: arrays in one buffer, materials, meshes and nodes, and the bytes of it all."""

from __future__ import annotations

import json
import struct

import numpy as np

from armillary.files.meshes.surface import from_hex
from armillary.untyped import DataTable
from armillary.version import VERSION
from armillary.viewer.parts.surfaces import DrawnSurface

_FLOAT, _SHORT, _INT = 5126, 5123, 5125
_VERTICES, _INDICES = 34962, 34963
_WIDTHS = {1: "SCALAR", 2: "VEC2", 3: "VEC3", 4: "VEC4"}


class GltfDocument:
    """A glTF document under construction; every method returns the index of what it adds."""

    def __init__(self) -> None:
        self.content: DataTable = {
            "asset": {"version": "2.0", "generator": f"Armillary {VERSION}"},
            "scene": 0,
            "scenes": [{"nodes": []}],
        }
        self._binary = bytearray()
        self._materials: dict[tuple[str, float, int], int] = {}
        self._textures: dict[bytes, int] = {}

    def add(self, kind: str, entry: DataTable) -> int:
        """An entry of one of the lists of a document."""
        entries = self.content.setdefault(kind, [])
        entries.append(entry)
        return len(entries) - 1

    # ------------------------------------------------------------ arrays

    def _accessor(self, data: np.ndarray, component: int, target: int | None, *, bounds: bool) -> int:
        """An array (rows × width) of the buffer."""
        rows = np.ascontiguousarray(data.reshape(len(data), -1))
        entry: DataTable = {
            "bufferView": self._view(rows.tobytes(), target),
            "componentType": component,
            "count": len(rows),
            "type": _WIDTHS[rows.shape[1]],
        }
        if bounds:
            entry |= {"min": rows.min(axis=0).tolist(), "max": rows.max(axis=0).tolist()}
        return self.add("accessors", entry)

    def _view(self, data: bytes, target: int | None = None) -> int:
        """A part of the buffer."""
        view = {"buffer": 0, "byteOffset": len(self._binary), "byteLength": len(data)}
        self._binary += data
        self._binary += b"\0" * (-len(self._binary) % 4)
        return self.add("bufferViews", view | ({"target": target} if target else {}))

    def floats(self, data: np.ndarray, *, bounds: bool = False, vertices: bool = False) -> int:
        """Numbers of single precision."""
        return self._accessor(
            np.asarray(data, dtype="<f4"), _FLOAT, _VERTICES if vertices else None, bounds=bounds
        )

    def _indices(self, faces: np.ndarray, vertices: int) -> int:
        small = vertices < 65535
        data = faces.reshape(-1, 1).astype("<u2" if small else "<u4")
        return self._accessor(data, _SHORT if small else _INT, _INDICES, bounds=False)

    # ------------------------------------------------------------ meshes

    def texture(self, image: bytes) -> int:
        """A picture as bytes of JPEG, once each."""
        if image not in self._textures:
            source = self.add("images", {"bufferView": self._view(image), "mimeType": "image/jpeg"})
            self._textures[image] = self.add("textures", {"source": source})
        return self._textures[image]

    def material(self, colour: str, opacity: float, image: bytes = b"") -> int:
        """A material of this colour, "#0072b2", times a picture, once each."""
        picture = self.texture(image) if image else -1
        key = (colour.lower(), round(opacity, 4), picture)
        if key not in self._materials:
            srgb = from_hex(colour)
            linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
            factor = [*(round(float(x), 6) for x in linear), key[1]]
            entry: DataTable = {
                "pbrMetallicRoughness": {
                    "baseColorFactor": factor,
                    "metallicFactor": 0.1,
                    "roughnessFactor": 0.55,
                },
            }
            if image:
                entry["pbrMetallicRoughness"]["baseColorTexture"] = {"index": picture}
            if opacity < 1:
                entry["alphaMode"] = "BLEND"
            self._materials[key] = self.add("materials", entry)
        return self._materials[key]

    def geometry(
        self, surface: DrawnSurface, targets: list[np.ndarray] | None = None, mapped: np.ndarray | None = None
    ) -> DataTable:
        """A primitive without its material: triangles, displacements of their corners, one per target, and
        places of corners in a picture.
        """
        made: DataTable = {
            "attributes": {
                "POSITION": self.floats(surface.vertices, bounds=True, vertices=True),
                "NORMAL": self.floats(_unit(surface.normals), vertices=True),
            },
            "indices": self._indices(surface.faces, len(surface.vertices)),
        }
        if mapped is not None:
            made["attributes"]["TEXCOORD_0"] = self.floats(mapped, vertices=True)
        if targets:
            places = [self.floats(moved, bounds=True, vertices=True) for moved in targets]
            made["targets"] = [{"POSITION": index} for index in places]
        return made

    def mesh(self, primitives: list[DataTable], name: str) -> int:
        return self.add("meshes", {"name": name, "primitives": primitives})

    def bytes(self) -> bytes:
        """The file: a header, the JSON and the buffer."""
        content = dict(self.content)
        if self._binary:
            content["buffers"] = [{"byteLength": len(self._binary)}]
        text = json.dumps(content, separators=(",", ":"), allow_nan=False).encode()
        text += b" " * (-len(text) % 4)
        chunks = struct.pack("<I4s", len(text), b"JSON") + text
        if self._binary:
            chunks += struct.pack("<I4s", len(self._binary), b"BIN\0") + bytes(self._binary)
        return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks


def _unit(normals: np.ndarray) -> np.ndarray:
    """Normals of unit length; where there is none, along z."""
    lengths = np.linalg.norm(normals, axis=1, keepdims=True)
    return np.where(lengths > 1e-9, normals / np.maximum(lengths, 1e-300), np.array([0.0, 0.0, 1.0]))
