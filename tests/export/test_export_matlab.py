"""Exported MATLAB, run by Octave: the numbers of this process."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.arguments import core_of
from tests.export.conformance import CASES, DIFFERENT, equations, expected
from tests.export.matlab_programs import OCTAVE, octave, package_of

pytestmark = pytest.mark.skipif(OCTAVE is None, reason="octave is not installed")
# The other cases differ from these in the mechanics, not in what is printed: Python's test has them all.


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a case, written when it is first requested."""
    base = tmp_path_factory.mktemp("matlab")
    return cache(lambda name: equations(name).export("matlab", base / name.replace(" ", "_")))


def column(values: np.ndarray) -> str:
    return "[" + "; ".join(repr(float(v)) for v in values) + "]" if len(values) else "zeros(0, 1)"


@pytest.mark.parametrize("name", DIFFERENT)
def test_exported_matlab_gives_the_numbers_of_the_process(name: str, exported: Callable[[str], Path]) -> None:
    """Constants, results at points and a run, all from one program."""
    wanted, case, folder = expected(name), CASES[name], exported(name)
    package = package_of(folder)
    lines = [
        f"p = {package}.parameters();",
        *(f"p.{key} = {value!r};" for key, value in case.parameters.items()),
    ]
    lines += [f"c = {package}.precompute(p);", "file = fopen('numbers.txt', 'w');"]
    checks = [(wanted.constants, "constants")]
    lines.append("fprintf(file, '%.17g ', c); fprintf(file, '\\n');")
    for point in wanted.points:
        given = f"{point.t!r}, {column(point.state)}, c, {column(point.memory)}"
        for section in ("derivatives", "outputs", "events", "update"):
            if getattr(point, section).values.size:
                checks.append((getattr(point, section), section))
                lines.append(f"fprintf(file, '%.17g ', {package}.{section}({given})); fprintf(file, '\\n');")
    initial = ", ".join(f"'{key}', {value!r}" for key, value in case.initial.items())
    memory = "".join(f", '{key}', {value!r}" for key, value in case.memory.items())
    lines.append(
        f"r = {package}.simulate({case.duration!r}, {case.step!r}, 'parameters', p, "
        f"'initial', {package}.initial_state({initial}), 'memory', {package}.initial_memory(0{memory}));"
    )
    lines.append("fprintf(file, '%.17g ', r.time); fprintf(file, '\\n');")
    lines.append("fprintf(file, '%.17g ', r.values'); fprintf(file, '\\n');")
    lines.append(
        "for i = 1:size(r.events, 1) fprintf(file, '%.17g %s\\n', r.events{i, 1}, r.events{i, 2}); end"
    )
    lines.append("fclose(file);")
    (folder / "compare.m").write_text("\n".join(lines))
    done = octave(folder, "compare")
    assert done.returncode == 0, done.stderr
    found = (folder / "numbers.txt").read_text().splitlines()
    for line, (numbers, what) in zip(found, checks, strict=False):
        numbers.check([float(word) for word in line.split()], what)
    time, values, *events = found[len(checks) :]
    run = wanted.run
    assert [float(t) for t in time.split()] == pytest.approx(run.time, abs=run.event_room, rel=0)
    run.rows.check(np.reshape([float(v) for v in values.split()], run.rows.values.shape), "rows")
    told = [line.split(" ", 1) for line in events]
    assert [event for _, event in told] == [event for event, _ in run.events]
    assert [float(t) for t, _ in told] == pytest.approx([t for _, t in run.events], abs=run.event_room, rel=0)


def test_the_example_runs_and_the_test_notices_a_wrong_number(exported: Callable[[str], Path]) -> None:
    folder, names = exported("controller"), [c.name for c in core_of(equations("controller")).targets.columns]
    example = folder / "run_controlled_pendulum.m"
    before, at, after = example.read_text().partition("initial_state();")
    example.write_text(f"{before}{at} state(1) = -0.0;{after}")
    done = octave(folder, "run_controlled_pendulum; test_controlled_pendulum")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "all as stored"
    head, first, *_ = (folder / "run.csv").read_text().splitlines()
    assert head == ",".join(["time", *names])
    assert first.split(",")[1] == "0"  # which has no sign in a file
    file = folder / "+controlled_pendulum" / "derivatives.m"
    text = file.read_text()
    file.write_text(text.replace("rates(1) = ", "rates(1) = 1e-6 + "))
    done = octave(folder, "test_controlled_pendulum")
    file.write_text(text)
    assert done.returncode == 1 and "different from the stored numbers" in done.stderr


def test_rows_between_steps_and_another_method(exported: Callable[[str], Path]) -> None:
    folder, model = exported("controller"), equations("controller").compile()
    start = "controlled_pendulum.initial_state('bob.q1', -0.1)"
    options = f"'start', 0.5, 'sample', 0.007, 'method', 'midpoint', 'initial', {start}"
    call = f"controlled_pendulum.simulate(0.4, 0.03, {options})"
    done = octave(folder, f"r = {call}; dlmwrite('rows.csv', [r.time, r.values], 'precision', 17)")
    assert done.returncode == 0, done.stderr
    found = np.genfromtxt(folder / "rows.csv", delimiter=",")
    run = model.simulate(0.9, t0=0.5, step=0.03, method="midpoint", sample=0.007, initial={"bob.q1": -0.1})
    np.testing.assert_allclose(found[:, 0], run.time, rtol=1e-15)
    np.testing.assert_allclose(found[:, 1:], run.values, rtol=0, atol=1e-12)  # 14 steps of values below 60


def test_an_integrator_of_the_language_takes_the_derivatives(exported: Callable[[str], Path]) -> None:
    """ode45 against the process's own method of order 8, within ten times the tolerance."""
    folder = exported("tumbler")
    program = (
        "c = tumbler.precompute(tumbler.parameters()); y0 = tumbler.initial_state('b.u4', 0.5, 'b.u6', 2);"
        "options = odeset('RelTol', 1e-10, 'AbsTol', 1e-10);"
        "[t, y] = ode45(@(t, y) tumbler.derivatives(t, y, c, []), [0 0.5], y0, options);"
        "printf('%.15g ', y(end, :))"
    )
    done = octave(folder, program)
    assert done.returncode == 0, done.stderr
    model = equations("tumbler").compile()
    run = model.simulate(0.5, method="dop853", sample=0.5, initial={"b.u4": 0.5, "b.u6": 2.0})
    expected_end = [run.final[s] for s in (*model.coordinate_names, *model.speed_names)]
    np.testing.assert_allclose([float(w) for w in done.stdout.split()], expected_end, rtol=0, atol=1e-9)


def test_a_system_is_not_called_as_a_variable_is(tmp_path: Path) -> None:
    s = arm.System("state")
    s.body("a", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    folder = s.derive().export("matlab", tmp_path / "state")
    done = octave(folder, "test_state_system")
    assert done.returncode == 0, done.stderr


def test_wrong_names_are_told(exported: Callable[[str], Path]) -> None:
    calls = {
        "four_bar_linkage.initial_state('A.q9', 1)": "there is no state 'A.q9'",
        "four_bar_linkage.simulate(1, 0.1, 'methd', 'rk4')": "there is no option 'methd'",
        "four_bar_linkage.precompute(struct('L9', 1))": "there is no parameter L9",
    }
    program = " ".join(f"try, {call}; catch e, disp(e.message), end;" for call in calls)
    told = octave(exported("four bar"), program).stdout.splitlines()
    assert len(told) >= len(calls)
    assert all(message in line for message, line in zip(calls.values(), told, strict=False)), told
