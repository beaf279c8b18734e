"""Mass and inertia of bodies from the shapes they are made of.

Sizes are MJCF's: radius; radius and half length; or half lengths.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from armillary.files.robots.mjcf.meshes import Meshes
from armillary.files.robots.mjcf.settings import Settings
from armillary.files.robots.rotations import from_z, principal_axes
from armillary.files.robots.tree import Inertial
from armillary.files.xml import Element

SOLIDS = {"sphere": 1, "capsule": 2, "cylinder": 2, "ellipsoid": 3, "box": 3}  # with how many sizes
OTHERS = ("plane", "hfield", "mesh", "sdf")  # of these a mesh alone has a mass here
_WATER = 1000.0  # kg/m³: the density where none is given


def solid(kind: str, size: list[float]) -> tuple[float, np.ndarray]:
    """(volume, principal moments of inertia per mass) of a shape along its own axes."""
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
    """Mass and inertia of a shape in its link's axes; None for those that have none here."""
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
    return _placed(Inertial(mass, np.zeros(3), np.diag(mass * per_mass)), np.eye(3), where, R, place, turned)


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
    return _placed(part, principal_axes(own.inertia), where, R, place, turned)


def _placed(
    part: Inertial,
    axes: np.ndarray,
    where: np.ndarray,
    R: np.ndarray,
    place: np.ndarray,
    turned: np.ndarray,
) -> Inertial:
    """A part given in a shape's axes, in those of its link; ``place`` and ``turned``: of frames between."""
    whole = turned @ R
    inertia = whole @ part.inertia @ whole.T
    com = place + turned @ (where + R @ part.com)
    return Inertial(part.mass, com, (inertia + inertia.T) / 2, whole @ axes)


def together(parts: Iterable[Inertial]) -> Inertial:
    """Several as one body: inertias moved to the common mass centre by Steiner's theorem."""
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
