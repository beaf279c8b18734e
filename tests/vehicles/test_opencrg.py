"""OpenCRG roads: files of ASAM with heights by its C library, binary and text, faults by line, cars on them.

`data/roads/values.csv` has 60 places of each file, computed by ASAM's library, whose grid is in single
precision: 1.4e-9 m at heights of a centimetre, 1.9e-8 m at those of a metre.
"""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import armillary as arm
import armillary.vehicles as veh
from armillary.vehicles.opencrg.files import _integrate_slope, _line

DATA = Path(__file__).parent / "data" / "roads"
NAMES = ("arc", "circle", "curved_banked_sloped", "platform", "sloped_opts", "straight_double")


@cache
def values() -> dict[str, np.ndarray]:
    found: dict[str, list[list[float]]] = {}
    with open(DATA / "values.csv", encoding="utf-8") as lines:
        for row in csv.reader(lines):
            if row[0] != "road":
                found.setdefault(row[0].removeprefix("handmade_"), []).append([float(x) for x in row[1:]])
    return {name: np.array(rows).T for name, rows in found.items()}


@cache
def road(name: str) -> veh.CrgRoad:
    return veh.crg_road(DATA / f"handmade_{name}.crg", missing="neighbour")


@pytest.mark.parametrize("name", NAMES)
def test_heights_and_places_are_those_of_asams_library(name: str) -> None:
    u, v, z, x, y = values()[name]
    known = ~np.isnan(z)  # ASAM's library has no height beside a missing one
    assert known.sum() > 40
    assert np.allclose(road(name).height_at(u, v)[known], z[known], atol=2e-8, rtol=0)
    assert np.allclose(road(name).place(u, v), (x, y), atol=1e-12, rtol=0)


@pytest.mark.parametrize("name", ["arc", "circle", "curved_banked_sloped", "platform"])
def test_a_place_is_found_from_half_a_piece_away(name: str) -> None:
    u, v, _, x, y = values()[name]
    s = arm.System("place")
    symbols = [s.parameter(letter, 0.0, units="m") for letter in ("x", "y", "near")]
    step = road(name).file.u[1] - road(name).file.u[0]
    near = u + step * np.random.default_rng(1).uniform(-0.5, 0.5, len(u))
    found = road(name).project(*symbols)
    at = {"x": x, "y": y, "near": near}
    assert np.allclose([arm.evaluate(value, at) for value in found], (u, v), atol=1e-11, rtol=0)


def test_slopes_are_exact_along_a_curved_banked_road() -> None:
    u, v, _, x, y = values()["curved_banked_sloped"]
    s = arm.System("place")
    sx, sy, near = (s.parameter(letter, 0.0, units="m") for letter in ("x", "y", "near"))
    surface = road("curved_banked_sloped")._at(sx, sy, near)
    inside = np.abs(u % 1 - 0.5) < 0.4  # away from the lines of the grid, where slopes jump
    for line in (-1.25, -1.0, 0.0, 1.0, 1.25):
        inside &= np.abs(v - line) > 0.02
    at = {"x": x[inside], "y": y[inside], "near": u[inside]}
    step = 1e-6
    for name, slope in (("x", surface.slope_x), ("y", surface.slope_y)):
        high, low = (arm.evaluate(surface.height, {**at, name: at[name] + sign * step}) for sign in (1, -1))
        assert np.allclose(arm.evaluate(slope, at), (high - low) / (2 * step), atol=2e-8)


def test_a_smooth_road_has_the_heights_of_the_grid_and_slopes_without_jumps(tmp_path: Path) -> None:
    u, v = np.linspace(0.0, 10.0, 21), np.linspace(-1.0, 1.0, 5)
    z = 0.3 * np.sin(u)[:, None] * np.cos(v)
    veh.write_crg(tmp_path / "road.crg", u, v, z, kind="KDBI")
    jumps = {}
    for kind in ("linear", "smooth"):
        made = veh.crg_road(tmp_path / "road.crg", kind=kind)
        assert np.allclose(made.height_at(u[3], v[1:-1]), z[3, 1:-1], atol=1e-12)
        low, here, high = (np.asarray(made.height_at(u[1:-1] + d, 0.2)) for d in (-1e-5, 0.0, 1e-5))
        jumps[kind] = np.abs(high - 2 * here + low).max() / 1e-5
    assert jumps["linear"] > 0.1 and jumps["smooth"] < 1e-4


