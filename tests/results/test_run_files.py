"""Files give back the run that was saved, to the last bit, and never harm an older one."""

from __future__ import annotations

import errno
import os
import stat
import struct
import subprocess
import sys

import hypothesis.extra.numpy as arrays
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from armillary.errors import ArmillaryError, MissingExtraError
from armillary.limited_files import replacing
from armillary.results import Run, files, load_run

SUFFIXES = (".nc", ".csv", ".parquet", ".erd")
every_format = pytest.mark.parametrize("suffix", SUFFIXES)

# Subnormal, signed zero, both infinities, NaN, the largest number, and one with no short decimal form.
AWKWARD = [5e-324, -0.0, np.inf, -np.inf, np.nan, 1.7976931348623157e308, 0.1 + 0.2, -2.2250738585072e-308]


def example():
    return Run(
        "Stanford arm",
        np.linspace(0.0, 0.7, 8),
        np.column_stack([AWKWARD, np.arange(8.0), np.arange(8.0) / 3]),
        ("tip height", "A.q1", 'say "x[1]", a/b\n#'),
        {"tip height": "m", "A.q1": "rad"},
        {"tip height": "height of the tip, Ω·θ"},
        {"k1": 0.1, "L 1": 1e-320},
        {"k1": "N*m/rad"},
        {"method": "rk4", "step": 1e-3, "steps": 700, "created": "2025-01-01T00:00:00Z"},
        ((0.25, "impact"), (0.5, "impact"), (0.5, 'lift "off"')),
    )


def bits(array):
    """The 64 bits of each number; every NaN as one pattern, because a text has only one."""
    return [struct.pack("<d", np.nan if value != value else value) for value in np.ravel(array).tolist()]


def assert_same(loaded, saved):
    assert loaded == saved
    assert loaded.names == saved.names
    assert bits(loaded.time) == bits(saved.time)
    assert bits(loaded.values) == bits(saved.values)


@every_format
def test_a_saved_run_comes_back_to_the_last_bit(tmp_path, suffix):
    path = tmp_path / f"run{suffix}"
    example().save(path)
    loaded = load_run(path)
    assert_same(loaded, example())
    assert loaded.parameters["L 1"] == 1e-320
    assert type(loaded.info["steps"]) is int and type(loaded.info["step"]) is float
    assert loaded.events[2] == (0.5, 'lift "off"')


# All but surrogates, as by default, found in a tenth of the time.
text = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
number = st.floats(allow_nan=True, allow_infinity=True, allow_subnormal=True)
info = st.one_of(text, st.integers(-(2**60), 2**60), number)


@st.composite
def runs(draw):
    name = st.one_of(text, st.sampled_from(["time", "time_2", "A.q1"]))
    names = draw(st.lists(name, unique=True, max_size=4))
    shape = (draw(st.integers(0, 5)), len(names))
    parameters = draw(st.dictionaries(text, number, max_size=3))
    return Run(
        draw(text),
        draw(arrays.arrays(float, shape[0], elements=number)),
        draw(arrays.arrays(float, shape, elements=number)),
        tuple(names),
        {name: draw(text) for name in names},
        {name: draw(text) for name in names},
        parameters,
        {name: draw(text) for name in parameters},
        draw(st.dictionaries(text, info, max_size=3)),
        tuple(draw(st.lists(st.tuples(number, text), max_size=3))),
    )


@every_format
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(run=runs())
def test_any_run_comes_back(tmp_path, suffix, run):
    path = tmp_path / f"any{suffix}"
    run.save(path)
    assert_same(load_run(path), run)


def test_csv_is_readable_by_people(tmp_path):
    path = tmp_path / "run.csv"
    Run(
        "pendulum",
        [0.0, 0.5],
        [[1.5], [0.1]],
        ("A.q1",),
        {"A.q1": "rad"},
        parameters={"k 1": 0.1},
        events=((0.25, "impact"),),
    ).save(path)
    assert path.read_text() == (
        "# armillary_run: 1\n"
        '# system: "pendulum"\n'
        '# parameters "k 1": 0.1\n'
        '# units "A.q1": "rad"\n'
        '# events "impact": 0.25\n'
        "# samples: 2\n"
        "time,A.q1\n"
        "0.0,1.5\n"
        "0.5,0.1\n"
    )


