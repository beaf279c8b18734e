"""Caches of results that take long to compute: files on disk, and results in memory per object.

The files are kept between processes. A file holds machine code or the choices of a search (as JSON). Its name
is a digest of everything that determines its content; for machine code these are the text of the program, the
options of compilation, the processor and the version of LLVM. A file is therefore never out of date. If it is
missing or cannot be read, the process computes the result again. A file appears whole or not at all, and
begins with a digest of its content, so simultaneous processes, a full disk or a damaged disk do no harm.

``ARMILLARY_CACHE`` names another folder; with the value "off" nothing is kept. The folder is made for this
user alone, and a folder that other users can write to is not used, since they could place machine code in it.

In memory, `kept_per_object` keeps results as long as the object for which they were made.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

LARGEST = 512 * 2**20  # most bytes kept; beyond, the least recently used files are deleted
SCAN = LARGEST // 8  # bytes written between two scans of the folder, each of which takes 14 µs per file
_SUFFIX = ".object"
_WRITTEN = "written"  # the file with the bytes written since the last scan
_OFF = ("off", "0", "no", "none", "false")


def folder() -> Path | None:
    """Return the folder of the files; `None` if none are kept."""
    named = os.environ.get("ARMILLARY_CACHE", "")
    try:
        place = Path(named) if named else _default_folder()
    except RuntimeError:  # a user without a home
        return None
    return None if named.lower() in _OFF or not _is_private(place) else place


def _is_private(place: Path) -> bool:
    """Return whether no other user can write to a folder, or it does not exist yet."""
    try:
        about = place.stat()
    except OSError:
        return True
    # Windows has no `getuid`, and this check is not made there.
    return not hasattr(os, "getuid") or (about.st_uid == os.getuid() and not about.st_mode & 0o022)


def _default_folder() -> Path:
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or str(Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = str(Path.home() / "Library" / "Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "armillary"


def digest(*parts: str) -> str:
    """Return the name under which a result is kept, from the texts that determine it."""
    made = hashlib.blake2b(digest_size=20)
    for part in parts:
        raw = part.encode()
        made.update(len(raw).to_bytes(8, "little"))
        made.update(raw)
    return made.hexdigest()


def fetch(name: str) -> bytes | None:
    """Return the data kept under a name; `None` if there are none or they are damaged."""
    place = folder()
    if place is None:
        return None
    path = place / f"{name}{_SUFFIX}"
    try:
        raw = path.read_bytes()
    except OSError:
        return None
    check, content = raw[:20], raw[20:]
    if _checksum(name, content) != check:
        with suppress(OSError):
            path.unlink()
        return None
    with suppress(OSError):
        os.utime(path)  # the time of last use: the files unused for longest are deleted first
    return content


def _checksum(name: str, content: bytes) -> bytes:
    """Return a checksum of a name and its content."""
    return hashlib.blake2b(content, digest_size=20, key=name.encode()).digest()


def keep(name: str, content: bytes) -> None:
    """Store data under a name; do nothing if the folder cannot be written."""
    place = folder()
    if place is None:
        return
    temporary = place / f"{secrets.token_hex(8)}.tmp"
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary.write_bytes(_checksum(name, content) + content)
        os.replace(temporary, place / f"{name}{_SUFFIX}")
    except OSError:
        with suppress(OSError):
            temporary.unlink()
        return
    if _count_new_bytes(place, len(content)) > SCAN:
        _prune(place)


def size() -> tuple[int, int]:
    """Return the number of files kept, and their bytes."""
    found = _entries(folder())
    return len(found), sum(length for _, length, _ in found)


def clear() -> int:
    """Delete all files that are kept, and return their number."""
    removed = 0
    for _, _, path in _entries(folder()):
        with suppress(OSError):
            path.unlink()
            removed += 1
    return removed


def _entries(place: Path | None) -> list[tuple[float, int, Path]]:
    """Return (last use, bytes, path) of all files, the longest unused first."""
    found = []
    with suppress(OSError):
        for path in place.iterdir() if place is not None else ():
            if path.suffix in (_SUFFIX, ".tmp"):
                with suppress(OSError):
                    about = path.stat()
                    found.append((about.st_mtime, about.st_size, path))
    return sorted(found)


def _count_new_bytes(place: Path, length: int) -> int:
    """Return the bytes written since the last scan, including the new ``length``; more than ``SCAN`` if there
    was no scan yet.

    If two processes write at once, the bytes of one may not be counted; the next scan is then a little later.
    """
    try:
        total = length + int((place / _WRITTEN).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return SCAN + 1
    _write_count(place, total)
    return total


def _write_count(place: Path, total: int) -> None:
    temporary = place / f"{secrets.token_hex(8)}.tmp"
    with suppress(OSError):
        temporary.write_text(str(total), encoding="ascii")
        os.replace(temporary, place / _WRITTEN)


def _prune(place: Path) -> None:
    entries = _entries(place)
    total = sum(length for _, length, _ in entries)
    for _, length, path in entries:
        if total + SCAN <= LARGEST:
            break
        with suppress(OSError):
            path.unlink()
        total -= length
    _write_count(place, 0)


Owner = TypeVar("Owner")
Others = ParamSpec("Others")
Made = TypeVar("Made")


def kept_per_object(
    make: Callable[Concatenate[Owner, Others], Made],
) -> Callable[Concatenate[Owner, Others], Made]:
    """Return ``make`` with a cache: it makes one result for each owner, its first argument, and each set of
    its other arguments, which must be hashable.

    A result must not refer to its owner, which would then never be freed. If several threads make the same
    result at once, all of them get the one that is stored first.
    """
    known: WeakKeyDictionary[Owner, dict[tuple[object, ...], Made]] = WeakKeyDictionary()

    @wraps(make)
    def find(owner: Owner, /, *others: Others.args, **named: Others.kwargs) -> Made:
        made = known.setdefault(owner, {})
        key = (*others, *named.items())
        return made[key] if key in made else made.setdefault(key, make(owner, *others, **named))

    return find
