"""Motions as .glb files: poses, springs and bending read back from the file equal those of the process."""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import armillary as arm
from armillary.files.mesh_formats import read_surface
from armillary.viewer.appearance import Appearance
from armillary.viewer.figures import figure_of, relative
from armillary.viewer.gltf import GltfDocument, _aligning_quaternions, _continuous, glb_of
from armillary.viewer.page_data import PoseFunction
from armillary.viewer.surfaces import DrawnSurface, turned_to

BRACKET = Path(__file__).parent.parent / "files" / "robots" / "data" / "bracket.stl"
NODE = shutil.which("node")
_TYPES = {5126: "<f4", 5123: "<u2", 5125: "<u4"}
_WIDTHS = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}


class Scene:
    """A .glb file read by its specification, independently of the code that writes it."""

    def __init__(self, data: bytes) -> None:
        magic, version, length = struct.unpack_from("<4sII", data)
        assert (magic, version, length) == (b"glTF", 2, len(data))
        size, kind = struct.unpack_from("<I4s", data, 12)
        assert kind == b"JSON" and size % 4 == 0
        self.json = json.loads(data[20 : 20 + size])
        count, kind = struct.unpack_from("<I4s", data, 20 + size)
        assert kind == b"BIN\0" and 28 + size + count == len(data)
        self.binary = data[28 + size :]
        self.named = {node["name"]: i for i, node in enumerate(self.json["nodes"])}

    def array(self, index: int) -> np.ndarray:
        accessor = self.json["accessors"][index]
        view = self.json["bufferViews"][accessor["bufferView"]]
        assert view["byteOffset"] % 4 == 0
        width = _WIDTHS[accessor["type"]]
        values = np.frombuffer(
            self.binary, _TYPES[accessor["componentType"]], accessor["count"] * width, view["byteOffset"]
        ).reshape(-1, width)
        if "min" in accessor:
            assert np.array_equal(values.min(axis=0), np.float32(accessor["min"]))
            assert np.array_equal(values.max(axis=0), np.float32(accessor["max"]))
        return values.astype(float)

    def times(self) -> np.ndarray:
        (animation,) = self.json["animations"]
        (index,) = {sampler["input"] for sampler in animation["samplers"]}
        return self.array(index)[:, 0]

    def values(self, node: int, path: str) -> np.ndarray | None:
        """Values of a node in all rows of the animation."""
        (animation,) = self.json["animations"]
        for channel in animation["channels"]:
            if channel["target"] == {"node": node, "path": path}:
                return self.array(animation["samplers"][channel["sampler"]]["output"])
        given = self.json["nodes"][node].get(path)
        return None if given is None else np.tile(given, (len(self.times()), 1))

    def vertices(self, node: int) -> list[tuple[np.ndarray, dict[str, Any]]]:
        mesh = self.json["meshes"][self.json["nodes"][node]["mesh"]]
        return [(self.array(p["attributes"]["POSITION"]), p) for p in mesh["primitives"]]


def _system() -> arm.System:
    s = arm.System("crane")
    s.gravity(9.81, "-ground.z")
    boom = s.body(
        "boom", joint=arm.Gimbal("zy"), at=(0, 0, 1), mass=2, com=(0.5, 0, 0), inertia=(0.1, 0.3, 0.3)
    )
    load = s.body(
        "load", parent=boom, joint=arm.Spherical(), at=(1, 0, 0), mass=1, com=(0, 0, -0.4), inertia=(1, 1, 1)
    )
    end, foot = load.point((0, 0, -0.5), name="end"), s.ground.point((1, 0, 0), name="foot")
    s.strut("spring", "-20*(x - 0.5)", between=(end, foot))
    hook = s.ground.point((1, 0, 0.5), name="hook")
    s.shape("rope", arm.Cable(0.01, length=3), between=(end, hook), colour="#112233")
    boom.shape(arm.Mesh(BRACKET, scale=2), at=(0, 0, 0.1), orient=("z", 0.3))
    load.shape(arm.Mesh(BRACKET), colour="#ff0000")
    load.shape(arm.Box(0.1, 0.2, 0.3), opacity=0.5)
    s.event("across", "boom.q1 - 0.05")
    s.start({"boom.u1": 1.0, "load.u1": 3.0})
    return s


@pytest.fixture(scope="module")
def run() -> arm.Run:
    return _system().derive().compile().simulate(1.0, step=0.01)


@pytest.fixture(scope="module")
def scene(run, tmp_path_factory) -> Scene:
    return Scene(run.animate(tmp_path_factory.mktemp("glb") / "run.glb").read_bytes())


