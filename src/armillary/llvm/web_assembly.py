"""Programs and loops as WebAssembly, compiled in this process: LLVM's object code, linked here.

Read ``web_assembly`` at the end first. Before it are the functions of the C library that modules lack, and
the linker, which makes a module from an object file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import floor

from armillary.cache import digest, fetch, keep
from armillary.llvm import vector_math
from armillary.llvm.instructions import Instructions, real
from armillary.llvm.jit import LlvmObject, prepare_llvm, quick, translate_modules
from armillary.llvm.sines import PI_OVER_2, sine_cosine_function
from armillary.llvm.vector_math import ATAN_SERIES, PI_OVER_4

# The functions of C's library that generated code calls, for modules that have no such library.
#
# Elementary functions come from ``vector_math``, on single numbers. Sines, cosines and tangents of angles
# beyond 8·10⁵ and remainders are functions of the host (JavaScript's ``Math``). WebAssembly has no fused
# multiply-add. It is replaced by
#
#     a·b + c = (p + c) + e,   p + e = a·b without error (Dekker 1971)
#
# which has the same result if p + c is exact. The sum is exact wherever these functions use it: to subtract a
# product from a number near it, or to find the rounding error of a product. For products of a whole number n
# and π/2, in sines, π/2 is h + l with h of 33 bits, and (x − n·h) − n·l has no rounding for |n| < 2²⁰: all
# numbers are multiples of 2⁻⁵³, and the differences are below 1. All other operations of sine and cosine
# round products: errors are below 1.3 ulp, not 1, and derivatives of an arm take 0.9 of the time.

# Functions of the host: the name in the code, the host's module and function.
HOSTS = {
    "far_sin": ("Math", "sin"),
    "far_cos": ("Math", "cos"),
    "far_tan": ("Math", "tan"),
    "fmod": ("Math", "fmod"),
}
_LIBRARY = re.compile(r"call double @(sin|cos|tan)\((?=double %x\d)")  # calls with one lane of an argument
_SPLIT = 2.0**27 + 1.0
_FUSED = re.compile(r"@llvm\.fma\.(v(\d+))?f64")
_HIGH = floor(PI_OVER_2[0] * 2.0**32) * 2.0**-32  # the first 33 bits of π/2
_TURNS = re.compile(rf"@llvm\.fma\.((?:v\d+)?f64)\((?=[^\n,]*, [^\n,]*{real(-PI_OVER_2[0])})")
_SINES = re.compile(r"^define internal [^\n]*@sincos\w*\(.*?^\}", re.M | re.S)
_TURNED = re.compile(r"@turned_(?:v(\d+))?f64\(")
_LIKELY = '!0 = !{!"branch_weights", i32 2000, i32 1}'


@cache
def library_text() -> str:
    """Return the LLVM text of all library functions; LLVM drops functions that are not called."""
    parts = []
    for name in (*vector_math.UNARY, *vector_math.BINARY):
        if name == "atan":
            continue  # computed by atan2
        symbol, text = vector_math.function(name, 1)
        arguments = ("%x", "%y") if name in vector_math.BINARY else ("%x",)
        parts += [text, _single("rare_atan2" if name == "atan2" else name, symbol, arguments)]
    parts += [_atan2(), _ATAN, sine_cosine_function("sincos_one", 1)]
    parts += [_part(name, place) for place, name in enumerate(("sin", "cos"))]
    lines = dict.fromkeys(line for part in parts for line in part.split("\n") if line.startswith("declare"))
    rest = [line for part in parts for line in part.split("\n") if not line.startswith("declare")]
    return for_modules("\n".join([*lines, *rest, _LIKELY]))


def for_modules(text: str) -> str:
    """Return LLVM text without fused operations, and with calls of the host for large angles."""
    return _replace_fused_operations(_with_host(text))


def _with_host(text: str) -> str:
    """Replace the C library's functions for large angles by the host's."""
    text, count = _LIBRARY.subn(r"call double @far_\1(", text)
    return text + "".join(
        f"\ndeclare double @far_{f}(double) nounwind" for f in ("sin", "cos", "tan") if count
    )


def _single(name: str, symbol: str, arguments: tuple[str, ...]) -> str:
    """Return a function of numbers that calls a function of vectors."""
    taken = ", ".join(f"double {a}" for a in arguments)
    lines = [f"  {a}v = bitcast double {a} to <1 x double>" for a in arguments]
    passed = ", ".join(f"<1 x double> {a}v" for a in arguments)
    lines.append(f"  %v = call <1 x double> @{symbol}({passed})")
    lines.append("  %r = bitcast <1 x double> %v to double\n  ret double %r")
    body = "\n".join(lines)
    return f"define double @{name}({taken}) noinline nounwind {{\n{body}\n}}"


def _part(name: str, place: int) -> str:
    pair = "{ <1 x double>, <1 x double> }"
    return (
        f"define double @{name}(double %x) noinline nounwind {{\n  %xv = bitcast double %x to <1 x double>\n"
        f"  %b = call {pair} @sincos_one(<1 x double> %xv)\n  %v = extractvalue {pair} %b, {place}\n"
        "  %r = bitcast <1 x double> %v to double\n  ret double %r\n}"
    )


_ATAN = """\
define double @atan(double %x) nounwind {
  %r = call double @atan2(double %x, double 1.0)
  ret double %r
}"""


def _atan2() -> str:
    """Return a function for the angle of (x, y) within 1.5 ulp, from one rounded quotient.

    In ``atan2`` of vector_math.py the quotient is corrected, which takes twice as long without fused
    operations; it is called only if x and y are both tiny, or if one of them is huge or not finite.
    """
    v = Instructions(1, single=True)
    a, b = v.size("%y"), v.size("%x")
    above = v.compare("ogt", a, b)
    large, small = v.choose(above, a, b), v.choose(above, b, a)
    usual = v.both(v.compare("ogt", large, 2.0**-500), v.compare("olt", large, 2.0**500))
    v.lines.append(f"  br i1 {usual}, label %usual, label %rare\nrare:")
    rare = v.emit("call double @rare_atan2(double %y, double %x)")
    v.lines.append(f"  ret double {rare}\nusual:")
    near = v.compare("ogt", v.add(small, small), large)
    over = v.choose(near, v.sub(a, b), v.choose(above, v.neg(small), small))
    q = v.div(over, v.add(large, v.choose(near, small, 0.0)))
    z = v.mul(q, q)
    (high, low), half = PI_OVER_4, tuple(2 * part for part in PI_OVER_4)
    base = [v.choose(near, x, v.choose(above, y, 0.0)) for x, y in zip((high, low), half, strict=True)]
    tail = v.add(v.mul(v.mul(q, z), v.polynomial(z, ATAN_SERIES)), base[1])
    angle = v.add(base[0], v.add(q, tail))
    left = v.compare("olt", v.signed_as(1.0, "%x"), 0.0)
    angle = v.choose(left, v.sub(4 * high, v.sub(angle, 4 * low)), angle)
    text = v.function("atan2", ("%y", "%x"), v.real, v.signed_as(angle, "%y"), "")
    return text.replace("define internal", "define")


def _replace_fused_operations(text: str) -> str:
    """Replace LLVM's fused operations by calls to functions that are appended to the text."""
    text = _TURNS.sub(r"@turned_\1(", text)
    text = _SINES.sub(lambda body: body[0].replace("@llvm.fma.", "@llvm.fmuladd."), text)
    for lanes in {int(match[1] or 0) for match in _TURNED.finditer(text)}:
        text += "\n" + _reduction_function(lanes)
    found = {match[0]: int(match[2] or 0) for match in _FUSED.finditer(text)}
    for name, lanes in found.items():
        own = f"@fused_{lanes or 'single'}"
        text = re.sub(rf"declare [^\n]*{re.escape(name)}\([^\n]*\n", "", text).replace(f"{name}(", f"{own}(")
        text += "\n" + _fused_function(own, lanes)
    return text


