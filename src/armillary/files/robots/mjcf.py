"""MJCF models (MuJoCo's XML) as systems, with keyframes, actuators and equality constraints.

Actuators become loads in joints, or at sites, driven by inputs:

    force = gain · ctrl + b₀ + b₁ · length + b₂ · velocity        effort on speed i = gearᵢ · force
    length = Σ gearᵢ (qᵢ + refᵢ)                                  velocity = Σ gearᵢ uᵢ

A servo is a choice of these numbers: a position servo has the gain kp, b₁ = −kp and b₂ = −kv; a velocity
servo has the gain kv and b₂ = −kv. As in MuJoCo, all kinds of actuators share one set of defaults. So
``_apply`` reads the elements of all kinds into the same ActuatorDrive.

Equality constraints are rigid here, where MuJoCo's are stiff springs.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from armillary.algebra import functions as fn
from armillary.algebra.arguments import file_path, flag
from armillary.algebra.expression import Expr, number
from armillary.algebra.units import FORCE, LENGTH, MOMENT, ONE, TIME, Dimension
from armillary.errors import ModelError, nearest
from armillary.files.robots.mechanism import (
    BALL,
    FREE,
    SINGLE,
    SLIDE,
    Builder,
    add_gravity,
    finish_joints,
    float_triple,
    load_joint,
    textures_left_out,
    units_of,
)
from armillary.files.robots.mjcf_bodies import WORLD, MjcfTree, Site, read_tree
from armillary.files.robots.mjcf_geoms import Meshes, MjcfLooks
from armillary.files.robots.mjcf_settings import ACTUATORS, Defaults, Settings, merge_elements, with_includes
from armillary.files.robots.rotations import (
    is_identity,
    keep_written_angles,
    quaternion,
    snapped_angles,
    tidy,
    to_quaternion,
)
from armillary.files.xml import Element, Imported, note_left_out, read_xml
from armillary.model import signals
from armillary.model.bodies.bodies import body as make_body
from armillary.model.bodies.body import Point
from armillary.model.constraints import close_joint, close_loop, constrain, start
from armillary.model.description import SystemType
from armillary.model.joints import Fixed
from armillary.model.loads.forces import force, moment
from armillary.untyped import Given

_RANGES = {"ctrlrange": "ctrllimited", "forcerange": "forcelimited"}
_MECHANISMS = ("joint", "jointinparent", "site", "tendon", "cranksite", "body")


@dataclass
class ActuatorDrive:
    """The numbers in the formulas of an actuator."""

    gain: list[float] = field(default_factory=lambda: [1.0, 0.0, 0.0])
    bias: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])
    gain_type: str = "fixed"
    bias_type: str = "none"
    dynamics: str = "none"
    gear: list[float] = field(default_factory=lambda: [1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    control: tuple[float, float] | None = None  # limits of the input, if it is limited
    force: tuple[float, float] | None = None  # limits of the force, if it is limited
    ranges: dict[str, tuple[float, float]] = field(default_factory=dict)  # by attribute
    limited: dict[str, str] = field(default_factory=dict)  # by attribute: true, false or auto
    unknown: str = ""  # an unsupported feature, in words
    # default gains by kind: (kp, kv) of "position", (kv, 0) of "velocity"
    servos: dict[str, tuple[float, float]] = field(default_factory=dict)

    def bounds(self, key: str, element: Element, settings: Settings) -> tuple[float, float] | None:
        """Return a range if it applies: the file states this, or limits are automatic and a range is given.

        The range, and whether it applies, may come from different default classes.
        """
        low, high = self.ranges.get(key, (0.0, 0.0))
        word = self.limited.get(key, "auto")
        if word == "false" or (word == "auto" and not (settings.autolimits and low < high)):
            return None
        if low >= high:
            element.fail(
                f"{key}='{low:g} {high:g}' ends before it begins"
                if key in self.ranges
                else f"{_RANGES[key]}='true', but {key} is missing"
            )
        return low, high


def add_actuators(
    builder: Builder,
    section: list[Element],
    settings: Settings,
    defaults: Defaults,
    sites: dict[str, Site],
    *,
    clamp: bool,
) -> None:
    """Add a load and an input for each actuator; note the actuators that cannot be imported."""
    count = 0
    for element in (child for part in section for child in part.all(*ACTUATORS)):
        count += 1
        drive = ActuatorDrive()
        for level in defaults.drives[defaults.of(element, "main")]:
            for default in level:
                _apply(drive, default)
            _keep_gains(drive, level)
        _apply(drive, element)
        name = element.text("name", f"actuator{count}")
        where = [key for key in _MECHANISMS if element.has(key)]
        reason = drive.unknown or _refusal(builder, element, drive, where, sites)
        if reason:
            builder.record.note(f"actuator '{name}' is left out: {reason}")
            element.take_whole()
            continue
        with element.locate_errors():
            control = drive.bounds("ctrlrange", element, settings) if clamp else None
            force = drive.bounds("forcerange", element, settings)
            _add_actuator(
                builder, name, element, replace(drive, control=control, force=force), where[0], sites
            )
        for key in ("class", "group", "user", "name", *where):
            element.read.add(key)


def _apply(drive: ActuatorDrive, element: Element) -> None:
    """Put the numbers of one element, an actuator or a default for actuators, into a drive."""
    kind = element.tag
    if element.has("gear"):
        gear = element.numbers("gear", (1, 6))
        drive.gear = gear + drive.gear[len(gear) :]
    for key, switch in _RANGES.items():
        if element.has(key):
            low, high = element.numbers(key, 2)
            drive.ranges[key] = low, high
        if element.has(switch):
            drive.limited[key] = element.choice(switch, ("true", "false", "auto"))
    if kind == "general":
        drive.dynamics = element.text("dyntype", drive.dynamics)
        drive.gain_type = element.text("gaintype", drive.gain_type)
        drive.bias_type = element.text("biastype", drive.bias_type)
        gain, bias = (element.numbers(key, (1, 20), [0.0]) for key in ("gainprm", "biasprm"))
        drive.gain = [*gain, *drive.gain[len(gain) :]][:3] if element.has("gainprm") else drive.gain
        drive.bias = [*bias, *drive.bias[len(bias) :]][:3] if element.has("biasprm") else drive.bias
        if drive.dynamics != "none":
            drive.unknown = f"activation dynamics '{drive.dynamics[:40]}'"
        elif drive.gain_type not in ("fixed", "affine") or drive.bias_type not in ("none", "affine"):
            drive.unknown = f"gain '{drive.gain_type[:40]}' with bias '{drive.bias_type[:40]}'"
        else:
            drive.unknown = ""
    elif kind == "motor":
        _set(drive, 1.0, [0.0, 0.0, 0.0], "none")
    elif kind == "position":
        usual = drive.servos.get(kind, (1.0, 0.0))
        kp, kv = element.number("kp", usual[0]), element.number("kv", usual[1])
        _set(drive, kp, [0.0, -kp, -kv], "affine")
        if element.number("dampratio", 0.0) or kv < 0:
            drive.unknown = "its damping is given by a ratio; give kv"
        elif element.number("timeconst", 0.0):
            drive.unknown = "it follows its input with a time constant"
        elif element.number("inheritrange", 0.0):
            drive.unknown = "it inherits its range; give ctrlrange"
    elif kind == "velocity":
        kv = element.number("kv", drive.servos.get(kind, (1.0, 0.0))[0])
        _set(drive, kv, [0.0, 0.0, -kv], "affine")
    else:
        drive.unknown = f"an actuator of kind '{kind}'"


def _keep_gains(drive: ActuatorDrive, level: list[Element]) -> None:
    """Keep the gains of a class's servo or general actuator as defaults for servos of inner classes."""
    kind = level[-1].tag if level else ""
    for servo in ("position", "velocity"):
        if kind in (servo, "general"):
            drive.servos[servo] = drive.gain[0], -drive.bias[2] if servo == "position" else 0.0


