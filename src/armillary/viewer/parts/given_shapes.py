"""Shapes that bodies were given, as parts for a picture: kind, sizes, place, and colour if they have one."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from armillary.algebra.expression import Expr
from armillary.algebra.triples import Scalar
from armillary.model.bodies.shapes import Capsule, Cone, Cylinder, Grid, Plane, Sphere, Wheel
from armillary.model.bodies.shapes.surfaces import X, Y
from armillary.model.recording.records import Shape
from armillary.model.space.orbit import Orbit
from armillary.untyped import DataTable
from armillary.viewer.parts.meshes import MeshStore

Numbers = Callable[[Iterable[Scalar]], np.ndarray]
Sampled = Callable[[Expr, dict[Expr, np.ndarray]], np.ndarray]
SURROUNDINGS = ("plane", "grid", "heights", "earth")  # a body with these alone is still drawn as described
_SIZES = {figure.kind: figure.names for figure in (Sphere, Cylinder, Capsule, Cone, Wheel)}
_FLAT = {figure.kind: figure.names for figure in (Plane, Grid)}
_ALONG = 181  # places along an orbit


def part_of(
    shape: Shape, numbers: Numbers, sampled: Sampled, size: float, meshes: MeshStore
) -> DataTable | None:
    """The part of a shape; None for a mesh that cannot be used. ``size`` is a typical length."""
    sizes = [max(float(x), 0.0) for x in numbers(shape.sizes)]
    part: DataTable = {"kind": shape.kind, "at": numbers(shape.at).tolist()}
    if shape.kind == "box":
        part["size"] = sizes
    elif shape.kind == "ellipsoid":
        part["radii"] = sizes
    else:
        names = _SIZES.get(shape.kind) or _FLAT.get(shape.kind) or ()
        part |= dict(zip(names, sizes, strict=True))
    if shape.axis is not None:
        part["axis"] = numbers(shape.axis).tolist()
    if shape.orient is not None:
        part["axes"] = numbers([x for row in shape.orient for x in row]).tolist()
    if shape.colour:
        part["colour"] = shape.colour
    if shape.opacity < 1:
        part["opacity"] = shape.opacity
    if shape.kind == "mesh":
        given = shape.details
        if (key := meshes.key(shape.name, given["file"], given["up"], given["texture"])) is None:
            return None
        part |= {"mesh": key, "scale": list(given["scale"])}
    elif shape.kind == "polyhedron":
        if (key := meshes.given(shape.name, shape.details["corners"], shape.details["faces"])) is None:
            return None
        part |= {"kind": "mesh", "mesh": key, "scale": [1.0, 1.0, 1.0]}
    elif shape.kind == "polyline":
        part |= _polyline(shape, numbers, size)
    elif shape.kind == "heights":
        part |= _heights(shape, sampled)
    elif shape.kind == "earth":
        part["radius"] = float(numbers([shape.details["radius"]])[0])
        if "orbit" in shape.details:
            part["orbit"] = _orbit(*shape.details["orbit"])
    return part


def link_of(shape: Shape, numbers: Numbers, size: float) -> DataTable:
    """A figure between points: its ends, as (body, place), its radius, and its colour where it has one."""
    given = shape.details
    radius = numbers([given["radius"]])[0] if "radius" in given else _RADII[shape.kind] * size
    made: DataTable = {
        "name": shape.name,
        "kind": shape.kind,
        "ends": [{"body": p.body.name, "at": numbers(p.coordinates).tolist()} for p in shape.ends],
        "radius": float(radius),
    }
    if "length" in given:
        made["length"] = float(numbers([given["length"]])[0])
    if "coils" in given:
        made["coils"] = given["coils"]
    colour = {"colour": shape.colour} if shape.colour else {}
    return made | colour | ({"opacity": shape.opacity} if shape.opacity < 1 else {})


_RADII = {"spring": 0.03, "damper": 0.022, "rod": 0.02, "cable": 0.006}  # of the size of a system


def _polyline(shape: Shape, numbers: Numbers, size: float) -> DataTable:
    points = [numbers(place).tolist() for place in shape.details["points"]]
    radius = numbers([shape.details["radius"]])[0] if "radius" in shape.details else 0.008 * size
    return {
        "points": [*points, points[0]] if shape.details["closed"] else points,
        "radius": float(radius),
    }


def _heights(shape: Shape, sampled: Sampled) -> DataTable:
    """Heights row by row along x, with the values of a run's parameters."""
    given = shape.details
    if "numbers" in given:
        z = np.array(given["numbers"])
    else:
        ends = zip((given["x"], given["y"]), given["counts"], strict=True)
        x, y = (np.linspace(low, high, n) for (low, high), n in ends)
        places = {X: np.repeat(x, len(y)), Y: np.tile(y, len(x))}
        found = np.broadcast_to(sampled(given["height"], places), (len(x) * len(y),))
        z = np.where(np.isfinite(found), found, 0.0).reshape(len(x), len(y))
    heights = [[float(f"{h:.6g}") for h in row] for row in z]
    return {"x": list(given["x"]), "y": list(given["y"]), "z": heights}


def _orbit(p: float, e: float, i: float, raan: float, argp: float) -> list[list[float]]:
    """Places along an orbit, the first one again at the end."""
    angles = np.linspace(0.0, 2 * np.pi, _ALONG)
    return [Orbit(1.0, p=p, e=e, i=i, raan=raan, argp=argp, nu=float(a)).position.tolist() for a in angles]
