"""Motions as binary glTF 2.0 (.glb), which other programs show, edit and render.

A scene has a node per body, and one animation of their positions, attitudes and bending. The root node turns
the vertical to y and scales lengths to metres, as glTF requires; below it everything is in the model's own
axes and units. A spring is a node that is stretched; a bending part has a morph target per mode, and
amplitudes of the modes as weights.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from armillary.algebra.units import LENGTH
from armillary.files.mesh_surface import Paint, from_hex
from armillary.limited_files import write_file
from armillary.program.equations import DerivedEquations
from armillary.results import Run
from armillary.untyped import DataTable
from armillary.version import VERSION
from armillary.viewer.appearance import COLOUR as LINK
from armillary.viewer.appearance import Bar, bars_of
from armillary.viewer.figures import PageFigure, figure_of
from armillary.viewer.surfaces import DrawnSurface, bent_surface, join_surfaces, mesh_surfaces, surfaces_of

_FLOAT, _SHORT, _INT = 5126, 5123, 5125
_VERTICES, _INDICES = 34962, 34963
_WIDTHS = {1: "SCALAR", 2: "VEC2", 3: "VEC3", 4: "VEC4"}


class GltfDocument:
    """A glTF document under construction; every method returns the index of the item that it adds."""

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
        """Add an entry to one of the lists of the document."""
        entries = self.content.setdefault(kind, [])
        entries.append(entry)
        return len(entries) - 1

    # ------------------------------------------------------------ arrays

    def _accessor(self, data: np.ndarray, component: int, target: int | None, *, bounds: bool) -> int:
        """Add an array (rows × width) to the buffer."""
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
        """Add bytes to the buffer, as a view."""
        view = {"buffer": 0, "byteOffset": len(self._binary), "byteLength": len(data)}
        self._binary += data
        self._binary += b"\0" * (-len(self._binary) % 4)
        return self.add("bufferViews", view | ({"target": target} if target else {}))

    def floats(self, data: np.ndarray, *, bounds: bool = False, vertices: bool = False) -> int:
        """Add an array of single precision."""
        return self._accessor(
            np.asarray(data, dtype="<f4"), _FLOAT, _VERTICES if vertices else None, bounds=bounds
        )

    def _indices(self, faces: np.ndarray, vertices: int) -> int:
        small = vertices < 65535
        data = faces.reshape(-1, 1).astype("<u2" if small else "<u4")
        return self._accessor(data, _SHORT if small else _INT, _INDICES, bounds=False)

    # ------------------------------------------------------------ meshes

    def texture(self, image: bytes) -> int:
        """Add a picture from bytes of JPEG, once for each picture."""
        if image not in self._textures:
            source = self.add("images", {"bufferView": self._view(image), "mimeType": "image/jpeg"})
            self._textures[image] = self.add("textures", {"source": source})
        return self._textures[image]

    def material(self, colour: str, opacity: float, image: bytes = b"") -> int:
        """Add a material of a colour such as "#0072b2", times a picture; once for each material."""
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
        """Return a primitive without its material: triangles, displacements of their corners, one array per
        target, and coordinates of corners in a picture.
        """
        made: DataTable = {
            "attributes": {
                "POSITION": self.floats(surface.vertices, bounds=True, vertices=True),
                "NORMAL": self.floats(_unit_normals(surface.normals), vertices=True),
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
        """Return the bytes of the file: a header, the JSON and the buffer."""
        content = dict(self.content)
        if self._binary:
            content["buffers"] = [{"byteLength": len(self._binary)}]
        text = json.dumps(content, separators=(",", ":"), allow_nan=False).encode()
        text += b" " * (-len(text) % 4)
        chunks = struct.pack("<I4s", len(text), b"JSON") + text
        if self._binary:
            chunks += struct.pack("<I4s", len(self._binary), b"BIN\0") + bytes(self._binary)
        return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks


def _unit_normals(normals: np.ndarray) -> np.ndarray:
    """Return normals of unit length; along z for normals of length zero."""
    lengths = np.linalg.norm(normals, axis=1, keepdims=True)
    return np.where(lengths > 1e-9, normals / np.maximum(lengths, 1e-300), np.array([0.0, 0.0, 1.0]))


_JOINTS, _STEEL = ("pin", "sleeve", "ball"), "#7d8790"
_FAR = 1e3  # times the size of a system: there single precision resolves 1/10,000 of that size
_STILL = 1e-9  # of the size of a system: a smaller motion is ignored


def write_glb(run: Run, equations: DerivedEquations, path: Path) -> None:
    """Write the motion of a run as a .glb file, atomically."""
    data = glb_of(figure_of(run, equations, arrows=False), equations.system.units.scale(LENGTH))
    write_file(path, data)


def glb_of(figure: PageFigure, metres: float = 1.0) -> bytes:
    """Return the bytes of the file; ``metres`` is the model's unit of length."""
    return _Scene(figure, metres).document.bytes()


