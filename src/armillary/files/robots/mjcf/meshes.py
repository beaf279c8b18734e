"""Mass and inertia of meshes as MuJoCo computes them.

A face with corners A, B, C, centre c, area s and normal n makes with a point o a tetrahedron of volume
s n·(c − o)/3 and second moments, about o,

    ∫ x xᵀ dV = V/20 (2 (AAᵀ + BBᵀ + CCᵀ) + ABᵀ + BAᵀ + ACᵀ + CAᵀ + BCᵀ + CBᵀ).

"exact" counts volumes with their sign; "legacy", MuJoCo's default, without it, from the centre of the
surface, so that a mesh that is not convex weighs too much; "convex" takes the convex hull; "shell" puts the
mass on the surface, where faces take the place of tetrahedra (V/12, and no o).

Source: MuJoCo's documentation of <mesh inertia>, checked against its numbers (tests/files/robots).
"""

from __future__ import annotations

import sys
from functools import cached_property
from pathlib import Path

import numpy as np

from armillary.files.meshes.reading import checked, read_mesh
from armillary.files.meshes.surface import MeshFault, Triangles, hull
from armillary.files.robots.mjcf.settings import Defaults, Settings, inside
from armillary.files.robots.rotations import quaternion
from armillary.files.robots.tree import Inertial
from armillary.files.xml import Element

_WEIGHED = (".stl", ".obj", ".msh")  # as in MuJoCo; pictures show more
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
        """Mass (of density one), mass centre and inertia in the mesh's own axes."""
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
            corners, triangles = checked(*written(element))
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

    def named(self, element: Element) -> Path:
        """The file of a mesh, relative to that of the model."""
        return self.placed(element.text("file"), self.settings.mesh_folder)

    def placed(self, name: str, folder: str) -> Path:
        """A file of the assets in its folder."""
        name = name.replace("\\", "/")
        if self.settings.strip_path:
            name = Path(name).name
        return Path(folder.replace("\\", "/")) / name

    def _file(self, element: Element) -> Path:
        where = self.named(element)
        if where.suffix.lower() not in _WEIGHED:
            raise MeshFault(f"files '{where.suffix[:20]}' are not read; {', '.join(_WEIGHED)} are")
        # Robots share meshes in a folder beside their own. Only corners are taken from them, as numbers.
        return inside(self.folder, str(where), element, anywhere=True)


def written(element: Element) -> Triangles:
    """Corners and faces of a mesh whose vertices stand in the file itself."""
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
    """A mesh of one kind with its integrals."""

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
        """Volumes of the tetrahedra of all faces with a point; areas of a shell."""
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
        weights = self._weights(com)  # of an open or a "legacy" mesh they depend on the point
        whole = corners.sum(axis=1)
        factor = 12.0 if self.kind == "shell" else 20.0
        # 2 Σ XXᵀ + Σ XYᵀ of different corners = Σ XXᵀ + (Σ X)(Σ X)ᵀ
        P = np.einsum("f,fci,fcj->ij", weights, corners, corners)
        P = (P + np.einsum("f,fi,fj->ij", weights, whole, whole)) / factor
        return Inertial(float(weights.sum()), com, np.trace(P) * np.eye(3) - P)
