"""Folders of exports: replaced where they are ours, left alone where they are not."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import armillary as arm
from armillary.errors import ArmillaryError
from armillary.export import LANGUAGES
from armillary.export.text.files import write_folder

FIRST = {"a.c": "one", "inner/b.c": "two", "README.md": "first"}


def texts(folder: Path) -> dict[str, str]:
    names = (p for p in folder.rglob("*") if p.is_file() and not p.name.startswith("."))
    return {str(p.relative_to(folder)): p.read_text() for p in names}


def test_what_was_generated_is_replaced_whole_and_what_was_built_stays(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "x", FIRST)
    assert texts(folder) == FIRST
    (folder / "a.o").write_text("built")
    write_folder(folder, {"a.c": "three", "README.md": "second"})
    assert texts(folder) == {"a.c": "three", "README.md": "second", "a.o": "built"}
    assert [p.name for p in tmp_path.iterdir()] == ["x"]


def test_a_file_that_was_changed_is_not_lost(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "x", FIRST)
    (folder / "a.c").write_text("mine")
    (folder / "inner" / "b.c").write_text("mine too")
    with pytest.raises(ArmillaryError, match=r"were changed since they were written \(a\.c\)"):
        write_folder(folder, {"a.c": "three"})
    assert texts(folder)["a.c"] == "mine"
    write_folder(folder, {"a.c": "three"}, force=True)
    assert texts(folder) == {"a.c": "three", "inner/b.c": "mine too"}


def test_a_folder_of_other_things_is_refused_by_their_names(tmp_path: Path) -> None:
    for i in range(7):
        (tmp_path / f"note{i}.txt").write_text("mine")
    with pytest.raises(ArmillaryError, match=r"\(note0\.txt, .* and 2 more\); .*--force"):
        write_folder(tmp_path, FIRST)
    assert len(list(tmp_path.iterdir())) == 7
    write_folder(tmp_path, FIRST, force=True)
    assert texts(tmp_path) == {**FIRST, **{f"note{i}.txt": "mine" for i in range(7)}}


def test_an_empty_folder_is_filled_and_a_list_from_outside_removes_nothing(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    victim = tmp_path / "victim"
    victim.write_text("")
    folder = write_folder(tmp_path / "x", FIRST)
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    with (folder / ".armillary.sha256").open("a") as file:
        file.write(f"{empty}  ../victim\n{empty}  {victim}\n")
    write_folder(folder, {"README.md": "second"})
    assert victim.exists() and texts(folder) == {"README.md": "second"}


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="no sha256sum")
def test_the_list_is_one_that_other_programs_read(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "x", FIRST)
    subprocess.run(["sha256sum", "--status", "-c", ".armillary.sha256"], cwd=folder, check=True)


@pytest.mark.parametrize(("mass", "none"), [(2.0, True), ("m", False)])
def test_a_fortran_program_sets_its_constants_or_says_that_it_has_none(
    mass: float | str, none: bool, tmp_path: Path
) -> None:
    s = arm.System("block")
    s.parameter("m", 2.0, units="kg")
    block = s.body("block", joint=arm.Prismatic("x"), mass=mass, inertia=0)
    s.force("push", 3.0, s.ground.x, at=block.com)
    s.derive().export("fortran", tmp_path)
    text = "".join(path.read_text() for path in tmp_path.rglob("*.f90"))
    body = text.split("subroutine precompute")[1]
    assert ("there are none" in body) == none and ("constants(1) = " in body) != none


@pytest.mark.parametrize("language", sorted(set(LANGUAGES) - {"fmu"}))
def test_no_language_writes_into_a_folder_of_other_things_unless_forced(
    language: str, tmp_path: Path
) -> None:
    s = arm.System("cart")
    s.body("cart", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    (tmp_path / "note.txt").write_text("mine")
    with pytest.raises(ArmillaryError, match=r"note\.txt"):
        s.derive().export(language, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["note.txt"]


@pytest.mark.parametrize("language", ["python", "c", "fortran", "rust", "matlab"])
def test_the_base_of_a_power_is_computed_once(language: str, tmp_path: Path) -> None:
    s = arm.System("spring")
    a, b = (s.body(name, joint=arm.Prismatic("x"), mass=1, inertia=0) for name in "ab")
    powers = {2: 3, 3: -2, 5: 1.5}
    for factor, power in powers.items():
        s.force(f"pull{factor}", -3 * (a.q1 + factor * b.q1) ** power, s.ground.x, at=a.com)
    written = tmp_path / ("spring.py" if language == "python" else "spring")
    s.derive().export(language, written)
    files = [written] if written.is_file() else [f for f in written.rglob("*") if f.is_file()]
    lines = [line for f in files for line in f.read_text(errors="replace").splitlines()]
    for factor in powers:
        sums = [line for line in lines if re.search(rf"a_q1 \+ {factor}\.0(_dp)?\*b_q1", line)]
        assert len(sums) == 2, sums  # of rates and of outputs
        assert all(line.count("b_q1") == 1 for line in sums), sums
