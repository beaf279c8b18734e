"""Angles of robot files whose digits spell a multiple of π/12, and principal axes of inertias."""

from __future__ import annotations

import math
import warnings
from pathlib import Path

import numpy as np
import pytest

import armillary as arm
from armillary.errors import ImportedWarning
from armillary.files.robots.rotations import find_multiple, principal_axes


@pytest.mark.parametrize(
    ("word", "k"),
    [
        *(("1.5708", 6), ("-1.57079632679", -6), ("3.14159", 12), ("3.1415", 12), ("3.1416", 12)),
        *(("1.570796326794897", 6), ("0.7853981", 3), ("0.785398163397448", 3), ("15.7079632679e-1", 6)),
        *(("-0.26180", -1), ("6.283185307", 24), ("1.0471975512", 4), ("4.71238898038469", 18)),
        *(("1.57", None), ("3.14", None), ("1.5709", None), ("1.57082", None), ("0", None)),
        *(("0.00000", None), ("1.5707", 6), ("1.5706", None), ("1e400", None), ("0.78539", 3)),
        *(("1000.0001", None), ("1.57079632", 6), ("1.57079638", None), ("${pi}", None)),
    ],
)
def test_which_angles_are_spelled(word: str, k: int | None) -> None:
    assert find_multiple(word) == k


LINKS = """
<robot name="r">
<link name="a"/>
<link name="b"><inertial><origin xyz="0.1 0.2 0.3"/><mass value="2"/><inertia ixx="1" iyy="2" izz="2.5"
  ixy="0.1" ixz="0" iyz="0"/></inertial></link>
<link name="c"><inertial><origin xyz="0.1 0 0.3"/><mass value="1"/><inertia ixx="1" iyy="2" izz="2.5"
  ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="A" type="continuous"><parent link="a"/><child link="b"/><origin rpy="{0} 0 0"/>
  <axis xyz="0 0 1"/></joint>
<joint name="B" type="continuous"><parent link="b"/><child link="c"/><origin xyz="0.4 0 0" rpy="0 {0} {0}"/>
  <axis xyz="0 0 1"/></joint>
</robot>"""


def _robot(folder: Path, angle: str) -> arm.System:
    path = folder / f"r{angle}.urdf"
    path.write_text(LINKS.format(angle), encoding="utf-8")
    return arm.load(path)


