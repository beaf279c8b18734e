"""Damaged and unsuitable files of meshes, robots, roads and tyres, and the sentence that refuses each."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest

import armillary as arm
import armillary.vehicles as veh
from armillary.errors import ImportedWarning
from armillary.files.mesh_formats import read_surface
from armillary.files.mesh_surface import MeshFault


def glb(content: dict[str, object], magic: bytes = b"glTF", version: int = 2) -> bytes:
    """A binary glTF file without a buffer but 12 zero bytes."""
    text = json.dumps(content).encode()
    text += b" " * (-len(text) % 4)
    chunks = struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", 12, b"BIN\0") + bytes(12)
    return magic + struct.pack("<II", version, 12 + len(chunks)) + chunks


def scene(count: int = 1, **more: object) -> dict[str, object]:
    """A scene of one triangle whose corners are ``count`` values of a view of 12 bytes."""
    return {
        "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
        "accessors": [{"count": count, "type": "VEC3", "componentType": 5126, "bufferView": 0}],
        "bufferViews": [{"buffer": 0, "byteLength": 12}],
        "buffers": [{"byteLength": 12}],
        **more,
    }


def collada(inputs: str) -> str:
    return (
        '<COLLADA><library_geometries><geometry id="g"><mesh><source id="p"><float_array id="a" count="9">'
        '0 0 0 1 0 0 0 1 0</float_array><technique_common><accessor source="#a" count="3" stride="3"/>'
        '</technique_common></source><vertices id="v"><input semantic="POSITION" source="#p"/></vertices>'
        f'<triangles count="1">{inputs}<p>0 1 2</p></triangles>'
        "</mesh></geometry></library_geometries></COLLADA>"
    )


MESHES: dict[str, tuple[str, bytes | str]] = {
    "not a COLLADA file": ("a.dae", "<scene/>"),
    "a list of faces has no VERTEX": ("a.dae", collada('<input semantic="NORMAL" source="#p" offset="0"/>')),
    "not a binary glTF file of version 2": ("a.glb", glb(scene(), version=1)),
    "it is damaged (not a binary glTF file of version 2)": ("a.glb", glb(scene(), magic=b"glTG")),
    "an accessor has 0 values": ("a.glb", glb(scene(0))),
    "an accessor goes beyond its buffer": ("a.glb", glb(scene(2))),
    "its nodes form a cycle": (
        "a.glb",
        glb(scene(nodes=[{"children": [1]}, {"children": [0]}], scenes=[{"nodes": [0]}])),
    ),
    "it has a sparse accessor, which is not read": (
        "a.glb",
        glb(scene(accessors=[{"count": 1, "type": "VEC3", "componentType": 5126, "sparse": {}}])),
    ),
    "neither a binary nor a text STL file": ("a.stl", "sold nothing"),
    "it has 2 vertices; every face has three": ("a.stl", "solid a vertex 0 0 0 vertex 1 0 0"),
    "it has no triangles": ("a.dae", "<COLLADA/>"),
    "it has no corners": ("a.stl", "solid a"),
    "a corner is not finite": ("a.stl", "solid a vertex 0 0 0 vertex 1 0 0 vertex 0 nan 0"),
}


def folder_of(tmp_path: Path, files: dict[str, str | bytes]) -> Path:
    for name, content in files.items():
        (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return tmp_path


@pytest.mark.parametrize("sentence", MESHES)
def test_a_mesh_that_cannot_be_read_says_why(tmp_path: Path, sentence: str) -> None:
    name, content = MESHES[sentence]
    folder_of(tmp_path, {name: content})
    with pytest.raises(MeshFault) as caught:
        read_surface(tmp_path / name)
    assert sentence in str(caught.value)


def mujoco(world: str, more: str = "") -> str:
    return f'<mujoco model="m"><compiler angle="radian"/>{more}<worldbody>{world}</worldbody></mujoco>'


ARM = (
    '<body name="b"><joint name="j" axis="0 0 1"/><joint name="k" type="slide" axis="1 0 0"/>'
    '<geom type="sphere" size="0.1"/></body>'
)
ROBOTS: dict[str, str] = {
    "its attribute 'joint1' is missing": mujoco(ARM, '<equality><joint name="e"/></equality>'),
    "a joint cannot follow itself": mujoco(ARM, '<equality><joint joint1="j" joint2="j"/></equality>'),
    "there is no hinge or slider 'x'": mujoco(ARM, '<equality><joint joint1="x"/></equality>'),
    "a joint in a <frame> that moves it; put the joint beside the frame": mujoco(
        '<body><frame pos="0 0 1"><joint axis="0 0 1"/></frame><geom size="0.1"/></body>'
    ),
    "a box fitted to a mesh; give its size, or type='mesh'": mujoco(
        '<body><joint/><geom type="box" mesh="x"/></body>', '<asset><mesh name="x" file="x.stl"/></asset>'
    ),
    "'robot.xml' is included twice, or includes itself; each file once": mujoco(
        ARM, '<include file="robot.xml"/>'
    ),
}


@pytest.mark.parametrize("sentence", ROBOTS)
def test_a_robot_that_cannot_be_built_says_why(tmp_path: Path, sentence: str) -> None:
    folder_of(tmp_path, {"robot.xml": ROBOTS[sentence]})
    with pytest.raises(arm.ModelError) as caught:
        arm.load(tmp_path / "robot.xml")
    assert sentence in str(caught.value)


def test_a_keyframe_with_no_direction_of_a_free_body_is_refused(tmp_path: Path) -> None:
    free = '<body><freejoint name="f"/><geom size="0.1"/></body>'
    key = '<keyframe><key name="home" qpos="0 0 0 0 0 0 0"/></keyframe>'
    folder_of(tmp_path, {"robot.xml": mujoco(free, key)})
    with pytest.raises(arm.ModelError, match="the quaternion of joint 'f' has length zero"):
        arm.load(tmp_path / "robot.xml", keyframe="home")


def test_an_equality_of_a_single_joint_holds_its_coordinate(tmp_path: Path) -> None:
    folder_of(tmp_path, {"robot.xml": mujoco(ARM, '<equality><joint joint1="j" polycoef="0.3"/></equality>')})
    with pytest.warns(ImportedWarning, match="equality constraints are rigid"):
        s = arm.load(tmp_path / "robot.xml")
    assert s.derive().compile().state()[0] == 0.3


def crg(channels: str, rows: str, road: str = "REFERENCE_LINE_INCREMENT = 1.0") -> str:
    return f"$ROAD_CRG\n{road}\n$\n$KD_DEFINITION\n#:LRFI\n{channels}\n$\n$$$$\n{rows}\n"


TWO = "D:long section 1,m\nD:long section 2,m"
ZERO = " 0.0000000"
ROWS = f"{ZERO}{ZERO}\n" * 3
ROADS: dict[str, str] = {
    "no channels are defined; $KD_DEFINITION needs lines that begin with D:": crg("", ROWS),
    "a road needs two long sections at least, all 'at v = number' or all counted; it has 1": crg(
        "D:long section 1,m", f"{ZERO}\n" * 3
    ),
    "LONG_SECTION_V_INCREMENT is missing in $ROAD_CRG; counted long sections need it": crg(TWO, ROWS),
    ", line 2: 'LENGTH' in $ROAD_CRG is not NAME = number": crg(TWO, ROWS, "LENGTH"),
    "REFERENCE_LINE_INCREMENT is missing in $ROAD_CRG; give it in metres": crg(
        TWO, ROWS, "LONG_SECTION_V_INCREMENT = 1.0"
    ),
    "the cross sections are not equally spaced along u": crg(
        f"D:reference line u,m\n{TWO}",
        "".join(f" {u:9.7f}{ZERO}{ZERO}\n" for u in (0.0, 1.0, 5.0)),
        "LONG_SECTION_V_INCREMENT = 1.0",
    ),
}


@pytest.mark.parametrize("sentence", ROADS)
def test_a_road_that_cannot_be_read_says_why(tmp_path: Path, sentence: str) -> None:
    folder_of(tmp_path, {"road.crg": ROADS[sentence]})
    with pytest.raises(arm.ModelError) as caught:
        veh.crg_road(tmp_path / "road.crg")
    assert sentence in str(caught.value)
