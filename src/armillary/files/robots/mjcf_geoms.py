"""Geoms of MJCF files: mass and inertia of shapes and meshes, and visuals.

Sizes are MJCF's: radius; radius and half length; or half lengths.

Mass and inertia of meshes are computed as by MuJoCo. A face with corners A, B, C, centre c, area s and normal
n and a point o span a tetrahedron of volume V = s n·(c − o)/3. Its second moments about o, with corners from
o, are

    ∫ x xᵀ dV = V/20 (2 (AAᵀ + BBᵀ + CCᵀ) + ABᵀ + BAᵀ + ACᵀ + CAᵀ + BCᵀ + CBᵀ).

"exact" adds volumes with their sign. "legacy", MuJoCo's default, adds their magnitudes, with o in the centre
of the surface, so that a mesh that is not convex weighs too much. "convex" takes the convex hull. "shell"
puts the mass on the surface: the sum is over faces, with s/12 in place of V/20.

Source: MuJoCo's documentation of <mesh inertia>, checked against its numbers (tests/files/robots).

Visuals are solids, planes and meshes with the colours of materials. MuJoCo's viewer shows the groups 0 to 2;
higher groups are for collisions. A point x of a mesh file is shown in the geom's axes at

    x_geom = Rᵀ (S x − p)

with the mesh's scale S, refpos p and refquat R. MuJoCo moves a mesh to its mass centre, but also moves the
geom back, so the result is the same.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np

from armillary.errors import ModelError
from armillary.files.mesh_formats import check_triangles, read_mesh
from armillary.files.mesh_surface import MeshFault, Triangles, hull
from armillary.files.robots.mechanism import Inertial, Visual, make_visual, mesh_file
from armillary.files.robots.mjcf_settings import Defaults, Settings, find_file
from armillary.files.robots.rotations import from_z, principal_axes, quaternion
from armillary.files.xml import Element
from armillary.model.bodies.figures import (
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

_WEIGHED = (".stl", ".obj", ".msh")  # formats of meshes with mass, as in MuJoCo; visuals may have more
KINDS = ("convex", "exact", "legacy", "shell")
_FLAT = 1e-14  # MuJoCo's least volume


class Meshes:
    """The <mesh> elements of a file by name; their files are read when a body's mass depends on them."""

    def __init__(self, assets: list[Element], defaults: Defaults, settings: Settings, folder: Path) -> None:
        self.folder, self.settings = folder, settings
        self.elements: dict[str, Element] = {}
        self._known: dict[str, Inertial] = {}
        for element in (child for asset in assets for child in asset.all("mesh")):
            defaults.apply(element, "main")
            file = element.text("file", "")
            self.elements[element.text("name", Path(file.replace("\\", "/")).stem)] = element
            element.read.update(element.attributes)

    def inertial(self, geom: Element, name: str) -> Inertial:
        """Return the mass (of density one), mass centre and inertia in the mesh's own axes."""
        if name not in self.elements:
            geom.fail(f"there is no mesh '{name[:60]}'")
        if name not in self._known:
            element = self.elements[name]
            try:
                self._known[name] = _Solid(*self._triangles(element), _kind(element)).inertial
            except MeshFault as fault:
                source = element.text("file", "vertex")[:200]
                element.fail(
                    f"the mass of a body depends on mesh '{name[:60]}' ({source}), which cannot be used: "
                    f"{fault}; mend it, or give the body an <inertial>"
                )
        return self._known[name]

    def _triangles(self, element: Element) -> Triangles:
        if element.has("vertex"):
            corners, triangles = check_triangles(*inline_mesh(element))
        elif element.has("file"):
            corners, triangles = read_mesh(self._file(element))
        else:
            raise MeshFault("it has neither a file nor vertices, as one of MuJoCo's built-in shapes")
        scale = np.array(element.numbers("scale", 3, [1, 1, 1]))
        place = np.array(element.numbers("refpos", 3, [0, 0, 0]))
        turned = quaternion(element.numbers("refquat", 4, [1, 0, 0, 0]))
        corners = (corners * scale - place) @ turned
        if np.prod(scale) < 0:
            triangles = triangles[:, ::-1]
        if not len(triangles) or _kind(element) == "convex":
            return corners, hull(corners)
        return corners, triangles

    def file_of_mesh(self, element: Element) -> Path:
        """Return the file of a mesh, relative to the file of the model."""
        return self.asset_path(element.text("file"), self.settings.mesh_folder)

    def asset_path(self, name: str, folder: str) -> Path:
        """Return the path of an asset file in a folder; with strippath, folders in ``name`` are ignored."""
        name = name.replace("\\", "/")
        if self.settings.strip_path:
            name = Path(name).name
        return Path(folder.replace("\\", "/")) / name

    def _file(self, element: Element) -> Path:
        where = self.file_of_mesh(element)
        if where.suffix.lower() not in _WEIGHED:
            raise MeshFault(f"files '{where.suffix[:20]}' are not read; {', '.join(_WEIGHED)} are")
        # Robots share meshes in a folder beside their own, so any folder is allowed: only numbers are read.
        return find_file(self.folder, str(where), element, anywhere=True)


