"""Mechanisms of robot files: links, joints, loads and visuals of URDF and MJCF, and the System made of them.

The System is made by public methods only, so that it can be saved as text. Each joint of a link gets its own
body, massless except for the last: each load then acts on a single coordinate, for any directions of the
axes, and massless bodies cost no operation. A body's origin is at the anchor of its last joint.

    R_parent,link(q) = R J₁(q₁) J₂(q₂) …        J = turn about, or slide along, an axis of the link

Meshes of visuals are named by paths relative to the robot's file, or by ``package://name/…``. They must be
inside a root folder: the one that the user states, or else, for a package, the folder with its name above the
robot's file, and for a relative path the parent of the folder of the robot's file. Nothing is opened here:
meshes are read when a picture is drawn, without those that are missing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from armillary.algebra import functions as fn
from armillary.algebra.arguments import checked_names
from armillary.algebra.expression import Expr
from armillary.algebra.triples import SIX
from armillary.algebra.units import SPEED
from armillary.errors import ModelError
from armillary.files.mesh_surface import hex_colour
from armillary.files.robots.rotations import is_identity, tidy, unit_vector
from armillary.files.xml import Element, Imported
from armillary.model.bodies.bodies import body as make_body
from armillary.model.bodies.body import Body, Point
from armillary.model.bodies.figures import Figure
from armillary.model.description import Description
from armillary.model.joints import Fixed, Free, JointType, Planar, Prismatic, Revolute, Spherical
from armillary.model.loads.contacts import stop
from armillary.model.loads.forces import armature, force, gravity, moment
from armillary.model.reading.expressions import check_new_name, parameter
from armillary.text_tables import listed
from armillary.untyped import DataMapping, DataTable, Given

_PACKAGE = ("package://", "model://")


@dataclass(frozen=True)
class Visual:
    """A figure at ``place`` in the link's axes, turned by ``rotation``: v_link = R v_figure."""

    figure: Figure
    place: np.ndarray = field(default_factory=lambda: np.zeros(3))
    rotation: np.ndarray = field(default_factory=lambda: np.eye(3))
    colour: str = ""
    opacity: float = 1.0

    def move_to(self, origin: np.ndarray, axes: np.ndarray) -> Visual:
        """Return the visual in another frame of the link, at ``origin`` with ``axes`` (columns)."""
        return replace(self, place=axes.T @ (self.place - origin), rotation=axes.T @ self.rotation)


def make_visual(
    figure: Figure, place: np.ndarray, rotation: np.ndarray, rgba: list[float] | None
) -> Visual | None:
    """Return a visual with this colour; `None` if it cannot be seen."""
    if rgba is None:
        return Visual(figure, place, rotation)
    if rgba[3] <= 0:
        return None
    return Visual(figure, place, rotation, hex_colour(rgba), min(rgba[3], 1.0))


def mesh_file(name: str, robot: Path, root: Path | None) -> Path:
    """Return the file of a mesh, which need not exist but must be inside the root."""
    if "\0" in name or len(name) > 1000 or not name.strip():
        raise ModelError("the name of a mesh is not the name of a file")
    folder = _folder(robot)
    text = name.replace("\\", "/")
    for start in _PACKAGE:
        if text.startswith(start):
            package, _, rest = text.removeprefix(start).lstrip("/").partition("/")
            base = _package(package, folder, root)
            return _check_inside(base / rest, root.resolve() if root is not None else base, name)
    limit = root.resolve() if root is not None else folder.parent
    return _check_inside(folder / text.removeprefix("file://"), limit, name)


def textures_left_out(names: list[str]) -> str:
    """Return a remark on textures from files; empty without any."""
    if not names:
        return ""
    listed = ", ".join(f"'{name[:40]}'" for name in names[:3]) + (", …" if len(names) > 3 else "")
    return f"pictures show plain colours in place of the textures {listed}"


@lru_cache(maxsize=64)
def _package(package: str, folder: Path, root: Path | None) -> Path:
    """Return the folder of a package: in the stated root, or the folder of its name above the robot."""
    if root is not None:
        whole = root.resolve()
        return whole if whole.name == package and not (whole / package).is_dir() else whole / package
    return next((above for above in (folder, *folder.parents) if above.name == package), folder / package)


