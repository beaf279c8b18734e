"""SSP packages: written from equations and FMUs, read as parts of a system, and run by FMPy."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.run_files.resolve import open_model
from tests.export.fmi.fmu_models import need_compiler


def plant() -> arm.System:
    """A mass of 2 kg on rails; its place in mm."""
    s = arm.System("plant")
    s.input("push", units="N")
    m = s.body("m", joint=arm.Prismatic("x"), mass=2, inertia=0)
    s.force("push_x", "push", s.ground.x, at=m)
    s.output("place", m.q1, units="mm")
    s.output("speed", m.u1, units="m/s")
    return s


def controller() -> arm.System:
    """A force from place and speed, towards a goal; its state filters nothing and is there for the solver."""
    s = arm.System("controller")
    s.input("x", units="m")
    s.input("v", units="m/s")
    s.input("goal", units="m")
    s.parameter("k", 10.0, units="N/m")
    s.body("idle", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.output("force", "k*(goal - x) - 6*v", units="N")
    return s


CONNECTIONS = {
    "plant.push": "control.force", "control.x": "plant.place", "control.v": "plant.speed",
    "control.goal": "goal", "where": "plant.place",
}  # fmt: skip


@pytest.fixture(scope="module")
def loop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both in a package: a closed loop across two FMUs, in different units."""
    need_compiler()
    folder = tmp_path_factory.mktemp("ssp")
    unit = controller().derive().export("fmu", folder / "control.fmu")
    parts = {"plant": plant().derive(), "control": unit}
    return arm.write_ssp(folder / "loop.ssp", parts, connections=CONNECTIONS, parameters={"control.k": 20.0})


def exact(t: np.ndarray, goal: float) -> np.ndarray:
    """2 ẍ + 6 ẋ + 20 (x − goal) = 0 from rest at zero, in m: δ = 1.5, ω² = 10 − δ²."""
    damping, omega = 1.5, np.sqrt(10 - 1.5**2)
    return goal * (1 - np.exp(-damping * t) * (np.cos(omega * t) + damping / omega * np.sin(omega * t)))


def test_a_loaded_package_runs_its_loop(loop: Path) -> None:
    """Co-simulation is right to second order where outputs go on along lines: half the step, a quarter of the
    error.
    """
    errors = []
    for every in (0.02, 0.01):
        system = arm.load(loop, every=every, extrapolate=True, trust=True)
        run = system.derive().compile().simulate(1.0, step=every, memory={"goal": 0.5})
        found = run["loop_where"]
        errors.append(float(np.max(np.abs(found - exact(run.time, 0.5)))))
    assert errors[1] < 2.5e-4
    assert 3.2 < errors[0] / errors[1] < 4.8


def test_a_run_of_a_trusted_package_needs_no_other_option(loop: Path) -> None:
    opened = open_model(loop, trust=True, every=0.02)
    assert [m for m in opened.memories if m == "goal"]


def test_a_package_is_a_part_of_a_system_and_of_a_text_model(loop: Path, tmp_path: Path) -> None:
    s = arm.System("host")
    s.body("b", joint=arm.Prismatic("x"), mass=1, inertia=0)
    found = s.ssp("loop", loop, every=0.01, inputs={"goal": 0.5}, extrapolate=True)
    assert {"where", "plant.place", "plant.speed", "control.force"} <= set(found)
    run = s.derive().compile().simulate(1.0, step=0.01)
    assert np.max(np.abs(run["loop_where"] - exact(run.time, 0.5))) < 2.5e-4
    assert run["loop_control_force"][0] == 10.0  # k of the package, 20 N/m, at the goal of 0.5 m
    s.save(tmp_path / "host.toml")
    with pytest.raises(arm.ModelError, match=r"is an SSP package, machine code .* trust=True"):
        arm.load(tmp_path / "host.toml")
    again = arm.load(tmp_path / "host.toml", trust=True).derive().compile().simulate(1.0, step=0.01)
    assert np.array_equal(again["loop_where"], run["loop_where"])
    other = arm.System("other")
    other.body("b", joint=arm.Prismatic("x"), mass=1, inertia=0)
    other.ssp("loop", loop, every=0.01, inputs={"goal": 0.5}, parameters={"control.k": 4.0})
    assert other.derive().compile().simulate(0.01, step=0.01)["loop_control_force"][0] == 2.0


