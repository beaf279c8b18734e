"""What a shared library is made for and which functions it exports, read from its headers alone.

Sources: System V ABI, chapter 4 (ELF); Microsoft's PE format, sections "Optional Header" and
"The .edata Section"; Apple's mach-o/loader.h and fat.h.
"""

from __future__ import annotations

import struct

_ELF = {62: "x86_64", 183: "aarch64"}
_MACH = {0x01000007: "x86_64", 0x0100000C: "aarch64"}


def text(data: bytes, start: int) -> str:
    return data[start : data.index(b"\0", start)].decode()


def contents(data: bytes) -> dict[str, set[str]]:
    """Names of exported functions by platform; a universal file has several."""
    if data[:4] == b"\x7fELF":
        return elf(data)
    if data[:2] == b"MZ":
        return portable_executable(data)
    if data[:4] == b"\xca\xfe\xba\xbe":
        found: dict[str, set[str]] = {}
        for i in range(struct.unpack_from(">I", data, 4)[0]):
            offset, size, align = struct.unpack_from(">3I", data, 16 + 20 * i)
            assert offset % (1 << align) == 0
            found |= mach(data[offset : offset + size])
        return found
    return mach(data)


def elf(data: bytes) -> dict[str, set[str]]:
    kind, machine = struct.unpack_from("<2H", data, 16)
    assert kind == 3  # a shared object
    (first,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<2H", data, 58)
    sections = [struct.unpack_from("<2I4Q2I2Q", data, first + size * i) for i in range(count)]
    names: set[str] = set()
    for section in sections:
        if section[1] == 11:  # dynamic symbols
            strings = sections[section[6]][4]
            for at in range(section[4], section[4] + section[5], 24):
                name, info, other, place = struct.unpack_from("<IBBH", data, at)
                if (
                    info >> 4 == 1 and info & 15 == 2 and other & 3 == 0 and place
                ):  # global functions, defined here
                    names.add(text(data, strings + name))
    return {f"{_ELF[machine]}-linux": names}


def portable_executable(data: bytes) -> dict[str, set[str]]:
    (at,) = struct.unpack_from("<I", data, 60)
    assert data[at : at + 4] == b"PE\0\0"
    machine, count = struct.unpack_from("<2H", data, at + 4)
    optional, flags = struct.unpack_from("<2H", data, at + 20)
    assert machine == 0x8664 and flags & 0x2000  # x86-64, a DLL
    sections = [struct.unpack_from("<8s4I", data, at + 24 + optional + 40 * i) for i in range(count)]

    def place(address: int) -> int:
        for _, size, start, _, offset in sections:
            if start <= address < start + size:
                return offset + address - start
        raise AssertionError(address)

    (exports,) = struct.unpack_from("<I", data, at + 24 + 112)
    (count,) = struct.unpack_from("<I", data, place(exports) + 24)
    pointers = struct.unpack_from(
        f"<{count}I", data, place(struct.unpack_from("<I", data, place(exports) + 32)[0])
    )
    return {"x86_64-windows": {text(data, place(p)) for p in pointers}}


def mach(data: bytes) -> dict[str, set[str]]:
    magic, processor, _, kind, commands, _, _, _ = struct.unpack_from("<8I", data)
    assert magic == 0xFEEDFACF and kind == 6  # 64 bits, a dynamic library
    names: set[str] = set()
    signed, at = False, 32
    for _ in range(commands):
        command, size = struct.unpack_from("<2I", data, at)
        signed |= command == 0x1D
        if command == 2:  # LC_SYMTAB
            symbols, count, strings, _ = struct.unpack_from("<4I", data, at + 8)
            for i in range(count):
                name, type_, section = struct.unpack_from("<IBB", data, symbols + 16 * i)
                if type_ & 0x0F == 0x0F and section:  # external, not private, defined in a section
                    names.add(text(data, strings + name).removeprefix("_"))
        at += size
    assert signed or _MACH[processor] == "x86_64"  # Apple's own processors load signed libraries only
    return {f"{_MACH[processor]}-darwin": names}