class _Scene:
    def __init__(self, figure: PageFigure, metres: float) -> None:
        self.figure, self.content, self.document = figure, figure.content, GltfDocument()
        self.rows, seconds = _ordered_rows(figure.time)
        poses = figure.channels[self.rows].reshape(len(self.rows), -1, 7)
        self.positions, self.turned = poses[..., :3], _continuous(poses[..., 3:])
        self.index = {body["name"]: i for i, body in enumerate(self.content["bodies"])}
        self.shared: dict[str, list[tuple[DataTable, Paint]]] = {}
        self.channels: list[DataTable] = []
        self.samplers: list[DataTable] = []
        self.input = self.document.floats(seconds, bounds=True) if len(seconds) > 1 else -1
        self.carried = self._travel()
        nodes = [self._body(b, body) for b, body in enumerate(self.content["bodies"])]
        nodes += [node for link in self.content["springs"] for node in self._link(link)]
        if self.carried is not None:
            carrier = self._node("carrier", children=nodes)
            self._animate(carrier, "translation", self.carried)
            nodes = [carrier]
        if fixed := self._parts(self.content["ground"]):
            nodes.append(self._node("ground", children=fixed))
        up = Rotation.align_vectors([[0.0, 1.0, 0.0]], [self.content["up"]])[0].as_quat()
        root = self._node(self.content["name"], children=nodes, rotation=_quaternion(up))
        if metres != 1.0:
            self.document.content["nodes"][root]["scale"] = [metres] * 3
        self.document.content["scenes"][0]["nodes"] = [root]
        if self.channels:
            animation = {"name": "motion", "channels": self.channels, "samplers": self.samplers}
            self.document.add("animations", animation)

    def _travel(self) -> np.ndarray | None:
        """Return the path of a system that travels far; positions are then relative to it. A separate node
        takes the path, since single precision would not resolve positions on the bodies.
        """
        way = self.positions.mean(axis=1)
        if max(np.max(np.ptp(way, axis=0)), np.max(np.abs(way))) < _FAR * self.content["size"]:
            return None
        self.positions = self.positions - way[:, None]
        return np.asarray(way)

    # ------------------------------------------------------------ nodes

    def _node(self, name: str, *, children: list[int] | None = None, **entries: object) -> int:
        below = {"children": children} if children else {}
        return self.document.add("nodes", {"name": name, **below, **entries})

    def _body(self, b: int, body: DataTable) -> int:
        children = self._parts(body)
        first = 0
        for part in self.content["bending"]:
            if part["body"] == b and part["places"]:
                children.append(self._add_bent_part(part, body, first, part["modes"]))
            first += part["modes"]
        node = self._node(body["name"], children=children)
        self._animate(node, "translation", self.positions[:, b])
        self._animate(node, "rotation", self.turned[:, b])
        return node

    def _parts(self, body: DataTable) -> list[int]:
        """Add nodes for a body's parts: one for all solids, one for each mesh from a file."""
        painted: dict[int, list[DrawnSurface]] = {}
        nodes = []
        for part in body["parts"]:
            if part["kind"] == "mesh":
                nodes.append(self._mesh(part, body))
                continue
            for surface, own in surfaces_of(part, self.figure.meshes.found):
                colour = own or (_STEEL if part["kind"] in _JOINTS else body["colour"])
                if not own and part["kind"] == "rod":
                    colour = _darker(colour)
                material = self.document.material(colour, part.get("opacity", 1.0))
                painted.setdefault(material, []).append(surface)
        if painted:
            primitives = [
                self.document.geometry(join_surfaces(surfaces)) | {"material": material}
                for material, surfaces in painted.items()
            ]
            mesh = self.document.mesh(primitives, body["name"])
            nodes.insert(0, self._node(f"{body['name']} parts", mesh=mesh))
        return nodes

    def _mesh(self, part: DataTable, body: DataTable) -> int:
        """Add a mesh from a file. Its triangles are stored once, even if several bodies show it."""
        key = part["mesh"]
        if key not in self.shared:
            found = mesh_surfaces(self.figure.meshes.found[key])
            self.shared[key] = [
                (self.document.geometry(surface, mapped=mapped), own) for surface, own, mapped in found
            ]
        opacity = part.get("opacity", 1.0)
        primitives = [
            geometry | {"material": self._paint(part, own, body["colour"], opacity)}
            for geometry, own in self.shared[key]
        ]
        place: DataTable = {"translation": part.get("at", [0, 0, 0]), "scale": part["scale"]}
        if "axes" in part:
            place["rotation"] = _quaternion(Rotation.from_matrix(np.reshape(part["axes"], (3, 3))).as_quat())
        return self._node(f"{body['name']} mesh", mesh=self.document.mesh(primitives, key), **place)

    def _paint(self, part: DataTable, own: Paint, other: str, opacity: float) -> int:
        """Return the material of a mesh: the colour of the part, else that of the mesh, else that of the
        body.
        """
        if own.image and not part.get("colour"):
            return self.document.material("#ffffff", opacity, own.image)
        return self.document.material(part.get("colour") or own.colour or other, opacity)

    def _add_bent_part(self, part: DataTable, body: DataTable, first: int, modes: int) -> int:
        surface, targets = bent_surface(part)
        geometry = self.document.geometry(surface, targets)
        material = {"material": self.document.material(body["colour"], 1.0)}
        mesh = self.document.mesh([geometry | material], f"{body['name']} bent")
        node = self._node(f"{body['name']} bent", mesh=mesh)
        if modes:
            amplitudes = self.figure.amplitudes[self.rows][:, first : first + modes]
            self.document.content["nodes"][node]["weights"] = amplitudes[0].tolist()
            if self.input >= 0:
                self._channel(node, "weights", amplitudes.reshape(-1, 1))
        return node

    def _link(self, link: DataTable) -> list[int]:
        places = [self._path(end["body"], end["at"]) for end in link["ends"]]
        material = self.document.material(link.get("colour") or LINK, link.get("opacity", 1.0))
        bars = bars_of(link, places, self.content["up"])
        nodes, known = [], dict[int, int]()
        for bar in bars:
            if id(bar.surface) not in known:
                geometry = self.document.geometry(bar.surface) | {"material": material}
                known[id(bar.surface)] = self.document.mesh([geometry], link["name"])
            nodes.append(self._bar(bar, link["name"], known[id(bar.surface)]))
        return nodes

    def _bar(self, bar: Bar, name: str, mesh: int) -> int:
        node = self._node(name, mesh=mesh)
        lengths = np.maximum(bar.lengths(), 1e-12)
        self._animate(node, "translation", 0.5 * (bar.start + bar.end))
        self._animate(
            node,
            "rotation",
            _continuous(_aligning_quaternions((bar.end - bar.start) / lengths[:, None])[:, None])[:, 0],
        )
        self._animate(node, "scale", np.column_stack([np.ones((len(lengths), 2)), lengths]))
        return node

    def _path(self, body: str, at: object) -> np.ndarray:
        """Return positions of a point of a body in all rows; an unknown body counts as the ground."""
        place = np.asarray(at, dtype=float)
        if body not in self.index:
            fixed = np.tile(place, (len(self.rows), 1))
            return fixed if self.carried is None else fixed - self.carried
        b = self.index[body]
        return np.asarray(self.positions[:, b] + Rotation.from_quat(self.turned[:, b]).apply(place))

    # ------------------------------------------------------------ the animation

    def _animate(self, node: int, path: str, values: np.ndarray) -> None:
        """Set the values of a node over time; without a change, only the first values."""
        first = _quaternion(values[0]) if path == "rotation" else values[0].tolist()
        self.document.content["nodes"][node][path] = first
        if self.input >= 0 and np.max(np.ptp(values, axis=0)) > _STILL * self.content["size"]:
            self._channel(node, path, values)

    def _channel(self, node: int, path: str, values: np.ndarray) -> None:
        sampler = {"input": self.input, "output": self.document.floats(values), "interpolation": "LINEAR"}
        self.samplers.append(sampler)
        self.channels.append({"sampler": len(self.samplers) - 1, "target": {"node": node, "path": path}})