@lru_cache(maxsize=8)
def _folder(robot: Path) -> Path:
    return robot.resolve().parent


def _check_inside(path: Path, root: Path, name: str) -> Path:
    target = Path(os.path.normpath(path))
    if not target.is_relative_to(root):
        raise ModelError(
            f"mesh '{name[:80]}' is outside of the folder '{root}'; state a wider one with root="
        )
    return target


HINGE, SLIDE, BALL, FREE, PLANE = "hinge", "slide", "ball", "free", "planar"


@dataclass
class Inertial:
    """Mass, mass centre, and the inertia about the mass centre, all in the link's axes.

    ``axes`` (columns) are the axes along which the file gave a diagonal inertia; `None` if it gave none.
    """

    mass: float = 0.0
    com: np.ndarray = field(default_factory=lambda: np.zeros(3))
    inertia: np.ndarray = field(default_factory=lambda: np.zeros((3, 3)))
    axes: np.ndarray | None = None

    @classmethod
    def from_axes(
        cls, mass: float, com: np.ndarray, inertia: np.ndarray, axes: np.ndarray, *, diagonal: bool = False
    ) -> Inertial:
        """Return an inertia that is given along other axes (columns): R I Rᵀ."""
        turned = axes @ inertia @ axes.T
        return cls(mass, com, (turned + turned.T) / 2, axes if diagonal else None)


def symmetric_matrix(six: Sequence[float]) -> np.ndarray:
    """Return the matrix with the elements 11, 22, 33, 12, 13, 23."""
    xx, yy, zz, xy, xz, yz = six
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def read_direction(element: Element, key: str, default: Sequence[float]) -> np.ndarray:
    """Return the unit vector along the axis that an attribute gives."""
    axis = element.numbers(key, 3, default)
    if np.linalg.norm(axis) < 1e-12:
        element.fail("an axis of length zero has no direction; give one such as '0 0 1'")
    return unit_vector(axis)


@dataclass
class RobotFreedom:
    """A joint in the file's terms. ``axis`` and ``anchor`` are in the axes of the link that it moves.

    ``damping`` and ``stiffness`` act on each of its speeds and coordinates; the spring is free where our
    coordinate is ``rest``. The file's coordinate is ours plus ``offset``. ``armature`` is added to the
    diagonal of the mass matrix.
    """

    name: str
    kind: str
    element: Element
    axis: np.ndarray = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    anchor: np.ndarray = field(default_factory=lambda: np.zeros(3))
    damping: float = 0.0
    stiffness: float = 0.0
    rest: float = 0.0
    offset: float = 0.0
    armature: float = 0.0
    limits: tuple[float, float] | None = None  # of our coordinate


@dataclass
class RobotLink:
    """A link at ``place`` in its parent's axes, turned by ``rotation``, moved by its joints in order."""

    name: str
    parent: str | None
    element: Element
    place: np.ndarray = field(default_factory=lambda: np.zeros(3))
    rotation: np.ndarray = field(default_factory=lambda: np.eye(3))
    joints: list[RobotFreedom] = field(default_factory=list)
    inertial: Inertial = field(default_factory=Inertial)
    points: dict[str, np.ndarray] = field(default_factory=dict)
    visuals: list[Visual] = field(default_factory=list)


SINGLE = (HINGE, SLIDE)


