"""Exported C under other compilers and flags: no warning, and right numbers or a refusal to compile.

Flags that let a compiler reorder sums took away the rounding step of the sines, and with it their reduction.
"""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from armillary.export.c.printer import trigonometry
from tests.export.conformance import equations

COMPILERS = [pytest.param(c, marks=pytest.mark.skipif(not shutil.which(c), reason=f"{c} is not installed"))
             for c in ("gcc", "clang")]  # fmt: skip
REORDERED = {
    "unsafe": ["-O3", "-funsafe-math-optimizations"],
    "reordered": ["-O3", "-fassociative-math", "-fno-signed-zeros", "-fno-trapping-math"],
}
PROGRAM = """
#include <math.h>
#include <stdio.h>
#define APART
{sines}
int main(void)
{{
    static const double angles[] = {{{angles}}};
    for (int i = 0; i + 3 < {count}; i += 4) {{
        double s[4], c[4];
        sines_cosines(angles[i], angles[i + 1], angles[i + 2], angles[i + 3], s, c);
        for (int k = 0; k < 4; k++) {{
            double sine, cosine;
            sine_cosine(angles[i + k], &sine, &cosine);
            printf("%.17g %.17g %.17g %.17g\\n", s[k], c[k], sine, cosine);
        }}
    }}
    return 0;
}}
"""


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Path]:
    base = tmp_path_factory.mktemp("flags")

    @cache
    def made(name: str, language: str) -> Path:
        folder = base / f"{name.replace(' ', '_')}_{language}"
        if language != "fmu":
            return equations(name).export(language, folder)
        path = equations(name).export("fmu", base / f"{folder.name}.fmu", binary=False)
        with zipfile.ZipFile(path) as archive:
            archive.extractall(folder)
        return folder / "sources"

    return made


def built(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def c_files(folder: Path, *without: str) -> list[str]:
    return sorted(p.name for p in folder.glob("*.c") if p.name not in without)


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("flags", REORDERED.values(), ids=REORDERED)
def test_sines_are_right_where_sums_may_be_reordered(compiler: str, flags: list[str], tmp_path: Path) -> None:
    """To 3e-16 for angles of a few turns; libm's own are below 1e-16."""
    angles = np.linspace(-30.0, 30.0, 64)
    text = PROGRAM.format(
        sines=trigonometry("sine_cosine( sines_cosines("),
        angles=", ".join(map(repr, angles.tolist())),
        count=len(angles),
    )
    (tmp_path / "sines.c").write_text(text)
    command = [compiler, "-std=c99", "-Wall", "-Wextra", "-Werror", *flags, "sines.c", "-o", "sines", "-lm"]
    assert built(command, tmp_path).stderr == ""
    found = np.array([line.split() for line in built(["./sines"], tmp_path).stdout.splitlines()], dtype=float)
    exact = np.array([(math.sin(x), math.cos(x)) * 2 for x in angles])
    np.testing.assert_allclose(found, exact, rtol=0, atol=3e-16)


@pytest.mark.parametrize("compiler", COMPILERS)
def test_programs_agree_with_their_numbers_where_sums_may_be_reordered(
    compiler: str, exported: Callable[[str, str], Path]
) -> None:
    folder = exported("four bar", "c")
    names = c_files(folder, "main.c")
    command = [compiler, "-std=c99", "-O2", "-funsafe-math-optimizations", *names, "-o", compiler, "-lm"]
    assert built(command, folder).returncode == 0
    assert "all numbers agree" in built([f"./{compiler}"], folder).stdout


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize(
    ("language", "flag"),
    [("c", "-Ofast"), ("c", "-ffinite-math-only"), ("fmu", "-ffast-math"), ("cuda", "-ffast-math")],
)
def test_programs_that_need_nan_do_not_compile_without_it(
    compiler: str, language: str, flag: str, exported: Callable[[str, str], Path]
) -> None:
    if language == "cuda" and built([compiler, "-x", "c++", "-fsyntax-only", os.devnull], Path()).returncode:
        pytest.skip(f"{compiler} has no C++ compiler")
    folder = exported("four bar", language)
    source = {"c": "four_bar_linkage.c", "fmu": "fmu.c", "cuda": "main.cu"}[language]
    kind = ["-x", "c++", "-std=c++11"] if language == "cuda" else ["-std=c99"]
    done = built([compiler, *kind, "-fsyntax-only", "-Wfatal-errors", flag, source], folder)
    assert done.returncode != 0
    assert "compile without -ffast-math" in done.stderr
    assert "NaN" in done.stderr


@pytest.mark.skipif(shutil.which("clang") is None, reason="clang is not installed")
@pytest.mark.parametrize("language", ["c", "fmu"])
@pytest.mark.parametrize("name", ["four bar", "controller"])
def test_clang_has_nothing_to_warn_of(name: str, language: str, exported: Callable[[str, str], Path]) -> None:
    folder = exported(name, language)
    flags = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Wshadow", "-Wconversion", "-O1", "-fsyntax-only"]
    assert built(["clang", *flags, *c_files(folder)], folder).stderr == ""
