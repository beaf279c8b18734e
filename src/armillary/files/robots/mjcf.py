"""MJCF models, MuJoCo's XML: a file from its root to a system, and its keyframes.

Keyframes of an MJCF file: a state to start from, on request.

An MJCF file from its root to a system, part by part.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from armillary.algebra.arguments import file_path, flag
from armillary.algebra.expression import Expr
from armillary.errors import ModelError, nearest
from armillary.files.robots.mechanism import (
    BALL,
    FREE,
    SINGLE,
    Builder,
    add_gravity,
    finish_joints,
    textures_left_out,
)
from armillary.files.robots.mjcf_actuators import add_actuators, add_equalities
from armillary.files.robots.mjcf_bodies import WORLD, MjcfTree, read_tree
from armillary.files.robots.mjcf_geoms import Meshes, MjcfLooks
from armillary.files.robots.mjcf_settings import Defaults, Settings, merge_elements, with_includes
from armillary.files.robots.rotations import keep_written_angles, snapped_angles, to_quaternion
from armillary.files.xml import Element, Imported, note_left_out, read_xml
from armillary.model.constraints import start
from armillary.model.description import SystemType

_COUNTS = {BALL: (4, 3), FREE: (7, 6)}


def start_at(builder: Builder, section: list[Element], wanted: str | None) -> None:
    """Coordinates and speeds at the start of runs from the keyframe of this name."""
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


# Elements and attributes for the looks, the measurements and MuJoCo's integration, without effect on motion.
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
    """Return a system from an MJCF file. What may change the motion is a warning each; with ``strict`` an
    error.

    ``stops`` makes limits bump stops, e.g. ``{"stiffness": 1e4, "damping": 0.1}``, as in ``System.stop``.
    Runs start at rest in the file's reference position, or in the state of ``keyframe``. With
    ``exact_angles`` an angle of 1.5708 rad is that number, not π/2. Geoms of the groups 0 to 2 become shapes;
    ``root`` is the folder that holds their meshes.
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
        record.note(f"contact is left out: {tree.touching} shapes could touch (System.contact makes some)")
    record.remark(snapped_angles(file))
    note_left_out(record, file, NO_EFFECT)
    record.warn(strict=strict)
    return system


def _options(builder: Builder, option: Element) -> dict[str, int]:
    """Gravity, the time step, and which parts of the physics are switched on."""
    on = dict.fromkeys(("gravity", "spring", "damper", "actuation", "equality", "clampctrl"), 1)
    for flags in option.all("flag"):
        for key in on:
            if flags.choice(key, ("enable", "disable"), "enable") == "disable":
                on[key] = 0
        if flags.choice("passive", ("enable", "disable"), "enable") == "disable":
            on["spring"] = on["damper"] = 0
        flags.take_whole()  # the others are about what is left out anyway
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
