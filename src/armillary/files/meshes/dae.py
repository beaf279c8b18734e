"""Triangles of COLLADA files (.dae): geometries at their nodes, in metres, with paints of materials.

Axes are the file's, for any <up_axis>, as in programs for robots (RViz, Gazebo); lengths are multiplied by
<unit meter="…">. The XML is read as in robot files: without entities or document types.

Source: Khronos Group (2008), COLLADA 1.5 Specification, chapter 5.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote

import numpy as np

from armillary.files.meshes.surface import (
    MOST,
    Beside,
    MeshFault,
    Paint,
    Patch,
    fans,
    hex_colour,
    texture,
    transform_patch,
)
from armillary.files.xml import Element, parse_xml

_POLYGONS = ("triangles", "polylist", "polygons", "tristrips", "trifans")
_NONE = np.zeros((0, 3), dtype=np.int64)
_NODES, _DEEPEST = 30_000, 200  # nodes, counted as often as they are instanced, and nodes in each other


def read_dae(data: bytes, beside: Beside) -> Iterator[Patch]:
    """The patches of all geometries in the scene; without a scene, of all geometries."""
    root = parse_xml(data, "mesh")
    if _tag(root) != "COLLADA":
        raise ValueError("not a COLLADA file")
    return _ColladaScene(root, beside).patches()


def _tag(element: Element) -> str:
    return element.tag.rpartition(":")[2]


def _all(element: Element, *tags: str) -> list[Element]:
    return [child for child in element.children if _tag(child) in tags]


def _first(element: Element | None, *path: str) -> Element | None:
    """Return the first descendant along a path of tags."""
    for tag in path:
        element = next(iter(_all(element, tag)), None) if element is not None else None
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
        scenes = _all(_first(self.root, "library_visual_scenes") or self.root, "visual_scene")
        scene = self.find_element(shown.attributes["url"]) if shown is not None else next(iter(scenes), None)
        if scene is None:
            for geometry in _all(_first(self.root, "library_geometries") or self.root, "geometry"):
                for face in self.geometry(geometry):
                    yield transform_patch(face.patch._replace(paint=self.paint(face.material, {})), whole)
            return
        stack = [(node, whole, 0) for node in reversed(_all(scene, "node"))]
        met = total = 0
        while stack:
            node, above, depth = stack.pop()
            met += 1
            if depth > _DEEPEST or met > _NODES:
                raise MeshFault(f"its nodes form a cycle, or are more than {_NODES:,}")
            T = above @ _node_transform(node)
            for instance in _all(node, "instance_geometry", "instance_controller"):
                bound = self._bound(instance)
                for face in self.geometry(self._geometry_of(instance)):
                    total += len(face.patch.faces)
                    if total > MOST:
                        raise MeshFault(f"it has more than {MOST:,} triangles")
                    yield transform_patch(face.patch._replace(paint=self.paint(face.material, bound)), T)
            others = [self.find_element(i.attributes["url"]) for i in _all(node, "instance_node")]
            stack += [(child, T, depth + 1) for child in reversed([*_all(node, "node"), *others])]

    def _geometry_of(self, instance: Element) -> Element:
        """Return the geometry of an instance; of a controller, its geometry without deformation."""
        element = self.find_element(instance.attributes["url"])
        if _tag(element) == "controller":
            skin = _first(element, "skin")
            element = self.find_element(skin.attributes["source"] if skin is not None else "")
        return element

    @staticmethod
    def _bound(instance: Element) -> dict[str, str]:
        common = _first(instance, "bind_material", "technique_common")
        found = _all(common, "instance_material") if common is not None else []
        return {i.attributes.get("symbol", ""): i.attributes.get("target", "") for i in found}

    def paint(self, symbol: str, bound: dict[str, str]) -> Paint:
        """Return the diffuse colour of a material, or its texture; `None` if it has neither."""
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
        """Return the image that a sampler leads to, through its surface or by name."""
        for kind, inner in (("sampler2D", "source"), ("surface", "init_from")):
            params = _all(profile, "newparam") if profile is not None else []
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
            self.faces[key] = [] if mesh is None else [self._face(e) for e in _all(mesh, *_POLYGONS)]
        return self.faces[key]

    def _face(self, element: Element) -> _Face:
        inputs = _all(element, "input")
        stride = 1 + max((int(i.attributes.get("offset", 0)) for i in inputs), default=0)
        vertex = _input(inputs, "VERTEX")
        offset = int(vertex.attributes.get("offset", 0))
        corners = self._positions(self.find_element(vertex.attributes["source"]))
        rows = [np.array(p.words.split(), dtype=np.int64) for p in _all(element, "p")]
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
        """Return places in a picture, from its upper left corner; `None` if there are none."""
        given = next((i for i in inputs if i.attributes.get("semantic") == "TEXCOORD"), None)
        if given is None:
            return None
        spots = self._source(self.find_element(given.attributes["source"]), 2)[:, :2]
        chosen = order[:, int(given.attributes.get("offset", 0))][places]
        if spots.shape[1] < 2 or (chosen.size and not 0 <= chosen.min() <= chosen.max() < len(spots)):
            return None
        return np.asarray((spots * (1.0, -1.0) + (0.0, 1.0))[chosen])

    def _positions(self, vertices: Element) -> np.ndarray:
        source = self.find_element(_input(_all(vertices, "input"), "POSITION").attributes["source"])
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
    """T with x_parent = T x_node: the elements of a node one after the other."""
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
