"""Events that set coordinates of closed loops, in exported programs, which close them as the process does."""

from __future__ import annotations

import json
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.export.text.source import make_source
from tests.export.c_programs import CC
from tests.export.configuration_cases import FIXED, LANGUAGES, TOOLS, Case, exported
from tests.export.wasm_modules import NODE, run_node
from tests.loading import loaded
from tests.systems.reclosing import crank, five_bar, five_bar_equations

TOLERANCE = 1e-10
STEPS = 400  # of one size


@cache
def equations() -> arm.Equations:
    return crank().derive()


# Fortran and MATLAB close loops in all configurations below. The table of C has a single one, since the crank
# may pass places where constraints lose rank.
@pytest.mark.parametrize(("language", "configurations"), [("c", True), ("python", False)])
def test_loops_are_closed_anew_after_events(language: str, configurations: bool, tmp_path: Path) -> None:
    """Fifty events, and as many times closed."""
    if language in TOOLS and not TOOLS[language]:
        pytest.skip(f"no {language} here")
    span = 7.0
    case = Case(crank, span, {}, TOLERANCE, (), 50, 0)
    how = {"sample": span / 8, "rtol": TOLERANCE, "atol": 0.01 * TOLERANCE}
    run = equations().compile().simulate(span, method="dop853", **how)
    assert len(run.events) >= 50
    folder = equations().export(language, tmp_path / language, configurations=configurations)
    names, rows = LANGUAGES[language](folder, case)
    for name in ("A.q1", "B.q1", "C.q1", "A.u1", "B.u1", "W.q1"):
        found = rows[:, names.index(name)]
        np.testing.assert_allclose(found, run[name], rtol=1e-9, atol=1e-9, err_msg=name)
    a, b, x = (rows[:, names.index(name)] for name in ("A.q1", "B.q1", "C.q1"))
    assert np.abs(0.4 * np.sin(a) + np.sin(a + b)).max() < 1e-12
    assert np.abs(0.4 * np.cos(a) + np.cos(a + b) - x).max() < 1e-12


@pytest.mark.parametrize("language", ["c", "cuda", "embedded", "python", "fortran", "matlab", "rust"])
def test_programs_close_loops_anew_in_all_configurations(language: str, tmp_path: Path) -> None:
    """Eight events, four exchanges; MATLAB, which is slow, has three events."""
    if language in TOOLS and not TOOLS[language]:
        pytest.skip(f"no {language} here")
    span = 0.35 if language == "matlab" else 1.0
    how: dict[str, Any] = {"max_step": 0.1} if language == "matlab" else {}
    how |= {"method": "dop853", "rtol": TOLERANCE, "atol": 0.01 * TOLERANCE}
    if language in FIXED:
        how = {"method": "rk4", "step": span / STEPS}
    eom = five_bar_equations()
    run = eom.compile().simulate(span, sample=span / 8, **how)
    assert len(run.events) == (3 if span < 1.0 else 8)
    folder = exported(eom, language, tmp_path / language)
    names, rows = LANGUAGES[language](folder, Case(five_bar, span, {}, TOLERANCE, (), 8, STEPS))
    for name in ("A.q1", "B.q1", "C.q1", "D.q1", "A.u1", "D.u1"):
        found = rows[:, (names or run.names).index(name)]
        np.testing.assert_allclose(found, run[name], rtol=1e-9, atol=1e-9, err_msg=name)


