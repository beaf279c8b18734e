"""Damaged run files: a thousand of them, each refused in one sentence or read as a run that can be used."""

from __future__ import annotations

import gc
import sys

import numpy as np
import pytest

from armillary.errors import ArmillaryError
from armillary.results import Run, load_run

WORDS = [
    b"nan",
    b"-1",
    b"1e400",
    b"99999999999",
    b"\x00",
    b"\xff\xfe",
    b'"',
    b"[]",
    b"{}",
    b"null",
    b"END\n",
    b": ",
    b",",
]


def example() -> Run:
    values = np.column_stack([np.sin(np.arange(12.0)), np.arange(12.0)])
    units = {"A.q1": "rad", "F": "N"}
    return Run(
        "x", np.arange(12) * 0.1, values, ("A.q1", "F"), units, {"F": "force"}, {"k": 2.0}, {"k": "N/m"},
        {"step": 0.1}, ((0.5, "hit"),),
    )  # fmt: skip


def damaged(whole: bytes, rng: np.random.Generator) -> bytes:
    """Cut short, a piece replaced, doubled or taken out, or bytes changed."""
    i, j = sorted(rng.integers(0, len(whole) + 1, 2).tolist())
    match int(rng.integers(5)):
        case 0:
            return whole[:i]
        case 1:
            return whole[:i] + WORDS[int(rng.integers(len(WORDS)))] + whole[min(j, i + 8) :]
        case 2:
            return whole[:j] + whole[i:]
        case 3:
            return whole[:i] + whole[j:]
        case _:
            changed = bytearray(whole)
            for place in rng.integers(0, len(whole), 4):
                changed[place] = int(rng.integers(256))
            return bytes(changed)


@pytest.mark.parametrize(("suffix", "files"), [(".erd", 200), (".csv", 200), (".parquet", 60), (".nc", 12)])
def test_damaged_files(tmp_path, suffix, files):
    path = tmp_path / f"run{suffix}"
    example().save(path)
    whole, rng, refused = path.read_bytes(), np.random.default_rng(5), 0
    for _ in range(files):
        path.write_bytes(damaged(whole, rng))
        try:
            run = load_run(path)
        except ArmillaryError as error:
            refused += 1
            assert "run" in str(error)
        else:
            repr(run), run.compare(run) if len(run) and run.names else None
    assert refused > files // 4


def test_a_damaged_root_of_a_netcdf_file_leaves_nothing_that_complains_later(tmp_path, monkeypatch):
    """H5netcdf's file, half made, raised an error when it was collected: its traceback was printed."""
    path, complaints = tmp_path / "run.nc", []
    example().save(path)
    whole = bytearray(path.read_bytes())
    for place in range(96, 128):  # the header of the root group
        whole[place] ^= 0xFF
    path.write_bytes(bytes(whole))
    monkeypatch.setattr(sys, "unraisablehook", complaints.append)
    with pytest.raises(ArmillaryError, match=r"run\.nc"):
        load_run(path)
    gc.collect()
    assert not complaints
