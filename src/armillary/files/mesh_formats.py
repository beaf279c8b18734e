"""Readers of mesh files: STL (binary and text), OBJ, MuJoCo's binary MSH, GLB and DAE, chosen by suffix.

The readers return corners and faces; from OBJ, GLB and DAE also the colours and textures of materials. They
ignore normals. Nothing in a file is executed, fetched or expanded.

COLLADA (.dae): geometries at their nodes, in metres. The axes are those of the numbers in the file, and
<up_axis> is ignored, as in programs for robots (RViz, Gazebo); lengths are multiplied by <unit meter="…">.
The XML is read as in robot files: without entities or document types.
Source: Khronos Group (2008), COLLADA 1.5 Specification, chapter 5.

Binary glTF 2.0 (.glb): meshes at their nodes. A file is a header, a JSON chunk that describes accessors into
buffers, and a binary chunk. Buffers in other files are not opened. Axes and lengths are the file's: metres, y
upwards.
Source: Khronos Group (2021), glTF 2.0 Specification, sections 3.5 to 3.9 and 4.4.
"""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

import numpy as np

from armillary.errors import ModelError
from armillary.files.mesh_surface import (
    MOST,
    Beside,
    MeshFault,
    Paint,
    Patch,
    Surface,
    Triangles,
    fans,
    hex_colour,
    read_obj,
    srgb,
    texture,
    transform_patch,
)
from armillary.files.xml import Element, parse_xml
from armillary.limited_files import UnreadableFileError, read_limited
from armillary.untyped import DataTable

_POLYGONS = ("triangles", "polylist", "polygons", "tristrips", "trifans")
_NONE = np.zeros((0, 3), dtype=np.int64)
_NODES, _DEEPEST = 30_000, 200  # most nodes of a scene, counted once per instance, and most levels


def read_dae(data: bytes, beside: Beside) -> Iterator[Patch]:
    """Return the patches of all geometries in the scene; without a scene, of all geometries."""
    root = parse_xml(data, "mesh")
    if _tag(root) != "COLLADA":
        raise ValueError("not a COLLADA file")
    return _ColladaScene(root, beside).patches()


def _tag(element: Element) -> str:
    return element.tag.rpartition(":")[2]


def _children(element: Element, *tags: str) -> list[Element]:
    return [child for child in element.children if _tag(child) in tags]


def _first(element: Element | None, *path: str) -> Element | None:
    """Return the first descendant along a path of tags."""
    for tag in path:
        element = next(iter(_children(element, tag)), None) if element is not None else None
    return element


def _read_numbers(element: Element | None) -> np.ndarray:
    return np.array(element.words.split() if element is not None else [], dtype=float)


@dataclass(frozen=True)
class _Face:
    """Triangles of one material in a geometry."""

    patch: Patch
    material: str  # the symbol that instances bind


