"""Exported programs that pass places where constraints lose rank, beside runs in the process.

A parallelogram is flat twice in a turn, where its equations are 0/0. A counter adds up the times at which it
is flat, inside the step across; a kick changes the motion elsewhere, and a crank is caught and let go. Of the
locked configuration C reads sines of some angles alone, which must leave no variable unused.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.stages.equations import Equations
from tests.export.c_programs import CC
from tests.export.configuration_cases import FIXED, FLAGS, LANGUAGES, TOOLS, Case, run_cuda
from tests.export.rust_programs import cargo
from tests.export.wasm_modules import NODE, run_node
from tests.loading import loaded
from tests.systems.parallelogram import parallelogram, started

TOLERANCE = 1e-9
STEPS = 1200


def counted(caught: bool = True) -> arm.System:
    s = parallelogram()
    s.memory("times", 0.0)
    s.event("flat", s.bodies["A"].q1, set={"times": "times + t"})
    s.event("kick", s.bodies["A"].q1 + 1.5, direction=1, set={"A.u1": "A.u1 + 0.1*sin(t)"})
    if caught:
        s.event("catch", "t - 0.05", direction=1, lock="A.q1")
        s.event("let go", "t - 0.1", direction=1, unlock="A.q1")
    s.output("sum of times", "times")
    s.start(started(0.5, 3.0))
    return s


@cache
def equations() -> Equations:
    return counted().derive()


@pytest.mark.parametrize("language", ["c", "cuda", "python", "fortran", "matlab", "rust"])
def test_programs_pass_flat_positions_as_the_process_does(language: str, tmp_path: Path) -> None:
    """Each step across makes rounding 1e-16 to 1e-10: two builds of the process differ by as much."""
    if language in TOOLS and not TOOLS[language]:
        pytest.skip(f"no {language} here")
    span = 1.0 if language == "matlab" else 3.0
    how: dict[str, Any] = {"max_step": 0.1} if language == "matlab" else {}
    how |= {"method": "dop853", "rtol": TOLERANCE, "atol": 0.01 * TOLERANCE}
    if language in FIXED:
        how = {"method": "rk4", "step": span / STEPS}
    run = equations().compile().simulate(span, sample=span / 8, **how)
    passed = str(run.info["configurations"]).count("passed")
    assert passed >= (2 if span < 2.0 else 7)
    assert "event 'catch' locks" in str(run.info["configurations"])
    case = Case(counted, span, {}, TOLERANCE, (), 0, STEPS)
    folder = equations().export(language, tmp_path / language, configurations=True)
    names, rows = LANGUAGES[language](folder, case)
    assert len(rows) == len(run.time)
    for name in run.names:
        found, size = rows[:, (names or run.names).index(name)], 1 + np.max(np.abs(run[name]))
        assert np.max(np.abs(found - run[name])) <= 1e-9 * size, name


@pytest.mark.skipif(not TOOLS["cuda"], reason="no C++ compiler (c++)")
def test_kernels_pass_flat_positions_in_single_precision(tmp_path: Path) -> None:
    """As microcontrollers below, with as much room."""
    run = equations().compile().simulate(0.9, sample=0.9 / 8, method="rk4", step=0.9 / 360)
    folder = equations().export("cuda", tmp_path / "cuda", configurations=True)
    _, rows = run_cuda(folder, Case(counted, 0.9, {}, TOLERANCE, (), 0, 360), np.float32)
    assert str(run.info["configurations"]).count("passed") >= 2
    for i, name in enumerate(run.names):
        assert np.max(np.abs(rows[:, i] - run[name])) <= 3e-2 * (1 + np.max(np.abs(run[name]))), name


@pytest.mark.skipif(
    "ARMILLARY_SLOW_TESTS" not in os.environ,
    reason="XLA compiles this program for half a minute; ARMILLARY_SLOW_TESTS=1 runs the test",
)
def test_programs_in_jax_pass_a_flat_position_and_close_loops_as_the_process_does(
    tmp_path: Path,
) -> None:
    """With one configuration and steps of one size: what is compiled in the least time. Then a crank is set
    back by an event, which opens the loop, and another event of the same time follows.
    """
    s, span, step = counted(caught=False), 0.6, 0.002
    s.event("back", "t - 0.4501", direction=1, set={"A.q1": "A.q1 - 0.05", "A.u1": "0.5*A.u1 - 1"})
    s.event("seen", "t - 0.4501", direction=1, set={"times": "3*times"})
    eom = s.derive()
    run = eom.compile().simulate(span, method="rk4", step=step, sample=0.05)
    happened = [event.name for event in run.events]
    assert "passed" in str(run.info["configurations"]) and happened == ["flat", "back", "seen"]
    module = loaded(eom.export("jax", tmp_path / "jax", configurations=True))
    found = module.simulate(span, step, sample=0.05)
    assert found.status == "finished" and [name for _, name in found.events] == happened
    np.testing.assert_allclose(found.time, run.time, rtol=0, atol=1e-15)
    times = [event.time for event in run.events]
    np.testing.assert_allclose([time for time, _ in found.events], times, rtol=1e-10)
    for name in run.names:
        size = 1 + np.max(np.abs(run[name]))
        np.testing.assert_allclose(found.column(name), run[name], rtol=0, atol=1e-9 * size, err_msg=name)
    # Opposite bars of a parallelogram stay parallel.
    np.testing.assert_allclose(found.column("A.q1") + found.column("B.q1"), 0.0, rtol=0, atol=1e-9)


def controlled() -> arm.System:
    """With an input, a memory of every step, and one of a clock, which ticks inside of steps across."""
    s = counted()
    s.input("torque", 0.2)
    s.moment("drive", "torque", s.ground.z, on=s.bodies["A"])
    s.memory("seen", 0.0, update="seen + A.q1")
    s.memory("held", 0.0, update="A.u1", every=0.02)
    s.output("mean", "0.01*seen")
    s.output("speed", "held")
    return s


CLOCK = """\
#include "parallelogram_solver.h"
#include <stdio.h>
int main(void)
{{
    static parallelogram_run run;
    {real} out[PARALLELOGRAM_OUTPUTS_ROOM];
    parallelogram_setup(&run, parallelogram_parameter_values, 0, ({real}){span}, ({real}){step});
    parallelogram_begin(&run);
    for (;;) {{
        parallelogram_present_outputs(&run, run.memory, out);
        printf("%.17g", (double)run.t);
        for (int i = 0; i < PARALLELOGRAM_OUTPUTS; i++) printf(" %.17g", (double)out[i]);
        printf("\\n");
        if (run.status != PARALLELOGRAM_RUNNING) return run.status != PARALLELOGRAM_FINISHED;
        do parallelogram_step(&run);
        while (run.status == PARALLELOGRAM_RUNNING && !run.at_grid);
    }}
}}
"""


@pytest.mark.skipif(CC is None, reason="no C compiler (cc)")
@pytest.mark.parametrize(("precision", "span", "room"), [("double", 1.5, 1e-9), ("single", 0.9, 3e-2)])
def test_microcontrollers_pass_flat_positions_in_step_with_their_clock(
    precision: str, span: float, room: float, tmp_path: Path
) -> None:
    """Rows at all times of the clock, also inside of the steps across, where those of the process are found
    from rows around the place, too. Single precision costs up to 1.5 % of the energy in each of two places
    (solver/thresholds.py).
    """
    steps = round(STEPS * span / 3.0)
    eom = controlled().derive() if precision == "double" else equations()
    run = eom.compile().simulate(span, method="rk4", step=span / steps)
    options: dict[str, Any] = {"profile": "embedded", "precision": precision, "measure": False}
    folder = eom.export("c", tmp_path / "c", configurations=True, **options)
    real = "float" if precision == "single" else "double"
    (folder / "clock.c").write_text(CLOCK.format(real=real, span=span, step=span / steps))
    sources = [str(p) for p in sorted(folder.glob("src/*.c"))]
    strict = [*FLAGS.split(), "-Wshadow", "-Wconversion", "-Wdouble-promotion", "-Isrc"]
    subprocess.run([str(CC), *strict, "clock.c", *sources, "-lm"], cwd=folder, check=True)
    told = subprocess.run(["./a.out"], cwd=folder, check=True, capture_output=True, text=True).stdout
    rows = np.array([line.split() for line in told.splitlines()], dtype=float)
    assert str(run.info["configurations"]).count("passed") >= 2
    np.testing.assert_allclose(rows[:, 0], np.linspace(0.0, span, steps + 1), rtol=1e-6)
    for i, name in enumerate(run.names):
        if precision == "double" or not name.endswith("times"):  # the first flat position is 3e-6 s off a row
            size = 1 + np.max(np.abs(run[name]))
            found = np.abs(rows[:-1, 1 + i] - run[name][:-1])  # the last has a newer memory
            assert np.max(found) <= room * size, name


RUST = """\
use parallelogram::*;
fn main() {{
    let mut run = Run::new(&PARAMETER_VALUES, 0.0, {span}, {step});
    run.begin();
    loop {{
        let mut out = [0.0; OUTPUTS];
        run.present_outputs(&mut out);
        println!("{{:?}} {{:?}}", run.t, out);
        if run.status != RUNNING {{ break }}
        loop {{ run.step(); if run.status != RUNNING || run.at_grid {{ break }} }}
    }}
}}
"""


@pytest.mark.skipif(not TOOLS["rust"], reason="no Rust (cargo)")
def test_crates_pass_flat_positions_in_single_precision(tmp_path: Path) -> None:
    """As microcontrollers do above, with as much room, at all times of the clock."""
    span, step = 0.9, 0.0025
    run = equations().compile().simulate(span, method="rk4", step=step)
    folder = equations().export("rust", tmp_path / "rust", configurations=True, precision="single")
    (folder / "examples").mkdir()
    (folder / "examples" / "rows.rs").write_text(RUST.format(span=span, step=step))
    told = cargo(folder, "run", "--example", "rows")
    rows = np.array([re.sub(r"[\[\],]", " ", line).split() for line in told.splitlines()], dtype=float)
    assert str(run.info["configurations"]).count("passed") >= 2
    np.testing.assert_allclose(rows[:, 0], run.time, rtol=0, atol=1e-6)
    for i, name in enumerate(run.names):
        found = np.abs(rows[:-1, 1 + i] - run[name][:-1])  # the last has a newer memory
        seen = found[-1:] if name.endswith("times") else found  # the first flat position is 3e-6 s off a row
        assert np.max(seen) <= 3e-2 * (1 + np.max(np.abs(run[name]))), name


@pytest.mark.skipif(NODE is None, reason="no Node.js")
def test_modules_pass_flat_positions_and_end_in_one(tmp_path: Path) -> None:
    """The row in the place itself, where an event ends the run, is found from rows around it, too."""
    s = counted(caught=False)
    s.event("over", s.bodies["C"].q1 + 4 * np.pi, direction=-1, stop=True)
    s.start(started(0.5, -12.0))
    eom = s.derive()
    how = {"method": "dopri5", "sample": 0.125, "rtol": TOLERANCE, "atol": 0.01 * TOLERANCE}
    run = eom.compile().simulate(3.0, **how)
    assert run.events[-1].name == "over" and str(run.info["configurations"]).count("passed") >= 4
    folder = eom.export("wasm", tmp_path / "wasm", methods=["dopri5"])
    told = run_node(folder, f"""import {{ load }} from "./parallelogram.js";
const { "{ time, values, events, status }" } = (await load()).simulate(3.0, {json.dumps(how)});
const rows = Object.fromEntries(Object.entries(values).map(([name, row]) => [name, Array.from(row)]));
console.log(JSON.stringify({ "{ status, events: events.length, time: Array.from(time), rows }" }));
""")  # fmt: skip
    assert told["status"] == "event" and told["events"] == len(run.events)
    np.testing.assert_allclose(told["time"], run.time, rtol=1e-9)  # WebAssembly has no fused operations
    for name in run.names:
        size = 1 + np.max(np.abs(run[name]))
        np.testing.assert_allclose(told["rows"][name], run[name], rtol=0, atol=1e-9 * size, err_msg=name)