class Builder:
    """A system under construction, with its record of names and notes."""

    def __init__(self, system: Description, record: Imported) -> None:
        self.system = system
        self.record = record
        self.links: dict[str, Body] = {}
        self.shifts: dict[str, np.ndarray] = {}  # from the link's origin to the body's, in link axes
        self.moved: dict[str, Body] = {}  # the body that a joint moves
        self.freedoms: dict[str, RobotFreedom] = {}
        self._counts: dict[tuple[str, str], int] = {}  # last number added to a legal name
        system.imported = record

    # ------------------------------------------------------------ names

    def name(self, wanted: str) -> str:
        """Return a legal and free name, as close to the file's as possible."""
        return self._legal(wanted, "", self._is_new)

    def _legal(self, wanted: str, owner: str, is_new: Callable[[str], bool]) -> str:
        clean = re.sub(r"\W", "_", wanted, flags=re.ASCII)[:60] or "unnamed"
        clean = f"_{clean}" if clean[0].isdigit() else clean
        count = self._counts.get((owner, clean), 1)
        while not is_new(trial := clean if count == 1 else f"{clean}_{count}"):
            count += 1
        self._counts[owner, clean] = count
        return trial

    def _is_new(self, name: str) -> bool:
        try:
            check_new_name(self.system, name, "import")
        except ModelError:
            return False
        return True

    # ------------------------------------------------------------ bodies

    def add(self, link: RobotLink) -> Body:
        """Add the body of a link, and a massless body for each of its joints except the last."""
        if link.name in self.links:
            link.element.fail(f"the name '{link.name}' is taken by another; names must be unique")
        parent = self.system.ground if link.parent is None else self.links[link.parent]
        place = link.place - (0.0 if link.parent is None else self.shifts[link.parent])
        rotation, anchor = link.rotation, np.zeros(3)
        name = self.name(link.name)
        if not link.joints:
            body = self._body(name, parent, Fixed(), place, rotation, link, anchor)
        for joint in link.joints:
            carried = link if joint is link.joints[-1] else None
            label = name if carried else self.name(f"{name}_{joint.name}")
            parent = body = self._joint(label, parent, joint, place, rotation, anchor, carried)
            anchor = self._anchor(joint, anchor)
            place, rotation = np.zeros(3), np.eye(3)
        self.links[link.name], self.shifts[link.name] = body, anchor
        self.record.bodies[link.name] = body.name
        for label, where in link.points.items():
            self.named_point(link.name, label, where)
        self.show(link.name, link.visuals)
        return body

    def show(self, link: str, visuals: Sequence[Visual]) -> None:
        """Add the visuals of a link as shapes of its body."""
        body = self.links[link]
        for visual in visuals:
            at, R = float_triple(visual.place - self.shifts[link]), visual.rotation
            orient = None if is_identity(R) else R.tolist()
            name = self._legal(f"{body.name}_shape", "shapes", lambda name: name not in self.system.shapes)
            self.system.shape(
                name, visual.figure, body=body, at=at, orient=orient, colour=visual.colour,
                opacity=visual.opacity,
            )  # fmt: skip

    @staticmethod
    def _anchor(joint: RobotFreedom, before: np.ndarray) -> np.ndarray:
        return before if joint.kind == SLIDE else joint.anchor

    def _joint(
        self,
        name: str,
        parent: Body,
        joint: RobotFreedom,
        place: np.ndarray,
        rotation: np.ndarray,
        before: np.ndarray,
        link: RobotLink | None,
    ) -> Body:
        """Return the body of one joint, which carries the mass of ``link`` if it is the last joint.

        ``place`` and ``rotation`` lead from the parent's to the link's axes; ``before`` is the anchor of the
        preceding joint.
        """
        if joint.name in self.moved:
            joint.element.fail(f"the name '{joint.name}' is taken by another joint; names must be unique")
        anchor = self._anchor(joint, before)
        at = place + rotation @ (anchor - before)
        kind: JointType
        if joint.kind in SINGLE:
            axis = _axis_letter(float_triple(tidy(rotation @ joint.axis)))
            kind = Revolute(axis) if joint.kind == HINGE else Prismatic(axis)
        else:
            # In Armillary a joint turns before the body's fixed orientation, in the files after it. So a body
            # with that orientation comes before the joint.
            if not is_identity(rotation):
                parent = self._body(self.name(f"{name}_base"), parent, Fixed(), at, rotation, None, anchor)
                at, rotation = np.zeros(3), np.eye(3)
            kind = {
                BALL: Spherical(),
                FREE: Free(),
                PLANE: Planar(_axis_letter(float_triple(joint.axis))),
            }[joint.kind]
        body = self._body(name, parent, kind, at, rotation, link, anchor)
        self.moved[joint.name], self.freedoms[joint.name] = body, joint
        self.record.joints[joint.name] = tuple(str(q) for q in body.coordinates)
        return body

    def _body(
        self,
        name: str,
        parent: Body,
        joint: JointType,
        at: np.ndarray,
        rotation: np.ndarray,
        link: RobotLink | None,
        anchor: np.ndarray,
    ) -> Body:
        orient = None if is_identity(rotation) else rotation.tolist()
        given: DataTable = {"mass": 0, "inertia": 0}
        if link is not None and (link.inertial.mass or link.inertial.inertia.any()):
            inertia = link.inertial.inertia
            six = [inertia[i, j] for i, j in SIX]
            given = {
                "mass": link.inertial.mass,
                "inertia": [float(x) for x in (six if any(six[3:]) else six[:3])],
                "com": float_triple(link.inertial.com - anchor),
                "check_inertia": False,
            }
            if problem := inertia_fault(inertia):
                self.record.note(f"no body can have the inertia of '{link.name}' ({problem}); it is kept")
        return make_body(self.system, name, parent, joint, at=float_triple(at), orient=orient, **given)

    def named_point(self, link: str, label: str, where: np.ndarray) -> None:
        """Add a point that has a name in the file."""
        point = self.point(link, label, where)
        self.record.points[label] = f"{point.body.name}.{point.name}"

    def point(self, link: str, label: str, where: np.ndarray) -> Point:
        """Add a point of a link, by its place from the link's origin."""
        body = self.links[link]
        taken = {*body.points, *vars(body)}

        def is_new(name: str) -> bool:
            # Attributes of the class Body cannot be names of points, either.
            return name not in taken and not re.fullmatch(r"[qu]\d+", name) and not hasattr(Body, name)

        name = self._legal(label, body.name, is_new)
        return body.point(name, float_triple(where - self.shifts[link]))

    def parameter(self, name: str, value: float, units: str, about: str) -> Expr:
        """Add a parameter of the file, under a free name."""
        return parameter(self.system, self.name(name), value, units=units, about=about)