def _ordered_rows(time: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return rows ordered by time, and seconds from the first; of equal times (events) only the last row."""
    order = np.arange(len(time))[:: -1 if len(time) > 1 and time[-1] < time[0] else 1]
    seconds = (time[order] - time[order[0]]).astype(np.float32)
    kept = np.append(np.diff(seconds) > 0, True)
    return order[kept], seconds[kept]


def _continuous(quaternions: np.ndarray) -> np.ndarray:
    """Return unit quaternions (rows × bodies × 4) without jumps of sign."""
    unit = quaternions / np.linalg.norm(quaternions, axis=2, keepdims=True)
    same = np.sum(unit[1:] * unit[:-1], axis=2)
    signs = np.cumprod(np.vstack([np.ones((1, unit.shape[1])), np.where(same < 0, -1.0, 1.0)]), axis=0)
    return np.asarray(unit * signs[..., None])


def _aligning_quaternions(directions: np.ndarray) -> np.ndarray:
    """Return quaternions x, y, z, w of the rotations of ``surfaces.turned_to``, from z to each direction; no
    rotation for a direction of length zero.
    """
    x, y, z = directions.T
    found = np.stack([-y, x, np.zeros(len(z)), 1.0 + z], axis=1)
    found[z < -1 + 1e-12] = (1.0, 0.0, 0.0, 0.0)
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True))


def _quaternion(values: np.ndarray) -> list[float]:
    return [float(x) for x in values / np.linalg.norm(values)]


def _darker(colour: str) -> str:
    return "#" + "".join(f"{round(0.62 * int(colour[k : k + 2], 16)):02x}" for k in (1, 3, 5))
