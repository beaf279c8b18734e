"""Numbers of file formats: one that is raised needs a reader of the files that were written before."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent / "src" / "armillary"

FORMATS = {
    "analysis/kinematics/result.py": ("_VERSION", "1"),
    "analysis/result_files.py": ("_VERSION", "1"),
    "ensembles/result.py": ("_VERSION", "1"),
    "results/run.py": ("FILE_VERSION", "1"),
}


def test_formats_of_files_have_the_numbers_that_released_versions_read() -> None:
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for name, number in re.findall(r"^(_VERSION|_FORMAT|FILE_VERSION) = (\d+)$", text, re.MULTILINE):
            found[path.relative_to(ROOT).as_posix()] = (name, number)
    assert found == FORMATS
