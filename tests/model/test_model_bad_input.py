"""Bad names, joints and data: each mistake is an error at its own line that says what would be right."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import armillary as arm
from tests.model.mistakes import Model, Table, cases, check, small_model

NAN = float("nan")


@pytest.fixture
def m() -> Model:
    return small_model()


NAMES: Table = [
    (
        "unknown parent",
        lambda m: m.s.body("C", "a"),
        "parent of body 'C': there is no body 'a'; did you mean 'A'",
    ),
    ("parent that is no body", lambda m: m.s.body("C", 3), "parent of body 'C': 3 is not a body"),
    ("body twice", lambda m: m.s.body("A"), "body 'A': the name is taken by a body"),
    ("body named as a parameter", lambda m: m.s.body("L"), "body 'L': the name is taken by a parameter"),
    ("parameter twice", lambda m: m.s.parameter("L"), "declare it before the first text that uses it"),
    (
        "load named as a body",
        lambda m: m.s.force("A", 1, m.A.x, at=m.A),
        "force 'A': the name is taken by a body",
    ),
    ("time", lambda m: m.s.body("t"), "'t': the name is reserved"),
    ("ground", lambda m: m.s.body("ground"), "'ground': the name is reserved"),
    ("function name", lambda m: m.s.parameter("sin"), "'sin': the name is reserved"),
    ("vector function name", lambda m: m.s.body("dot"), "'dot': the name is reserved"),
    ("keyword", lambda m: m.s.parameter("lambda"), "'lambda': the name is reserved"),
    ("blank in a name", lambda m: m.s.body("left arm"), "a digit not first; write 'left_arm'"),
    ("dot in a name", lambda m: m.s.parameter("A.k"), "'A.k' is not a name"),
    ("number as a name", lambda m: m.s.body(3), "3 is not a name"),
    (
        "unknown coordinate",
        lambda m: m.A.q2,
        r"body 'A' \(revolute z\) has 1 coordinate, so there is no A.q2",
    ),
    ("unknown part", lambda m: m.A.orgin, "body 'A' has no 'orgin'; did you mean 'origin'"),
    ("unknown point", lambda m: m.A.point("orign"), "no point 'orign'; did you mean 'origin'"),
    ("point twice", lambda m: m.A.point("com", (0, 0, 1)), "body 'A' has a 'com' already"),
    ("point named as a coordinate", lambda m: m.A.point("q7", (0, 0, 1)), "body 'A' has a 'q7' already"),
    ("point named as an axis", lambda m: m.A.point("x", (0, 0, 1)), "body 'A' has a 'x' already"),
    ("point named as the mass", lambda m: m.A.point("mass", (0, 0, 1)), "body 'A' has a 'mass' already"),
    (
        "blank in a point's name",
        lambda m: m.A.point("my tip", (0, 0, 1)),
        "point name 'my tip' is not a name",
    ),
    ("output twice", lambda m: [m.s.output("o", "L") for _ in "12"], "output 'o' exists already"),
    ("event twice", lambda m: [m.s.event("e", "A.q1") for _ in "12"], "event 'e' exists already"),
    ("unit system", lambda m: arm.System("x", units="si"), "unknown unit system 'si'; did you mean 'SI'"),
]

JOINTS: Table = [
    ("zero axis", lambda m: arm.Revolute((0, 0, 0)), r"Revolute: the axis \(0, 0, 0\) has no direction"),
    (
        "zero axis in text",
        lambda m: m.s.body("C", joint=arm.Revolute(("0", "0", "0"))),
        "joint of 'C'.*no direction",
    ),
    (
        "zero axis as an array",
        lambda m: m.s.body("C", joint=arm.Revolute(np.zeros(3, int))),
        "has no direction",
    ),
    (
        "axis letter",
        lambda m: arm.Revolute("w"),
        "Revolute: axis 'w' is not one of 'x', 'y', 'z' or three numbers",
    ),
    ("two components", lambda m: arm.Prismatic((1, 0)), "Prismatic: an axis has three components, not 2"),
    ("axis that is a vector", lambda m: arm.Revolute(m.A.x), "Revolute: axis A.x is not one of"),
    ("axis with NaN", lambda m: m.s.body("C", joint=arm.Revolute((NAN, 0, 1))), "joint of body 'C' is nan"),
    (
        "varying axis",
        lambda m: m.s.body("C", joint=arm.Revolute(("A.q1", 0, 1))),
        "'A.q1' varies.*constant is needed",
    ),
    ("gimbal about one axis", lambda m: arm.Gimbal("zz"), "'zz' turns twice in a row about the same axis"),
    ("gimbal of four", lambda m: arm.Gimbal("zyxz"), "not a sequence of 2 or 3 of the letters x, y, z"),
    ("gimbal of one oblique axis", lambda m: arm.Gimbal([(0, 0.6, 0.8)]), "Gimbal: it turns about 2 or 3"),
    (
        "gimbal twice about one oblique axis",
        lambda m: arm.Gimbal([(0, 0.6, 0.8), (0, -3, -4)]),
        "Gimbal: the axes .* do not point in independent directions",
    ),
    ("gimbal of a number", lambda m: arm.Gimbal(3), "Gimbal: '3' is not a sequence"),
    ("ball of two angles", lambda m: arm.Spherical("zy"), "'zy' is not a sequence of 3 of the letters"),
    ("free rotation", lambda m: arm.Free(rotation="euler"), r"Free\(rotation=…\): 'euler' is not a sequence"),
    (
        "free velocity",
        lambda m: arm.Free(velocity="world"),
        "velocity='world' is neither 'parent', 'body' nor 'auto'",
    ),
    ("planar velocity", lambda m: arm.Planar(velocity="x"), "velocity='x' is neither 'parent' nor 'body'"),
    ("planar slanted", lambda m: arm.Planar((1, 1, 0), velocity="body"), "needs the normal 'x', 'y' or 'z'"),
    (
        "planar with orient",
        lambda m: m.s.body("C", joint=arm.Planar(velocity="body"), orient=("x", 0.1)),
        "body 'C': Planar.*takes no orient; fix a body with that orient on it",
    ),
    ("four slides", lambda m: arm.Joint(translate="xyzx"), "at most three translations and three rotations"),
    ("slide twice", lambda m: arm.Joint(translate="xx"), "axes x, x do not point in independent directions"),
    (
        "three slides in a plane",
        lambda m: arm.Joint(translate=["x", "y", (1, 1, 0)]),
        "independent directions",
    ),
    (
        "turn twice",
        lambda m: arm.Joint(rotate=["x", (2, 0, 0)]),
        r"axes x, \(2, 0, 0\) do not point in independent",
    ),
    (
        "joint as text",
        lambda m: m.s.body("C", joint="revolute"),
        "joint='revolute' is not a joint; give one such as",
    ),
    (
        "joint as a class",
        lambda m: m.s.body("C", joint=arm.Revolute),
        "is not a joint; give one such as Revolute",
    ),
]

DATA: Table = [
    ("negative mass", lambda m: m.s.body("C", mass=-1), "body 'C': its mass -1 is negative"),
    ("negative default", lambda m: m.s.body("C", mass=m.s.parameter("mC", -2)), "its mass -2 is negative"),
    ("NaN mass", lambda m: m.s.body("C", mass=NAN), "mass of body 'C' is nan; give a finite number"),
    ("infinite mass", lambda m: m.s.body("C", mass=math.inf), "mass of body 'C' is inf"),
    (
        "mass in metres",
        lambda m: m.s.body("C", mass="L"),
        r"mass of body 'C': 'L' has dimension \[m\], but \[kg\]",
    ),
    ("varying mass", lambda m: m.s.body("C", mass="m0*t"), "'m0.t' varies with the motion or time"),
    (
        "mass that is a body",
        lambda m: m.s.body("C", mass=m.A),
        "mass of body 'C'.*is not a number, text or expression",
    ),
    (
        "impossible inertia",
        lambda m: m.s.body("C", inertia=(1, 1, 3)),
        "principal moments of inertia 1, 1, 3.*check_inert",
    ),
    (
        "impossible product",
        lambda m: m.s.body("C", inertia=(1, 1, 1, 2, 0, 0)),
        "moments of inertia -1, 1, 3",
    ),
    ("negative moment", lambda m: m.s.body("C", inertia=(-1, 1, 1)), "moments of inertia -1, 1, 1"),
    (
        "inertia of one number",
        lambda m: m.s.body("C", inertia=2.0),
        "inertia=2.0 is not an inertia; give 0, three",
    ),
    ("inertia of four", lambda m: m.s.body("C", inertia=(1, 2, 3, 4)), "this one has 4 elements"),
    (
        "ragged inertia",
        lambda m: m.s.body("C", inertia=((1, 0, 0), (0, 1), (0, 0, 1))),
        r"rows have \[3, 2, 3\] elements",
    ),
    (
        "skew inertia",
        lambda m: m.s.body("C", inertia=((1, 0.1, 0), (0, 1, 0), (0, 0, 1))),
        "not symmetric: element 12 is 0.1",
    ),
    ("NaN inertia", lambda m: m.s.body("C", inertia=(1, NAN, 1)), "inertia of body 'C' is nan"),
    (
        "inertia in metres",
        lambda m: m.s.body("C", inertia=("L", 1, 1)),
        r"'L' has dimension \[m\], but \[kg.m\^2\]",
    ),
    ("inertia that is a body", lambda m: m.s.body("C", inertia=m.A), "is not an inertia"),
    ("place of two", lambda m: m.s.body("C", at=(1, 2)), "'at' of body 'C': three values are needed"),
    (
        "place in newtons",
        lambda m: m.s.body("C", at=("F0", 0, 0)),
        r"'F0' has dimension \[kg.m/s\^2\], but \[m\]",
    ),
    ("varying place", lambda m: m.s.body("C", at=(m.B.q1, 0, 0)), "'B.q1' varies with the motion or time"),
    ("NaN place", lambda m: m.s.body("C", at=(0, NAN, 0)), "'at' of body 'C' is nan"),
    (
        "mass centre of four",
        lambda m: m.s.body("C", com=(1, 2, 3, 4)),
        "mass centre of body 'C': three values",
    ),
    ("point of two", lambda m: m.A.point("tip", (1, 2)), "point 'tip' of body 'A': three values are needed"),
    (
        "stretching orient",
        lambda m: m.s.body("C", orient=np.diag([1, 2, 1])),
        "orient is not a rotation matrix.*by 3",
    ),
    *(
        (
            f"orient of rotation but for {i}, {j}",
            lambda m, i=i, j=j: m.s.body("C", orient=np.eye(3) + 1e-6 * np.outer(np.eye(3)[i], np.eye(3)[j])),
            "orient is not a rotation matrix.*by [12]e-06",
        )
        for i in range(3)
        for j in range(3)
    ),
    (
        "mirroring orient",
        lambda m: m.s.body("C", orient=np.diag([1, 1, -1])),
        "not a rotation matrix.*determinant -1",
    ),
    (
        "orient without angles",
        lambda m: m.s.body("C", orient="zx"),
        "orient is a 3×3 matrix or a sequence with its angles",
    ),
    (
        "orient with an angle missing",
        lambda m: m.s.body("C", orient=("zx", 0.1)),
        "or a sequence with its angles",
    ),
    ("orient that is a number", lambda m: m.s.body("C", orient=3), "orient is a 3×3 matrix or a sequence"),
    ("varying orient", lambda m: m.s.body("C", orient=("z", m.A.q1)), "orient of body 'C': 'A.q1' varies"),
    (
        "NaN default",
        lambda m: m.s.parameter("p", NAN),
        "the default of parameter 'p' is nan; give a finite number",
    ),
    ("NaN of another type", lambda m: m.s.parameter("p", np.float32(NAN)), "parameter 'p' is nan"),
    (
        "default as text",
        lambda m: m.s.parameter("p", "abc"),
        "default of parameter 'p' is 'abc'; give a number",
    ),
    ("unknown unit", lambda m: m.s.parameter("p", 1, units="furlongs"), "unknown unit 'furlongs'"),
    ("NaN memory", lambda m: m.s.memory("n", NAN), "initial value of memory 'n' is nan"),
]


@pytest.mark.parametrize(("mistake", "message"), cases(name=NAMES, joint=JOINTS, datum=DATA))
def test_a_mistake_is_an_error_that_says_what_and_where(mistake: Any, message: str) -> None:
    check(mistake, message)


def test_an_impossible_inertia_can_be_allowed(m: Model) -> None:
    body = m.s.body("C", m.A, inertia=(1, 1, 3), check_inertia=False)
    assert [float(body.inertia[i][i]) for i in range(3)] == [1, 1, 3]


def test_moments_are_compared_in_the_same_unit(m: Model) -> None:
    """1 kg·m², 1 kg·m² and 15000 kg·cm² = 1.5 kg·m² are possible, though 15000 is more than two."""
    third = m.s.parameter("I3", 15000, units="kg*cm^2")
    m.s.body("C", inertia=(1, 1, third))
    with pytest.raises(arm.ModelError, match=r"principal moments of inertia 1, 1, 2\.5:"):
        m.s.body("D", inertia=(1, 1, m.s.parameter("I4", 25000, units="kg*cm^2")))


def test_a_missing_part_is_also_an_attribute_error(m: Model) -> None:
    """So hasattr and getattr with a default work, which other libraries rely on."""
    assert not hasattr(m.A, "magnitude")
    assert getattr(m.A, "tip", None) is None


def test_a_failed_body_leaves_the_name_free(m: Model) -> None:
    with pytest.raises(arm.ModelError):
        m.s.body("C", mass=1, inertia=(1, 1, 3))
    assert m.s.body("C", mass=1, inertia=(1, 1, 1), joint=arm.Revolute("x")).q1 is m.s.coordinates[-1]


def test_a_tensor_that_was_turned_is_symmetric_up_to_rounding() -> None:
    s = arm.System("turned")
    body = s.body("B", joint=arm.Spherical(), mass=1, inertia=((1, 0.1 + 0.2, 0), (0.3, 1, 0), (0, 0, 1)))
    assert body.inertia[0][1] is body.inertia[1][0]
