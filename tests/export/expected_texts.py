"""Texts of an exported program that are kept and compared: ``python -m tests.export.expected_texts`` writes
them anew, after a change of a writer whose difference has been read as code.

Compilers of Fortran and programs for MATLAB are missing on most machines; these texts are compared on all.
Left out are numbers that are computed while a program is written, lines that name methods, and the solver,
which is printed from one description for all languages.
"""

from __future__ import annotations

import re
import tempfile
import zipfile
from pathlib import Path

from armillary.solver.methods.registry import METHODS
from tests.export.conformance import equations

CASE = "door"  # factors of units in and out, a state of the user's own, an event, memory, an input, outputs
LANGUAGES = {
    "fortran": ("*.f90", "run.nml", "Makefile"),
    "matlab": ("+*/*.m", "*.m"),
    "rust": ("src/model.rs", "src/lib.rs", "Cargo.toml"),
    "c": ("door.c", "door.h", "run.toml"),
    "python": ("door.py", "README.md"),
    "jax": ("door.py",),
    "cuda": ("door.cuh", "main.cu"),
    "wasm": ("door.d.ts", "package.json"),
    "fmu": ("modelDescription.xml", "sources/events.c", "sources/variables.c", "sources/partial.c"),
}
LEFT_OUT = ("simulate.m", "door_solver.f90")


def kept_file(language: str) -> Path:
    return Path(__file__).parent / "expected" / f"{CASE}_{language}.txt"


def exported_text(language: str, folder: Path) -> str:
    """All files of an exported program that are compared, each after its name."""
    options = {"binary": False} if language == "fmu" else {}
    made = equations(CASE).export(language, folder, **options)
    if made.is_file():
        with zipfile.ZipFile(made) as archive:
            archive.extractall(made.with_suffix(".files"))
        made = made.with_suffix(".files")
    found = sorted({p for pattern in LANGUAGES[language] for p in made.glob(pattern)})
    texts = [
        f"==== {p.relative_to(made).as_posix()}\n{p.read_text(encoding='utf-8')}"
        for p in found
        if p.name not in LEFT_OUT
    ]
    text = "".join(one.partition("\n# ------")[0] for one in texts)  # in Python the solver follows
    text = re.sub(r"/\* -+ the solver.*?(?=/\* -+ runs)", "", text, flags=re.DOTALL)
    methods = re.compile(rf"\b({'|'.join(METHODS)})\b")  # a new one is no change of the writers
    text = "".join(line for line in text.splitlines(keepends=True) if not methods.search(line))
    return re.sub(r'Armillary \d[\w.+]*\w|guid="[^"]*"|generation\w+="[^"]*"', "Armillary", text)


if __name__ == "__main__":
    for language in LANGUAGES:
        with tempfile.TemporaryDirectory() as folder:
            text = exported_text(language, Path(folder) / CASE)
            kept_file(language).write_text(text, encoding="utf-8")
