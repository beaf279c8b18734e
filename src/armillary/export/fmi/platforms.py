"""Platforms for which an FMU holds libraries, named as in FMI 3.0, and the folders where tools look for them.

FMI 3.0.1, section 2.5.1.3, names a folder after processor and system. FMI 2.0.4, section 2.3, names folders
of x86 machines only. FMPy looks on every 64-bit machine in linux64, win64 or darwin64, so in FMI 2.0

    darwin64        has a library for both processors of macOS in one file, which the system takes apart,
    linux64         has that of x86-64; that of aarch64 where there is no other,
    aarch64-linux   has that of aarch64, for tools that use the names of FMI 3.0 in both versions.
"""

from __future__ import annotations

import platform
import struct
import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from armillary.algebra.arguments import checked_names
from armillary.errors import ArmillaryError


class Platform(NamedTuple):
    """A platform: its target in the terms of LLVM, the ending of libraries, and their folder in FMI 2.0."""

    target: str
    suffix: str
    folder: str


PLATFORMS = {
    "x86_64-linux": Platform("x86_64-linux-gnu.2.17", ".so", "linux64"),
    "aarch64-linux": Platform("aarch64-linux-gnu.2.17", ".so", "aarch64-linux"),
    "x86_64-windows": Platform("x86_64-windows-gnu", ".dll", "win64"),
    "x86_64-darwin": Platform("x86_64-macos.11.0", ".dylib", "darwin64"),
    "aarch64-darwin": Platform("aarch64-macos.11.0", ".dylib", "darwin64"),
}

_PROCESSORS = {"amd64": "x86_64", "x86_64": "x86_64", "arm64": "aarch64", "aarch64": "aarch64"}
_SYSTEMS = {"linux": "linux", "darwin": "darwin", "win32": "windows"}


def this_platform() -> str:
    """The platform of this machine."""
    processor = _PROCESSORS.get(platform.machine().lower(), "")
    name = f"{processor}-{_SYSTEMS.get(sys.platform, '')}"
    if name not in PLATFORMS:
        raise ArmillaryError(
            f"there is no name for libraries of this machine ({sys.platform}, {platform.machine()}) among "
            f"{', '.join(PLATFORMS)}; export with binary=False for an FMU of sources alone"
        )
    return name


def chosen_platforms(given: object) -> tuple[str, ...]:
    """Platforms by name: "all", one, or several; each once, in the order of `PLATFORMS`."""
    if given == "all":
        return tuple(PLATFORMS)
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise ArmillaryError(
            f'platforms={given!r} is neither "all" nor a list of names: {", ".join(PLATFORMS)}'
        )
    chosen = checked_names(names, PLATFORMS, "unknown platform", listed=True)
    return tuple(name for name in PLATFORMS if name in chosen)


def folders(version: str, name: str) -> tuple[str, ...]:
    """Folders of an FMU in which a library for a platform may be, the first that is there to be taken."""
    if version == "3.0":
        return (f"binaries/{name}",)
    own = PLATFORMS[name].folder
    return (f"binaries/{own}", *(("binaries/linux64",) if name == "aarch64-linux" else ()))


def placed(version: str, stem: str, libraries: Mapping[str, bytes]) -> dict[str, bytes]:
    """The libraries of an FMU by their place in it, from those of each platform."""
    found: dict[str, bytes] = {}
    for name, library in libraries.items():
        for folder in folders(version, name):
            place = f"{folder}/{stem}{PLATFORMS[name].suffix}"
            if folder == "binaries/darwin64" and place in found:
                found[place] = universal([found[place], library])
            else:
                found.setdefault(place, library)
    return found


_PAGE = 1 << 14  # bytes to which parts of a universal file are aligned, those of a page of Apple's processors


def universal(parts: Sequence[bytes]) -> bytes:
    """Libraries of several processors of macOS in one file: a fat header, then each (mach-o/fat.h)."""
    offset = _PAGE
    head = struct.pack(">2I", 0xCAFEBABE, len(parts))
    body = b""
    for part in parts:
        processor, kind = struct.unpack_from("<2I", part, 4)
        head += struct.pack(">5I", processor, kind, offset + len(body), len(part), 14)
        body += part + b"\0" * (-len(part) % _PAGE)
    return head + b"\0" * (offset - len(head)) + body