def test_csv_is_readable_by_pandas(tmp_path):
    import pandas

    path = tmp_path / "run.csv"
    run = Run("x", [0.0, 0.5], [[1.5, 2.0], [0.1, 3.0]], ("tip height", "a,b"))
    run.save(path)
    frame = pandas.read_csv(path, comment="#", index_col="time")
    assert frame.equals(run.to_pandas())


def test_netcdf_is_readable_without_armillary(tmp_path):
    import h5py

    path = tmp_path / "run.nc"
    example().save(path)
    with h5py.File(path) as file:
        assert file["tip height"].attrs["units"] == "m"
        assert bits(file["A.q1"][:]) == bits(example()["A.q1"])
        assert "_FillValue" not in file["A.q1"].attrs


def test_parquet_is_readable_by_pandas(tmp_path):
    import pandas

    path = tmp_path / "run.parquet"
    example().save(path)
    frame = pandas.read_parquet(path)
    assert frame.columns.tolist() == ["time", *example().names]
    assert frame["A.q1"].tolist() == example()["A.q1"].tolist()


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("tip height", "tip height"),
        ("A.q1[2]", "A.q1[2]"),
        ("θ", "θ"),
        ("a/b", "a_b"),
        ("a\nb", "a_b"),
        ("[x]", "_x]"),
        ("end ", "end_"),
        ("e\u0301", "\u00e9"),
        ("", "_"),
    ],
)
def test_netcdf_labels_change_only_what_netcdf_forbids(name, label):
    assert files.netcdf_label(name) == label


def test_labels_are_told_apart_from_each_other_and_from_time():
    assert files.distinct_labels(["a", "a", "time", "a_2", "a"]) == ["a", "a_2", "time_2", "a_2_2", "a_3"]


# ------------------------------------------------------------------------------------ an older file is safe


def fail(path, record):
    path.write_bytes(b"half")
    raise OSError(errno.ENOSPC, "No space left on device")


def interrupt(path, record):
    path.write_bytes(b"half")
    raise KeyboardInterrupt


@every_format
@pytest.mark.parametrize(("fault", "error"), [(fail, ArmillaryError), (interrupt, KeyboardInterrupt)])
def test_a_failed_save_leaves_the_older_file_and_nothing_else(tmp_path, monkeypatch, suffix, fault, error):
    path = tmp_path / f"run{suffix}"
    example().save(path)
    before = path.read_bytes()
    monkeypatch.setitem(files.FORMATS, suffix, files.FORMATS[suffix]._replace(write=fault))
    with pytest.raises(error):
        example().save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("suffix", [".nc", ".csv", ".parquet"])  # ERD escapes what is not ASCII
def test_a_name_no_file_can_hold_leaves_nothing_behind(tmp_path, suffix):
    run = Run("x", [0.0], [[1.0]], ("lone surrogate \udc80",))
    with pytest.raises(UnicodeEncodeError):
        run.save(tmp_path / f"run{suffix}")
    assert os.listdir(tmp_path) == []


@every_format
def test_saving_again_replaces_the_file(tmp_path, suffix):
    path = tmp_path / f"run{suffix}"
    Run("older", [0.0], [[1.0]], ("x",)).save(path)
    example().save(path)
    assert_same(load_run(path), example())
    assert os.listdir(tmp_path) == [path.name]