def add_gravity(builder: Builder, vector: np.ndarray) -> None:
    """Add uniform gravity with the parameter ``g``; nothing if it is zero."""
    strength = float(np.linalg.norm(vector))
    if strength:
        g = builder.parameter("g", strength, "m/s^2", "gravity")
        gravity(builder.system, g, builder.system.ground.frame.vector([float(x) for x in vector / strength]))


def inertia_fault(inertia: np.ndarray) -> str:
    """Return the fault of an inertia; "" if a body can have it."""
    low, middle, high = np.linalg.eigvalsh(inertia)
    if low < -1e-9 * abs(high):
        return f"a principal moment is {low:.3g}"
    if low + middle < high * (1 - 1e-9):
        return f"{low:.4g} + {middle:.4g} < {high:.4g}"
    return ""


def float_triple(values: Given) -> tuple[float, float, float]:
    x, y, z = (float(v) + 0.0 for v in values)
    return x, y, z


def _axis_letter(axis: tuple[float, ...]) -> Given:
    """Return the letter of an axis that is x, y or z; any other axis unchanged."""
    for letter, row in zip("xyz", np.eye(3).tolist(), strict=True):
        if list(axis) == row:
            return letter
    return axis


_STOPS = ("stiffness", "damping", "exponent")


def finish_joints(builder: Builder, stops: Mapping[str, float] | None) -> None:
    """Add the springs, dampers, armatures and limits of all joints."""
    limited: list[str] = []
    if stops is not None:
        stops = _known_stops(stops)
    for name, joint in builder.freedoms.items():
        with joint.element.locate_errors():
            if joint.damping or joint.stiffness:
                _add_spring_and_damper(builder, name, joint)
            if joint.armature:
                _add_armature(builder, name, joint)
            if joint.limits is None:
                continue
            low, high = joint.limits
            if joint.kind not in SINGLE:
                limited.append(name)
            elif stops is None or low >= high:
                limited.append(f"{name} [{low + joint.offset:.4g}, {high + joint.offset:.4g}]")
            else:
                _add_stop(builder, name, low, high, stops)
    if limited:
        hint = " (stops= makes them)" if stops is None else ""
        builder.record.note(f"limits of joints are left out{hint}: {listed(limited, 10)}")


def units_of(joint: RobotFreedom) -> tuple[str, str]:
    """Return the units of effort and coordinate: N and m for a slider, N*m and rad for other joints."""
    return ("N", "m") if joint.kind == SLIDE else ("N*m", "rad")


