"""The checks of `make release` find files that are missing or do not belong; building takes too long here."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.loading import loaded

ROOT = Path(__file__).resolve().parents[1]
check_release = loaded(ROOT / "tools" / "check_release.py")


def whole_wheel() -> list[str]:
    inside = [
        f"{there}/{name}"
        for there, here in check_release.COPIED.items()
        for name in check_release.tree(ROOT / here)
    ]
    return [*inside, "armillary-0.1.0.dist-info/METADATA"]


def whole_sdist() -> list[str]:
    folders = [
        f"{folder}/{name}" for folder in check_release.IN_SDIST for name in check_release.tree(ROOT / folder)
    ]
    return [f"armillary-0.1.0/{name}" for name in (*folders, *check_release.AT_ROOT)]


def test_a_wheel_holds_the_package_its_data_and_the_examples() -> None:
    names = whole_wheel()
    assert check_release.wheel_faults(names) == []
    held = set(names)
    assert {"armillary/py.typed", "armillary/stages/__init__.py", "armillary/_examples/car.toml"} <= held
    assert {Path(name).suffix for name in held} >= {
        ".py",
        ".c",
        ".h",
        ".js",
        ".css",
        ".html",
        ".json",
        ".txt",
    }


@pytest.mark.parametrize(
    "name", ["armillary/__pycache__/version.cpython-311.pyc", "tests/conftest.py", "armillary/notes.txt"]
)
def test_what_does_not_belong_in_a_wheel_is_found(name: str) -> None:
    assert check_release.wheel_faults([*whole_wheel(), name]) == [f"the wheel holds {name}"]


def test_what_a_wheel_lacks_is_found() -> None:
    names = [name for name in whole_wheel() if name != "armillary/py.typed"]
    assert check_release.wheel_faults(names) == ["the wheel lacks armillary/py.typed"]


def test_an_sdist_holds_all_that_is_tested_and_no_caches() -> None:
    names = whole_sdist()
    assert check_release.sdist_faults(names) == []
    cache = "armillary-0.1.0/src/armillary/__pycache__/version.pyc"
    assert check_release.sdist_faults([*names, cache]) == [
        "the sdist holds src/armillary/__pycache__/version.pyc"
    ]
    assert "the sdist lacks LICENSE" in check_release.sdist_faults(
        n for n in names if not n.endswith("/LICENSE")
    )


def test_metadata_that_differs_from_the_project_is_found() -> None:
    found = check_release.metadata_faults("Name: armillary\nVersion: 9\n\n")
    assert "Version is '9', not '0.1.0'" in found
    assert any(fault.startswith("Requires-Dist") for fault in found)
