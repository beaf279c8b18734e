"""Folders of files that appear whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path

from armillary.errors import ArmillaryError


def write_folder(path: str | os.PathLike[str], files: Mapping[str, str | bytes]) -> Path:
    """The folder with these files, by relative name.

    They are written beside it first. A folder that is there already keeps what else it holds; its files of
    the same names are replaced, each as a whole.
    """
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
    temporary = parent / f".armillary-{secrets.token_hex(6)}.tmp"
    try:
        _write(temporary, files)
        if not target.exists():
            os.replace(temporary, target)
            return target
        for name in files:
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            os.replace(temporary / name, target / name)
    except OSError as error:
        raise ArmillaryError(f"cannot write '{path}': {error.strerror or error}") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return target


def _write(folder: Path, files: Mapping[str, str | bytes]) -> None:
    folder.mkdir()
    for name, content in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content.encode() if isinstance(content, str) else content)
