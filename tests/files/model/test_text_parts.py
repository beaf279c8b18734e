"""What an included part may name, state and share, and what of it stays its own."""

from __future__ import annotations

import os
import time
import tomllib
from pathlib import Path

import pytest

import armillary as arm
from armillary.errors import ExpressionError
from armillary.files.model.build import TextFunction

BODY = """
[bodies.A]
joint = { prismatic = "z" }
mass = 1
inertia = 0
"""


def load(folder, whole, **parts):
    for name, text in parts.items():
        (folder / f"{name}.toml").write_text(text)
    (folder / "whole.toml").write_text(f'name = "whole"\n{whole}')
    return arm.load(folder / "whole.toml")


@pytest.mark.parametrize(("whole", "part"), [("", 'units = "in-lb-s"'), ('units = "in-lb-s"', "")])
def test_parts_in_other_units_are_refused(tmp_path, whole, part):
    with pytest.raises(arm.ModelError, match=r"'p\.toml' is in units"):
        load(tmp_path, f'{whole}\n[include.a]\nfile = "p.toml"', p=f"{part}\n{BODY}")


def test_a_new_default_is_in_the_units_of_the_parameter(tmp_path):
    s = load(
        tmp_path,
        '[include.a]\nfile = "p.toml"\nset = { m = 3, length = 4 }',
        p='[parameters]\nm = { value = 2, units = "g", about = "of the bob" }\nlength = 1\n' + BODY,
    )
    model = s.derive().compile()
    assert model.parameters == {"a_m": 3.0, "a_length": 4.0}
    assert s.parameters["a_m"].data.units == "g"
    assert s.parameters["a_m"].data.about == "of the bob"


def test_shared_names_and_functions_are_not_renamed(tmp_path):
    s = load(
        tmp_path,
        'parameters.k_front = 3.0\nparameters.drive = 2.0\n[include.a]\nfile = "p.toml"\nshare = ["k_front"]',
        p="""
[parameters]
k = 2.0
k_front = 1.0
[bodies.angular]
joint = { revolute = "z" }
mass = "k"
inertia = ["k_front", "k_front", "k_front"]
orient = ["z", "k"]
[parameters.z]
value = 0.1
[outputs.rate]
value = "dot(angular_velocity(angular), ground.z)"
[outputs.angle]
value = "angle(angular.x, ground.x, ground.z)"
[constraints.gear]
zero = "angular.q1 - z"
[outputs.pull]
value = "`force of gear`"
""",
    )
    assert set(s.parameters) == {"k_front", "drive", "a_k", "a_z"}
    assert str(s.outputs["a_rate"].expression) == "a_angular.u1"
    assert str(s.bodies["a_angular"].inertia[0][0]) == "k_front"
    assert s.outputs["a_pull"].expression is s.constraints["a_gear"].force


def test_gravity_is_the_wholes_and_is_not_added_up(tmp_path):
    part = BODY + '[gravity]\nmagnitude = "g"\ndirection = "-ground.z"\n[parameters]\ng = 9.81'
    two = '[include.a]\nfile = "p.toml"\n[include.b]\nfile = "p.toml"\n'
    s = load(tmp_path, two, p=part)
    falls = s.derive().compile().derivatives(0.0, [0, 0, 0, 0])[2:]
    assert falls == pytest.approx([-9.81, -9.81])
    s = load(tmp_path, two + '[gravity]\nmagnitude = 1.62\ndirection = "-ground.z"', p=part)
    assert s.derive().compile().derivatives(0.0, [0, 0, 0, 0])[2:] == pytest.approx([-1.62, -1.62])
    turned = '[bodies.turned]\norient = ["x", 0.5]\nmass = 0\ninertia = 0\n'
    carried = turned + '[include.a]\nfile = "p.toml"\non = "turned"'
    s = load(tmp_path, carried, p=part)
    assert {frame.name for frame, _ in s.gravities[0].direction.terms} == {"ground"}
    with pytest.raises(arm.ModelError, match="states another gravity"):
        load(tmp_path, two.replace("p.toml", "q.toml", 1), p=part, q=part.replace("-ground.z", "-ground.y"))


def test_points_on_the_ground_of_a_part_are_points_of_what_carries_it(tmp_path):
    part = (
        BODY
        + """
[bodies.ground]
points = { anchor = [1, 0, 0] }
[loads.spring]
strut = "-100*(x - 1)"
between = ["A.origin", "ground.anchor"]
"""
    )
    both = (
        BODY.replace("bodies.A", "bodies.box")
        + '[include.a]\nfile = "p.toml"\non = "box"\n[include.b]\nfile = "p.toml"\n'
    )
    s = load(tmp_path, both, p=part)
    assert "a_anchor" in s.bodies["box"].points and "b_anchor" in s.ground.points
    assert s.loads["a_spring"].at is s.bodies["box"].points["a_anchor"]
    assert s.loads["b_spring"].at is s.ground.points["b_anchor"]


def test_functions_of_functions_take_time_in_proportion(tmp_path):
    chain = "\n".join(
        f'f{i} = {{ arguments = ["x"], value = "sin(f{i - 1}(x)) + cos(f{i - 1}(x))" }}' for i in range(1, 40)
    )
    start = time.process_time()
    first = '[functions]\nf0 = { arguments = ["x"], value = "x" }'
    s = load(tmp_path, f'{first}\n{chain}\n{BODY}\n[outputs.y]\nvalue = "f39(A.q1/A.q1)"')
    assert time.process_time() - start < 5
    assert set(s.outputs) == {"y"}


