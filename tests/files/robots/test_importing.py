"""What an import says: names, notes, inputs, stops; and what it refuses, in a sentence with file and line."""

from __future__ import annotations

import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.errors import ArmillaryError, ImportedWarning
from armillary.files import robots
from armillary.files.robots.mjcf_geoms import solid
from armillary.files.robots.rotations import to_quaternion
from armillary.stages import System

load_mjcf = partial(robots.load_mjcf, make=System)
load_urdf = partial(robots.load_urdf, make=System)

EXAMPLES = Path(__file__).parents[3] / "examples"
MASS = "<inertial><mass value='2'/><inertia ixx='1' iyy='1' izz='1'/></inertial>"


def urdf(folder: Path, content: str) -> Path:
    path = folder / "robot.urdf"
    path.write_text(f"<robot name='r'>\n{content}\n</robot>", encoding="utf-8")
    return path


def mjcf(folder: Path, content: str, name: str = "model.xml") -> Path:
    path = folder / name
    path.write_text(f"<mujoco>\n{content}\n</mujoco>", encoding="utf-8")
    return path


def hinge(more: str = "", kind: str = "revolute") -> str:
    ends = "<parent link='a'/><child link='b'/>"
    links = f"<link name='a'/><link name='b'>{MASS}</link>"
    return f"{links}<joint name='j' type='{kind}'>{ends}{more}</joint>"


# ---------------------------------------------------------------- what is there


def test_names_are_made_legal_and_told() -> None:
    with pytest.warns(ImportedWarning) as caught:
        s = arm.load(EXAMPLES / "six_axis_arm.urdf")
    assert s.imported is not None
    assert s.imported.bodies["upper arm"] == "upper_arm"
    assert s.imported.bodies["base-link"] == "base_link"
    assert s.imported.joints["wrist 3"] == ("wrist_3.q1",)
    assert s.imported.inputs["wrist 3"] == "tau_wrist_3"
    assert "right" not in s.imported.inputs  # it follows the left one
    assert all(warning.filename == __file__ for warning in caught)
    told = [str(warning.message) for warning in caught]
    assert len(told) == 2 and "limits of joints" in told[0] and "dry friction" in told[1]


def test_names_that_clash_or_are_reserved_get_a_number(tmp_path: Path) -> None:
    path = mjcf(
        tmp_path,
        "<worldbody><body name='sin'><joint name='g'/><geom size='1'/>"
        "<body name='a b'><joint name='1'/><geom size='1'/></body>"
        "<body name='a-b'><joint/><geom size='1'/></body></body></worldbody>",
    )
    with pytest.warns(ImportedWarning, match="contact"):
        s = load_mjcf(path)
    assert s.imported is not None
    assert s.imported.bodies == {"sin": "sin_2", "a b": "a_b", "a-b": "a_b_2"}


