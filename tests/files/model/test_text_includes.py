"""Models within models: an axle described once and used twice."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import armillary as arm

AXLE = """
[parameters]
track = { value = 1.4, units = "m", about = "distance of the wheels" }
k = { value = 2e4, units = "N/m" }
g = { value = 9.81, units = "m/s^2" }

[tables.damper]
x = [-1, 0, 1]
y = [-800, 0, 600]

[functions.square]
arguments = ["x"]
value = "x^2"

[bodies.beam]
joint = { prismatic = "z" }
mass = 60
inertia = [8, 1, 8]
points = { left = [0, "track/2", 0] }

[loads.spring]
strut = "-k*(x - 0.4) - damper(v)"
between = ["beam.left", "ground.origin"]

[memory.travel]
update = "max(travel, abs(beam.q1))"

[outputs.height]
value = "beam.q1 + 0*square(g)/g^2"
units = "m"
"""

CAR = """
name = "car"
[parameters]
g = { value = 9.81, units = "m/s^2" }
w = { value = 1.0, units = "m" }

[bodies.chassis]
joint = { prismatic = "z" }
mass = 1000
inertia = 0

[include.front]
file = "parts/axle.toml"
on = "chassis"
share = ["g"]
set = { track = "1.6*w" }

[include.rear]
file = "parts/axle.toml"
prefix = "r_"
on = "chassis"
share = ["g"]
set = { k = 3e4 }

[gravity]
magnitude = "g"
direction = "-ground.z"
"""


@pytest.fixture
def car(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "axle.toml").write_text(AXLE)
    (tmp_path / "car.toml").write_text(CAR)
    return tmp_path / "car.toml"


def test_a_part_is_used_twice_under_two_prefixes(car):
    s = arm.load(car)
    assert list(s.bodies) == ["chassis", "front_beam", "r_beam"]
    assert s.bodies["r_beam"].parent.name == "chassis"
    assert list(s.parameters) == ["g", "w", "front_k", "r_track", "r_k"]
    assert set(s.outputs) == {"front_height", "r_height"}
    assert list(s.memories) == ["front_travel", "r_travel"]
    front, rear = s.bodies["front_beam"].points["left"], s.bodies["r_beam"].points["left"]
    assert arm.evaluate(front.coordinates[1], {"w": 1.0}) == pytest.approx(0.8)
    assert arm.evaluate(rear.coordinates[1], {"r_track": 1.4}) == pytest.approx(0.7)


def test_the_whole_is_the_same_as_one_that_is_written_out(car):
    whole = arm.load(car)
    run = whole.derive().compile().simulate(0.5, step=1e-3)
    s = arm.System("by hand")
    g, w = s.parameter("g", 9.81, units="m/s^2"), s.parameter("w", 1.0, units="m")
    damper = arm.Table([-1, 0, 1], [-800, 0, 600], name="damper")
    chassis = s.body("chassis", joint=arm.Prismatic("z"), mass=1000, inertia=0)
    for name, half in (("front", 1.6 * w / 2), ("rear", 0.7)):
        beam = s.body(f"{name}_beam", chassis, arm.Prismatic("z"), mass=60, inertia=(8, 1, 8))
        left = beam.point("left", (0, half, 0))
        k = 2e4 if name == "front" else 3e4
        s.strut(f"{name}_spring", lambda x, v, k=k: -k * (x - 0.4) - damper(v), between=(left, chassis))
    s.gravity(g, -s.ground.z)
    other = s.derive().compile().simulate(0.5, step=1e-3)
    assert run.final["front_beam.q1"] == pytest.approx(other.final["front_beam.q1"], rel=1e-12)
    assert run.final["r_beam.q1"] == pytest.approx(other.final["rear_beam.q1"], rel=1e-12)


def test_a_whole_saves_as_one_file(car, tmp_path):
    whole = arm.load(car)
    whole.save(tmp_path / "whole.toml")
    assert arm.load(tmp_path / "whole.toml").derive().operations == whole.derive().operations


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"parts/axle.toml"\non', '"parts/axel.toml"\non',
         r"axel.toml: there is no such file; did you mean 'axle.toml'"),
        ('share = ["g"]\nset', 'share = ["h"]\nset',
         r"car.toml:12: 'h' is not a name of 'parts/axle.toml'"),
        ("track =", "trak =", r"'trak' is not a parameter of 'parts/axle.toml'; did you mean 'track'"),
        ('on = "chassis"\nshare = ["g"]\nset', 'on = "chasis"\nshare = ["g"]\nset',
         r"no body 'chasis' .*; did you mean 'chassis'"),
    ],
)  # fmt: skip
def test_faults_of_an_include_are_told(car, old, new, said):
    car.write_text(CAR.replace(old, new, 1))
    with pytest.raises(arm.ModelError, match=said):
        arm.load(car)


def test_a_fault_in_an_included_file_is_told_with_that_file_and_line(car):
    (car.parent / "parts" / "axle.toml").write_text(AXLE.replace("-k*(x", "-kk*(x"))
    with pytest.raises(
        arm.ModelError, match=r"axle.toml:22: strut 'front_spring': there is nothing called 'kk'"
    ):
        arm.load(car)


def test_files_that_include_each_other_are_refused(car):
    (car.parent / "parts" / "axle.toml").write_text(AXLE + '[include.again]\nfile = "../car.toml"\n')
    with pytest.raises(arm.ModelError, match=r"axle.toml:\d+: '../car.toml' includes itself"):
        arm.load(car)


def test_names_that_a_part_makes_of_its_own_go_with_it(tmp_path):
    (tmp_path / "boom.toml").write_text("""
