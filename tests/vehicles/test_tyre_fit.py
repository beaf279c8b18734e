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
