"""Bodies and points; the frames of a body and its motion in its parent, from the steps of its joint."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, Self

from armillary.algebra.arguments import checked_names
from armillary.algebra.expression import ZERO, Expr
from armillary.algebra.functions import with_stated_dimension
from armillary.algebra.triples import (
    ExprMatrix,
    ExprTriple,
    Matrix,
    Scalar,
    Triple,
    combined,
    is_zero,
    matrix_product,
)
from armillary.algebra.units import RATE, SPEED, Dimension
from armillary.algebra.vectors import Frame, Vector, cross
from armillary.errors import ModelError, nearest
from armillary.model.joints import Assembly, Drift, Fixed, Flexed, JointType, Slide, Step, Tumble, Turn
from armillary.model.joints.base import axis_rotation
from armillary.model.reading.kinds import BODY, POINT
from armillary.model.verbs import NoForm, verb
from armillary.untyped import Given

if TYPE_CHECKING:
    from armillary.model.description import Description, Flexible
    from armillary.model.flexible.part import FlexiblePart


def build_frames(
    name: str, parent: Frame, place: Triple, steps: Sequence[Step], orient: Matrix | None
) -> tuple[Frame, Vector, Vector]:
    """Return the frame of a body, the displacement of its origin from the parent's origin, and the velocity
    of its origin relative to the parent.

    Each turn of the joint has its own frame, so that vectors, which may have components in several frames,
    have few components. ``orient`` also turns the last frame: v_parent = R_joint(q) R_orient v_child. If a
    flexible body is held at one of its nodes, the last step is its motion in the axes of that node.
    """
    if steps and isinstance(steps[-1], Flexed) and (len(steps) > 1 or orient is not None):
        held, displacement, drift = build_frames(f"{name}'", parent, place, steps[:-1], orient)
        frame, shift, moving = build_frames(name, held, (0, 0, 0), steps[-1:], None)
        turning = sum((f.rate for f in _frames_of_joint(held, parent)), Vector({}))
        return frame, displacement + shift, drift + moving + cross(turning, shift)
    frame = parent
    displacement = parent.vector(place)
    drift = Vector({})
    spin = Vector({})  # angular velocity of the present frame in the parent
    for number, step in enumerate(steps, start=1):
        if isinstance(step, Slide):
            shift = frame.vector(step.axis) * step.distance
            displacement = displacement + shift
            drift = drift + frame.vector(step.axis) * step.speed + cross(spin, shift)
            continue
        last = number == len(steps)
        rotation = axis_rotation(step.axis, step.angle) if isinstance(step, Turn) else step.rotation
        if last and orient is not None:
            rotation = matrix_product(rotation, orient, f"R_{name}")
        before = frame
        frame = Frame(name if last else name + "'" * number, before, rotation, _rate(step, before))
        if isinstance(step, Drift):
            shift = before.vector(step.position)
            axes = frame if step.velocity == "body" else before
            displacement = displacement + shift
            drift = drift + axes.vector([step.linear.get(i, 0) for i in range(3)]) + cross(spin, shift)
        elif isinstance(step, Flexed):
            shift = before.vector(step.position)
            displacement = displacement + shift
            drift = drift + frame.vector(_modal(step.moving, step, SPEED)) + cross(spin, shift)
        spin = spin + frame.rate
    if not steps or isinstance(steps[-1], Slide):
        frame = Frame(name, frame) if orient is None else Frame(name, frame, orient)
    return frame, displacement, drift


def _modal(columns: Sequence[Triple], step: Flexed, dimension: Dimension) -> list[Scalar]:
    """Return a velocity by modes, Σ column·speed, with a stated ``dimension``, since columns are numbers."""
    values = combined(columns, step.speeds)
    return [0 if is_zero(x) else with_stated_dimension(x, dimension, "modal") for x in values]


def _frames_of_joint(frame: Frame, parent: Frame) -> list[Frame]:
    """Return the frames of a joint, without the parent's."""
    found = []
    while frame is not parent:
        found.append(frame)
        assert frame.parent is not None
        frame = frame.parent
    return found


