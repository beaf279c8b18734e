"""FMUs as elements of a system: the motion of the whole, runs apart from each other, damaged files."""

from __future__ import annotations

import random
import re
import zipfile
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.units import Dimension
from armillary.files.fmu.library import Library
from tests.export.fmi.fmu_models import strut

START = {"m.q1": 0.05}


def whole() -> arm.System:
    """A mass on the strut, in one system."""
    s = arm.System("whole")
    m = s.body("m", joint=arm.Prismatic("x"), mass=10, inertia=0)
    p = s.body("p", joint=arm.Prismatic("x"), mass=0.2, inertia=0)
    s.force("inner", "-800*(p.q1 - m.q1) - 5*(p.u1 - m.u1)", s.ground.x, at=p.com)
    s.force("F", "-40e3*m.q1 - 300*m.u1 - 800*(m.q1 - p.q1) - 5*(m.u1 - p.u1)", s.ground.x, at=m.com)
    return s


def coupled(path: Path, every: float, units: str = "SI", **options: Any) -> arm.System:
    """The same mass, the strut an FMU."""
    s = arm.System("coupled", units=units)
    m = s.body("m", joint=arm.Prismatic("x"), mass="mass", inertia=0)
    s.fmu("strut", arm.fmu(path), every=every, inputs={"x": m.q1, "v": "m.u1"}, **options)
    s.force("F", "-strut_F", s.ground.x, at=m.com)
    return s


@pytest.mark.parametrize(("extrapolate", "ratio", "off"), [(False, 2.0, 1e-3), (True, 4.0, 2e-4)])
def test_the_motion_is_that_of_the_whole(
    strut_unit: Path, extrapolate: bool, ratio: float, off: float
) -> None:
    """Errors at communication steps of 2, 1 and 0.5 ms: of first order with outputs held, else of second."""
    exact = whole().derive().compile().simulate(0.5, rtol=1e-11, atol=1e-13, initial=START, sample=0.01)
    errors = []
    for every in (2e-3, 1e-3, 5e-4):
        model = coupled(strut_unit, every, outputs=["F", "p.q1"], extrapolate=extrapolate).derive().compile()
        run = model.simulate(0.5, step=5e-4, initial=START, sample=0.01, parameters={"mass": 10.0})
        errors.append(np.max(np.abs(run["m.q1"] - exact["m.q1"])))
        assert np.max(np.abs(run["strut_p_q1"] - exact["p.q1"])) < 5 * errors[-1]
    adaptive = model.simulate(0.5, initial=START, sample=0.01, parameters={"mass": 10.0})
    np.testing.assert_allclose(adaptive["m.q1"], run["m.q1"], atol=1e-7)
    assert errors[-1] < off
    for before, after in pairwise(errors):
        assert 0.85 * ratio < before / after < 1.15 * ratio


def test_runs_start_afresh_and_threads_do_not_meet(strut_unit: Path) -> None:
    model = coupled(strut_unit, 1e-3).derive().compile()

    def run(mass: float) -> np.ndarray:
        return model.simulate(0.2, step=1e-3, initial=START, parameters={"mass": mass}).values

    masses = [8.0, 10.0, 12.0, 14.0] * 3
    alone = {mass: run(mass) for mass in set(masses)}
    assert np.array_equal(run(10.0), alone[10.0])
    with ThreadPoolExecutor(4) as pool:
        for mass, found in zip(masses, pool.map(run, masses), strict=True):
            assert np.array_equal(found, alone[mass])