def _set(drive: ActuatorDrive, gain: float, bias: list[float], bias_type: str) -> None:
    drive.gain, drive.bias = [gain, 0.0, 0.0], bias
    drive.gain_type, drive.bias_type = "fixed", bias_type
    drive.dynamics, drive.unknown = "none", ""


def _refusal(
    builder: Builder, element: Element, drive: ActuatorDrive, where: list[str], sites: dict[str, Site]
) -> str:
    """Return why an actuator cannot be imported, or ""; raise an error if its target does not exist."""
    if len(where) != 1:
        return "it acts on nothing" if not where else f"it acts on {' and '.join(where)}"
    target = element.text(where[0])
    springy = (drive.bias_type == "affine" and any(drive.bias[1:])) or drive.gain_type == "affine"
    if where[0] in ("joint", "jointinparent"):
        if target not in builder.freedoms:
            element.fail(f"there is no joint '{target[:60]}'")
        kind = builder.freedoms[target].kind
        return f"a servo of a {kind} joint" if springy and kind not in SINGLE else ""
    if where[0] == "site":
        if target not in sites:
            element.fail(f"there is no site '{target[:60]}'")
        if element.has("refsite"):
            return "it acts between two sites"
        return "a servo at a site" if springy else ""
    return f"it acts on a {where[0]}"


