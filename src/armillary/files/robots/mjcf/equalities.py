"""Equality constraints of an MJCF file: rigid here, where MuJoCo's are stiff springs."""

from __future__ import annotations

import numpy as np

from armillary.files.robots.building import SINGLE, Builder, triple
from armillary.files.robots.joint_loads import units_of
from armillary.files.robots.mjcf.bodies import WORLD, MjcfTree
from armillary.files.robots.mjcf.settings import Defaults
from armillary.files.robots.rotations import is_identity, quaternion, tidy
from armillary.files.xml import Element
from armillary.model.bodies.bodies import body as make_body
from armillary.model.bodies.body import Point
from armillary.model.constraints import constrain
from armillary.model.joints import Fixed
from armillary.model.loops import close_joint, close_loop
from armillary.untyped import Given


def add_equalities(builder: Builder, section: list[Element], tree: MjcfTree, defaults: Defaults) -> None:
    """Constraints for <connect>, <weld> and <joint>."""
    kinds = {"connect": _connect, "weld": _weld, "joint": _joint}
    count = 0
    for element in (child for part in section for child in part.all(*kinds)):
        count += 1
        shared = defaults.classes[defaults.of(element, "main")].get("equality", {})
        element.attributes = {**shared, **element.attributes}
        name = element.text("name", f"{element.tag} {count}")
        if not element.flag("active", True):
            element.take_whole()
            continue
        with element.located():
            kinds[element.tag](builder, element, name, tree)
        builder.record.note("equality constraints are rigid, not springs: solref and solimp are left out")
        for key in ("solref", "solimp", "class", "torquescale", "anchor", "body2"):
            element.read.add(key)


def _connect(builder: Builder, element: Element, name: str, tree: MjcfTree) -> None:
    """Two points that stay together: a site of each body, or the one point in which they meet at rest."""
    if element.has("site1"):
        ends = [_site_point(builder, element, key, tree) for key in ("site1", "site2")]
    else:
        first, second = _two(element, tree)
        anchor = np.array(element.numbers("anchor", 3))
        where, R = tree.poses[first]
        other, Q = tree.poses[second]
        meeting = Q.T @ (where + R @ anchor - other)
        ends = [
            builder.point(first, f"{name}_1", anchor),
            builder.point(second, f"{name}_2", tidy(meeting)),
        ]
    close_loop(builder.system, ends[0], ends[1], name=name)


def _weld(builder: Builder, element: Element, name: str, tree: MjcfTree) -> None:
    """Two frames that stay one: of the first body, at the second's place in it, and of the second."""
    if element.has("site1"):
        sites = [_site(element, key, tree) for key in ("site1", "site2")]
        first, second = sites[0].link, sites[1].link
        place, R = sites[0].place, sites[0].rotation
        there, Q = sites[1].place, sites[1].rotation
    else:
        first, second = _two(element, tree)
        there, Q = np.zeros(3), np.eye(3)
        pose = element.numbers("relpose", 7, [0, 1, 0, 0, 0, 0, 0])
        if any(pose[3:]):
            place, R = np.array(pose[:3]), quaternion(pose[3:])
        else:
            (a, A), (b, B) = tree.poses[first], tree.poses[second]
            place, R = A.T @ (b - a), A.T @ B
    ends = [
        _frame(builder, first, f"{name}_1", tidy(place), tidy(R)),
        _frame(builder, second, f"{name}_2", there, Q),
    ]
    close_joint(builder.system, "fixed", *ends, name=name)


def _joint(builder: Builder, element: Element, name: str, tree: MjcfTree) -> None:
    """q₁ = c₀ + c₁ q₂ + c₂ q₂² + … of coordinates counted from rest."""
    names = [element.text(key) for key in ("joint1", "joint2") if element.has(key)]
    for target in names:
        if target not in builder.freedoms or builder.freedoms[target].kind not in SINGLE:
            element.fail(f"there is no hinge or slider '{target[:60]}'")
    if not element.has("joint1"):
        element.fail("its attribute 'joint1' is missing")
    if names[0] == names[-1] and len(names) > 1:
        element.fail("a joint cannot follow itself")
    own = builder.moved[names[0]]
    coefficients = element.numbers("polycoef", (1, 5), [0, 1, 0, 0, 0])
    units = [units_of(builder.freedoms[target])[1] for target in names]
    value: Given = own.q1
    for power, c in enumerate(coefficients if len(names) > 1 else coefficients[:1]):
        if c:
            unit = units[0] if power == 0 else f"{units[0]}/{units[1]}^{power}"
            factor = builder.parameter(f"{name}_c{power}", c, unit, f"coefficient of {name}")
            value = value - (factor * builder.moved[names[1]].q1 ** power if power else factor)
    constrain(builder.system, value, name=name, eliminate=own.u1)


def _two(element: Element, tree: MjcfTree) -> tuple[str, str]:
    first, second = element.text("body1"), element.text("body2", WORLD)
    for body in (first, second):
        if body not in tree.poses:
            element.fail(f"there is no body '{body[:60]}'")
    return first, second


def _site(element: Element, key: str, tree: MjcfTree) -> Given:
    name = element.text(key)
    return tree.sites[name] if name in tree.sites else element.fail(f"there is no site '{name[:60]}'")


def _site_point(builder: Builder, element: Element, key: str, tree: MjcfTree) -> Point:
    site = _site(element, key, tree)
    return builder.point(site.link, f"{element.text(key)}_{key}", site.place)


def _frame(builder: Builder, link: str, label: str, place: np.ndarray, R: np.ndarray) -> Point:
    """A point whose body has the axes of a frame on a link: the link itself, or a body fixed to it."""
    if is_identity(R):
        return builder.point(link, label, place)
    at, orient = triple(place - builder.shifts[link]), R.tolist()
    name = builder.name(label)
    body = make_body(
        builder.system, name, builder.links[link], Fixed(), at=at, orient=orient, mass=0, inertia=0
    )
    return body.origin
