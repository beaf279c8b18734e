"""Ends of runs and directions of events in exported solvers, in each language."""

from __future__ import annotations

import csv
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import armillary as arm
from tests.loading import loaded

Table = np.ndarray  # rows of time, x, its rate, and the count of risings


def oscillator(folder: Path, language: str) -> Path:
    """ẍ = −x from x = 1: x = cos t, which rises through zero at 3π/2 and falls through it at π/2 and 5π/2."""
    s = arm.System("swing")
    s.parameter("k", 1.0, units="N/m")
    b = s.body("b", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.force("spring", "-k*b.q1", s.ground.x, at=b.com)
    s.memory("count", 0.0)
    s.event("rises", b.q1, direction=1, set={"count": "count + 1"})
    s.start({"b.q1": 1.0})
    return Path(s.derive().export(language, folder))


def read(text: str) -> Table:
    names, *rows = csv.reader(text.splitlines())
    columns = [names.index(name) for name in (names[0], "b.q1", "b.u1", "count")]
    return np.array([[float(row[c]) for c in columns] for row in rows])


def in_c(folder: Path, duration: float, step: float, sample: float | None) -> Table:
    if not (folder / "program").exists():
        names = [p.name for p in folder.glob("*.c") if p.name != "test.c"]
        subprocess.run(["cc", "-std=c99", "-O0", *names, "-o", "program", "-lm"], cwd=folder, check=True)
    every = f"sample = {sample!r}\n" if sample else ""
    (folder / "now.toml").write_text(f"[run]\nduration = {duration!r}\nstep = {step!r}\n{every}")
    return read(
        subprocess.run(
            ["./program", "now.toml"], cwd=folder, capture_output=True, text=True, check=True
        ).stdout
    )


def in_fortran(folder: Path, duration: float, step: float, sample: float | None) -> Table:
    if not (folder / "swing").exists():
        subprocess.run(["make", "-s", "FFLAGS=-std=f2008 -O0", "swing"], cwd=folder, check=True)
    every = f", sample = {sample!r}" if sample else ""
    (folder / "now.nml").write_text(f"&run duration = {duration!r}, step = {step!r}{every} /\n")
    subprocess.run(["./swing", "now.nml", "now.csv"], cwd=folder, capture_output=True, check=True)
    return read((folder / "now.csv").read_text())


def in_python(folder: Path, duration: float, step: float, sample: float | None) -> Table:
    module = loaded(folder)
    run = module.simulate(duration, step, sample=sample)
    return np.column_stack([run.time, *(run.column(name) for name in ("b.q1", "b.u1", "count"))])


LANGUAGES: dict[str, tuple[Callable[[Path, float, float, float | None], Table], str]] = {
    "c": (in_c, "cc"),
    "fortran": (in_fortran, "gfortran"),
    "python": (in_python, ""),
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, float, float, float | None], Table]:
    @cache
    def folder(language: str) -> Path:
        return oscillator(tmp_path_factory.mktemp("rows") / language, language)

    def made(language: str, duration: float, step: float, sample: float | None = None) -> Table:
        runner, needs = LANGUAGES[language]
        if needs and shutil.which(needs) is None:
            pytest.skip(f"{needs} is not installed")
        return runner(folder(language), duration, step, sample)

    return made


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_end_just_after_a_grid_point_is_that_grid_point(language: str, run: Callable[..., Table]) -> None:
    """No sliver of a step is left: seven steps, and a row at the end given."""
    end = float(np.nextafter(7 * 0.1, np.inf))
    table = run(language, end, 0.1)
    assert len(table) == 8 and table[-1, 0] == end


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_event_happens_in_its_direction_only(language: str, run: Callable[..., Table]) -> None:
    table = run(language, 9.0, 0.01)
    np.testing.assert_allclose(table[:, 1], np.cos(table[:, 0]), rtol=0, atol=1e-8)
    np.testing.assert_array_equal(table[:, 3], np.where(table[:, 0] >= 1.5 * np.pi, 1.0, 0.0))