def test_starts_with_the_same_values_share_an_instance_until_it_is_stepped(
    strut_unit: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    instance = Library.instance

    def count(library: Library, name: str) -> int:
        made.append(name)
        return instance(library, name)

    monkeypatch.setattr(Library, "instance", count)
    model = coupled(strut_unit, 1e-3, outputs=["F"]).derive().compile()
    for x, instances in ((0.05, 1), (0.05, 1), (0.06, 2), (0.06, 2)):
        run = model.simulate(0.0, initial={"m.q1": x}, parameters={"mass": 10.0})
        assert run["strut_F"][0] == pytest.approx(40.8e3 * x) and len(made) == instances
    for instances in (2, 3):
        model.simulate(0.01, step=1e-3, initial={"m.q1": 0.06}, parameters={"mass": 10.0})
        assert len(made) == instances


def test_units_are_converted_at_the_border(strut_unit: Path) -> None:
    """The same motion in inches and pounds: stroke in mm and force in N are the FMU's own business."""
    inch, pound = 0.0254, 0.45359237 * 9.80665
    metric = coupled(strut_unit, 1e-3).derive().compile()
    imperial = coupled(strut_unit, 1e-3, units="in-lb-s").derive().compile()
    one = metric.simulate(0.1, step=1e-3, initial=START, parameters={"mass": 10.0})
    other = imperial.simulate(
        0.1, step=1e-3, initial={"m.q1": 0.05 / inch}, parameters={"mass": 10.0 / (pound / inch)}
    )
    np.testing.assert_allclose(other["m.q1"] * inch, one["m.q1"], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(other["strut_F"] * pound, one["strut_F"], rtol=1e-9, atol=1e-8)
    assert one["strut_F"][0] == pytest.approx(40e3 * 0.05 + 800 * 0.05)  # at the start already


def test_parameters_of_the_fmu(strut_unit: Path) -> None:
    soft = coupled(strut_unit, 1e-3, parameters={"k": 20.0}, outputs=["F"]).derive().compile()
    run = soft.simulate(0.01, step=1e-3, initial=START, parameters={"mass": 10.0})
    assert run["strut_F"][0] == pytest.approx(20e3 * 0.05 + 800 * 0.05)


def test_a_failing_fmu_ends_the_run(strut_unit: Path) -> None:
    """An input that is not a number is refused by the FMU; its outputs are then none either."""
    s = arm.System("bad")
    m = s.body("m", joint=arm.Prismatic("x"), mass=1, inertia=0)
    out = s.fmu("strut", strut_unit, every=1e-3, inputs={"x": "0.1*sqrt(0.05 - t)"})
    s.force("F", -out["F"], s.ground.x, at=m.com)
    with pytest.raises(arm.SimulationError, match=r"FMU 'strut' failed at t = 0\.05 s: fmi\dSet"):
        s.derive().compile().simulate(0.1, step=1e-3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"inputs": {"y": 1.0}}, "has no input 'y'"),
        ({"outputs": ["f"]}, "has no output 'f'; did you mean 'F'"),
        ({"parameters": {"kk": 1.0}}, "has no parameter 'kk'; did you mean 'k'"),
        ({"parameters": {"k": "stiff"}}, "parameter 'k' needs a number"),
        ({"inputs": {"x": "m.u1"}}, "dimension"),
        ({"inputs": {"v": "m.u1'"}}, "input 'v'"),
        ({"every": 0.0}, "not a positive number"),
        ({"outputs": []}, "no numeric outputs"),
    ],
)
def test_wrong_connections_are_sentences(strut_unit: Path, options: dict[str, Any], message: str) -> None:
    s = arm.System("wrong")
    s.body("m", joint=arm.Prismatic("x"), mass=1, inertia=0)
    with pytest.raises(arm.ArmillaryError, match=message):
        s.fmu("strut", strut_unit, **({"every": 1e-3} | options))
    assert not s.memories and not s.events  # nothing is left behind


