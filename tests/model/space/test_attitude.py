"""Attitudes against SciPy's rotations: all sequences, all attitudes, gimbal lock, the short turn of MRPs."""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import armillary as arm

SEQUENCES = [
    "".join(s) for s in itertools.product("xyz", repeat=3) if s[0] != s[1] and s[1] != s[2]
]  # fmt: skip
RANDOM = [Rotation.from_quat(q, scalar_first=True) for q in np.random.default_rng(3).normal(size=(6, 4))]


@cache
def model(orient: Any = None) -> Any:
    """A free body with outputs of every kind."""
    s = arm.System("body")
    s.body("body", joint=arm.Free(), mass=1, inertia=(1, 1, 1), orient=orient)
    for kind in ("quaternion", "mrp", *SEQUENCES):
        s.attitude_output(kind, "body", kind)
    return s.derive().compile()


def shown(kind: str, turn: Rotation, *, orient: Any = None) -> np.ndarray:
    """What outputs say of a joint with this turn."""
    e = turn.as_quat(scalar_first=True)
    out = model(orient).outputs(0.0, [0, 0, 0, *e, *[0] * 6])
    return np.array([out[f"{kind} {i}"] for i in range(1, 5 if kind == "quaternion" else 4)])


@pytest.mark.parametrize("sequence", SEQUENCES)
def test_angles_of_every_sequence(sequence: str) -> None:
    for turn in RANDOM:
        found = shown(sequence, turn)
        wanted = turn.as_euler(sequence.upper())
        np.testing.assert_allclose(np.sin(found - wanted), 0, atol=1e-13)
        np.testing.assert_allclose(found[1], wanted[1], atol=1e-13)  # in the same range


@pytest.mark.parametrize("sequence", SEQUENCES)
@pytest.mark.parametrize("end", [0, 1])
@pytest.mark.parametrize("off", [0.0, 1e-12, 1e-8])
def test_angles_in_and_near_gimbal_lock(sequence: str, end: int, off: float) -> None:
    """The three angles give the attitude back, whatever they are."""
    symmetric = sequence[0] == sequence[2]
    second = (np.pi * end if symmetric else np.pi * (end - 0.5)) + off * (1 if end == 0 else -1)
    turn = Rotation.from_euler(sequence.upper(), [0.4, second, -1.1])
    found = shown(sequence, turn)
    again = Rotation.from_euler(sequence.upper(), found)
    assert np.all(np.isfinite(found))
    assert (again * turn.inv()).magnitude() < 2e-15


@pytest.mark.parametrize("angle", [0.0, 0.5, 3.0, np.pi, 3.3, 6.0])
def test_mrp_is_of_the_short_turn(angle: float) -> None:
    axis = np.array([0.6, 0.0, -0.8])
    e = np.array([np.cos(angle / 2), *(np.sin(angle / 2) * axis)])
    for sign in (1, -1):
        found = shown("mrp", Rotation.from_quat(sign * e, scalar_first=True))
        short = angle if angle <= np.pi else angle - 2 * np.pi
        wanted = axis * np.tan(short / 4)
        if angle == np.pi:  # both ways round are as short
            wanted = wanted * np.sign(found[0] / wanted[0])
        np.testing.assert_allclose(found, wanted, atol=1e-15)
        assert np.linalg.norm(found) <= 1 + 1e-15


def test_quaternions_of_joints_and_of_any_rotation() -> None:
    for turn in [*RANDOM, *(Rotation.from_rotvec(np.pi * a) for a in np.eye(3))]:
        e = turn.as_quat(scalar_first=True)
        np.testing.assert_allclose(shown("quaternion", turn), e, atol=1e-16)  # as the joint has it
        found = shown("quaternion", turn, orient=("x", 0.3))
        wanted = (turn * Rotation.from_euler("X", 0.3)).as_quat(scalar_first=True, canonical=True)
        assert found[0] >= 0
        np.testing.assert_allclose(np.abs(found @ wanted), 1, atol=1e-14)


def test_relative_to_another_body_and_in_degrees() -> None:
    s = arm.System("chain")
    a = s.body("a", joint=arm.Revolute("z"), mass=1, inertia=(1, 1, 1))
    b = s.body("b", a, arm.Revolute("x"), mass=1, inertia=(1, 1, 1))
    s.attitude_output("tilt", b, "zxy", relative_to="a", units="deg")
    s.attitude_output("whole", b, "zxy")
    s.output("half", arm.attitude(b, "quaternion", a)[1])
    out = s.derive().compile().outputs(0.0, [0.5, 0.25, 0, 0])
    assert [out[f"tilt {i}"] for i in (1, 2, 3)] == pytest.approx([0, np.degrees(0.25), 0], abs=1e-13)
    assert [out[f"whole {i}"] for i in (1, 2, 3)] == pytest.approx([0.5, 0.25, 0], abs=1e-15)
    assert out["half"] == pytest.approx(np.sin(0.125))


def test_bad_attitudes() -> None:
    s = arm.System("bad")
    body = s.body("body", joint=arm.Free(), mass=1, inertia=(1, 1, 1))
    other = arm.System("other").body("there", joint=arm.Free(), mass=1, inertia=(1, 1, 1))
    with pytest.raises(arm.ModelError, match=r"no kind 'quarternion'; did you mean 'quaternion'"):
        arm.attitude(body, "quarternion")
    for kind in ("xxy", "xy", "abc", 3):
        with pytest.raises(arm.ModelError, match="no kind"):
            arm.attitude(body, kind)  # type: ignore[arg-type]
    with pytest.raises(arm.ModelError, match="not a body of its system"):
        arm.attitude(body, "mrp", other)
    with pytest.raises(arm.ModelError, match="needs a body"):
        arm.attitude("body", "mrp")
    with pytest.raises(arm.ModelError, match="no units"):
        s.attitude_output("a", body, "mrp", units="deg")
