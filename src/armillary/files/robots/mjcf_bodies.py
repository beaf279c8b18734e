"""The tree of an MJCF file as links: places, joints, inertias, sites.

MuJoCo's coordinates are those of the System except for ``ref``: qpos = q + ref. A body with a free joint is
placed by its coordinates alone; its pos and quat are its initial pose.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from armillary.errors import ModelError
from armillary.files.robots.mechanism import (
    BALL,
    FREE,
    HINGE,
    SLIDE,
    Inertial,
    RobotFreedom,
    RobotLink,
    Visual,
    read_direction,
    symmetric_matrix,
)
from armillary.files.robots.mjcf_geoms import Meshes, MjcfLooks, combine_inertias, geom_inertial, geom_visual
from armillary.files.robots.mjcf_settings import Defaults, Settings
from armillary.files.robots.rotations import principal_axes
from armillary.files.xml import Element, Imported

WORLD = "world"


class Site(NamedTuple):
    """A frame on a link."""

    link: str
    place: np.ndarray
    rotation: np.ndarray


@dataclass
class MjcfTree:
    """The content of all bodies of a file."""

    links: list[RobotLink] = field(default_factory=list)
    sites: dict[str, Site] = field(default_factory=dict)
    # Place and rotation of each link in the world, in the reference position.
    poses: dict[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)
    starts: dict[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)  # poses of free joints
    touching: int = 0  # number of shapes that could touch
    world: list[Visual] = field(default_factory=list)  # visuals on the ground


class _Child(NamedTuple):
    """An element of a body, with the place, rotation and class that the <frame> elements around it state."""

    element: Element
    place: np.ndarray
    rotation: np.ndarray
    childclass: str


def read_tree(
    world: Element, settings: Settings, defaults: Defaults, meshes: Meshes, looks: MjcfLooks, record: Imported
) -> MjcfTree:
    """Return all links, parents before children and in MuJoCo's order."""
    tree = MjcfTree()
    tree.poses[WORLD] = np.zeros(3), np.eye(3)
    start = _Child(world, np.zeros(3), np.eye(3), "main")
    stack: list[tuple[_Child, str | None]] = [(start, None)]
    while stack:
        body, parent = stack.pop()
        name = WORLD if parent is None else body.element.text("name", f"body{len(tree.links) + 1}")
        if parent is not None and name in tree.poses:
            body.element.fail(f"the name '{name[:60]}' is taken by another body; names must be unique")
        link = RobotLink(name, None if parent == WORLD else parent, body.element)
        if parent is not None:
            _place_link(link, body, parent, settings, tree)
        inner = _contents(link, body.childclass, settings, defaults, meshes, looks, tree, record)
        if parent is None and link.joints:
            link.joints[0].element.fail("the world cannot have a joint; put it into a <body>")
        if parent is not None:
            if not inner and _is_aligned(link, settings):
                _align(link, tree)
            _add_free_joint(link, parent, tree)
            tree.links.append(link)
        else:
            tree.world = link.visuals
        stack += [(child, name) for child in reversed(inner)]
    if settings.total_mass > 0:
        _scale(tree.links, settings.total_mass)
    return tree


def _place_link(link: RobotLink, body: _Child, parent: str, settings: Settings, tree: MjcfTree) -> None:
    own, turned = settings.place(body.element), settings.rotation(body.element)
    link.place, link.rotation = body.place + body.rotation @ own, body.rotation @ turned
    where, R = tree.poses[parent]
    tree.poses[link.name] = where + R @ link.place, R @ link.rotation


def _add_free_joint(link: RobotLink, parent: str, tree: MjcfTree) -> None:
    free = [joint for joint in link.joints if joint.kind == FREE]
    if not free:
        return
    if len(link.joints) > 1 or parent != WORLD:
        free[0].element.fail("a free joint must be the only joint of its body, which must be in the world")
    tree.starts[free[0].name] = link.place, link.rotation
    link.place, link.rotation = np.zeros(3), np.eye(3)


