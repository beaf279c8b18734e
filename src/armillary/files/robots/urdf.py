"""URDF robots: links, joints, inertias, damping and mimics; torques in the joints are inputs.

A link's frame is its body's frame, and a joint's coordinate has URDF's sign and zero. Visuals are solids and
meshes with the colours and textures of materials. Elements that were left out and may change the motion are
listed in ``system.imported.notes``.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from armillary.algebra.arguments import file_path, flag
from armillary.errors import ModelError
from armillary.files.robots.mechanism import (
    FREE,
    HINGE,
    PLANE,
    SINGLE,
    SLIDE,
    Builder,
    Inertial,
    RobotFreedom,
    RobotLink,
    Visual,
    add_gravity,
    finish_joints,
    load_joint,
    make_visual,
    mesh_file,
    read_direction,
    symmetric_matrix,
    textures_left_out,
    units_of,
)
from armillary.files.robots.rotations import (
    keep_written_angles,
    read_angles,
    roll_pitch_yaw,
    snapped_angles,
)
from armillary.files.xml import Element, Imported, note_left_out, read_xml
from armillary.model import signals
from armillary.model.bodies.figures import Box, Capsule, Cylinder, Figure, Mesh, Sphere
from armillary.model.constraints import constrain
from armillary.model.description import SystemType
from armillary.text_tables import listed
from armillary.untyped import Given


class UrdfLooks:
    """The materials of a file, the path of the file, and the root folder of its meshes."""

    def __init__(self, robot: Element, file: Path, root: Path | None) -> None:
        self.file, self.root = file, root
        self.materials: dict[str, Element] = {}
        self.shown: set[str] = set()  # textures that meshes show
        named = [*robot.all("material"), *(m for m in _inner(robot) if m.children)]
        for element in reversed(named):  # the first material of a name is used
            self.materials[element.attributes.get("name", "")] = element

    @property
    def left_out(self) -> list[str]:
        """Texture files of materials that no mesh shows."""
        used = [t for m in self.materials.values() for t in m.children if t.tag == "texture"]
        names = [texture.attributes.get("filename", "") for texture in used]
        return [name for name in names if name not in self.shown]

    def of(self, link: Element, record: Imported) -> list[Visual]:
        """Return the visuals of a link; add a remark for each that cannot be shown."""
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
        found = make_visual(figure, place, rotation, self._rgba(element))
        textured = isinstance(figure, Mesh) and figure.texture  # the texture replaces the colour
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
    """Return the materials inside visuals, which other visuals may name."""
    visuals = [v for link in robot.children if link.tag == "link" for v in link.children if v.tag == "visual"]
    return [m for v in visuals for m in v.children if m.tag == "material"]


KINDS = {
    "revolute": HINGE,
    "continuous": HINGE,
    "prismatic": SLIDE,
    "floating": FREE,
    "planar": PLANE,
    "fixed": None,
}
TORQUES = ("auto", "all", "none")
# Elements and attributes without effect on motion: for appearance and for other software.
NO_EFFECT = {
    "visual", "collision", "material", "color", "texture", "gazebo", "calibration", "sensor", "version",
    "type", "contact", "safety_controller", "hardwareInterface", "group",
}  # fmt: skip


def load_urdf(
    path: str | os.PathLike[str],
    make: type[SystemType],
    *,
    floating: bool = False,
    gravity: float | Sequence[float] = 9.81,
    torques: str = "auto",
    stops: Mapping[str, float] | None = None,
    strict: bool = False,
    exact_angles: bool = False,
    root: str | os.PathLike[str] | None = None,
) -> SystemType:
    """Return a system from a URDF file. Each element that is not read and may change the motion gives a
    warning; with ``strict`` it raises an error.

    ``floating`` leaves the root link free instead of fixed to the ground. ``gravity`` in m/s² is downwards
    along −z, or has three components. ``torques`` states which joints get an input ``tau_joint``: "auto"
    (joints with a transmission, or all if the file has none), "all" or "none". ``stops`` turns limits into
    bump stops, e.g. ``{"stiffness": 1e4, "damping": 0.1}``, as in ``System.stop``. An rpy of 1.5708 is read
    as π/2; with ``exact_angles`` it is read as written, as in other programs. Visuals become shapes; ``root``
    is the folder that holds the meshes, and the packages of ``package://`` paths.
    """
    if torques not in TORQUES:
        raise ModelError(f"load_urdf: torques={torques!r} is not one of {', '.join(TORQUES)}")
    floating = flag(floating, "load_urdf: floating=", ModelError)
    strict = flag(strict, "load_urdf: strict=", ModelError)
    top = None if root is None else file_path(root, "root of load_urdf", ModelError)
    robot = read_xml(path)
    if robot.tag != "robot":
        robot.fail("a URDF file has the root <robot>" + _hint(robot))
    if macros := [child for child in robot.children if child.tag.startswith("xacro:")]:
        macros[0].fail("this is a xacro file, a program that writes URDF; run xacro and load its output")
    robot.taken = True
    if flag(exact_angles, "load_urdf: exact_angles=", ModelError):
        keep_written_angles(robot)
    system = make(robot.text("name", "") or "robot")
    builder = Builder(system, Imported(str(path), "URDF", notes=list(robot.remarks)))
    _add_gravity(builder, gravity)
    joints = {j.text("name"): j for j in robot.all("joint")}
    looks = UrdfLooks(robot, Path(path), top)
    for link in _links(robot, joints, floating):
        with link.element.locate_errors():
            link.visuals = looks.of(link.element, builder.record)
            builder.add(link)
    builder.record.remark(textures_left_out(looks.left_out))
    _mimics(builder, joints)
    finish_joints(builder, stops)
    _torques(builder, robot, joints, torques)
    _notes(builder, robot, joints)
    builder.record.warn(strict=strict)
    return system


def _hint(root: Element) -> str:
    if root.tag == "mujoco":
        return "; this is MJCF: load_mjcf reads it"
    return f", not <{root.tag[:40]}>"


def _add_gravity(builder: Builder, gravity: Given) -> None:
    given = [0.0, 0.0, -float(gravity)] if isinstance(gravity, int | float) else gravity
    try:
        vector = np.array([float(x) for x in given])
    except (TypeError, ValueError):
        vector = np.array([math.nan])
    if vector.shape != (3,) or not np.isfinite(vector).all():
        raise ModelError(f"gravity={gravity!r} is neither a number nor three, e.g. (0, 0, -9.81)")
    add_gravity(builder, vector)


# ---------------------------------------------------------------- links and joints


def _links(root: Element, joints: Mapping[str, Element], floating: bool) -> list[RobotLink]:
    """Return the links, parents before children."""
    elements: dict[str, Element] = {}
    for element in root.all("link"):
        name = element.text("name")
        if name in elements:
            element.fail("a second link of this name; names must be unique")
        elements[name] = element
    if not elements:
        root.fail("a robot without a <link>")
    if len(joints) < len(root.all("joint")):
        names = [j.text("name") for j in root.all("joint")]
        twice = next(j for i, j in enumerate(root.all("joint")) if j.text("name") in names[:i])
        twice.fail("a second joint of this name; names must be unique")
    above: dict[str, Element] = {}
    below: dict[str, list[Element]] = {name: [] for name in elements}
    for joint in joints.values():
        parent, child = (_find_link(joint, word, elements) for word in ("parent", "child"))
        if child in above:
            joint.fail(f"link '{child}' has a parent already; a URDF robot has no closed loops")
        above[child] = joint
        below[parent].append(joint)
    roots = [name for name in elements if name not in above]
    if len(roots) != 1:
        what = f"several roots ({listed(roots, 10)})" if roots else "no root: its joints form a circle"
        root.fail(f"the links have {what}; a robot is one tree")
    made = [_link(roots[0], None, elements[roots[0]], None)]
    if floating:
        free = RobotFreedom("floating_base", FREE, root)
        made[0].joints.append(free)
    for link in made:  # the loop appends to the list, so that children follow their parents
        for joint in below[link.name]:
            child = joint.need("child").text("link")
            made.append(_link(child, link.name, elements[child], joint))
    if len(made) < len(elements):
        loose = next(name for name in elements if name not in {link.name for link in made})
        elements[loose].fail("not connected to the root: its joints form a circle")
    return made


def _find_link(joint: Element, word: str, links: Mapping[str, Element]) -> str:
    end = joint.need(word)
    name = end.text("link")
    if name not in links:
        end.fail(f"there is no link '{name[:60]}'")
    return name


def _link(name: str, parent: str | None, element: Element, joint: Element | None) -> RobotLink:
    link = RobotLink(name, parent, element, inertial=_inertial(element))
    if joint is not None:
        link.place, link.rotation = _origin(joint)
        if freedom := _freedom(joint):
            link.joints.append(freedom)
    return link


def _origin(element: Element) -> tuple[np.ndarray, np.ndarray]:
    """Return (xyz, rotation) of an <origin>."""
    origin = element.only("origin")
    if origin is None:
        return np.zeros(3), np.eye(3)
    return np.array(origin.numbers("xyz", 3, [0, 0, 0])), roll_pitch_yaw(
        read_angles(origin, "rpy", 3, [0.0] * 3)
    )


def _inertial(link: Element) -> Inertial:
    element = link.only("inertial")
    if element is None:
        return Inertial()
    com, R = _origin(element)
    mass = element.need("mass").number("value", least=0.0)
    inertia = element.only("inertia")
    if inertia is None:
        return Inertial(mass, com)
    six = [inertia.number(key, 0.0) for key in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")]
    return Inertial.from_axes(mass, com, symmetric_matrix(six), R)


def _freedom(joint: Element) -> RobotFreedom | None:
    kind = KINDS[joint.choice("type", tuple(KINDS))]
    if kind is None:
        for unused in joint.all("axis", "limit", "dynamics", "mimic"):  # without effect on a fixed joint
            unused.take_whole()
        return None
    freedom = RobotFreedom(joint.text("name"), kind, joint)
    if (axis := joint.only("axis")) is not None and kind != FREE:
        freedom.axis = read_direction(axis, "xyz", [1, 0, 0])
    else:
        freedom.axis = np.array([1.0, 0.0, 0.0])  # URDF's default
    if kind in SINGLE and (dynamics := joint.only("dynamics")) is not None:
        freedom.damping = dynamics.number("damping", 0.0)
    if joint.text("type") in ("revolute", "prismatic") and (limit := joint.only("limit")) is not None:
        freedom.limits = limit.number("lower", 0.0), limit.number("upper", 0.0)
        if freedom.limits[0] > freedom.limits[1]:
            limit.fail("its lower end is above its upper end")
    return freedom


# ---------------------------------------------------------------- mimics, torques, notes


def _mimics(builder: Builder, joints: Mapping[str, Element]) -> None:
    """Add the constraints of mimics, q = multiplier · q_other + offset."""
    for name, joint in joints.items():
        mimic = joint.only("mimic") if name in builder.moved else None
        if mimic is None:
            continue
        other = mimic.text("joint")
        if other not in joints:
            mimic.fail(f"joint '{name}' follows '{other[:60]}', but there is no joint of this name")
        ends = [builder.freedoms[x] for x in (name, other) if x in builder.freedoms]
        if len(ends) < 2 or other == name or any(end.kind not in SINGLE for end in ends):
            mimic.fail(f"'{other[:60]}' is not another hinge or slider to follow")
        if ends[0].kind != ends[1].kind:
            mimic.fail(f"'{other}' and '{name}' are a hinge and a slider; only joints of one kind can mimic")
        own, its = builder.moved[name], builder.moved[other]
        q = its.q1 * mimic.number("multiplier", 1.0)
        units = units_of(ends[0])[1]
        if offset := mimic.number("offset", 0.0):
            q = q + builder.parameter(f"offset_{name}", offset, units, f"offset of {name} from {other}")
        about = f"{name} follows {other}"
        with mimic.locate_errors():
            constrain(builder.system, own.q1 - q, name=f"mimic {name}", eliminate=own.u1, about=about)


def _torques(builder: Builder, root: Element, joints: Mapping[str, Element], which: str) -> None:
    """Add inputs ``tau_joint``: the torque or force of a drive on its joint.

    A transmission of a joint that does not exist is noted; Pinocchio does not read transmissions at all.
    """
    driven: list[str] = []
    for transmission in root.all("transmission"):
        for end in transmission.all("joint"):
            if end.text("name") in joints:
                driven.append(end.text("name"))
                continue
            own, its = transmission.text("name", "")[:60], end.text("name")[:60]
            builder.record.note(
                f"transmission '{own}' drives '{its}', but there is no joint of this name "
                f"({end.file}:{end.line})"
            )
    single = [name for name, freedom in builder.freedoms.items() if freedom.kind in SINGLE]
    if which == "none":
        return
    for name in single:
        chosen = name in driven if which == "auto" and driven else joints[name].only("mimic") is None
        if chosen:
            units = units_of(builder.freedoms[name])[0]
            node = signals.input(
                builder.system, builder.name(f"tau_{name}"), 0.0, units=units, about=f"drive on joint {name}"
            )
            builder.record.inputs[name] = node.name
            load_joint(builder, f"drive_{name}", name, [node])


def _notes(builder: Builder, root: Element, joints: Mapping[str, Element]) -> None:
    note = builder.record.note
    ends = [end for transmission in root.all("transmission") for end in transmission.all("actuator", "joint")]
    if any(end.all("mechanicalReduction") for end in ends):
        note("reductions of transmissions are not applied: an input tau_… is the torque on the joint itself")
    for transmission in root.all("transmission"):
        transmission.take_whole()
    for joint in joints.values():
        for limit in joint.all("limit"):  # limits of effort and velocity belong to a model of the drive
            limit.take_whole()
    friction = [n for n, j in joints.items() for e in j.all("dynamics") if e.number("friction", 0.0)]
    if friction:
        note(f"dry friction of joints is left out (add it with System.brake): {listed(friction, 10)}")
    builder.record.remark(snapped_angles(root))
    note_left_out(builder.record, root, NO_EFFECT)