def _reduction_function(lanes: int) -> str:
    """Return a function for x − n·π/2, with the arguments of a fused operation: n, −π/2, x."""
    v = Instructions(lanes or 1, single=not lanes)
    value = v.sub(v.sub("%x", v.mul("%n", _HIGH)), v.mul("%n", PI_OVER_2[0] - _HIGH))
    name = f"turned_{f'v{lanes}' if lanes else ''}f64"
    return v.function(name, ("%n", "%b", "%x"), v.real, value, "alwaysinline")


def _fused_function(name: str, lanes: int) -> str:
    """Return a function for a·b + c. Beyond 2⁹⁹⁶ the halves of a or b would overflow; but only elementary
    functions need fused operations, and they reduce their arguments first.
    """
    v = Instructions(lanes or 1, single=not lanes)
    product = v.mul("%a", "%b")
    value = v.add(v.add(product, "%c"), _product_error(v, product))
    return v.function(name[1:], ("%a", "%b", "%c"), v.real, value, "alwaysinline")


def _product_error(v: Instructions, product: str) -> str:
    """Emit the rounding error of a·b."""
    (a, a_low), (b, b_low) = _split(v, "%a"), _split(v, "%b")
    rest = v.sub(v.mul(a, b), product)
    rest = v.add(v.add(rest, v.mul(a, b_low)), v.mul(a_low, b))
    return v.add(rest, v.mul(a_low, b_low))


