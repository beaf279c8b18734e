"""The drawing of a body: the shapes it was given or, without any, its links, its mass, and its joint.

A shape becomes a part of a picture: a table with its kind, sizes, position, and colour if it has one. A link
is a rod from the origin of a body to a point where another body is attached, or a figure (spring, damper,
rod, cable) between points of two bodies. The latter becomes bars: a bar is a surface of unit length along z,
about its middle, which is stretched between two points in every row of a run.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from armillary.algebra.calculus import NumericValue, ValueTable, evaluate, evaluate_all
from armillary.algebra.expression import ZERO, Expr, as_expr
from armillary.algebra.triples import Scalar, Triple
from armillary.algebra.walk import symbols
from armillary.model.bodies.body import Body
from armillary.model.bodies.figures import Capsule, Cone, Cylinder, Grid, Plane, Sphere, Wheel, X, Y
from armillary.model.description import Description, Shape
from armillary.model.flexible.part import FlexibleNode, FlexiblePart
from armillary.model.joints import Drift, Slide, Tumble, Turn
from armillary.model.space.orbit import Orbit
from armillary.program.equations import DerivedEquations
from armillary.program.pieces import moving_bodies
from armillary.runtime.models.parameters import parameter_table
from armillary.untyped import DataMapping, DataTable
from armillary.viewer.page_data import MeshStore
from armillary.viewer.surfaces import DrawnSurface, cylinder, helix

Numbers = Callable[[Iterable[Scalar]], np.ndarray]
Sampled = Callable[[Expr, dict[Expr, np.ndarray]], np.ndarray]
# Kinds of shapes around a mechanism: a body that has only these is still drawn from its description.
SURROUNDINGS = (
    "plane",
    "grid",
    "heights",
    "earth",
)
_SIZES = {figure.kind: figure.names for figure in (Sphere, Cylinder, Capsule, Cone, Wheel)}
_FLAT = {figure.kind: figure.names for figure in (Plane, Grid)}
_ALONG = 181  # points along an orbit


def part_of(
    shape: Shape, numbers: Numbers, sampled: Sampled, size: float, meshes: MeshStore
) -> DataTable | None:
    """Return a shape as a part; None for an unusable mesh. ``size`` is a length typical of the system."""
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
        if (key := meshes.add_mesh(shape.name, shape.details["corners"], shape.details["faces"])) is None:
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
    """Return a figure between points as a link: ends (body, position), radius, and colour if it has one."""
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
    """Return heights row by row along x, with the values of a run's parameters."""
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
    """Return points along an orbit; the last equals the first."""
    angles = np.linspace(0.0, 2 * np.pi, _ALONG)
    return [Orbit(1.0, p=p, e=e, i=i, raan=raan, argp=argp, nu=float(a)).position.tolist() for a in angles]


COLOUR = "#6b7680"  # default colour of a link
_CAN = 0.55  # length of a damper's cylinder over the initial distance of its ends
_PIECES = 16  # straight pieces of a hanging cable


class Bar(NamedTuple):
    """A surface of unit length, and its ends in every row."""

    surface: DrawnSurface
    start: np.ndarray  # rows × 3
    end: np.ndarray

    def lengths(self) -> np.ndarray:
        """Return the distances between the ends."""
        return np.asarray(np.linalg.norm(self.end - self.start, axis=1))


def bars_of(link: DataMapping, places: Sequence[np.ndarray], up: object) -> list[Bar]:
    """Return the bars of a link between its points; ``places`` has rows × 3 numbers for each point."""
    kind, radius = link["kind"], link["radius"]
    if kind == "spring":
        return [Bar(helix(radius, 1.0, turns=link.get("coils", 9)), places[0], places[1])]
    rod = cylinder(radius, 1.0, around=12)
    if kind == "damper":
        return _damper(places[0], places[1], radius)
    if kind == "cable" and "length" in link:
        places = _hanging(places[0], places[-1], link["length"], np.asarray(up, dtype=float))
    return [Bar(rod, one, other) for one, other in pairwise(places)]


