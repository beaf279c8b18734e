"""Damaged files, made from good ones: what disks, editors, versions and carelessness do to a file.

Everything follows from the seed, so that a file that fails can be made again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

# Values of the wrong type, size or kind, each of which some reader somewhere has believed.
ODD = (
    b"nan", b"inf", b"-inf", b"1e400", b"-1", b"0", b"1e308", b"1e-320", b"99999999999999999999", b"true",
    b"''", b'""', b"[]", b"{}", b"[[1, 2], [3]]", b'"0.5 furlong"', b"0x7fffffff", b"1_000", b"2024-02-30",
    b"\xff\xfe", b"\x00", b"None", b"__import__('os')", b"${HOME}", b"../../etc/passwd", b"%n%s", b"'" * 3,
    b"1.2.3", b"q1", b"A.q1", b"t", b"1 2 3 4 5 6 7 8 9", b"&lt;", "ω̇".encode(), b"a" * 300, b"(" * 500,
    b"-" * 500 + b"1", b"1/0", b"0^-1", b"x^9999999", b"2^2^2^2^2^2", b"9" * 5000,
)  # fmt: skip
_NUMBER = re.compile(rb"-?\d+(?:\.\d*)?(?:e-?\d+)?")
_WORD = re.compile(rb"[A-Za-z_][A-Za-z_0-9.-]*")
_QUOTED = re.compile(rb"\"[^\"\n]*\"")


def flip_bits(data: bytes, rng: Random) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 20))):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def truncate(data: bytes, rng: Random) -> bytes:
    return data[: rng.randrange(len(data))]


def cut_out(data: bytes, rng: Random) -> bytes:
    first = rng.randrange(len(data))
    return data[:first] + data[first + rng.randrange(1, 2 + len(data) // 4) :]


def repeat_part(data: bytes, rng: Random) -> bytes:
    first = rng.randrange(len(data))
    part = data[first : first + rng.randrange(1, 200)]
    return data[:first] + part * rng.choice((2, 3, 200)) + data[first:]


def drop_line(data: bytes, rng: Random) -> bytes:
    lines = data.split(b"\n")
    del lines[rng.randrange(len(lines))]
    return b"\n".join(lines)


def double_line(data: bytes, rng: Random) -> bytes:
    lines = data.split(b"\n")
    place = rng.randrange(len(lines))
    return b"\n".join([*lines[: place + 1], *lines[place:]])


def swap_lines(data: bytes, rng: Random) -> bytes:
    lines = data.split(b"\n")
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[i], lines[j] = lines[j], lines[i]
    return b"\n".join(lines)


def _replace(pattern: re.Pattern[bytes], data: bytes, rng: Random, new: bytes) -> bytes:
    places = list(pattern.finditer(data))
    if not places:
        return data[::-1]
    found = rng.choice(places)
    return data[: found.start()] + new + data[found.end() :]


def odd_number(data: bytes, rng: Random) -> bytes:
    return _replace(_NUMBER, data, rng, rng.choice(ODD))


def odd_word(data: bytes, rng: Random) -> bytes:
    return _replace(_WORD, data, rng, rng.choice(ODD))


def odd_text(data: bytes, rng: Random) -> bytes:
    quote = rng.choice((b'"', b""))
    return _replace(_QUOTED, data, rng, quote + rng.choice(ODD).replace(b'"', b"") + quote)


def other_word(data: bytes, rng: Random) -> bytes:
    """One name of the file in the place of another."""
    words = _WORD.findall(data)
    return _replace(_WORD, data, rng, rng.choice(words)) if words else data[::-1]


def garbage(data: bytes, rng: Random) -> bytes:
    place = rng.randrange(len(data))
    return data[:place] + rng.randbytes(rng.randrange(1, 400)) + data[place:]


def other_encoding(data: bytes, rng: Random) -> bytes:
    text = data.decode("utf-8", "replace")
    return text.encode(rng.choice(("utf-16", "utf-32", "latin-1", "cp037")), "replace")


def nest(data: bytes, rng: Random) -> bytes:
    """Brackets or tags within each other, far deeper than any file has them."""
    place = rng.randrange(len(data))
    deep = rng.choice((b"[", b"{ a = ", b"(", b"<body>", b"a.", b"<default class='a'>"))
    return data[:place] + deep * rng.choice((50, 3000)) + data[place:]


def nothing_but(data: bytes, rng: Random) -> bytes:
    return rng.choice((b"", b"\n", b"\x00" * 100, rng.randbytes(1000), b"\xef\xbb\xbf" + data, data[::-1]))


KINDS: tuple[Callable[[bytes, Random], bytes], ...] = (
    flip_bits, truncate, cut_out, repeat_part, drop_line, double_line, swap_lines, odd_number, odd_number,
    odd_word, odd_text, other_word, garbage, other_encoding, nest, nothing_but,
)  # fmt: skip


def damaged(data: bytes, seed: int) -> bytes:
    """A damaged copy; mostly by one fault, sometimes by several."""
    rng = Random(seed)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        data = rng.choice(KINDS)(data or b"x", rng)
    return data


# Values in JSON of the wrong type, size or kind.
ODD_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1e308, float("nan"), float("inf"), 10**30, 1e-320, "", "x", "nan", "1 m",
    "\x00", [], {}, [[]], [1, 2], [None], [[1], [2, 3]], {"a": 1},
)  # fmt: skip


def _places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Keys to all that is in a value; of a list, its first five."""
    if place:
        yield place
    inner = (
        value.items() if isinstance(value, dict) else enumerate(value[:5]) if isinstance(value, list) else ()
    )
    for key, part in inner:
        yield from _places(part, (*place, key))


def _found(value: Any, place: tuple[Any, ...]) -> Any:
    for key in place:
        value = value[key]
    return value


def damaged_values(data: bytes, seed: int) -> bytes:
    """A copy of a file of JSON that is sound JSON with one or two wrong values: other types and lengths,
    missing keys, values of other keys.
    """
    rng = Random(seed)
    value = json.loads(data)
    for _ in range(rng.choice((1, 1, 2))):
        places = list(_places(value))
        if not places:
            break
        place = rng.choice(places)
        inside, key = _found(value, place[:-1]), place[-1]
        kind = rng.choice(("odd", "odd", "missing", "other", "longer"))
        if kind == "missing":
            del inside[key]
        elif kind == "other":
            inside[key] = json.loads(json.dumps(_found(value, rng.choice(places))))
        elif kind == "longer" and isinstance(inside, list):
            inside.append(inside[0])
        else:
            inside[key] = rng.choice(ODD_VALUES)
    return json.dumps(value).encode()
