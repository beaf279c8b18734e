"""Exported Rust, built by cargo."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

needs_cargo = pytest.mark.skipif(shutil.which("cargo") is None, reason="no Rust compiler (cargo)")


def cargo(folder: Path, *arguments: str) -> str:
    """The output of cargo, without a network and with one folder for all that it builds. Nothing is written
    for debuggers, in four fifths of the time; assertions and checks of overflow stay.
    """
    environment = {**os.environ, "CARGO_TARGET_DIR": str(folder.parent / "target"), "CARGO_INCREMENTAL": "0"}
    environment["CARGO_PROFILE_DEV_DEBUG"] = "0"
    command = ["cargo", arguments[0], "--offline", "--quiet", *arguments[1:]]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "warning" not in done.stderr
    return done.stdout