class _ColladaScene:
    def __init__(self, root: Element, beside: Beside) -> None:
        self.root, self.beside = root, beside
        self.known: dict[str, Element] = {}
        stack = [root]
        while stack:
            element = stack.pop()
            if key := element.attributes.get("id"):
                self.known.setdefault(key, element)
            stack += element.children
        self.faces: dict[str, list[_Face]] = {}
        self.textures: dict[str, Paint] = {}

    def find_element(self, reference: str) -> Element:
        """Return the element that "#id" names."""
        if reference[:1] != "#" or reference[1:] not in self.known:
            raise ValueError(f"there is no '{reference[:60]}' in it")
        return self.known[reference[1:]]

    def patches(self) -> Iterator[Patch]:
        unit = _first(self.root, "asset", "unit")
        metre = float(unit.attributes.get("meter", 1.0)) if unit is not None else 1.0
        whole = np.diag([metre, metre, metre, 1.0])
        shown = _first(self.root, "scene", "instance_visual_scene")
        scenes = _children(_first(self.root, "library_visual_scenes") or self.root, "visual_scene")
        scene = self.find_element(shown.attributes["url"]) if shown is not None else next(iter(scenes), None)
        if scene is None:
            for geometry in _children(_first(self.root, "library_geometries") or self.root, "geometry"):
                for face in self.geometry(geometry):
                    yield transform_patch(face.patch._replace(paint=self.paint(face.material, {})), whole)
            return
        stack = [(node, whole, 0) for node in reversed(_children(scene, "node"))]
        met = 0
        while stack:
            node, above, depth = stack.pop()
            met += 1
            if depth > _DEEPEST or met > _NODES:
                raise MeshFault(f"its nodes form a cycle, or are more than {_NODES:,}")
            T = above @ _node_transform(node)
            for instance in _children(node, "instance_geometry", "instance_controller"):
                bound = self._bound(instance)
                for face in self.geometry(self._geometry_of(instance)):
                    yield transform_patch(face.patch._replace(paint=self.paint(face.material, bound)), T)
            others = [self.find_element(i.attributes["url"]) for i in _children(node, "instance_node")]
            stack += [(child, T, depth + 1) for child in reversed([*_children(node, "node"), *others])]

    def _geometry_of(self, instance: Element) -> Element:
        """Return the geometry that an instance names; for a controller, the undeformed one of its skin."""
        element = self.find_element(instance.attributes["url"])
        if _tag(element) == "controller":
            skin = _first(element, "skin")
            element = self.find_element(skin.attributes["source"] if skin is not None else "")
        return element

    @staticmethod
    def _bound(instance: Element) -> dict[str, str]:
        common = _first(instance, "bind_material", "technique_common")
        found = _children(common, "instance_material") if common is not None else []
        return {i.attributes.get("symbol", ""): i.attributes.get("target", "") for i in found}

    def paint(self, symbol: str, bound: dict[str, str]) -> Paint:
        """Return the diffuse colour of a material, or its texture; an empty paint if it has neither."""
        target = bound.get(symbol, f"#{symbol}").removeprefix("#")
        effect = _first(self.known.get(target), "instance_effect")
        profile = _first(self.known.get((effect.attributes["url"])[1:]) if effect else None, "profile_COMMON")
        technique = _first(profile, "technique")
        for model in technique.children if technique is not None else []:
            if (given := _first(model, "diffuse", "color")) is not None:
                return Paint(hex_colour(_read_numbers(given)))
            if (used := _first(model, "diffuse", "texture")) is not None:
                return self.texture(used.attributes.get("texture", ""), profile)
        return Paint()

    def texture(self, name: str, profile: Element | None) -> Paint:
        """Return the paint with the image of a sampler, found through its surface or directly by its name."""
        for kind, inner in (("sampler2D", "source"), ("surface", "init_from")):
            params = _children(profile, "newparam") if profile is not None else []
            own = next((p for p in params if p.attributes.get("sid") == name), None)
            if (further := _first(own, kind, inner)) is not None:
                name = further.words.strip()
        if name not in self.textures:
            file = _first(self.known.get(name), "init_from")
            named = _first(file, "ref") or file  # COLLADA 1.5
            place = unquote(named.words.strip().removeprefix("file://")) if named is not None else ""
            self.textures[name] = texture(self.beside(place)) if place else Paint()
        return self.textures[name]

    # ------------------------------------------------------------ geometry

    def geometry(self, element: Element) -> list[_Face]:
        key = element.attributes.get("id", str(id(element)))
        if key not in self.faces:
            mesh = _first(element, "mesh")
            self.faces[key] = [] if mesh is None else [self._face(e) for e in _children(mesh, *_POLYGONS)]
        return self.faces[key]

    def _face(self, element: Element) -> _Face:
        inputs = _children(element, "input")
        stride = 1 + max((int(i.attributes.get("offset", 0)) for i in inputs), default=0)
        vertex = _input(inputs, "VERTEX")
        offset = int(vertex.attributes.get("offset", 0))
        corners = self._positions(self.find_element(vertex.attributes["source"]))
        rows = [np.array(p.words.split(), dtype=np.int64) for p in _children(element, "p")]
        rows = [row[: len(row) // stride * stride].reshape(-1, stride) for row in rows]
        order = np.concatenate(rows) if rows else np.zeros((0, stride), dtype=np.int64)
        lengths = np.array([len(row) for row in rows], dtype=np.int64)
        kind = _tag(element)
        if kind == "triangles":
            places = np.arange(len(order) // 3 * 3).reshape(-1, 3)
        elif kind == "tristrips":
            starts = np.cumsum(lengths) - lengths
            places = np.concatenate([_strip(n) + k for n, k in zip(lengths, starts, strict=True)] or [_NONE])
        else:
            places = fans(_counts(element) if kind == "polylist" else lengths)
        faces = order[:, offset][places]
        return _Face(
            Patch(corners, faces, mapped=self._texture_coordinates(inputs, order, places)),
            element.attributes.get("material", ""),
        )

    def _texture_coordinates(
        self, inputs: list[Element], order: np.ndarray, places: np.ndarray
    ) -> np.ndarray | None:
        """Return texture coordinates, from the upper left corner of the image; `None` if there are none."""
        given = next((i for i in inputs if i.attributes.get("semantic") == "TEXCOORD"), None)
        if given is None:
            return None
        spots = self._source(self.find_element(given.attributes["source"]), 2)[:, :2]
        chosen = order[:, int(given.attributes.get("offset", 0))][places]
        if spots.shape[1] < 2 or (chosen.size and not 0 <= chosen.min() <= chosen.max() < len(spots)):
            return None
        return np.asarray((spots * (1.0, -1.0) + (0.0, 1.0))[chosen])

    def _positions(self, vertices: Element) -> np.ndarray:
        source = self.find_element(_input(_children(vertices, "input"), "POSITION").attributes["source"])
        return self._source(source, 3)[:, :3]

    @staticmethod
    def _source(source: Element, width: int) -> np.ndarray:
        accessor = _first(source, "technique_common", "accessor")
        stride = int(accessor.attributes.get("stride", width)) if accessor is not None else width
        values = _read_numbers(_first(source, "float_array"))
        return values[: len(values) // stride * stride].reshape(-1, stride)


def _input(inputs: list[Element], semantic: str) -> Element:
    for found in inputs:
        if found.attributes["semantic"] == semantic:
            return found
    raise ValueError(f"a list of faces has no {semantic}")


def _counts(element: Element) -> np.ndarray:
    given = _first(element, "vcount")
    return np.array(given.words.split() if given is not None else [], dtype=np.int64)


def _strip(count: int) -> np.ndarray:
    i = np.arange(max(count - 2, 0))
    return np.stack([i, i + 1 + i % 2, i + 2 - i % 2], axis=1)


def _node_transform(node: Element) -> np.ndarray:
    """Return T with x_parent = T x_node: the product of the node's transform elements, in order."""
    T = np.eye(4)
    for child in node.children:
        kind = _tag(child)
        if kind not in ("matrix", "translate", "rotate", "scale"):
            continue
        values, step = _read_numbers(child), np.eye(4)
        if kind == "matrix":
            step = values.reshape(4, 4)
        elif kind == "translate":
            step[:3, 3] = values
        elif kind == "scale":
            step[:3, :3] = np.diag(values)
        else:
            step[:3, :3] = _rotation_about(values[:3], np.deg2rad(values[3]))
        T = T @ step
    return T


def _rotation_about(axis: np.ndarray, angle: float) -> np.ndarray:
    """Rodrigues' rotation R = 1 + sin φ [k] + (1 − cos φ) [k]²."""
    x, y, z = axis / (np.linalg.norm(axis) or 1.0)
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.asarray(np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * (K @ K))


_KINDS = {5120: "<i1", 5121: "<u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
_WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4}
_READ = {"KHR_mesh_quantization", "KHR_materials_unlit", "KHR_texture_transform"}
_TRIANGLES, _STRIP, _FAN = 4, 5, 6


def read_glb(data: bytes, beside: Beside) -> Iterator[Patch]:
    """Yield the patches of all meshes in the scene."""
    scene = _GltfFile(data)
    for node, T in scene.nodes():
        for patch in scene.patches(node):
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
        """Yield the nodes of the scene that have a mesh, with their transforms."""
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
        """Return the paint of a material (its base colour times its texture, in sRGB) and its
        baseColorTexture, which is {} if only the base colour is used.
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
        """Return the bytes of an image inside the file; no bytes if there is none."""
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
        """Return the texture coordinates of the corners of faces, after KHR_texture_transform."""
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


LARGEST = 200_000_000  # bytes


def read_mesh(path: Path) -> Triangles:
    """Return the corners and faces of a file, read by its suffix."""
    surface = read_surface(path)
    return surface.corners, surface.faces


def read_surface(path: Path, picture: Path | None = None) -> Surface:
    """Return the surface in a file; its suffix tells the format. A ``picture`` replaces the paints of patches
    with texture coordinates.
    """
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise MeshFault(f"files '{path.suffix}' are not read; {', '.join(READERS)} are")
    try:
        data = read_limited(path, LARGEST)
    except UnreadableFileError as error:
        raise MeshFault(str(error)) from None
    try:
        patches: Iterable[Patch] = _limit_triangles(reader(data, lambda name: _beside(path, name)))
        if picture is not None and (paint := texture(_read_image(picture))).image:
            patches = [patch if patch.mapped is None else patch._replace(paint=paint) for patch in patches]
        return _join_patches(patches)
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
        RecursionError,  # lists of JSON nested too deeply
    ) as error:
        raise MeshFault(f"it is damaged ({error})") from None


def _limit_triangles(patches: Iterable[Patch]) -> Iterator[Patch]:
    """Yield the patches; raise an error if they have too many triangles together, since a few bytes can
    repeat one geometry at many nodes.
    """
    total = 0
    for patch in patches:
        total += np.size(patch.faces) // 3
        if total > MOST:
            raise MeshFault(f"it has more than {MOST:,} triangles")
        yield patch


def _read_image(path: Path) -> bytes:
    """Return the bytes of a picture; no bytes if it cannot be read."""
    try:
        return read_limited(path, LARGEST)
    except ValueError:
        return b""


def _beside(path: Path, name: str) -> bytes:
    """Return the bytes of a file that a mesh names; no bytes if the file is outside the parent of the mesh's
    folder.
    """
    folder = path.resolve().parent
    try:
        other = (folder / name.replace("\\", "/")).resolve()
    except (OSError, ValueError):
        return b""
    return _read_image(other) if other.is_relative_to(folder.parent) else b""


def _join_patches(patches: Iterable[Patch]) -> Surface:
    """Return the surface of patches one after the other, with the paints of their faces."""
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
    """Return the paint of a patch and its texture coordinates; without them, the paint has no image."""
    spots = patch.mapped
    if spots is None or spots.shape != (count, 3, 2) or not np.isfinite(spots).all():
        return patch.paint._replace(image=b""), np.zeros((count, 3, 2))
    return patch.paint, np.asarray(spots, dtype=float)


def check_triangles(vertices: np.ndarray, faces: np.ndarray) -> Triangles:
    """Return corners and faces as arrays; raise an error if a corner is not finite or does not exist."""
    # Single precision, as in MuJoCo: with all digits of an OBJ file masses would differ from MuJoCo's by
    # 1e-7.
    with np.errstate(over="ignore"):  # larger numbers become infinite, which is refused below
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
    """Read an STL file. A binary file has 80 bytes, the number of faces, and 50 bytes for each face. A text
    begins with "solid", but so do some binary files.
    """
    count = struct.unpack_from("<I", data, 80)[0] if len(data) >= 84 else -1
    if len(data) >= 84 + 50 * count and count > 0:
        kind = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("more", "<u2")])
        corners = np.frombuffer(data, kind, count, 84)["corners"].reshape(-1, 3)
    elif data.lstrip()[:5].lower() == b"solid":
        words = data.decode("utf-8", "replace").split()
        places = [i for i, word in enumerate(words) if word.lower() == "vertex"]
        corners = np.array([_read_vertex(words[i + 1 : i + 4]) for i in places])
        if len(corners) % 3:
            raise ValueError(f"it has {len(corners)} vertices; every face has three")
    else:
        raise ValueError("neither a binary nor a text STL file")
    return [Patch(corners, np.arange(len(corners)))]


def _read_vertex(words: list[str]) -> list[float]:
    if len(words) < 3:
        raise ValueError(f"a vertex has {len(words)} coordinates; give three")
    return [float(word) for word in words]


def _msh(data: bytes, beside: Beside) -> list[Patch]:
    """Read four counts (corners, normals, texture coordinates, faces), then these as floats and integers."""
    corners, normals, textures, faces = struct.unpack_from("<4i", data, 0)
    start = 16 + 4 * (3 * corners + 3 * normals + 2 * textures)
    vertices = np.frombuffer(data, "<f4", 3 * corners, 16)
    return [Patch(vertices, np.frombuffer(data, "<i4", 3 * faces, start))]


READERS: dict[str, Callable[[bytes, Beside], Iterable[Patch]]] = {
    ".stl": _stl, ".obj": read_obj, ".msh": _msh, ".glb": read_glb, ".dae": read_dae,
}  # fmt: skip