def _add_actuator(
    builder: Builder, name: str, element: Element, drive: ActuatorDrive, where: str, sites: dict[str, Site]
) -> None:
    target = element.text(where)
    joint = builder.freedoms.get(target) if where != "site" else None
    if joint is None or joint.kind == FREE:
        force = _force(builder, name, drive, ONE, ONE, None, None)
        values = [
            force * builder.parameter(f"gear_{name}_{i + 1}", g, "N" if i < 3 else "N*m", f"gear of {name}")
            if g
            else 0
            for i, g in enumerate(drive.gear)
        ]
    elif joint.kind == BALL:
        force = _force(builder, name, drive, MOMENT, ONE, None, None)
        values = [0 if g == 0 else force * g for g in drive.gear[:3]]
    else:
        effort, unit = (FORCE, LENGTH) if joint.kind == SLIDE else (MOMENT, ONE)
        body, gear = builder.moved[target], drive.gear[0]
        length = gear * (body.q1 + number(joint.offset, unit))
        values = [gear * _force(builder, name, drive, effort, unit, length, gear * body.u1)]
    if where == "site":
        _load_site(builder, name, sites[target], values)
    else:
        turned = where == "jointinparent" and joint is not None and joint.kind in (BALL, FREE)
        load_joint(builder, f"drive_{name}", target, values, in_parent=turned)


def _load_site(builder: Builder, name: str, site: Site, values: list[Given]) -> None:
    """Add a force and a moment in the axes of a site."""
    body = builder.links[site.link]
    point = builder.point(site.link, f"{name}_site", site.place)
    for i, value in enumerate(values):
        if isinstance(value, Expr):
            label = builder.name(f"drive_{name}{i + 1}")
            direction = body.frame.vector(float_triple(site.rotation[:, i % 3]))
            if i < 3:
                force(builder.system, label, value, direction, at=point)
            else:
                moment(builder.system, label, value, direction, on=body)


