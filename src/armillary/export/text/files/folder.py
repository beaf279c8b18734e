"""Folders of generated files, which replace what was generated before and nothing else.

A list of digests beside the files (`.armillary.sha256`, as `sha256sum -c` reads it) lists which of them were
written here and are still as they were. Only those are replaced, or removed where the new folder has no such
file; what else has come to the folder (programs that were built, results) stays.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path, PurePosixPath

from armillary.algebra.arguments import flag
from armillary.atomic import reason
from armillary.columns import listed
from armillary.errors import ArmillaryError

LIST = ".armillary.sha256"
_NAMED = 5  # files that a message names


def write_folder(
    path: str | os.PathLike[str], files: Mapping[str, str | bytes], *, force: bool = False
) -> Path:
    """The folder with these files, by relative name; a new one appears whole or not at all.

    A folder of other things, and one whose generated files were changed, is refused unless ``force``; then
    files of the same names are replaced.
    """
    flag(force, "force=")
    target = Path(path)
    if target.exists() and not target.is_dir():
        raise ArmillaryError(
            f"cannot write the folder '{path}': there is a file of that name; choose another"
        )
    parent = target.resolve().parent
    if not parent.is_dir():
        raise ArmillaryError(
            f"cannot write '{path}': there is no folder '{target.parent}'; make it, or name another"
        )
    contents = {name: text.encode() if isinstance(text, str) else text for name, text in files.items()}
    temporary = parent / f".armillary-{secrets.token_hex(6)}.tmp"
    try:
        known = _known(target)
        if not force:
            _refuse_others(target, known, contents)
        listed = "".join(f"{sha256(data).hexdigest()}  {name}\n" for name, data in sorted(contents.items()))
        contents[LIST] = listed.encode()
        _write(temporary, contents)
        if not target.exists():
            os.replace(temporary, target)
            return target
        for name in known.keys() - contents.keys():
            if _digest(target / name) == known[name]:
                (target / name).unlink()
        for name in contents:
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            os.replace(temporary / name, target / name)
    except OSError as error:
        raise ArmillaryError(f"cannot write '{path}': {reason(error)}") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return target


def _known(folder: Path) -> dict[str, str]:
    """Digests of the files that were generated into a folder, by name; names that lead out of it are none."""
    place = folder / LIST
    if not place.is_file():
        return {}
    rows = [line.partition("  ") for line in place.read_text("utf-8", "replace").splitlines()]
    return {name: digest for digest, _, name in rows if name and _below(PurePosixPath(name))}


def _below(name: PurePosixPath) -> bool:
    return not name.is_absolute() and ".." not in name.parts


def _digest(file: Path) -> str:
    return sha256(file.read_bytes()).hexdigest() if file.is_file() else ""


def _refuse_others(target: Path, known: Mapping[str, str], contents: Mapping[str, bytes]) -> None:
    """An error where a folder holds other things than generated files, or where these would be lost."""
    if not target.is_dir():
        return
    if not (target / LIST).is_file():
        others, what = (
            sorted(p.name for p in target.iterdir()),
            "holds files that were not written by an export",
        )
    else:
        there = [name for name in contents if (target / name).exists()]
        others = sorted(name for name in there if _digest(target / name) != known.get(name))
        what = "holds files that were changed since they were written"
    if others:
        raise ArmillaryError(
            f"cannot write '{target}': the folder {what} ({listed(others, _NAMED)}); name another, "
            "or replace files of the same names with force=True (--force)"
        )


def _write(folder: Path, contents: Mapping[str, bytes]) -> None:
    folder.mkdir()
    for name, data in contents.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
