"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from armillary.errors import ArmillaryError


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path beside `path`, which takes its place when the block ends well.

    When the block fails, or is interrupted, the temporary file is removed and whatever stood at `path` is
    untouched. A link is followed, so that the file it points to is the one replaced.
    """
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        folder = Path(path).parent
        raise ArmillaryError(f"cannot save '{path}': there is no folder '{folder}'; make it, or name another")
    temporary = target.with_name(f".armillary-{secrets.token_hex(6)}.tmp")
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())  # else a power failure could leave the new name on an empty file
        os.replace(temporary, target)
    except BaseException:
        with suppress(FileNotFoundError):
            temporary.unlink()
        raise
