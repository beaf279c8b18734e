"""What stands in an FMU's files, and what is refused when one is written."""

from __future__ import annotations

import math
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import armillary as arm
from armillary.export import fmi
from armillary.export.fmi.variables import base_unit
from tests.export.fmi.fmu_models import strut

pytestmark = pytest.mark.optimised


@pytest.mark.parametrize(
    ("text", "exponents", "factor"),
    [
        ("N*m/rad", {"kg": "1", "m": "2", "s": "-2", "rad": "-1"}, 1.0),
        ("deg/s", {"s": "-1", "rad": "1"}, math.pi / 180),
        ("rpm", {"s": "-1", "rad": "1"}, 2 * math.pi / 60),
        ("in-lb-s2", {"kg": "1", "m": "2"}, 0.0254 * 0.45359237 * 9.80665),
        ("mrad", {"rad": "1"}, 1e-3),
        ("1", {}, 1.0),
        ("N/mm", {"kg": "1", "s": "-2"}, 1000.0),
        ("kg*m^(1/2)", {}, 1.0),
    ],
)
def test_units_by_their_base_units(text: str, exponents: dict[str, str], factor: float) -> None:
    found = base_unit(text)
    assert float(found.pop("factor", "1")) == pytest.approx(factor, rel=1e-15)
    assert found == exponents


def described(path: Path) -> ElementTree.Element:
    with zipfile.ZipFile(path) as archive:
        return ElementTree.fromstring(archive.read("modelDescription.xml"))


def test_dependencies_are_those_of_the_equations(tmp_path: Path) -> None:
    """ẋ of the strut's inner mass is its speed; its rate needs both states and both inputs; so does F."""
    path = strut().derive().export("fmu", tmp_path / "strut.fmu", version="3.0", binary=False)
    root = described(path)
    names = {v.get("valueReference"): v.get("name") for v in root.iterfind("ModelVariables/*")}
    depends = {
        names[u.get("valueReference")]: {names[r] for r in u.get("dependencies").split()}
        for u in root.iterfind("ModelStructure/*")
    }
    assert depends["der(p.q1)"] == {"p.u1"}
    assert depends["der(p.u1)"] == {"p.q1", "p.u1", "x", "v"}
    assert depends["F"] == {"p.q1", "p.u1", "x", "v"}
    assert depends["p.q1"] == {"p.q1"}