def _damper(one: np.ndarray, other: np.ndarray, radius: float) -> list[Bar]:
    """Return a cylinder of constant length from one end, and a thinner rod from the other end into it."""
    distance = np.linalg.norm(other - one, axis=1, keepdims=True)
    along = (other - one) / np.maximum(distance, 1e-12)
    can = _CAN * float(distance[0, 0])
    inside = np.minimum(distance, 0.6 * can + np.maximum(0.0, distance - can))
    rod = cylinder(0.4 * radius, 1.0, around=14)
    return [
        Bar(cylinder(radius, 1.0, around=20), one, one + can * along),
        Bar(rod, other - inside * along, other),
    ]


def _hanging(one: np.ndarray, other: np.ndarray, length: float, up: np.ndarray) -> list[np.ndarray]:
    """Return points along a parabola of length L: L = D + 8 s²/(3 D) with distance D and sag s."""
    distance = np.linalg.norm(other - one, axis=1, keepdims=True)
    sag = np.sqrt(np.maximum(0.0, 3.0 * distance * (length - distance) / 8.0))
    return [
        one + s * (other - one) - 4.0 * s * (1.0 - s) * sag * up for s in np.linspace(0.0, 1.0, _PIECES + 1)
    ]


# Okabe & Ito's colours, distinct with every kind of colour vision, in the order of the bodies.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8C6BB1", "#B8A100")
_NONE = 1e-9  # of the size of a system: a shorter length is not drawn
_EQUAL = 1e-3  # of the largest moment of inertia: smaller differences are ignored
_ROUND = 0.08  # of the largest moment: if all three differ by less, the body is drawn as a ball
_IMPOSSIBLE = 0.15  # fraction by which a moment may exceed the sum of the two others
_GLASS = 0.55  # opacity of a solid around the links of its body
_STATIONS = 17  # points along a beam
_SHEET = (13, 9)  # points along and across a plate
_JOINTS: dict[type, float] = {Turn: 0.06, Slide: 0.05}  # sizes over that of a system
_LONGEST = 4.0  # times the size of a system: larger solids of equal inertia do not look like the body


