"""Inputs over time in exported code: tables of the time, in every language that has tables."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.errors import ArmillaryError

CC = shutil.which("cc")
TIMES = np.array([0.1, 0.2, 0.45, 0.7, 0.8])
VALUES = np.array([2.0, -3.0, 5.0, 1.0, 4.0])


def equations() -> Any:
    s = arm.System("driven")
    road = s.input("road", units="mm")
    s.input("push", 0.3, units="N")
    b = s.body("b", joint=arm.Prismatic("z"), mass=1, inertia=0)
    force = -80 * (b.q1 - road) - 3 * (b.u1 - arm.time_derivative(road))
    s.force("tyre", force + s.lookup("push"), s.ground.z, at=b.com)
    s.event("up", "b.q1 - road", direction=1)
    s.memory("steps", 0.0, update="steps + 1")
    return s.derive()


def loaded(folder: Path) -> Any:
    path = next(p for p in folder.glob("*.py") if not p.name.startswith("test_"))
    spec = importlib.util.spec_from_file_location(f"exported_{folder.name}", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("how", ["hold", "linear", "cubic"])
def test_exported_python_follows_the_data(tmp_path: Path, how: str) -> None:
    t = np.linspace(-0.1, 1.1, 5) if how == "cubic" else TIMES  # its rate jumps at the ends
    made, signal = equations(), arm.Signal(t, VALUES, interpolation=how)
    module = loaded(made.export("python", tmp_path / how, inputs={"road": signal}))
    run = made.compile().simulate(1.0, step=5e-4, inputs={"road": signal}, sample=0.05)
    there = module.simulate(1.0, 5e-4, sample=0.05)
    rows = np.array(there.rows)
    column = {name: i for i, name in enumerate(module.OUTPUT_NAMES)}
    np.testing.assert_allclose(rows[:, column["road"]], run["road"], atol=1e-12)
    np.testing.assert_allclose(rows[:, column["road rate"]], run["road rate"], atol=1e-9)
    # Its solver does not stop at jumps: of the force, or of the rate where lines meet.
    bound = 1e-10 if how == "cubic" else 3e-5
    np.testing.assert_allclose(rows[:, column["b.q1"]], run["b.q1"], atol=bound)
    assert rows[-1, column["steps"]] == run["steps"][-1] == 2001.0


@pytest.mark.skipif(CC is None, reason="no C compiler (cc)")
def test_exported_c_passes_its_own_test_with_the_data(tmp_path: Path) -> None:
    folder = equations().export("c", tmp_path / "c", inputs={"road": (TIMES, VALUES)})
    subprocess.run(["make", "-s", "test"], cwd=folder, check=True, capture_output=True)


def test_other_languages_take_them_too(tmp_path: Path) -> None:
    made = equations()
    for language in ("fortran", "matlab"):
        folder = made.export(language, tmp_path / language, inputs={"road": (TIMES, VALUES)})
        assert any("Table 'road'" in p.read_text() for p in Path(folder).rglob("*") if p.is_file())


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ({"road": np.sin}, "an export needs points, not a function"),
        ({"road": lambda t: t}, "an export needs points, not a function"),
        ({"rode": (TIMES, VALUES)}, "there is no input 'rode'"),
        ({"road": (TIMES, np.ones((2, 5)))}, "has data for 2 runs"),
    ],
)
def test_wrong_data_are_refused(tmp_path: Path, inputs: Any, words: str) -> None:
    with pytest.raises(ArmillaryError) as told:
        equations().export("c", tmp_path / "c", inputs=inputs)
    assert words in str(told.value)
    assert not (tmp_path / "c").exists()
