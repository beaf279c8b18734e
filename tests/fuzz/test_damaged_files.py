"""Two thousand damaged files, by fixed seeds: each is read, or refused by one clear error within two seconds.

The good files are examples of this project; what is done to them is in ``damage.py``, what may come of it in
``outcome.py``. A failure names its file and seed: ``damaged(good, seed)`` makes the file again.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random

import pytest

import armillary as arm
from armillary.analysis.modes.modes import Modes
from armillary.analysis.modes.root_locus import RootLocus
from armillary.run_files.execute import Simulation
from armillary.run_files.run_file import RunFile
from armillary.stages.model import Model
from armillary.studies import open_study
from armillary.studies.study_file import StudyFile, StudySetup
from examples import bump_stop, four_bar, pendulum, slosh, stanford_arm
from tests.fuzz.damage import damaged, damaged_values
from tests.fuzz.outcome import complaint, complaints
from tests.studies.study_models import pendulum_study

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "files" / "robots" / "data"


def contents(*paths: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in paths}


def test_urdf(tmp_path: Path) -> None:
    good = contents(ROOT / "examples" / "six_axis_arm.urdf", DATA / "platform.urdf")
    assert not complaints(arm.load, good, 250, tmp_path)


def test_mjcf(tmp_path: Path) -> None:
    good = contents(DATA / "pendulum.xml", DATA / "linkage.xml")
    assert not complaints(arm.load, good, 150, tmp_path)


def test_text_models(tmp_path: Path) -> None:
    for example in (pendulum, stanford_arm, four_bar, bump_stop, slosh):
        example.system().save(tmp_path / f"{example.__name__.rpartition('.')[2]}.toml")
    assert not complaints(arm.load, contents(*tmp_path.glob("*.toml")), 300, tmp_path)


RUN_FILE = b"""model = "pendulum.toml"
title = "swing"
[parameters]
L = "60 cm"
g = 9.81
[initial]
"bob.q1" = "10 deg"
[run]
duration = "2 s"
step = 0.01
method = "rk4"
[output]
file = "swing.csv"
select = ["bob.*"]
"""


def test_run_files(tmp_path: Path) -> None:
    def prepare(path: Path) -> None:
        """All that a run does with its file before it computes."""
        simulation = Simulation(RunFile.read(path))
        simulation.run_settings()
        simulation.check_places()

    pendulum.system().save(tmp_path / "pendulum.toml")
    (tmp_path / "swing.toml").write_bytes(RUN_FILE)
    prepare(tmp_path / "swing.toml")
    assert not complaints(prepare, {"swing.toml": RUN_FILE}, 300, tmp_path)


STUDY_FILE = (
    RUN_FILE.replace(b'L = "60 cm"\n', b"").replace(b'file = "swing.csv"\n', b"")
    + b"""