@pytest.mark.parametrize("kind", ["LRFI", "LDFI", "KRBI", "KDBI"])
def test_a_written_road_reads_back(kind: str, tmp_path: Path) -> None:
    """Digits: 7 behind the point of 10 characters, 16 of 20, 24 and 53 bits in binary."""
    u, v = np.linspace(3.0, 13.0, 21), np.array([-2.0, -0.75, 0.1, 0.6, 1.2, 1.9, 2.5, 2.6, 3.3, 4.0, 4.5])
    z = 0.3 * np.sin(u)[:, None] * np.cos(v)
    z[4, 0] = np.nan
    heading = 0.4 * np.cos(u / 5)
    veh.write_crg(tmp_path / "road.crg", u, v, z, heading=heading, kind=kind)
    made = veh.read_crg(tmp_path / "road.crg")
    error = {"LRFI": 5.1e-8, "LDFI": 5e-16, "KRBI": 2e-8, "KDBI": 0.0}[kind]
    assert np.allclose(made.u, u, rtol=1e-15) and np.allclose(made.v, v, rtol=1e-15)
    assert np.allclose(made.z, z, atol=error, rtol=0, equal_nan=True)
    assert np.allclose(np.diff(made.x), 0.5 * np.cos(heading[1:]), atol=1e-7)
    assert not made.straight


@pytest.mark.parametrize("shape", [(1, 3), (3, 1), (2, 3), (3, 2)])
def test_a_road_needs_two_sections_each_way_and_heights_for_all(
    shape: tuple[int, int], tmp_path: Path
) -> None:
    u, v = np.arange(float(shape[0])), np.arange(float(shape[1]))
    if min(shape) < 2:
        with pytest.raises(arm.ModelError, match=r"one row for each of \d u"):
            veh.write_crg(tmp_path / "road.crg", u, v, np.zeros(shape))
    else:
        veh.write_crg(tmp_path / "road.crg", u, v, np.ones(shape))
        assert veh.read_crg(tmp_path / "road.crg").z.shape == shape
        with pytest.raises(arm.ModelError, match=r"not the shape"):
            veh.write_crg(tmp_path / "road.crg", u, v, np.zeros(shape[::-1]))


def test_reference_lines_between_two_ends_are_blended_from_both() -> None:
    """Four points, headings 0, 0.3, −0.2; forwards from (1, 2), backwards from (3.7, 2.4), by hand."""
    heading = np.array([9.0, 0.0, 0.3, -0.2])  # the first belongs to no piece
    start = {"X": 1.0, "Y": 2.0, "PHI": 0.0}
    x, y = _line({"phi": heading}, start, {"X": 3.7, "Y": 2.4}, 0.9, 4)
    for found, begin, end, part in ((x, 1.0, 3.7, np.cos), (y, 2.0, 2.4, np.sin)):
        pieces = 0.9 * part(heading[1:])
        back = [end - pieces[1] - pieces[2], end - pieces[2], end]
        one = 2 / 3 * (begin + pieces[0]) + 1 / 3 * back[0]
        two = 1 / 3 * (one + pieces[1]) + 2 / 3 * back[1]
        assert np.allclose(found, [begin, one, two, end], rtol=1e-14)
    plain = _line({"phi": heading}, start, {}, 0.9, 4)
    assert np.allclose(plain[0], 1 + 0.9 * np.cumsum([0, *np.cos(heading[1:])]), rtol=1e-14)
    ends = {"X": float(plain[0][-1]), "Y": float(plain[1][-1])}
    assert np.allclose(_line({"phi": heading}, start, ends, 0.9, 4), plain, rtol=1e-13)
    straight = _line({}, {"X": 1.0, "Y": 2.0, "PHI": 0.5}, ends, 0.9, 3)
    assert np.allclose(straight[1], 2 + 0.9 * np.sin(0.5) * np.arange(3), rtol=1e-14)


