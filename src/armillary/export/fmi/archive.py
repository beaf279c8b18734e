"""The zip archive that an FMU or a package of FMUs is: written beside its place and moved there whole."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Mapping
from pathlib import Path

from armillary.algebra.arguments import flag
from armillary.atomic import replacing
from armillary.errors import ArmillaryError

_WHEN = (1980, 1, 1, 0, 0, 0)  # the same sources make the same archive


def write_archive(
    path: str | os.PathLike[str],
    files: Mapping[str, str | bytes],
    *,
    force: bool = False,
    marker: str = "modelDescription.xml",
    kind: str = "an FMU",
) -> Path:
    """The archive with these files; what is there already and is none of its kind, which ``marker`` is in, is
    replaced with ``force`` only.
    """
    if Path(path).is_dir():
        raise ArmillaryError(f"cannot save '{path}': there is a folder of that name; {kind} is one file")
    if Path(path).exists() and not flag(force, "force=") and not _holds(path, marker):
        raise ArmillaryError(
            f"cannot save '{path}': there is a file of that name that is not {kind}; name another, or "
            "replace it with force=True (--force)"
        )
    with replacing(path) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, _WHEN)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o755 if name.startswith("binaries/") else 0o644) << 16
            archive.writestr(entry, content)
    return Path(path)


def _holds(path: str | os.PathLike[str], name: str) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return name in archive.namelist()
    except (OSError, ValueError, zipfile.BadZipFile):
        return False
