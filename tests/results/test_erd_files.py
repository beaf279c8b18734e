"""ERD files: the header other programs read, and files that other programs wrote."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from armillary.errors import ArmillaryError
from armillary.results import Run, load_run


def car() -> Run:
    names = ("Lateral Acceleration of the body", "Lateral Acceleration of the axle", "RB.q1", "Énergie")
    units = dict(zip(names, ("gee", "m/s2", "deg", "J"), strict=True))
    return Run(
        "Passenger car",
        np.arange(3) * 0.05,
        np.array([[0.0, 1.0, 2.0, 5e-324], [0.1, 0.2, 0.1 + 0.2, np.nan], [1.0, -1.0, 1e300, -0.0]]),
        names,
        units,
        {names[0]: "Lateral Acceleration, measured along the axle of the body in gees"},
        {"SPEED": 968.0},
        info={"created": "2025-01-01"},
    )


def test_the_header_is_that_of_the_dissertation(tmp_path):
    car().save(tmp_path / "car.erd")
    lines = (tmp_path / "car.erd").read_bytes().decode("ascii").split("\n")
    assert lines[:4] == [
        "ERDFILEV2.00",
        "     5,     3,    -1,     1,     5, 0.05, -1,",
        "TITLE   Passenger car",
        "SHORTNAMTime    Lateral Lateral2RB.q1   Energie ",
    ]
    long = [lines[4][8 + 32 * i : 40 + 32 * i].rstrip() for i in range(5)]
    assert lines[4].startswith("LONGNAME") and len(lines[4]) == 8 + 5 * 32
    assert long[:2] == ["Time", "Lateral Acceleration, measured a"]
    assert lines[5] == "UNITSNAMsec     gee     m/s2    deg     J       "
    generic = [lines[6][8 + 32 * i : 40 + 32 * i].rstrip() for i in range(5)]
    assert generic == [
        "Time",
        "Translational Acceleration",
        "Translational Acceleration",
        "Rotation",
        "Energy",
    ]
    assert lines[7][8 + 3 * 32 :].split() == ["RB"]
    assert lines[8:11] == ["XLABEL  Time", "XUNITS  sec", "HISTORY Data generated with Armillary 2025-01-01"]
    assert lines[lines.index("END") + 2] == "0.05 0.1 0.2 0.30000000000000004 nan"


def test_times_that_are_not_even_have_no_step(tmp_path):
    Run("x", [0.0, 0.1, 0.3], [[0.0]] * 3, ("a",)).save(tmp_path / "x.erd")
    assert (tmp_path / "x.erd").read_text().split("\n")[1].split(",")[5].strip() == "0.0"
    assert load_run(tmp_path / "x.erd").time.tolist() == [0.0, 0.1, 0.3]


HEADER = (
    "ERDFILEV2.00\n"
    "     2,     3,     3,     8,{kind:6d},    0.0500    \n"
    "TITLE   step steer\n"
    "SHORTNAMAy      r\n"
    "LONGNAMELateral Acceleration            Yaw Rate\n"
    "UNITSNAMg's     deg/s\n"
    "RIGIBODYRolling Body                    Non-Rolling Body\n"
    "XLABEL  Time\nXUNITS  sec\n"
    "HISTORY No input file (used defaults)\nHISTORY second line\n"
)


def check_foreign(run: Run) -> None:
    assert run.system == "step steer" and run.names == ("Ay", "r")
    assert run.units["r"] == "deg/s" and run.descriptions["Ay"] == "Lateral Acceleration"
    assert run.info["history"] == "No input file (used defaults); second line"
    assert run.time.tolist() == pytest.approx([0.0, 0.05, 0.1])
    assert run["Ay"].tolist() == [0.0, 0.25, -0.5] and run["r"].tolist() == [1.0, 1000.0, 2.5]


@pytest.mark.parametrize(
    ("extra", "data"),
    [
        ("", "0.0 1.0\n 0.25, 1.0D3\n-0.5\n2.5\n"),
        ("FORMAT  (2F8.3)\n", "   0.000   1.000\n   0.2501000.000\n  -0.500   2.500\n"),
    ],
    ids=["free", "columns that touch"],
)
def test_text_of_other_programs(tmp_path, extra, data):
    (tmp_path / "run.erd").write_text(HEADER.format(kind=5) + extra + "END\n" + data)
    check_foreign(load_run(tmp_path / "run.erd"))


@pytest.mark.parametrize(("order", "marked"), [("<", True), (">", True), ("<", False)])
def test_binary_numbers_beside_the_header(tmp_path, order, marked):
    """As a Fortran program's unformatted file, whose records are marked with their length, or plain.

    Nothing in plain numbers tells the order of their bytes.
    """
    rows = [(0.0, 1.0), (0.25, 1000.0), (-0.5, 2.5)]
    mark = struct.pack(f"{order}i", 8) if marked else b""
    (tmp_path / "run.erd").write_text(HEADER.format(kind=1) + "END\n")
    data = b"".join(mark + struct.pack(f"{order}2f", *row) + mark for row in rows)
    (tmp_path / "run.erd.BIN").write_bytes(data)
    check_foreign(load_run(tmp_path / "run.erd"))


def test_lists_that_go_on_in_another_line(tmp_path):
    text = "ERDFILEV2.00\n 2, 1, -1, 1, 5, 0.1, -1,\nSHORTNAMAy\n&1000   r\nEND\n1 2\n"
    (tmp_path / "run.erd").write_text(text)
    assert load_run(tmp_path / "run.erd").names == ("Ay", "r")


def test_lines_of_one_keyword_are_joined_however_they_are_written(tmp_path):
    text = "ERDFILEV2.00\n 1, 1, -1, 1, 5, 0.1, -1,\nhistory made\nHISTORY then filtered\nEND\n1\n"
    (tmp_path / "run.erd").write_text(text)
    assert load_run(tmp_path / "run.erd").info["history"] == "made; then filtered"


def test_without_a_step_the_first_channel_is_the_axis(tmp_path):
    text = "ERDFILEV2.00\n 2, 2, -1, 1, 5, 0, -1,\nSHORTNAMx       y\nXUNITS  m\nEND\n3 1\n7 2\n"
    (tmp_path / "run.erd").write_text(text)
    run = load_run(tmp_path / "run.erd")
    assert run.time.tolist() == [3.0, 7.0] and run.info["xunits"] == "m"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("ERD\n", "first line"),
        ("ERDFILEV2.00\n1,2\nEND\n", "second line lacks"),
        ("ERDFILEV2.00\n1,1,1,1,5,0.1\nTITLE x\n", "no END"),
        ("ERDFILEV2.00\n1,2,1,1,5,0.1\nEND\n1\n", "1 samples, and its header states 2"),
        ("ERDFILEV2.00\n2,2,1,1,5,0.1\nEND\n1 2 3\n", "do not form rows of 2"),
        ("ERDFILEV2.00\n2,2,1,1,3,0.1\nEND\n1 2 3\n", "kind 3"),
        ("ERDFILEV2.00\n2,2,1,1,1,0.1\nEND\n", r"run\.bin', which does not exist"),
        ("ERDFILEV2.00\n-5,2,1,1,5,0.1\nEND\n", "-5 channels"),
    ],
)
def test_damaged_files_are_one_sentence(tmp_path, text, why):
    (tmp_path / "run.erd").write_text(text)
    with pytest.raises(ArmillaryError, match=why):
        load_run(tmp_path / "run.erd")