def load_joint(
    builder: Builder, name: str, joint: str, values: Sequence[Given], *, in_parent: bool = False
) -> None:
    """Add a load in a joint for each of its speeds: a force along, or a moment about, the axis of the speed.

    Forces on a free body are along the axes of its parent. All other loads are along the body's own axes, or
    along its parent's if ``in_parent`` is true.
    """
    freedom, body = builder.freedoms[joint], builder.moved[joint]
    assert body.parent is not None
    triad = list(np.eye(3))
    turning = {HINGE: [freedom.axis], BALL: triad, FREE: triad}.get(freedom.kind, [])
    sliding = {SLIDE: [freedom.axis], FREE: triad}.get(freedom.kind, [])
    axes = [(False, axis) for axis in sliding] + [(True, axis) for axis in turning]
    for i, ((turns, axis), value) in enumerate(zip(axes, values, strict=True), start=1):
        if isinstance(value, int | float) and value == 0:
            continue
        label = builder.name(f"{name}{i if len(axes) > 1 else ''}")
        outer = in_parent or (freedom.kind == FREE and not turns)
        direction = (body.parent if outer else body).frame.vector(float_triple(axis))
        if turns:
            moment(builder.system, label, value, direction, on=body, reaction=body.parent)
        else:
            force(builder.system, label, value, direction, at=body.origin, reaction=body.parent)


def _add_spring_and_damper(builder: Builder, name: str, joint: RobotFreedom) -> None:
    """Add a load −k (q − rest) − d u on each speed."""
    body = builder.moved[name]
    values: list[Given] = [0] * len(body.speeds)
    effort, unit = units_of(joint)
    if joint.damping and joint.kind == FREE:
        builder.record.note(f"damping of the free joint '{name}' is left out")
    elif joint.damping:
        about = f"damping in joint {name}"
        d = builder.parameter(f"damping_{name}", joint.damping, f"{effort}*s/{unit}", about)
        values = [-d * speed for speed in body.speeds]
    if joint.stiffness and joint.kind == FREE:
        builder.record.note(f"the spring of the free joint '{name}' is left out")
    elif joint.stiffness:
        about = f"spring in joint {name}"
        k = builder.parameter(f"stiffness_{name}", joint.stiffness, f"{effort}/{unit}", about)
        if joint.kind == BALL:
            stretch = rotation_vector(body.coordinates)
        elif joint.rest:
            rest = builder.parameter(f"rest_{name}", joint.rest, unit, f"rest of the {about}")
            stretch = [body.coordinates[0] - rest]
        else:
            stretch = [body.coordinates[0]]
        values = [value - k * x for value, x in zip(values, stretch, strict=True)]
    load_joint(builder, f"passive_{name}", name, values)


def rotation_vector(e: Sequence[Expr]) -> list[Expr]:
    """Return the angle times axis of a rotation by Euler parameters, the shorter way round."""
    e0, *rest = e
    sine = fn.named(fn.sqrt(sum(x * x for x in rest)), "half_sine")
    angle = 2 * fn.atan2(sine, fn.absolute(e0))
    factor = fn.select(sine > 1e-9, angle / fn.maximum(sine, 1e-9), 2)
    signed = fn.named(fn.select(e0 >= 0, factor, -factor), "per_half_sine")
    return [x * signed for x in rest]


def _add_armature(builder: Builder, name: str, joint: RobotFreedom) -> None:
    """Add the same inertia to each speed of the joint: kg for sliding speeds, kg m² for turning speeds."""
    about = f"armature of joint {name}"
    made: dict[str, Expr] = {}
    for speed in builder.moved[name].speeds:
        units = "kg" if speed.dimension is SPEED else "kg*m^2"
        if units not in made:
            label = f"armature_{name}" + ("_turning" if made else "")
            made[units] = builder.parameter(label, joint.armature, units, about)
        armature(builder.system, speed, made[units])


def _known_stops(stops: Mapping[str, float]) -> DataTable:
    if not isinstance(stops, Mapping) or "stiffness" not in stops:
        raise ModelError(f"stops={stops!r} is not a table such as {{'stiffness': 1e4, 'damping': 0.1}}")
    return checked_names(stops, _STOPS, "stops: there is no", ModelError, listed=True)


def _add_stop(builder: Builder, name: str, low: float, high: float, stops: DataMapping) -> None:
    q = builder.moved[name].coordinates[0]
    stop(builder.system, builder.name(f"stop_{name}"), q, lower=low, upper=high, **stops)
