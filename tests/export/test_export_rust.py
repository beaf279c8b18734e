"""Exported Rust: a crate without the standard library that gives the numbers of the process."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import armillary as arm
from tests.export.conformance import CASES, equations, expected
from tests.export.rust_programs import cargo, needs_cargo

Exported = Callable[[str, str], Path]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("rust")


@pytest.fixture(scope="module")
def exported(base: Path) -> Exported:
    """The folder of a case, written when it is first requested."""

    @cache
    def written(name: str, precision: str) -> Path:
        folder = base / f"{name}_{precision}".replace(" ", "_")
        return equations(name).export("rust", folder, precision=precision)

    return written


@needs_cargo
@pytest.mark.parametrize(
    ("name", "precision", "features"),
    [
        ("controller", "single", []),
        ("four bar", "single", []),
        ("tables", "double", []),
        ("functions", "double", ["--features", "std"]),
        ("momenta", "double", []),
    ],
)
def test_the_crate_gives_the_stored_numbers(
    name: str, precision: str, features: list[str], exported: Exported
) -> None:
    """Its own test, with rooms of its precision: all sections at some states, and a short run."""
    told = cargo(exported(name, precision), "test", "--test", "reference", *features)
    assert f"{1 if name == 'functions' else 2} passed" in told  # those have no short run that converges


DRIVER = """\
use {stem}::*;
fn main() {{
    let parameters: [Real; PARAMETERS] = [{parameters}];
    let mut run = Run::new(&parameters, 0.0, {duration}, {step});
    run.state = [{state}];
    run.memory = [{memory}];
    run.begin();
    loop {{
        let mut out = [0.0; OUTPUTS];
        outputs(run.t, &run.state, &run.constants, &run.memory, &mut out);
        println!("{{:?}} {{:?}}", run.t, out);
        if run.status != RUNNING {{ break }}
        run.step();
    }}
}}
"""


@needs_cargo
def test_runs_are_those_of_the_process(exported: Exported) -> None:
    """A run with events, a clock, an update at every step and an input; the last row has another memory."""
    name = "controller"
    case, wanted, folder = CASES[name], expected(name), exported(name, "double")
    lists = {
        "parameters": wanted.parameters.values(),
        "state": wanted.start.values(),
        "memory": wanted.memory,
    }
    texts = {key: ", ".join(repr(float(v)) for v in values) for key, values in lists.items()}
    (folder / "examples").mkdir(exist_ok=True)
    stem = "controlled_pendulum"
    text = DRIVER.format(stem=stem, duration=case.duration, step=case.step, **texts)
    (folder / "examples" / "rows.rs").write_text(text)
    lines = cargo(folder, "run", "--example", "rows").splitlines()
    found = np.array([re.sub(r"[\[\],]", " ", line).split() for line in lines], dtype=float)
    last = [np.flatnonzero(np.abs(found[:, 0] - t) <= 0.01 * case.step)[-1] for t in wanted.run.time[:-1]]
    assert np.all(np.abs(found[last, 1:] - wanted.run.rows.values[:-1]) <= wanted.run.rows.room[:-1])


@needs_cargo
def test_the_crate_needs_no_standard_library_and_no_heap(exported: Exported) -> None:
    """Symbols that the object asks for: functions of numbers, copies of memory and panics of core."""
    folder = exported("four bar", "single")
    flags = ["--edition=2021", "--crate-type=rlib", "-Cpanic=abort", "-Copt-level=2", "--emit=obj"]
    subprocess.run(["rustc", *flags, "-o", "crate.o", "src/lib.rs"], cwd=folder, check=True)
    listed = subprocess.run(["nm", "crate.o"], cwd=folder, capture_output=True, text=True, check=True).stdout
    symbols = [line.split()[-2:] for line in listed.splitlines()]
    wanted = {name for kind, name in symbols if kind == "U"}
    library = re.compile(r"(sqrt|sin|cos|floor)f|mem(cpy|set|move)")
    other = [n for n in wanted if "core" not in n and not library.fullmatch(n)]
    assert not other and not [n for kind, n in symbols if kind in "BbDC"]


def test_the_text_of_a_crate_has_bounded_loops_and_no_allocation(exported: Exported) -> None:
    folder = exported("four bar", "single")
    code = "".join(p.read_text() for p in sorted((folder / "src").glob("*.rs")))
    assert "no_std" in code and "loop {" not in code and "Vec<" not in code and "Box" not in code
    assert "type Real = f32" in code and "0..MOST_TURNS" in code
    whiles = re.findall(r"while .*", code)
    assert whiles == ["while i < STATES - 1 && 0.0 * values[i] == 0.0 {"]
    assert "| a step, at most |" in (folder / "README.md").read_text()


def test_names_of_a_model_that_are_words_of_rust_or_end_comments_are_written_safely(tmp_path: Path) -> None:
    s = arm.System("match */ \n fn")
    body = s.body("impl", joint=arm.Prismatic("x"), mass="self", inertia=0)
    s.parameter("type", 2.0, about="*/ pub fn \n mut")
    s.force("where", "-type*impl.q1", body.x, at=body.com)
    folder = s.derive().export("rust", tmp_path / "named")
    assert not re.search(r"\blet (self|type|impl)\b", (folder / "src" / "model.rs").read_text())
    if shutil.which("cargo"):
        assert "2 passed" in cargo(folder, "test", "--test", "reference")
