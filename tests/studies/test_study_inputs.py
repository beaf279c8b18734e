"""Studies with inputs over time: their runs are those of single calls, wherever they are made."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.studies import Study, open_study
from armillary.studies.cluster import Job, run_blocks
from armillary.studies.folder import Folder
from armillary.version import VERSION

TIMES = np.linspace(-0.1, 1.2, 40)
ROAD = arm.Signal(TIMES, np.random.default_rng(3).normal(size=40), units="cm", interpolation="hold")
PUSH = (np.array([0.0, 1.0]), np.array([0.0, 3.0]))


@pytest.fixture(scope="module")
def model() -> arm.CompiledModel:
    s = arm.System("mass on a road")
    s.parameter("k", 60.0, units="N/m")
    s.input("road", units="mm")
    s.input("push", 1.5, units="N")
    b = s.body("b", joint=arm.Prismatic("z"), mass=1, inertia=0)
    s.force("spring", "-k*(b.q1 - road) + push - 2*b.u1", s.ground.z, at=b.com)
    return s.derive().compile()


def _study(model: arm.CompiledModel, folder: Path, **changed: Any) -> Study:
    how: dict[str, Any] = {
        "step": 0.01,
        "vary": {"k": arm.Uniform(50.0, 90.0), "b.q1": arm.Uniform(-0.1, 0.1)},
        "runs": 5,
        "seed": 4,
        "block": 2,
        "metrics": {"peak": "maximum(b.q1)"},
        "outputs": ["b.q1", "road"],
        "sample": 0.25,
        "inputs": {"road": ROAD, "push": PUSH},
    }
    return Study(model, folder, 1.0, **{**how, **changed})


@pytest.fixture(scope="module")
def finished(model: arm.CompiledModel, tmp_path_factory: pytest.TempPathFactory) -> Study:
    return _study(model, tmp_path_factory.mktemp("studies") / "road").run(progress=False)


def test_runs_are_single_runs_bit_for_bit(finished: Study, model: arm.CompiledModel) -> None:
    table, data = finished.table(), finished.dataset()
    for i in range(5):
        k, q1 = float(table["k"][i]), float(table["b.q1"][i])
        run = model.simulate(
            1.0, step=0.01, sample=0.25, parameters={"k": k}, initial={"b.q1": q1},
            inputs={"road": ROAD, "push": PUSH},
        )  # fmt: skip
        np.testing.assert_array_equal(finished.rerun(i)["b.q1"], run["b.q1"])
        np.testing.assert_array_equal(data["road"].values[i], run["road"])
        # The loops of a batch and of a single run round alike except for fused operations.
        np.testing.assert_allclose(data["b.q1"].values[i], run["b.q1"], rtol=1e-11, atol=1e-14)


def test_an_opened_study_has_its_data(finished: Study, tmp_path: Path) -> None:
    """Read from the folder alone: the model from its text, the data from inputs.npz."""
    shutil.copytree(finished.path, tmp_path / "copy")
    again = open_study(tmp_path / "copy")
    assert set(again.inputs) == {"road", "push"} and again.inputs["road"].units == "cm"
    np.testing.assert_array_equal(again.inputs["road"].values, ROAD.values)
    assert again.inputs["road"].interpolation == "hold" and again.inputs["push"].interpolation is None
    np.testing.assert_array_equal(again.rerun(3)["b.q1"], finished.rerun(3)["b.q1"])
    for file in (tmp_path / "copy" / "blocks").iterdir():
        file.unlink()
    made = again.run(progress=False)
    np.testing.assert_array_equal(made.table()["peak"], finished.table()["peak"])


def test_a_worker_of_a_cluster_reads_the_data(finished: Study, tmp_path: Path) -> None:
    """A task, called in this process: it has the folder alone."""
    shutil.copytree(finished.path, tmp_path / "copy")
    folder = Folder(tmp_path / "copy")
    for file in folder.blocks.iterdir():
        file.unlink()
    digest = finished._definition.digest
    job = Job(str(folder.root), digest, finished.runs, VERSION, None, False, 1, "cpu")
    records, _ = run_blocks(job, [0, 1, 2])
    assert [r.failed for r in records] == [0, 0, 0]
    made = open_study(tmp_path / "copy").run(progress=False)
    np.testing.assert_array_equal(made.table()["peak"], finished.table()["peak"])


def test_other_data_are_another_study(finished: Study, model: arm.CompiledModel) -> None:
    other = arm.Signal(TIMES, ROAD.values + 1e-12, units="cm", interpolation="hold")
    with pytest.raises(arm.ArmillaryError, match=r"data of input 'road.checksum'"):
        _study(model, Path(finished.path), inputs={"road": other, "push": PUSH})
    with pytest.raises(arm.ArmillaryError, match="holds another study"):
        _study(model, Path(finished.path), inputs={"road": ROAD})


def test_damaged_data_are_found_and_replaced(
    finished: Study, model: arm.CompiledModel, tmp_path: Path
) -> None:
    shutil.copytree(finished.path, tmp_path / "copy")
    data = tmp_path / "copy" / "inputs.npz"
    data.write_bytes(data.read_bytes()[:-40])
    with pytest.raises(arm.ArmillaryError, match="cannot read the data of inputs"):
        open_study(tmp_path / "copy").rerun(0)
    np.savez_compressed(data, time0=TIMES, values0=TIMES, time1=PUSH[0], values1=PUSH[1])
    with pytest.raises(arm.ArmillaryError, match="the data of input 'road' differ from the study's"):
        open_study(tmp_path / "copy").rerun(0)
    _study(model, tmp_path / "copy").run(progress=False)
    np.testing.assert_array_equal(open_study(tmp_path / "copy").inputs["road"].values, ROAD.values)


def test_bad_input(model: arm.CompiledModel, tmp_path: Path) -> None:
    many = arm.Signal(TIMES, np.ones((5, 40)))
    with pytest.raises(arm.ArmillaryError, match=r"'road' has data for 5 runs, but all runs of a study"):
        _study(model, tmp_path / "a", inputs={"road": many})
    with pytest.raises(arm.ArmillaryError, match=r"there is no input 'raod'.*road"):
        _study(model, tmp_path / "a", inputs={"raod": ROAD})
    with pytest.raises(arm.ArmillaryError, match="'push' has a value in memory= and data in inputs="):
        _study(model, tmp_path / "a", vary={"push": arm.Uniform(0.0, 1.0)})
    assert not (tmp_path / "a").exists()
