"""The command as a process of its own: entry point, pipes, interrupts and start-up."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import armillary
from tests.run_files.swing import write_swing

ARMILLARY = [sys.executable, "-m", "armillary"]
HERE = {**os.environ, "PYTHONPATH": str(Path(armillary.__file__).parents[1])}


def test_a_run_from_the_shell(tmp_path: Path) -> None:
    write_swing(tmp_path)
    done = subprocess.run(
        [*ARMILLARY, "run", "push.toml"], cwd=tmp_path, env=HERE, capture_output=True, text=True
    )
    assert done.returncode == 0 and not done.stderr and "\x1b" not in done.stdout
    made = sorted(path.name for path in tmp_path.iterdir())
    assert made == ["push.csv", "push.echo.toml", "push.toml", "swing.toml"]


def test_a_reader_that_leaves_early_is_no_fault(tmp_path: Path) -> None:
    """Like `armillary examples show car | head -0`."""
    child = subprocess.Popen(
        [*ARMILLARY, "examples", "show", "car"], env=HERE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert child.stdout is not None and child.stderr is not None
    child.stdout.close()
    assert child.stderr.read() == b""
    child.stderr.close()
    child.wait()


INTERRUPTED = """
import functools, os, signal, threading
from armillary.cli import main
from armillary.runtime.models.compiled import CompiledModel

run_with = CompiledModel.run_with

@functools.wraps(run_with)
def interrupted(*args, **options):
    timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))

    def started(t):
        if t > 2 and not timer.is_alive() and not timer.finished.is_set():
            timer.start()

    return run_with(*args, **options | {"progress": started})

CompiledModel.run_with = interrupted
main(["run", "push.toml", "--set", "run.duration=1e5", "--set", "run.step=1e-5", "--set", "run.sample=1"])
"""


def test_an_interrupt_ends_with_130_and_keeps_what_was_computed(tmp_path: Path) -> None:
    write_swing(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], cwd=tmp_path, env=HERE, capture_output=True, text=True
    )
    assert done.returncode == 130 and "Traceback" not in done.stderr
    assert "interrupted" in done.stdout and 0 < armillary.load_run(tmp_path / "push.csv").time[-1] < 1e5


def test_the_command_line_imports_only_what_it_calls() -> None:
    """Help must not wait for equations, compilers, plots or data libraries."""
    heavy = (
        "llvmlite",
        "scipy",
        "matplotlib",
        "xarray",
        "pandas",
        "armillary.program.derive",
        "armillary.runtime",
    )
    code = (
        "import sys; from armillary.cli.app import app; app.main(['run', '--help'], standalone_mode=False); "
        f"print(*[name for name in {heavy!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], env=HERE, capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr.strip() == ""