def _is_aligned(link: RobotLink, settings: Settings) -> bool:
    """Return whether the frame of a free body is moved to its mass centre and principal axes.

    The caller has made sure that the body carries no other bodies.
    """
    if len(link.joints) != 1 or link.joints[0].kind != FREE or not link.inertial.mass:
        return False
    word = link.joints[0].element.choice("align", ("true", "false", "auto"), "auto")
    return word == "true" or (word == "auto" and settings.align_free)


def _align(link: RobotLink, tree: MjcfTree) -> None:
    """Move the link's origin to its mass centre and principal axes; everything on it keeps its place."""
    part = link.inertial
    R = principal_axes(part.inertia) if part.axes is None else part.axes
    link.place, link.rotation = link.place + link.rotation @ part.com, link.rotation @ R
    tree.poses[link.name] = link.place, link.rotation
    link.inertial = Inertial(part.mass, np.zeros(3), np.diag(np.diag(R.T @ part.inertia @ R)))
    link.points = {name: R.T @ (where - part.com) for name, where in link.points.items()}
    link.visuals = [visual.move_to(part.com, R) for visual in link.visuals]
    for name, site in tree.sites.items():
        if site.link == link.name:
            tree.sites[name] = Site(link.name, R.T @ (site.place - part.com), R.T @ site.rotation)


def _contents(
    link: RobotLink,
    childclass: str,
    settings: Settings,
    defaults: Defaults,
    meshes: Meshes,
    looks: MjcfLooks,
    tree: MjcfTree,
    record: Imported,
) -> list[_Child]:
    """Read the joints, inertia and points of a body into its link; return the bodies on it."""
    inner: list[_Child] = []
    geoms: list[_Child] = []
    stated_inertia: Inertial | None = None
    for child in _iterate_elements(link.element, childclass, settings, defaults):
        element = child.element
        if element.tag == "body":
            name = element.text("childclass", child.childclass)
            inner.append(child._replace(childclass=defaults.check_class(element, name)))
        elif element.tag in ("joint", "freejoint"):
            if not np.array_equal(child.rotation, np.eye(3)) or child.place.any():
                element.fail("a joint in a <frame> that moves it; put the joint beside the frame")
            count = sum(len(other.joints) for other in tree.links) + len(link.joints) + 1
            link.joints.append(_joint(element, child.childclass, settings, defaults, record, count))
        elif element.tag == "inertial":
            stated_inertia = _inertial(element, settings)
        elif element.tag == "geom":
            geoms.append(child)
        elif element.tag == "site":
            defaults.apply(element, child.childclass)
            place = child.place + child.rotation @ settings.place(element)
            if name := element.text("name", ""):
                tree.sites[name] = Site(link.name, place, child.rotation @ settings.rotation(element))
                link.points[name] = place
            element.take_whole()
    found = [_geom(geom, settings, defaults, meshes, tree, record, link, stated_inertia) for geom in geoms]
    link.visuals = [v for geom in geoms if (v := _visual(geom, settings, looks, link, record)) is not None]
    if stated_inertia is None or settings.from_geoms == "true":
        if settings.from_geoms != "false":
            link.inertial = combine_inertias(part for part in found if part is not None)
    else:
        link.inertial = stated_inertia
    return inner


def _iterate_elements(
    body: Element, childclass: str, settings: Settings, defaults: Defaults
) -> Iterator[_Child]:
    """Yield the elements of a body in order, also those inside its <frame> elements."""
    stack = [_Child(body, np.zeros(3), np.eye(3), childclass)]
    while stack:
        outer = stack.pop()
        if outer.element is not body and outer.element.tag != "frame":
            yield outer
            continue
        place, R, name = outer.place, outer.rotation, outer.childclass
        if outer.element is not body:
            place, R = place + R @ settings.place(outer.element), R @ settings.rotation(outer.element)
            outer.element.read.add("name")
            name = defaults.check_class(outer.element, outer.element.text("childclass", name))
        known = outer.element.all("body", "joint", "freejoint", "inertial", "geom", "site", "frame")
        stack += [_Child(child, place, R, name) for child in reversed(known)]