def test_fmpy_runs_the_package_and_its_files_follow_the_schemas(loop: Path) -> None:
    pytest.importorskip("fmpy", reason="FMPy is not installed")
    etree = pytest.importorskip("lxml.etree")
    import fmpy.ssp
    from fmpy.ssp.simulation import simulate_ssp

    folder = Path(fmpy.ssp.__file__).parent / "schema"
    schema = etree.XMLSchema(etree.parse(str(folder / "SystemStructureDescription.xsd")))
    with zipfile.ZipFile(loop) as archive:
        schema.assertValid(etree.fromstring(archive.read("SystemStructure.ssd")))
    found = simulate_ssp(str(loop), stop_time=1.0, step_size=1e-3, input={"goal": lambda t: 0.5})
    # FMPy converts no units and leaves out parameters inside the package, so that the first steps alone are
    # compared: the controller's 10 N/m at the goal of 0.5 m push 2 kg for 1 ms.
    assert found["plant.push"][1:3] == pytest.approx([5.0, 5.0])
    assert found["plant.speed"][2] == pytest.approx(5.0 / 2 * 1e-3, rel=1e-12)
    assert found["where"][2] == found["plant.place"][2] == pytest.approx(1e3 * 5.0 / 2 * 1e-6 / 2, rel=1e-12)


@pytest.mark.parametrize(
    ("parts", "links", "message"),
    [
        ({}, {}, "needs FMUs by name"),
        ({"a b": "plant"}, {}, "'a b' cannot be the name of an FMU"),
        ({"a": 3}, {}, "FMU 'a' of the SSP package: 3 is neither equations nor an FMU file"),
        ({"a": "plant"}, {"a.pull": "x"}, "has no input 'pull'; there is push"),
        ({"a": "plant"}, {"a.push": "a.plce"}, "has no output 'plce'; did you mean 'place'"),
        ({"a": "plant"}, {"x": "y"}, "neither 'x' nor 'y' is a variable of an FMU"),
        ({"plant": "plant"}, {"plnt.push": "x"}, "there is no FMU 'plnt'; did you mean 'plant'"),
        ({"a": "plant"}, {"a": "x"}, "'a' names an FMU but no variable of it"),
        (
            {"a": "plant"},
            {"a.push": "x", "x": "a.place"},
            "connector 'x' of the SSP package is an input and an output",
        ),
    ],
)
def test_wrong_packages_are_sentences_and_nothing_is_written(
    tmp_path: Path, parts: dict[str, Any], links: dict[str, str], message: str
) -> None:
    made = {name: plant().derive() if part == "plant" else part for name, part in parts.items()}
    with pytest.raises(arm.ModelError, match=message):
        arm.write_ssp(tmp_path / "x.ssp", made, links, **({"binary": False} if made else {}))
    assert not list(tmp_path.iterdir())


def test_packages_from_outside_are_checked(loop: Path, tmp_path: Path) -> None:
    with pytest.raises(arm.ModelError, match=r"give the seconds between communication points"):
        arm.load(loop, trust=True)
    with pytest.raises(arm.ModelError, match=r"trust=True"):
        arm.load(loop, every=0.01)
    with pytest.raises(arm.ModelError, match=r"takes no option ever=.*did you mean 'every'"):
        arm.load(loop, ever=0.01)
    s = arm.System("host")
    s.body("b", joint=arm.Prismatic("x"), mass=1, inertia=0)
    with pytest.raises(arm.ModelError, match=r"has no input 'gaol'; did you mean 'goal'"):
        s.ssp("loop", loop, every=0.01, inputs={"gaol": 0.5})
    with pytest.raises(arm.ModelError, match=r"input 'plant\.push' is connected inside the package already"):
        s.ssp("loop", loop, every=0.01, inputs={"plant.push": 0.5})
    with pytest.raises(arm.ModelError, match=r"parameter 'k' names no FMU; there are plant, control"):
        s.ssp("loop", loop, every=0.01, parameters={"k": 4.0})
    assert not s.memories and not s.events
    with zipfile.ZipFile(loop) as archive:
        text = archive.read("SystemStructure.ssd")
    for change, message in (
        ((b"resources/plant.fmu", b"../plant.fmu"), "is not a file below resources/"),
        ((b'startElement="plant"', b'startElement="plan"'), "there is no FMU 'plan'"),
        ((b"x-fmu-sharedlibrary", b"x-ssp-definition"), "FMUs can be read"),
    ):
        path = tmp_path / "x.ssp"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("SystemStructure.ssd", text.replace(*change))
        with pytest.raises(arm.ModelError, match=message):
            s.ssp("loop", path, every=0.01)
    with pytest.raises(arm.ModelError, match="there is no SSP package"):
        s.ssp("loop", tmp_path / "nothing.ssp", every=0.01)