def _force(
    builder: Builder,
    name: str,
    drive: ActuatorDrive,
    effort: Dimension,
    unit: Dimension,
    length: object,
    velocity: object,
) -> Given:
    """Return gain · ctrl + b₀ + b₁ · length + b₂ · velocity, limited to its range; gains are parameters."""
    system = builder.system
    gain, (b0, b1, b2) = drive.gain[0], drive.bias if drive.bias_type == "affine" else (0.0, 0.0, 0.0)
    fixed = drive.gain_type == "fixed" and gain != 0
    kind = "force"
    if fixed and b1 == -gain:
        kind, wanted = "position", unit
    elif fixed and b1 == 0 and b2 == -gain:
        kind, wanted = "velocity", unit / TIME
    else:
        wanted = effort
    units = _units_text(wanted) if kind != "force" else _units_text(effort)
    about = {"force": f"drive {name}", "position": f"position asked of {name}"}
    label = builder.name(f"ctrl_{name}")
    ctrl = signals.input(system, label, 0.0, units=units, about=about.get(kind, f"velocity asked of {name}"))
    builder.record.inputs[name] = ctrl.name
    asked: Given = _within(ctrl, drive.control, wanted)
    if kind == "position":
        kp = builder.parameter(f"kp_{name}", gain, _units_text(effort, unit), f"gain of {name}")
        value = kp * (asked - length)
        if b2:
            about_kv = f"damping of {name}"
            value = (
                value
                - builder.parameter(f"kv_{name}", -b2, _units_text(effort, unit / TIME), about_kv) * velocity
            )
    elif kind == "velocity":
        kv = builder.parameter(f"kv_{name}", gain, _units_text(effort, unit / TIME), f"gain of {name}")
        value = kv * (asked - velocity)
    else:
        value = gain * asked
        if drive.gain_type == "affine":
            g1, g2 = number(drive.gain[1], ONE / unit), number(drive.gain[2], TIME / unit)
            value = value + (g1 * length + g2 * velocity) * asked
        if b1:
            value = value + number(b1, effort / unit) * length
        if b2:
            value = value + number(b2, effort * TIME / unit) * velocity
    if b0:
        value = value + number(b0, effort)
    return _within(value, drive.force, effort)


def _within(value: object, bounds: tuple[float, float] | None, dimension: Dimension) -> Given:
    if bounds is None:
        return value
    low, high = (number(b, dimension) for b in bounds)
    return fn.maximum(fn.minimum(value, high), low)


_UNITS = {ONE: "rad", LENGTH: "m", ONE / TIME: "rad/s", LENGTH / TIME: "m/s", MOMENT: "N*m", FORCE: "N"}


def _units_text(dimension: Dimension, per: Dimension | None = None) -> str:
    """Return units as text; with ``per``, those of a gain, which is an effort per coordinate or speed."""
    if per is None:
        return _UNITS[dimension]
    below = {ONE: "/rad", LENGTH: "/m", ONE / TIME: "*s/rad", LENGTH / TIME: "*s/m"}[per]
    return f"{_UNITS[dimension]}{below}"


def add_equalities(builder: Builder, section: list[Element], tree: MjcfTree, defaults: Defaults) -> None:
    """Add the constraints of <connect>, <weld> and <joint>."""
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
        with element.locate_errors():
            kinds[element.tag](builder, element, name, tree)
        builder.record.note("equality constraints are rigid, not springs: solref and solimp are left out")
        for key in ("solref", "solimp", "class", "torquescale", "anchor", "body2"):
            element.read.add(key)


def _connect(builder: Builder, element: Element, name: str, tree: MjcfTree) -> None:
    """Keep two points together: two sites, or two points that coincide in the reference position."""
    if element.has("site1"):
        ends = [_site_point(builder, element, key, tree) for key in ("site1", "site2")]
    else:
        first, second = _body_pair(element, tree)
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
    """Weld two frames: two sites, or a frame on the first body at ``relpose`` and the second body's frame."""
    if element.has("site1"):
        sites = [_site(element, key, tree) for key in ("site1", "site2")]
        first, second = sites[0].link, sites[1].link
        place, R = sites[0].place, sites[0].rotation
        there, Q = sites[1].place, sites[1].rotation
    else:
        first, second = _body_pair(element, tree)
        there, Q = np.zeros(3), np.eye(3)
        pose = element.numbers("relpose", 7, [0, 1, 0, 0, 0, 0, 0])
        if any(pose[3:]):
            place, R = np.array(pose[:3]), quaternion(pose[3:])
        else:  # the second body's pose in the reference position
            (a, A), (b, B) = tree.poses[first], tree.poses[second]
            place, R = A.T @ (b - a), A.T @ B
    ends = [
        _frame(builder, first, f"{name}_1", tidy(place), tidy(R)),
        _frame(builder, second, f"{name}_2", there, Q),
    ]
    close_joint(builder.system, "fixed", *ends, name=name)


def _joint(builder: Builder, element: Element, name: str, tree: MjcfTree) -> None:
    """Add q₁ = c₀ + c₁ q₂ + c₂ q₂² + … for coordinates that are zero in the reference position."""
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