# ---------------------------------------------------------------- files from outside


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An FMU without a library."""
    path = tmp_path_factory.mktemp("plain") / "strut.fmu"
    return strut().derive().export("fmu", path, binary=False)


def test_reading_an_fmu_executes_nothing_and_tells_all(plain: Path) -> None:
    found = arm.fmu(plain)
    assert repr(found) == "Fmu('strut', FMI 2.0: 2 inputs, 3 outputs, 1 parameters)"
    assert found.parameters["k"].start == 40.0
    assert (found.inputs["x"].unit.name, found.inputs["x"].unit.factor) == ("mm", 1e-3)
    s = arm.System("s")
    with pytest.raises(arm.ModelError, match=r"holds no library for this machine .* libraries for none"):
        s.fmu("strut", found, every=1e-3)


def rewritten(path: Path, target: Path, **files: bytes) -> Path:
    """A copy of an FMU with other contents of some files."""
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(target, "w") as new:
        for entry in old.infolist():
            new.writestr(entry.filename, files.pop(entry.filename.replace(".", "_"), old.read(entry)))
    return target


def indicating(text: bytes, count: int) -> bytes:
    """A description that declares so many event indicators."""
    own = re.sub(rb' numberOfEventIndicators="\d*"', b"", text)
    return own.replace(b"<fmiModelDescription", b'<fmiModelDescription numberOfEventIndicators="%d"' % count)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda x: b"", "x.fmu/modelDescription.xml:1: not a whole XML file"),
        (lambda x: x[: len(x) // 2], "not a whole XML file"),
        (lambda x: b"<!DOCTYPE a [<!ENTITY b 'c'>]>" + x[x.index(b"<fmi") :], "document type"),
        (
            lambda x: ("<!DOCTYPE a [<!ENTITY b 'c'>]>" + x[x.index(b"<fmi") :].decode()).encode("utf-16"),
            "document type",
        ),
        (lambda x: b"<a/>", "describes no FMU but a 'a'"),
        (lambda x: x.replace(b'fmiVersion="2.0"', b'fmiVersion="1.0"'), "FMI version '1.0'"),
        (lambda x: x.replace(b'valueReference="3"', b'valueReference="x"'), "not a whole number"),
        (lambda x: x.replace(b'valueReference="3"', b'valueReference="-3"'), "no 32-bit number"),
        (lambda x: x.replace(b'start="40.0"', b'start="nan"'), "not a finite number"),
        (lambda x: x.replace(b'factor="0.001"', b'factor="0"'), "factor zero"),
        (lambda x: x.replace(b'Identifier="strut"', b'Identifier="../../strut"'), "not a name of a library"),
        (lambda x: indicating(x, -1), "it has -1 event indicators"),
        (lambda x: indicating(x, 10_001), "it has 10001 event indicators"),
    ],
)
def test_descriptions_that_make_no_sense(plain: Path, tmp_path: Path, change: Any, message: str) -> None:
    with zipfile.ZipFile(plain) as archive:
        text = archive.read("modelDescription.xml")
    changed = rewritten(plain, tmp_path / "x.fmu", modelDescription_xml=change(text))
    with pytest.raises(arm.ModelError, match=message):
        arm.fmu(changed)


def with_base_unit(path: Path, target: Path, base: str) -> Path:
    """A copy whose millimetre has another base unit."""
    with zipfile.ZipFile(path) as archive:
        text = archive.read("modelDescription.xml").decode()
    own = '<BaseUnit m="1" factor="0.001" />'
    assert own in text
    return rewritten(path, target, modelDescription_xml=text.replace(own, base).encode())


@pytest.mark.parametrize(
    ("base", "dimension", "factor", "offset"),
    [
        ('<BaseUnit kg="1" m="-3" s="2" A="4" K="-5" factor="2.5" />', (1, -3, 2, 4, -5), 2.5, 0.0),
        ('<BaseUnit m="100" s="-100" />', (0, 100, -100, 0, 0), 1.0, 0.0),
        ('<BaseUnit K="1" rad="1" mol="0" cd="0" offset="273.15" />', (0, 0, 0, 0, 1), 1.0, 273.15),
        ('<BaseUnit m="1" mol="1" factor="3" />', None, 1.0, 0.0),
        ('<BaseUnit m="1" cd="-1" factor="3" />', None, 1.0, 0.0),
        ("", (0, 1, 0, 0, 0), 1e-3, 0.0),  # by its name
    ],
)
def test_units_are_those_of_their_base_units(
    plain: Path, tmp_path: Path, base: str, dimension: tuple[int, ...] | None, factor: float, offset: float
) -> None:
    unit = arm.fmu(with_base_unit(plain, tmp_path / "x.fmu", base)).inputs["x"].unit
    assert (unit.name, unit.factor, unit.offset) == ("mm", factor, offset)
    assert unit.dimension == (None if dimension is None else Dimension(*dimension))


@pytest.mark.parametrize(
    ("base", "message"),
    [
        ('<BaseUnit m="101" />', "an exponent beyond 100"),
        ('<BaseUnit s="-101" />', "an exponent beyond 100"),
        ('<BaseUnit m="1.5" />', "its m is '1.5', not a whole number"),
        ('<BaseUnit m="1" factor="inf" />', "not a finite number"),
        ('<BaseUnit m="1" offset="far" />', "not a finite number"),
    ],
)
def test_base_units_that_make_no_sense(plain: Path, tmp_path: Path, base: str, message: str) -> None:
    with pytest.raises(arm.ModelError, match=message):
        arm.fmu(with_base_unit(plain, tmp_path / "x.fmu", base))


def test_files_that_are_no_fmus(tmp_path: Path) -> None:
    with pytest.raises(arm.ModelError, match="there is no FMU"):
        arm.fmu(tmp_path / "nothing.fmu")
    (tmp_path / "text.fmu").write_text("hello")
    with pytest.raises(arm.ModelError, match="not an FMU"):
        arm.fmu(tmp_path / "text.fmu")
    with zipfile.ZipFile(tmp_path / "empty.fmu", "w"):
        pass
    with pytest.raises(arm.ModelError, match=r"holds no modelDescription\.xml"):
        arm.fmu(tmp_path / "empty.fmu")


def test_nothing_is_unpacked_elsewhere(strut_unit: Path, tmp_path: Path) -> None:
    path = tmp_path / "slip.fmu"
    path.write_bytes(strut_unit.read_bytes())
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("resources/../../../slipped.txt", "x")
    s = arm.System("s")
    with pytest.raises(arm.ModelError, match="would be unpacked elsewhere"):
        s.fmu("strut", path, every=1e-3)


def test_damaged_files_raise_one_kind_of_error(plain: Path, tmp_path: Path) -> None:
    whole, damaged = plain.read_bytes(), tmp_path / "damaged.fmu"
    choice = random.Random(1990)
    for _ in range(300):
        content = bytearray(whole)
        for _ in range(choice.randint(1, 20)):
            content[choice.randrange(len(content))] = choice.randrange(256)
        damaged.write_bytes(content[: choice.randrange(len(content))] if choice.random() < 0.3 else content)
        try:
            arm.fmu(damaged)
        except arm.ModelError as error:
            assert "\n" not in str(error)
