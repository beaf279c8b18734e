"""The benchmark run: `python benchmarks/run.py [--quick] [--only arm ...]`; `--help` lists the options."""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    # The repository root takes the place of this folder, so that no file here can hide a package.
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    from benchmarks.command import main

    sys.exit(main())
