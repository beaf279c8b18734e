"""A fit gives back the tyre that made the data, writes it as a file, and names what is wrong with data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import armillary as arm
import armillary.vehicles as veh

TRUE = Path(__file__).parent / "data" / "mf_185_80R14.tir"


def measured(noise: float = 0.0) -> dict[str, np.ndarray]:
    """Sweeps of slip angle and of longitudinal slip at three loads."""
    load, slip = (x.ravel() for x in np.meshgrid([1500.0, 3800.0, 6000.0], np.linspace(-0.25, 0.25, 41)))
    zero = np.zeros_like(slip)
    data = {
        "fz": np.tile(load, 2),
        "kappa": np.concatenate([zero, slip]),
        "alpha": np.concatenate([slip, zero]),
    }
    forces = veh.read_tyre(TRUE).evaluate(**data)
    random = np.random.default_rng(1)
    for name in ("fx", "fy", "mz"):
        value = getattr(forces, name)
        data[name] = value + noise * np.max(np.abs(value)) * random.standard_normal(len(value))
    return data


def start() -> veh.TyreFile:
    """The same tyre with wrong peaks, stiffnesses and trail."""
    from dataclasses import replace

    true = veh.read_tir(TRUE)
    wrong = {"PDX1": 0.9, "PKX1": 15.0, "PCY1": 1.3, "PDY1": 1.1, "PKY1": -15.0, "QDZ1": 0.1, "QBZ1": 8.0}
    return replace(true, values={**true.values, **wrong})


NAMES = ["PDX1", "PKX1", "PEX1", "PCY1", "PDY1", "PKY1", "PHY1", "QDZ1", "QBZ1"]


def test_a_fit_finds_the_tyre_that_made_the_data(tmp_path: Path) -> None:
    found = veh.fit_tyre(start(), measured(), NAMES)
    true = veh.read_tir(TRUE).values
    for name, value in found.values.items():
        assert np.isclose(value, true[name], rtol=1e-7, atol=1e-9), name
    assert np.max(list(found.deviation.values())) < 1e-10
    found.write(tmp_path / "fitted.tir")
    again = veh.read_tyre(tmp_path / "fitted.tir")
    assert again.evaluate(3000, 0.05, 0.05) == found.tyre.evaluate(3000, 0.05, 0.05)


def test_noise_of_one_per_cent_is_seen_in_the_errors(tmp_path: Path) -> None:
    """Values lie within four of their standard errors; the deviation is the noise to a tenth."""
    rows = measured(0.01)
    lines = [",".join(map(repr, row)) for row in np.stack(list(rows.values()), axis=1).tolist()]
    text = "\n".join([",".join(rows), *lines])
    (tmp_path / "rig.csv").write_text(text, encoding="utf-8")
    found = veh.fit_tyre(start(), tmp_path / "rig.csv", NAMES)
    true = veh.read_tir(TRUE).values
    for name in NAMES:
        assert abs(found.values[name] - true[name]) < 4 * found.errors[name], name
    assert np.allclose(list(found.deviation.values()), 0.01, rtol=0.15)


@pytest.mark.parametrize(
    ("changes", "names", "sentence"),
    [
        ({"fz": None}, NAMES, "column 'fz' is missing"),
        ({"fx": None, "fy": None, "mz": None}, NAMES, "no column of fx, fy or mz"),
        ({"fy": np.zeros(3)}, NAMES, "columns have different lengths: .*fy 3"),
        ({"fy": np.full(246, np.nan)}, NAMES, "column 'fy' has no number in row 1"),
        ({}, ["PCZ9"], "there is no coefficient 'PCZ9'"),
        ({}, [], "at least one coefficient"),
    ],
)
def test_faults_of_data_are_named(changes: dict[str, object], names: list[str], sentence: str) -> None:
    data = {**measured(), **changes}
    with pytest.raises(arm.ModelError, match=sentence):
        veh.fit_tyre(start(), {name: x for name, x in data.items() if x is not None}, names)


FYW = f"{'FYW':10}{'a channel':30}{'N':10}"


def tydex(folder: Path, end: str = "**END") -> Path:
    """The sweeps as a TYDEX file, in kN, degrees and percent, with a channel that is not used."""
    rows = measured()
    channels = [("RUNTIME", "s", 1.0, None), ("FZW", "kN", 1e-3, "fz"), ("LONGSLIP", "%", 100.0, "kappa"),
                ("SLIPANGL", "deg", 180 / np.pi, "alpha"), ("FX", "N", 1.0, "fx"), ("FYW", "N", 1.0, "fy"),
                ("MZW", "Nm", 1.0, "mz")]  # fmt: skip
    lines = ["**HEADER", "RELEASE   Release of TYDEX-Format                 1.3", "**CONSTANTS",
             f"{'INCLANGL':10}{'inclination angle':30}{'deg':10}{'0.0':10}", "**MEASURCHANNELS"]  # fmt: skip
    lines += [f"{name:10}{'a channel':30}{unit:10}{'1':10}{'0':10}{'0':10}" for name, unit, *_ in channels]
    lines += ["**MEASURDATA 1"]
    for i in range(len(rows["fz"])):
        numbers = [0.01 * i if name is None else scale * rows[name][i] for _, _, scale, name in channels]
        lines.append(" ".join(f"{value:.17g}" for value in numbers))
    path = folder / "rig.tdx"
    path.write_text("\n".join([*lines, end, ""]), encoding="latin-1")
    return path


def test_a_tydex_file_gives_the_same_columns_and_the_same_fit(tmp_path: Path) -> None:
    path = tydex(tmp_path)
    read, true = veh.read_tydex(path), measured()
    for name, values in true.items():
        assert np.allclose(read[name], values, rtol=1e-14, atol=1e-12), name
    assert np.array_equal(read["gamma"], np.zeros(len(read["fz"])))
    found = veh.fit_tyre(start(), path, ["PKY1", "PDY1"])
    assert set(found.values) == {"PKY1", "PDY1"}


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("**END", "", "line 26.: \\*\\*END is missing; the file is cut off"),
        ("kN        ", "lbf       ", "line 7: the unit 'lbf' is not known"),
        (f"{FYW}{'1':10}0", f"{FYW}{'1':10}3", "line 11: channel FYW has an offset"),
        ("**MEASURDATA 1", "**OTHER", "it has no \\*\\*MEASURDATA"),
    ],
)  # fmt: skip
def test_a_wrong_tydex_file_is_refused_with_its_line(
    tmp_path: Path, old: str, new: str, sentence: str
) -> None:
    path = tydex(tmp_path)
    text = path.read_text(encoding="latin-1")
    assert old in text
    path.write_text(text.replace(old, new), encoding="latin-1")
    with pytest.raises(arm.ModelError, match=sentence):
        veh.read_tydex(path)
    path.write_text(text[: int(0.7 * len(text))], encoding="latin-1")
    with pytest.raises(arm.ModelError, match="cut off"):
        veh.read_tydex(path)


def test_a_carpet_has_the_forces_of_the_tyre(tmp_path: Path) -> None:
    tyre = veh.read_tyre(TRUE)
    loads, angles = [2000.0, 4000.0, 6000.0], np.radians([0, 2, 4, 8])
    made = veh.carpet(tyre, loads, angles)
    assert made.values.shape == (3, 4)
    assert made.values[1, 2] == tyre.evaluate(4000.0, 0.0, angles[2]).fy
    assert made.plot(tmp_path / "carpet.svg").stat().st_size > 1000
    with pytest.raises(arm.ModelError, match="both rising"):
        veh.carpet(tyre, [4000.0, 2000.0], angles)
    with pytest.raises(arm.ModelError, match="use fx, fy or mz"):
        veh.carpet(tyre, loads, angles, channel="my")


def test_standard_errors_are_right_where_the_noise_of_channels_differs() -> None:
    """The scatter of 20 fits over the stated error; a pooled variance states twice the error of PKY1.

    The scatter of 20 normal values has a standard error of 16 %, so 40 % are 2.5 of them.
    """
    angle = np.linspace(-0.25, 0.25, 41)
    data = {"fz": np.full(41, 3800.0), "kappa": np.zeros(41), "alpha": angle}
    exact = veh.read_tyre(TRUE).evaluate(**data)
    random = np.random.default_rng(5)
    names = ["PDY1", "PKY1", "QDZ1", "QBZ1"]
    values, errors = [], []
    for _ in range(20):
        noisy = {
            "fy": exact.fy + 5 * random.standard_normal(41),
            "mz": exact.mz + 8 * random.standard_normal(41),
        }
        found = veh.fit_tyre(TRUE, {**data, **noisy}, names)
        values.append([found.values[name] for name in names])
        errors.append([found.errors[name] for name in names])
    scatter = np.std(values, axis=0, ddof=1) / np.mean(errors, axis=0)
    assert np.all(np.abs(scatter - 1) < 0.4), scatter


@pytest.mark.parametrize(
    ("names", "rows", "sentence"),
    [
        (["PKY1", "PKY1"], 9, "name a coefficient twice"),
        (["PKY1", "PEX1"], 9, "the data do not depend on PEX1"),
        (["PKY1", "PDY1", "PCY1"], 2, "2 rows of fy do not determine 3 coefficients"),
        (["PKY1"], 0, "it has no rows of data"),
    ],
)
def test_a_fit_that_has_no_answer_is_refused(names: list[str], rows: int, sentence: str) -> None:
    angle = np.linspace(-0.2, 0.2, 9)[:rows]
    data = {"fz": np.full(rows, 4e3), "kappa": 0 * angle, "alpha": angle, "fy": -6e4 * angle}
    with pytest.raises(arm.ModelError, match=sentence):
        veh.fit_tyre(TRUE, data, names)


def test_an_empty_table_of_data_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("\n", encoding="utf-8")
    with pytest.raises(arm.ModelError, match="the file is empty"):
        veh.fit_tyre(TRUE, tmp_path / "data.csv", ["PKY1"])
    with pytest.raises(arm.ModelError, match="fz must be a number or an array of numbers"):
        veh.fit_tyre(TRUE, {"fz": ["heavy"], "kappa": [0], "alpha": [0], "fy": [0]}, ["PKY1"])