def _split(v: Instructions, x: str) -> tuple[str, str]:
    """Emit the upper and the lower half of the digits of a number (Veltkamp 1968)."""
    large = v.mul(x, _SPLIT)
    high = v.sub(large, v.sub(large, x))
    return high, v.sub(x, high)


# A WebAssembly module from one relocatable object of LLVM.
#
# An object file imports memory and stack pointer; its constants have no addresses, and references to them are
# padded to five bytes, with a list of their positions. The linker gives the constants addresses behind a
# stack, writes references with as few bytes as they need, and exports the functions that a host calls:
#
#     memory   0 … stack          the stack, which grows down to zero
#              stack … data_end   constants of the code
#              data_end …         free for the host
#
# Functions that code calls by address are entries of a table, from 1 on in a given order; their address is
# the index of the entry.
#
# Indices of functions, globals and types stay as in the object, since nothing else is linked with it.
#
# Source: WebAssembly Core Specification 2.0, ch. 5; WebAssembly object file linking (tool-conventions).

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
_UNDEFINED, _NAMED = 0x10, 0x40  # flags of symbols
# Kinds of references.
_FUNCTION_INDEX, _ADDRESS, _ADDRESS_SIGNED, _ADDRESS_PLAIN, _GLOBAL_INDEX = 0, 3, 4, 5, 7
_TYPE_INDEX, _TABLE_NUMBER = 6, 20  # for calls by address: the type's index, and the only table
_ADDRESSES = (_ADDRESS, _ADDRESS_SIGNED, _ADDRESS_PLAIN)
_IN_CODE = (_FUNCTION_INDEX, _ADDRESS, _ADDRESS_SIGNED, _GLOBAL_INDEX, _TYPE_INDEX, _TABLE_NUMBER)
_PADDED = 5


@dataclass
class Reader:
    """A reader of bytes from front to back."""

    data: bytes
    at: int = 0

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def whole(self, signed: bool = False) -> int:
        """Return a number of seven bits per byte (LEB128)."""
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
    """Return a non-negative number as bytes, seven bits each (LEB128)."""
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def signed_bytes(value: int) -> bytes:
    """Return a signed number as bytes, seven bits each (LEB128)."""
    found = bytearray()
    while not -0x40 <= value < 0x40:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value & 0x7F])


@dataclass(frozen=True)
class _Reference:
    """A number in code or data that depends on the placement of a symbol."""

    kind: int
    at: int  # its offset in the section
    symbol: int
    addend: int


@dataclass(frozen=True)
class _Symbol:
    name: str
    kind: int  # 0: function, 1: data, 2: global
    index: int  # of the function or the segment; −1: undefined data
    offset: int = 0  # in the segment


@dataclass
class _Object:
    """The parts of an object file from which a module is made."""

    sections: dict[int, bytes] = field(default_factory=dict)
    symbols: list[_Symbol] = field(default_factory=list)
    alignments: list[int] = field(default_factory=list)  # of the segments, as powers of two
    code: list[_Reference] = field(default_factory=list)
    data: list[_Reference] = field(default_factory=list)


@dataclass(frozen=True)
class Linked:
    """A module that a host can load, and the first address that is free for the host."""

    code: bytes
    data_end: int
    imports: tuple[str, ...]  # functions of the host that it calls, "module.name"


