"""A WebAssembly module from one relocatable object of LLVM.

An object has no memory and no stack pointer of its own (it imports them), its constants have no place, and
the numbers that refer to these are padded to five bytes, with a list of where they stand. Here the constants
get their places behind a stack, references are written in as few bytes as they need, and the functions that
a host calls are exported:

    memory   0 … stack          the stack, which grows down to zero
             stack … data_end   constants of the code
             data_end …         left to the host

Functions that code calls by their address are entries of a table, from 1 on in a stated order; an address is
the number of an entry.

Indices of functions, globals and types stay those of the object, since nothing else is linked with it.

Source: WebAssembly Core Specification 2.0, ch. 5; WebAssembly object file linking (tool-conventions).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

STACK = 1 << 15  # bytes of the usual stack
PAGE = 1 << 16

_HEAD = b"\0asm\x01\0\0\0"
_TYPE, _IMPORT, _FUNCTION, _TABLE, _MEMORY, _GLOBAL, _EXPORT, _ELEMENTS, _CODE, _DATA = (
    1,
    2,
    3,
    4,
    5,
    6,
    7,
    9,
    10,
    11,
)
_CUSTOM = 0
_SEGMENTS, _SYMBOLS = 5, 8  # parts of the section "linking"
_UNDEFINED, _NAMED = 0x10, 0x40  # of symbols
# Kinds of references, and what they refer to.
_FUNCTION_INDEX, _ADDRESS, _ADDRESS_SIGNED, _ADDRESS_PLAIN, _GLOBAL_INDEX = 0, 3, 4, 5, 7
_TYPE_INDEX, _TABLE_NUMBER = 6, 20  # of calls by address: the number of the type itself, and the one table
_ADDRESSES = (_ADDRESS, _ADDRESS_SIGNED, _ADDRESS_PLAIN)
_IN_CODE = (_FUNCTION_INDEX, _ADDRESS, _ADDRESS_SIGNED, _GLOBAL_INDEX, _TYPE_INDEX, _TABLE_NUMBER)
_PADDED = 5


@dataclass
class Reader:
    """Bytes, read from front to back."""

    data: bytes
    at: int = 0

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def whole(self, signed: bool = False) -> int:
        """A number of seven bits per byte (LEB128)."""
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value - (1 << shift) if signed and byte & 0x40 else value

    def take(self, count: int) -> bytes:
        self.at += count
        return self.data[self.at - count : self.at]

    def name(self) -> str:
        return self.take(self.whole()).decode()

    @property
    def left(self) -> bool:
        return self.at < len(self.data)


def whole(value: int) -> bytes:
    """A number that is not negative, seven bits per byte."""
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def signed(value: int) -> bytes:
    """A signed number, seven bits per byte."""
    found = bytearray()
    while not -0x40 <= value < 0x40:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value & 0x7F])


@dataclass(frozen=True)
class _Reference:
    """A number in the code or the data that depends on where something is placed."""

    kind: int
    at: int  # its place in the section
    symbol: int
    addend: int


@dataclass(frozen=True)
class _Symbol:
    name: str
    kind: int  # 0: function, 1: data, 2: global
    index: int  # of the function or the segment; −1: undefined data
    offset: int = 0  # in its segment


@dataclass
class _Object:
    """The parts of an object that a module is made of."""

    sections: dict[int, bytes] = field(default_factory=dict)
    symbols: list[_Symbol] = field(default_factory=list)
    alignments: list[int] = field(default_factory=list)  # of the segments, as powers of two
    code: list[_Reference] = field(default_factory=list)
    data: list[_Reference] = field(default_factory=list)


@dataclass(frozen=True)
class Linked:
    """A module that a host can load, and the first address that it leaves to the host."""

    code: bytes
    data_end: int
    imports: tuple[str, ...]  # functions of the host that it calls, "module.name"


def linked(
    code: bytes,
    exports: Sequence[str],
    hosts: Mapping[str, tuple[str, str]],
    room: int = 0,
    table: Sequence[str] = (),
    stack: int = STACK,
) -> Linked:
    """The module of an object with these functions exported, and ``room`` bytes of memory for the host;
    ``table`` are the functions that are called by address, and ``stack`` are the bytes of the stack.

    ``hosts`` are functions that the object does not define, each with the names of a module and a function
    of the host.
    """
    found = _read(code)
    imported, kinds = _imports(found, hosts)
    stack = -(-stack // 16) * 16
    places, segments, end = _placed(found, stack)
    values = [_value(s, places) for s in found.symbols]
    pages = -(-(end + room) // PAGE)
    bodies = [_body(found, body, values) for body in _functions(found)]
    by_name = {s.name: s.index for s in found.symbols if s.kind == 0}
    entries = [_text(name) + b"\0" + whole(by_name[name]) for name in exports]
    entries.append(_text("memory") + b"\x02\0")
    pieces = {
        _TYPE: found.sections[_TYPE],
        _IMPORT: _vector(kinds),
        _FUNCTION: found.sections[_FUNCTION],
        _TABLE: _vector([b"\x70\0" + whole(len(table) + 1)] if table else []),  # of functions
        _MEMORY: _vector([b"\0" + whole(pages)]),
        _GLOBAL: _vector([b"\x7f\x01\x41" + signed(stack) + b"\x0b"]),  # i32, mutable, i32.const
        _EXPORT: _vector(entries),
        _ELEMENTS: _vector(
            [b"\0\x41\x01\x0b" + _vector([whole(by_name[name]) for name in table])] if table else []
        ),  # from i32.const 1 on
        _CODE: _vector(bodies),
        _DATA: _vector([b"\0\x41" + signed(at) + b"\x0b" + whole(len(d)) + d for at, d in segments]),
    }
    filled = [bytes([kind]) + whole(len(p)) + p for kind, p in pieces.items() if p != b"\0"]
    return Linked(_HEAD + b"".join(filled), end, tuple(imported))


def _text(name: str) -> bytes:
    return whole(len(name.encode())) + name.encode()


def _vector(items: Sequence[bytes]) -> bytes:
    return whole(len(items)) + b"".join(items)


# ------------------------------------------------------------------------------------ reading an object


def _read(code: bytes) -> _Object:
    assert code.startswith(_HEAD), "not a WebAssembly object"
    found, reader = _Object(), Reader(code, len(_HEAD))
    while reader.left:
        kind = reader.byte()
        content = reader.take(reader.whole())
        if kind != _CUSTOM:
            found.sections[kind] = content
            continue
        part = Reader(content)
        name = part.name()
        if name == "linking":
            _read_linking(part, found)
        elif name in ("reloc.CODE", "reloc.DATA"):
            part.whole()  # the number of the section
            (found.code if name.endswith("CODE") else found.data).extend(_references(part))
    return found


def _references(part: Reader) -> Iterator[_Reference]:
    for _ in range(part.whole()):
        kind, at, symbol = part.byte(), part.whole(), part.whole()
        yield _Reference(kind, at, symbol, part.whole(signed=True) if kind in _ADDRESSES else 0)


def _read_linking(part: Reader, found: _Object) -> None:
    assert part.whole() == 2, "the version of the section 'linking'"
    while part.left:
        kind = part.byte()
        inside = Reader(part.take(part.whole()))
        if kind == _SEGMENTS:
            for _ in range(inside.whole()):
                inside.name()
                found.alignments.append(inside.whole())
                inside.whole()  # flags
        elif kind == _SYMBOLS:
            found.symbols.extend(_symbol(inside) for _ in range(inside.whole()))


def _symbol(inside: Reader) -> _Symbol:
    kind, flags = inside.byte(), inside.whole()
    if kind == 1:
        name = inside.name()
        if flags & _UNDEFINED:
            return _Symbol(name, kind, -1)
        index, offset, _ = inside.whole(), inside.whole(), inside.whole()
        return _Symbol(name, kind, index, offset)
    index = inside.whole()
    name = inside.name() if not flags & _UNDEFINED or flags & _NAMED else ""
    return _Symbol(name, kind, index)


# ------------------------------------------------------------------------------------ making a module


def _imports(found: _Object, hosts: Mapping[str, tuple[str, str]]) -> tuple[list[str], list[bytes]]:
    """Functions that the host gives, by name and as entries; memory and stack pointer become the module's."""
    reader, names, entries = Reader(found.sections.get(_IMPORT, b"\0")), [], []
    for _ in range(reader.whole()):
        reader.name()
        name, kind = reader.name(), reader.byte()
        if kind == 0:  # a function of a type
            assert name in hosts, f"no host has the function '{name}'"
            module, function = hosts[name]
            names.append(f"{module}.{function}")
            entries.append(_text(module) + _text(function) + b"\0" + whole(reader.whole()))
        elif kind == 2:  # memory, with its limits
            if reader.byte() & 1:
                reader.whole()
            reader.whole()
        elif kind == 1:  # the table, with its type and limits
            reader.byte()
            if reader.byte() & 1:
                reader.whole()
            reader.whole()
        else:
            assert kind == 3 and name == "__stack_pointer", f"an import of kind {kind}, '{name}'"
            reader.take(2)
    return names, entries


