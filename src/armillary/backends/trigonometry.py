"""Sines and cosines of several angles at once, as LLVM code without calls.

Every angle x is reduced by the nearest multiple n of π/2, r + e = x − n·π/2, with π/2 in parts of 53, 33 and
53 bits (after Cody and Waite 1980). A fused multiplication takes n times the first from x without rounding:
the difference is a multiple of 2⁻⁵³ below 1. Then n times the second is exact for |n| < 2²⁰, and e is what r
loses by rounding and the third. The minimax polynomials of fdlibm (Sun Microsystems 1993, k_sin.c, k_cos.c)
give sin and cos of r + e, to first order in e, and n mod 4 tells which is which and their signs. Below 1 ulp
for |x| < 8·10⁵ (tested; without e it is up to 1.7); sin(−0) is +0. Any larger angle, infinity or NaN in the
group sends the whole group to the library's functions.

A library call takes one angle at a time and saves registers around it; here a vector holds all of a group's
angles.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

TWO_OVER_PI = 6.36619772367581382433e-01
PI_OVER_2 = (1.5707963267948966, 6.12323399538461e-17, 3.5215598651832e-27)
ROUND = 6755399441055744.0  # 1.5·2⁵²: adding it leaves the nearest whole number in the low bits
LIMIT = 8.0e5

SINE = (
    -1.66666666666666324348e-01,
    8.33333333332248946124e-03,
    -1.98412698298579493134e-04,
    2.75573137070700676789e-06,
    -2.50507602534068634195e-08,
    1.58969099521155010221e-10,
)
COSINE = (
    4.16666666666666019037e-02,
    -1.38888888888741095749e-03,
    2.48015872894767294178e-05,
    -2.75573143513906633035e-07,
    2.08757232129817482790e-09,
    -1.13596475577881948265e-11,
)


def real(value: float) -> str:
    """A double as LLVM writes it: its bits."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def sine_cosine_function(name: str, lanes: int) -> str:
    """LLVM code of {sines, cosines} name(angles) on vectors of ``lanes`` doubles."""
    return _Writer(name, lanes).text()