def test_more_parts_than_any_model_has_are_refused(tmp_path):
    for i in range(12):
        text = "".join(f'[include.{side}]\nfile = "p{i + 1}.toml"\n' for side in "ab")
        (tmp_path / f"p{i}.toml").write_text(text if i < 11 else BODY)
    with pytest.raises(arm.ModelError, match="more than 1000 parts"):
        load(tmp_path, '[include.a]\nfile = "p0.toml"')


def test_brackets_in_texts_are_no_nesting(tmp_path):
    many = "\n".join(f'p{i} = {{ value = 0.5, about = "a share in [0, 1) # {{" }}' for i in range(100))
    s = load(tmp_path, f"[parameters]\n{many}\n{BODY}")
    s.save(tmp_path / "again.toml")
    assert len(arm.load(tmp_path / "again.toml").parameters) == 100


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_files_without_an_end_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe.toml")
    with pytest.raises(arm.ModelError, match="this is no ordinary file"):
        arm.load(tmp_path / "pipe.toml")
    with pytest.raises(arm.ModelError, match="this is no ordinary file"):
        load(tmp_path, '[include.a]\nfile = "/dev/zero"')


def test_reserved_names_of_a_part_are_told(tmp_path):
    with pytest.raises(arm.ModelError, match="declares 't', a reserved name"):
        load(tmp_path, '[include.a]\nfile = "p.toml"', p="[parameters]\nt = 1\n" + BODY)


def test_a_memory_may_be_renewed_from_a_load(tmp_path):
    text = (
        BODY
        + """
[loads.spring]
force = "-100*A.q1"
direction = "ground.z"
at = "A"
[memory.peak]
update = "max(peak, abs(spring))"
"""
    )
    s = load(tmp_path, text)
    run = s.derive().compile().simulate(1.0, step=1e-3, initial={"A.q1": 0.2})
    assert run.final["peak"] == pytest.approx(20.0, rel=1e-6)


def test_functions_that_make_memories_are_refused_and_leave_nothing(tmp_path):
    s = arm.System("peak")
    A = s.body("A", joint=arm.Prismatic("x"), mass=1, inertia=0)

    def peak(x):
        held = s.memory("held", 0.0)
        s.update(held, arm.max(held, x))
        return held

    s.function("peak", peak)
    s.output("most", "peak(A.q1)")
    with pytest.raises(arm.ModelError, match=r"function 'peak' .* cannot be called again"):
        s.save(tmp_path / "peak.toml")
    assert list(s.memories) == ["held"] and list(tmp_path.iterdir()) == []
    assert A.name == "A"


def test_a_part_of_a_part_states_gravity_with_its_own_parameter_and_starts_without_quotes(tmp_path):
    part = BODY + (
        '[gravity]\nmagnitude = "g"\ndirection = "-world.z"\n[parameters]\ng = 9.81\n[start]\nA.q1 = 0.25\n'
    )
    carried = (
        '[bodies.box]\nmass = 0\ninertia = 0\norient = ["x", 0.5]\n[include.b]\nfile = "p.toml"\non = "box"\n'
    )
    s = load(tmp_path, '[include.a]\nfile = "m.toml"', p=part, m=carried)
    assert str(s.gravities[0].magnitude) == "a_b_g"
    assert {frame.name for frame, _ in s.gravities[0].direction.terms} == {"ground"}
    assert s.derive().compile().simulate(0.1, step=0.05)["a_b_A.q1"][0] == 0.25


def test_long_texts_name_what_they_show_twice_and_nothing_else(tmp_path):
    """A part of a long expression that is used once stays in its place."""
    s = arm.System("long")
    b = s.body("b", joint=arm.Prismatic("x"), mass=1, inertia=0)
    sines = [arm.sin((k + 1.25) * b.q1 + (k + 2.75) * b.u1) for k in range(20)]
    s.output("once", sum(sines))
    s.save(tmp_path / "model.toml")
    assert sorted(named(tmp_path / "model.toml")) == ["1*(b.q1)", "1*(b.u1)"]  # without their units
    s.output("twice", sum((k + 1.5) * x**2 + x for k, x in enumerate(sines[:10])))
    s.save(tmp_path / "model.toml")
    assert sum("sin(" in text for text in named(tmp_path / "model.toml")) == 10


def named(path: Path) -> list[str]:
    """Texts of the expressions that have names of their own."""
    return list(tomllib.loads(path.read_text())["expressions"].values())


@pytest.mark.parametrize(("letters", "named"), [(7, False), (8, True)])
def test_parts_of_up_to_twelve_characters_are_repeated(letters: int, named: bool, tmp_path: Path) -> None:
    """sin(abcdefg) is one of twelve, in an expression of more than 400."""
    s = arm.System("s")
    body = s.body("b", joint=arm.Revolute("x"), mass=1, inertia=(1, 1, 1))
    part = arm.sin(s.parameter("abcdefgh"[:letters], 1.0))
    s.output("y", sum(arm.cos(n * body.q1 + part) for n in range(1, 25)))
    s.save(tmp_path / "s.toml")
    text = (tmp_path / "s.toml").read_text(encoding="utf-8")
    assert (f'= "sin({"abcdefgh"[:letters]})"\n' in text) == named


def test_arguments_of_functions_in_texts_are_names() -> None:
    with pytest.raises(ExpressionError, match=r"^function 'f': its argument 'x y' is not a name$"):
        TextFunction(arm.System("s"), "f", ["x y"], "x")
