"""Visuals of URDF and MJCF files as shapes: solids, meshes, colours, places, and the root of mesh files."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.errors import ImportedWarning
from armillary.viewer.appearance import Appearance

DATA = Path(__file__).parent / "data"

URDF = """<robot name="r">
<material name="steel"><color rgba="0.5 0.5 0.5 1"/></material>
<link name="base"><visual><geometry><box size="1 2 3"/></geometry><material name="steel"/></visual>
  <visual><origin xyz="0 0 1" rpy="0 0 1.5707963"/><geometry><mesh filename="package://my_robot/meshes/{mesh}"
    scale="0.001 0.001 0.001"/></geometry><material name="red"><color rgba="1 0 0 0.5"/></material></visual>
</link>
<link name="arm"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>
  <visual><geometry><cylinder radius="0.1" length="0.4"/></geometry><material name="red"/></visual>
  <visual><geometry><sphere radius="0.2"/></geometry></visual>
  <visual><geometry><capsule radius="0.2" length="1"/></geometry></visual>
  <visual><geometry><mesh filename="{relative}"/></geometry></visual>
  <visual><geometry><torus radius="0.2"/></geometry></visual>
  <collision><geometry><sphere radius="9"/></geometry></collision></link>
<joint name="j" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
  <limit lower="-1" upper="1"/></joint></robot>"""


@pytest.fixture
def robot(tmp_path: Path) -> Path:
    for folder in ("urdf", "meshes"):
        (tmp_path / "my_robot" / folder).mkdir(parents=True)
    (tmp_path / "my_robot" / "meshes" / "bracket.stl").write_bytes((DATA / "bracket.stl").read_bytes())
    return tmp_path / "my_robot" / "urdf" / "r.urdf"


def _loaded(path: Path, **options) -> tuple[arm.System, list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ImportedWarning)
        system = arm.load(path, **options)
    return system, [str(w.message) for w in caught if "pictures" in str(w.message)]


def test_urdf_visuals_become_shapes(robot: Path) -> None:
    robot.write_text(URDF.format(mesh="bracket.stl", relative="../meshes/bracket.stl"))
    s, said = _loaded(robot)
    assert len(said) == 1 and "link 'arm'" in said[0] and "not a box, cylinder, sphere" in said[0]
    look = Appearance(core_of(s.derive()), {})
    base, arm_ = (look.parts(s.bodies[name]) for name in ("base", "arm"))
    assert base[0] == {"kind": "box", "size": [1, 2, 3], "at": [0, 0, 0], "colour": "#808080"}
    assert (base[1]["kind"], base[1]["colour"], base[1]["opacity"]) == ("mesh", "#ff0000", 0.5)
    assert base[1]["scale"] == [0.001] * 3 and base[1]["at"] == [0, 0, 1]
    turned = np.array(base[1]["axes"]).reshape(3, 3)
    assert np.allclose(turned, [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-7)
    assert [p["kind"] for p in arm_] == ["cylinder", "sphere", "capsule", "mesh"]
    assert (arm_[0]["radius"], arm_[0]["length"], arm_[0]["colour"]) == (0.1, 0.4, "#ff0000")
    assert arm_[3]["mesh"] == base[1]["mesh"] and len(look.meshes.found) == 1


def test_meshes_stay_inside_their_root(robot: Path) -> None:
    other = "package://my_robot/../../secret.stl"
    robot.write_text(URDF.format(mesh="bracket.stl", relative=other))
    _, said = _loaded(robot)
    assert any("outside of the folder" in text and "root=" in text for text in said)
    robot.write_text(URDF.format(mesh="bracket.stl", relative="../../other/part.stl"))
    assert any("outside" in text for text in _loaded(robot)[1])
    s, said = _loaded(robot, root=robot.parent.parent.parent)  # the folder that holds packages
    assert len(said) == 1  # the torus alone
    files = {shape.details["file"] for shape in s.shapes.values() if shape.kind == "mesh"}
    home = robot.parent.parent.parent.resolve()
    assert files == {str(home / "my_robot" / "meshes" / "bracket.stl"), str(home / "other" / "part.stl")}
    with pytest.raises(arm.ModelError, match="root of load_urdf"):
        arm.load(robot, root=3)


def test_a_robot_without_its_meshes_is_loaded_and_shown_without_them(robot: Path, tmp_path: Path) -> None:
    robot.write_text(URDF.format(mesh="gone.stl", relative="gone.stl").replace("my_robot/", "elsewhere/"))
    s, _ = _loaded(robot)
    run = s.derive().compile().simulate(0.1, step=0.05)
    with pytest.warns(arm.PictureWarning, match=r"mesh 'gone\.stl' cannot be used"):
        assert run.animate(tmp_path / "page.html").exists()


MJCF = """<mujoco><compiler meshdir="../meshes"/>
<default><default class="looks"><geom group="2" contype="0" rgba="0 1 0 1"/></default>
  <default class="touch"><geom group="3"/></default>
  <default class="wood"><material rgba="0.4 0.2 0 1"/></default></default>
<asset><material name="oak" class="wood"/><material name="tiles" texture="t"/>
  <texture name="t" type="2d" builtin="checker" rgb1="0 0 1" rgb2="1 1 1"/>
  <mesh name="bracket" file="bracket.stl" scale="2 2 2" refpos="1 0 0"
    refquat="0.7071067811865476 0 0 0.7071067811865476"/></asset>
