"""Exported MATLAB, run by Octave."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

OCTAVE = shutil.which("octave-cli") or shutil.which("octave")


def octave(folder: Path, program: str) -> subprocess.CompletedProcess[str]:
    command = [str(OCTAVE), "--norc", "--quiet", "--eval", program]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def package_of(folder: Path) -> str:
    return next(p.name[1:] for p in folder.glob("+*"))
