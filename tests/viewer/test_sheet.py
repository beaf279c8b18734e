"""A system on one page: drawing, tables and equations, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import armillary as arm


def test_a_sheet_has_drawing_coordinates_parameters_and_equations(tmp_path: Path) -> None:
    s = arm.System("pendulum <1>")
    s.parameter("m", 2.0, units="kg", about="mass of the bob")
    s.body("bob", joint=arm.Revolute("z"), com=(0, "-L", 0), mass="m", inertia=0)
    s.gravity(9.81, -s.ground.y)
    path = arm.sheet(s, tmp_path / "sheet.html")
    text = path.read_text(encoding="utf-8")
    assert "<h1>pendulum &lt;1&gt;: equations of motion</h1>" in text and "<1>" not in text
    assert text.count("<svg") == 1 and ">bob.q1</text>" in text
    assert "mass of the bob" in text and "bob.u1" in text
    assert re.search(r"<math displaystyle=\"true\">.*?9\.81", text)
    assert "@media print" in text and "<script" not in text
    assert not re.search(r"(src|href)\s*=", text)


def test_sheets_are_of_systems_and_in_html(tmp_path: Path) -> None:
    s = arm.System("ball")
    s.body("ball", joint=arm.Free(), mass=1, inertia=(1, 1, 1))
    with pytest.raises(arm.ArmillaryError, match=r"not as 'sheet\.pdf'"):
        arm.sheet(s, tmp_path / "sheet.pdf")
    with pytest.raises(arm.ArmillaryError, match="made of a system"):
        arm.sheet(s.derive(), tmp_path / "sheet.html")
