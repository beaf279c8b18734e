"""Every example runs as a user would run it, says something and draws a picture."""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
DEMONSTRATION = ROOT / "examples" / "demo.py"  # draws the Stanford arm


def test_all_examples_are_found() -> None:
    assert len(EXAMPLES) >= 10


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=pytest.mark.optimised) if path.stem == "car_study" else path
        for path in EXAMPLES
        if path != DEMONSTRATION
    ],
    ids=lambda path: path.stem,
)
def test_example_runs(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As a script, in this process: a fresh one spends a second on imports."""
    if path.stem == "fmu_strut" and not (shutil.which("cc") or shutil.which("gcc")):
        pytest.skip("an FMU is built with a C compiler, and there is none")
    if path.stem.startswith("do_mpc"):
        pytest.importorskip("do_mpc", reason="do-mpc is not installed: pip install do-mpc")
    monkeypatch.setattr(sys, "argv", [str(path), str(tmp_path)])
    monkeypatch.syspath_prepend(path.parent)
    runpy.run_path(str(path), run_name="__main__")
    assert_shown(tmp_path / f"{path.stem}.png", capsys.readouterr().out)


def test_the_demonstration_runs_by_itself(tmp_path: Path) -> None:
    """As `make demo` runs it: another process and folder, nothing imported before."""
    here = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONIOENCODING": "utf-8", "MPLBACKEND": "Agg"}
    command = [sys.executable, str(DEMONSTRATION), str(tmp_path)]
    done = subprocess.run(command, env=here, cwd=tmp_path, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    assert_shown(tmp_path / "stanford_arm.png", done.stdout)


def assert_shown(picture: Path, said: str) -> None:
    assert "functions" in said  # the operation count
    assert picture.read_bytes().startswith(b"\x89PNG")
