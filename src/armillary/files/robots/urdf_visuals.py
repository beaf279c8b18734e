"""Visuals of URDF links: solids and meshes with the colours and textures of materials."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from armillary.errors import ModelError
from armillary.files.robots.import_notes import Imported
from armillary.files.robots.rotations import roll_pitch_yaw
from armillary.files.robots.visuals import Visual, mesh_file, painted
from armillary.files.xml import Element
from armillary.model.bodies.shapes import Box, Capsule, Cylinder, Figure, Mesh, Sphere


class UrdfLooks:
    """Materials of a file, and the file itself with the root of its meshes."""

    def __init__(self, robot: Element, file: Path, root: Path | None) -> None:
        self.file, self.root = file, root
        self.materials: dict[str, Element] = {}
        self.shown: set[str] = set()  # textures that meshes have
        named = [*robot.all("material"), *(m for m in _inner(robot) if m.children)]
        for element in reversed(named):  # the first of a name holds
            self.materials[element.attributes.get("name", "")] = element

    @property
    def left_out(self) -> list[str]:
        """Files of textures that materials have, but no mesh."""
        used = [t for m in self.materials.values() for t in m.children if t.tag == "texture"]
        names = [texture.attributes.get("filename", "") for texture in used]
        return [name for name in names if name not in self.shown]

    def of(self, link: Element, record: Imported) -> list[Visual]:
        """The visuals of a link; what cannot be shown is a remark."""
        found = []
        for element in link.all("visual"):
            try:
                if (visual := self._visual(element)) is not None:
                    found.append(visual)
            except ModelError as error:
                name = link.attributes.get("name", "")[:60]
                record.remark(f"a visual of link '{name}' is not shown in pictures: {error}")
            element.take_whole()
        return found

    def _visual(self, element: Element) -> Visual | None:
        origin, place, rotation = element.only("origin"), np.zeros(3), np.eye(3)
        if origin is not None:
            place = np.array(origin.numbers("xyz", 3, [0, 0, 0]))
            if any(angles := origin.numbers("rpy", 3, [0, 0, 0])):
                rotation = roll_pitch_yaw(angles)
        geometry = element.need("geometry")
        if not geometry.children:
            geometry.fail("it is empty")
        figure = self._figure(geometry.children[0], self._material(element))
        found = painted(figure, place, rotation, self._rgba(element))
        textured = isinstance(figure, Mesh) and figure.texture  # in place of the colour
        return replace(found, colour="") if found is not None and textured else found

    def _figure(self, element: Element, material: Element | None) -> Figure:
        if element.tag == "box":
            return Box(*element.numbers("size", 3))
        if element.tag == "sphere":
            return Sphere(element.number("radius"))
        if element.tag in ("cylinder", "capsule"):
            made = Cylinder if element.tag == "cylinder" else Capsule
            return made(element.number("radius"), element.number("length"))
        if element.tag == "mesh":
            path = mesh_file(element.text("filename"), self.file, self.root)
            picture = material.only("texture") if material is not None else None
            name = picture.text("filename", "") if picture is not None else ""
            self.shown.add(name)
            image = mesh_file(name, self.file, self.root) if name else ""
            return Mesh(path, scale=tuple(element.numbers("scale", 3, [1, 1, 1])), texture=image)
        return element.fail("that is not a box, cylinder, sphere, capsule or mesh")

    def _material(self, visual: Element) -> Element | None:
        material = visual.only("material")
        if material is None or material.children:
            return material
        return self.materials.get(material.attributes.get("name", ""))

    def _rgba(self, visual: Element) -> list[float] | None:
        own = self._material(visual)
        colour = own.only("color") if own is not None else None
        return None if colour is None else colour.numbers("rgba", 4)


def _inner(robot: Element) -> list[Element]:
    """Materials inside of visuals, which may be named by others."""
    visuals = [v for link in robot.children if link.tag == "link" for v in link.children if v.tag == "visual"]
    return [m for v in visuals for m in v.children if m.tag == "material"]
