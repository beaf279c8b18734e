"""FMUs in text models: named in the file, loaded only where the reader says that they are trusted."""

from __future__ import annotations

import math
import shutil
import tomllib

import pytest

import armillary as arm

pytestmark = pytest.mark.skipif(not (shutil.which("cc") or shutil.which("gcc")), reason="no C compiler")

MODEL = """
name = "mass on an FMU"
[bodies.block]
joint = { prismatic = "x" }
mass = 2
inertia = 0
[fmus.spring]
file = "spring.fmu"
every = 0.01
inputs = { stretch = "block.q1" }
[loads.pull]
force = "-spring_force"
direction = "ground.x"
at = "block.origin"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with an FMU whose output `force` is 50 N/m times its input `stretch`."""
    place = tmp_path_factory.mktemp("fmu")
    s = arm.System("spring")
    s.input("stretch", units="m")
    s.body("idle", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.parameter("k", 50.0, units="N/m")
    s.output("force", "k*stretch", units="N")
    s.derive().export("fmu", place / "spring.fmu")
    (place / "block.toml").write_text(MODEL)
    return place


def test_an_fmu_is_not_loaded_unless_it_is_trusted(folder):
    with pytest.raises(
        arm.ModelError, match=r"block.toml:7: 'spring.fmu' is an FMU, machine code.*trust=True"
    ):
        arm.load(folder / "block.toml")


def test_an_fmu_without_a_communication_step_is_integrated_with_the_system(folder, tmp_path):
    """x = 0.1 m · cos(5 rad/s · t), to the tolerance."""
    (tmp_path / "block.toml").write_text(MODEL.replace("every = 0.01\n", ""))
    shutil.copy(folder / "spring.fmu", tmp_path)
    system = arm.load(tmp_path / "block.toml", trust=True)
    system.save(tmp_path / "again.toml")
    again = arm.load(tmp_path / "again.toml", trust=True)
    run = again.derive().compile().simulate(1.0, sample=0.5, rtol=1e-10, initial={"block.q1": 0.1})
    assert run["block.q1"][1:] == pytest.approx([0.1 * math.cos(2.5), 0.1 * math.cos(5)], rel=1e-8)


def test_a_trusted_fmu_acts_and_is_saved_again(folder, tmp_path):
    system = arm.load(folder / "block.toml", trust=True)
    run = system.derive().compile().simulate(1.0, step=0.01, initial={"block.q1": 0.1})
    assert run["pull"][0] == pytest.approx(-5.0)
    assert run["block.q1"].min() < -0.09  # ω = 5 rad/s: more than half an oscillation
    system.save(tmp_path / "again.toml")
    again = arm.load(tmp_path / "again.toml", trust=True)
    other = again.derive().compile().simulate(1.0, step=0.01, initial={"block.q1": 0.1})
    assert (other["block.q1"] == run["block.q1"]).all()


def test_an_fmu_beside_a_saved_model_is_named_from_there_and_moves_with_it(folder, tmp_path):
    """Below the folder of the file by a path from it, with slashes; elsewhere by the whole path."""
    home = tmp_path / "home"
    (home / "units").mkdir(parents=True)
    shutil.copy(folder / "spring.fmu", home / "units" / "spring.fmu")
    (home / "block.toml").write_text(MODEL.replace("spring.fmu", "units/spring.fmu"))
    system = arm.load(home / "block.toml", trust=True)
    system.save(home / "saved.toml")
    assert tomllib.loads((home / "saved.toml").read_text())["fmus"]["spring"]["file"] == "units/spring.fmu"
    system.save(tmp_path / "elsewhere.toml")
    named = tomllib.loads((tmp_path / "elsewhere.toml").read_text())["fmus"]["spring"]["file"]
    assert named == "home/units/spring.fmu"
    (tmp_path / "other").mkdir()
    system.save(tmp_path / "other" / "saved.toml")
    named = tomllib.loads((tmp_path / "other" / "saved.toml").read_text())["fmus"]["spring"]["file"]
    assert named == str((home / "units" / "spring.fmu").resolve())
    home.rename(tmp_path / "moved")
    again = arm.load(tmp_path / "moved" / "saved.toml", trust=True)
    run = again.derive().compile().simulate(0.1, step=0.01, initial={"block.q1": 0.1})
    assert run["pull"][0] == pytest.approx(-5.0)
