"""Methods that choose their steps, in every language that has them: the steps and the rows of the process.

The tableaux, the error norm, the control of steps and the dense output are written once. Rounding enters the
error estimates, and with them the lengths of steps, so that rows differ by a part of what the tolerances
allow, not by rounding alone: 1e-3 of them is requested.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import armillary as arm
from tests.export.adaptive_programs import (
    ATOL,
    DURATION,
    ROOM,
    RTOL,
    SAMPLE,
    equations,
    in_python,
    model,
    process,
    ran,
    run_file,
    table,
)
from tests.loading import loaded

METHODS = ("dopri5", "dop853")


def in_c(folder: Path, method: str) -> np.ndarray:
    if not (folder / "program").exists():
        flags = ["-std=c99", "-O0", "-Wall", "-Wextra", "-Werror"]
        ran(["cc", *flags, "main.c", "toy.c", "toy_solver.c", "-o", "program", "-lm"], folder)
    (folder / "now.toml").write_text(run_file(method))
    return table(ran(["./program", "now.toml"], folder))


def in_fortran(folder: Path, method: str) -> np.ndarray:
    if not (folder / "toy").exists():
        ran(["make", "-s", "FFLAGS=-std=f2008 -O0 -Wall -Wextra -pedantic -Werror", "toy"], folder)
    settings = f"duration = {DURATION}, sample = {SAMPLE}, rtol = {RTOL}, atol = {ATOL}"
    (folder / "now.nml").write_text(f"&run {settings}, method = '{method}' /\n")
    ran(["./toy", "now.nml", "now.csv"], folder)
    return table((folder / "now.csv").read_text())


def in_matlab(folder: Path, method: str) -> np.ndarray:
    options = f"'method', '{method}', 'rtol', {RTOL}, 'atol', {ATOL}, 'sample', {SAMPLE}"
    lines = [f"r = toy.simulate({DURATION}, [], {options});", "for i = 1:numel(r.time)"]
    lines += ["printf('%.17g', r.time(i)); printf(',%.17g', r.values(i, :)); printf('\\n');", "end"]
    octave = str(shutil.which("octave-cli"))
    return table("names\n" + ran([octave, "--norc", "--quiet", "--eval", "\n".join(lines)], folder))


LANGUAGES: dict[str, tuple[Callable[[Path, str], np.ndarray], str]] = {
    "c": (in_c, "cc"), "python": (in_python, ""), "fortran": (in_fortran, "gfortran"),
    "matlab": (in_matlab, "octave-cli"),
}  # fmt: skip


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    base = tmp_path_factory.mktemp("adaptive")

    @cache
    def made(language: str) -> Path:
        needs = LANGUAGES[language][1]
        if needs and shutil.which(needs) is None:
            pytest.skip(f"{needs} is not installed")
        return equations().export(language, base / language)

    return made


@pytest.mark.parametrize("language", LANGUAGES)
def test_adaptive_runs_are_those_of_the_process(language: str, exported: Callable[[str], Path]) -> None:
    for method in METHODS if language != "matlab" else METHODS[1:]:  # a start of Octave takes a second
        found, run = LANGUAGES[language][0](exported(language), method), process(method)
        np.testing.assert_allclose(found[:, 0], run.time, rtol=0, atol=1e-15, err_msg=method)
        np.testing.assert_allclose(found[:, 1:], run.values, rtol=0, atol=ROOM, err_msg=method)
        assert len(run.events) > 2


module = cache(loaded)


def run_of(m: Any, method: str, **options: Any) -> Any:
    """A run of the exported solver, with what it counts."""
    run = m.Run(m.precompute(m.Parameters()), m.initial_state(), m.initial_memory(), m.METHODS[method])
    run.t0, run.t_end, run.sample = 0.0, DURATION, SAMPLE
    run.rtol, run.atol, run.max_step, run.max_steps = RTOL, ATOL, np.inf, 10**9
    vars(run).update(options)
    m.start_run(run)
    while m.find_row(run):
        pass
    return run


@pytest.mark.parametrize("method", METHODS)
def test_exported_steps_are_accepted_and_rejected_as_in_the_process(
    method: str, exported: Callable[[str], Path]
) -> None:
    run, info = run_of(module(exported("python")), method), process(method).info
    assert (run.steps, run.rejected) == (info["steps"], info["rejected"])
    assert info["rejected"] > 0


def test_a_run_takes_the_method_of_the_process_where_none_is_given(exported: Callable[[str], Path]) -> None:
    """dop853 without a step, with a thousand rows; rk4 with one, with a row for each."""
    m = module(exported("python"))
    free = m.simulate(0.5)
    np.testing.assert_allclose(free.rows[-1], model().simulate(0.5).values[-1], rtol=0, atol=1e-11)
    assert len(free.time) == len(model().simulate(0.5).time) == 1001
    fixed = m.simulate(0.5, 0.01)
    np.testing.assert_allclose(fixed.rows, model().simulate(0.5, step=0.01).values, rtol=0, atol=1e-11)


def test_settings_have_the_defaults_of_the_record(exported: Callable[[str], Path]) -> None:
    import inspect

    from armillary.settings import RunSettings

    record = RunSettings(1.0)
    parameters = inspect.signature(module(exported("python")).simulate).parameters
    for name in ("rtol", "atol", "max_step", "max_steps", "step", "method", "sample"):
        assert parameters[name].default == getattr(record, name), name
    text = (exported("c") / "toy_solver.c").read_text()
    assert f"run->rtol = {record.rtol!r};" in text and f"run->atol = {record.atol!r};" in text


def test_the_longest_step_and_their_number_are_kept(exported: Callable[[str], Path]) -> None:
    m = module(exported("python"))
    assert run_of(m, "dopri5", max_step=0.01).steps >= DURATION / 0.01
    ended = m.simulate(DURATION, max_steps=7)
    assert ended.status == "too many steps" and ended.t < DURATION
    with pytest.raises(arm.SimulationError, match="steps"):
        model().simulate(DURATION, max_steps=7)
    with pytest.raises(ValueError, match="rk4, midpoint and ab2 take steps of one size"):
        m.simulate(DURATION, method="rk4")


def test_exported_c_says_that_there_were_too_many_steps(exported: Callable[[str], Path]) -> None:
    folder = exported("c")
    in_c(folder, "dopri5")
    (folder / "few.toml").write_text(run_file("dopri5") + "max_steps = 5\n")
    done = subprocess.run(["./program", "few.toml"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 1 and "too many steps" in done.stderr


def test_a_start_of_the_size_of_rounding_does_not_lose_the_first_step(tmp_path: Path) -> None:
    """A step in proportion to the state would not change a late time, in the process as in exports."""
    s = arm.System("toy")
    s.body("b", joint=arm.Prismatic("z"), mass=1, inertia=(1, 1, 1))
    s.gravity(9.81, -s.ground.z)
    equations = s.derive()
    m = module(equations.export("python", tmp_path / "toy"))
    ended = m.simulate(0.1, start=100.0, method="dopri5", initial={"b.q1": 1e-15})
    assert ended.status == "finished" and ended.t == pytest.approx(100.1)
    assert ended.state[0] == pytest.approx(-0.5 * 9.81 * 0.1**2, rel=1e-9)


# Settings that no run can have, and the sentence of all languages; numbers are compared as numbers.
REFUSED = {
    "duration = -1.0, step = 0.1": "duration",
    "duration = 1.0, step = -0.1": "the step must be finite and not negative; step is -0.1",
    "duration = 1.0, method = 'rk4'": "rk4, midpoint and ab2 take steps of one size; give step, such as 1e-3",
    "duration = 1.0, rtol = 0.0, atol = 0.0": "tolerances must be positive; rtol is 0.0 and atol is 0.0",
    "duration = 1.0, rtol = -1.0": "tolerances must be positive; rtol is -1.0 and atol is 1e-11",
    "duration = 1.0, max_step = 0.0": "max_step and max_steps must be positive; max_step is 0.0",
    "duration = 1.0, step = 0.1, sample = -0.1": "rows must be positive and finite; sample is -0.1",
    "duration = 1.0, sample = -0.1": "rows must be positive and finite; sample is -0.1",
    "duration = 1.0, step = 0.1, sample = 1e-9": "at most 1e8 rows; duration is 1.0 and sample is 1e-9",
}
_NUMBER = re.compile(r"-?\d*\.?\d+(?:[eE][-+]?\d+)?")


def plain_numbers(text: str) -> str:
    """A text with its numbers written alike."""
    return _NUMBER.sub(lambda found: f"{float(found[0]):g}", text)


@pytest.mark.parametrize("language", ["c", "fortran", "python"])
def test_settings_that_no_run_can_have_are_refused_alike(
    language: str, exported: Callable[[str], Path]
) -> None:
    folder = exported(language)
    LANGUAGES[language][0](folder, "dopri5")  # the program is there
    programs = {"c": ["./program"], "fortran": ["./toy"], "python": [sys.executable, "-I", "-S", "toy.py"]}
    for settings, message in REFUSED.items():
        in_toml = "[run]\n" + settings.replace(", ", "\n")
        (folder / "no.run").write_text(f"&run {settings} /\n" if language == "fortran" else f"{in_toml}\n")
        done = subprocess.run([*programs[language], "no.run"], cwd=folder, capture_output=True, text=True)
        assert done.returncode != 0 and plain_numbers(message) in plain_numbers(done.stderr), settings


def test_a_matlab_function_refuses_them_too(exported: Callable[[str], Path]) -> None:
    folder, lines = exported("matlab"), []
    for settings in REFUSED:
        given = dict(pair.split(" = ") for pair in settings.split(", "))
        duration, step = given.pop("duration"), given.pop("step", "[]")
        options = "".join(f", '{key}', {value}" for key, value in given.items())
        lines.append(
            f"try, toy.simulate({duration}, {step}{options}); catch e, printf('%s\\n', e.message); end"
        )
    octave = str(shutil.which("octave-cli"))
    said = ran([octave, "--norc", "--quiet", "--eval", "\n".join(lines)], folder).splitlines()
    for message, text in zip(REFUSED.values(), said, strict=True):
        assert plain_numbers(message) in plain_numbers(text)


@pytest.mark.parametrize("method", METHODS)
def test_a_system_without_states_runs_in_exported_programs(method: str, tmp_path: Path) -> None:
    """All of its motion is prescribed: x = cos(0.3 sin 2t). The error of no states is zero, not 0/0."""
    s = arm.System("toy")
    crank = s.body("crank", joint=arm.Revolute("z"), com=(1, 0, 0), mass=1, inertia=0)
    s.prescribe(crank.q1, "0.3*sin(2*t)")
    s.output("x", arm.dot(arm.position(crank.com), s.ground.x))
    made = s.derive()
    for language in ("python", "c") if shutil.which("cc") else ("python",):
        rows = LANGUAGES[language][0](made.export(language, tmp_path / language), method)
        np.testing.assert_allclose(rows[:, -1], np.cos(0.3 * np.sin(2.0 * rows[:, 0])), rtol=0, atol=1e-15)
        assert len(rows) == 41


def test_the_next_step_grows_with_a_small_error_but_not_after_a_rejection(
    exported: Callable[[str], Path],
) -> None:
    """dopri5 of Hairer, Nørsett and Wanner: h (0.9 e^-0.17 e_before^0.04), at most 10 h and at least h/5."""
    m, h, before = module(exported("python")), 0.1, 0.5
    run = run_of(m, "dopri5")
    for error, factor in ((0.3, 0.9 * 0.3**-0.17 * before**0.04), (1e-9, 10.0)):
        for rejected, expected in ((False, factor * h), (True, min(factor, 1.0) * h)):
            run.error_old, run.after_rejection = before, rejected
            m.choose_next(run, h, error, error**0.17)
            assert run.h == pytest.approx(expected, rel=1e-14) and not run.after_rejection
    for error, expected in (
        (4.0, 0.9 * 4.0**-0.17 * h),
        (1e9, 0.2 * h),
        (np.inf, 0.1 * h),
        (np.nan, 0.1 * h),
    ):
        m.try_shorter(run, h, error, error**0.17)
        assert run.h == pytest.approx(expected, rel=1e-14) and run.after_rejection