def _placed(found: _Object, stack: int) -> tuple[list[int], list[tuple[int, bytes]], int]:
    """The address of each segment, the segments with theirs, and where they end."""
    reader = Reader(found.sections.get(_DATA, b"\0"))
    places: list[int] = []
    segments: list[bytes] = []
    starts: list[int] = []
    end = stack
    for k in range(reader.whole()):
        assert reader.take(2) == b"\0\x41"  # of memory 0, at i32.const
        reader.whole(signed=True)
        assert reader.byte() == 0x0B
        size = reader.whole()
        starts.append(reader.at)
        segments.append(reader.take(size))
        align = 1 << found.alignments[k]
        end = -(-end // align) * align
        places.append(end)
        end += size
    values = [_value(s, places) for s in found.symbols]
    for r in found.data:  # addresses in data: of strings or tables of addresses
        assert r.kind == _ADDRESS_PLAIN, f"a reference of kind {r.kind} in data"
        k = max(i for i, start in enumerate(starts) if start <= r.at)
        at, patched = r.at - starts[k], bytearray(segments[k])
        patched[at : at + 4] = (values[r.symbol] + r.addend).to_bytes(4, "little")
        segments[k] = bytes(patched)
    return places, list(zip(places, segments, strict=True)), -(-end // 16) * 16


def _value(symbol: _Symbol, places: Sequence[int]) -> int:
    """The value of a symbol in the code: an index or an address."""
    if symbol.kind != 1:
        return symbol.index
    assert symbol.index >= 0, f"the object has no data '{symbol.name}'"
    return places[symbol.index] + symbol.offset


def _functions(found: _Object) -> Iterator[tuple[int, int]]:
    """Where the bodies of functions lie in the section of code."""
    reader = Reader(found.sections[_CODE])
    for _ in range(reader.whole()):
        size = reader.whole()
        yield reader.at, reader.at + size
        reader.take(size)


def _body(found: _Object, body: tuple[int, int], values: Sequence[int]) -> bytes:
    """A function with its references filled in, with its length before it."""
    code, (start, end) = found.sections[_CODE], body
    pieces, done = [], start
    for r in found.code:  # in the order of their places
        if not start <= r.at < end:
            continue
        assert r.kind in _IN_CODE, f"a reference of kind {r.kind}"
        value = r.symbol if r.kind == _TYPE_INDEX else values[r.symbol] + r.addend
        pieces += [code[done : r.at], signed(value) if r.kind == _ADDRESS_SIGNED else whole(value)]
        done = r.at + _PADDED
    made = b"".join([*pieces, code[done:end]])
    return whole(len(made)) + made
