"""Tyre files: units, versions, sides, missing and impossible values, writing; each fault with its line."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import armillary as arm
import armillary.vehicles as veh

DATA = Path(__file__).parent / "data"
MADE_UP = DATA / "made_up_61.tir"


def edited(folder: Path, changes: dict[str, str], base: Path = MADE_UP) -> Path:
    """A copy of a tyre file in which texts are exchanged, each of which occurs once."""
    text = base.read_text(encoding="utf-8")
    for old, new in changes.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    path = folder / "edited.tir"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_of_each_version_is_read() -> None:
    new, old = veh.read_tir(MADE_UP), veh.read_tir(DATA / "mf_185_80R14.tir")
    assert (new.version, new.side, old.version, old.side) == ("6.1", "left", "5.2", "left")
    assert (new.values["PKY1"], old.values["PKY1"]) == (-16.786, -12.536)
    assert new.missing == old.missing == ()
    assert old.tables["SHAPE"] == ((1.0, 0.0), (1.0, 0.4), (1.0, 0.9), (0.9, 1.0))
    assert old.where("PKY1").endswith("mf_185_80R14.tir:158")


def test_a_written_file_gives_the_same_tyre_to_the_last_bit(tmp_path: Path) -> None:
    for name in ("made_up_61.tir", "mf_185_80R14.tir"):
        first = veh.read_tir(DATA / name)
        first.write(tmp_path / name)
        again = veh.read_tir(tmp_path / name)
        assert (again.values, again.version, again.tables) == (first.values, first.version, first.tables)
        assert again.side == first.side
    with pytest.raises(arm.ArmillaryError, match="there is no folder"):
        first.write(tmp_path / "nowhere" / "a.tir")
    before = (tmp_path / "mf_185_80R14.tir").read_bytes()
    assert veh.read_tyre(veh.read_tir(MADE_UP), version="6.2") == veh.read_tyre(MADE_UP, version="6.2")
    with pytest.raises(KeyError):  # a file that cannot be written whole leaves the one that is there
        replace(first, version="9").write(tmp_path / "mf_185_80R14.tir")
    assert (tmp_path / "mf_185_80R14.tir").read_bytes() == before


@pytest.mark.parametrize(
    ("fit", "version"),
    [("5", "5.2"), ("6", "5.2"), ("21", "5.2"), ("52", "5.2"), ("61", "6.1"), ("62", "6.2")],
)
def test_fittyp_states_the_version(fit: str, version: str, tmp_path: Path) -> None:
    assert veh.read_tir(edited(tmp_path, {"FITTYP = 61": f"FITTYP = {fit}"})).version == version


@pytest.mark.parametrize("name", ["MF-TYRE", "USER", "mf_tyre"])
def test_a_format_that_says_nothing_leaves_the_version_to_fittyp(name: str, tmp_path: Path) -> None:
    line = f"PROPERTY_FILE_FORMAT = '{name}'\nFITTYP = 61"
    assert veh.read_tir(edited(tmp_path, {"FITTYP = 61": line})).version == "6.1"


def test_a_file_without_fittyp_is_of_version_52(tmp_path: Path) -> None:
    assert veh.read_tir(edited(tmp_path, {"FITTYP = 61\n": ""})).version == "5.2"


def test_units_are_converted_but_for_the_coefficients(tmp_path: Path) -> None:
    """Millimetres, pounds, degrees and minutes; 16.7 m/s are 1 002 000 mm/min."""
    path = edited(
        tmp_path,
        {
            "LENGTH = 'meter'": "LENGTH = 'mm'",
            "FORCE = 'newton'": "FORCE = 'pound_force'",
            "ANGLE = 'radians'": "ANGLE = 'Degree'",
            "TIME = 'second'": "TIME = 'minute'\nPRESSURE = 'bar'",
            "FNOMIN            = 4200": "FNOMIN = 944.19756",
            "UNLOADED_RADIUS   = 0.318": "UNLOADED_RADIUS = 318\nCAMMAX = 10",
            "NOMPRES           = 220000": "NOMPRES = 2.2",
            "INFLPRES          = 230000": "INFLPRES = 2.3",
            "LONGVL            = 16.7": "LONGVL = 1002000",
        },
    )
    found, plain = veh.read_tir(path).values, veh.read_tir(MADE_UP).values
    for name in ("FNOMIN", "UNLOADED_RADIUS", "NOMPRES", "INFLPRES", "LONGVL"):
        assert math.isclose(found[name], plain[name], rel_tol=1e-8), name
    assert math.isclose(found["CAMMAX"], math.radians(10))
    assert found["PKY1"] == plain["PKY1"]


def test_mass_as_unit_and_as_number_are_two_things(tmp_path: Path) -> None:
    path = edited(tmp_path, {"[COEFFICIENTS]": "[INERTIA]\nMASS = 9.3 $ of the tyre\n[COEFFICIENTS]"})
    assert veh.read_tir(path).values["MASS"] == 9.3


def test_line_ends_comments_and_quotes_of_any_kind_are_read(tmp_path: Path) -> None:
    text = MADE_UP.read_text(encoding="utf-8").replace("PCX1 ", "! remark = 3\n   pcx1 ")
    text = text.replace("= 1.5397", "=1.5397D+00$remark ! again").replace("'LEFT'", '"Right!"')
    path = tmp_path / "crlf.tir"
    path.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode() + b"! Gr\xf6\xdfe\r\n")
    found = veh.read_tir(path)
    assert (found.values["PCX1"], found.side, found.version) == (1.5397, "unknown", "6.1")


FAULTS = [
    ({"FITTYP = 61": "FITTYP = 70"}, r":13: FITTYP = 70 is a version that is not known; known are 5\.2"),
    (
        {"FITTYP = 61": "PROPERTY_FILE_FORMAT = 'FTIRE'"},
        r":13: PROPERTY_FILE_FORMAT 'FTIRE' is not a known Magic",
    ),
    ({"FITTYP = 61": "FITTYP = 'new'"}, r":13: FITTYP 'new' is not a number"),
    ({"= 4200": "= 0"}, r":16: FNOMIN: 0 must be positive"),
    ({"= -16.786": "= 0"}, r":\d+: PKY1: 0 leaves no cornering stiffness"),
    ({"= 1.5103": "= nan"}, r":\d+: PCY1: nan is not a finite number"),
    ({"= 1.5103": "= 1.5.03"}, r":\d+: PCY1: '1.5.03' is not a number; write"),
    ({"= 1.5103": "="}, r":\d+: PCY1: the value is missing"),
    ({"= 1.5103": "= 1e999"}, r":\d+: PCY1: inf is not a finite number"),
    ({"'meter'": "'parsec'"}, r":7: LENGTH in 'parsec' is not known; use one of 'meter'"),
    ({"'meter'": "'mm'"}, r":17: UNLOADED_RADIUS would be 0\.000318 in SI.*check LENGTH in \[UNITS\]"),
    ({"'newton'": "'kn'"}, r":18: NOMPRES would be 2\.2e\+08 in SI"),  # 4.2 MN: an excavator has that
    ({"PCY1  ": "PCY1 = 1.4\nPCY1  "}, r":\d+: PCY1 = 1.5103 here and 1.4 in line \d+; keep one"),
    ({"PCY1  ": "what is this\nPCY1  "}, r":\d+: 'what is this' is neither a \[SECTION\] nor"),
    ({"'LEFT'": "'LEFT"}, r":14: TYRESIDE: the quote of 'LEFT is not closed"),
    ({"LFZO  ": "ALPMIN = 1\nALPMAX = -1\nLFZO  "}, r":\d+: ALPMIN: 1 is above ALPMAX = -1"),
]


@pytest.mark.parametrize(("changes", "sentence"), FAULTS)
def test_a_fault_is_named_with_file_and_line(changes: dict[str, str], sentence: str, tmp_path: Path) -> None:
    path = edited(tmp_path, changes)
    with pytest.raises(arm.ModelError, match=r"edited\.tir" + sentence):
        veh.read_tir(path)


def test_a_file_that_is_cut_off_names_what_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "cut.tir"
    path.write_text(MADE_UP.read_text(encoding="utf-8").partition("PCY1")[0], encoding="utf-8")
    message = r"cut\.tir: the formula needs PCY1, PDY1, PKY1, PKY2, which are missing; add them .*cut off"
    with pytest.raises(arm.ModelError, match=message):
        veh.read_tyre(path)
    whole = veh.read_tir(MADE_UP)
    one = replace(whole, values={name: value for name, value in whole.values.items() if name != "PDY1"})
    with pytest.raises(arm.ModelError, match="the formula needs PDY1, which is missing; add it to the file"):
        veh.read_tyre(one)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [(b"\0\1\2", "not a text file"), (b"$" * 4_000_001, "more than 4 MB"), (None, "there is no such file")],
)
def test_what_is_no_tyre_file_is_refused(content: bytes | None, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "none.tir"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(arm.ModelError, match=sentence):
        veh.read_tir(path)
    with pytest.raises(arm.ModelError, match="no ordinary file"):
        veh.read_tir(tmp_path)


def test_missing_coefficients_are_named_with_what_was_taken(tmp_path: Path) -> None:
    path = edited(tmp_path, {"PKY4              = 2.0858\n": "", "RBX1              = 11.137\n": ""})
    with pytest.warns(arm.ImportedWarning, match=r"2 coefficients.*taken as 0: RBX1; taken as PKY4 = 2"):
        tyre = veh.read_tyre(path)
    assert (tyre.coefficients["PKY4"], tyre.coefficients["RBX1"]) == (2.0, 0.0)
    assert veh.read_tir(path).taken == {"RBX1": 0.0, "PKY4": 2.0}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        whole = veh.read_tyre(path, changes={"PKY4": 2.0858, "RBX1": 11.137})
    assert whole.evaluate(4000, 0.1, 0.1) == veh.read_tyre(MADE_UP).evaluate(4000, 0.1, 0.1)


def test_a_tyre_of_the_other_side_is_mirrored() -> None:
    left, right = (veh.read_tyre(MADE_UP, side=side) for side in ("left", "right"))
    here, there = left.evaluate(4000, 0.05, 0.04, 0.02), right.evaluate(4000, 0.05, -0.04, -0.02)
    assert here == (there.fx, -there.fy, -there.mx, there.my, -there.mz)
    assert right.mirror().evaluate(4000, 0.05, 0.04, 0.02) == here
    assert not np.isclose(right.evaluate(4000, 0.05, 0.04, 0.02).fy, here.fy)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [({"side": "up"}, "side='up' is not known"), ({"convention": "x"}, "convention 'x' is not known"),
     ({"version": "7"}, "version='7' is not known"), ({"changes": {"PCX1": -1.0}}, "PCX1: -1 must be")],
)  # fmt: skip
def test_wrong_options_are_refused(options: dict[str, object], sentence: str) -> None:
    with pytest.raises(arm.ModelError, match=sentence):
        veh.read_tyre(MADE_UP, **options)  # type: ignore[arg-type]