def inline_mesh(element: Element) -> Triangles:
    """Return the corners and faces of a mesh whose vertices are in the file itself."""
    vertices = element.numbers("vertex", (0, sys.maxsize))
    faces = element.numbers("face", (0, sys.maxsize), [])
    if len(vertices) % 3 or len(faces) % 3:
        element.fail("its vertices and faces come in threes")
    if broken := [n for n in faces if n != int(n) or abs(n) > len(vertices)]:
        element.fail(f"face: {broken[0]:g} is not the number of a vertex, counted from 0")
    return np.array(vertices).reshape(-1, 3), np.array(faces, dtype=int).reshape(-1, 3)


def _kind(element: Element) -> str:
    return element.choice("inertia", KINDS, "legacy")


class _Solid:
    """A mesh and its mass integrals, with one of KINDS as its <mesh inertia>."""

    def __init__(self, corners: np.ndarray, faces: np.ndarray, kind: str) -> None:
        self.kind = kind
        self.triangles = corners[faces]  # face, corner, coordinate
        A, B, C = self.triangles.transpose(1, 0, 2)
        normal = np.cross(B - A, C - A) / 2
        self.area = np.linalg.norm(normal, axis=1)
        self.normal = normal  # of length area
        self.centre = (A + B + C) / 3
        if not self.area.sum() > 0.0:
            raise MeshFault("its faces have no area")

    @cached_property
    def surface_centre(self) -> np.ndarray:
        found: np.ndarray = self.area @ self.centre / self.area.sum()
        return found

    def _weights(self, point: np.ndarray) -> np.ndarray:
        """Return the volumes of the tetrahedra of all faces with a point; areas of a shell."""
        if self.kind == "shell":
            return np.asarray(self.area)
        volumes = np.einsum("ij,ij->i", self.normal, self.centre - point) / 3
        return np.asarray(np.abs(volumes) if self.kind == "legacy" else volumes)

    @property
    def inertial(self) -> Inertial:
        start = self.surface_centre
        weights = self._weights(start)
        mass = float(weights.sum())
        if mass < _FLAT:
            what = "is flat" if mass > -_FLAT else "has faces that point inwards"
            raise MeshFault(f"it {what}: its volume is {mass:.3g}; use inertia='shell' or 'convex'")
        com = start
        if self.kind != "shell":
            com = weights @ (0.75 * self.centre + 0.25 * start) / mass
        corners = self.triangles - com
        weights = self._weights(com)  # for an open or a "legacy" mesh, volumes depend on the point
        whole = corners.sum(axis=1)
        factor = 12.0 if self.kind == "shell" else 20.0
        # 2 Σ XXᵀ + Σ XYᵀ of different corners = Σ XXᵀ + (Σ X)(Σ X)ᵀ
        P = np.einsum("f,fci,fcj->ij", weights, corners, corners)
        P = (P + np.einsum("f,fi,fj->ij", weights, whole, whole)) / factor
        return Inertial(float(weights.sum()), com, np.trace(P) * np.eye(3) - P)