[bodies.boom]
joint = { revolute = "z" }
flexible = { beam = { length = 2.0, EI = 5.0, mass_per_length = 0.3, motions = "y" }, modes = 1 }
nodes = ["tip"]
[loads.tap]
force = "1"
direction = "boom_tip.y"
at = "boom_tip.origin"
""")
    (tmp_path / "two.toml").write_text("""
name = "two booms"
[include.left]
file = "boom.toml"
[include.right]
file = "boom.toml"
""")
    s = arm.load(tmp_path / "two.toml")
    assert [s.loads[f"{side}_tap"].body.name for side in ("left", "right")] == [
        "left_boom_tip",
        "right_boom_tip",
    ]


def test_the_real_ground_is_world_to_a_part_that_hangs_on_a_body(tmp_path):
    (tmp_path / "wheel.toml").write_text("""
[bodies.wheel]
joint = { prismatic = "z" }
mass = 40
inertia = 0
[loads.tyre]
force = "-180000*dot(position(wheel), world.z)"
direction = "world.z"
at = "wheel"
[loads.spring]
force = "-20000*wheel.q1"
direction = "ground.z"
at = "wheel"
reaction = "ground"
""")
    (tmp_path / "van.toml").write_text("""
name = "van"
[bodies.body]
joint = { free = true }
mass = 1000
inertia = [1, 1, 1]
[include.front]
file = "wheel.toml"
on = "body"
""")
    s = arm.load(tmp_path / "van.toml")
    frames = {name: {frame.name for frame, _ in load.vector.terms} for name, load in s.loads.items()}
    assert frames == {"front_tyre": {"ground"}, "front_spring": {"body"}}
    assert s.loads["front_spring"].reaction_body is s.bodies["body"]


def test_parts_of_parts_and_names_of_their_own(tmp_path):
    """An axle of a bogie of a train: three deep; local names and names of outputs stay what they are."""
    (tmp_path / "axle.toml").write_text("""
[parameters]
x = { value = 2.0, units = "kg" }
v = { value = 3.0, units = "N/m" }
[functions]
twice = { arguments = ["v"], value = "2*v" }
[bodies.wheel]
joint = { prismatic = "z" }
mass = "x"
inertia = 0
[loads.spring]
strut = "-twice(x - 0.4)*k"
between = ["wheel", "ground.hook"]
[parameters.k]
value = 5.0
units = "N/m"
[outputs.position]
value = "dot(position(wheel), world.z) + 0*twice(v)/v"
""")
    (tmp_path / "bogie.toml").write_text("""
[bodies.frame]
joint = { prismatic = "z" }
mass = 10
inertia = 0
points = { hook = [0, 0, 0.5] }
[include.a]
file = "axle.toml"
on = "frame"
""")
    (tmp_path / "train.toml").write_text("""