def _geom(
    child: _Child,
    settings: Settings,
    defaults: Defaults,
    meshes: Meshes,
    tree: MjcfTree,
    record: Imported,
    link: RobotLink,
    given: Inertial | None,
) -> Inertial | None:
    """Return the inertia of a shape if its body needs it; count the shape if it could touch others."""
    geom = defaults.apply(child.element, child.childclass)
    touches = geom.number("contype", 1.0) or geom.number("conaffinity", 1.0)
    tree.touching += bool(touches)
    needed = link.name != WORLD and (given is None or settings.from_geoms == "true")
    needed = needed and settings.from_geoms != "false"
    found = geom_inertial(geom, settings, meshes, child.place, child.rotation) if needed else None
    kind = geom.text("type", "sphere")
    if needed and kind in ("hfield", "sdf"):
        record.note(f"the mass of a {kind} on body '{link.name}' is left out; give the body an <inertial>")
    if needed and geom.has("shellinertia"):
        record.note(f"'shellinertia' on body '{link.name}' is left out: shapes are solid")
    if geom.text("fluidshape", "none") != "none":
        record.note("forces of a fluid on shapes are left out")
    geom.take_whole()
    return found


def _visual(
    child: _Child, settings: Settings, looks: MjcfLooks, link: RobotLink, record: Imported
) -> Visual | None:
    try:
        return geom_visual(child.element, settings, looks, child.place, child.rotation)
    except (ModelError, ValueError) as error:
        record.remark(f"a shape of body '{link.name}' is not shown in pictures: {error}")
        return None


def _inertial(element: Element, settings: Settings) -> Inertial:
    mass = element.number("mass", least=0.0)
    R = settings.rotation(element)
    if element.has("fullinertia"):
        own = symmetric_matrix(element.numbers("fullinertia", 6))
    else:
        own = np.diag(element.numbers("diaginertia", 3, [0, 0, 0]))
    diagonal = not element.has("fullinertia")
    return Inertial.from_axes(mass, settings.place(element), own, R, diagonal=diagonal)


def _joint(
    element: Element, childclass: str, settings: Settings, defaults: Defaults, record: Imported, count: int
) -> RobotFreedom:
    if element.tag == "freejoint":
        element.read.update(("align", "group"))
        return RobotFreedom(element.text("name", f"joint{count}"), FREE, element)
    defaults.apply(element, childclass)
    kind = element.choice("type", (HINGE, SLIDE, BALL, FREE), HINGE)
    joint = RobotFreedom(element.text("name", f"joint{count}"), kind, element)
    if kind in (HINGE, SLIDE):
        joint.axis = read_direction(element, "axis", [0, 0, 1])
    if kind in (HINGE, BALL):
        joint.anchor = settings.place(element)
    element.read.update(("axis", "pos", "align"))
    scale = settings.angle if kind in (HINGE, BALL) else 1.0
    joint.stiffness = _first(element, "stiffness", joint.name, record)
    joint.damping = _first(element, "damping", joint.name, record)
    joint.armature = element.number("armature", 0.0, least=0.0)
    rest = element.number("springref", 0.0)
    offset = element.number("ref", 0.0)
    if kind in (HINGE, SLIDE):
        joint.offset = offset * scale
        joint.rest = (rest - offset) * scale
    if settings.has_limits(element, "range", "limited") and kind != FREE:
        low, high = element.numbers("range", 2, [0, 0])
        joint.limits = low * scale - joint.offset, high * scale - joint.offset
        if low > high:
            element.fail("its range ends before it begins")
    element.read.add("range")
    if element.number("frictionloss", 0.0):
        record.note(f"dry friction of joint '{joint.name}' is left out (add it with System.brake)")
    return joint


def _first(element: Element, key: str, joint: str, record: Imported) -> float:
    """Return a coefficient; leave out higher powers, which newer files may have."""
    values = element.numbers(key, (1, 3), [0.0])
    if any(values[1:]):
        record.note(f"{key} of joint '{joint}' is taken as linear; its higher powers are left out")
    return values[0]


def _scale(links: list[RobotLink], total: float) -> None:
    mass = sum(link.inertial.mass for link in links)
    for link in links:
        if mass > 0:
            part = link.inertial
            scaled = part.inertia * (total / mass)
            link.inertial = Inertial(part.mass * total / mass, part.com, scaled, part.axes)
