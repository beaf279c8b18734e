"""WebAssembly modules, run by Node.js."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

NODE = shutil.which("node")


def run_node(folder: Path, program: str) -> dict:
    (folder / "ask.mjs").write_text(program, encoding="utf-8")
    assert NODE
    done = subprocess.run([NODE, "ask.mjs"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