name = "train"
[bodies.box]
joint = { prismatic = "z" }
mass = 100
inertia = 0
[include.front]
file = "bogie.toml"
on = "box"
""")
    s = arm.load(tmp_path / "train.toml")
    assert {name: body.parent.name for name, body in s.bodies.items()} == {
        "box": "ground", "front_frame": "box", "front_a_wheel": "front_frame",
    }  # fmt: skip
    assert set(s.parameters) == {"front_a_x", "front_a_v", "front_a_k"}
    at = {"box.q1": 1.0, "front_frame.q1": 0.2, "front_a_wheel.q1": 0.1, "front_a_v": 3.0, "front_a_k": 5.0}
    assert arm.evaluate(s.outputs["front_a_position"].expression, at) == pytest.approx(1.3)
    assert arm.evaluate(s.loads["front_a_spring"].magnitude, at) == pytest.approx(
        -2 * (0.4 - 0.4) * 5.0, abs=1e-12
    )
    at["front_a_wheel.q1"] = 0.2
    assert arm.evaluate(s.loads["front_a_spring"].magnitude, at) == pytest.approx(-2 * (0.3 - 0.4) * 5.0)


def test_a_body_that_is_not_there_is_the_fault_of_the_file_that_names_it(tmp_path):
    """Of a train that includes a bogie that includes an axle, the bogie names the body of the axle."""
    body = 'joint = { prismatic = "z" }\nmass = 1\ninertia = 0\n'
    include = '[include.{}]\nfile = "{}.toml"\non = "{}"\n'
    (tmp_path / "axle.toml").write_text(f"[bodies.wheel]\n{body}")
    (tmp_path / "bogie.toml").write_text(f"[bodies.frame]\n{body}" + include.format("a", "axle", "farme"))
    (tmp_path / "train.toml").write_text(
        f'name = "train"\n[bodies.box]\n{body}' + include.format("front", "bogie", "box")
    )
    with pytest.raises(
        arm.ModelError, match=r"bogie\.toml:5: there is no body 'farme' for the part to hang on"
    ):
        arm.load(tmp_path / "train.toml")


def test_a_part_may_call_a_load_as_a_function_is_called(tmp_path):
    part = """
    [bodies.b]
    joint = { prismatic = "x" }
    mass = 1
    inertia = 0
    [loads.floor]
    force = "-4*b.q1"
    direction = "b.x"
    at = "b"
    [outputs.both]
    value = "floor(2.7) + 0*b.q1 + floor"
    """
    (tmp_path / "part.toml").write_text(part)
    (tmp_path / "whole.toml").write_text('name = "whole"\n[include.p]\nfile = "part.toml"\nprefix = "p_"\n')
    found = arm.load(tmp_path / "whole.toml").derive().compile().outputs(0.0, [0.5, 0.0])
    assert found["p_floor"] == -2.0 and found["p_both"] == 0.0


def test_a_part_of_a_part_has_shapes_and_the_real_ground(tmp_path: Path) -> None:
    """A wheel in a bogie on a car that is turned: "world" is the ground of the whole at every depth."""
    (tmp_path / "wheel.toml").write_text(
        """
        [bodies.wheel]
        joint = { revolute = "y" }
        mass = 1
        inertia = 0
        [expressions]
        height = "dot(position(wheel.origin), world.z)"
        level = "dot(position(wheel.origin), ground.z)"
        [shapes.tyre]
        body = "wheel"
        shape = { wheel = [0.3, 0.1] }
        """
    )
    (tmp_path / "bogie.toml").write_text(
        """
        [bodies.frame]
        joint = { revolute = "y" }
        at = [2, 0, 0]
        mass = 1
        inertia = [1, 1, 1]
        [include.left]
        file = "wheel.toml"
        on = "frame"
        [include.right]
        file = "wheel.toml"
        on = "frame"
        """
    )
    (tmp_path / "car.toml").write_text(
        """
        name = "car"
        [bodies.body]
        joint = { revolute = "y" }
        mass = 1
        inertia = [1, 1, 1]
        [include.front]
        file = "bogie.toml"
        on = "body"
        """
    )
    car = arm.load(tmp_path / "car.toml")
    values = {"body.q1": 0.3, "front_frame.q1": 0.4}
    assert arm.evaluate(car.expression("front_left_height"), values) == pytest.approx(-2 * math.sin(0.3))
    assert arm.evaluate(car.expression("front_left_level"), values) == pytest.approx(2 * math.sin(0.4))
