"""Tables from files of separated values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import armillary as arm
from armillary.errors import ExpressionError, UnitsError

DATA = "# measured\n\nspeed [rpm],torque (N*m),room (a)\n0,12,1\n1000, 11.5,2\n\n3000,0,3\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "motor.csv").write_text(DATA, encoding="utf-8")
    return tmp_path / "motor.csv"


def test_columns_by_heading_and_by_number_with_units_of_the_headings(file: Path) -> None:
    wanted = arm.Table([0, 1000, 3000], [12, 11.5, 0], name="motor", x_units="rpm", y_units="N*m")
    assert arm.Table.from_csv(file) == wanted
    assert arm.Table.from_csv(file, "speed", "torque") == wanted
    assert wanted(2000 * np.pi / 30) == pytest.approx(5.75, rel=1e-14)
    other = arm.Table.from_csv(file, 1, 3, kind="smooth", name="n", x_units="rad/s", y_units="1")
    assert other == arm.Table(
        [0, 1000, 3000], [1, 2, 3], kind="smooth", name="n", x_units="rad/s", y_units="1"
    )


@pytest.mark.parametrize(
    "text",
    [
        "a;b\n0;1,5\n2;-3,25e-1\n",
        "\ufeffa\tb\n0\t1.5\n2\t-0.325\n",
        "0,1.5\n2,-0.325\n",
        '"a","b"\r\n0,1.5\r\n2,-.325',
        'a,b\n"0","1.5"\n2,-0.325\n',
    ],
)
def test_separators_decimal_commas_and_files_without_headings(text: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(text.encode("utf-8"))
    assert arm.Table.from_csv(tmp_path / "t.csv") == arm.Table([0, 2], [1.5, -0.325], name="t")


@pytest.mark.parametrize(
    ("text", "how", "message"),
    [
        (DATA, {"x": "sped"}, r"no column 'sped'; did you mean 'speed'"),
        (DATA, {"x": 0}, r"column=0 is neither a heading nor a number from 1 to 3"),
        (DATA, {"y": 4}, r"column=4 is neither"),
        (DATA.replace("11.5", "n/a"), {}, r"line 5, column 'torque': 'n/a' is not a finite number"),
        (DATA.replace("1000, 11.5,2", "1000, 11.5"), {}, r"line 5: 2 values, but 3 columns"),
        (DATA.replace("3000", "500"), {}, r"x must increase"),
        ("1,2\n3,4\n", {"x": "a"}, r"no column 'a'; its headings are none: give numbers"),
        ("a,b\n1,1_000\n2,3\n", {}, r"line 2, column 'b': '1_000' is not a finite number"),
        ("nan,1\n2,3\n", {}, r"line 1, column 1: 'nan' is not a finite number"),
        ("a;b\n1;-inf\n2;3\n", {}, r"line 2, column 'b': '-inf' is not a finite number"),
        ("a,b\n1,1e999\n2,3\n", {}, r"'1e999' is not a finite number"),
        (f"a,b\n1,{200_000 * '1'}\n", {}, r"line 2 cannot be read: field larger than field limit"),
        ("# nothing\n", {}, r"holds no values"),
        ("a,b\n1,2\n", {}, r"at least 2 points"),
    ],
)
def test_errors_name_the_place(text: str, how: dict, message: str, tmp_path: Path) -> None:
    (tmp_path / "wrong.csv").write_text(text, encoding="utf-8")
    with pytest.raises(ExpressionError, match=message):
        arm.Table.from_csv(tmp_path / "wrong.csv", **how)


def test_a_file_that_is_not_there_and_units_that_are_none(file: Path, tmp_path: Path) -> None:
    with pytest.raises(ExpressionError, match=r"missing.csv': there is no such file; check its name"):
        arm.Table.from_csv(tmp_path / "missing.csv")
    with pytest.raises(UnitsError):
        arm.Table.from_csv(file, x_units="furlongs")


def test_a_text_model_takes_columns_and_a_saved_one_holds_the_numbers(file: Path) -> None:
    model = file.with_name("model.toml")
    model.write_text(
        "name = 'shaft'\n[tables.motor]\nx = { file = 'motor.csv', key = 'speed' }\n"
        "y = { file = 'motor.csv', key = '2' }\nx_units = 'rpm'\ny_units = 'N*m'\n"
        "[bodies.shaft]\njoint = { revolute = 'z' }\nmass = 1\ninertia = [1, 1, 1]\n"
        "[loads.drive]\nmoment = 'motor(shaft.u1)'\ndirection = 'ground.z'\non = 'shaft'\n"
    )
    s = arm.load(model)
    rate = s.derive().compile().derivatives(0.0, [0.0, 2000 * np.pi / 30])[1]
    assert rate == pytest.approx(5.75, rel=1e-14)
    s.save(file.with_name("again.toml"))
    file.unlink()
    again = arm.load(file.with_name("again.toml")).derive().compile().derivatives(0.0, [0.0, 200.0])
    np.testing.assert_array_equal(again, s.derive().compile().derivatives(0.0, [0.0, 200.0]))
