"""Exported Fortran, compiled and linked."""

from __future__ import annotations

import subprocess
from pathlib import Path

# The other cases differ from these in the mechanics, not in what is printed: Python's test has them all.
# Every warning is an error. Unoptimised code is built faster, position-independent code can be called here.
FLAGS = "FFLAGS=-std=f2008 -O0 -fPIC -Wall -Wextra -pedantic -Werror"


def make(folder: Path, *targets: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", "-s", FLAGS, *targets], cwd=folder, capture_output=True, text=True, check=False
    )
