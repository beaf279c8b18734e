"""Machine code kept between processes: found again, never wrong, never in the way."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import armillary as arm
from armillary import cache
from armillary.llvm import jit
from armillary.llvm.jit import Compiled
from armillary.solver.llvm.compiled_loop import CONSTANTS_FROM

pytestmark = pytest.mark.optimised

TEXT = "define double @twice(double %x) {{\n  %y = fmul double %x, {factor}\n  ret double %y\n}}"

PENDULUM = """
import armillary as arm
s = arm.System("pendulum")
s.body("bob", joint=arm.Revolute("z"), com=(0, -1, 0), mass=1, inertia=0)
s.gravity(9.81, -s.ground.y)
run = s.derive().compile().simulate(1.0, step=1e-3, initial={"bob.q1": 0.5})
print(repr(run.final["bob.q1"]))
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    folder = tmp_path / "kept"
    monkeypatch.setenv("ARMILLARY_CACHE", str(folder))
    return folder


@pytest.fixture
def compilations(monkeypatch):
    """How often LLVM was asked to compile."""
    made = []
    original = jit._object_code
    monkeypatch.setattr(jit, "_object_code", lambda *a: made.append(1) or original(*a))
    return made


def pendulum() -> arm.System:
    s = arm.System("pendulum")
    s.body("bob", joint=arm.Revolute("z"), com=(0, "-L", 0), mass=1, inertia=0)
    s.gravity(9.81, -s.ground.y)
    return s


def test_code_is_compiled_once_and_gives_the_same_numbers(place, compilations):
    first = pendulum().derive().compile()
    count = len(compilations)
    again = pendulum().derive().compile()
    assert count >= 1 and len(compilations) == count
    state = [0.3, 0.7]
    values = [m.derivatives(0.0, state, {"L": 2.0}) for m in (first, again)]
    assert np.array_equal(*values)
    assert values[0] == pytest.approx([0.7, -9.81 / 2 * np.sin(0.3)], rel=1e-14)
    assert sorted(p.suffix for p in place.iterdir()) == ["", *[".object"] * count]


def test_other_content_is_other_code(place):
    for factor in ("2.0", "3.0"):
        code = Compiled(TEXT.format(factor=factor))
        assert code.address("twice") != 0
    assert len(list(place.glob("*.object"))) == 2


def test_a_damaged_file_is_compiled_anew(place, compilations):
    Compiled(TEXT.format(factor="2.0"))
    (file,) = place.glob("*.object")
    whole = file.read_bytes()
    for damaged in (
        whole[:-1],
        whole[:100],
        b"",
        b"x" * 500,
        whole[:50] + bytes([whole[50] ^ 255]) + whole[51:],
    ):
        file.write_bytes(damaged)
        before = len(compilations)
        assert Compiled(TEXT.format(factor="2.0")).address("twice") != 0
        assert len(compilations) == before + 1
        assert file.read_bytes() == whole


def test_a_folder_that_cannot_be_written_is_no_hindrance(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("ARMILLARY_CACHE", str(tmp_path / "file" / "inside"))
    assert Compiled(TEXT.format(factor="2.0")).address("twice") != 0
    assert (tmp_path / "file").read_text() == "not a folder"


def test_a_full_disk_is_no_hindrance_and_leaves_nothing(place, monkeypatch):
    def full(*args, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert Compiled(TEXT.format(factor="2.0")).address("twice") != 0
    assert list(place.iterdir()) == []


def test_what_was_used_least_lately_goes_first(place, monkeypatch):
    monkeypatch.setattr(cache, "LARGEST", 250)
    monkeypatch.setattr(cache, "SCAN", 0)
    for i, name in enumerate("abc"):
        cache.keep(name, bytes(100))
        os.utime(place / f"{name}.object", (1000 + i, 1000 + i))
        if name == "b":
            assert cache.fetch("a") == bytes(100)  # used now, so "b" is older
            os.utime(place / "b.object", (1, 1))
    assert cache.fetch("b") is None
    assert cache.fetch("a") == cache.fetch("c") == bytes(100)
    assert cache.size() == (2, 240)
    assert cache.clear() == 2 and cache.size() == (0, 0)


def test_writing_does_not_scan_the_folder_each_time(place, monkeypatch):
    """One scan where nobody has counted, and one for each SCAN bytes written."""
    scans = []
    original = cache._entries
    monkeypatch.setattr(cache, "_entries", lambda where: scans.append(1) or original(where))
    monkeypatch.setattr(cache, "SCAN", 1000)
    for i in range(50):
        cache.keep(f"{i}", bytes(99))
    assert len(scans) == 1 + 4  # 4,900 bytes after the first file
    assert cache.fetch("0") == cache.fetch("49") == bytes(99)


def test_it_can_be_switched_off(monkeypatch):
    monkeypatch.setenv("ARMILLARY_CACHE", "off")
    cache.keep("name", b"content")
    assert cache.folder() is None and cache.fetch("name") is None and cache.clear() == 0


def test_processes_at_once_share_it(place):
    started = [
        subprocess.Popen([sys.executable, "-c", PENDULUM], stdout=subprocess.PIPE, env={**os.environ})
        for _ in range(2)
    ]
    said = {process.communicate(timeout=120)[0] for process in started}
    assert len(said) == 1 and all(process.returncode == 0 for process in started)
    assert not [p for p in place.iterdir() if p.suffix == ".tmp"]


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="folders have no such owners here")
def test_a_folder_that_others_may_write_to_is_not_used(place):
    place.mkdir()
    place.chmod(0o777)
    Compiled(TEXT.format(factor="2.0"))
    assert list(place.iterdir()) == [] and cache.folder() is None
    place.chmod(0o700)
    Compiled(TEXT.format(factor="2.0"))
    assert len(list(place.glob("*.object"))) == 1


def test_the_key_of_loops_covers_all_files_that_define_their_numbers() -> None:
    """Constants come from files of other packages, too: those from which solver imports."""
    package = Path(arm.__file__).parent
    found = set()
    for file in (package / "solver").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("armillary."):
                place = package.parent / (node.module or "").replace(".", "/")
                names = [name.name for name in node.names]
                found |= {place / f"{name}.py" for name in names if (place / f"{name}.py").exists()}
                found |= {place.with_suffix(".py")} if any(n.isupper() or n == "*" for n in names) else set()
    elsewhere = {file.relative_to(package).as_posix() for file in found}
    assert {name for name in elsewhere if not name.startswith(("llvm/", "solver/"))} == {*CONSTANTS_FROM}