SOLIDS = {"sphere": 1, "capsule": 2, "cylinder": 2, "ellipsoid": 3, "box": 3}  # with their numbers of sizes
OTHERS = ("plane", "hfield", "mesh", "sdf")  # of these only a mesh has a mass here
_WATER = 1000.0  # kg/m³: the default density


def solid(kind: str, size: list[float]) -> tuple[float, np.ndarray]:
    """Return (volume, principal moments of inertia per mass) of a shape along its own axes."""
    if kind == "sphere":
        r = size[0]
        return 4 / 3 * math.pi * r**3, np.full(3, 0.4 * r * r)
    if kind == "ellipsoid":
        a, b, c = (x * x for x in size)
        return 4 / 3 * math.pi * math.prod(size), np.array([b + c, a + c, a + b]) / 5
    if kind == "box":
        a, b, c = (x * x for x in size)
        return 8 * math.prod(size), np.array([b + c, a + c, a + b]) / 3
    r, h = size
    tube = 2 * math.pi * r * r * h
    if kind == "cylinder":
        across = r * r / 4 + h * h / 3
        return tube, np.array([across, across, r * r / 2])
    # A capsule: a tube and two half balls, whose mass centres are 3r/8 beyond its ends.
    ball = 4 / 3 * math.pi * r**3
    across = tube * (r * r / 4 + h * h / 3) + ball * (0.4 * r * r + h * h + 0.75 * h * r)
    along = tube * r * r / 2 + ball * 0.4 * r * r
    return tube + ball, np.array([across, across, along]) / (tube + ball)


def geom_inertial(
    geom: Element, settings: Settings, meshes: Meshes, place: np.ndarray, turned: np.ndarray
) -> Inertial | None:
    """Return mass and inertia of a shape in its link's axes; `None` for a shape without mass here."""
    kind = geom.choice("type", (*SOLIDS, *OTHERS), "sphere")
    if kind not in SOLIDS and kind != "mesh":
        return None
    if not settings.groups[0] <= geom.number("group", 0.0) <= settings.groups[1]:
        return None
    if kind == "mesh":
        return _mesh_inertial(geom, settings, meshes, place, turned)
    if geom.has("mesh"):
        geom.fail(f"a {kind} fitted to a mesh; give its size, or type='mesh'")
    size = geom.numbers("size", (1, 3), [0.0], least=0.0)
    where, R = settings.place(geom), settings.rotation(geom)
    if geom.has("fromto"):
        if kind == "sphere":
            geom.fail("a sphere has no fromto; give pos")
        ends = np.array(geom.numbers("fromto", 6)).reshape(2, 3)
        line = ends[0] - ends[1]
        if np.linalg.norm(line) < 1e-12:
            geom.fail("fromto is of length zero")
        where, R = ends.mean(axis=0), from_z(line)
        half = float(np.linalg.norm(line)) / 2
        size = [size[0], half] if SOLIDS[kind] == 2 else [size[0], size[0], half]
    count = SOLIDS[kind]
    if len(size) < count:
        geom.fail(f"a {kind} has {count} sizes, not {len(size)}")
    volume, per_mass = solid(kind, size[:count])
    density = geom.number("density", _WATER, least=0.0)
    mass = geom.number("mass", least=0.0) if geom.has("mass") else density * volume
    return _to_link_axes(
        Inertial(mass, np.zeros(3), np.diag(mass * per_mass)), np.eye(3), where, R, place, turned
    )


def _mesh_inertial(
    geom: Element, settings: Settings, meshes: Meshes, place: np.ndarray, turned: np.ndarray
) -> Inertial:
    given = geom.number("mass", least=0.0) if geom.has("mass") else None
    density = geom.number("density", _WATER, least=0.0)
    if given == 0 or (given is None and density == 0):
        return Inertial()
    own = meshes.inertial(geom, geom.text("mesh"))
    mass = density * own.mass if given is None else given
    inertia = own.inertia * (mass / own.mass)
    part = Inertial(mass, own.com, inertia)
    where, R = settings.place(geom), settings.rotation(geom)
    return _to_link_axes(part, principal_axes(own.inertia), where, R, place, turned)