def _rate(step: Turn | Tumble | Drift | Flexed, before: Frame) -> Callable[[Frame], Vector]:
    """Return a function that gives the angular velocity of a step's new frame relative to ``before``."""
    if isinstance(step, Turn):
        return lambda frame: before.vector(step.axis) * step.speed
    if isinstance(step, Tumble):
        return lambda frame: frame.vector(step.speeds)
    if isinstance(step, Flexed):
        return lambda frame: frame.vector(_modal(step.turning, step, RATE))
    return lambda frame: frame.vector([step.angular.get(i, 0) for i in range(3)])


class NoSuchPartError(ModelError, AttributeError):
    """The error for a missing part of a body. It is an AttributeError, too, so that ``hasattr`` works."""


class _Part:
    """A part of one system; it is copied and pickled only with that system."""

    def __copy__(self) -> Self:
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        return made

    def __deepcopy__(self, _: object) -> Self:
        return self

    def _from_system(self) -> str:
        """Return the expression that finds this part in a system, such as ``system.bodies['A']``."""
        raise NotImplementedError

    def __reduce__(self) -> NoReturn:
        raise ModelError(
            f"{self!r} cannot be pickled: it belongs to its system in this process; pickle the system "
            f"instead, and take it from the copy, {self._from_system()}"
        )


@dataclass(frozen=True, eq=False)
class Point(_Part):
    """A point fixed in a body, by its coordinates in the body's axes from the body's origin."""

    name: str
    body: Body
    coordinates: Triple

    def __repr__(self) -> str:
        return f"Point({self.body.name}.{self.name})"

    def _from_system(self) -> str:
        return f"{self.body._from_system()}.point('{self.name}')"


