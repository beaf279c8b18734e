"""Checks of a built sdist and wheel, and the demonstration from the wheel in a bare environment.

    python tools/check_release.py dist

`make release` builds both and runs this. The wheel must hold the package and the examples, file by file, and
nothing else; the sdist all that is needed to test and build again; neither caches nor environments. Then the
wheel is installed into a new virtual environment, and its own copy of the demonstration is run there from an
empty folder, with no checkout on the path.
"""

from __future__ import annotations

import email
import os
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
import zipfile
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CACHES = {"__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis", ".venv", "_build"}
# Folders of the wheel, with those of the checkout that they are copies of.
COPIED = {"armillary/_examples": "examples", "armillary": "src/armillary"}
IN_SDIST = ("src", "tests", "examples", "docs", "benchmarks", "tools")
AT_ROOT = (
    "README.md",
    "LICENSE",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "CITATION.cff",
    "Makefile",
    "pyproject.toml",
)


def tree(folder: Path) -> set[str]:
    """Files below a folder, without caches."""
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and not CACHES & set(path.parts) and path.suffix != ".pyc"
    }


def wheel_faults(names: Iterable[str], root: Path = ROOT) -> list[str]:
    """Files that a wheel lacks, and files that do not belong in it."""
    expected = {f"{inside}/{name}" for inside, of in COPIED.items() for name in tree(root / of)}
    found = {name for name in names if ".dist-info/" not in name and not name.endswith("/")}
    return [f"the wheel lacks {name}" for name in sorted(expected - found)] + [
        f"the wheel holds {name}" for name in sorted(found - expected)
    ]


def sdist_faults(names: Iterable[str], root: Path = ROOT) -> list[str]:
    """Files that an sdist lacks, and caches in it; its first folder is its name and version."""
    found = {name.partition("/")[2] for name in names}
    expected = {f"{folder}/{name}" for folder in IN_SDIST for name in tree(root / folder)} | set(AT_ROOT)
    expected = {name for name in expected if not name.startswith("benchmarks/build/")}
    return [f"the sdist lacks {name}" for name in sorted(expected - found)] + [
        f"the sdist holds {name}" for name in sorted(found) if CACHES & set(name.split("/"))
    ]


def metadata_faults(metadata: str, root: Path = ROOT) -> list[str]:
    """Fields of a wheel's METADATA that differ from pyproject.toml."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found = email.message_from_string(metadata)
    expected = {
        "Name": project["name"],
        "Version": project["version"],
        "Summary": project["description"],
        "License-Expression": project["license"],
        "Description-Content-Type": "text/markdown",
    }
    faults = [
        f"{key} is {found[key]!r}, not {value!r}" for key, value in expected.items() if found[key] != value
    ]
    needed = {text.partition(">")[0] for text in project["dependencies"]}
    required = {text.partition(">")[0] for text in found.get_all("Requires-Dist", []) if "extra" not in text}
    if needed != required:
        faults.append(f"Requires-Dist names {sorted(required)}, not {sorted(needed)}")
    if set(found.get_all("Provides-Extra", [])) != set(project["optional-dependencies"]):
        faults.append("Provides-Extra differs from the extras of pyproject.toml")
    return faults


def check_files(wheel: Path, sdist: Path) -> list[str]:
    """All faults of both files."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = [n for n in names if n.endswith(".dist-info/METADATA")]
        (entries,) = [n for n in names if n.endswith(".dist-info/entry_points.txt")]
        faults = wheel_faults(names) + metadata_faults(archive.read(metadata).decode())
        if "armillary = armillary.cli:main" not in archive.read(entries).decode():
            faults.append("the wheel has no command 'armillary'")
    with tarfile.open(sdist) as archive_of_source:
        faults += sdist_faults([m.name for m in archive_of_source.getmembers() if m.isfile()])
    return faults


def run_demonstration(wheel: Path) -> None:
    """Installs the wheel into a new environment and runs the demonstration that it holds."""
    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        venv.create(home / "env", with_pip=True)
        python = home / "env" / ("Scripts" if os.name == "nt" else "bin") / "python"
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}

        def run(*command: str) -> str:
            return subprocess.run(
                [str(python), *command],
                cwd=home,
                env=environment,
                check=True,
                text=True,
                stdout=subprocess.PIPE,
            ).stdout

        run("-m", "pip", "install", "--quiet", "--disable-pip-version-check", f"{wheel.resolve()}[plot]")
        package = Path(run("-c", "import armillary; print(armillary.__file__)").strip()).parent
        if not package.is_relative_to(home.resolve()):
            raise SystemExit(f"the bare environment imports {package}, not the wheel")
        run("-m", "armillary", "info")
        print(run(str(package / "_examples" / "demo.py"), "picture").splitlines()[-1])


def main(folder: str) -> None:
    (wheel,), (sdist,) = Path(folder).glob("*.whl"), Path(folder).glob("*.tar.gz")
    faults = check_files(wheel, sdist)
    if faults:
        raise SystemExit("\n".join(faults))
    print(f"{wheel.name} and {sdist.name} hold what they should")
    run_demonstration(wheel)
    print("the demonstration runs from the wheel in a bare environment")


if __name__ == "__main__":
    main(*sys.argv[1:])
