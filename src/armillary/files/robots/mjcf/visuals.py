"""Geoms of an MJCF file as visuals: solids, planes and meshes with the colours of materials.

MuJoCo's viewer shows the groups 0 to 2; those above are for collisions. A mesh stands where its file has it,

    x_geom = Rᵀ (S x − p)

with its scale S, refpos p and refquat R: that MuJoCo moves it to its mass centre is undone by the geom's
place.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from armillary.errors import ModelError
from armillary.files.robots.mjcf.meshes import Meshes, written
from armillary.files.robots.mjcf.settings import Defaults, Settings
from armillary.files.robots.mjcf.shapes import SOLIDS
from armillary.files.robots.rotations import from_z, quaternion
from armillary.files.robots.visuals import Visual, mesh_file, painted
from armillary.files.xml import Element
from armillary.model.bodies.shapes import (
    Box,
    Capsule,
    Cylinder,
    Ellipsoid,
    Figure,
    Mesh,
    Plane,
    Polyhedron,
    Sphere,
)

_SHOWN = 2  # the last group of a viewer


class MjcfLooks:
    """Materials and textures of a file, and the robot's file with the root of its meshes."""

    def __init__(
        self, assets: Iterable[Element], defaults: Defaults, meshes: Meshes, robot: Path, root: Path | None
    ) -> None:
        self.meshes, self.robot, self.root = meshes, robot, root
        self.materials: dict[str, dict[str, str]] = {}
        self.textures: dict[str, dict[str, str]] = {}
        self.shown: set[str] = set()  # textures that meshes have
        for child in (child for asset in assets for child in asset.children):
            name = child.attributes.get("name", "")
            if child.tag == "material":
                known = defaults.classes.get(child.attributes.get("class", "main"), {}).get("material", {})
                self.materials[name] = {**known, **child.attributes}
            elif child.tag == "texture":
                self.textures[name] = child.attributes

    def picture(self, geom: Element) -> Path | None:
        """The file of the texture that the material of a mesh has; none for other geoms."""
        material = self.materials.get(geom.attributes.get("material", ""), {})
        name = self.textures.get(material.get("texture", ""), {}).get("file", "")
        if not name or geom.text("type", "sphere") != "mesh" or "rgba" in geom.attributes:
            return None
        self.shown.add(material["texture"])
        place = self.meshes.placed(name, self.meshes.settings.texture_folder)
        return mesh_file(str(place), self.robot, self.root)

    @property
    def left_out(self) -> list[str]:
        """Names of textures from files that no mesh has."""
        return [name for name, given in self.textures.items() if "file" in given and name not in self.shown]

    def rgba(self, geom: Element) -> list[float] | None:
        """The colour of a geom, that of its material, or that of the material's texture."""
        material = self.materials.get(geom.attributes.get("material", ""), {})
        texture = self.textures.get(material.get("texture", ""), {})
        text = geom.attributes.get("rgba") or material.get("rgba") or texture.get("rgb1")
        if text is None:
            return None
        values = [float(word) for word in text.split()]
        return [*values, 1.0][:4] if len(values) >= 3 else None


def geom_visual(
    geom: Element, settings: Settings, looks: MjcfLooks, place: np.ndarray, turned: np.ndarray
) -> Visual | None:
    """A geom, with the defaults of its class, as a visual of its link; None for one that is not shown.

    ``place`` and ``turned`` are those of the frames between the link and the geom.
    """
    if geom.number("group", 0.0) > _SHOWN:
        return None
    where, R = settings.place(geom), settings.rotation(geom)
    kind = geom.text("type", "sphere")
    size = geom.numbers("size", (1, 3), [0.0])
    figure: Figure
    if kind == "mesh":
        figure, at, axes = _mesh(geom, looks)
        where, R = where + R @ at, R @ axes
    elif kind == "plane":
        if len(size) < 2 or not size[0] > 0 or not size[1] > 0:
            return None  # without an end; pictures have a floor of their own
        figure = Plane(2 * size[0], 2 * size[1])
    elif kind in SOLIDS and not geom.has("mesh"):
        if geom.has("fromto"):
            ends = np.array(geom.numbers("fromto", 6)).reshape(2, 3)
            line = ends[0] - ends[1]
            where, R, half = ends.mean(axis=0), from_z(line), float(np.linalg.norm(line)) / 2
            size = [size[0], half] if SOLIDS[kind] == 2 else [size[0], size[0], half]
        figure = _solid(kind, size)
    else:
        return None
    rgba = looks.rgba(geom)
    found = painted(figure, place + turned @ where, turned @ R, rgba)
    # A texture is multiplied by the colour of its material, which is white with few exceptions.
    textured = isinstance(figure, Mesh) and figure.texture
    return replace(found, colour="") if found is not None and textured else found


def _solid(kind: str, size: list[float]) -> Figure:
    if len(size) < SOLIDS[kind] or not all(x > 0 for x in size[: SOLIDS[kind]]):
        raise ModelError(f"a {kind} without a size")
    if kind == "sphere":
        return Sphere(size[0])
    if kind == "box":
        return Box(*(2 * x for x in size[:3]))
    if kind == "ellipsoid":
        return Ellipsoid(*size[:3])
    return (Cylinder if kind == "cylinder" else Capsule)(size[0], 2 * size[1])


def _mesh(geom: Element, looks: MjcfLooks) -> tuple[Figure, np.ndarray, np.ndarray]:
    """A mesh of the file's assets, with its place and axes in the geom."""
    name = geom.text("mesh", "")
    element = looks.meshes.elements.get(name)
    if element is None or not (element.has("file") or element.has("vertex")):
        raise ModelError(f"mesh '{name[:60]}' has neither a file nor vertices")
    scale = tuple(element.numbers("scale", 3, [1, 1, 1]))
    figure: Figure
    if element.has("vertex"):
        corners, faces = written(element)
        turned = faces[:, ::-1] if np.prod(scale) < 0 else faces  # a mirror turns faces around
        figure = Polyhedron((corners * scale + 0.0).tolist(), turned.tolist() or None)
    else:
        file = mesh_file(str(looks.meshes.named(element)), looks.robot, looks.root)
        figure = Mesh(file, scale=scale, texture=looks.picture(geom) or "")
    place = np.array(element.numbers("refpos", 3, [0, 0, 0]))
    axes = quaternion(element.numbers("refquat", 4, [1, 0, 0, 0])).T
    return figure, -axes @ place, axes
