"""Texts of functions of vectors in C, for GCC and Clang.

The code of arctangents, and of sines and cosines of moderate angles, is translated line by line from
llvm/vector_math.py; sums that fused operations would round once are written without them. Choices and
comparisons are on the bits of whole vectors.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence

from armillary.llvm.instructions import Instructions
from armillary.llvm.sines import ROUND, TWO_OVER_PI, short_remainder, sine_of_remainder
from armillary.llvm.vector_math import atan

WIDTHS = (2, 4)


def sine(v: Instructions, x: str) -> str:
    """Emit sin x as ``near_sine`` of llvm/sines.py does, by multiples of π in short parts."""
    shifted = _whole(v, v.fma(x, TWO_OVER_PI / 2, ROUND))
    return _turned_sine(v, x, shifted, v.sub(shifted, ROUND))


def cosine(v: Instructions, x: str) -> str:
    """Emit cos x as ``near_cosine`` of llvm/sines.py does, by odd multiples of π/2 in short parts."""
    shifted = _whole(v, v.add(v.fma(x, TWO_OVER_PI / 2, 0.5), ROUND))
    return _turned_sine(v, x, shifted, v.sub(v.sub(shifted, ROUND), 0.5))


def _whole(v: Instructions, shifted: str) -> str:
    """Emit a value so that no compiler cancels ROUND, which was added and is subtracted again later.

    An integer operation without effect hides the sum from compilers that reorder sums.
    """
    return v.as_reals(v.integer("or", v.as_bits(shifted), 0x433 << 52))


def _turned_sine(v: Instructions, x: str, shifted: str, turns: str) -> str:
    """Emit sin r with the sign of (−1)ⁿ, r = x − π turns, n in the last bit of ``shifted``."""
    r, e = short_remainder(v, x, turns, 2.0)
    return sine_of_remainder(v, v.sub(r, e), shifted)


_EMITTED: dict[str, Callable[[Instructions, str], str]] = {"atan": atan, "sine": sine, "cosine": cosine}
_COMPARED = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
ELEMENTARY = {"atan": "atan", "sin": "sine", "cos": "cosine"}  # by the names of functions in equations
ON_BITS = frozenset((*_COMPARED, "select", "and", "or", "not"))


def name_of(function: str, lanes: int) -> str:
    """Return the name in C of a function of vectors."""
    return f"{function}_of_{lanes}"


RESERVED = tuple(
    name_of(f, lanes)
    for f in (*_EMITTED, *ON_BITS, "greater", "lesser", "size", "chosen", "truth")
    for lanes in WIDTHS
)


def vector_functions(code: str) -> str:
    """Return the functions of vectors that a text calls, directly or through other such functions."""
    found = []
    for lanes in WIDTHS:
        texts = {name_of(f, lanes): text for f, text in _texts(lanes).items()}
        called: dict[str, None] = {}
        for name in reversed(texts):  # functions stand after those that they call
            if any(f"{name}(" in text for text in (code, *(texts[n] for n in called))):
                called[name] = None
        found += [texts[name] for name in texts if name in called]
    return "\n".join(found)


def _texts(lanes: int) -> dict[str, str]:
    """Return the texts of all functions of vectors with this number of lanes, by name."""
    v, b = f"lanes_{lanes}", f"bits_{lanes}"

    def small(function: str, arguments: str, value: str, kind: str = v) -> str:
        taken = ", ".join(f"{v} {a}" for a in arguments.split())
        return f"SMALL {kind} {name_of(function, lanes)}({taken}) {{ return {value}; }}\n"

    chosen, truth = name_of("chosen", lanes), name_of("truth", lanes)
    texts = {
        "chosen": f"SMALL {v} {chosen}({b} mask, {v} a, {v} b)\n"
        f"{{\n    return ({v})((mask & ({b})a) | (~mask & ({b})b));\n}}\n",
        "truth": f"SMALL {v} {truth}({b} mask) {{ return {chosen}(mask, ({v}){{0}} + 1.0, ({v}){{0}}); }}\n",
        "size": small("size", "a", f"({v})(({b})a & 0x7fffffffffffffffLL)"),
        "greater": small("greater", "a b", f"{chosen}((a > b) | (a != a), a, b)"),
        "lesser": small("lesser", "a b", f"{chosen}((a < b) | (a != a), a, b)"),
        "select": small("select", "c a b", f"{chosen}(c != 0.0, a, b)"),
        "not": small("not", "a", f"{truth}(a == 0.0)"),
        "and": small("and", "a b", f"{truth}((a != 0.0) & (b != 0.0))"),
        "or": small("or", "a b", f"{truth}((a != 0.0) | (b != 0.0))"),
    }
    texts |= {f: small(f, "a b", f"{truth}(a {sign} b)") for f, sign in _COMPARED.items()}
    return texts | {f: _translate_function(f, lanes) for f in _EMITTED}


# Lines of LLVM code in C; T is the type of vectors.
_TRANSLATIONS = [
    (re.compile(form.replace("T", r"<\d x \w+>").replace("$", r"(%\w+|splat \(\w+ \w+\))") + "$"), text)
    for form, text in (
        ("fadd (?:contract )?T $, $", "{0} + {1}"),
        ("fsub (?:contract )?T $, $", "{0} - {1}"),
        ("fmul (?:contract )?T $, $", "{0} * {1}"),
        ("fdiv (?:contract )?T $, $", "{0} / {1}"),
        (r"call T @llvm\.fmuladd\.v\df64\(T $, T $, T $\)", "{0} * {1} + {2}"),
        (r"call T @llvm\.fabs\.v\df64\(T $\)", "size_of_@({0})"),
        ("fcmp ole T $, $", "{0} <= {1}"),
        ("fcmp ogt T $, $", "{0} > {1}"),
        ("select T $, T $, T $", "chosen_of_@({0}, {1}, {2})"),
        ("bitcast <. x double> $ to T", "(bits_@){0}"),
        ("bitcast <. x i64> $ to T", "(lanes_@){0}"),
        ("xor T $, $", "{0} ^ {1}"),
        ("or T $, $", "{0} | {1}"),
        ("shl T $, $", "{0} << {1}"),
    )
]


def _translate_function(function: str, lanes: int) -> str:
    """Return a function of vectors in C, from its code in LLVM's language."""
    v = Instructions(lanes)
    result = _EMITTED[function](v, "%x")
    lines = [f"static inline lanes_{lanes} {name_of(function, lanes)}(lanes_{lanes} x)", "{"]
    for line in v.lines:
        name, _, operation = line.strip().partition(" = ")
        text, given = _translate_operation(operation)
        masks = operation.startswith(("fcmp", "xor", "or", "shl")) or operation.endswith("i64>")
        value = text.format(*(_operand(word, lanes) for word in given)).replace("@", str(lanes))
        lines.append(f"    const {'bits' if masks else 'lanes'}_{lanes} {name[1:]} = {value};")
    return "\n".join([*lines, f"    return {result[1:]};", "}", ""])


def _translate_operation(operation: str) -> tuple[str, Sequence[str]]:
    for form, text in _TRANSLATIONS:
        if found := form.fullmatch(operation):
            return text, found.groups()
    raise TypeError(f"no translation to C of the operation '{operation}'")


def _operand(word: str, lanes: int) -> str:
    """Return an operand in C: a name, a number in all lanes, or a whole number."""
    if word[0] == "%":
        return word[1:]
    kind, number = word.removeprefix("splat (").rstrip(")").split()
    if kind == "i64":
        return f"{number}LL" if int(number) > 63 else number
    value = repr(struct.unpack(">d", bytes.fromhex(number[2:]))[0])
    return f"(lanes_{lanes}){{{', '.join([value] * lanes)}}}"
