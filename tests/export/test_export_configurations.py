"""C programs that lock and unlock joints and exchange dependent speeds, beside runs in the process."""

from __future__ import annotations

import csv
import subprocess
from pathlib import Path

import numpy as np
import pytest

import armillary as arm
from examples.four_bar import system as four_bar
from tests.export.test_export_c import CC
from tests.runtime.test_modes import five_bar

FLAGS = "-std=c99 -O1 -Wall -Wextra -Werror -pedantic -ffp-contract=off"


def latched() -> arm.System:
    """A double pendulum whose elbow is caught on its way, and let go."""
    s = arm.System("latched pendulum")
    s.gravity(9.81, -s.ground.z)
    upper = s.body("upper", joint=arm.Revolute("y"), mass=2.0, com=(0, 0, -0.5), inertia=(0.2, 0.2, 0.01))
    lower = s.body(
        "lower", upper, at=(0, 0, -1.0), joint=arm.Revolute("y"), mass=1.0, com=(0, 0, -0.4),
        inertia=(0.1, 0.1, 0.01),
    )  # fmt: skip
    s.event("catch", lower.q1 + 0.3, direction=1, lock="lower.q1")
    s.event("let go", "t - 1.5", direction=1, unlock="lower.q1")
    s.output("energy", s.kinetic_energy())
    s.start({"upper.q1": 1.0, "lower.q1": -0.6})
    return s


def table_of(folder: Path, program: str, run_file: str) -> tuple[list[str], np.ndarray, str]:
    """Names, rows and events of a run of an exported program."""
    (folder / "own.toml").write_text(run_file)
    made = ["make", "ARCH=", f"CFLAGS={FLAGS}", program, "self_test"]
    subprocess.run(made, cwd=folder, check=True, capture_output=True)
    subprocess.run(["./self_test"], cwd=folder, check=True, capture_output=True)
    ran = subprocess.run(
        [f"./{program}", "own.toml", "own.csv"], cwd=folder, check=True, capture_output=True, text=True
    )
    with (folder / "own.csv").open() as stream:
        names, *rows = list(csv.reader(stream))
    return names, np.array(rows, dtype=float), ran.stderr


@pytest.mark.skipif(CC is None, reason="no C compiler (cc)")
@pytest.mark.parametrize("method", ["dop853", "rk4"])
@pytest.mark.parametrize(
    ("system", "program", "span", "initial", "changes"),
    [
        (latched, "latched_pendulum", 3.0, {}, ["catch", "let go"]),
        (five_bar, "five_bar", 0.8, {"A.u1": 6.0}, ["became independent", "catch", "let go"]),
    ],
    ids=["locks", "exchanges"],
)
def test_a_c_program_changes_as_the_process_does(
    system: object, program: str, span: float, initial: dict[str, float], changes: list[str], method: str,
    tmp_path: Path,
) -> None:  # fmt: skip
    """Rows to 1e-9, through the impulses of the locks and other choices of dependent speeds."""
    equations = system().derive()  # type: ignore[operator]
    how = {"rtol": 1e-10, "atol": 1e-12} if method == "dop853" else {"step": 2e-4}
    run = equations.compile().simulate(span, sample=span / 8, initial=initial, method=method, **how)
    assert all(word in run.info["modes"] for word in changes)
    folder = equations.export("c", tmp_path / "c", configurations=True)
    start = "".join(f'"{name}" = {value}\n' for name, value in initial.items())
    settings = "".join(f"{name} = {value}\n" for name, value in how.items())
    text = f'[initial]\n{start}[run]\nduration = {span}\nsample = {span / 8}\nmethod = "{method}"\n{settings}'
    names, rows, happened = table_of(folder, program, text)
    for name in run.names:
        expected = run[name]
        np.testing.assert_allclose(
            rows[:, names.index(name)], expected, rtol=1e-9, atol=1e-9 * (1 + np.max(np.abs(expected)))
        )
    for event in run.events:
        assert f"t = {event.time:.9g}: event '{event.name}'" in happened


@pytest.mark.skipif(CC is None, reason="no C compiler (cc)")
def test_exchanges_without_locks_read_no_table_beyond_its_end(tmp_path: Path) -> None:
    """Under the address sanitizer; with nothing to lock, the tables of locks are empty."""
    folder = four_bar().derive().export("c", tmp_path / "c", configurations=True)
    flags = "-std=c99 -O0 -fsanitize=address,undefined -fno-sanitize-recover=all"
    made = subprocess.run(["make", "ARCH=", f"CFLAGS={flags}"], cwd=folder, capture_output=True, text=True)
    if "sanitize" in made.stderr and made.returncode:
        pytest.skip("this compiler has no sanitizers")
    assert made.returncode == 0, made.stderr
    subprocess.run(["./four_bar_linkage"], cwd=folder, check=True, capture_output=True)


def test_events_that_lock_and_set_at_once_are_refused(tmp_path: Path) -> None:
    s = latched()
    s.event("stop", "t - 2", lock="lower.q1", set={"upper.u1": 0})
    with pytest.raises(arm.ArmillaryError, match=r"'stop' locks or unlocks joints and sets upper\.u1"):
        s.derive().export("c", tmp_path / "c")
    assert not (tmp_path / "c").exists()