def test_poses_read_back_are_those_of_the_process(run, scene) -> None:
    poses = PoseFunction(run.picture.equations).of_run(run)
    rows = [int(np.flatnonzero(np.float32(run.time) == np.float32(t))[-1]) for t in scene.times()]
    assert len(rows) == len(np.unique(np.float32(run.time)))
    for b, name in enumerate(poses.names):
        node = scene.named[name]
        assert np.max(np.abs(scene.values(node, "translation") - poses.positions[rows, b])) < 1e-6
        turned = Rotation.from_quat(scene.values(node, "rotation")).as_matrix()
        assert np.max(np.abs(turned - poses.rotations[rows, b])) < 1e-6


def test_the_root_turns_upwards_to_y(scene) -> None:
    (root,) = scene.json["scenes"][scene.json["scene"]]["nodes"]
    node = scene.json["nodes"][root]
    assert Rotation.from_quat(node["rotation"]).apply([0, 0, 1]) == pytest.approx([0, 1, 0], abs=1e-12)
    assert {scene.json["nodes"][i]["name"] for i in node["children"]} >= {"boom", "load", "spring", "rope"}


def test_springs_and_ropes_reach_from_end_to_end(run, scene) -> None:
    """A bar is of unit length along z about its middle; the sag is that of a rope of 3 m."""
    poses = PoseFunction(run.picture.equations).of_run(run)
    end = poses.positions[-1, 1] + poses.rotations[-1, 1] @ [0, 0, -0.5]

    def ends(node: int) -> np.ndarray:
        at, q, s = (scene.values(node, path)[-1] for path in ("translation", "rotation", "scale"))
        return at + Rotation.from_quat(q).apply([[0, 0, -0.5 * s[2]], [0, 0, 0.5 * s[2]]])

    spring = ends(scene.named["spring"])
    assert np.allclose(sorted(spring.tolist()), sorted([end.tolist(), [1, 0, 0]]), atol=1e-6)
    pieces = [i for i, node in enumerate(scene.json["nodes"]) if node["name"] == "rope"]
    found = np.array([ends(i) for i in pieces])
    assert np.allclose(found[0, 0], end, atol=1e-6) and np.allclose(found[1:, 0], found[:-1, 1], atol=1e-6)
    distance = np.linalg.norm(end - [1, 0, 0.5])
    sag = 0.5 * (end[2] + 0.5) - found[len(found) // 2, 0, 2]
    assert sag == pytest.approx(np.sqrt(3 * distance * (3 - distance) / 8), rel=1e-5)


def test_meshes_are_stored_once_at_their_places(run, scene) -> None:
    boom, load = (scene.vertices(scene.named[f"{name} mesh"])[0] for name in ("boom", "load"))
    assert boom[1]["attributes"] == load[1]["attributes"] and boom[1]["material"] != load[1]["material"]
    surface = read_surface(BRACKET)
    order = scene.array(boom[1]["indices"]).astype(int).reshape(-1, 3)
    assert np.allclose(boom[0][order], surface.corners[surface.faces], atol=1e-5)
    node = scene.json["nodes"][scene.named["boom mesh"]]
    assert (node["scale"], node["translation"]) == ([2, 2, 2], [0, 0, 0.1])
    assert Rotation.from_quat(node["rotation"]).as_rotvec() == pytest.approx([0, 0, 0.3])
    red = scene.json["materials"][load[1]["material"]]["pbrMetallicRoughness"]["baseColorFactor"]
    assert red == [1, 0, 0, 1]
    glass = [m for m in scene.json["materials"] if m.get("alphaMode") == "BLEND"]
    assert [m["pbrMetallicRoughness"]["baseColorFactor"][3] for m in glass] == [0.5]


def test_colours_are_stored_as_shares_of_light_by_the_curve_of_srgb() -> None:
    """A tone of 188/255 is half of the light, that of 10/255 on the straight part of the curve a 329th."""
    document = GltfDocument()
    place = document.material("#BC0A00", 1.0)
    assert place == document.material("#bc0a00", 1.0) != document.material("#bc0a00", 0.5)
    colour = document.content["materials"][place]["pbrMetallicRoughness"]["baseColorFactor"]
    assert colour == pytest.approx([0.502886, 10 / 255 / 12.92, 0, 1], abs=1e-6)


def test_triangles_of_large_surfaces_keep_their_corners() -> None:
    """Corner 65,535 needs 32 bits, as glTF reserves that number among those of 16; normals become unit."""
    corners = 65_536
    faces = np.array([[0, 1, 2], [0, 300, corners - 1]])
    normals = np.tile([0.0, 2.0, 0.0], (corners, 1))
    normals[7] = 0.0
    document = GltfDocument()
    document.add("nodes", {"name": "surface"})
    made = document.geometry(DrawnSurface(np.linspace([0, 0, 0], [1, 2, 3], corners), normals, faces))
    scene = Scene(document.bytes())
    assert _TYPES[scene.json["accessors"][made["indices"]]["componentType"]] == "<u4"
    assert np.array_equal(scene.array(made["indices"]).ravel(), faces.ravel())
    read = scene.array(made["attributes"]["NORMAL"])
    assert np.array_equal(read[6:9], [[0, 1, 0], [0, 0, 1], [0, 1, 0]])


def _flexible() -> arm.System:
    s = arm.System("panels", units="SI")
    hub = s.body("hub", joint=arm.Revolute("z"), mass=5, inertia=(1, 1, 1))
    s.body("panel", parent=hub).flexible(arm.Plate(2, 1, 0.01, E=7e8, nu=0.3, density=2700), modes=3)
    s.body("boom", parent=hub).flexible(
        arm.Beam(2.0, section=arm.Section.circle(0.02), E=7e9, G=3e9, density=2700), modes=2
    )
    return s


@pytest.fixture(scope="module")
def bending() -> arm.Run:
    model = _flexible().derive().compile()
    return model.simulate(0.2, sample=0.05, initial={"panel.q1": 0.5, "panel.q2": 0.2, "boom.q1": 0.3})


def test_plates_and_beams_bend_by_morph_targets(bending) -> None:
    """Corners with the weights of a row are where the nodes of the flexible part are there."""
    scene = Scene(glb_of(figure_of(bending, bending.picture.equations)))
    look = Appearance(bending.picture.equations, {})
    for name, modes in (("panel", 3), ("boom", 2)):
        node = scene.named[f"{name} bent"]
        ((base, primitive),) = scene.vertices(node)
        targets = np.array([scene.array(t["POSITION"]) for t in primitive["targets"]])
        weights = scene.values(node, "weights").reshape(-1, modes)
        assert np.allclose(weights[:, 0], bending[f"{name}.q1"], atol=1e-6)
        colour = scene.json["materials"][primitive["material"]]["pbrMetallicRoughness"]["baseColorFactor"]
        assert colour[3] == 1 and min(colour) >= 0 and max(colour) <= 1  # opaque
        moved = base + np.tensordot(weights[-1], targets, axes=1)
        part = look.named[name].flex.part
        tip = part.nodes["tip"]
        there = tip.position + tip.shape @ [bending[f"{name}.q{k + 1}"][-1] for k in range(modes)]
        assert np.min(np.linalg.norm(moved - there, axis=1)) < 1e-6  # the middle of an end, or of an edge


def test_pages_and_films_bend_plates_as_surfaces(bending, tmp_path: Path) -> None:
    content = figure_of(bending, bending.picture.equations).content
    panel, boom = content["bending"]
    assert panel["sheet"] == (13, 9) and len(panel["places"]) == 117 and boom["chain"]
    places = np.array(panel["places"])
    assert np.allclose(places.min(axis=0), [0, -0.5, 0]) and np.allclose(places.max(axis=0), [2, 0.5, 0])
    assert bending.animate(tmp_path / "panel.png", size=(64, 48)).stat().st_size > 500


@pytest.fixture(scope="module")
def orbiting() -> arm.Run:
    """A hub with a panel, 1 m long, at 7,000 km: 16 bits of its way are 200 m, single precision 0.5 m."""
    s = arm.System("orbit")
    hub = s.body("hub", joint=arm.Free(), mass=10, inertia=(1, 2, 2.5))
    s.body(
        "panel",
        parent=hub,
        joint=arm.Revolute("z"),
        at=(1, 0, 0),
        mass=1,
        com=(0.5, 0, 0),
        inertia=(0.1, 0.2, 0.2),
    )
    start = {"hub.q1": 7e6, "hub.u2": 7500.0, "hub.u6": 0.01, "panel.u1": 0.01}
    return s.derive().compile().simulate(600.0, step=1.0, initial=start)


def test_places_on_bodies_that_travel_far_are_resolved_in_files(orbiting) -> None:
    poses = PoseFunction(orbiting.picture.equations).of_run(orbiting)
    between = poses.positions[:, 1] - poses.positions[:, 0]
    scene = Scene(glb_of(figure_of(orbiting, orbiting.picture.equations)))
    hub, panel = (scene.values(scene.named[name], "translation") for name in ("hub", "panel"))
    assert np.max(np.abs(panel - hub - between)) < 1e-6
    way = scene.values(scene.named["carrier"], "translation")
    assert np.max(np.abs(way + hub - poses.positions[:, 0])) < 0.5
    figure = figure_of(orbiting, orbiting.picture.equations)
    data = figure.pack()
    assert data["bases"] == [-1, 0]
    step = np.array(data["poses"]["step"]).reshape(2, 7)[:, :2]  # z is constant
    assert step[0].max() > 50 and step[1].max() < 1e-4
    stored = relative(figure.channels, data["bases"])
    assert np.allclose(stored[:, 7:10], between)


def test_a_spring_to_the_ground_is_drawn_to_its_place_by_a_system_that_travels_far() -> None:
    s = arm.System("far away")
    hub = s.body("hub", joint=arm.Free(), mass=10, inertia=(1, 2, 2.5))
    s.body("panel", hub, arm.Revolute("z"), at=(1, 0, 0), mass=1, com=(0.5, 0, 0), inertia=(0.1, 0.2, 0.2))
    foot = s.ground.point((7e6, 1e3, 0), name="foot")
    s.shape("rope", arm.Cable(0.01), between=(hub.origin, foot))
    run = s.derive().compile().simulate(100.0, step=1.0, initial={"hub.q1": 7e6, "hub.u1": 50.0})
    scene = Scene(glb_of(figure_of(run, run.picture.equations)))
    way, at, q, size = (
        scene.values(scene.named[name], path)
        for name, path in (
            ("carrier", "translation"),
            *(("rope", p) for p in ("translation", "rotation", "scale")),
        )
    )
    reach = Rotation.from_quat(q).apply(np.outer(0.5 * size[:, 2], [0, 0, 1]))
    ends = np.stack([way + at - reach, way + at + reach])
    nearest = np.min(np.linalg.norm(ends - [7e6, 1e3, 0], axis=2), axis=0)
    assert np.max(nearest) < 2.0  # single precision of 7,000 km is 0.5 m


def test_rotations_have_no_jumps_of_their_sign() -> None:
    """Two bodies that turn by several turns, whose quaternions come with any signs, of any size."""
    angle = np.linspace(0, 20, 60)[:, None] * [1.0, -0.3]
    smooth = np.stack([0 * angle, np.sin(angle / 2), 0 * angle, np.cos(angle / 2)], axis=2)
    signs = np.random.default_rng(1).choice([-1.0, 1.0], size=(60, 2, 1))
    found = _continuous(3.0 * signs * smooth)
    assert found == pytest.approx(signs[0] * smooth, abs=1e-15)


def test_bars_turn_from_z_to_their_direction_as_surfaces_do() -> None:
    """Downwards, too, where the rotation is by half a turn; a bar of no length does not turn."""
    along = np.vstack([np.eye(3), -np.eye(3), np.random.default_rng(2).normal(size=(20, 3))])
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    found = Rotation.from_quat(_aligning_quaternions(along))
    assert found.apply([0.0, 0.0, 1.0]) == pytest.approx(along, abs=1e-12)
    assert found.as_matrix() == pytest.approx(np.array([turned_to(k) for k in along]), abs=1e-12)
    assert _aligning_quaternions(np.zeros((1, 3))).tolist() == [[0, 0, 0, 1]]


def test_lengths_are_metres_and_runs_of_one_row_stand_still() -> None:
    s = arm.System("small")
    s.body("a", joint=arm.Revolute("z"), mass=1, inertia=(1, 1, 1))
    run = s.derive().compile().simulate(0.1, step=0.1)
    figure = figure_of(run, run.picture.equations)
    scene = Scene(glb_of(figure, 0.001))
    assert scene.json["nodes"][scene.json["scenes"][0]["nodes"][0]]["scale"] == [0.001] * 3
    assert "animations" not in scene.json  # nothing moves


VALIDATE = """
const validator = require('gltf-validator'), fs = require('fs');
validator.validateBytes(new Uint8Array(fs.readFileSync(process.argv[1]))).then((r) => {
  console.log(JSON.stringify(r.issues.messages)); process.exit(r.issues.numErrors + r.issues.numWarnings);
});
"""


def _has_validator() -> bool:
    found = NODE and subprocess.run([NODE, "-e", "require.resolve('gltf-validator')"], capture_output=True)
    return bool(found) and found.returncode == 0


@pytest.mark.skipif(not _has_validator(), reason="no node with the package gltf-validator")
def test_files_pass_the_validator_of_khronos(run, bending, tmp_path: Path) -> None:
    for made in (run, bending):
        path = made.animate(tmp_path / "motion.glb")
        done = subprocess.run([NODE, "-e", VALIDATE, str(path)], capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