@dataclass(frozen=True, eq=False, repr=False)
class Body(_Part):
    """A rigid body, made by ``System.body``; if mass and inertia are zero, it is only a frame.

    ``x``, ``y`` and ``z`` are the axes of its frame; its origin is the place of its joint. ``inertia`` is
    about the mass centre, in body axes.
    """

    system: Description
    name: str
    parent: Body | None
    joint: JointType
    assembly: Assembly
    frame: Frame
    at: ExprTriple
    orient: Matrix | None
    mass: Expr
    inertia: ExprMatrix
    com_coordinates: ExprTriple
    displacement: Vector  # from the parent's origin to this one
    drift: Vector  # velocity of this origin in the parent's frame
    joint_coordinates: tuple[Expr, ...] = ()
    joint_speeds: tuple[Expr, ...] = ()
    points: dict[str, Point] = field(default_factory=dict)
    made_at: int = 0  # number of entries of the description (``extent``) with this body

    @property
    def flex(self) -> Flexible | None:
        """The flexible part of the body (``body.flex.part``) with the coordinates and speeds of its modes;
        `None` for a rigid body.
        """
        return self.system.flexibles.get(self.name)

    @property
    def coordinates(self) -> tuple[Expr, ...]:
        """Coordinates of the joint, then coordinates of the modes."""
        return self.joint_coordinates + (self.flex.coordinates if self.flex else ())

    @property
    def speeds(self) -> tuple[Expr, ...]:
        """Speeds of the joint, then speeds of the modes."""
        return self.joint_speeds + (self.flex.speeds if self.flex else ())

    @verb(NoForm("the entry of the body holds it, as flexible"))
    def flexible(self, source: object = None, *, held: str | None = None, **options: object) -> FlexiblePart:
        """Give this body modes, in one of these ways; return the part: frequencies, integrals, ``table()``.

        ============  ====================================================================================
        ``Beam``      modes or frequency_limit (rad/s), damping or damping_matrix, second_order, stiffening
        ``Plate``     modes, damping or damping_matrix, second_order
        a part        that ``flexible`` returned, or its ``truncated(n)``
        matrices      mass_matrix, stiffness_matrix, positions; basis ("fixed", "free", "craig-bampton"),
                      fixed, interface, modes, frequency_limit, damping or damping_matrix, second_order
        nodes         nodes, masses, inertias; shapes, rotations; frequencies or stiffness; modes, basis,
                      damping or damping_matrix, total_mass, second_order, stiffening with shortening
        complex       complex_shapes=(Ψ, Γ) about the spin, frequencies, nodes, masses, inertias, damping,
                      total_mass, second_order
        integrals     m, c, J, P, H, M, Q, R, S; K or frequencies, C or damping; nodes, shapes, rotations,
                      second_order
        coupling      coupling=(P, Δ), frequencies, damping or damping_matrix, about (the mass centre),
                      total_mass; nodes, shapes, rotations
        all of them   held; spin (rad/s), the steady rotation for which the modes were computed
        ============  ====================================================================================

        Positions are from the body's origin, in its axes. The part's mass and inertia are added to the
        body's own, which are zero if they were left out. The modes are the body's last coordinates and
        speeds. ``held`` names the node at which the joint holds the body, if that node moves with the
        modes; without it the joint holds the origin.

        Spin makes a part *softer*, and at fast spin its deflection grows without bound, unless
        ``stiffening=True`` lets it shorten as it bends. ``second_order=False`` drops all terms of second
        order in the deformation.
        """
        return self.system._make_flexible(self, source, held, options)

    def node(self, name: object) -> Body:
        """Return a node of a flexible body: a massless body that moves and turns with the deflection there.

        A text is the name of a node. On a beam a number is the distance from the root, on a plate (x, y) is a
        place; ``boom.node(0.5)`` is the body ``boom_at_0_5``. On other parts a whole number is the name of a
        node that was given without a name. Bodies may be attached to the node (``parent=boom.node("tip")``),
        and forces and moments may act on it.
        """
        return self.system._node(self, name)

    def deflection(self, name: object) -> Vector:
        """Return the displacement of a node from its undeformed place in this body."""
        return self.system._deflection(self, name)

    @property
    def x(self) -> Vector:
        """First unit vector."""
        return self.frame.x

    @property
    def y(self) -> Vector:
        """Second unit vector."""
        return self.frame.y

    @property
    def z(self) -> Vector:
        """Third unit vector."""
        return self.frame.z

    @property
    def origin(self) -> Point:
        """The body's origin, at its joint."""
        return self.points["origin"]

    @property
    def com(self) -> Point:
        """The mass centre."""
        return self.points["com"]

    @verb(NoForm("the entry of the body holds it, among its points"))
    def point(self, *where: Given, name: str | None = None) -> Point:
        """Add a point, ``body.point("tip", (0, 1, 0))`` or ``body.point((0, 1, 0))``; return a known point by
        its name, ``body.point("tip")``.
        """
        if len(where) == 1 and isinstance(where[0], str):
            return self._known_point(where[0])
        if len(where) == 2 and isinstance(where[0], str):
            name, coordinates = where
        elif len(where) == 1:
            coordinates = where[0]
        elif len(where) == 3:
            coordinates = where
        else:
            raise ModelError(
                f"body '{self.name}': a point has a name and three coordinates, e.g. point('tip', (0, 1, 0))"
            )
        label = name or f"point{len(self.points) + 1}"
        if not isinstance(label, str) or not label.isidentifier():
            raise ModelError(
                f"body '{self.name}': point name {label!r} is not a name: letters, digits and underscores"
            )
        # Attributes of the class Body cannot be names of points, either.
        if label in self.points or _QU.match(label) or label in self.__dict__ or hasattr(Body, label):
            raise ModelError(f"body '{self.name}' has a '{label}' already; choose another name for the point")
        values = self.system._triple(coordinates, f"point '{label}' of body '{self.name}'", "m")
        point = Point(label, self, values)
        self.points[label] = point
        return point

    def shape(self, shape: object, *, name: str | None = None, **options: object) -> None:
        """Add a figure for pictures: ``body.shape(arm.Box(0.4, 0.2, 0.1), at=(0, 0, 0.1),
        colour="#0072b2")``.

        ``at``, ``orient``, ``colour`` and ``opacity`` are as in ``System.shape``.
        """
        taken = self.system.shapes
        numbered = (f"{self.name}_shape{i}" for i in count(1))
        label = name if name is not None else next(n for n in numbered if n not in taken)
        self.system.shape(label, body=self, shape=shape, **options)

    def _known_point(self, name: str) -> Point:
        [name] = checked_names([name], self.points, f"body '{self.name}' has no point", ModelError)
        return self.points[name]

    def __getattr__(self, name: str) -> Any:  # a coordinate, a speed, a point or a node, by its name
        """Return a coordinate ``q1…``, a speed ``u1…`` or a named point as an attribute.

        Nodes are not attributes, since a node is made at its first use, but ``hasattr`` must not make one.
        """
        if name.startswith("__"):
            raise AttributeError(name)
        flex = None if name in self.points or _QU.match(name) else self.flex
        if flex is not None and name in flex.part.nodes:
            raise NoSuchPartError(f"'{name}' is a node of body '{self.name}'; say {self.name}.node('{name}')")
        return self.part(name)

    def part(self, name: str) -> Any:  # any of the parts below
        """Return the axis, mass, point, node, coordinate or speed of a body that a text names."""
        if name in _NAMED:
            return getattr(self, name)
        if _QU.match(name):
            series: Sequence[Expr] = self.coordinates if name[0] == "q" else self.speeds
            if 1 <= int(name[1:]) <= len(series):
                return series[int(name[1:]) - 1]
            kind = ("coordinate" if name[0] == "q" else "speed") + ("s" if len(series) != 1 else "")
            raise NoSuchPartError(
                f"body '{self.name}' ({self.joint.describe()}) has {len(series)} {kind}, "
                f"so there is no {self.name}.{name}"
            )
        if name in self.points:
            return self.points[name]
        if self.flex is not None and name in self.flex.part.nodes:
            return self.node(name)
        known = [
            *self.points,
            *(self.flex.part.nodes if self.flex is not None else ()),
            *_NAMED,
            *(s.data.name.split(".")[-1] for s in (*self.coordinates, *self.speeds)),
        ]
        raise NoSuchPartError(f"body '{self.name}' has no '{name}'{nearest(name, known)}")

    def __repr__(self) -> str:
        return f"Body({self.name}, {self.joint.describe()})"

    def _from_system(self) -> str:
        return f"system.bodies['{self.name}']" if self.parent is not None else "system.ground"


_NAMED = ("x", "y", "z", "mass")
_QU = re.compile(r"[qu]\d{1,6}\Z")

BodyLike = Annotated[Body | str, BODY]
PointLike = Annotated[Point | Body | str, POINT]  # a body stands for its origin

_ZERO: ExprTriple = (ZERO, ZERO, ZERO)


def make_ground(system: Description) -> Body:
    """Return the inertial body of a new system."""
    still = Vector({})
    return massless_body(system, "ground", None, Fixed(), Assembly((), ()), Frame("ground"), still, still)


def massless_body(
    system: Description,
    name: str,
    parent: Body | None,
    joint: JointType,
    assembly: Assembly,
    frame: Frame,
    displacement: Vector,
    drift: Vector,
) -> Body:
    """Return a frame that moves with its joint: the ground, or a node of a flexible body."""
    inertia = (_ZERO, _ZERO, _ZERO)
    body = Body(
        system, name, parent, joint, assembly, frame, _ZERO, None, ZERO, inertia, _ZERO, displacement, drift
    )
    add_points(body)
    return body


def add_points(body: Body) -> None:
    body.points["origin"] = Point("origin", body, _ZERO)
    body.points["com"] = Point("com", body, body.com_coordinates)