def test_nothing_left_out_means_no_warning(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        s = load_urdf(urdf(tmp_path, hinge("<axis xyz='0 1 0'/>", "continuous")))
    assert s.imported is not None and s.imported.notes == []


def test_transmissions_say_which_joints_are_driven(tmp_path: Path) -> None:
    two = hinge(kind="continuous") + (
        f"<link name='c'>{MASS}</link>"
        "<joint name='k' type='continuous'><parent link='b'/><child link='c'/></joint>"
        "<transmission name='t'><type>simple</type><joint name='k'/><actuator name='m'>"
        "<mechanicalReduction>50</mechanicalReduction></actuator></transmission>"
    )
    path = urdf(tmp_path, two)
    with pytest.warns(ImportedWarning, match="reductions"):
        assert [*load_urdf(path).memories] == ["tau_k"]
    with pytest.warns(ImportedWarning):
        assert [*load_urdf(path, torques="all").memories] == ["tau_j", "tau_k"]
    with pytest.warns(ImportedWarning):
        assert not load_urdf(path, torques="none").memories


def test_limits_become_stops_where_asked(tmp_path: Path) -> None:
    path = urdf(tmp_path, hinge("<limit lower='-0.5' upper='1' effort='1' velocity='1'/>"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        s = load_urdf(path, stops={"stiffness": 100.0, "damping": 0.1})
    assert "stop_j" in s.loads


def test_stops_that_are_none_are_refused(tmp_path: Path) -> None:
    path = urdf(tmp_path, hinge("<limit lower='-0.5' upper='1'/>"))
    for stops, message in (({"damping": 1.0}, "not a table"), ({"stiffness": 1, "dampin": 1}, "'damping'")):
        with pytest.raises(ArmillaryError, match=message):
            load_urdf(path, stops=stops)


def test_runs_start_from_a_keyframe_on_request(tmp_path: Path) -> None:
    """qpos and qvel in MuJoCo's order: depth first, however the bodies are written."""
    content = """
    <compiler angle="radian"/><worldbody>
      <body name="a"><freejoint/><geom size="1" contype="0" conaffinity="0"/>
        <body name="b"><joint ref="0.5"/><geom size="1" contype="0" conaffinity="0"/></body></body>
      <body name="c"><joint type="ball"/><geom size="1" contype="0" conaffinity="0"/></body></worldbody>
    <keyframe><key name="home" qpos="1 2 3 2 0 0 0  0.75  0 0 3 0" qvel="1 2 3 4 5 6 7 8 9 10"/></keyframe>"""
    path = mjcf(tmp_path, content)
    s = arm.load(path, keyframe="home")
    start = [s.initial[x] for x in (*s.coordinates, *s.speeds)]
    assert start == [1, 2, 3, 1, 0, 0, 0, 0.25, 0, 0, 1, 0, *range(1, 11)]
    imported = load_mjcf(path).imported
    assert imported is not None and imported.keyframes == ("home",)
    with pytest.raises(ArmillaryError, match="did you mean 'home'"):
        load_mjcf(path, keyframe="hom")


def test_a_dropped_robot_falls_and_a_fixed_one_does_not(tmp_path: Path) -> None:
    path = urdf(tmp_path, f"<link name='a'>{MASS}</link>")
    free = load_urdf(path, floating=True, gravity=(0, 0, -2.0)).derive().compile()
    rates = free.accelerations(0.0, [0, 0, 0, 1, 0, 0, 0], np.zeros(6))
    assert rates == pytest.approx([0, 0, -2, 0, 0, 0])
    assert not load_urdf(path).speeds


def test_orientations_said_in_five_ways_are_the_same(tmp_path: Path) -> None:
    c, s = np.cos(0.3), np.sin(0.3)
    half = np.cos(0.15), np.sin(0.15)
    ways = {
        "euler": f"{np.degrees(0.3)} 0 0",
        "axisangle": f"2 0 0 {np.degrees(0.3)}",
        "quat": f"{2 * half[0]} {2 * half[1]} 0 0",
        "xyaxes": f"1 0 0 0.5 {c} {s}",
        "zaxis": f"0 {-3 * s} {3 * c}",
    }
    for key, value in ways.items():
        body = f"<body {key}='{value}'><joint axis='0 0 1'/><geom size='1'/></body>"
        system = load_mjcf(mjcf(tmp_path, f"<worldbody>{body}</worldbody>"))
        orient = system.bodies["body1"].orient
        assert orient is not None
        assert np.array(orient, float) == pytest.approx(
            np.array([[1, 0, 0], [0, c, -s], [0, s, c]]), abs=1e-15
        )


def test_euler_sequences_turn_about_moving_or_fixed_axes(tmp_path: Path) -> None:
    def orient(sequence: str) -> Any:
        body = "<body euler='0.1 0.2 0.3'><joint/><geom size='1'/></body>"
        compiler = f"<compiler angle='radian' eulerseq='{sequence}'/>"
        return np.array(
            load_mjcf(mjcf(tmp_path, f"{compiler}<worldbody>{body}</worldbody>")).bodies["body1"].orient,
            float,
        )

    def turn(axis: int, angle: float) -> np.ndarray:
        i, j = (axis + 1) % 3, (axis + 2) % 3
        R = np.eye(3)
        R[i, i] = R[j, j] = np.cos(angle)
        R[j, i] = np.sin(angle)
        R[i, j] = -R[j, i]
        return R

    x, y, z = turn(0, 0.1), turn(1, 0.2), turn(2, 0.3)
    assert orient("xyz") == pytest.approx(x @ y @ z)
    assert orient("XYZ") == pytest.approx(z @ y @ x)


@pytest.mark.parametrize("largest", range(4))
def test_quaternions_of_rotations_are_found_whichever_element_is_the_largest(largest: int) -> None:
    """Of R = 1 + 2 w ṽ + 2 ṽ², from its rotation matrix; w is not negative."""
    for small in np.random.default_rng(largest).uniform(-0.4, 0.4, size=(5, 4)):
        q = np.where(np.arange(4) == largest, 1.0, small)
        q /= np.linalg.norm(q) * (-1.0 if q[0] < 0 else 1.0)
        w, (x, y, z) = q[0], q[1:]
        v = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
        assert to_quaternion(np.eye(3) + 2 * w * v + 2 * v @ v) == pytest.approx(q, abs=1e-14)


def test_classes_of_defaults_are_inherited(tmp_path: Path) -> None:
    content = """
    <default><joint damping="1"/><motor gear="3"/>
      <default class="a"><joint stiffness="2"/><default class="b"><joint damping="5"/></default></default>
    </default>
    <worldbody><body name="u" childclass="a"><joint name="i"/><geom size="1"/>
      <body name="v"><joint name="j" class="b"/><geom size="1" contype="0" conaffinity="0"/>
        <body name="w"><joint name="k" class="main"/><geom size="1" contype="0" conaffinity="0"/></body>
    </body></body>
    </worldbody><actuator><motor name="m" joint="k"/><position name="p" joint="j" kp="4"/></actuator>"""
    s = load_mjcf(mjcf(tmp_path, content))
    given = {name: p.data.default for name, p in s.parameters.items() if name != "g"}
    assert given == {
        "damping_i": 1, "stiffness_i": 2, "damping_j": 5, "stiffness_j": 2, "damping_k": 1, "kp_p": 4
    }  # fmt: skip


def test_what_mjcf_has_beyond_us_is_listed(tmp_path: Path) -> None:
    content = """
    <option viscosity="0.1"/>
    <worldbody><body name="u" gravcomp="1"><joint name="i" frictionloss="1"/><geom size="1"/>
      <geom type="hfield" hfield="h"/></body></worldbody>
    <tendon><fixed name="t"><joint joint="i" coef="1"/></fixed></tendon>
    <actuator><motor name="pull" tendon="t"/><muscle name="flex" joint="i"/></actuator>
    <sensor><jointpos joint="i"/></sensor><keyframe><key qpos="0"/></keyframe>"""
    with pytest.warns(ImportedWarning) as caught:
        load_mjcf(mjcf(tmp_path, content))
    told = [str(warning.message) for warning in caught]
    words = (
        "viscosity", "'gravcomp' of <body>", "dry friction of joint 'i'", "mass of a hfield", "<tendon>",
        "'pull' is left out: it acts on a tendon", "'flex' is left out", "contact",
    )  # fmt: skip
    for word in words:
        assert len([text for text in told if word in text]) == 1
    assert len(told) == len(words)  # nothing of the sensor and the keyframe
    with pytest.raises(ArmillaryError) as refused:
        load_mjcf(tmp_path / "model.xml", strict=True)
    assert all(word in str(refused.value) for word in words)


def test_what_does_not_change_the_motion_is_no_warning(tmp_path: Path) -> None:
    looks = "<visual><geometry><sphere radius='1'/></geometry></visual><collision/>"
    fixed = (
        f"<link name='c'>{looks}</link><joint name='k' type='fixed'><parent link='b'/><child link='c'/>"
        "<axis xyz='0 0 0'/><limit effort='1' velocity='1'/><dynamics damping='2'/></joint>"
    )
    unused = (
        "<material name='red'><color rgba='1 0 0 1'/></material>"
        "<material name='oak'><texture filename='oak.png'/></material>"
    )
    path = urdf(tmp_path, hinge("<limit effort='1' velocity='1'/>", "continuous") + fixed + unused)
    text = path.read_text().replace("<robot name='r'>", "<robot name='r' xmlns:x='http://x' version='1.0'>")
    path.write_text(text + "<!-- end -->")
    load_urdf(path, strict=True)
    shapes = "<geom size='1' rgba='1 0 0 1' material='m' contype='0' conaffinity='0'/>"
    content = (
        "<asset><texture name='t' type='2d' builtin='flat' width='8' height='8'/><material name='m'/></asset>"
        f"<visual><map znear='0.1'/></visual><worldbody><light/><body><joint/>{shapes}</body></worldbody>"
        "<sensor/><keyframe><key qpos='0'/></keyframe>"
    )
    load_mjcf(mjcf(tmp_path, content), strict=True)


def test_what_other_programs_read_with_a_shrug_is_read_with_a_warning(tmp_path: Path) -> None:
    path = urdf(tmp_path, hinge("<axis xyz='0 1 0'/><axis xyz='0 0 1'/>", "continuous"))
    with pytest.warns(ImportedWarning, match=r"a second <axis> is left out \(robot.urdf:2\)"):
        s = load_urdf(path)
    assert "y" in s.bodies["b"].joint.describe()
    path.write_text("\n\n<?xml version='1.0'?>\n" + urdf(tmp_path, hinge(kind="continuous")).read_text())
    with pytest.warns(ImportedWarning, match="blanks before <"):
        load_urdf(path)
    path.write_text("\n<?xml version='1.0'?>\n<robot>\n<link/></robot>")
    with pytest.raises(ArmillaryError, match=r"robot.urdf:4: <link>"):
        load_urdf(path)


def test_a_second_joint_of_a_name_is_told_with_its_own_line(tmp_path: Path) -> None:
    text = """<robot name='r'>
<link name='a'/><link name='b'/><link name='c'/>
<joint name='i' type='fixed'><parent link='a'/><child link='b'/></joint>
<joint name='j' type='fixed'><parent link='a'/><child link='b'/></joint>
<joint name='j' type='fixed'><parent link='b'/><child link='c'/></joint>
</robot>"""
    (tmp_path / "robot.urdf").write_text(text)
    with pytest.raises(ArmillaryError, match=r"robot.urdf:5: <joint.*a second joint of this name"):
        load_urdf(tmp_path / "robot.urdf")


def test_a_dangling_transmission_names_its_joint(tmp_path: Path) -> None:
    drive = "<transmission name='t'><joint name='z'/></transmission>"
    path = urdf(tmp_path, hinge(kind="continuous") + drive)
    with pytest.warns(ImportedWarning, match="transmission 't' drives 'z', but there is no joint"):
        s = load_urdf(path)
    assert [*s.memories] == ["tau_j"]


TETRAHEDRON = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
OUTWARD = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]


def tetrahedron(suffix: str) -> bytes:
    """∫ over x, y, z ≥ 0, x + y + z ≤ 1 as a file."""
    corners, faces = np.array(TETRAHEDRON, dtype="<f4"), np.array(OUTWARD, dtype="<i4")
    if suffix == "stl":
        body = b"".join(bytes(12) + corners[face].tobytes() + bytes(2) for face in faces)
        return bytes(80) + np.array(4, "<u4").tobytes() + body
    if suffix == "msh":
        return np.array([4, 0, 0, 4], "<i4").tobytes() + corners.tobytes() + faces.tobytes()
    if suffix == "text.stl":
        loops = ("".join(f"vertex {x} {y} {z}\n" for x, y, z in corners[face]) for face in faces)
        return (
            "solid t\n" + "".join(f"facet outer loop\n{loop}endloop\n" for loop in loops) + "endsolid"
        ).encode()
    lines = [f"v {x} {y} {z}" for x, y, z in corners] + [
        "f 1//1 3//1 2//1",
        "f 1 2 4",
        "f -4 -1 -2",
        "f 2/1 3/2 4/3",
    ]
    return "\n".join(lines).encode()


@pytest.mark.parametrize("suffix", ["stl", "text.stl", "obj", "msh"])
@pytest.mark.parametrize("kind", ["exact", "legacy", "convex"])
def test_meshes_weigh_what_their_volume_does(suffix: str, kind: str, tmp_path: Path) -> None:
    """V = abc/6, mass centre (a, b, c)/4, J_xx = 3 m (b² + c²)/80 for edges a, b, c along the axes."""
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes" / f"t.{suffix}").write_bytes(tetrahedron(suffix))
    content = (
        f"<compiler meshdir='meshes'/><asset>"
        f"<mesh name='m' file='t.{suffix}' scale='1 2 -3' inertia='{kind}'/></asset><worldbody>"
        "<body name='b'><joint/><geom type='mesh' mesh='m' contype='0' conaffinity='0'/>"
        "</body></worldbody>"
    )
    body = load_mjcf(mjcf(tmp_path, content)).bodies["b"]
    assert float(body.mass.data) == pytest.approx(1000.0)
    assert [float(x.data) for x in body.com_coordinates] == pytest.approx([0.25, 0.5, -0.75])
    assert float(body.inertia[0][0].data) == pytest.approx(1000 * 3 * (4 + 9) / 80)
    assert float(body.inertia[0][1].data) == pytest.approx(1000 * 2 / 80)


@pytest.mark.parametrize(
    ("file", "data", "message"),
    [
        ("m.stl", b"solid", "damaged|no corners"),
        ("m.stl", None, "there is no file"),
        ("m.dae", b"<x/>", "files '.dae' are not read"),
        ("m.obj", b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9", "corner that is not there"),
        ("m.obj", b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3", "is flat"),
        ("m.msh", b"\1\0", "damaged"),
        ("m.stl", b"solid\n" + 4 * b"vertex 1 0 0\n", "4 vertices; every face has three"),
        ("m.stl", b"solid\n" + 3 * b"vertex 1 x 0\n", "damaged.*'x'"),
        ("m.stl", b"solid\nvertex 1 0 0\nvertex 1 0 0\nvertex 1 0", "2 coordinates; give three"),
        ("m.obj", b"v 0 0\nv 1 0\nv 0 1\nf 1 2 3", "2 coordinates; give three"),
        ("m.obj", b"v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2", "'f 1 2' has fewer than three corners"),
        ("m.obj", b"v 0 0 0\nv 1e39 0 0\nv 0 1 0\nf 1 2 3", "not finite"),
        ("m.obj", b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 " + 30 * b"9", "damaged"),
    ],
)
def test_meshes_that_cannot_be_weighed_are_refused_by_name(
    file: str, data: bytes | None, message: str, tmp_path: Path
) -> None:
    if data is not None:
        (tmp_path / file).write_bytes(data)
    body = "<worldbody><body><joint/><geom type='mesh' mesh='m'/></body></worldbody>"
    content = f"<asset><mesh name='m' file='{file}'/></asset>{body}"
    with pytest.raises(ArmillaryError, match=rf"<mesh name='m'>.*({message})"):
        load_mjcf(mjcf(tmp_path, content))
    weightless = content.replace(
        "mesh='m'/>", "mesh='m' mass='0' contype='0' conaffinity='0'/><geom size='1'/>"
    )
    assert float(load_mjcf(mjcf(tmp_path, weightless)).bodies["body1"].mass.data) > 0  # a picture, not read


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ("vertex='a b c d e f g h i'", "vertex: 'a' is not a number"),
        ("vertex='nan 0 0 1 0 0 0 1 0 0 0 1'", "vertex: 'nan' is not a quantity"),
        ("vertex='0 0 0 1 0 0 0 1 0 0 0 1' face='0 1.5 2'", "face: 1.5 is not the number of a vertex"),
        ("vertex='0 0 0 1 0 0 0 1 0 0 0 1' face='0 1 1e40'", "face: 1e.40 is not the number of a vertex"),
        ("vertex='0 0 0 1 0 0 0 1 0 0 0 1' face='0 1 x'", "face: 'x' is not a number"),
        ("vertex='0 0 0 1 0 0 0 1 0 0 0 1' face='0 1'", "come in threes"),
    ],
)
def test_vertices_and_faces_of_a_mesh_must_be_numbers(attributes: str, message: str, tmp_path: Path) -> None:
    body = "<worldbody><body><joint/><geom type='mesh' mesh='m'/></body></worldbody>"
    with pytest.raises(ArmillaryError, match=rf"<mesh name='m'>.*{message}"):
        load_mjcf(mjcf(tmp_path, f"<asset><mesh name='m' {attributes}/></asset>{body}"))


def test_ranges_and_whether_they_hold_are_inherited_apart(tmp_path: Path) -> None:
    """Each attribute by itself: MuJoCo resolves limits after all classes."""
    content = """
    <default><motor ctrlrange="-2 3"/><default class="off"><motor ctrllimited="false"/></default>
      <default class="flag"><motor ctrllimited="true"/></default></default>
    <worldbody><body><joint name="j"/><geom size="1" contype="0" conaffinity="0"/></body></worldbody>
    <actuator><motor name="a" joint="j" ctrllimited="true"/><motor name="b" joint="j" class="off"/>
      <motor name="c" joint="j" class="flag" ctrlrange="-1 1"/></actuator>"""
    s = load_mjcf(mjcf(tmp_path, content))
    texts = {name: str(s.loads[f"drive_{name}"].magnitude) for name in "abc"}
    assert "3" in texts["a"] and "-2" in texts["a"]
    assert texts["b"] == "ctrl_b" and "1" in texts["c"]
    with pytest.raises(ArmillaryError, match="ctrllimited='true', but ctrlrange is missing"):
        load_mjcf(mjcf(tmp_path, content.replace('ctrlrange="-2 3"', "").replace('ctrlrange="-1 1"', "")))


def test_shapes_have_the_inertia_of_their_volume() -> None:
    """Against integrals over a fine grid of points; 0.5 % is what the grid leaves at curved edges."""
    inside = {
        "sphere": ([0.7], lambda x, y, z: x * x + y * y + z * z <= 0.49),
        "ellipsoid": ([0.5, 0.7, 0.9], lambda x, y, z: (x / 0.5) ** 2 + (y / 0.7) ** 2 + (z / 0.9) ** 2 <= 1),
        "box": ([0.5, 0.7, 0.9], lambda x, y, z: (abs(x) <= 0.5) & (abs(y) <= 0.7) & (abs(z) <= 0.9)),
        "cylinder": ([0.5, 0.9], lambda x, y, z: (x * x + y * y <= 0.25) & (abs(z) <= 0.9)),
        "capsule": (
            [0.4, 0.5],
            lambda x, y, z: x * x + y * y + np.maximum(abs(z) - 0.5, 0) ** 2 <= 0.16,
        ),
    }
    line = (np.arange(120) + 0.5) / 120 * 2 - 1
    x, y, z = np.meshgrid(line, line, line, indexing="ij")
    for kind, (size, test) in inside.items():
        volume, moments = solid(kind, size)
        chosen = test(x, y, z)
        assert volume == pytest.approx(chosen.mean() * 8, rel=5e-3)
        a, b, c = ((v[chosen] ** 2).mean() for v in (x, y, z))
        assert moments == pytest.approx([b + c, a + c, a + b], rel=5e-3)


def test_a_shape_between_two_points_has_its_length_and_place(tmp_path: Path) -> None:
    """A cylinder from (1, 0, 0) to (1, 2, 0): J = m r²/2 along y and m (3 r² + l²)/12 across it."""
    geom = "<geom type='cylinder' size='0.1' mass='3' fromto='1 0 0 1 2 0' contype='0' conaffinity='0'/>"
    content = f"<worldbody><body name='b'><joint/>{geom}</body></worldbody>"
    body = load_mjcf(mjcf(tmp_path, content)).bodies["b"]
    across = 3 * (3 * 0.01 + 4) / 12
    assert [float(x.data) for x in body.com_coordinates] == pytest.approx([1, 1, 0])
    inertia = np.array([[float(x.data) for x in row] for row in body.inertia])
    assert inertia == pytest.approx(np.diag([across, 3 * 0.01 / 2, across]), abs=1e-14)


# ---------------------------------------------------------------- springs, servos and loops


def test_a_servo_sees_the_joint_through_its_gear_from_its_own_zero(tmp_path: Path) -> None:
    """MuJoCo: length = gear · qpos, where qpos is ref at rest; effort = gear · kp (ctrl − length)."""
    content = """
    <compiler angle="radian"/><option gravity="0 0 0"/>
    <worldbody><body name="b"><joint name="j" ref="0.3"/><inertial pos="0 0 0" mass="1" diaginertia="2 2 2"/>
    </body></worldbody><actuator><position name="p" joint="j" kp="5" kv="3" gear="7"/></actuator>"""
    model = load_mjcf(mjcf(tmp_path, content)).derive().compile()
    rates = model.accelerations(0.0, [0.2], [0.1], memory=[0.4])
    assert rates == pytest.approx([7 * (5 * (0.4 - 7 * (0.2 + 0.3)) - 3 * 7 * 0.1) / 2])


@pytest.mark.parametrize("angle", [0.0, 1e-3, 2.0, -2.5])
def test_a_spring_in_a_ball_joint_turns_back_the_shorter_way(angle: float, tmp_path: Path) -> None:
    """ω̇ = −k φ n / J of a ball, whichever sign its Euler parameters have, which mean the same rotation."""
    content = """
    <option gravity="0 0 0"/><worldbody><body name="b"><joint type="ball" stiffness="6"/>
    <inertial pos="0 0 0" mass="1" diaginertia="2 2 2"/></body></worldbody>"""
    model = load_mjcf(mjcf(tmp_path, content)).derive().compile()
    axis = np.array([2.0, -1.0, 2.0]) / 3
    e = np.array([np.cos(angle / 2), *(np.sin(angle / 2) * axis)])
    for sign in (1, -1):
        assert model.accelerations(0.0, sign * e, np.zeros(3)) == pytest.approx(-6 / 2 * angle * axis)


def test_bodies_that_are_connected_meet_where_they_are_at_rest(tmp_path: Path) -> None:
    """The anchor is a point of the first body; the start is not moved to close the loop, with both turned."""
    mass = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
    content = f"""
    <compiler angle="radian"/><worldbody>
      <body name="a" pos="1 0 0.5" euler="0.3 0.4 0.5"><joint name="j"/>{mass}</body>
      <body name="b" pos="0 2 -1" euler="-0.2 0.7 0.1"><freejoint name="f"/>{mass}</body>
    </worldbody><equality><connect body1="a" body2="b" anchor="0.3 0.1 -0.2"/></equality>"""
    with pytest.warns(ImportedWarning, match="rigid, not springs"):
        s = load_mjcf(mjcf(tmp_path, content))
    start = {q.data.name: s.initial[q] for q in s.coordinates}
    run = s.derive().compile().simulate(1e-3, sample=1e-3)
    assert {name: run[name][0] for name in start} == pytest.approx(start, abs=1e-12)


# ---------------------------------------------------------------- included files


def test_included_files_are_part_of_the_model(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    mjcf(tmp_path / "parts", "<body name='b'><joint/><geom size='1'/></body>", "arm.xml")
    s = load_mjcf(mjcf(tmp_path, "<worldbody><include file='parts/arm.xml'/></worldbody>"))
    assert [*s.bodies] == ["b"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("../secret.xml", "outside the model's folder"),
        ("/etc/passwd", "outside the model's folder"),
        ("link.xml", "outside the model's folder"),
        ("model.xml", "includes itself"),
        ("none.xml", "no file 'none.xml'"),
        (".", "no file '.'"),
    ],
)
def test_includes_lead_nowhere_else(name: str, message: str, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    mjcf(tmp_path, "", "secret.xml")
    (folder / "link.xml").symlink_to(tmp_path / "secret.xml")
    with pytest.raises(ArmillaryError, match=r"model.xml:2: <include>.*" + message):
        load_mjcf(mjcf(folder, f"<include file='{name}'/>"))


# ---------------------------------------------------------------- what is refused

URDF_FAULTS = {
    "": "a robot without a <link>",
    "<link/>": "'name' is missing",
    "<link name='a'/><link name='a'/>": "a second link",
    "<link name='a'/><link name='b'/>": r"several roots \(a, b\)",
    hinge() + "<joint name='j' type='fixed'><parent link='b'/><child link='a'/></joint>": "second joint",
    hinge() + "<joint name='k' type='fixed'><parent link='b'/><child link='a'/></joint>": "form a circle",
    hinge()
    + "<joint name='k' type='fixed'><parent link='a'/><child link='b'/></joint>": "has a parent already",
    hinge(kind="revolut"): "did you mean 'revolute'",
    hinge("<axis xyz='0 0 0'/>"): "axis of length zero",
    hinge("<axis xyz='0 1'/>"): "has 2 values; give 3",
    hinge("<axis xyz='0 1 x'/>"): "'x' is not a number",
    hinge("<axis xyz='0 1 nan'/>"): "finite number",
    hinge("<origin rpy='0 0 1e400'/>"): "finite number",
    hinge("<limit lower='1' upper='0'/>"): "lower end is above",
    hinge("<mimic joint='j'/>"): "not another hinge",
    hinge("<mimic joint='z'/>"): "joint 'j' follows 'z', but there is no joint",
    hinge().replace("link='a'/><child", "link='z'/><child"): "no link 'z'",
    "<link name='a'><inertial><mass value='-1'/></inertial></link>": "less than 0",
    "<link name='a'><inertial/></link>": "needs a <mass>",
    "<xacro:macro name='a'/>": "run xacro",
}
MJCF_FAULTS = {
    "<worldbody><joint/></worldbody>": "world cannot have a joint",
    "<worldbody><body name='a'/><body name='a'/></worldbody>": "'a' is taken",
    "<worldbody><body name='a'><body><freejoint/></body></body></worldbody>": "must be the only joint",
    "<worldbody><body quat='0 0 0 0'/></worldbody>": "length zero",
    "<worldbody><body quat='1 0 0 0' euler='0 0 0'/></worldbody>": "say the same thing",
    "<worldbody><body xyaxes='1 0 0 2 0 0'/></worldbody>": "parallel",
    "<worldbody><body childclass='x'/></worldbody>": "no default class 'x'",
    "<worldbody><body><geom type='ball' size='1'/></body></worldbody>": "not one of sphere",
    "<worldbody><body><geom type='box' size='1'/></body></worldbody>": "3 sizes, not 1",
    "<compiler coordinate='global'/>": "local coordinates",
    "<compiler eulerseq='abc'/>": "three of the letters",
    "<actuator><motor joint='x'/></actuator>": "no joint 'x'",
    "<equality><connect body1='x' anchor='0 0 0'/></equality>": "no body 'x'",
    "<equality><joint joint1='x'/></equality>": "no hinge or slider 'x'",
    "<equality><weld body1='world'/></equality>": "both points are on body 'ground'",
    "<option><flag gravity='off'/></option>": "not one of enable, disable",
    "<worldbody><body><joint name='x'/></body></worldbody><equality><joint joint1='x' joint2='x'/>"
    "</equality>": "a joint cannot follow itself",
    "<worldbody><body><geom fromto='0 0 0 1 0 0'/></body></worldbody>": "a sphere has no fromto",
}


@pytest.mark.parametrize("content", URDF_FAULTS)
def test_faults_of_urdf_are_told_with_their_line(content: str, tmp_path: Path) -> None:
    with pytest.raises(ArmillaryError, match=r"^robot.urdf:[12]: <.*" + URDF_FAULTS[content]):
        load_urdf(urdf(tmp_path, content))


@pytest.mark.parametrize("content", MJCF_FAULTS)
def test_faults_of_mjcf_are_told_with_their_line(content: str, tmp_path: Path) -> None:
    with pytest.raises(ArmillaryError, match=r"^model.xml:[12]: <.*" + MJCF_FAULTS[content]):
        load_mjcf(mjcf(tmp_path, content))


LAUGHS = "<!DOCTYPE robot [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;&a;'>]><robot name='&b;'/>"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "no element found"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "not well-formed"),
        (b"<robot><link name='a'></robot>", "mismatched tag"),
        (LAUGHS.encode(), "document type"),
        (b"<?xml version='1.0' encoding='no-such'?><robot/>", "encoding"),
        (b"<mujoco/>", "load_mjcf reads it"),
        (b"<html/>", "not <html>"),
        (b"<a>" * 6000, "no model is that deep"),
    ],
)
def test_files_that_are_no_robots_are_refused(data: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "robot.urdf"
    path.write_bytes(data)
    with pytest.raises(ArmillaryError, match=message):
        load_urdf(path)


def test_files_that_are_not_there_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ArmillaryError, match=r"cannot load .*there is no such file"):
        load_urdf(tmp_path / "robot.urdf")
    with pytest.raises(ArmillaryError, match="this is a folder; give a file"):
        load_mjcf(tmp_path)
    with pytest.raises(ArmillaryError, match="gravity='down'"):
        load_urdf(urdf(tmp_path, hinge(kind="continuous")), gravity="down")
    with pytest.raises(ArmillaryError, match="torques='some'"):
        load_urdf(urdf(tmp_path, hinge()), torques="some")


TWO_SHAPES = """
<default><geom contype='0' conaffinity='0'/></default><worldbody><body name='b'><joint name='j' axis='0 1 0'/>
  <geom type='sphere' size='0.1' mass='2' pos='0.5 0 0'/>
  <geom type='sphere' size='0.1' mass='3' group='4' pos='0 0.5 0'/>
</body><body name='c' pos='2 0 0'><joint name='k' type='slide' axis='1 0 0'/>
  <geom type='sphere' size='0.2' mass='5'/>
</body></worldbody>"""


@pytest.mark.parametrize(
    ("settings", "mass", "centre"),
    [
        ("", 5.0, (0.2, 0.3, 0.0)),
        ("inertiagrouprange='0 3'", 2.0, (0.5, 0.0, 0.0)),
        ("inertiagrouprange='4 5'", 3.0, (0.0, 0.5, 0.0)),
        ("settotalmass='20'", 10.0, (0.2, 0.3, 0.0)),
    ],
)
def test_settings_choose_and_scale_the_masses_of_shapes(
    settings: str, mass: float, centre: tuple[float, float, float], tmp_path: Path
) -> None:
    """Geoms of groups outside of the range have no mass; all masses are scaled to a given total."""
    text = TWO_SHAPES if "4 5" not in settings else TWO_SHAPES.replace("size='0.2'", "size='0.2' group='5'")
    s = load_mjcf(mjcf(tmp_path, f"<compiler {settings}/>{text}"))
    assert float(s.bodies["b"].mass.data) == pytest.approx(mass)
    found = arm.position(s.bodies["b"].com, s.bodies["b"].origin).components(s.bodies["b"].frame)
    assert [float(x) for x in found] == pytest.approx(centre)
