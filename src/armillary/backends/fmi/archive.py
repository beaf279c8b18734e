"""The zip archive that an FMU is: written beside its place and moved there whole."""

from __future__ import annotations

import os
import secrets
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from armillary.errors import ArmillaryError

_WHEN = (1980, 1, 1, 0, 0, 0)  # the same sources make the same archive


def write_archive(path: str | os.PathLike[str], files: Mapping[str, str | bytes]) -> Path:
    """The archive with these files."""
    target = Path(path)
    if target.is_dir():
        raise ArmillaryError(f"cannot write '{path}': there is a folder of that name; an FMU is one file")
    parent = target.resolve().parent
    if not parent.is_dir():
        raise ArmillaryError(
            f"cannot write '{path}': there is no folder '{target.parent}'; make it, or name another"
        )
    temporary = parent / f".armillary-{secrets.token_hex(6)}.tmp"
    try:
        with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in files.items():
                entry = zipfile.ZipInfo(name, _WHEN)
                entry.compress_type = zipfile.ZIP_DEFLATED
                entry.external_attr = (0o755 if name.startswith("binaries/") else 0o644) << 16
                archive.writestr(entry, content)
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except OSError as error:
        raise ArmillaryError(f"cannot write '{path}': {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            temporary.unlink()
    return target