def test_a_rate_is_named_after_the_state_as_it_is_called_in_the_fmu(tmp_path: Path) -> None:
    s = arm.System("clock")
    s.body("b", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.state("time", rate=1.0)  # a name that FMI's own variable has
    path = s.derive().export("fmu", tmp_path / "clock.fmu", binary=False)
    text = zipfile.ZipFile(path).read("modelDescription.xml").decode()
    assert 'name="time\'"' in text and 'name="der(time\')"' in text


def test_variables_have_units_starts_and_descriptions_of_the_user(hopping: Any, tmp_path: Path) -> None:
    path = hopping.export("fmu", tmp_path / "h.fmu", binary=False, parameters={"k": 4.0}, duration="2 s")
    root = described(path)
    variables = {v.get("name"): v for v in root.iterfind("ModelVariables/ScalarVariable")}
    k, push, angle = variables["k"], variables["push"], variables["plate.q1"]
    assert (k.get("causality"), k.get("variability"), k.get("description")) == (
        "parameter",
        "tunable",
        "stiffness",
    )
    assert k.find("Real").attrib == {"unit": "lb/in", "start": "4.0"}
    assert (push.get("causality"), push.find("Real").get("start")) == ("input", "2.0")
    assert angle.find("Real").get("unit") == "deg"
    assert variables["sampled"].get("variability") == "discrete"
    assert "sampled clock" not in variables
    assert root.get("numberOfEventIndicators") == "1"
    assert root.find("DefaultExperiment").get("stopTime") == "2.0"


def test_sources_build_without_a_warning_and_are_the_same_every_time(hopping: Any, tmp_path: Path) -> None:
    paths = [hopping.export("fmu", tmp_path / f"{i}.fmu", version="3.0", binary=False) for i in range(2)]
    assert paths[0].read_bytes() == paths[1].read_bytes()
    cc = shutil.which("cc")
    if cc is None:
        pytest.skip("no C compiler here")
    for version in ("2.0", "3.0"):
        folder = tmp_path / version
        zipfile.ZipFile(hopping.export("fmu", tmp_path / "x.fmu", version=version, binary=False)).extractall(
            folder
        )
        sources = sorted(str(p) for p in (folder / "sources").glob("*.c"))
        flags = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Wshadow", "-O1", "-fsyntax-only"]
        done = subprocess.run([cc, *flags, *sources], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")


def test_how_to_build_and_what_it_is_stand_beside_the_sources(hopping: Any, tmp_path: Path) -> None:
    fmpy = pytest.importorskip("fmpy.model_description", reason="FMPy has the schema")
    path = hopping.export("fmu", tmp_path / "h.fmu", version="3.0", binary=False)
    (build,) = fmpy.read_build_description(str(path))
    named = build.sourceFileSets[0].sourceFiles
    with zipfile.ZipFile(path) as archive:
        assert {f"sources/{name}" for name in named} == {n for n in archive.namelist() if n.endswith(".c")}
        page = archive.read("documentation/index.html").decode()
    assert all(text in page for text in ("hopper", "force from outside", "lb/in", "number of bounces"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"vresion": "3.0"}, "has no option 'vresion'; did you mean 'version'"),
        ({"version": "1.0"}, "unknown version of FMI '1.0'"),
        ({"kind": "cosimulation"}, "did you mean 'co_simulation'"),
        ({"step": 0.0}, "step=0.0 is not a positive number"),
        ({"duration": float("nan")}, "duration=nan"),
        ({"step": "1 m"}, "step has units of"),
        ({"parameters": {"kk": 1.0}}, "there is no parameter 'kk'; did you mean 'k'"),
    ],
)
def test_bad_options_are_sentences(options: dict, message: str, tmp_path: Path) -> None:
    with pytest.raises(arm.ArmillaryError, match=message):
        strut().derive().export("fmu", tmp_path / "x.fmu", **options)
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_an_fmu_is_named(tmp_path: Path) -> None:
    s = arm.System("no default")
    s.body("m", joint=arm.Prismatic("x"), inertia=0)
    with pytest.raises(arm.ParameterError, match="needs start values of all parameters"):
        s.derive().export("fmu", tmp_path / "x.fmu", binary=False)
    with pytest.raises(arm.ArmillaryError, match="there is no folder"):
        strut().derive().export("fmu", tmp_path / "nowhere" / "x.fmu", binary=False)
    with pytest.raises(arm.ArmillaryError, match="there is a folder of that name"):
        strut().derive().export("fmu", tmp_path, binary=False)
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(arm.ArmillaryError, match="a file of that name that is not an FMU"):
        strut().derive().export("fmu", tmp_path / "notes.txt", binary=False)
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert strut().derive().export("fmu", tmp_path / "strut", binary=False) == tmp_path / "strut.fmu"


def test_a_missing_compiler_is_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CC", "no-such-compiler -O2")
    with pytest.raises(arm.ArmillaryError, match="'no-such-compiler', is not there"):
        strut().derive().export("fmu", tmp_path / "x.fmu")
    monkeypatch.delenv("CC")
    monkeypatch.setattr(fmi.shutil, "which", lambda name: None)
    monkeypatch.setattr(fmi.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(arm.ArmillaryError, match="pip install ziglang"):
        strut().derive().export("fmu", tmp_path / "x.fmu")
    assert list(tmp_path.iterdir()) == []


def test_a_compiler_that_fails_is_quoted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    false = shutil.which("false")
    if false is None:
        pytest.skip("no command that fails here")
    monkeypatch.setenv("CC", false)
    with pytest.raises(arm.ArmillaryError, match="could not build the library"):
        strut().derive().export("fmu", tmp_path / "x.fmu")
