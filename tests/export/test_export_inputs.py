"""Inputs over time in exported code: tables of the time, in every language that has tables."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.errors import ArmillaryError
from armillary.export.text.start import _stops
from armillary.solver.thresholds import APART
from tests.loading import loaded

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
    np.testing.assert_allclose(rows[:, column["b.q1"]], run["b.q1"], atol=1e-10)
    assert rows[-1, column["steps"]] == run["steps"][-1] == 2001.0


@pytest.mark.parametrize("how", ["linear", "smooth"])
def test_a_run_that_ends_with_its_data_has_their_last_rate(tmp_path: Path, how: str) -> None:
    """At the last instant, not after it, where a rate is zero; a run ends at its end, no rounding later."""
    made, times = equations(), np.linspace(0.0, 1.0, 14)
    values = np.random.default_rng(0).normal(size=14)
    signal = arm.Signal(times, values, interpolation=how)
    module = loaded(made.export("python", tmp_path / how, inputs={"road": signal}))
    run = made.compile().simulate(1.0, step=0.1, inputs={"road": signal})
    there = module.simulate(1.0, 0.1)
    rows, column = np.array(there.rows), module.OUTPUT_NAMES.index("road rate")
    assert list(there.time) == run.time.tolist() and there.time[-1] == 1.0
    np.testing.assert_allclose(rows[:, column], run["road rate"], rtol=1e-12)
    if how == "linear":
        assert rows[-1, column] == pytest.approx((values[-1] - values[-2]) * 13, rel=1e-12)


@pytest.mark.skipif(CC is None, reason="no C compiler (cc)")
def test_exported_c_passes_its_own_test_with_the_data(tmp_path: Path) -> None:
    folder = equations().export("c", tmp_path / "c", inputs={"road": (TIMES, VALUES)})
    subprocess.run(["make", "-s", "CFLAGS=-std=c99 -O0", "test"], cwd=folder, check=True, capture_output=True)


TOLERANCES = {"rtol": 1e-9, "atol": 1e-12}


def kicked() -> Any:
    """Without events and memory: what is left of an error is that of the steps."""
    s = arm.System("kicked")
    push = s.input("push", units="N")
    b = s.body("b", joint=arm.Prismatic("z"), mass=1, inertia=0)
    s.force("f", push - 40 * b.q1, s.ground.z, at=b.com)
    return s.derive()


@pytest.mark.parametrize("how", ["hold", "linear"])
@pytest.mark.parametrize("method", ["rk4", "dopri5", "dop853"])
def test_exported_steps_end_where_data_jump(tmp_path: Path, method: str, how: str) -> None:
    """Steps of 0.03 s meet no jump: without a stop at each, a run is off by some 1e-2 with data that are
    held, and the adaptive methods reject many steps. The jump at 0.8 s belongs to the time after it.
    """
    made, signal = kicked(), arm.Signal(TIMES, VALUES, interpolation=how)
    module = loaded(made.export("python", tmp_path / how, inputs={"push": signal}))
    options: dict[str, Any] = {"step": 0.03} if method == "rk4" else dict(TOLERANCES)
    model, before = made.compile(), arm.Signal(TIMES[:-1], VALUES[:-1], interpolation=how)
    for end in (0.8, 0.9):
        data = before if how == "hold" and end == 0.8 else signal
        run = model.simulate(end, method=method, inputs={"push": data}, sample=0.05, **options)
        there = module.simulate(end, method=method, sample=0.05, **options)
        found = np.array(there.rows)[:, list(module.OUTPUT_NAMES).index("b.q1")]
        np.testing.assert_allclose(found, run["b.q1"], rtol=0, atol=1e-12 if method == "rk4" else 1e-10)


@pytest.mark.parametrize("language", ["c", "fortran", "matlab", "wasm"])
def test_other_languages_end_their_steps_there_too(tmp_path: Path, language: str) -> None:
    needs = {"c": "cc", "fortran": "gfortran", "matlab": "octave-cli", "wasm": "node"}[language]
    if shutil.which(needs) is None:
        pytest.skip(f"{needs} is not installed")
    made, signal = kicked(), arm.Signal([*TIMES, 0.9], [*VALUES, -300.0], interpolation="hold")
    folder = made.export(language, tmp_path / language, inputs={"push": signal})
    commands = {
        "c": "cc -std=c99 -Wall -Wextra -Werror main.c kicked.c kicked_solver.c -o k -lm && ./k now.toml",
        "fortran": "make -s FFLAGS='-std=f2008 -O0 -Wall -Wextra -pedantic -Werror' kicked && "
        "./kicked now.nml now.csv > /dev/null && cat now.csv",
        "matlab": 'octave-cli --norc --quiet --eval "r = kicked.simulate(0.9, 0.03); '
        "printf('%.17g,', r.t, r.values(end, :)); printf('0')\"",
        "wasm": "node now.mjs",
    }
    (folder / "now.mjs").write_text(
        "import { load } from './kicked.js';\n"
        "const { values } = (await load()).simulate(0.9, { step: 0.03 });\n"
        "console.log(`0,${values['b.q1'].at(-1)}`);\n"
    )
    (folder / "now.toml").write_text("[run]\nduration = 0.9\nstep = 0.03\n")
    (folder / "now.nml").write_text("&run duration = 0.9, step = 0.03 /\n")
    done = subprocess.run(commands[language], shell=True, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    before = arm.Signal(TIMES, VALUES, interpolation="hold")  # the jump at the end comes after the run
    run = made.compile().simulate(0.9, step=0.03, inputs={"push": before})
    last = [float(x) for x in done.stdout.strip().splitlines()[-1].split(",")]
    assert last[1] == pytest.approx(run["b.q1"][-1], abs=1e-12)


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


def test_data_act_in_every_configuration(tmp_path: Path) -> None:
    """After an event that locked a joint, the input kept its default: one program alone had its data."""
    s = arm.System("latched")
    push = s.input("push", 0.3, units="N")
    b = s.body("b", joint=arm.Prismatic("z"), mass=1, inertia=0)
    s.body("c", b, joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.force("f", push - 40 * b.q1, s.ground.z, at=b.com)
    s.event("latch", "t - 0.31", lock=["c.q1"], direction=1)
    made, data = s.derive(), {"push": arm.Signal(TIMES, VALUES)}
    module = loaded(made.export("python", tmp_path / "latched", inputs=data))
    run = made.compile().simulate(0.9, step=0.03, inputs=data)
    found = np.array(module.simulate(0.9, 0.03).rows)
    for name in ("push", "b.q1", "b.u1"):
        column = found[:, list(module.OUTPUT_NAMES).index(name)]
        np.testing.assert_allclose(column, run[name], rtol=0, atol=1e-12)


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_times_that_differ_by_rounding_are_one_stop_whatever_their_size(size: float) -> None:
    """A jump and a bend at the last bits of one time are one stop, of the jump; a tenth later is another."""
    near = size * (1 + 0.1 * APART)
    data = SimpleNamespace(breaks=lambda: (np.array([size]), np.array([near, 1.1 * size, 2 * size])))
    assert _stops(data) == ((size, True), (1.1 * size, False), (2 * size, False))


_PRINTED = """
#include "driven_solver.h"
#include <stdio.h>
int main(void)
{
    static driven_run run;
    driven_setup(&run, driven_parameter_values, 0.0f, 1.0f, 0.1f);
    driven_begin(&run);
    for (;;) {
        float y[DRIVEN_OUTPUTS_ROOM];
        driven_outputs(run.t, run.state, run.constants, run.memory, y);
        printf("%.9g %.9g\\n", (double)y[DRIVEN_Y_b_q1], (double)y[DRIVEN_Y_road_rate]);
        if (run.status != DRIVEN_RUNNING)
            return 0;
        do driven_step(&run);
        while (run.status == DRIVEN_RUNNING && !run.at_grid);
    }
}
"""


@pytest.mark.skipif(not CC, reason="no C compiler (cc)")
@pytest.mark.parametrize("end", [1.0, 0.7])
def test_rates_in_single_precision_change_where_those_of_the_process_do(tmp_path: Path, end: float) -> None:
    """After the last instant a rate is zero, at it not: one rounding of double precision later is the same
    instant in single precision. The rate was zero at the end of a run.
    """
    s = arm.System("driven")
    road = s.input("road", units="m")
    b = s.body("b", joint=arm.Prismatic("z"), mass=1, inertia=0)
    force = -80 * (b.q1 - road) - 3 * (b.u1 - arm.time_derivative(road))
    s.force("tyre", force, s.ground.z, at=b.com)
    made, signal = s.derive(), arm.Signal(np.linspace(0.0, end, 5), VALUES, interpolation="linear")
    run = made.compile().simulate(1.0, step=0.1, inputs={"road": signal})
    folder = made.export("c", tmp_path / "driven", profile="embedded", measure=False, inputs={"road": signal})
    (folder / "main.c").write_text(_PRINTED)
    sources = ["main.c", "src/driven.c", "src/driven_solver.c"]
    subprocess.run([CC, "-Isrc", *sources, "-o", "driven", "-lm"], cwd=folder, check=True)
    said = subprocess.run([folder / "driven"], check=True, capture_output=True, text=True).stdout
    rows = np.array([line.split() for line in said.splitlines()], dtype=float)
    np.testing.assert_allclose(rows[:, 1], run["road rate"], atol=1e-4)
    np.testing.assert_allclose(rows[:, 0], run["b.q1"], atol=1e-4)