class Appearance:
    """Parts of all bodies in the page's form, with the values of one run's parameters."""

    def __init__(self, equations: DerivedEquations, parameters: Mapping[str, float]) -> None:
        self._system: Description = equations.system
        table = parameter_table(equations)
        given = table.values({n: v for n, v in parameters.items() if n in equations.parameters})
        inside = dict(zip(table.names, table.inside(given).tolist(), strict=True))
        plain = equations.reduction.plain
        self._values = {plain(p): inside[n] for n, p in self._system.parameters.items() if n in inside}
        self._plain = plain
        self.name, self.ground = self._system.name, self._system.ground
        self.lengths = self._system.units.lengths  # the unit of positions
        self.bodies = moving_bodies(equations)
        self.named = {body.name: body for body in self.bodies}
        self._places = {body.name: self._attachments(body) for body in [self._system.ground, *self.bodies]}
        self._solids = {body.name: self._solid(body) for body in self.bodies}
        self.size = self._typical_length()
        self.meshes = MeshStore()

    def numbers(self, expressions: Iterable[Scalar]) -> np.ndarray:
        """Return constant expressions as numbers; zero for expressions that depend on the motion."""
        plain = [self._plain(as_expr(e)) for e in expressions]
        known = [e if all(x in self._values for x in symbols(e)) else ZERO for e in plain]
        return np.array([float(x) for x in evaluate_all(known, self._values)])

    def _sample(self, expression: Expr, places: Mapping[Expr, np.ndarray]) -> np.ndarray:
        """Return an expression at many values of some symbols."""
        values: ValueTable = {**self._values, **{self._plain(s): v for s, v in places.items()}}
        return np.asarray(evaluate(self._plain(expression), values), dtype=float)

    def _attachments(self, body: Body, *, without: Collection[str] = ()) -> list[np.ndarray]:
        """Return points of a body, in its axes: where other bodies are joined to it, and its named points.

        Points named in ``without`` are left out; for the ground, all named points are.
        """
        found: list[Triple] = [child.at for child in self.bodies if child.parent is body]
        if body.parent is not None:
            found += [p.coordinates for name, p in body.points.items() if name not in without]
        return list({tuple(x): x for x in map(self.numbers, found)}.values())

    def _solid(self, body: Body) -> DataTable | None:
        """Return the uniform solid with a body's mass and inertia: a ball if all moments are equal, a
        cylinder if two are, else a box; None for a body without mass or inertia.
        """
        mass = float(self.numbers([body.mass])[0])
        inertia = self.numbers([x for row in body.inertia for x in row]).reshape(3, 3)
        if not mass > 0 or not np.trace(inertia) > 0:
            return None
        moments, axes = np.linalg.eigh(0.5 * (inertia + inertia.T))
        axes = axes if np.linalg.det(axes) > 0 else axes * np.array([1.0, 1.0, -1.0])
        place: DataTable = {"at": self.numbers(body.com_coordinates).tolist()}
        low, middle, high = moments
        if high > (1 + _IMPOSSIBLE) * (low + middle):  # simplified models may state only some moments
            return None
        if high - low < _ROUND * high:
            radius = float(np.sqrt(2.5 * moments.mean() / mass))
            longest = max((float(np.linalg.norm(p)) for p in self._places[body.name]), default=0.0)
            # Equal moments are often placeholders: such a ball would hide the links of its body.
            least = 0.3 * radius if self._is_free(body) else 0.0
            if least < longest < 2 * radius:
                return None
            return {"kind": "sphere", "radius": radius, **place}
        for single, k in ((high, 2), (low, 0)):  # about the axis of the cylinder: J = m r²/2
            r2, across = 2.0 * single / mass, low if k == 2 else high
            h2 = 12.0 * across / mass - 3.0 * r2
            if abs(middle - across) < _EQUAL * high and h2 >= 0:
                size = {"radius": float(np.sqrt(r2)), "length": float(np.sqrt(h2))}
                return {"kind": "cylinder", **size, "axis": axes[:, k].tolist(), **place}
        edges = np.sqrt(np.maximum(12.0 * (0.5 * moments.sum() - moments) / mass, 0.0))
        return {"kind": "box", "size": edges.tolist(), "axes": axes.ravel().tolist(), **place}

    def _typical_length(self) -> float:
        """Return the median of the lengths of a system."""
        lengths = [float(np.linalg.norm(p)) for places in self._places.values() for p in places]
        lengths += [_extent(solid) for solid in self._solids.values() if solid is not None]
        parts = [body.flex.part for body in self.bodies if body.flex is not None]
        lengths += [float(np.linalg.norm(p.position)) for part in parts for p in part.nodes.values()]
        solids = [s for s in self._system.shapes.values() if s.sizes and s.kind not in SURROUNDINGS]
        lengths += [float(max(self.numbers(shape.sizes))) for shape in solids]
        known = sorted(x for x in lengths if np.isfinite(x) and x > 0)
        return known[len(known) // 2] if known else 1.0

    def parts(self, body: Body) -> list[DataTable]:
        """Return the parts of a body, each with its kind, sizes and position in the body's axes: its given
        shapes or, without any, parts from its description.
        """
        shapes = [s for s in self._system.shapes.values() if s.body.name == body.name and not s.ends]
        made = [part_of(s, self.numbers, self._sample, self.size, self.meshes) for s in shapes]
        parts = [part for part in made if part is not None]
        if any(shape.kind not in SURROUNDINGS for shape in shapes):
            return parts
        return [*parts, *self._describe_body(body)] if self._is_drawn(body) else parts

    def has_shape(self, body: Body) -> bool:
        """Return whether a body was given a shape."""
        shapes = [s for s in self._system.shapes.values() if s.body.name == body.name and not s.ends]
        return any(shape.kind not in SURROUNDINGS for shape in shapes)

    def _is_drawn(self, body: Body) -> bool:
        """Return whether a body without a shape is drawn. If other bodies have shapes, it must move and have
        a mass.
        """
        shaped = any(not s.ends and s.kind not in SURROUNDINGS for s in self._system.shapes.values())
        moves = body.parent is not None and bool(body.coordinates)
        return not shaped or (moves and bool(self.numbers([body.mass])[0] > 0))

    def _describe_body(self, body: Body) -> list[DataTable]:
        """Return links, the solid of equal inertia, and the joint; for a flexible body only the joint."""
        if body.flex is not None and body.flex.part.nodes:
            return self._joint(body)
        size, found = self.size, []
        thin = 0.02 * size
        for place in self._places[body.name]:
            if np.linalg.norm(place) > _NONE * size:
                found.append({"kind": "rod", "to": place.tolist(), "radius": thin})
        solid = self._solids.get(body.name)
        if solid is not None and _extent(solid) < _LONGEST * size:
            least = {k: _at_least(solid[k], 0.012 * size) for k in ("size", "radius", "length") if k in solid}
            found.append(solid | least | ({"opacity": _GLASS} if found else {}))
        elif body.parent is not None and self.numbers([body.mass])[0] > 0:
            found.append(self._point_mass(body))
        closing = [place for other, place in self._closing if other is body]
        balls = [{"kind": "ball", "radius": 0.04 * size, "at": place.tolist()} for place in closing]
        return [*found, *self._joint(body), *balls]

    def _point_mass(self, body: Body) -> DataTable:
        """Return a block if the body slides horizontally, else a ball, which is larger than a sleeve around
        it.
        """
        place = {"at": self.numbers(body.com_coordinates).tolist()}
        slides = [axis for kind, axis in self.joint_axes(body) if kind is Slide]
        if len(slides) == 1 and abs(slides[0] @ self.up()) < 0.5:
            x = np.eye(3)[int(np.argmin(np.abs(slides[0])))]
            y = np.cross(slides[0], x) / np.linalg.norm(np.cross(slides[0], x))
            axes = np.stack([np.cross(y, slides[0]), y, slides[0]], axis=1)
            edges = [0.11 * self.size, 0.11 * self.size, 0.18 * self.size]
            return {"kind": "box", "size": edges, "axes": axes.ravel().tolist(), **place}
        return {"kind": "sphere", "radius": (0.1 if slides else 0.06) * self.size, **place}

    def attachment_points(self, body: Body) -> list[np.ndarray]:
        """Return points on a body where others are joined, and its points except mass centre and origin."""
        places = self._attachments(body, without=("com", "origin"))
        return [x for x in places if np.linalg.norm(x) > _NONE * self.size]

    def joint_axes(self, body: Body) -> list[tuple[type, np.ndarray]]:
        """Return the motions of a joint in order, each with its axis in the body's axes; zero for a ball
        joint.
        """
        found: list[tuple[type, np.ndarray]] = []
        for step in body.assembly.steps:
            if isinstance(step, Turn | Slide):
                axis = self.numbers(step.axis)
                if body.orient is not None:  # the axes of the joint are defined before the fixed orientation
                    axis = self.numbers([x for row in body.orient for x in row]).reshape(3, 3).T @ axis
                found.append((type(step), axis))
            elif isinstance(step, Tumble):
                found.append((Tumble, np.zeros(3)))
        return found

    def _is_free(self, body: Body) -> bool:
        """Return whether a body moves freely in a plane or in space."""
        steps = body.assembly.steps
        return any(isinstance(step, Drift) for step in steps) or sum(isinstance(s, Slide) for s in steps) > 1

    def _joint(self, body: Body) -> list[DataTable]:
        """Return a pin for a hinge, a sleeve for a slide, a ball for a ball joint; nothing for a body that
        moves freely in a plane or in space.
        """
        if self._is_free(body):
            return []
        kinds: dict[type, str] = {Turn: "pin", Slide: "sleeve"}
        return [
            {"kind": "ball", "radius": 0.05 * self.size}
            if kind is Tumble
            else {"kind": kinds[kind], "axis": axis.tolist(), "size": _JOINTS[kind] * self.size}
            for kind, axis in self.joint_axes(body)
        ]

    def bending(self) -> list[DataTable]:
        """Return flexible bodies: points in the axes of the body, and their motion by a unit of each mode."""
        found = []
        for i, body in enumerate(self.bodies):
            if body.flex is not None:
                points, arrangement = _points_of_part(body.flex.part)
                found.append(
                    {
                        "body": i,
                        **arrangement,
                        "modes": body.flex.part.modes,
                        "places": [p.position.tolist() for p in points],
                        "shapes": [p.shape.T.tolist() for p in points],  # mode by mode
                        "radius": 0.02 * self.size,
                    }
                )
        return found

    @cached_property
    def _closing(self) -> list[tuple[Body, np.ndarray]]:
        return self.closures()

    def closures(self) -> list[tuple[Body, np.ndarray]]:
        """Return points at which loops are closed: pairs of a body and a position in its axes."""
        loads = [c.load for c in self._system.constraints.values() if c.load is not None]
        points = dict.fromkeys(load.at for load in loads if load.at is not None)
        return [(p.body, self.numbers(p.coordinates)) for p in points if p.body.name in self.named]

    def springs(self) -> list[DataTable]:
        """Return the links between points of bodies: given figures, and springs.

        There is a spring for each load along the line between two points that have no figure.
        """
        shapes = [shape for shape in self._system.shapes.values() if shape.ends]
        found = [link_of(shape, self.numbers, self.size) for shape in shapes]
        drawn = {frozenset((p.body.name, p.name) for p in shape.ends) for shape in shapes}
        for load in self._system.loads.values():
            if load.collinear and load.at is not None and load.reaction_at is not None:
                points = (load.at, load.reaction_at)
                ends = [{"body": p.body.name, "at": self.numbers(p.coordinates).tolist()} for p in points]
                if frozenset((p.body.name, p.name) for p in points) not in drawn:
                    radius = 0.03 * self.size
                    found.append({"name": load.name, "kind": "spring", "ends": ends, "radius": radius})
        return found

    def _gravity(self) -> np.ndarray:
        pull = np.zeros(3)
        for field in self._system.gravities:
            along = self.numbers(field.direction.components(self.ground.frame))
            pull = pull + along * self.numbers([field.magnitude])[0]
        return pull

    def pull(self) -> float:
        """Return the acceleration of uniform gravity."""
        return float(np.linalg.norm(self._gravity()))

    def up(self) -> list[float]:
        """Return the direction against gravity; z without gravity."""
        length = self.pull()
        return [0.0, 0.0, 1.0] if not length > 0 else (-self._gravity() / length + 0.0).tolist()


def _extent(solid: DataTable) -> float:
    """Return the largest length of a solid."""
    return float(max([*solid.get("size", ()), 2 * solid.get("radius", 0.0), solid.get("length", 0.0)]))


def _at_least(value: NumericValue, least: float) -> NumericValue:
    return [max(x, least) for x in value] if isinstance(value, list) else max(value, least)


def _points_of_part(part: FlexiblePart) -> tuple[list[FlexibleNode], DataTable]:
    """Return points of a flexible part, and their arrangement: along a beam, or in rows over a plate
    ("sheet": the numbers along and across).
    """
    if part.anywhere is None or "tip" not in part.nodes:
        return list(part.nodes.values()), {"chain": False}
    if "corner4" in part.nodes:
        corners = [part.nodes[f"corner{i}"].position for i in (1, 2, 4)]
        a, b = (float(np.linalg.norm(corner - corners[0])) * (1 - 1e-12) for corner in corners[1:])
        nx, ny = _SHEET
        places = [(x, y) for x in np.linspace(0, a, nx) for y in np.linspace(-b / 2, b / 2, ny)]
        return [part.anywhere((float(x), float(y))) for x, y in places], {"chain": False, "sheet": _SHEET}
    length = float(np.linalg.norm(part.nodes["tip"].position - part.anywhere(0.0).position))
    return [part.anywhere(float(s)) for s in np.linspace(0.0, length, _STATIONS)], {"chain": True}
