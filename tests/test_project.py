"""The project's frame: imports run one way, start-up does little, files are short, metadata is right."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest

from tests.import_arrows import ORDER, Import, backward, circles, cycle, imports, modules, package
from tests.mutants.__main__ import read_faults, stale

ROOT = Path(__file__).resolve().parents[1]
SRC = ROOT / "src"

SPINE = {"algebra", "model", "mechanics", "program", "llvm", "runtime", "results"}
LONGEST_FILE = 600
IMPORT_CALLS = 21_000
LAZY = ("scipy", "matplotlib", "xarray", "pandas", "pyarrow", "h5netcdf", "pint", "llvmlite.ir",
        "llvmlite.binding", "click")  # fmt: skip


def project_files() -> list[Path]:
    """Files that are, or would be, tracked."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True)
        listed = done.stdout.split("\0")
    except (OSError, subprocess.CalledProcessError):  # an unpacked archive, without git
        made = {"build", "dist", "__pycache__"}
        walked = (path.relative_to(ROOT) for path in ROOT.rglob("*"))
        listed = [str(p) for p in walked if not any(x in made or x.startswith(".") for x in p.parts)]
    return [ROOT / name for name in listed if name and (ROOT / name).is_file()]


FILES = modules(SRC)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@cache
def arrows() -> list[Import]:
    """Every import of one file of the package by another."""
    return imports(FILES)


def test_the_tree_is_whole() -> None:
    """The checks below look at something: every package of the spine, with more than its __init__."""
    sizes = {part: sum(package(name) == part for name in FILES) for part in SPINE}
    missing = sorted(part for part, size in sizes.items() if size == 0)
    if missing:
        pytest.skip(f"packages not there yet: {', '.join(missing)}")
    assert all(size >= 2 for size in sizes.values()), sizes
    assert len(FILES) >= 30
    assert len([arrow for arrow in arrows() if package(arrow.source) != package(arrow.target)]) >= 20


def test_every_package_has_its_place_in_the_order() -> None:
    known = {*ORDER, "", "__main__"}
    assert {package(name) for name in FILES} <= known, "give a new package its place in import_arrows.ORDER"


def test_imports_run_one_way() -> None:
    assert not [str(arrow) for arrow in backward(arrows())]


def test_files_of_a_package_do_not_import_in_a_circle() -> None:
    assert not " → ".join(cycle(arrows()))


def test_test_files_do_not_import_from_each_other() -> None:
    """Systems that several of them use are in tests/systems, other helpers in files beside them."""
    found = re.compile(
        r"^\s*(?:from tests[\w.]*\.test_|import tests[\w.]*\.test_|from tests[\w.]* import test_)", re.M
    )
    files = (Path(__file__).parent).rglob("*.py")
    assert not [str(path) for path in files if found.search(path.read_text(encoding="utf-8"))]


def test_circles_are_small_with_hints_too() -> None:
    """A joint may name its body's type; more than eight files that name each other are no one idea."""
    assert not [sorted(circle) for circle in circles(arrows()) if len(circle) > 8]


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("import armillary.results", "back"),
        ("from armillary.results import Run", "back"),
        ("from armillary import results", "back"),
        ("from ..results import run", "back"),
        ("from .. import System", "back"),
        ("def f():\n    from armillary.runtime import run", "back"),
        ("if TYPE_CHECKING:\n    from armillary.mechanics import Equations", "back"),
        ("import importlib\nx = importlib.import_module('armillary.cli')", "back"),
        ("from .body import Body", "circle"),
        ("from armillary.model.body import Body", "circle"),
        ("from . import body", "circle"),
        ("def f():\n    from .body import Body", "circle"),
        ("if TYPE_CHECKING:\n    from .body import Body", ""),
        ("from armillary.algebra.triples import sin", ""),
        ("from ..errors import ModelError", ""),
        ("import numpy, math", ""),
    ],
)
def test_a_wrong_arrow_is_seen(text: str, verdict: str, tmp_path: Path) -> None:
    """The check itself, on a made-up tree in which body imports joint and joint contains `text`."""
    tree = {
        "__init__": "", "errors": "", "algebra/__init__": "", "algebra/scalars": "", "model/__init__": "",
        "model/body": "from .joint import Joint", "model/joint": text, "mechanics/__init__": "",
        "results/__init__": "", "results/run": "", "runtime/__init__": "", "cli/__init__": "",
    }  # fmt: skip
    for name, content in tree.items():
        path = tmp_path / "armillary" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    found = imports(modules(tmp_path))
    assert bool(backward(found)) == (verdict == "back")
    assert bool(cycle(found)) == (verdict == "circle")
    assert bool(circles(found)) == ("body" in text)


