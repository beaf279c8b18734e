"""Equations of motion in print: LaTeX and MathML that read like a textbook, handouts, notebooks."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.calculus import evaluate_all
from armillary.errors import ArmillaryError, ModelError
from armillary.program.textbook import textbook

EVIL = "<script>&</script>"


@cache
def two_links() -> Any:
    s = arm.System("two links")
    A = s.body("A", joint=arm.Revolute("z"), com=("r1", 0, 0), mass="m1", inertia=(0, 0, "I1"))
    B = s.body(
        "B", A, joint=arm.Revolute("z"), at=("l1", 0, 0), com=("r2", 0, 0), mass="m2", inertia=(0, 0, "I2")
    )
    s.gravity("g", -s.ground.y)
    s.moment("motor", "tau", B.z, on=B, reaction=A)
    return s.derive()


def spatial() -> arm.System:
    """Too long to be written out."""
    s = arm.System("spatial arm")
    parent = None
    for i, axis in enumerate("zxzyx"):
        joint = arm.Revolute(axis)
        parent = s.body(
            f"B{i}", parent, joint=joint, at=(0.1, 0.2, 0.3), com=(0.1, 0, 0.2), mass=1, inertia=(1, 2, 2)
        )
    s.gravity(9.81, -s.ground.z)
    return s


def parsed(html: str) -> ElementTree.Element:
    return ElementTree.fromstring(f"<div>{html}</div>")  # only well-formed markup can be parsed


# ------------------------------------------------------------------ LaTeX


def test_the_two_link_arm_reads_like_a_textbook() -> None:
    """Spong, Hutchinson and Vidyasagar (2006), section 7.4: M(q), Coriolis terms and gravity, and c₁₂."""
    assert two_links().latex(speeds="q'").splitlines() == [
        r"\[ \mathbf{M}\,\begin{bmatrix} \ddot{q}_{1} \\ \ddot{q}_{2} \end{bmatrix} = \mathbf{f} \]",
        r"\[ M_{11} = I_{1} + I_{2} + 2\,m_{2}\,l_{1}\,r_{2}\,c_{2} + m_{2}\,l_{1}^{2} + m_{1}\,r_{1}^{2}"
        r" + m_{2}\,r_{2}^{2} \]",
        r"\[ M_{12} = I_{2} + m_{2}\,l_{1}\,r_{2}\,c_{2} + m_{2}\,r_{2}^{2} \]",
        r"\[ M_{22} = I_{2} + m_{2}\,r_{2}^{2} \]",
        r"\[ f_{1} = \underbrace{m_{2}\,l_{1}\,r_{2}\,\left(2\,\dot{q}_{1} + \dot{q}_{2}\right)\,"
        r"\dot{q}_{2}\,s_{2}}_{\text{velocity}} - \underbrace{g\,\left(m_{2}\,r_{2}\,c_{12} + "
        r"\left(m_{2}\,l_{1} + m_{1}\,r_{1}\right)\,c_{1}\right)}_{\text{gravity}} \]",
        r"\[ f_{2} = -\underbrace{m_{2}\,l_{1}\,r_{2}\,\dot{q}_{1}^{2}\,s_{2}}_{\text{velocity}}"
        r" - \underbrace{m_{2}\,g\,r_{2}\,c_{12}}_{\text{gravity}} + \underbrace{\tau}_{\text{motor}} \]",
    ]


def test_velocity_terms_may_stand_on_the_left() -> None:
    lines = two_links().latex("M u' + h = Q").splitlines()
    assert lines[0].endswith(r"\end{bmatrix} + \mathbf{h} = \mathbf{Q} \]")
    assert r"\[ h_{2} = m_{2}\,l_{1}\,r_{2}\,u_{1}^{2}\,s_{2} \]" in lines
    gravity, motor = (
        r"\underbrace{m_{2}\,g\,r_{2}\,c_{12}}_{\text{gravity}}",
        r"\underbrace{\tau}_{\text{motor}}",
    )
    assert lines[-1] == rf"\[ Q_{{2}} = -{gravity} + {motor} \]"


def _cart_and_pole() -> arm.stages.Equations:
    s = arm.System("cart and pole")
    s.gravity("g", "-ground.z")
    cart = s.body("cart", joint=arm.Prismatic("x"), mass="M", inertia=0)
    s.body("pole", cart, arm.Revolute("y"), com=(0, 0, "l"), mass="1.25*m", inertia=0)
    return s.derive()


def test_own_symbols_fractions_and_the_order_of_textbooks() -> None:
    """(M + m) ẍ + m l θ̈ cos θ = m l θ̇² sin θ with 5/4 m for m, as in any textbook of control."""
    first, second = _cart_and_pole().latex("rows", symbols={"cart.q1": "x", "pole.q1": "θ"}).splitlines()
    assert first == (
        r"\[ \frac{5}{4}\,m\,l\,\ddot{\theta}\,\cos\left(\theta\right) + \left(M + \frac{5}{4}\,m\right)\,"
        r"\ddot{x} = \underbrace{\frac{5}{4}\,m\,l\,\dot{\theta}^{2}\,\sin\left(\theta\right)}"
        r"_{\text{velocity}} \]"
    )
    assert r"\underbrace{\frac{5}{4}\,m\,g\,l\,\sin\left(\theta\right)}_{\text{gravity}}" in second
    partly = _cart_and_pole().latex(symbols={"cart.q1": "x"})
    assert r"\dot{x}" in partly or r"\ddot{x}" in partly
    assert r"c_{2}" in partly  # the other coordinate is numbered
    named = _cart_and_pole().latex(symbols={"pole.q1": "theta", "pole.u1": "omega"})
    assert r"\omega^{2}" in named and r"\dot{\theta}" not in named
    page = _cart_and_pole().html(symbols={"pole.q1": "θ"})
    assert "θ" in page and "<mfrac>" in page


@pytest.mark.parametrize(
    ("symbols", "message"),
    [
        ({"pole.q2": "x"}, "did you mean 'pole.q1'"),
        ({"pole.q1": "m"}, "is the symbol of another quantity"),
        ({"pole.q1": "a b"}, "is no symbol"),
        ({"pole.q1": "x", "cart.q1": "x"}, "the same symbol"),
        (["x"], "symbols= must hold"),
    ],
)
def test_wrong_symbols_are_refused(symbols, message: str) -> None:
    with pytest.raises(arm.ArmillaryError, match=message):
        _cart_and_pole().latex(symbols=symbols)


def test_rows_are_one_equation_per_speed() -> None:
    s = arm.System("slider")
    s.body("A", joint=arm.Prismatic("x"), mass="m", inertia=0)
    s.strut("spring", "-k*(x - x0) - d*v", between=("A", s.ground.point((0, 3, 0))))
    s.force("push", "F", s.ground.x, at="A")
    (row,) = s.derive().latex("rows", names="full").splitlines()
    assert row.startswith(r"\[ m\,\dot{u}_{1}^{A} = ")
    assert row.endswith(r"\underbrace{F}_{\text{push}} \]") and r"_{\text{spring}}" in row


def test_full_names_and_written_out_sines_are_kept_on_request() -> None:
    text = two_links().latex(names="full")
    assert r"\cos\left(q_{1}^{A} + q_{1}^{B}\right)" in text and "c_{12}" not in text


def test_parameters_that_look_like_abbreviations_keep_the_long_form() -> None:
    """With a parameter c1 and one q2 there is no c₁ for a cosine and no q₂ for a coordinate."""
    s = arm.System("clash")
    s.body("A", joint=arm.Revolute("z"), com=("c1", 0, 0), mass="q2", inertia=0)
    s.gravity("g", -s.ground.y)
    assert r"g\,c_{1}\,q_{2}\,\cos\left(q_{1}^{A}\right)" in s.derive().latex()


def test_long_right_sides_have_a_line_per_cause() -> None:
    s = arm.System("long")
    s.body(
        "A", joint=arm.Revolute("z"), com=("first_length + second_length", 0, 0), mass="some_mass", inertia=0
    )
    s.gravity("gravity_of_the_place", -s.ground.y)
    s.moment("motor", "first_gain*A.q1 + second_gain*A.u1 + third_gain", s.ground.z, on="A")
    assert r"\begin{aligned} f_{1} &= " in s.derive().latex()


@pytest.mark.parametrize("names", ["short", "full"])
def test_what_is_printed_has_the_values_of_the_pieces(names: str) -> None:
    """Of an arm that is too long to be written out, in terms of intermediate values: each symbol's value is
    known when its definition is reached.
    """
    eom = spatial().derive("recursive")
    book = textbook(eom._pieces, names=names)
    assert len(book.definitions) > 20
    rng = np.random.default_rng(2)
    given = {n: rng.normal() for n in (*eom.coordinates, *eom.speeds)}
    values: dict[Any, float] = {
        e.symbol: given[e.stands_for.data.name] for e in (*book.coordinates, *book.speeds)
    }
    for i, e in enumerate(book.coordinates, start=1):
        q = given[e.stands_for.data.name]
        values |= {f"s_{i}": np.sin(q), f"c_{i}": np.cos(q)}
    for name, value in book.definitions:
        (values[name],) = evaluate_all([value], values)
    printed = np.array([evaluate_all(row, values) for row in book.mass_matrix])
    np.testing.assert_allclose(printed, eom.mass_matrix.evaluate(given), rtol=1e-12, atol=1e-13)
    forcing = sum(np.array(evaluate_all(row, values)) for row in book.forcing.values())
    np.testing.assert_allclose(forcing, eom.forcing.evaluate(given), rtol=1e-11)


def test_unknown_forms_are_named() -> None:
    eom = two_links()
    with pytest.raises(ModelError, match=r"there is no form 'M u = f'; did you mean 'M u' = f'\?"):
        eom.latex("M u = f")
    with pytest.raises(ModelError, match=r"there is no way to write speeds 'v'; there are u, q'"):
        eom.html(speeds="v")
    with pytest.raises(ModelError, match=r"there is no kind of names 'ful'; did you mean 'full'"):
        eom.latex(names="ful")
    with pytest.raises(ModelError, match=r"must end in .html or .htm or .tex"):
        eom.handout("equations.pdf")


# ------------------------------------------------------------------ HTML and handouts


def test_mathml_has_the_matrix_the_braces_and_nothing_to_fetch() -> None:
    html = two_links().html()
    page = parsed(html)
    assert [e.text for e in page.iter("mtext")] == ["velocity", "gravity", "velocity", "gravity", "motor"]
    assert len(list(page.iter("mtable"))) == 1
    assert not re.search(r"https?:|<script|<img|<link", html)


def test_a_handout_is_one_file_that_fetches_nothing(tmp_path: Path) -> None:
    s = arm.System(EVIL)
    s.parameter("L", 0.5, units="m", about=EVIL)
    s.body("A", joint=arm.Revolute("z"), com=("L", 0, 0), mass=1, inertia=0)
    s.gravity(9.81, -s.ground.y)
    s.state("lag", rate="-lag", about=EVIL)
    eom = s.derive()
    path = eom.handout(tmp_path / "out.html", speeds="q'")
    text = path.read_text(encoding="utf-8")
    assert EVIL not in text and "&lt;script&gt;" in text
    assert not re.search(r"https?:|<script|<img|<link", text)
    titles = re.findall(r"<(?:h2|caption)>(.*?)</", text)
    assert titles == ["Bodies", "Coordinates, speeds, states and inputs", "Parameters", "Equations of motion"]
    latex = eom.handout(tmp_path / "out.tex").read_text(encoding="utf-8")
    assert latex.startswith(r"\documentclass{article}") and latex.endswith("\\end{document}\n")
    assert r"<script>\&</script>" in latex
    braces = re.sub(r"\\[{}]", "", latex)
    assert braces.count("{") == braces.count("}") and latex.count(r"\begin{") == latex.count(r"\end{")


# ------------------------------------------------------------------ notebooks


def test_a_system_shows_its_tree_and_its_parameters() -> None:
    s = arm.System(EVIL)
    A = s.body("A", joint=arm.Revolute("z"), mass="m", inertia=0)
    s.body("B", A, joint=arm.Prismatic("x"), mass=2, inertia=0)
    s.body(
        "D", s.body("C", A, joint=arm.Gimbal("xy"), mass=1, inertia=0), joint=arm.Fixed(), mass=1, inertia=0
    )
    s.parameter("k", 3.5, units="N/m", about=EVIL)
    page = parsed(s._repr_html_())
    rows = [[td.text or "" for td in tr] for tr in page.findall(".//tbody/tr")]
    assert [row[0] for row in rows] == ["A", "└ B", "└ C", "\u2003└ D", "m", "k"]
    assert rows[0] == ["A", "revolute z", "A.q1", "m"] and rows[5] == ["k", "3.5", "N/m", EVIL]
    assert page.find(".//b").text == EVIL
    assert arm.System("empty")._repr_html_() == "<p><b>empty</b></p>\n"


@pytest.mark.parametrize(("last", "whole"), [("third_part_34", True), ("third_part_345", False)])
def test_masses_of_up_to_forty_characters_are_shown_whole(last: str, whole: bool) -> None:
    s, mass = arm.System("sum"), f"first_part + second_part + {last}"
    s.body("A", joint=arm.Prismatic("x"), mass=mass, inertia=0)
    row = [td.text for td in parsed(s._repr_html_()).find(".//tbody/tr")]
    assert row == ["A", "prismatic x", "A.q1", mass if whole else f"{mass[:37]}..."]


def test_a_large_table_is_cut() -> None:
    s = arm.System("many")
    for i in range(50):
        s.parameter(f"p{i}", i)
    assert parsed(s._repr_html_()).findall(".//tbody/tr")[-1][0].text == "… 10 more"


def test_equations_show_themselves_where_they_are_short() -> None:
    short = two_links()._repr_html_()
    assert "<munder>" in short and "2 degrees of freedom" in short
    parsed(short)
    long = parsed(spatial().derive()._repr_html_())
    assert [td.text for td in long.findall(".//tbody/tr")[0]] == [
        "B0.q1",
        "rad",
        "rotation of B0 in ground about z",
    ]


@pytest.mark.parametrize(("speeds", "written"), [(4, True), (5, False)])
def test_equations_of_up_to_four_speeds_are_written_out(speeds: int, written: bool) -> None:
    s = arm.System("row")
    for k in range(speeds):
        s.body(f"B{k}", joint=arm.Prismatic("x"), mass=1, inertia=0)
    assert ("<math" in s.derive()._repr_html_()) is written


def test_models_and_costs_show_tables() -> None:
    s = arm.System(EVIL)
    s.body("A", joint=arm.Revolute("z"), com=("L", 0, 0), mass="m", inertia=0)
    rows = parsed(s.derive().compile(tier="quick")._repr_html_()).findall(".//tbody/tr")
    assert [row[0].text for row in rows] == ["A.q1", "A.u1", "L", "m"]
    s.gravity(9.81, -s.ground.y)
    costs = {row[0].text: row for row in parsed(s.compare_formalisms()._repr_html_()).findall(".//tbody/tr")}
    assert costs["kane"][4].text == "1" and "free space" in costs["mbdyfr"][5].text


def test_vectors_and_expressions_show_mathematics() -> None:
    s = arm.System("v")
    A = s.body("A", joint=arm.Revolute("z"), com=("L", 0, 0), mass=1, inertia=0)
    velocity = parsed(arm.velocity(A.com)._repr_html_())
    assert "".join(velocity.itertext()) == "Lu1AyA"  # L u₁ of A along y of A
    assert "".join(parsed((s.lookup("A.q1") ** 2)._repr_html_()).itertext()) == "(q1A)2"
    assert A.frame.vector((np.ones(2), 0, 0))._repr_html_() is None
    assert parsed(arm.cross(A.x, A.x)._repr_html_()).find(".//mn").text == "0"
    with pytest.raises(ArmillaryError):
        arm.velocity(3)
