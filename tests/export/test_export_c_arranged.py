"""Derivatives in the text for GCC and Clang: right at all angles and under all flags."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from mpmath import mp, mpf, pi

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.export.c import program_files
from armillary.export.text.source import make_source
from armillary.stages.equations import Equations

REALS = ctypes.POINTER(ctypes.c_double)
COMPILERS = [
    pytest.param(c, marks=pytest.mark.skipif(not shutil.which(c), reason=f"{c} is not installed"))
    for c in ("gcc", "clang")
]
FLAGS = {
    "fused": ["-O3", "-ffp-contract=fast"],
    "not fused": ["-O2", "-ffp-contract=off"],
    "not optimised": ["-O0"],
    "reordered": ["-O3", "-fassociative-math", "-fno-signed-zeros", "-fno-trapping-math"],
}


@cache
def chain() -> Equations:
    s = arm.System("three links")
    s.gravity(9.81, -s.ground.z)
    link = None
    for i, axis in enumerate("xyx"):
        link = s.body(
            f"link{i}", link, arm.Revolute(axis), at=(0, 0.1, 0.3), com=(0, 0, 0.1), mass=1, inertia=(2, 3, 1)
        )
    return s.derive()


def rates_of(
    compiler: str, flags: list[str], tmp_path: Path, older: bool = False
) -> Callable[[list[float]], np.ndarray]:
    """The exported chain's rates at given angles; ``older``: as if the compiler were GCC 11."""
    for name, text in program_files(make_source(core_of(chain()))).items():
        (tmp_path / name).write_text(text.replace("__GNUC__ >= 12", "0") if older else text)
    assert "#if defined(ARRANGED)" in (tmp_path / "three_links.c").read_text()
    warnings = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Wshadow", "-Wconversion", "-Werror"]
    command = [compiler, *warnings, *flags, "-shared", "-fPIC", "three_links.c", "-o", "three.so", "-lm"]
    subprocess.run(command, cwd=tmp_path, check=True)
    library = ctypes.CDLL(str(tmp_path / "three.so"))
    constants = np.zeros(64)
    parameters = np.array([float(v or 0.0) for v in chain().parameters.values()] + [0.0])
    library.three_links_precompute(parameters.ctypes.data_as(REALS), constants.ctypes.data_as(REALS))

    def rates(angles: list[float]) -> np.ndarray:
        state, out = np.array([*angles, 0.3, -0.2, 0.5]), np.zeros(6)
        given = [a.ctypes.data_as(REALS) for a in (state, constants, np.zeros(1), out)]
        library.three_links_derivatives(ctypes.c_double(0.0), *given)
        return out

    return rates


@pytest.mark.parametrize("flags", FLAGS.values(), ids=FLAGS)
@pytest.mark.parametrize("compiler", COMPILERS)
def test_rates_are_those_of_the_same_attitude_at_any_angle(
    compiler: str, flags: list[str], tmp_path: Path
) -> None:
    """Angles up to and beyond the limit of the sines (8e5), against those less whole turns, taken with
    1,200 bits; the sines of an angle differ by less than 2e-16, and rates by a small multiple of that.
    """
    rates = rates_of(compiler, flags, tmp_path)
    for angles in ([-7.0, 50.0, 3.0], [7.9e5, -7.9e5, 6.4e5], [1e6, 2.0, -1e15], [0.5, 1e300, -8.1e5]):
        found = rates(angles)
        assert np.max(np.abs(found - rates([_less_turns(x) for x in angles]))) < 4e-15 * np.max(np.abs(found))
    assert np.isnan(rates([0.1, np.inf, 0.2])).any()


@pytest.mark.skipif(not shutil.which("gcc"), reason="gcc is not installed")
def test_sums_that_older_gcc_reorders(tmp_path: Path) -> None:
    """GCC before 12 has no macro for that: angles are still rounded to whole quarter turns. The parts of π/2
    may be put together, which loses 6e-17 per quarter turn.
    """
    rates = rates_of("gcc", [*FLAGS["reordered"], "-U__ASSOCIATIVE_MATH__"], tmp_path, older=True)
    angles = [-7.0, 50.0, 3.0]
    found = rates(angles)
    assert np.max(np.abs(found - rates([_less_turns(x) for x in angles]))) < 1e-13 * np.max(np.abs(found))


def _less_turns(x: float) -> float:
    with mp.workprec(1200):
        return float(mpf(x) - 2 * pi * mp.nint(mpf(x) / (2 * pi)))


def test_few_operations_and_choices_have_the_plain_text_alone() -> None:
    s = arm.System("pendulum")
    s.gravity(9.81, -s.ground.z)
    s.body("bob", joint=arm.Revolute("x"), com=(0, 0, -1), mass=1, inertia=0)
    code = program_files(make_source(core_of(s.derive())))["pendulum.c"]
    assert "ARRANGED" not in code
    assert "void pendulum_derivatives(" in code