<worldbody><geom type="plane" size="5 4 0.1" material="tiles"/>
<geom type="plane" size="0 0 1"/><geom type="sphere" size="1" material="oak"/>
<body name="b" pos="0 0 1"><joint axis="0 1 0" pos="0 0 0.5"/>
  <inertial mass="1" pos="0 0 0" diaginertia="1 1 1"/>
  <geom class="looks" type="box" size="0.1 0.2 0.3" pos="0 0 0.5"/>
  <geom class="looks" type="capsule" size="0.1" fromto="0 0 0 2 0 0"/>
  <geom class="touch" type="sphere" size="3"/>
  <geom class="looks" type="ellipsoid" size="1 2 3" rgba="1 0 0 0"/>
  <geom class="looks" type="cylinder" size="0.1 0.2" rgba="1 0 0 0.25"/>
  <geom class="looks" type="mesh" mesh="bracket" pos="0 1 0"/>
  <frame pos="0 0 2"><geom class="looks" type="sphere" size="0.5"/></frame>
</body></worldbody></mujoco>"""


def test_mjcf_geoms_become_shapes(robot: Path) -> None:
    """Sizes are halves, groups above 2 are for collisions, and a mesh is where its file has it."""
    file = robot.with_name("m.xml")
    file.write_text(MJCF)
    s, said = _loaded(file)
    assert said == []
    look = Appearance(core_of(s.derive()), {})
    plane, oak = look.parts(s.ground)
    assert oak == {"kind": "sphere", "radius": 1.0, "at": [0, 0, 0], "colour": "#663300"}
    assert (plane["kind"], plane["x"], plane["y"], plane["colour"]) == ("plane", 10, 8, "#0000ff")
    box, capsule, cylinder, mesh, ball = look.parts(s.bodies["b"])
    assert box == {
        "kind": "box",
        "size": [0.2, 0.4, 0.6],
        "at": [0, 0, 0],
        "colour": "#00ff00",
    }  # from the joint
    assert (capsule["radius"], capsule["length"], capsule["at"]) == (0.1, 2.0, [1, 0, -0.5])
    along = np.array(capsule["axes"]).reshape(3, 3) @ capsule["axis"]
    assert np.allclose(np.abs(along), [1, 0, 0])
    assert cylinder["opacity"] == 0.25 and ball["at"] == [0, 0, 1.5]
    R = np.array(mesh["axes"]).reshape(3, 3)
    place = np.array(mesh["at"]) + R @ (np.array(mesh["scale"]) * [1, 2, 3])
    turned = np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1]]).T @ (2 * np.array([1, 2, 3]) - [1, 0, 0])
    assert np.allclose(place - [0, 1, -0.5], turned)


def test_robots_are_saved_with_their_shapes(robot: Path) -> None:
    robot.write_text(URDF.format(mesh="bracket.stl", relative="../meshes/bracket.stl"))
    s, _ = _loaded(robot)
    s.save(robot.parent.parent / "robot.toml")
    assert 'mesh = "meshes/bracket.stl"' in (robot.parent.parent / "robot.toml").read_text()
    again = arm.load(robot.parent.parent / "robot.toml")
    assert {n: x.details for n, x in again.shapes.items()} == {n: x.details for n, x in s.shapes.items()}


WRITTEN = """<mujoco><asset><texture name="wood" type="2d" file="wood.png"/>
  <mesh name="t" vertex="0 0 0  1 0 0  0 1 0  0 0 1" face="0 2 1 0 1 3 0 3 2 1 2 3" scale="1 1 -2"/>
  <mesh name="h" vertex="0 0 0  1 0 0  0 1 0  0 0 1  0.1 0.1 0.1"/></asset>
<worldbody><body name="b"><joint axis="0 1 0"/><inertial mass="1" pos="0 0 0" diaginertia="1 1 1"/>
  <geom type="mesh" mesh="t" rgba="1 0 0 1" contype="0"/><geom type="mesh" mesh="h" contype="0"/>
</body></worldbody></mujoco>"""


def test_meshes_that_are_written_in_an_mjcf_file_are_shown(tmp_path: Path) -> None:
    """A mirrored tetrahedron with its faces outwards, a hull without the corner inside; also from TOML."""
    (tmp_path / "m.xml").write_text(WRITTEN)
    s, said = _loaded(tmp_path / "m.xml")
    assert len(said) == 1 and said[0].endswith("plain colours in place of the textures 'wood'")
    s.save(tmp_path / "m.toml")
    for system in (s, arm.load(tmp_path / "m.toml")):
        look = Appearance(core_of(system.derive()), {})
        first, second = look.parts(system.bodies["b"])
        assert (first["kind"], first["colour"]) == ("mesh", "#ff0000")
        for part, volume in ((first, 1 / 3), (second, 1 / 6)):
            mesh = look.meshes.found[part["mesh"]]
            A, B, C = mesh.corners[mesh.faces].transpose(1, 0, 2)
            assert np.sum(np.cross(A, B) * C) / 6 == pytest.approx(volume, rel=1e-4) and len(mesh.faces) == 4


def test_a_flat_polyhedron_is_left_out_of_pictures(tmp_path: Path) -> None:
    s = arm.System("flat")
    b = s.body("b", joint=arm.Revolute("y"), mass=1, inertia=(1, 1, 1))
    b.shape(arm.Polyhedron([(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)]))
    run = s.derive().compile().simulate(0.1, step=0.05)
    with pytest.warns(arm.PictureWarning, match="'b_shape1' is left out: it has no convex hull"):
        run.animate(tmp_path / "page.html")
    for bad, words in (([(0, 0, 0)] * 3, "3 corners make no"), ("x", "not a list of three numbers each")):
        with pytest.raises(arm.ArmillaryError, match=words):
            b.shape(arm.Polyhedron(bad))
    with pytest.raises(arm.ArmillaryError, match="5 is not the number of a corner; they go from 0 to 2"):
        b.shape(arm.Polyhedron([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [(0, 1, 5)]))
