"""A mechanism of links and joints as a System, in public verbs only, so that it can be saved as text.

Each joint of a link gets a body of its own, massless except for the last: loads then act on one coordinate
alone however the axes lie, and frames without mass cost no operation. A body's origin is at the anchor of its
last joint.

    R_parent,link(q) = R J₁(q₁) J₂(q₂) …        J = turn about, or slide along, an axis of the link

Springs, dampers, limits and drives of joints are in ``joint_loads.py``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from armillary.algebra.expression import Expr
from armillary.algebra.triples import SIX
from armillary.errors import ModelError
from armillary.files.robots.import_notes import Imported
from armillary.files.robots.rotations import is_identity, tidy
from armillary.files.robots.tree import BALL, FREE, HINGE, PLANE, SLIDE, RobotFreedom, RobotLink
from armillary.files.robots.visuals import Visual
from armillary.model.bodies.bodies import body as make_body
from armillary.model.bodies.body import Body, Point
from armillary.model.description import Description
from armillary.model.joints import Fixed, Free, JointType, Planar, Prismatic, Revolute, Spherical
from armillary.model.loads.forces import gravity
from armillary.model.reading.names import check_new_name, parameter
from armillary.untyped import DataTable, Given

SINGLE = (HINGE, SLIDE)


class Builder:
    """A system under construction, with its record of names and notes."""

    def __init__(self, system: Description, record: Imported) -> None:
        self.system = system
        self.record = record
        self.links: dict[str, Body] = {}
        self.shifts: dict[str, np.ndarray] = {}  # from a link's origin to its body's, in its axes
        self.moved: dict[str, Body] = {}  # the body that a joint moves
        self.freedoms: dict[str, RobotFreedom] = {}
        self._counts: dict[tuple[str, str], int] = {}  # of names that became the same
        system.imported = record

    # ------------------------------------------------------------ names

    def name(self, wanted: str) -> str:
        """A legal name, not taken, as close to the file's as may be."""
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
        """The body of a link, and those of its joints but the last."""
        if link.name in self.links:
            link.element.fail(f"the name '{link.name}' is taken by another; names are given once")
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
        """Visuals of a link as shapes of its body."""
        body = self.links[link]
        for visual in visuals:
            at, R = triple(visual.place - self.shifts[link]), visual.rotation
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
        """The body of one joint, which carries the mass of ``link`` where it is the last.

        ``place`` and ``rotation`` lead from the parent to the link's axes, ``before`` is the anchor of the
        joint before.
        """
        if joint.name in self.moved:
            joint.element.fail(f"the name '{joint.name}' is taken by another joint; names are given once")
        anchor = self._anchor(joint, before)
        at = place + rotation @ (anchor - before)
        kind: JointType
        if joint.kind in SINGLE:
            axis = _letter(triple(tidy(rotation @ joint.axis)))
            kind = Revolute(axis) if joint.kind == HINGE else Prismatic(axis)
        else:
            # Our joints turn before a body's own orientation, the file's after it: a frame in between.
            if not is_identity(rotation):
                parent = self._body(self.name(f"{name}_base"), parent, Fixed(), at, rotation, None, anchor)
                at, rotation = np.zeros(3), np.eye(3)
            kind = {
                BALL: Spherical(),
                FREE: Free(),
                PLANE: Planar(_letter(triple(joint.axis))),
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
                "com": triple(link.inertial.com - anchor),
                "check_inertia": False,
            }
            if problem := impossible(inertia):
                self.record.note(f"the inertia of '{link.name}' is that of no body ({problem}); kept")
        return make_body(self.system, name, parent, joint, at=triple(at), orient=orient, **given)

    def named_point(self, link: str, label: str, where: np.ndarray) -> None:
        """A point that has its name in the file."""
        point = self.point(link, label, where)
        self.record.points[label] = f"{point.body.name}.{point.name}"

    def point(self, link: str, label: str, where: np.ndarray) -> Point:
        """A point of a link, by its place from the link's origin."""
        body = self.links[link]
        taken = {*body.points, *vars(body)}

        def is_new(name: str) -> bool:
            # Names of the class of bodies are taken, too.
            return name not in taken and not re.fullmatch(r"[qu]\d+", name) and not hasattr(Body, name)

        name = self._legal(label, body.name, is_new)
        return body.point(name, triple(where - self.shifts[link]))

    def parameter(self, name: str, value: float, units: str, about: str) -> Expr:
        """A parameter of the file, under a free name."""
        return parameter(self.system, self.name(name), value, units=units, about=about)


def add_gravity(builder: Builder, vector: np.ndarray) -> None:
    """Uniform gravity, its strength a parameter ``g``; none where it is zero."""
    strength = float(np.linalg.norm(vector))
    if strength:
        g = builder.parameter("g", strength, "m/s^2", "gravity")
        gravity(builder.system, g, builder.system.ground.frame.vector([float(x) for x in vector / strength]))


def impossible(inertia: np.ndarray) -> str:
    """The error in an inertia; empty where a body can have it."""
    low, middle, high = np.linalg.eigvalsh(inertia)
    if low < -1e-9 * abs(high):
        return f"a principal moment is {low:.3g}"
    if low + middle < high * (1 - 1e-9):
        return f"{low:.4g} + {middle:.4g} < {high:.4g}"
    return ""


def triple(values: Given) -> tuple[float, float, float]:
    x, y, z = (float(v) + 0.0 for v in values)
    return x, y, z


def _letter(axis: tuple[float, ...]) -> Given:
    """A coordinate axis by its letter."""
    for letter, row in zip("xyz", np.eye(3).tolist(), strict=True):
        if list(axis) == row:
            return letter
    return axis