def test_slopes_that_lead_to_the_given_end_are_summed_up() -> None:
    slope = np.array([9.0, 0.1, -0.2, 0.05, 0.3])
    heights = 2.0 + np.concatenate([[0.0], np.cumsum(slope[1:]) * 0.5])
    assert np.allclose(_integrate_slope(slope, 2.0, None, 0.5), heights, rtol=1e-14)
    assert np.allclose(_integrate_slope(slope, 2.0, float(heights[-1]), 0.5), heights, rtol=1e-13)
    other = _integrate_slope(slope, 2.0, 3.0, 0.5)
    assert (other[0], other[-1]) == (2.0, 3.0)
    assert np.isclose(other[1], 2.05) and np.isclose(other[2], 0.75 * (2.05 - 0.1) + 0.25 * (3.0 - 0.175))


def test_binary_numbers_are_big_endian_and_padded_to_records(tmp_path: Path) -> None:
    header = (
        "$ROAD_CRG\nREFERENCE_LINE_INCREMENT=0.5\nREFERENCE_LINE_END_U=1.0\nLONG_SECTION_V_RIGHT=-1\n"
        "LONG_SECTION_V_INCREMENT=2\n$\n$KD_Definition\n#:KDBI\n"
        "D:long section 1,m\nD:long section 2,m\n$\n$$$$\n"
    )
    numbers = bytes.fromhex("3ff0000000000000" "4000000000000000" "3fe0000000000000" "bff0000000000000"
                            "0000000000000000" "3fd0000000000000") + b"\x7f\xf8" * 16  # fmt: skip
    (tmp_path / "road.crg").write_bytes(header.encode() + numbers)
    made = veh.read_crg(tmp_path / "road.crg")
    assert np.array_equal(made.z, [[1, 2], [0.5, -1], [0, 0.25]])
    assert np.array_equal(made.v, [-1, 1]) and made.straight