class _Writer:
    """Straight-line vector code, a line per operation."""

    def __init__(self, name: str, lanes: int) -> None:
        self.name = name
        self.lanes = lanes
        self.vector = f"<{lanes} x double>"
        self.bits = f"<{lanes} x i64>"
        self.lines: list[str] = []
        self.count = 0

    def emit(self, operation: str) -> str:
        self.count += 1
        name = f"%v{self.count}"
        self.lines.append(f"  {name} = {operation}")
        return name

    def splat(self, value: float) -> str:
        return "<" + ", ".join([f"double {real(value)}"] * self.lanes) + ">"

    def whole(self, value: int) -> str:
        return "<" + ", ".join([f"i64 {value}"] * self.lanes) + ">"

    def arithmetic(self, operation: str, a: str, b: str, flags: str = "contract ") -> str:
        return self.emit(f"{operation} {flags}{self.vector} {a}, {b}")

    def fused(self, a: str, b: str, c: str) -> str:
        """a·b + c with one rounding, on every machine."""
        v = self.vector
        return self.emit(f"call {v} @llvm.fma.v{self.lanes}f64({v} {a}, {v} {b}, {v} {c})")

    def fma(self, a: str, b: str, c: str) -> str:
        """a·b + c, fused where the machine can."""
        return self.arithmetic("fadd", self.arithmetic("fmul", a, b), c)

    def polynomial(self, z: str, z2: str, coefficients: Sequence[float]) -> str:
        """Six terms by pairs (Estrin), which takes half the time of Horner's rule from z to the value."""
        c = [self.splat(value) for value in coefficients]
        low, middle, high = (self.fma(c[i + 1], z, c[i]) for i in (0, 2, 4))
        return self.fma(self.fma(high, z2, middle), z2, low)

    def text(self) -> str:
        v, pair = self.vector, f"{{ {self.vector}, {self.vector} }}"
        self.reduction()
        sine, cosine = self.kernels()
        s, c = self.quadrant(sine, cosine)
        body = "\n".join(self.lines)
        return f"""
define internal {pair} @{self.name}({v} %x) alwaysinline nounwind {{
  %size = call {v} @llvm.fabs.v{self.lanes}f64({v} %x)
  %fits = fcmp olt {v} %size, {self.splat(LIMIT)}
  %all = call i1 @llvm.vector.reduce.and.v{self.lanes}i1(<{self.lanes} x i1> %fits)
  br i1 %all, label %fast, label %slow, !prof !0
fast:
{body}
  br label %done
slow:
  %ls = call {v} @{self.name}_library_sin({v} %x)
  %lc = call {v} @{self.name}_library_cos({v} %x)
  br label %done
done:
  %s = phi {v} [ {s}, %fast ], [ %ls, %slow ]
  %c = phi {v} [ {c}, %fast ], [ %lc, %slow ]
  %p0 = insertvalue {pair} undef, {v} %s, 0
  %p1 = insertvalue {pair} %p0, {v} %c, 1
  ret {pair} %p1
}}
{self.library("sin")}{self.library("cos")}
declare {v} @llvm.fabs.v{self.lanes}f64({v})
declare {v} @llvm.fma.v{self.lanes}f64({v}, {v}, {v})
declare i1 @llvm.vector.reduce.and.v{self.lanes}i1(<{self.lanes} x i1>)
"""

    def library(self, function: str) -> str:
        """The library's function on each lane: rare, so kept out of the way."""
        lines = []
        value = "undef"
        for i in range(self.lanes):
            lines.append(f"  %x{i} = extractelement {self.vector} %x, i64 {i}")
            lines.append(f"  %y{i} = call double @{function}(double %x{i})")
            lines.append(f"  %r{i} = insertelement {self.vector} {value}, double %y{i}, i64 {i}")
            value = f"%r{i}"
        body = "\n".join(lines)
        head = f"define internal {self.vector} @{self.name}_library_{function}({self.vector} %x)"
        return f"{head} noinline cold nounwind {{\n{body}\n  ret {self.vector} {value}\n}}\n"

    def reduction(self) -> None:
        scaled = self.arithmetic("fmul", "%x", self.splat(TWO_OVER_PI), "")
        self.shifted = self.arithmetic("fadd", scaled, self.splat(ROUND), "")
        n = self.arithmetic("fsub", self.shifted, self.splat(ROUND), "")
        first, second, third = (self.splat(-part) for part in PI_OVER_2)
        exact = self.fused(n, first, "%x")
        self.r = self.fma(n, second, exact)
        lost = self.fma(n, second, self.arithmetic("fsub", exact, self.r, ""))
        self.e = self.fma(n, third, lost)

    def kernels(self) -> tuple[str, str]:
        z = self.arithmetic("fmul", self.r, self.r)
        z2 = self.arithmetic("fmul", z, z)
        bend = self.fma(self.arithmetic("fmul", z, self.r), self.polynomial(z, z2, SINE), self.e)
        sine = self.arithmetic("fadd", self.r, bend, "")
        half = self.arithmetic("fmul", z, self.splat(0.5), "")
        w = self.arithmetic("fsub", self.splat(1.0), half, "")
        lost = self.arithmetic("fsub", self.arithmetic("fsub", self.splat(1.0), w, ""), half, "")
        lost = self.arithmetic("fsub", lost, self.arithmetic("fmul", self.r, self.e))
        rest = self.fma(z2, self.polynomial(z, z2, COSINE), lost)
        return sine, self.arithmetic("fadd", w, rest, "")

    def quadrant(self, sine: str, cosine: str) -> tuple[str, str]:
        """sin and cos of x from those of r: exchanged where n is odd, signs from bit 1 of n and of n + 1."""
        n = self.emit(f"bitcast {self.vector} {self.shifted} to {self.bits}")
        odd = self.emit(f"trunc {self.bits} {n} to <{self.lanes} x i1>")
        chosen = f"select <{self.lanes} x i1> {odd}, {self.vector}"
        s = self.emit(f"{chosen} {cosine}, {self.vector} {sine}")
        c = self.emit(f"{chosen} {sine}, {self.vector} {cosine}")
        next_n = self.emit(f"add {self.bits} {n}, {self.whole(1)}")
        return self.signed(s, n), self.signed(c, next_n)

    def signed(self, value: str, n: str) -> str:
        """The value with its sign changed where bit 1 of n is set."""
        bit = self.emit(f"and {self.bits} {n}, {self.whole(2)}")
        sign = self.emit(f"shl {self.bits} {bit}, {self.whole(62)}")
        raw = self.emit(f"bitcast {self.vector} {value} to {self.bits}")
        flipped = self.emit(f"xor {self.bits} {raw}, {sign}")
        return self.emit(f"bitcast {self.bits} {flipped} to {self.vector}")