def _to_link_axes(
    part: Inertial,
    axes: np.ndarray,
    where: np.ndarray,
    R: np.ndarray,
    place: np.ndarray,
    turned: np.ndarray,
) -> Inertial:
    """Transform a part from a shape's axes to its link's axes. The shape is at ``where``, turned by R, in a
    frame that is at ``place``, turned by ``turned``, in the link.
    """
    whole = turned @ R
    inertia = whole @ part.inertia @ whole.T
    com = place + turned @ (where + R @ part.com)
    return Inertial(part.mass, com, (inertia + inertia.T) / 2, whole @ axes)


def combine_inertias(parts: Iterable[Inertial]) -> Inertial:
    """Return the inertia of several parts as one, about their common mass centre by Steiner's theorem."""
    found = [part for part in parts if part.mass > 0]
    mass = sum(part.mass for part in found)
    if not mass:
        return Inertial()
    if len(found) == 1:
        return found[0]
    com = sum((part.mass * part.com for part in found), np.zeros(3)) / mass
    total = np.zeros((3, 3))
    for part in found:
        d = part.com - com
        total += part.inertia + part.mass * ((d @ d) * np.eye(3) - np.outer(d, d))
    return Inertial(mass, com, total)


_SHOWN = 2  # the last group that MuJoCo's viewer shows


class MjcfLooks:
    """What the visuals of a file need: its materials and textures, its meshes, and where their files are."""

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
        """Return the file of the texture that the material of a mesh has; none for other geoms."""
        material = self.materials.get(geom.attributes.get("material", ""), {})
        name = self.textures.get(material.get("texture", ""), {}).get("file", "")
        if not name or geom.text("type", "sphere") != "mesh" or "rgba" in geom.attributes:
            return None
        self.shown.add(material["texture"])
        place = self.meshes.asset_path(name, self.meshes.settings.texture_folder)
        return mesh_file(str(place), self.robot, self.root)

    @property
    def left_out(self) -> list[str]:
        """Names of textures from files that no mesh has."""
        return [name for name, given in self.textures.items() if "file" in given and name not in self.shown]

    def rgba(self, geom: Element) -> list[float] | None:
        """Return the colour of a geom, of its material, or of the material's texture."""
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
    """Return a geom, with the defaults of its class, as a visual of its link; `None` if it is not shown.

    The geom's ``pos`` refers to a frame, which ``place`` and ``turned`` locate in the link.
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
            return None  # an infinite plane; pictures have a floor of their own
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
    found = make_visual(figure, place + turned @ where, turned @ R, rgba)
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
    """Return a mesh of the file's assets, with its place and axes in the geom."""
    name = geom.text("mesh", "")
    element = looks.meshes.elements.get(name)
    if element is None or not (element.has("file") or element.has("vertex")):
        raise ModelError(f"mesh '{name[:60]}' has neither a file nor vertices")
    scale = tuple(element.numbers("scale", 3, [1, 1, 1]))
    figure: Figure
    if element.has("vertex"):
        corners, faces = inline_mesh(element)
        turned = faces[:, ::-1] if np.prod(scale) < 0 else faces  # a mirror turns faces around
        figure = Polyhedron((corners * scale + 0.0).tolist(), turned.tolist() or None)
    else:
        file = mesh_file(str(looks.meshes.file_of_mesh(element)), looks.robot, looks.root)
        figure = Mesh(file, scale=scale, texture=looks.picture(geom) or "")
    place = np.array(element.numbers("refpos", 3, [0, 0, 0]))
    axes = quaternion(element.numbers("refquat", 4, [1, 0, 0, 0])).T
    return figure, -axes @ place, axes
