"""Every example runs as a user would run it, says something and draws a picture."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PICTURES = {"demo": "stanford_arm"}


def test_all_examples_are_found() -> None:
    assert len(EXAMPLES) >= 10


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(path: Path, tmp_path: Path) -> None:
    if path.stem == "fmu_strut" and not (shutil.which("cc") or shutil.which("gcc")):
        pytest.skip("an FMU is built with a C compiler, and there is none")
    here = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONIOENCODING": "utf-8", "MPLBACKEND": "Agg"}
    command = [sys.executable, str(path), str(tmp_path)]
    done = subprocess.run(command, env=here, capture_output=True, encoding="utf-8", timeout=120)
    assert done.returncode == 0, done.stderr
    assert "functions" in done.stdout  # the operation count
    picture = tmp_path / f"{PICTURES.get(path.stem, path.stem)}.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
