"""Results that took long to compute, mainly machine code, kept between processes by content.

A file holds one object file under the digest of all that decides it (the program's text, how it is compiled,
the processor, LLVM), or the choices of a search under the digest of its subject. So it is never wrong, only
absent: a process that cannot read or write it compiles. A file appears whole or not at all, and begins with a
digest of its content, so that neither two processes at once, nor a full disk, nor a damaged disk do harm.

``ARMILLARY_CACHE`` names another folder, or is "off". Machine code from a folder that others may write to
would be theirs to choose; the folder is made for this user alone.

Results that are kept as long as the object they were made for.
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

LARGEST = 512 * 2**20  # bytes kept; beyond, what was used least lately goes
SCAN = LARGEST // 8  # bytes written between two scans of the folder, each of which takes 14 µs per file
_SUFFIX = ".object"
_WRITTEN = "written"  # the file with the bytes written since the last scan
_OFF = ("off", "0", "no", "none", "false")


def folder() -> Path | None:
    """Return the folder of machine code; `None` if code is not kept."""
    named = os.environ.get("ARMILLARY_CACHE", "")
    try:
        place = Path(named) if named else _usual()
    except RuntimeError:  # a user without a home
        return None
    return None if named.lower() in _OFF or not _ours(place) else place


def _ours(place: Path) -> bool:
    """Return whether no other user can write machine code there: it is this user's folder, or does not exist
    yet.
    """
    try:
        about = place.stat()
    except OSError:
        return True
    # Windows has no such function.
    return not hasattr(os, "getuid") or (about.st_uid == os.getuid() and not about.st_mode & 0o022)


def _usual() -> Path:
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or str(Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = str(Path.home() / "Library" / "Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "armillary"


def digest(*parts: str) -> str:
    """Return the name under which something is kept."""
    made = hashlib.blake2b(digest_size=20)
    for part in parts:
        raw = part.encode()
        made.update(len(raw).to_bytes(8, "little"))
        made.update(raw)
    return made.hexdigest()


def fetch(name: str) -> bytes | None:
    """Return the data kept under a name; `None` if there are none, or damaged ones."""
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
        os.utime(path)  # used now: kept longer
    return content


def _checksum(name: str, content: bytes) -> bytes:
    """Return a checksum of a name and its content."""
    return hashlib.blake2b(content, digest_size=20, key=name.encode()).digest()


def keep(name: str, content: bytes) -> None:
    """Stores data under a name, if that is possible."""
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
    """Deletes all files that are kept, and returns their number."""
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
    """Bytes written since the last scan, with those just written; all of them, if there was no scan yet.

    Two processes that write at once may lose one's bytes, so that the scan comes a little later.
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
    """Return a function that makes its result once for each first argument, the owner, and hashable others.

    A result must not hold its owner, which would then never be freed. Threads that make the same one at the
    same time all have the first.
    """
    known: WeakKeyDictionary[Owner, dict[tuple[object, ...], Made]] = WeakKeyDictionary()

    @wraps(make)
    def find(owner: Owner, /, *others: Others.args, **named: Others.kwargs) -> Made:
        made = known.setdefault(owner, {})
        key = (*others, *named.items())
        return made[key] if key in made else made.setdefault(key, make(owner, *others, **named))

    return find
