"""Studies: what they keep, against single runs; and that other studies' folders are left alone."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from armillary.algebra.arguments import core_of
from armillary.errors import ArmillaryError
from armillary.model.joints import Prismatic, Revolute
from armillary.stages import System, load
from armillary.studies import Study, StudyStatus, open_study
from armillary.studies import folder as store_folder
from armillary.studies.definition import Definition, identity, write_design
from armillary.studies.folder import Folder
from armillary.studies.sampling import Design, Normal, Uniform
from tests.studies.study_models import BLOCK, RUNS, hinged, pendulum, pendulum_study, weighted


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return pendulum_study(tmp_path_factory.mktemp("studies") / "pendulum").run()


# ---------------------------------------------------------------- what it keeps


def test_every_number_is_that_of_the_single_run(finished: Study) -> None:
    table, data = finished.table(), finished.dataset()
    assert len(table) == RUNS and set(table["status"]) == {"finished"}
    for number in (0, BLOCK - 1, BLOCK, RUNS - 1):
        run = finished.rerun(number, sample=None)
        row, kept = table.loc[number], data.isel(run=number)
        assert run.parameters["L"] == row["L"] and run["bob.q1"][0] == row["bob.q1"]
        # The lanes of a batch and the loop of a single run round alike except for fused operations.
        assert row["peak"] == pytest.approx(np.max(run["bob.u1"]), rel=1e-12)
        assert row["end"] == pytest.approx(run.final["height"], rel=1e-12)
        assert finished.rerun(number).time.tolist() == kept["time"].to_numpy().tolist()
        assert kept["bob.q1"].to_numpy() == pytest.approx(run["bob.q1"][::10], rel=1e-11, abs=1e-13)
        assert kept["spread"].sum() == len(run)
        assert kept["spread"].to_numpy().tolist() == np.histogram(run["bob.q1"], 4, (-1, 1))[0].tolist()


def test_values_of_a_run_are_those_of_its_design(finished: Study) -> None:
    alone = pendulum_study(finished.path)._require_design().block(123, 124)
    assert finished.values(123) == {name: values[0] for name, values in alone.items()}
    with pytest.raises(ArmillaryError, match="no run 200: the study has runs 0 to 199"):
        finished.values(RUNS)
    for run in (math.nan, math.inf, 1.5, None):
        with pytest.raises(ArmillaryError, match="runs are whole numbers from 0 on"):
            finished.values(run)


def test_dataset_has_one_chunk_per_block_units_and_names(finished: Study) -> None:
    xarray = pytest.importorskip("xarray")
    plain = xarray.open_zarr(finished.path / "results.zarr", chunks=None)
    assert plain["bob.q1"].dims == ("run", "time") and plain["bob.q1"].encoding["chunks"] == (BLOCK, 11)
    assert plain["energy"].attrs["units"] == "J" and plain["L"].attrs["units"] == "m"
    assert plain["down"].attrs["units"] == "s" and plain.attrs["system"] == "pendulum"
    assert len(list((finished.path / "results.zarr" / "energy").glob("c.*"))) == 7
    data = finished.dataset()
    assert data["time"].to_numpy().tolist() == pytest.approx(np.linspace(0, 1, 11))
    assert np.array_equal(plain["peak"], data["peak"]) and "varied bob.q1" in data.coords


def test_a_damaged_chunk_is_a_sentence_when_it_is_read(finished: Study, tmp_path: Path) -> None:
    """A dataset reads its parts when they are used, long after it was opened."""
    shutil.copytree(finished.path, tmp_path / "copy")
    chunk = tmp_path / "copy" / "results.zarr" / "energy" / "c.1.0"
    chunk.write_bytes(chunk.read_bytes()[::-1])
    data = open_study(tmp_path / "copy").dataset()
    whole = finished.dataset()
    assert np.array_equal(data["bob.q1"], whole["bob.q1"])
    assert np.array_equal(data["energy"][:BLOCK], whole["energy"][:BLOCK])
    picked = [3, 1, 7]
    assert np.array_equal(data["energy"][picked, ::2], whole["energy"].to_numpy()[picked, ::2])
    for read in (data.load, lambda: data["energy"][BLOCK].to_numpy()):
        with pytest.raises(ArmillaryError, match=r"cannot be read .*run the study again, which mends it"):
            read()


def test_table_is_plain_parquet(finished: Study) -> None:
    pandas = pytest.importorskip("pandas")
    read = pandas.read_parquet(finished.path / "metrics.parquet")
    assert read["run"].tolist() == list(range(RUNS))
    assert list(read) == ["run", "L", "g", "bob.q1", "peak", "down", "end", "status", "t_stop"]
    units = finished.table().attrs["units"]
    assert units["L"] == "m" and units["peak"] == "rad/s" and units["down"] == units["t_stop"] == "s"


def test_a_study_is_read_without_its_model(finished: Study) -> None:
    opened = open_study(finished.path)
    assert opened._model is None
    assert opened.table().equals(finished.table()) and opened.values(7) == finished.values(7)
    assert (
        opened.runs == RUNS
        and opened.varied == ("L", "g", "bob.q1")
        and opened.outputs == ("bob.q1", "energy")
    )
    assert "200 of 200 runs made, in 7 of 7 blocks" in repr(opened)
    assert opened.rerun(7).final == finished.rerun(7).final  # from model.toml
    with pytest.raises(
        ArmillaryError, match=r"no histories of 'energi'; did you mean 'energy'\? It has bob\.q1, energy$"
    ):
        opened.fan("energi")
    with pytest.raises(ArmillaryError, match="no numbers 'peek'; did you mean 'peak'"):
        opened.histogram("peek")


def test_pictures_and_sensitivities_of_a_study(finished: Study, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    for name, draw in {
        "fan": lambda path: finished.fan("energy", path=path),
        "histogram": lambda path: finished.histogram("peak", path=path),
        "scatter": lambda path: finished.scatter("L", "peak", path=path),
    }.items():
        draw(tmp_path / f"{name}.png")
        assert (tmp_path / f"{name}.png").stat().st_size > 5000
    finished.histogram("spread", path=tmp_path / "mean.png")  # a histogram of each run
    assert (tmp_path / "mean.png").stat().st_size > 5000
    with pytest.raises(ArmillaryError, match="metric 'spread' has its bins already"):
        finished.histogram("spread", bins=4)
    with pytest.raises(ArmillaryError, match=r"no numbers 'spread': .* which histogram\('spread'\) draws"):
        finished.sensitivity("spread")
    with pytest.raises(ArmillaryError, match=r"no numbers 'energy': it has histories, which fan\('energy'\)"):
        finished.histogram("energy")
    found = finished.sensitivity("end")
    assert found.names == ("L", "g", "bob.q1") and found.units == "m"
    assert np.argmax(found.values["explained"]) == 0  # a height is in proportion to the length


def test_a_status_in_words() -> None:
    def told(rate: float, left: float) -> str:
        return str(StudyStatus(100, 50, 0, (), 10, 5, rate, left))

    assert told(5552.3, 0.2).endswith("5 of 10 blocks, 5550 runs/s, about 1 s left")
    assert told(0.01234, 4000).endswith("0.0123 runs/s, about 1 h 6 min left")


def test_memories_vary_in_their_units(tmp_path: Path) -> None:
    s = System("thermostat")
    s.parameter("k", 1.0)
    rod = s.body("rod", joint=Revolute("z"), com=(1, 0, 0), mass=1, inertia=(0, 1, 1))
    s.memory("target", 0.5, units="m")
    s.output("reached", f"target + 0*{rod.q1}", units="m")
    study = Study(
        s.derive().compile(), tmp_path / "s", 0.1, step=0.05, metrics={"end": "final(reached)"}, runs=8,
        vary={"target": Uniform("10 cm", "20 cm"), "k": Uniform(0, 1)},
    ).run()  # fmt: skip
    table = study.table()
    assert table["target"].between(0.1, 0.2).all() and study.units["target"] == "m"
    assert table["end"].to_numpy() == pytest.approx(table["target"].to_numpy(), rel=1e-14)
    with pytest.raises(ArmillaryError, match="no histories of 'reached'; it keeps none; name them with outp"):
        study.fan("reached")


def test_progress_tells_runs_rate_and_time_left(tmp_path: Path) -> None:
    seen: list[StudyStatus] = []
    pendulum_study(tmp_path / "s").run(progress=seen.append)
    assert [status.finished for status in seen] == list(range(1, 8))
    assert seen[2].made == 3 * BLOCK and seen[2].rate > 0 and seen[2].seconds_left is not None
    assert seen[-1].complete and str(seen[-1]).startswith("200 of 200 runs made, in 7 of 7 blocks")


def test_failed_runs_are_results(tmp_path: Path) -> None:
    """A mass that is negative in some runs: those cannot start, all others are made."""
    study = pendulum_study(
        tmp_path / "s", model=weighted(), vary={"m": Normal(1.0, 0.6)}, outputs=[], metrics=["final(A.q1)"]
    )
    table = study.run().table()
    impossible = table["m"] < 0
    count = int(impossible.sum())
    assert 1 < count < 30  # a normal number lies 1.67 deviations below its mean in 4.8 % of 200 runs
    assert (table.loc[impossible, "status"] == "failed").all()
    assert (table.loc[~impossible, "status"] == "finished").all()
    assert (table["final(A.q1)"].isna() == impossible).all()
    status, first = study.status(), int(np.flatnonzero(impossible)[0])
    assert status.failed == count and status.failures[0][0] == first
    assert f"{count} failed (run {first}: body 'A': its mass (by m) is -" in str(status)


def test_any_name_has_a_place_in_the_store(tmp_path: Path) -> None:
    names = ["a\\b", "zarr.json", "x" * 300, "é" * 150, "a/b"]
    metrics = {name: "maximum(bob.q1)" for name in names}
    study = pendulum_study(tmp_path / "s", metrics=metrics, outputs=[], runs=BLOCK).run()
    data, table = study.dataset(), study.table()
    assert all((table[name] == table["a\\b"]).all() for name in names)
    same = [name for name, each in data.items() if each.attrs.get("name") in names]
    assert len(same) == len(names) and all((data[name] == data["a_b"]).all() for name in same)


def test_an_extension_that_was_stopped_half_way(tmp_path: Path) -> None:
    study = pendulum_study(tmp_path / "s", runs=40).run()
    write_design(study._folder, Design.from_data({**study._design.as_data(), "runs": 80}))
    assert open_study(tmp_path / "s").sensitivity("end").runs == 40


def test_users_own_distributions(tmp_path: Path) -> None:
    """A function cannot be written down: the study runs, and is read, but goes on only in Python."""
    vary = {"L": lambda u: 0.5 + u * u}
    study = pendulum_study(tmp_path / "s", vary=vary).run()
    assert study.table()["L"].between(0.5, 1.5).all()
    opened = open_study(tmp_path / "s")
    assert opened.values(5) == study.values(5)
    (tmp_path / "s" / "blocks" / "00000002").unlink()
    with pytest.raises(ArmillaryError, match="varies something by a function"):
        open_study(tmp_path / "s").run()
    with pytest.raises(ArmillaryError, match=r"distribution of .L\.own."):
        pendulum_study(tmp_path / "s", vary={"L": lambda u: 0.5 + u})
    again = pendulum_study(tmp_path / "s", vary=vary).run()
    assert again.table().equals(study.table())


def test_more_runs_of_an_open_ended_design(tmp_path: Path) -> None:
    small = pendulum_study(tmp_path / "s", runs=100).run()
    table = small.table()
    larger = small.extend(RUNS)
    assert larger.status().made == 90  # the last block was not full
    larger.run()
    whole = pendulum_study(tmp_path / "whole").run()
    assert larger.table().equals(whole.table()) and table.equals(whole.table().iloc[:100])
    assert np.array_equal(larger.dataset()["energy"], whole.dataset()["energy"])
    assert pendulum_study(tmp_path / "s", block=None).status().complete
    with pytest.raises(ArmillaryError, match="has 200 runs; extend it to more, not to 50"):
        larger.extend(50)
    latin = pendulum_study(tmp_path / "latin", design="lhs").run()
    with pytest.raises(ArmillaryError, match="all runs of a lhs design depend on their number"):
        latin.extend(500)


def test_a_model_without_a_text(tmp_path: Path) -> None:
    model = hinged().derive().compile()
    study = Study(
        model, tmp_path / "s", 0.1, step=0.01, vary={"L": Uniform(0.4, 0.6)}, runs=4, metrics=["final(angle)"]
    )
    study.run()
    with pytest.raises(ArmillaryError, match="has no text of its model: open it with model= or build="):
        open_study(tmp_path / "s").rerun(1)
    by_function = open_study(tmp_path / "s", build="tests.studies.study_models:hinged")
    assert by_function.rerun(1).final["angle"] == pytest.approx(study.table()["final(angle)"][1], rel=1e-12)
    assert open_study(tmp_path / "s", model=model).rerun(1).final == by_function.rerun(1).final


def test_a_study_does_not_go_on_with_another_model(tmp_path: Path) -> None:
    """Neither with a changed text nor with a changed function, whatever changed in it."""
    pendulum_study(tmp_path / "s", runs=2 * BLOCK).run()
    text = tmp_path / "s" / "model.toml"
    good = text.read_text(encoding="utf-8")
    (tmp_path / "s" / "blocks" / "00000001").unlink()
    for old, new, told in (
        ("value = 0.5", "value = 0.6", r"parameter 'L' is 0\.6 instead of 0\.5"),
        ("mass = 2.0", "mass = 2.5", "its equations of motion differ"),
    ):
        assert old in good
        text.write_text(good.replace(old, new), encoding="utf-8")
        for use in (Study.run, lambda study: study.rerun(0)):
            with pytest.raises(
                ArmillaryError, match=f"(?s)model.toml' holds another model.*: {told}.*remedy"
            ):
                use(open_study(tmp_path / "s"))
    with pytest.raises(ArmillaryError, match=r"study_models:hinged' gives another model.*it has other param"):
        open_study(tmp_path / "s", build="tests.studies.study_models:hinged").rerun(0)
    text.write_text(good, encoding="utf-8")
    assert open_study(tmp_path / "s").run().status().complete


def test_models_with_sensitivities_are_built_again(tmp_path: Path) -> None:
    model = pendulum().with_sensitivities(["L"], ["height"])
    study = Study(
        model, tmp_path / "s", 0.2, step=0.01, vary={"L": Uniform(0.5, 2.0)}, initial={"bob.q1": 0.5},
        runs=20, block=10, metrics={"slope": "final(d(height)/d(L))"},
    ).run()  # fmt: skip
    slopes = study.table()["slope"]
    (tmp_path / "s" / "blocks" / "00000001").unlink()
    resumed = open_study(tmp_path / "s").run()
    assert resumed.table()["slope"].to_numpy() == pytest.approx(slopes.to_numpy(), rel=1e-12)
    assert resumed.rerun(3).final["d(height)/d(L)"] == pytest.approx(slopes[3], rel=1e-12)


# ---------------------------------------------------------------- other folders


def test_a_folder_that_is_no_study_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "precious.txt").write_text("mine")
    with pytest.raises(ArmillaryError, match=r"not a study, but holds precious.txt: nothing is overwritten"):
        pendulum_study(tmp_path)
    with pytest.raises(ArmillaryError, match="is a file; give a folder"):
        pendulum_study(tmp_path / "precious.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["precious.txt"]
    for place in ("nowhere", "."):
        with pytest.raises(ArmillaryError, match=r"there is no study in '[^']*'$"):
            open_study(tmp_path / place)
    (tmp_path / "dangling").symlink_to(tmp_path / "gone")
    with pytest.raises(ArmillaryError, match="is a broken link"):
        pendulum_study(tmp_path / "dangling")


@pytest.mark.parametrize(
    "changed, told",
    [
        ({"step": 0.02}, r"step: 0\.01 there, 0\.02 here"),
        ({"seed": 8}, "design seed: 7 there, 8 here"),
        ({"vary": {"L": Uniform(0.5, 2.0)}}, "distribution of .g\\.normal."),
        (
            {"metrics": {"peak": "maximum(bob.q1)"}},
            r"metrics peak: maximum\(bob\.u1\) there, maximum\(bob\.q1\) here",
        ),
        ({"outputs": ["bob.q1"]}, "outputs"),
        ({"parameters": {"m": 2.0}, "model": weighted}, "name of the system: pendulum there, weighted here"),
        ({"initial": {"bob.u1": 0.5}}, r"initial value of 'bob\.u1': nothing there, 0\.5 here"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_another_study_in_the_folder_is_told_apart(
    finished: Study, changed: dict[str, Any], told: str
) -> None:
    before = (finished.path / "study.json").read_bytes()
    if "model" in changed:
        changed = {
            "model": weighted(),
            "vary": {"m": Normal(1.0, 0.1)},
            "metrics": ["final(A.q1)"],
            "outputs": [],
        }
    with pytest.raises(
        ArmillaryError, match=f"(?s)holds another study, of 'pendulum'; nothing is overwritten.*{told}"
    ):
        pendulum_study(finished.path, **changed)
    assert (finished.path / "study.json").read_bytes() == before


def test_another_number_of_runs_is_told_with_what_to_do(finished: Study, tmp_path: Path) -> None:
    folder = finished.path
    for runs, told in (
        (300, f"has 200 runs, not 300; .* open_study\\('{folder}'\\)\\.extend\\(300\\)"),
        (20, f"has 200 runs, not 20; .* pass runs=200, or .* 'armillary study run {folder}'"),
    ):
        with pytest.raises(ArmillaryError, match=told):
            pendulum_study(folder, runs=runs, block=None)
    pendulum_study(tmp_path / "latin", design="lhs", runs=40).run()
    with pytest.raises(ArmillaryError, match="all runs of a lhs design depend on their number, so give anot"):
        pendulum_study(tmp_path / "latin", design="lhs", runs=50)


def test_a_study_keeps_its_blocks_whatever_is_asked_for(tmp_path: Path) -> None:
    small = pendulum_study(tmp_path / "s", runs=20).run()
    larger = small.extend(50).run()
    assert larger.status().blocks == 3  # of 20 runs: there were no more when it was made
    again = pendulum_study(tmp_path / "s", runs=50)
    assert again.status().complete and again.table().equals(larger.table())


def test_another_model_of_that_name_is_told_apart(finished: Study) -> None:
    text = (finished.path / "model.toml").read_text()
    for old, new, told in (
        ("value = 0.5", "value = 0.6", r"the model's own value of parameter 'L': 0\.5 there, 0\.6 here"),
        ("mass = 2.0", "mass = 2.5", r"model: mass = 2\.0 \(there\); mass = 2\.5 \(here\)"),
    ):
        assert old in text
        changed = finished.path.parent / "changed.toml"
        changed.write_text(text.replace(old, new))
        with pytest.raises(ArmillaryError, match=told):
            pendulum_study(finished.path, model=load(changed).derive().compile())


@pytest.mark.parametrize(
    "key, value, told",
    [
        ("armillary", "0.0.1", "version of Armillary: 0.0.1 there"),
        ("armillary_study", 99, "has format 99 and this Armillary reads 1: use the version that made it"),
        ("stored", None, "is damaged: its checksum does not fit"),
        ("runs", 20, "is damaged: its checksum does not fit"),
    ],
)
def test_another_version_is_refused(tmp_path: Path, key: str, value: Any, told: str) -> None:
    pendulum_study(tmp_path / "s", runs=BLOCK).run()
    file = tmp_path / "s" / "study.json"
    data = json.loads(file.read_text())
    file.write_text(json.dumps(data | {key: value}))
    if key == "armillary":
        folder = Folder(tmp_path / "s")
        made = {key: value for key, value in data.items() if key not in ("armillary_study", "checksum")}
        Definition({**made, "armillary": value}).write(folder)
    with pytest.raises(ArmillaryError, match=told):
        pendulum_study(tmp_path / "s", runs=BLOCK)
    if key == "armillary":
        assert len(open_study(tmp_path / "s").table()) == BLOCK  # its results can still be read
        with pytest.raises(ArmillaryError, match=r"made by Armillary 0\.0\.1"):
            open_study(tmp_path / "s").run()


@pytest.mark.parametrize(
    "changed, told",
    [
        (
            {"vary": {"LL": Uniform(0, 1)}},
            "varied 'LL': there is no such parameter, coordinate, speed, state or memory; did",
        ),
        (
            {"vary": {"L": Uniform(0.5, 1)}, "parameters": {"L": 1.0}},
            "'L' is varied, and given in parameters= too",
        ),
        ({"parameters": {"m": [1.0, 2.0]}}, "has several values: give them in vary="),
        ({"metrics": {"L": "maximum(height)"}}, "metric 'L' has the name of a quantity"),
        ({"outputs": ["heigth"]}, "no output 'heigth'; did you mean 'height'"),
        ({"block": 0}, "block= must be a positive whole number"),
        ({"block": float("nan")}, "block= must be a positive whole number"),
        ({"initial": [1.0, 2.0]}, "initial= of a study must be values by name"),
        ({"precision": "singel"}, "precision='singel'; did you mean 'single'"),
        ({"model": None}, r"needs a compiled model, not None; give s\.derive\(\)\.compile\(\)"),
        ({"runs": 0}, "runs must be a whole number of 1 or more"),
        ({"design": "soboll"}, "did you mean 'sobol'"),
    ],
)
def test_bad_input_is_told_before_anything_is_written(
    tmp_path: Path, changed: dict[str, Any], told: str
) -> None:
    with pytest.raises(ArmillaryError, match=told):
        pendulum_study(tmp_path / "s", **changed)
    assert not (tmp_path / "s").exists()


def test_bad_input_of_methods(finished: Study, tmp_path: Path) -> None:
    for told, call in (
        ("there is no run 1.5", lambda: finished.rerun(1.5)),  # type: ignore[arg-type]
        ("there is no run 'a'", lambda: finished.values("a")),  # type: ignore[arg-type]
        ("needs a whole number of runs, not '300'", lambda: finished.extend("300")),  # type: ignore[arg-type]
        (r"folder of a study must be the path .*, not 'a\\x00'", lambda: open_study("a\0")),
        ("threads= must be a positive", lambda: pendulum_study(tmp_path / "s").run(threads=0)),
        ("is for device='gpu'", lambda: pendulum_study(tmp_path / "s", precision="single").run()),
    ):
        with pytest.raises(ArmillaryError, match=told):
            call()
    assert not (tmp_path / "s").exists()


# --------------------------------------------------------------------------------------------- large studies


def test_a_dataset_of_a_billion_unfinished_runs_is_opened_without_reading_them(tmp_path: Path) -> None:
    """Columns are read where they are used: the first block, the others being NaN."""
    few = pendulum_study(tmp_path / "s", runs=200, block=100, outputs=None, sample=None).run()
    many = few.extend(10**9)
    found = many.dataset()
    assert found.sizes["run"] == 10**9
    rows = found.isel(run=[3, 150, 123_456_789])
    table = few.table()
    assert rows["status"].to_numpy().tolist() == ["finished", "finished", "not run"]
    assert np.isnan(rows["L"].to_numpy()[2])
    assert rows["L"].to_numpy()[:2].tolist() == table["L"].to_numpy()[[3, 150]].tolist()
    some = found["L"][10:190:60].to_numpy()
    assert some.tolist() == table["L"].to_numpy()[10:190:60].tolist()
    assert found["L"][190:8:-60].to_numpy().tolist() == table["L"].to_numpy()[190:8:-60].tolist()
    assert found["run"][123_456_789] == 123_456_789


def test_what_a_study_takes_of_its_disk_is_told_before_it_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """200 runs of 8 bytes times: two histories of 11 samples, a histogram of 4 bins, and 8 numbers (three
    varied, three metrics, how and when it ended) in record, store and table. Two blocks of four files.
    """

    study = pendulum_study(tmp_path / "s", runs=200, block=100)
    monkeypatch.setattr(store_folder, "_free_space", lambda folder: (1000.0, 1e9))
    with pytest.warns(UserWarning, match=r"will write up to 80 kB .* in 8 files, and its disk has 1 kB free"):
        study.run()
    assert "are to be written" in (tmp_path / "s" / "log.txt").read_text()
    monkeypatch.setattr(store_folder, "_free_space", lambda folder: (1e12, 3.0))
    with pytest.warns(UserWarning, match=r"in 8 files: give a larger block=, now 100 runs"):
        pendulum_study(tmp_path / "t", runs=200, block=100).run()


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1 kB"),
        (1020, "1.02 kB"),
        (999_600, "1 MB"),
        (2.4e13, "24 TB"),
    ],
)
def test_bytes_as_people_read_them(number: float, text: str) -> None:
    from armillary.studies.folder import in_bytes

    assert in_bytes(number) == text


@pytest.mark.parametrize(
    ("times", "even"),
    [
        ([0.0, 0.5], False),
        ([0.0, 0.1, 0.2], True),
        ([0.0, 1.0, 2.0, 2.5], True),
        ([0.0, 1.0, 3.0, 4.0], False),
    ],
)
def test_times_of_a_store_are_kept_exactly_and_even_ones_by_four_numbers(
    times: list[float], even: bool
) -> None:
    """First, interval, last and count, where the last one may be the end of a run between rows."""
    kept = store_folder._times_as_data(np.array(times))
    assert store_folder._times_from_data(kept).tolist() == times
    assert kept == ({"even": [0.0, times[1], times[-1], len(times)]} if even else times)


def test_parameters_without_a_value_count_as_one_where_models_are_compared() -> None:
    """Stores hold rates near the start, which later versions compute again; F/m is 0.5."""

    def probed(force: float | None) -> Any:
        s = System("slider")
        body = s.body("b", joint=Prismatic("x"), mass=2, inertia=0)
        s.parameter("F", force, units="N")
        s.force("push", "F", s.ground.x, at=body.com)
        return identity(core_of(s.derive().compile()))["probed"]

    assert probed(None) == probed(1.0) != probed(2.0)
    assert [rates[1] for rates in probed(None)] == [0.5] * len(probed(None))
