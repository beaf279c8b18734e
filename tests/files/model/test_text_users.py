"""What a new user tried in text models: units in values, unquoted names, and where faults are pointed at."""

from __future__ import annotations

import numpy as np
import pytest

import armillary as arm

MODEL = """name = "swing"
[parameters]
L = "50 cm"
D = { value = "25 mm", units = "in", about = "offset" }
[bodies.bob]
joint = { revolute = "z" }
com = [0, "-L", "D"]
mass = 1
inertia = 0
[gravity]
magnitude = 9.81
direction = "-ground.y"
[start]
bob.q1 = "10 deg"
"bob.u1" = 0.5
"""


def load(tmp_path, text, **parts):
    for name, content in parts.items():
        (tmp_path / f"{name}.toml").write_text(content)
    (tmp_path / "swing.toml").write_text(text)
    return arm.load(tmp_path / "swing.toml")


@pytest.mark.parametrize(("units", "shown"), [("SI", np.radians(10)), ("SI-deg", 10.0)])
def test_values_may_have_units_and_names_need_no_quotes(tmp_path, units, shown):
    s = load(tmp_path, MODEL.replace('name = "swing"', f'name = "swing"\nunits = "{units}"'))
    assert s.parameters["L"].data.default == 50.0 and s.parameters["L"].data.units == "cm"
    assert s.parameters["D"].data.default == pytest.approx(25 / 25.4)
    run = s.derive().compile().simulate(0.1, step=0.01)
    assert run["bob.q1"][0] == pytest.approx(shown)
    assert run["bob.u1"][0] == pytest.approx(0.5)


def test_values_in_text_models_may_be_arithmetic(tmp_path):
    text = MODEL.replace('"50 cm"', '"(1 + 1/4) m"').replace('"25 mm"', '"pi/2 * 10 mm"')
    s = load(tmp_path, text.replace('"10 deg"', '"pi/18 rad"'))
    assert s.parameters["L"].data.default == 1.25 and s.parameters["L"].data.units == "m"
    assert s.parameters["D"].data.default == pytest.approx(5 * np.pi / 25.4, rel=1e-15)
    assert s.initial[s.bodies["bob"].q1] == pytest.approx(np.radians(10), rel=1e-15)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("mass = 1", "mass = MT", "8: this is not TOML: invalid value; a text stands between quotes: mass ="),
        ('"50 cm"', '"50 seconds of"', "3: parameter 'L': unknown unit"),
        ('"25 mm"', '"25 s"', "4: parameter 'D' has units of [m] (in), but '25 s' has [s]"),
        ('"25 mm"', '"wide"', "4: parameter 'D' needs a number, or text such as '2.5 in', not 'wide'"),
        ('"10 deg"', '"10 m"', "start of 'bob.q1' has units of [1], but '10 m' has [m]"),
        ('"-L"', '"-LL"', "7: mass centre of body 'bob': there is nothing called 'LL'"),
        ('{ revolute = "z" }', '"prismatic"', "6: [bodies.bob]: 'joint' must be one of \"fixed\", \"free\""),
        ("[start]", '[events.e]\nwhen = "bob.q1 = L"\n[start]', "event 'e': 'bob.q1 = L' is an equation"),
        ("[start]", '[tables.f]\nx = [0, 1]\ny = [0, 1]\nz_units = "m"\n[start]',
         "[tables.f]: 'z' is missing"),
        ("[start]", '[loads.c]\ncontact = "bob.com"\nplane = ["ground.origin", "ground.y"]\nstiffness = 1\n'
         "friction = { coefficient = 0.3, stiffness = 1e4 }\n[start]", "'damping' is missing"),
    ],
)  # fmt: skip
def test_faults_are_told_with_their_own_line_and_remedy(tmp_path, old, new, said):
    with pytest.raises(arm.ArmillaryError) as caught:
        load(tmp_path, MODEL.replace(old, new, 1))
    assert said in str(caught.value)


def test_a_body_that_a_part_cannot_hang_on_is_the_fault_of_who_includes_it(tmp_path):
    part = '[bodies.hook]\njoint = { revolute = "x" }\nmass = 1\ninertia = 0\n'
    with pytest.raises(arm.ModelError, match=r"swing\.toml:16: there is no body 'bobb'.*did you mean 'bob'"):
        load(tmp_path, MODEL + '[include.h]\nfile = "rope.toml"\non = "bobb"\n', rope=part)


def test_units_are_checked_before_what_is_included(tmp_path):
    with pytest.raises(arm.ModelError, match=r"swing\.toml:2: .*did you mean 'in-lb-s'"):
        load(
            tmp_path,
            MODEL.replace('"swing"', '"swing"\nunits = "in-lbf-s"') + '[include.h]\nfile = "no.toml"\n',
        )


def test_ticks_of_a_period_are_counted_and_do_not_drift():
    """Tick n at n·0.05 s: sums of periods were 2e-9 s late after 3000 s, and samples a period old."""
    s = arm.System("clock")
    s.body("A", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.memory("seen", 0, update="t", every=0.05)
    run = s.derive().compile().simulate(3000, step=0.001, sample=50)
    assert np.array_equal(run["seen"], run.time)
    assert run.info["steps"] == 3_000_000


def test_derivatives_of_tables_are_written_and_read_by_name(tmp_path):
    """bump_dx is the derivative of bump; a part of a model carries it under the part's prefix."""
    s = arm.System("follower")
    units = {"x_units": "m", "y_units": "m"}
    bump = arm.Table([0, 1, 2, 3], [0, 1, 0, 2], kind="smooth", name="bump", **units)
    heights = [[0, 1], [2, 5], [3, 1]]
    plane = arm.Table2([0, 1, 2], [0, 1], heights, kind="smooth", name="plane", z_units="m", **units)
    cart = s.body("cart", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.output("slope", arm.derivative(bump(cart.q1), cart.q1))
    s.output("across", arm.derivative(plane(cart.q1, cart.q1 / 3), cart.q1))
    s.save(tmp_path / "follower.toml")
    read = arm.load(tmp_path / "follower.toml")
    whole = load(tmp_path, 'name = "two"\n[include.left]\nfile = "follower.toml"\n')
    for x in (-0.5, 0.3, 1.7):
        for name, written in s.outputs.items():
            value = arm.evaluate(written.expression, {"cart.q1": x})
            assert arm.evaluate(read.outputs[name].expression, {"cart.q1": x}) == value
            assert arm.evaluate(whole.outputs[f"left_{name}"].expression, {"left_cart.q1": x}) == value
        finite = (float(bump.value(x + 1e-6)) - float(bump.value(x - 1e-6))) / 2e-6
        assert np.isclose(
            arm.evaluate(read.expression("bump_dx(cart.q1)"), {"cart.q1": x}), finite, atol=1e-8
        )


def test_a_derivative_of_a_table_needs_its_name_free_and_its_axis(tmp_path):
    s = arm.System("taken")
    bump = arm.Table([0, 1, 2], [0, 1, 0], kind="smooth", name="bump")
    cart = s.body("cart", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.function("bump", bump)
    s.function("bump_dx", lambda x: 2 * x)
    s.output("slope", arm.derivative(bump(cart.q1), cart.q1))
    with pytest.raises(arm.ModelError, match="a function has that name"):
        s.save(tmp_path / "taken.toml")
    with pytest.raises(arm.ExpressionError, match="bump_dy"):
        s.expression("bump_dy(cart.q1)")