def _body_pair(element: Element, tree: MjcfTree) -> tuple[str, str]:
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
    """Return a point on a link, of a body with a frame's axes: the link itself, or a body fixed to it."""
    if is_identity(R):
        return builder.point(link, label, place)
    at, orient = float_triple(place - builder.shifts[link]), R.tolist()
    name = builder.name(label)
    body = make_body(
        builder.system, name, builder.links[link], Fixed(), at=at, orient=orient, mass=0, inertia=0
    )
    return body.origin


_COUNTS = {BALL: (4, 3), FREE: (7, 6)}


def start_at(builder: Builder, section: list[Element], wanted: str | None) -> None:
    """Set the coordinates and speeds at the start of runs from the keyframe of this name."""
    keys: dict[str, Element] = {}
    for key in (child for part in section for child in part.all("key")):
        keys[key.text("name", str(len(keys)))] = key
    for part in section:
        part.take_whole()
    builder.record.keyframes = tuple(keys)
    if wanted is None:
        return
    if wanted not in keys:
        shown = ", ".join(keys) or "none"
        raise ModelError(
            f"there is no keyframe {wanted!r}{nearest(str(wanted), keys)}; the file has: {shown}"
        )
    with keys[wanted].locate_errors():
        _set_initial_state(builder, keys[wanted])


def _set_initial_state(builder: Builder, key: Element) -> None:
    sizes = [_COUNTS.get(joint.kind, (1, 1)) for joint in builder.freedoms.values()]
    values: dict[Expr, float] = {}
    if key.has("qpos"):
        given = iter(key.numbers("qpos", sum(q for q, _ in sizes)))
        for (name, joint), (count, _) in zip(builder.freedoms.items(), sizes, strict=True):
            own = [next(given) - joint.offset for _ in range(count)]
            if joint.kind not in SINGLE:
                length = math.hypot(*own[-4:])
                if length < 1e-12:
                    key.fail(f"the quaternion of joint '{name}' has length zero")
                own[-4:] = [x / length for x in own[-4:]]
            values |= dict(zip(builder.moved[name].coordinates, own, strict=True))
    if key.has("qvel"):
        given = iter(key.numbers("qvel", sum(u for _, u in sizes)))
        for name in builder.freedoms:
            values |= {speed: next(given) for speed in builder.moved[name].speeds}
    if values:
        start(builder.system, values)


# Elements and attributes without effect on motion: for appearance, measurements and MuJoCo's integration.
NO_EFFECT = {
    "asset", "material", "texture", "skin", "hfield",
    "camera", "custom", "light", "sensor", "size", "statistic", "visual", "extension",
    "group", "user", "solreflimit", "solimplimit", "solreffriction", "solimpfriction", "margin", "model",
    "integrator", "solver", "iterations", "tolerance", "cone", "jacobian", "impratio", "magnetic",
    "ls_iterations", "ls_tolerance", "noslip_iterations", "noslip_tolerance", "ccd_iterations",
    "ccd_tolerance", "apirate", "o_margin", "o_solref", "o_solimp", "o_friction", "sdf_iterations",
    "sdf_initpoints", "actuatorgroupdisable", "meshdir", "texturedir", "assetdir", "strippath",
    "discardvisual", "usethread", "convexhull", "fusestatic", "lengthrange", "conflict", "sleep",
    "sleep_tolerance",
}  # fmt: skip