def test_spelled_right_angles_cost_no_operations_and_are_reported(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plain = _robot(tmp_path, "1.57").derive()
        exact = _robot(tmp_path, repr(math.pi / 2))
    with pytest.warns(ImportedWarning, match=r"3 angles .* at most 4\.9e-12 rad .* as −π/2 in .*urdf:8"):
        spelled = _robot(tmp_path, "-1.57079632679")
    with pytest.warns(ImportedWarning, match="as π/2"):
        same = _robot(tmp_path, "1.5708")
    assert len(spelled.imported.remarks) == 1
    assert spelled.imported.notes == []
    assert exact.imported.remarks == []
    few, many = exact.derive(), plain.operations
    assert same.derive().operations == few.operations
    assert few.operations.multiplications < 0.8 * many.multiplications
    state = [0.3, -0.7, 0.4, 1.1]
    one, other = (s.derive().compile().derivatives(0, state) for s in (exact, same))
    assert np.array_equal(one, other)


def test_a_strict_import_takes_a_spelled_angle(tmp_path: Path) -> None:
    path = tmp_path / "r.urdf"
    path.write_text(LINKS.format("1.5708"), encoding="utf-8")
    with pytest.warns(ImportedWarning, match="π/2"):
        assert arm.load(path, strict=True).imported.notes == []


def test_euler_angles_in_radians_are_spelled_too(tmp_path: Path) -> None:
    path = tmp_path / "m.xml"
    geom = "<joint type='hinge' axis='0 0 1'/><geom type='box' size='.1 .2 .3' mass='1' contype='0'/>"
    path.write_text(
        "<mujoco><compiler angle='radian'/><worldbody><body name='b' euler='1.5708 0 0'>"
        f"{geom}</body></worldbody></mujoco>",
        encoding="utf-8",
    )
    with pytest.warns(ImportedWarning, match="euler 1.5708 as π/2"):
        arm.load(path)


def test_exact_angles_are_those_of_the_file(tmp_path: Path) -> None:
    """More digits spell nothing, so that they are taken as they are; 1.5708 is 3.7e-6 rad from π/2."""
    path = tmp_path / "r.urdf"
    path.write_text(LINKS.format("1.5708"), encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        written = arm.load(path, exact_angles=True).derive().compile()
        digits = _robot(tmp_path, "1.57080000000000").derive().compile()
    with pytest.warns(ImportedWarning, match="exact_angles=True reads angles as written"):
        spelled = arm.load(path).derive().compile()
    state = [0.3, -0.7, 0.4, 1.1]
    one, two, three = (m.derivatives(0, state) for m in (written, digits, spelled))
    assert np.array_equal(one, two) and 1e-7 < np.max(np.abs(one - three)) < 1e-3
    hinge = "<joint type='hinge' axis='0 0 1'/><geom type='box' size='.1 .2 .3' mass='1' contype='0'/>"
    (tmp_path / "m.xml").write_text(
        "<mujoco><compiler angle='radian'/><worldbody><body name='b' euler='1.5708 0 0'>"
        f"{hinge}</body></worldbody></mujoco>",
        encoding="utf-8",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert arm.load(tmp_path / "m.xml", exact_angles=True).imported.remarks == []


@pytest.mark.parametrize(("inertia", "axes"), [
    ([[3, 0.5, -0.2], [0.5, 2, 0.4], [-0.2, 0.4, 4]],
     [[-0.105597, -0.919202, 0.379365], [0.162659, -0.392326, -0.905330], [0.981015, -0.033893, 0.190945]]),
    ([[2, -0.7, 0.1], [-0.7, 2.5, 0.6], [0.1, 0.6, 3]],
     [[-0.247976, 0.623384, 0.741553], [0.629061, -0.478515, 0.612621], [0.736743, 0.618398, -0.273486]]),
    ([[5, 0.3, 1.2], [0.3, 4, -0.9], [1.2, -0.9, 6]],
     [[0.493680, -0.742148, 0.453317], [-0.209114, -0.607279, -0.766474], [0.844127, 0.283598, -0.454996]]),
])  # fmt: skip
def test_principal_axes_are_those_that_mujoco_chooses(
    inertia: list[list[float]], axes: list[list[float]]
) -> None:
    """``mju_eig3`` of MuJoCo 4.0.0 takes these of the axes and signs that diagonalise an inertia, to 1e-6."""
    assert principal_axes(np.array(inertia, float)) == pytest.approx(np.array(axes), abs=2e-6)


@pytest.mark.parametrize("plane", [(0, 1), (0, 2), (1, 2)])
def test_an_inertia_with_one_product_is_diagonal_after_one_turn(plane: tuple[int, int]) -> None:
    """tan 2θ = 2 I_ij/(I_ii − I_jj), to rounding."""
    i, j = plane
    inertia = np.diag([5.0, 3.0, 4.0])
    inertia[i, j] = inertia[j, i] = 0.7
    angle = 0.5 * math.atan2(1.4, inertia[i, i] - inertia[j, j])
    axes = principal_axes(inertia)
    along = math.cos(angle) * np.eye(3)[i] + math.sin(angle) * np.eye(3)[j]
    assert np.max(np.abs(along @ axes)) == pytest.approx(1.0, abs=1e-14)
    diagonal = axes.T @ inertia @ axes
    assert diagonal == pytest.approx(np.diag(sorted(np.diag(diagonal), reverse=True)), abs=1e-13)