def link_module(
    code: bytes,
    exports: Sequence[str],
    hosts: Mapping[str, tuple[str, str]],
    room: int = 0,
    table: Sequence[str] = (),
    stack: int = STACK,
) -> Linked:
    """Return the module of an object file with exported functions.

    ``room`` is the memory in bytes for the host, ``table`` the functions that are called by address, and
    ``stack`` the bytes of the stack.

    ``hosts`` are functions that the object imports, each with the names of a module and a function
    of the host.
    """
    found = _read(code)
    imported, kinds = _imports(found, hosts)
    stack = -(-stack // 16) * 16
    places, segments, end = _place_segments(found, stack)
    values = [_value(s, places) for s in found.symbols]
    pages = -(-(end + room) // PAGE)
    bodies = [_body(found, body, values) for body in _function_extents(found)]
    by_name = {s.name: s.index for s in found.symbols if s.kind == 0}
    entries = [_text(name) + b"\0" + whole(by_name[name]) for name in exports]
    entries.append(_text("memory") + b"\x02\0")
    pieces = {
        _TYPE: found.sections[_TYPE],
        _IMPORT: _vector(kinds),
        _FUNCTION: found.sections[_FUNCTION],
        _TABLE: _vector([b"\x70\0" + whole(len(table) + 1)] if table else []),  # of functions
        _MEMORY: _vector([b"\0" + whole(pages)]),
        _GLOBAL: _vector([b"\x7f\x01\x41" + signed_bytes(stack) + b"\x0b"]),  # i32, mutable, i32.const
        _EXPORT: _vector(entries),
        _ELEMENTS: _vector(
            [b"\0\x41\x01\x0b" + _vector([whole(by_name[name]) for name in table])] if table else []
        ),  # from i32.const 1 on
        _CODE: _vector(bodies),
        _DATA: _vector([b"\0\x41" + signed_bytes(at) + b"\x0b" + whole(len(d)) + d for at, d in segments]),
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
    """Return the imported functions of the host, by name and as entries of the module's import section.

    Memory, table and stack are not imported: the module has its own.
    """
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


def _place_segments(found: _Object, stack: int) -> tuple[list[int], list[tuple[int, bytes]], int]:
    """Return the address of each segment, pairs of address and content, and the end of all."""
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
    for r in found.data:  # addresses within data, such as tables of addresses
        assert r.kind == _ADDRESS_PLAIN, f"a reference of kind {r.kind} in data"
        k = max(i for i, start in enumerate(starts) if start <= r.at)
        at, patched = r.at - starts[k], bytearray(segments[k])
        patched[at : at + 4] = (values[r.symbol] + r.addend).to_bytes(4, "little")
        segments[k] = bytes(patched)
    return places, list(zip(places, segments, strict=True)), -(-end // 16) * 16


def _value(symbol: _Symbol, places: Sequence[int]) -> int:
    """Return the value of a symbol in the code: an index or an address."""
    if symbol.kind != 1:
        return symbol.index
    assert symbol.index >= 0, f"the object has no data '{symbol.name}'"
    return places[symbol.index] + symbol.offset


def _function_extents(found: _Object) -> Iterator[tuple[int, int]]:
    """Yield start and end of the bodies of functions in the code section."""
    reader = Reader(found.sections[_CODE])
    for _ in range(reader.whole()):
        size = reader.whole()
        yield reader.at, reader.at + size
        reader.take(size)


def _body(found: _Object, body: tuple[int, int], values: Sequence[int]) -> bytes:
    """Return a function with its references filled in, preceded by its length."""
    code, (start, end) = found.sections[_CODE], body
    pieces, done = [], start
    for r in found.code:  # sorted by offset
        if not start <= r.at < end:
            continue
        assert r.kind in _IN_CODE, f"a reference of kind {r.kind}"
        value = r.symbol if r.kind == _TYPE_INDEX else values[r.symbol] + r.addend
        pieces += [code[done : r.at], signed_bytes(value) if r.kind == _ADDRESS_SIGNED else whole(value)]
        done = r.at + _PADDED
    made = b"".join([*pieces, code[done:end]])
    return whole(len(made)) + made


_TRIPLE = "wasm32-unknown-unknown"


def web_assembly(
    texts: Sequence[str],
    exports: Sequence[str],
    *,
    room: int = 0,
    apart: Sequence[str] = (),
    table: Sequence[str] = (),
    stack: int = 0,
) -> Linked:
    """Return modules of LLVM text as one WebAssembly module that exports some of their functions.

    ``room`` is the memory in bytes that the host needs behind the module's memory. Functions in ``apart`` are
    never inlined, which keeps the module small. Functions in ``table`` are called by their index in it, from
    1 on. The stack is ``stack`` bytes larger than usual.
    """

    import llvmlite

    kept = {*exports, *table}

    def adjust(module: LlvmObject) -> None:
        for function in module.functions:
            if function.name in apart:
                function.add_function_attribute("noinline")
            if not function.is_declaration and function.name not in kept:
                function.linkage = "internal"

    whole_texts = [*map(for_modules, texts), library_text()]
    level, names = ("quick" if quick() else "final"), (repr(sorted(kept)), repr(sorted(apart)))
    key = digest("object of a module", llvmlite.__version__, level, *names, *whole_texts)
    code = fetch(key)
    if code is None:
        code = translate_modules(whole_texts, *_builder(quick()), adjust)
        keep(key, code)
    return link_module(code, exports, HOSTS, room, table, STACK + stack)


@cache
def _builder(quick: bool) -> tuple[LlvmObject, LlvmObject]:
    """Return a target machine with vectors of 128 bits, and a pass builder, not optimising if ``quick``."""
    llvm = prepare_llvm()
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    level, speed = (0, 0) if quick else (3, 2)
    machine = llvm.Target.from_triple(_TRIPLE).create_target_machine(opt=level, features="+simd128")
    options = llvm.create_pipeline_tuning_options(speed_level=speed)
    options.loop_vectorization, options.slp_vectorization = False, False
    return machine, llvm.create_pass_builder(machine, options)