def _change(tmp_path: Path, name: str, old: str, new: str) -> Path:
    text = (DATA / f"handmade_{name}.crg").read_text(encoding="latin-1")
    assert old in text
    path = tmp_path / "road.crg"
    path.write_text(text.replace(old, new, 1), encoding="latin-1")
    return path


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("#:LRFI", "#:XYZ", r"road.crg, line 35: the format 'XYZ' is not known"),
        ("REFERENCE_LINE_INCREMENT = 4.0", "", "REFERENCE_LINE_INCREMENT is missing"),
        ("INCREMENT = 4.0", "INCREMENT = -4.0", r"line 30: REFERENCE_LINE_INCREMENT must be positive"),
        ("END_U     = 88.0", "END_U     = 80.0", "23 cross sections, but from 0 to 80 m at 4 m .* 21"),
        ("START_PHI = 0.0", "START_PHI = zero", r"line 27: 'REFERENCE_LINE_START_PHI = zero' in \$ROAD_CRG"),
        ("reference line phi", "reference line psi", "line 37: the channel 'reference line psi'"),
        ("at v = -1.250", "at v = -1.600", "line 39: long sections must follow each other"),
        (" 0.1250000 0.0000000", " 0.1250000 0.00x0000", "line 51: '0.00x0000' is not a number"),
        (" 2.1250000 0.0000000", " 3.9000000 0.0000000", "cross sections of the road meet"),
    ],
)  # fmt: skip
def test_a_wrong_file_is_refused_with_its_line(old: str, new: str, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(arm.ModelError, match=sentence):
        veh.crg_road(_change(tmp_path, "arc", old, new))


@pytest.mark.parametrize(
    ("share", "sentence"),
    [
        (0.3, "the file ends in its header"),
        (0.8, "line 61: this row has 4 of 8 numbers; the file is cut off or damaged: copy it again"),
        (0.981, "line 69: the data have 22 cross sections, but from 0 to 88 m at 4 m there are 23"),
    ],
)
def test_a_file_that_is_cut_off_is_refused(share: float, sentence: str, tmp_path: Path) -> None:
    content = (DATA / "handmade_arc.crg").read_bytes()
    (tmp_path / "road.crg").write_bytes(content[: int(share * len(content))])
    with pytest.raises(arm.ModelError, match=sentence):
        veh.read_crg(tmp_path / "road.crg")


def test_a_binary_file_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    u = np.linspace(0, 10, 101)
    veh.write_crg(tmp_path / "road.crg", u, [-1, 0, 1], np.zeros((101, 3)))
    content = (tmp_path / "road.crg").read_bytes()
    (tmp_path / "road.crg").write_bytes(content[:-200])
    with pytest.raises(
        arm.ModelError, match="101 cross sections of 3 channels need 1212; the file is cut off"
    ):
        veh.read_crg(tmp_path / "road.crg")


def test_missing_heights_must_be_filled_or_cropped() -> None:
    file = veh.read_crg(DATA / "handmade_curved_banked_sloped.crg")
    with pytest.raises(arm.ModelError, match=r"3 heights are missing, the first at u = 11 m, v = -1.5 m"):
        veh.crg_road(file)
    part = veh.crg_road(file.crop(u=(0, 10), v=(-1, 1.25)))
    assert part.file.z.shape == (11, 4)
    assert veh.crg_road(file, missing="neighbour").height_at(11.0, -1.5) == pytest.approx(
        veh.crg_road(file, missing="neighbour").height_at(11.0, -1.25) - 0.25 * 0.11
    )


def test_borders_keep_repeat_reflect_or_are_zero(tmp_path: Path) -> None:
    inside = road("sloped_opts")
    u = np.array([-3.3, 25.4])
    cases = {2: np.array([0.0, 22.0]), 3: np.array([18.7, 3.4]), 4: np.array([3.3, 18.6])}
    for mode, places in cases.items():
        path = _change(tmp_path, "sloped_opts", "  BORDER_MODE_U = 2", f"  BORDER_MODE_U = {mode}")
        made = veh.crg_road(path)
        assert np.allclose(made.height_at(u, 0.3), inside.height_at(places, 0.3), atol=1e-12)
    path = _change(tmp_path, "sloped_opts", "  BORDER_MODE_V = 2", "  BORDER_MODE_V = 1")
    path.write_text(path.read_text().replace("BORDER_OFFSET_V = 0.0", "BORDER_OFFSET_V = -0.2"))
    assert veh.crg_road(path).height_at(5.0, 1.6) == -0.2
    path.write_text(path.read_text().replace("BORDER_MODE_V = 1", "BORDER_MODE_V = 7"))
    with pytest.raises(arm.ModelError, match="BORDER_MODE_V = 7 is not known"):
        veh.crg_road(path)


def test_modifiers_scale_and_shift_and_unknown_ones_are_refused(tmp_path: Path) -> None:
    old = "grid_nan_mode = 2.000000000+e00"
    path = _change(tmp_path, "platform", old, "SCALE_Z_GRID = 2\nREFLINE_OFFSET_Z = -1\nSCALE_LENGTH = 3")
    u, v, *_ = values()["platform"]
    plain = road("platform").height_at(u, v)
    assert np.allclose(veh.crg_road(path).height_at(3 * u, v), 2 * plain - 1)
    with pytest.raises(arm.ModelError, match="line 35: the modifier REFPOINT_X is not applied"):
        veh.read_crg(_change(tmp_path, "platform", old, "REFPOINT_X = 3"))


def test_a_file_may_name_another_with_the_data(tmp_path: Path) -> None:
    (tmp_path / "data.crg").write_bytes((DATA / "handmade_platform.crg").read_bytes())
    head = tmp_path / "road.crg"
    head.write_text("$CT\n$\n$ROAD_CRG_FILE\ndata.crg\n$\n$ROAD_CRG_MODS\nSCALE_Z_GRID = 3\n$\n$$$$\n")
    assert np.allclose(veh.read_crg(head).z, 3 * veh.read_crg(tmp_path / "data.crg").z)
    head.write_text("$ROAD_CRG_FILE\n../data.crg\n$\n$$$$\n")
    with pytest.raises(arm.ModelError, match="not in the folder of this one"):
        veh.read_crg(head)


@cache
def track() -> veh.CrgFile:
    """A closed track like a circle of 200 m, banked by its heights, in 200 pieces."""
    u = np.linspace(0.0, 200.0, 201)
    v = np.linspace(-4.0, 4.0, 9)
    heading = 2 * np.pi * (np.arange(201) - 0.5) / 200
    z = 0.03 * v + 0.01 * np.sin(2 * np.pi * 12 * u / 200)[:, None]
    x = np.concatenate([[0.0], np.cumsum(np.cos(heading[1:]))])
    y = np.concatenate([[0.0], np.cumsum(np.sin(heading[1:]))])
    zeros = np.zeros(201)
    return veh.CrgFile(
        "track", u, v, z, x, y, zeros, zeros, {"REFLINE_CONTINUATION": 1.0, "BORDER_MODE_U": 3.0}
    )


def test_a_wheel_rolls_around_a_closed_track() -> None:
    """A sled on a circle for one and a half rounds: the load follows the height of the grid, taken here by
    SciPy at angle and radius. Cross sections of the polygon differ from those of the circle by 0.2 mm.
    """
    from scipy.interpolate import RegularGridInterpolator

    file = track()
    radius = 200 / (2 * np.pi)
    s = arm.System("sled")
    s.parameter("Omega", 4.0, units="rad/s")
    turn = s.body("turn", joint=arm.Revolute("z"), at=(0, radius, 0), mass=1, inertia=(1, 1, 1))
    s.prescribe(turn.u1, "Omega")
    hub = s.body("hub", turn, at=(0, -(radius - 1.3), 0.28), mass=1, inertia=(1, 1, 1))
    tyre = veh.BrushTyre(20.0, 1.0, vertical_stiffness=2e5)
    wheel = veh.add_wheel(
        s, "wheel", hub, tyre, mass=20, inertia=(0.5, 0.9, 0.5), road=veh.crg_road(file), outputs=False
    )
    s.output("sink", wheel.deflection, units="m")
    run = s.derive().compile().simulate(2.4, step=2e-3, initial={"wheel.u1": 400.0})
    angle = np.asarray(run["turn.q1"]) % (2 * np.pi)
    heights = RegularGridInterpolator((file.u, file.v), file.z)
    expected = heights(np.stack([angle * radius, np.full_like(angle, 1.3)], axis=1))
    slope = np.hypot(0.03, 0.01 * 2 * np.pi * 12 / 200)
    assert np.ptp(expected) > 0.019
    assert np.allclose(run["sink"], 0.02 + expected, atol=3e-4 + 0.3 * slope**2)
    assert run["turn.q1"][-1] > 9


def test_a_run_ends_where_a_wheel_leaves_a_road_without_heights_beyond(tmp_path: Path) -> None:
    path = _change(tmp_path, "sloped_opts", "  BORDER_MODE_U = 2", "  BORDER_MODE_U = 0")
    s = arm.System("sled")
    sled = s.body("sled", joint=arm.Prismatic("x"), at=(0, 0, 1), mass=1, inertia=0)
    s.prescribe(sled.u1, 10.0)
    tyre = veh.BrushTyre(20.0, 1.0, vertical_stiffness=2e5)
    veh.add_wheel(s, "wheel", sled, tyre, at=(0, 0, 0.28), mass=20, inertia=(0.5, 0.9, 0.5),
                  road=veh.crg_road(path), outputs=False)  # fmt: skip
    run = s.derive().compile().simulate(5.0, step=2e-3, initial={"sled.q1": 1.0})
    assert run.time[-1] == pytest.approx(2.1, abs=1e-6)


def test_a_crop_keeps_two_sections_each_way_or_is_refused() -> None:
    """With every=0 the error was Python's own."""
    u, v = np.array([0.0, 1.0, 2.0, 3.0]), np.array([-1.0, 0.0, 1.0])
    z = np.arange(12.0).reshape(4, 3)
    flat = {name: np.zeros(4) for name in ("y", "reference_z", "bank")}
    file = veh.CrgFile("grid", u=u, v=v, z=z, x=u, **flat)
    found = file.crop((1.0, 2.0), (0.0, 1.0))
    assert found.z.tolist() == [[4.0, 5.0], [7.0, 8.0]] and found.x.tolist() == [1.0, 2.0]
    assert file.crop(every=3).u.tolist() == [0.0, 3.0]
    for part, words in (
        ({"every": 0}, "every=0 must be 1 or more"),
        ({"every": -1}, "every=-1 must be 1 or more"),
        ({"every": 4}, "crop leaves 1 cross sections and 3 long sections"),
        ({"v": (-0.5, 0.5)}, "crop leaves 4 cross sections and 1 long sections"),
    ):
        with pytest.raises(arm.ModelError, match=words):
            file.crop(**part)