def test_programs_beside_the_package_import_names_that_exist() -> None:
    """Benchmarks and tools run rarely, and mypy reads the package alone."""
    gone = []
    for path in (p.relative_to(ROOT) for p in project_files() if p.suffix == ".py"):
        if path.parts[0] not in ("benchmarks", "docs", "examples", "tools"):
            continue
        for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "armillary":
                there = import_module(node.module or "")
                names = [a.name for a in node.names if not hasattr(there, a.name)]
                inside = {m.name for m in iter_modules(getattr(there, "__path__", ()))}
                gone += [f"{path}: {node.module}.{name}" for name in names if name not in inside]
    assert not gone


def test_planted_faults_are_up_to_date() -> None:
    faults = read_faults()
    assert faults and not [str(fault) for fault in faults if stale(fault)]


def test_import_leaves_heavy_libraries_alone_and_does_little() -> None:
    """Calls of Python functions while a fresh interpreter imports Armillary after NumPy.

    Seconds depend on what else the machine does; this number does not. The calls of the import system itself
    are left out, since they depend on the search path and on stored bytecode. Dataclasses made at import
    are most of the rest. The number is 18,708 on Python 3.11, and some hundred more or fewer on others: one
    table that is built or one family of modules that is imported too early shows. The benchmarks measure
    the seconds.
    """
    code = f"""
import sys, numpy
calls = 0
def count(frame, event, argument):
    global calls
    calls += event == "call" and not frame.f_code.co_filename.startswith("<frozen importlib")
sys.setprofile(count)
import armillary
sys.setprofile(None)
print(calls, *(name for name in {LAZY!r} if name in sys.modules))"""
    here = {**os.environ, "PYTHONPATH": str(SRC)}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=here, capture_output=True, check=True, text=True)
    calls, *loaded = done.stdout.split()
    assert not loaded, "imported at start-up; import them inside the functions that need them"
    assert 1000 < int(calls) < IMPORT_CALLS


def test_no_source_file_is_too_long() -> None:
    lengths = {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in FILES.items()}
    assert not {name: n for name, n in lengths.items() if n > LONGEST_FILE}


def test_every_public_module_says_what_it_is() -> None:
    public = {n: p for n, p in FILES.items() if not any(part.startswith("_") for part in n.split("."))}
    docstring = re.compile(r'\A(#.*\n)*r?"""\s*[^\s"]')
    assert not [n for n, path in public.items() if not docstring.match(path.read_text(encoding="utf-8"))]


def test_no_assertion_is_blind_to_nan() -> None:
    """The built-in `max` drops NaN unless it comes first; `largest` and `np.max` do not."""
    blind = re.compile(r"\bassert \(?max\(.*(abs|diff)|\bworst = max\(")
    places = [
        f"{file.relative_to(ROOT)}:{number}"
        for file in sorted((ROOT / "tests").rglob("*.py"))
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1)
        if blind.search(line) and "re.compile" not in line
    ]
    assert places == []


def test_readme_begins_with_its_two_commands() -> None:
    opening = (ROOT / "README.md").read_text(encoding="utf-8").split("\n## ")[0]
    block = re.search(r"^```\w*\n(.*?)^```", opening, re.M | re.S)
    assert block, "no command block before the first section"
    commands = [line.split("#")[0].strip() for line in block[1].splitlines()]
    assert commands == ["make demo", "make test"]


def test_no_path_of_a_particular_machine() -> None:
    roots = ("home", "Users", "root", "work", "farm", "tmp", "private", "mnt", "scratch")
    somewhere = re.compile(rf"(?<![\w.~/-])/(?:{'|'.join(roots)})/[\w.]|\b[A-Z]:\\Users\b")
    parts = [*(f"/{root}/" for root in roots), ":\\Users"]
    examples = ("see " + "/home" + "/ada/x.py", '"' + "/tmp" + '/run.nc"')
    assert all(somewhere.search(text) for text in examples)
    found = []
    for path in project_files():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # a picture
        if any(part in text for part in parts):  # in a tenth of the time
            found += [f"{path.relative_to(ROOT)}: {text[m.start() :][:80]}" for m in somewhere.finditer(text)]
    assert not found


def test_metadata_promises_what_the_design_does() -> None:
    assert PROJECT["name"] == "armillary"
    assert PROJECT["license"] == "Apache-2.0"
    assert PROJECT["license-files"] == ["LICENSE"]
    assert "Apache License" in (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert PROJECT["requires-python"] == ">=3.11,<3.14"
    assert {c[-4:] for c in PROJECT["classifiers"] if ":: 3." in c} == {"3.11", "3.12", "3.13"}
    needs = [re.split(r"[<>=~!\[ ]", need)[0] for need in PROJECT["dependencies"]]
    assert sorted(needs) == ["click", "llvmlite", "numpy", "scipy"]
    assert {"plot", "data", "units", "peers", "test", "all"} <= set(PROJECT["optional-dependencies"])
    assert (SRC / "armillary" / "py.typed").is_file()


def test_version_is_told_once() -> None:
    import armillary

    assert armillary.__version__ == PROJECT["version"]