@pytest.mark.skipif(NODE is None, reason="no Node.js")
def test_modules_close_loops_anew_in_all_configurations(tmp_path: Path) -> None:
    eom = five_bar_equations()
    how = {"method": "dopri5", "sample": 0.125, "rtol": TOLERANCE, "atol": 0.01 * TOLERANCE}
    run = eom.compile().simulate(1.0, **how)
    assert len(run.events) == 8 and str(run.info["configurations"]).count("became independent") >= 4
    folder = eom.export("wasm", tmp_path / "wasm", methods=["dopri5"])
    told = run_node(folder, f"""import {{ load }} from "./five_bar.js";
const { "{ values, status }" } = (await load()).simulate(1.0, {json.dumps(how)});
const rows = Object.entries(values).map(([name, row]) => [name, Array.from(row)]);
console.log(JSON.stringify({ "{ status, values: Object.fromEntries(rows) }" }));
""")  # fmt: skip
    assert told["status"] == "finished"
    for name in ("A.q1", "B.q1", "C.q1", "D.q1", "A.u1", "D.u1", "times"):
        np.testing.assert_allclose(told["values"][name], run[name], rtol=1e-9, atol=1e-9, err_msg=name)


def test_what_cannot_be_closed_ends_with_the_words_of_the_process(tmp_path: Path) -> None:
    s = crank()
    s.event("break", "t - 0.1", direction=1, set={"C.q1": 2.0})
    eom = s.derive()
    with pytest.raises(arm.ArmillaryError) as caught:
        eom.compile().simulate(1.0)
    module = loaded(eom.export("python", tmp_path / "python") / "slider_crank.py")
    with pytest.raises(ValueError, match=r"cannot be closed with C\.q1 as given") as found:
        module.simulate(1.0)
    assert str(found.value).splitlines()[0] in str(caught.value)


BROKEN = """\
#include "slider_crank_assembly.h"
#include <stdio.h>
int main(void)
{
    static slider_crank_run run;
    slider_crank_setup(&run, slider_crank_parameter_values, 0.0f, 1.0f, 1e-3f);
    for (slider_crank_begin(&run); run.status == SLIDER_CRANK_RUNNING; slider_crank_step(&run)) {}
    printf("%d %d %.9g %.9g", run.status == SLIDER_CRANK_OPEN, run.room.status == SLIDER_CRANK_NOT_CLOSED,
        (double)run.t, (double)run.state[SLIDER_CRANK_X_C_q1]);
    return 0;
}
"""


@pytest.mark.skipif(CC is None, reason="no C compiler (cc)")
def test_microcontrollers_have_a_code_for_loops_that_an_event_opens(tmp_path: Path) -> None:
    """In single precision; the slider stays where the event has put it, out of reach."""
    s = crank()
    s.event("break", "t - 0.02", direction=1, set={"C.q1": 2.0})
    options: dict[str, Any] = {"profile": "embedded", "precision": "single", "measure": False}
    folder = s.derive().export("c", tmp_path / "c", **options)
    (folder / "broken.c").write_text(BROKEN)
    sources = [str(p) for p in folder.glob("src/*.c")]
    flags = ["-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Wdouble-promotion", "-pedantic", "-Werror"]
    subprocess.run([str(CC), *flags, "-Isrc", "broken.c", *sources, "-lm"], cwd=folder, check=True)
    subprocess.run(["make", "measure-host"], cwd=folder, check=True, capture_output=True)
    told = subprocess.run(["./a.out"], cwd=folder, check=True, capture_output=True, text=True).stdout.split()
    assert told[:2] == ["1", "1"] and [float(x) for x in told[2:]] == pytest.approx([0.02, 2.0], rel=1e-6)


def test_runs_end_at_a_start_for_which_the_only_choice_of_dependent_speeds_is_poor(tmp_path: Path) -> None:
    """They went on with it without a word; self-tests have no such run."""
    s = crank(thrown="C.u1")
    s.start({"A.u1": 0.0})
    eom = s.derive()  # with C.u1 as the independent one, a poor choice at the start
    run = eom.compile().simulate(0.01, step=1e-3)
    assert make_source(core_of(eom)).reference.trajectory is None
    module = loaded(eom.export("python", tmp_path / "python") / "slider_crank.py")
    assert "t = 0 s" in str(run.info["configurations"])
    ended = module.simulate(0.01, 1e-3)
    assert ended.status.startswith("stopped: from here on other dependent speeds are needed, which")
    assert ended.t == 0.0 and len(ended.rows) == 1
    assert make_source(core_of(equations())).reference.trajectory is not None
