"""The functions of C's library that generated code calls, for modules that have no such library.

Elementary functions are those of ``vector_math``, on single numbers. Sines, cosines and tangents of angles
beyond 8·10⁵ and remainders come from the host (JavaScript's ``Math``). WebAssembly has no product and sum
with one rounding; here

    a·b + c = (p + c) + e,   p + e = a·b without error (Dekker 1971)

which is the same number where p + c is exact. It is wherever these functions use it: they take from a number
the product that lies nearest to it, or from a product what it was rounded to. Where that product is one of a
whole number n and π/2, as for sines, π/2 is h + l with h of 33 bits, and (x − n·h) − n·l has no rounding for
|n| < 2²⁰: all of its numbers are multiples of 2⁻⁵³, and the differences are below 1. What follows of a sine
and cosine rounds products: errors are below 1.3 ulp in place of 1, and derivatives of an arm take 0.9 of the
time.
"""

from __future__ import annotations

import re
from math import floor

from armillary.llvm import vector_math
from armillary.llvm.instructions import Instructions, real
from armillary.llvm.mathematics.trigonometry import sine_cosine_function
from armillary.llvm.vector_math.angle import PI_OVER_4, SERIES
from armillary.llvm.vector_math.quarter_turns import PI_OVER_2

# Functions of the host: the name in the code, the host's module and function.
HOSTS = {
    "far_sin": ("Math", "sin"),
    "far_cos": ("Math", "cos"),
    "far_tan": ("Math", "tan"),
    "fmod": ("Math", "fmod"),
}
_LIBRARY = re.compile(r"call double @(sin|cos|tan)\((?=double %x\d)")  # on the lanes of an argument
_SPLIT = 2.0**27 + 1.0
_FUSED = re.compile(r"@llvm\.fma\.(v(\d+))?f64")
_HIGH = floor(PI_OVER_2[0] * 2.0**32) * 2.0**-32  # its first 33 bits
_TURNS = re.compile(rf"@llvm\.fma\.((?:v\d+)?f64)\((?=[^\n,]*, [^\n,]*{real(-PI_OVER_2[0])})")
_SINES = re.compile(r"^define internal [^\n]*@sincos\w*\(.*?^\}", re.M | re.S)
_TURNED = re.compile(r"@turned_(?:v(\d+))?f64\(")
_LIKELY = '!0 = !{!"branch_weights", i32 2000, i32 1}'


def library_text() -> str:
    """LLVM text of all functions; those that are not called are dropped when the module is linked."""
    parts = []
    for name in (*vector_math.UNARY, *vector_math.BINARY):
        if name == "atan":
            continue  # by atan2
        symbol, text = vector_math.function(name, 1)
        arguments = ("%x", "%y") if name in vector_math.BINARY else ("%x",)
        parts += [text, _single("rare_atan2" if name == "atan2" else name, symbol, arguments)]
    parts += [_atan2(), _ATAN, sine_cosine_function("sincos_one", 1)]
    parts += [_part(name, place) for place, name in enumerate(("sin", "cos"))]
    lines = dict.fromkeys(line for part in parts for line in part.split("\n") if line.startswith("declare"))
    rest = [line for part in parts for line in part.split("\n") if not line.startswith("declare")]
    return for_modules("\n".join([*lines, *rest, _LIKELY]))


def for_modules(text: str) -> str:
    """LLVM text that calls nothing but what modules have: the host far from zero, and no fused products."""
    return _without_fused(_with_host(text))


def _with_host(text: str) -> str:
    """Values far from zero, which functions with a name of "library" compute, are the host's."""
    text, count = _LIBRARY.subn(r"call double @far_\1(", text)
    return text + "".join(
        f"\ndeclare double @far_{f}(double) nounwind" for f in ("sin", "cos", "tan") if count
    )


def _single(name: str, symbol: str, arguments: tuple[str, ...]) -> str:
    """A function of numbers by one of vectors."""
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
    """The angle of (x, y) within 1.5 ulp, from one rounded quotient; see ``vector_math/angle.py``.

    That function's corrections of the quotient take twice as long where products and sums are not fused. It
    is called where x and y are both tiny, huge or not finite.
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
    tail = v.add(v.mul(v.mul(q, z), v.polynomial(z, SERIES)), base[1])
    angle = v.add(base[0], v.add(q, tail))
    left = v.compare("olt", v.signed_as(1.0, "%x"), 0.0)
    angle = v.choose(left, v.sub(4 * high, v.sub(angle, 4 * low)), angle)
    text = v.function("atan2", ("%y", "%x"), v.real, v.signed_as(angle, "%y"), "")
    return text.replace("define internal", "define")


def _without_fused(text: str) -> str:
    """LLVM text that calls functions of its own for products and sums with one rounding."""
    text = _TURNS.sub(r"@turned_\1(", text)
    text = _SINES.sub(lambda body: body[0].replace("@llvm.fma.", "@llvm.fmuladd."), text)
    for lanes in {int(match[1] or 0) for match in _TURNED.finditer(text)}:
        text += "\n" + _turned(lanes)
    found = {match[0]: int(match[2] or 0) for match in _FUSED.finditer(text)}
    for name, lanes in found.items():
        own = f"@fused_{lanes or 'single'}"
        text = re.sub(rf"declare [^\n]*{re.escape(name)}\([^\n]*\n", "", text).replace(f"{name}(", f"{own}(")
        text += "\n" + _fused(own, lanes)
    return text


def _turned(lanes: int) -> str:
    """x − n·π/2, with arguments of a product and sum: n, −π/2, x."""
    v = Instructions(lanes or 1, single=not lanes)
    value = v.sub(v.sub("%x", v.mul("%n", _HIGH)), v.mul("%n", PI_OVER_2[0] - _HIGH))
    name = f"turned_{f'v{lanes}' if lanes else ''}f64"
    return v.function(name, ("%n", "%b", "%x"), v.real, value, "alwaysinline")


def _fused(name: str, lanes: int) -> str:
    v = Instructions(lanes or 1, single=not lanes)
    product = v.mul("%a", "%b")
    value = v.add(v.add(product, "%c"), _lost(v, product))
    return v.function(name[1:], ("%a", "%b", "%c"), v.real, value, "alwaysinline")


def _lost(v: Instructions, product: str) -> str:
    """The rounding error of a·b."""
    (a, a_low), (b, b_low) = _split(v, "%a"), _split(v, "%b")
    rest = v.sub(v.mul(a, b), product)
    rest = v.add(v.add(rest, v.mul(a, b_low)), v.mul(a_low, b))
    return v.add(rest, v.mul(a_low, b_low))


def _split(v: Instructions, x: str) -> tuple[str, str]:
    """The upper and the lower half of the digits of a number (Veltkamp 1968)."""
    large = v.mul(x, _SPLIT)
    high = v.sub(large, v.sub(large, x))
    return high, v.sub(x, high)