[vary]
L = { normal = ["60 cm", "1 cm"], low = "50 cm" }
bob.u1 = [0, 0.1, 0.2]
[metrics]
top = "maximum(bob.q1)"
middle = "crossing(bob.q1, 0, falling)"
[study]
design = "sobol"
runs = 64
seed = 3
folder = "swings"
"""
)


def test_study_files(tmp_path: Path) -> None:
    def prepare(path: Path) -> None:
        """All that a study does with its file before it derives."""
        setup = StudySetup(StudyFile.read(path))
        setup.run_settings()
        setup.check_places()

    pendulum.system().save(tmp_path / "pendulum.toml")
    (tmp_path / "swings.toml").write_bytes(STUDY_FILE)
    prepare(tmp_path / "swings.toml")
    assert not complaints(prepare, {"swings.toml": STUDY_FILE}, 200, tmp_path)


@pytest.mark.parametrize(("suffix", "count"), [(".csv", 250), (".erd", 250), (".parquet", 250)])
def test_results(suffix: str, count: int, tmp_path: Path) -> None:
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    check_results(suffix, count, tmp_path)


def test_results_in_hdf5(tmp_path: Path) -> None:
    """In a process of its own: HDF5 is not made for damaged files; what it spoils would show elsewhere."""
    pytest.importorskip("h5netcdf")
    code = "import sys, pathlib; from tests.fuzz.test_damaged_files import check_results as check; "
    code += "check('.nc', 50, pathlib.Path(sys.argv[1]))"
    here = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    command = [sys.executable, "-c", code, str(tmp_path)]
    done = subprocess.run(command, env=here, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]


def check_results(suffix: str, count: int, folder: Path) -> None:
    path = folder / f"run{suffix}"
    pendulum.system().derive().compile().simulate(0.5, step=0.05).save(path)
    assert not complaints(arm.load_run, contents(path), count, folder)
    assert not [entry.name for entry in folder.iterdir() if entry != path]


def test_saved_analyses(tmp_path: Path) -> None:
    """They are shown, too: an object of a damaged file has all its parts, or there is none."""
    model = hanging()
    op = model.equilibrium(fixed={"bob.q1": 0.2}, inputs=["T"])
    lin = model.linearize(op, inputs=["T"], outputs=["bob.q1"])
    kept = {
        "point.json": (op, arm.load_point),
        "linear.json": (lin, arm.load_linear),
        "modes.json": (lin.modes(), Modes.load),
        "locus.json": (arm.root_locus(model, "T", [0.1, 0.2]), RootLocus.load),
        "sweep.csv": (model.sweep({"bob.q1": [0.1, 0.2, 0.3]}), arm.load_sweep),
    }
    for name, (result, load) in kept.items():
        result.save(tmp_path / name)

        def show(path: Path, load: Callable[[Path], object] = load) -> None:
            found = load(path)
            assert str(found) and repr(found)

        show(tmp_path / name)
        good = contents(tmp_path / name)
        assert not complaints(show, good, 70, tmp_path)
        if name.endswith(".json"):
            assert not complaints(show, good, 100, tmp_path, damage=damaged_values)


@pytest.mark.parametrize(
    ("file", "part", "value"),
    [("point", "outputs", True), ("point", "rates", {"bob.q1": "1"}), ("linear", "outputs", [{"name": 3}])],
)
def test_parts_that_no_table_shows_are_checked_as_well(
    tmp_path: Path, file: str, part: str, value: object
) -> None:
    model, path = hanging(), tmp_path / f"{file}.json"
    result, load = {
        "point": (model.equilibrium(), arm.load_point),
        "linear": (model.linearize(outputs=["bob.q1"]), arm.load_linear),
    }[file]
    result.save(path)
    content = json.loads(path.read_text(encoding="utf-8"))
    content[part] = [content[part][0] | value[0]] if isinstance(value, list) else value
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(arm.ArmillaryError, match=file):
        load(path)


def test_study_stores(tmp_path: Path) -> None:
    """Any file of a store is damaged, missing or a folder; what is read of it, or made again, is whole."""
    pytest.importorskip("zarr")
    pendulum_study(tmp_path / "whole", runs=6, block=3, outputs=["energy"]).run()
    whole = sorted(p for p in (tmp_path / "whole").rglob("*") if p.is_file() and "lock" not in p.name)
    kinds = sorted({(path.parent.name, path.suffix) for path in whole})

    def show(path: Path) -> None:
        study = open_study(path)
        assert repr(study) and len(study.table()) == 6 and study.values(3)
        study.dataset().load()

    for name in ("study.json", "design.json", "complete.json"):
        copy = tmp_path / "deep"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(tmp_path / "whole", copy)
        (copy / name).write_text("[" * 100_000)
        if wrong := complaint(show, copy):
            raise AssertionError(f"{name}: {wrong}")
    found = {}
    for seed in range(20):
        rng = Random(seed)
        kind = rng.choice(kinds)
        file = rng.choice([path for path in whole if (path.parent.name, path.suffix) == kind])
        copy = tmp_path / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(tmp_path / "whole", copy)
        other, way = copy / file.relative_to(tmp_path / "whole"), rng.random()
        if way < 0.15:
            other.unlink()
            if way < 0.05:
                other.mkdir()
        elif way < 0.5 and file.suffix == ".json":
            other.write_bytes(damaged_values(file.read_bytes(), seed))
        else:
            other.write_bytes(damaged(file.read_bytes(), seed))
        if wrong := complaint(show, copy):
            found[f"{file.relative_to(tmp_path)}, seed {seed}"] = wrong
    assert not found


@cache
def hanging() -> Model:
    """A damped pendulum with a motor."""
    s = arm.System("pendulum")
    s.parameter("T", 0.0, units="N*m")
    bob = s.body("bob", joint=arm.Revolute("z"), com=(0, -0.5, 0), mass=2, inertia=0)
    s.gravity(9.81, -s.ground.y)
    s.moment("motor", "T - 0.3*bob.u1", s.ground.z, on=bob)
    return s.derive().compile()


def test_included_files_that_go_in_a_circle(tmp_path: Path) -> None:
    """Through a second file; each format says which line begins it."""
    loops: dict[str, tuple[str, str]] = {
        "model.xml": (
            "<mujoco><include file='part.xml'/></mujoco>",
            "<mujoco><include file='model.xml'/></mujoco>",
        ),
        "model.toml": (
            'name = "a"\n[include.b]\nfile = "part.toml"\n',
            'name = "b"\n[include.a]\nfile = "model.toml"\n',
        ),
    }
    for name, (outer, inner) in loops.items():
        (tmp_path / name).write_text(outer)
        (tmp_path / f"part{Path(name).suffix}").write_text(inner)
        with pytest.raises(arm.ArmillaryError, match=rf"part.*includes itself|{name}.*includes itself"):
            arm.load(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "start", "part", "end"),
    [
        ("deep.toml", b"name = ", b"[", b""),
        ("deep.urdf", b"", b"<link>", b""),
        ("deep.xml", b"<mujoco><worldbody>", b"<body>", b""),
        ("wide.urdf", b"<robot name='r'>", b"<link name='a'/>", b"</robot>"),
        ("wide.xml", b"<mujoco><worldbody>", b"<site name='a'/>", b"</worldbody></mujoco>"),
        ("long.toml", b'name = "a"\n[outputs.x]\nvalue = "1', b"+1", b'"\n'),
        ("long.xml", b"<mujoco model='", b"a", b"'/>"),
    ],
)
def test_files_of_absurd_depth_and_length(
    name: str, start: bytes, part: bytes, end: bytes, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(start + part * 20_000 + end)
    assert not complaint(arm.load, path)
