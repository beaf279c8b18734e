"""What pages, films and files of one scene hold: parts of all kinds, springs, two bent bodies, arrows."""

from __future__ import annotations

import json
import re
import struct
from functools import cache

import numpy as np

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.results.plots.motion import PictureOptions
from armillary.viewer.figures import PageFigure, figure_of
from armillary.viewer.film import default_speed
from armillary.viewer.gltf import glb_of
from armillary.viewer.picture import FilmFigure, Floor, Painter, fit_camera, ribbon
from tests.kept_numbers.entries import Named, digest, entry, numbers_in


def yard() -> arm.System:
    """Shapes of all kinds on three bodies and the ground, two of the bodies bend."""
    s = arm.System("yard")
    s.gravity(9.81, -s.ground.z)
    crane = s.body(
        "crane", joint=arm.Gimbal("zy"), at=(0.2, 0, 0.5), mass=2, com=(0.3, 0, 0), inertia=(0.01, 0.2, 0.2)
    )
    free = s.body("free", joint=arm.Free(), mass=1.5, com=(0.1, 0, 0), inertia=(0.1, 0.12, 0.2))
    mast = s.body("mast", joint=arm.Revolute("y"), at=(1, 1, 0))
    section = arm.Section.rectangle(0.02, 0.03)
    mast.flexible(arm.Beam(1.0, E=7e9, nu=0.3, density=2700.0, section=section, stations=(0.5,)), modes=2)
    wing = s.body("wing", mast, arm.Revolute("x"), at=(0.3, 0, 0.4))
    wing.flexible(arm.Plate(0.8, 0.5, 0.01, E=7e9, nu=0.3, density=2700.0, along="y", across="z"), modes=2)
    top, hook = crane.point((0.6, 0, 0.1), name="top"), s.ground.point((1.2, 0.3, 1.0), name="hook")
    s.strut("spring", "-30*(x - 0.4) - v", between=(top, free.point((0.1, 0, 0))))
    s.force("push", 3.0, s.ground.y, at=top)
    s.moment("twist", 0.4, crane.z, on=crane)
    crane.shape(arm.Box(0.4, 0.3, 0.1), at=(0.05, 0, 0), colour="#cc5500")
    crane.shape(arm.Cone(0.1, 0.3, axis=(1, 0, 0)), opacity=0.5)
    crane.shape(arm.Wheel(0.3, 0.1), orient=("x", 0.5))
    crane.shape(arm.Polyhedron([(0, 0, 0), (0.2, 0, 0), (0, 0.3, 0), (0, 0, 0.4)]))
    free.shape(arm.Capsule(0.1, 0.4, axis="y"), orient=("z", 0.3))
    free.shape(arm.Ellipsoid(0.1, 0.2, 0.3), at=(0, 0, 0.2))
    free.shape(arm.Cylinder(0.05, 0.5))
    free.shape(arm.Sphere(0.07), at=(0.3, 0, 0))
    s.ground.shape(arm.Grid(4.0, 3.0, 0.5))
    s.ground.shape(arm.Plane(2.0, 1.5, axis="y"), at=(0, 2, 0))
    s.ground.shape(arm.HeightProfile("0.1*sin(3*x)*y + 0.05*x", x=(0, 2), y=(1, 3), points=(6, 5)))
    s.ground.shape(arm.Polyline([(0, 0, 0), (1, 0.2, 0), (1, 1, 0.5)], radius=0.02, closed=True))
    s.shape("coil", arm.Spring(0.1, coils=4), between=(hook, top))
    s.shape("damping", arm.Damper(), between=(top, hook))
    s.shape("rope", arm.Cable(0.01, length=2.5), between=(free.com, hook), colour="#112233")
    s.shape("rod", arm.Rod(0.02), between=(hook, free.com))
    s.output("height", arm.dot(arm.position(top), s.ground.z), units="mm")
    s.start({"crane.u1": 1.0, "free.u4": 0.5, "mast.u1": 0.3, "wing.u1": -0.4})
    return s


@cache
def figure() -> PageFigure:
    options = PictureOptions(paths=("crane.top", "free"), reactions=("wing",))
    model = yard().derive().compile()
    return figure_of(model.simulate(0.4, sample=0.1), core_of(model.equations), options)


@entry
def pages() -> Named:
    found = figure()
    yield "time", found.time
    yield "channels", found.channels
    yield "amplitudes", 1e3 * np.abs(found.amplitudes)  # the sign of a mode is free
    yield "columns", digest(found.columns)
    yield "arrows", digest(found.arrows.vectors)
    for name in ("bodies", "ground", "springs", "bending", "up", "size", "paths"):
        value = found.content[name]
        text = json.dumps(value, default=np.ndarray.tolist)
        yield name, digest(np.abs(numbers_in(re.sub(r'"(#|mesh": ")\w+', "", text))))
        yield f"{name}, colours", digest([int(x, 16) for x in re.findall(r'"#(\w{6})"', text)])
    yield "speeds", [default_speed(t) for t in (0.01, 0.3, 1.9, 2.1, 39.0, 41.0, 300.0, 1e5)]


@entry
def films() -> Named:
    found = figure()
    film = FilmFigure(
        found.content, found.channels, found.amplitudes, opacity=0.8, shift=(0, 0.5, 0), meshes=found.meshes
    )
    painted = film.paint_frame(3)
    yield "vertices", digest(painted.surface.vertices)
    yield "normals", digest(np.abs(painted.surface.normals))
    yield "faces", digest(painted.surface.faces)
    yield "colours", digest([painted.colours, painted.opacities[:, None], painted.parts[:, None]])
    up = np.array(found.content["up"])
    for view in ("front", "side", "top", "x", "oblique"):
        camera = fit_camera(film.points(3), view, up, 300, 200)
        yield (
            f"camera, {view}",
            digest([camera.project(film.points(2))[0], camera.project(film.points(2))[1]]),
        )
    path = film.path("crane", (0.6, 0, 0.1))
    line = ribbon(path, camera, "#336699")
    yield "ribbon", [digest(line.surface.vertices), digest(line.colours)]
    floor = Floor(-0.3, 0.25, np.array([0.2, 0.1, -0.3]), 4.0)
    for theme in ("light", "dark"):
        painter = Painter(up, floor, theme)
        yield f"light, {theme}", [digest(x) for x in painter._light(painted.surface, camera)]


@entry
def glb_files() -> Named:
    data = glb_of(figure(), 0.5)
    size = struct.unpack_from("<I", data, 12)[0]
    document = json.loads(data[20 : 20 + size])
    binary = data[28 + size :]
    for name in ("nodes", "meshes", "materials", "accessors", "animations"):
        text = json.dumps([{**one, "name": "", "min": 0, "max": 0} for one in document[name]])
        yield name, digest(np.abs(numbers_in(text)))
    groups: dict[str, list[np.ndarray]] = {}
    for accessor in document["accessors"]:
        begin = document["bufferViews"][accessor["bufferView"]]["byteOffset"]
        width = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}[accessor["type"]]
        kind = {5126: "<f4", 5123: "<u2", 5125: "<u4"}[accessor["componentType"]]
        values = np.frombuffer(binary, kind, accessor["count"] * width, begin)
        groups.setdefault(f"{accessor['type']}, {kind}", []).append(np.abs(values.astype(float)))
    for name, arrays in groups.items():
        yield name, digest(arrays)