def load_mjcf(
    path: str | os.PathLike[str],
    make: type[SystemType],
    *,
    stops: Mapping[str, float] | None = None,
    keyframe: str | None = None,
    strict: bool = False,
    exact_angles: bool = False,
    root: str | os.PathLike[str] | None = None,
) -> SystemType:
    """Return a system from an MJCF file. Each deviation that may change the motion gives a warning; with
    ``strict`` it raises an error.

    ``stops`` turns limits into bump stops, e.g. ``{"stiffness": 1e4, "damping": 0.1}``, as in
    ``System.stop``. Runs start at rest in the file's reference position, or in the state of ``keyframe``. An
    angle of 1.5708 rad is read as π/2; with ``exact_angles`` it is read as written. Geoms of the groups 0 to
    2 become shapes; ``root`` is the folder that holds their meshes.
    """
    strict = flag(strict, "load_mjcf: strict=", ModelError)
    top = None if root is None else file_path(root, "root of load_mjcf", ModelError)
    file = read_xml(path)
    if file.tag != "mujoco":
        hint = "; this is URDF: load_urdf reads it" if file.tag == "robot" else f", not <{file.tag[:40]}>"
        file.fail(f"an MJCF file has the root <mujoco>{hint}")
    file = with_includes(file, Path(path))
    if flag(exact_angles, "load_mjcf: exact_angles=", ModelError):
        keep_written_angles(file)
    settings, defaults = Settings(merge_elements(file, "compiler")), Defaults(file)
    system = make(file.text("model", "") or "MuJoCo model")
    record = Imported(str(path), "MJCF", notes=list(file.remarks))
    builder = Builder(system, record)
    builder.links[WORLD], builder.shifts[WORLD] = system.ground, np.zeros(3)
    on = _options(builder, merge_elements(file, "option"))
    meshes = Meshes(file.all("asset"), defaults, settings, Path(path).resolve().parent)
    looks = MjcfLooks(file.all("asset"), defaults, meshes, Path(path), top)
    tree = _worlds(file, settings, defaults, meshes, looks, record)
    record.remark(textures_left_out(looks.left_out))
    _add_links(builder, tree)
    start_at(builder, file.all("keyframe"), keyframe)
    if on["equality"]:
        add_equalities(builder, file.all("equality"), tree, defaults)
    for joint in builder.freedoms.values():
        joint.stiffness *= on["spring"]
        joint.damping *= on["damper"]
    finish_joints(builder, stops)
    if on["actuation"]:
        add_actuators(
            builder, file.all("actuator"), settings, defaults, tree.sites, clamp=bool(on["clampctrl"])
        )
    if tree.touching > 1:
        record.note(
            f"contact is left out: {tree.touching} shapes could touch (add contacts with System.contact)"
        )
    record.remark(snapped_angles(file))
    note_left_out(record, file, NO_EFFECT)
    record.warn(strict=strict)
    return system


def _options(builder: Builder, option: Element) -> dict[str, int]:
    """Read gravity and the time step; return which parts of the physics are switched on."""
    on = dict.fromkeys(("gravity", "spring", "damper", "actuation", "equality", "clampctrl"), 1)
    for flags in option.all("flag"):
        for key in on:
            if flags.choice(key, ("enable", "disable"), "enable") == "disable":
                on[key] = 0
        if flags.choice("passive", ("enable", "disable"), "enable") == "disable":
            on["spring"] = on["damper"] = 0
        flags.take_whole()  # other flags concern parts that are left out anyway
    gravity = np.array(option.numbers("gravity", 3, [0, 0, -9.81]))
    if on["gravity"]:
        add_gravity(builder, gravity)
    builder.record.settings["timestep"] = option.number("timestep", 0.002)
    for key in ("density", "viscosity"):
        if option.number(key, 0.0):
            builder.record.note(f"forces of a fluid are left out: {key} in {option.where}")
    option.numbers("wind", 3, [0, 0, 0])
    return on


def _worlds(
    root: Element, settings: Settings, defaults: Defaults, meshes: Meshes, looks: MjcfLooks, record: Imported
) -> MjcfTree:
    """Return the tree in the <worldbody> elements, which count as one."""
    world = merge_elements(root, "worldbody")
    world.read.update(world.attributes)
    return read_tree(world, settings, defaults, meshes, looks, record)


def _add_links(builder: Builder, tree: MjcfTree) -> None:
    builder.show(WORLD, tree.world)
    for link in tree.links:
        with link.element.locate_errors():
            builder.add(link)
    for name, site in tree.sites.items():
        if site.link == WORLD:
            builder.named_point(WORLD, name, site.place)
    for joint, (place, R) in tree.starts.items():
        values = [*(float(x) for x in place), *to_quaternion(R)]
        start(builder.system, dict(zip(builder.moved[joint].coordinates, values, strict=True)))