def test_a_replaced_link_still_points_to_its_file(tmp_path):
    (tmp_path / "link.csv").symlink_to(tmp_path / "target.csv")
    example().save(tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink()
    assert_same(load_run(tmp_path / "target.csv"), example())


def test_a_new_file_has_the_usual_permissions(tmp_path):
    (tmp_path / "plain").write_text("")
    example().save(tmp_path / "run.csv")
    usual = stat.S_IMODE((tmp_path / "plain").stat().st_mode)
    assert stat.S_IMODE((tmp_path / "run.csv").stat().st_mode) == usual


def test_a_block_that_writes_nothing_replaces_nothing(tmp_path):
    (tmp_path / "file").write_text("older")
    with pytest.raises(FileNotFoundError), replacing(tmp_path / "file"):
        pass
    assert (tmp_path / "file").read_text() == "older"


# ------------------------------------------------------------------------------------------------ bad input


def test_an_unknown_suffix_lists_the_known_ones(tmp_path):
    for attempt in (example().save, load_run):
        with pytest.raises(ArmillaryError, match=r"use a name that ends in \.nc, \.csv, \.parquet"):
            attempt(tmp_path / "run.mat")


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(ArmillaryError, match=r"there is no folder '.*nowhere'"):
        example().save(tmp_path / "nowhere" / "run.csv")


@every_format
def test_a_missing_file_is_named_with_the_nearest(tmp_path, suffix):
    with pytest.raises(ArmillaryError, match=rf"load '.*run{suffix}': there is no such file; check its name"):
        load_run(tmp_path / f"run{suffix}")
    (tmp_path / f"run1{suffix}").touch()
    (tmp_path / "run.txt").touch()
    with pytest.raises(ArmillaryError, match=rf"there is no such file; did you mean 'run1{suffix}'\?$"):
        load_run(tmp_path / f"run{suffix}")
    with pytest.raises(ArmillaryError, match=r"nowhere.*there is no such file; check its name and folder$"):
        load_run(tmp_path / "nowhere" / f"run{suffix}")


def test_a_folder_is_not_a_run(tmp_path):
    (tmp_path / "run.csv").mkdir()
    with pytest.raises(ArmillaryError, match=r"cannot load '.*run\.csv': this is a folder; give a file"):
        load_run(tmp_path / "run.csv")


@every_format
@pytest.mark.parametrize("content", [b"", b"x,time\n0,1\n", b"\x89HDF\r\n\x1a\n", b"PAR1PAR1", b"\xff"])
def test_a_foreign_file_is_refused_by_name(tmp_path, suffix, content):
    path = tmp_path / f"foreign{suffix}"
    path.write_bytes(content)
    with pytest.raises(ArmillaryError, match=f"foreign{suffix}' is not a run saved by Armillary"):
        load_run(path)


@pytest.mark.parametrize(
    "text", ["time [ms],a [rpm],b\n0,1.5,nan\n500,2,3\n", "t;a [rpm];b\n0;1,5;nan\n0,5;2;3\n"]
)
def test_tables_of_other_programs_are_runs(tmp_path, text):
    (tmp_path / "other.csv").write_text(text)
    run = load_run(tmp_path / "other.csv")
    np.testing.assert_array_equal(run.time, [0.0, 0.5])
    np.testing.assert_array_equal(run["a"], [1.5, 2.0])
    np.testing.assert_array_equal(run["b"], [np.nan, 3.0])
    assert run.units["a"] == "rpm" and run.units["b"] == "?"


def test_a_table_over_something_else_than_time_is_refused(tmp_path):
    (tmp_path / "other.csv").write_text("time [m],a\n0,1\n")
    with pytest.raises(ArmillaryError, match=r"its first column is 'time' in m instead of time"):
        load_run(tmp_path / "other.csv")


def test_a_csv_cut_short_is_refused(tmp_path):
    path = tmp_path / "run.csv"
    Run("x", [0.0, 0.5], [[1.5], [0.1]], ("a",)).save(path)
    path.write_text(path.read_text().removesuffix("0.5,0.1\n"))
    with pytest.raises(ArmillaryError, match=r"damaged: .*\(1, 2\), expected \(2, 2\)"):
        load_run(path)


def test_a_csv_without_its_system_is_damaged(tmp_path):
    path = tmp_path / "run.csv"
    Run("x", [0.0], [[1.5]], ("a",)).save(path)
    path.write_text(path.read_text().replace('# system: "x"\n', ""))
    with pytest.raises(ArmillaryError, match=r"run\.csv' is damaged: .*system"):
        load_run(path)


def test_a_file_of_a_later_format_says_so(tmp_path):
    path = tmp_path / "run.csv"
    Run("x", [0.0], [[1.5]], ("a",)).save(path)
    path.write_text(path.read_text().replace("armillary_run: 1", "armillary_run: 2"))
    with pytest.raises(ArmillaryError, match="run format 2 and this Armillary reads 1"):
        load_run(path)


@pytest.mark.parametrize(
    ("missing", "suffix", "sentence"),
    [
        ("xarray", ".nc", "NetCDF files need xarray: pip install 'armillary[data]'"),
        ("h5netcdf", ".nc", "NetCDF files need h5netcdf: pip install 'armillary[data]'"),
        ("h5py", ".nc", "NetCDF files need h5py: pip install 'armillary[data]'"),
        ("pyarrow", ".parquet", "Parquet files need pyarrow: pip install 'armillary[data]'"),
    ],
)
def test_saving_and_loading_name_the_missing_extra(tmp_path, monkeypatch, missing, suffix, sentence):
    path = tmp_path / f"run{suffix}"
    example().save(path)
    before = path.read_bytes()
    for module in [name for name in sys.modules if name.partition(".")[0] == missing]:
        monkeypatch.setitem(sys.modules, module, None)
    for attempt in (example().save, load_run):
        with pytest.raises(MissingExtraError) as caught:
            attempt(path)
        assert str(caught.value) == sentence
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize(("missing", "method"), [("xarray", "to_xarray"), ("pandas", "to_pandas")])
def test_conversions_name_the_missing_extra(monkeypatch, missing, method):
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(MissingExtraError, match=rf"need {missing}: pip install 'armillary\[data\]'"):
        getattr(example(), method)()


def test_csv_needs_no_extra(tmp_path, monkeypatch):
    for module in ("xarray", "h5netcdf", "h5py", "pandas", "pyarrow", "matplotlib"):
        monkeypatch.setitem(sys.modules, module, None)
    example().save(tmp_path / "run.csv")
    assert_same(load_run(tmp_path / "run.csv"), example())


FULL = """
import gc, os, resource, signal, sys
sys.dont_write_bytecode = True  # half a file of it would be found by the next who imports
import numpy as np
from armillary.errors import ArmillaryError
from armillary.results import Run
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (16384, 16384))
run = Run("x", np.arange(1500.0), np.random.default_rng(0).random((1500, 5)), tuple("abcde"))
for suffix in (".nc", ".csv", ".parquet", ".erd", ".html", ".svg"):
    try:
        run.save("run" + suffix) if suffix not in (".html", ".svg") else run.plot(path="run" + suffix)
    except ArmillaryError as error:
        print(error)
    gc.collect()
assert os.listdir() == []
"""


@pytest.mark.skipif(os.name != "posix", reason="a limit of file sizes stands for a full disk")
def test_a_disk_that_takes_no_more(tmp_path):
    """One sentence per format, nothing half-written, and no crash at the end of Python (HDF5 has one)."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", FULL],
        cwd=tmp_path,
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    sentences = done.stdout.strip().split("\n")
    assert len(sentences) == 6 and done.stderr == ""
    assert all("file too large; make room" in sentence for sentence in sentences)


def test_tables_of_other_programs(tmp_path):
    """A header with time first, and numbers; the mark that spreadsheets write before them is skipped."""
    path = tmp_path / "theirs.csv"
    path.write_text('\ufeffTime,"r, measured",Ay\n0,1.5,-2\n0.5,2.5,-3\n', encoding="utf-8")
    theirs = load_run(path)
    assert (theirs.system, theirs.names) == ("theirs", ("r, measured", "Ay"))
    assert theirs.time.tolist() == [0.0, 0.5] and theirs["Ay"].tolist() == [-2.0, -3.0]
    ours = Run("x", theirs.time, theirs.values[:, 1:] + [[0.0], [0.25]], ("Ay",), {"Ay": "m/s2"})
    for table in (ours.compare(theirs), theirs.compare(ours)):
        assert table["Ay"].absolute == 0.25 and not table.complete
        assert table.notes == ("one run has no units: the units of the other run are taken for both",)
    theirs.save(tmp_path / "again.nc")
    assert load_run(tmp_path / "again.nc") == theirs
    path.write_text("t,a\n", encoding="utf-8")
    assert len(load_run(path)) == 0
    for text, why in (
        ("x,y\n1,2\n", "first column is 'x'"),
        ("time,y\n1,2,3\n", "3 values, but 2 columns"),
        ("", "damaged"),
    ):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(ArmillaryError, match=why):
            load_run(path)


def test_which_outputs_were_asked_for_is_kept(tmp_path):
    run = Run("x", [0.0, 1.0], np.zeros((2, 3)), ("A.q1", "r", "Ay"), outputs=("r", "Ay", "gone"))
    assert run.outputs == ("r", "Ay")
    for suffix in files.FORMATS:
        run.save(tmp_path / f"run{suffix}")
        assert load_run(tmp_path / f"run{suffix}").outputs == run.outputs
