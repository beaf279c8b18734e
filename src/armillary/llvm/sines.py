"""Sines and cosines of vectors of angles of any size, as LLVM code without calls."""

from __future__ import annotations

from functools import cache

from armillary.llvm.instructions import Instructions, Operand, real
from armillary.program.packs import LARGEST_ANGLE

# Reduction of angles by their nearest multiple of π/2, on vectors, for sine, cosine and tangent.
#
# An angle x is reduced to r − e = x − n·π/2, where π/2 is the sum of three parts of 53, 33 and 53 bits (after
# Cody and Waite 1980). A fused multiplication subtracts n times the first part. The difference is exact,
# since it is a multiple of 2⁻⁵³ below 1. The product of n and the second part is exact for |n| < 2²⁰. e is
# the sum of the rounding error of r and n times the third part.

TWO_OVER_PI = 6.36619772367581382433e-01
PI_OVER_2 = (1.5707963267948966, 6.12323399538461e-17, 3.5215598651832e-27)
ROUND = 6755399441055744.0  # 1.5·2⁵²: adding it leaves the nearest whole number in the low bits
SHORT_PARTS = (1.57079632673412561417, 6.07710050630396597660e-11, 2.02226624879595063154e-21)
LIMIT = LARGEST_ANGLE  # larger angles need other code


def within_limit(v: Instructions, x: str) -> str:
    """Emit the mask of angles below LIMIT."""
    return v.compare("olt", v.size(x), LIMIT)


def reduce_angle(v: Instructions, x: str, third: Operand = PI_OVER_2[2]) -> tuple[str, str, str]:
    """Emit ROUND + n, whose last bits are those of n, and the numbers r and e with x = n·π/2 + r − e."""
    shifted = v.fma(x, TWO_OVER_PI, ROUND)
    n = v.sub(shifted, ROUND)
    first, second, _ = PI_OVER_2
    exact = v.fused_product_sum(n, -first, x)
    more = v.mul(n, second)  # exact, so r rounds as with a fused operation, but with less latency
    r = v.sub(exact, more)
    lost = v.add(v.sub(r, exact), more)
    return shifted, r, v.fma(n, third, lost)


def reduced_by_short_parts(v: Instructions, x: str, shifted: str) -> tuple[str, str]:
    """Emit r and e, exact also without fused operations.

    Parts of π/2 have 33, 33 and 53 bits, so products with the first two are exact. ``shifted`` is 2x/π +
    ROUND.
    """
    return short_remainder(v, x, v.sub(shifted, ROUND))


def short_remainder(v: Instructions, x: str, n: str, unit: float = 1.0) -> tuple[str, str]:
    """Emit r and e of r − e = x − n·unit·π/2 as in `reduced_by_short_parts`; ``unit`` is a power of two."""
    first, second, third = (unit * part for part in SHORT_PARTS)
    exact = v.fma(n, -first, x)
    more = v.mul(n, second)
    r = v.sub(exact, more)
    return r, v.fma(n, third, v.add(v.sub(r, exact), more))


def odd(v: Instructions, n: str) -> str:
    """Emit the mask of odd whole numbers."""
    return v.emit(f"icmp slt {v.bits} {v.integer('shl', n, 63)}, {v.types.whole(0)}")


# Angles beyond LIMIT are replaced by equivalent small ones, after Payne and Hanek (1983).
#
# An angle x = m·2ᴱ, with a whole m below 2⁵³, is x/2π turns. Only the bits of 1/2π from 2⁻ᴱ on determine the
# fraction of a turn; the product of 192 of these bits with m has 128 correct bits. The angle within its turn
# is a double x' plus a rest e. It is chosen between 3/8 and 11/8 of a turn, so that n, the nearest number of
# quarter turns, is at least 2. The quotient e/n is subtracted from the third part of π/2. So sines of x' use
# n·third − e instead of n·third, and usual angles need no further operation.

_WORDS = 21  # of 64 bits: a zero, then the bits of 1/2π that the largest exponent needs

_TEXT = """
@turns = internal constant [{words} x i64] [{table}], align 64
declare i64 @llvm.fshl.i64(i64, i64, i64)
declare double @llvm.fma.f64(double, double, double)
declare double @llvm.fmuladd.f64(double, double, double)
define internal void @far_angle(double %x, ptr %angle, ptr %third) noinline optnone cold nounwind {{
  %bits = bitcast double %x to i64
  %size = shl i64 %bits, 1
  %near = icmp ult i64 %size, {limit}
  br i1 %near, label %usual, label %far
usual:
  store double %x, ptr %angle
  store double {part}, ptr %third
  ret void
far:
  %exponent = lshr i64 %size, 53
  %finite = icmp ult i64 %exponent, 2047
  %given = select i1 %finite, i64 %exponent, i64 1046
  %fraction = and i64 %bits, 4503599627370495
  %m = or i64 %fraction, 4503599627370496
  %begin = sub i64 %given, 1011
  %word = lshr i64 %begin, 6
  %offset = and i64 %begin, 63
{loads}
  %m_ = zext i64 %m to i128
  %f1 = zext i64 %s1 to i128
  %f2 = zext i64 %s2 to i128
  %p1 = mul i128 %m_, %f1
  %p2 = mul i128 %m_, %f2
  %carried = lshr i128 %p2, 64
  %p0 = mul i64 %m, %s0
  %upper = zext i64 %p0 to i128
  %raised = shl i128 %upper, 64
  %most = add i128 %raised, %p1
  %product = add i128 %most, %carried
  %back = sub i128 0, %product
  %negative = icmp slt i64 %bits, 0
  %turn = select i1 %negative, i128 %back, i128 %product
  %first = lshr i128 %turn, 76
  %high = trunc i128 %first to i64
  %second = lshr i128 %turn, 23
  %middle = trunc i128 %second to i64
  %low = and i64 %middle, 9007199254740991
  %h = uitofp i64 %high to double
  %h1 = fmul double %h, {high_unit}
  %early = fcmp olt double %h1, {least}
  %whole = select i1 %early, double {one}, double {zero}
  %a = fadd double %h1, %whole
  %l = uitofp i64 %low to double
  %b = fmul double %l, {low_unit}
  %p = fmul double %a, {tau}
  %minus = fneg double %p
  %lost = call double @llvm.fma.f64(double %a, double {tau}, double %minus)
  %more = call double @llvm.fma.f64(double %a, double {tau_rest}, double %lost)
  %q = call double @llvm.fma.f64(double %b, double {tau}, double %more)
  %sum = fadd double %p, %q
  %gone = fsub double %p, %sum
  %e = fadd double %gone, %q
  %shifted = call double @llvm.fmuladd.f64(double %sum, double {two_over_pi}, double {round})
  %n = fsub double %shifted, {round}
  %share = fdiv double %e, %n
  %corrected = fsub double {part}, %share
  %none = fsub double %x, %x
  %found = select i1 %finite, double %sum, double %none
  store double %found, ptr %angle
  store double %corrected, ptr %third
  ret void
}}
define internal void @far_angles(ptr %state, i64 %count, ptr %places, ptr %angles, ptr %thirds) noinline optnone cold nounwind {{
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %more, %next ]
  %p = getelementptr inbounds i32, ptr %places, i64 %i
  %place = load i32, ptr %p
  %from = getelementptr inbounds double, ptr %state, i32 %place
  %x = load double, ptr %from, align 8
  %angle = getelementptr inbounds double, ptr %angles, i32 %place
  %third = getelementptr inbounds double, ptr %thirds, i64 %i
  call void @far_angle(double %x, ptr %angle, ptr %third)
  %more = add i64 %i, 1
  %left = icmp ult i64 %more, %count
  br i1 %left, label %next, label %end
end:
  ret void
}}
"""  # noqa: E501


@cache
def far_angle_function() -> str:
    """Return LLVM code of two functions that replace large angles.

    void far_angle(x, ptr angle, ptr third) stores an angle below LIMIT that has the same sine and cosine as
    x, and the third part of π/2 to use with it. void far_angles(ptr state, count, ptr places, ptr angles,
    ptr thirds) does the same for ``count`` elements of a state, whose indices are in ``places``.
    """
    size = 64 * _WORDS
    turns = (1 << 2 * size) // _two_pi(size) >> 64  # the first word is before the binary point
    table = [turns >> 64 * (_WORDS - 1 - i) & (1 << 64) - 1 for i in range(_WORDS)]
    lines = []
    for i in range(4):
        lines += [
            f"  %i{i} = add i64 %word, {i}",
            f"  %a{i} = getelementptr inbounds i64, ptr @turns, i64 %i{i}",
            f"  %w{i} = load i64, ptr %a{i}, align 8",
        ]
    for i in range(3):
        lines.append(f"  %s{i} = call i64 @llvm.fshl.i64(i64 %w{i}, i64 %w{i + 1}, i64 %offset)")
    tau, rest = 2 * PI_OVER_2[0] * 2, (PI_OVER_2[1] + PI_OVER_2[2]) * 4
    return _TEXT.format(
        words=_WORDS,
        table=", ".join(f"i64 {_signed_word(w)}" for w in table),
        limit=2 * int(real(LIMIT), 16),
        loads="\n".join(lines),
        part=real(PI_OVER_2[2]),
        high_unit=real(2.0**-52),
        low_unit=real(2.0**-105),
        least=real(0.375),
        one=real(1.0),
        zero=real(0.0),
        tau=real(tau),
        tau_rest=real(rest),
        two_over_pi=real(TWO_OVER_PI),
        round=real(ROUND),
    )


def _two_pi(bits: int) -> int:
    """Return 2π·2ᵇⁱᵗˢ, by Machin's formula π/4 = 4 arctan 1/5 − arctan 1/239."""
    unit = 1 << bits + 64
    return 8 * (4 * _arctangent(5, unit) - _arctangent(239, unit)) >> 64


def _arctangent(inverse: int, unit: int) -> int:
    total, power, n = 0, unit // inverse, 0
    while power:
        total += (-power if n % 2 else power) // (2 * n + 1)
        power //= inverse * inverse
        n += 1
    return total


def _signed_word(word: int) -> int:
    return word - (1 << 64) if word >> 63 else word


# Sines and cosines of vectors of angles.
#
# Every angle is reduced by the nearest multiple n of π/2 to r − e (above). With
# w = −(r − e)²/2 and z = r² the minimax polynomials of fdlibm (Sun Microsystems 1993, k_sin.c, k_cos.c) give
#
#     sin(r − e) = r − (e + r·w·S(z)),     cos(r − e) = 1 + w·(1 + w·C(z)),
#
# and n mod 4 determines which of the two is the sine, and the signs. Errors are below 1 ulp for |x| < 8·10⁵
# (tested; without e up to 1.7 ulp). S and C do not use e. This changes results by less than 0.01 ulp, and
# shortens the longest chain of dependent operations by 10 cycles in code with few angles. A library call
# would compute one angle at a time and save registers; here a vector holds several angles.
#
# Angles beyond LIMIT are handled in two ways. `sine_cosine_function` calls the library's functions for them;
# the other angles of the vector are not affected. Code that llvm/arrangement puts in order has no branches:
# there, larger angles are replaced beforehand by equivalent angles within two turns (above).

_SINE = (
    -1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04,
    2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10,
)  # fmt: skip
_COSINE = (
    4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05,
    -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11,
)  # fmt: skip
# Coefficients for products with w = −z/2. `_kernels` subtracts a correction from r instead of adding one, so
# that sin(−0) is −0.
SINE = tuple(2 * c for c in _SINE)
COSINE = tuple(4 * c for c in _COSINE)


def sine_cosine_function(name: str, lanes: int) -> str:
    """Return LLVM code of {sines, cosines} name(angles) on vectors of ``lanes`` doubles."""
    v = Instructions(lanes)
    pair = f"{{ {v.real}, {v.real} }}"
    s, c = v.select_rare(
        within_limit(v, "%x"),
        sine_cosine(v, "%x"),
        lambda: [v.library(f, f"{name}_library_{f}", "%x") for f in ("sin", "cos")],
    )
    half = v.emit(f"insertvalue {pair} undef, {v.real} {s}, 0")
    both = v.emit(f"insertvalue {pair} {half}, {v.real} {c}, 1")
    return v.function(name, ("%x",), pair, both, "alwaysinline")


def sine_cosine(v: Instructions, x: str, third: Operand = PI_OVER_2[2]) -> tuple[str, str]:
    """Emit sin x and cos x: sine and cosine of r, exchanged if n is odd, with signs from n's last two bits.

    ``third``: the third part of π/2.
    """
    return sine_and_cosine(v, *reduce_angle(v, x, third))


def sine_and_cosine(v: Instructions, shifted: str, r: str, e: str) -> tuple[str, str]:
    """Emit sin x and cos x from the results of `reduce_angle`."""
    sine, cosine = _kernels(v, r, e)
    n = v.as_bits(shifted)
    last = v.integer("shl", n, 63)
    sign = v.integer("shl", v.integer("lshr", n, 1), 63)
    odd = v.emit(f"icmp slt {v.bits} {last}, {v.types.whole(0)}")
    s, c = v.choose(odd, cosine, sine), v.choose(odd, sine, cosine)
    return _flip_sign(v, s, sign), _flip_sign(v, _flip_sign(v, c, sign), last)


# Code of only a sine or only a cosine, for angles that are known to be small, as in the Magic Formula,
# sin(C atan x). An angle is reduced by the nearest nπ for the sine, and by the nearest (n + ½) π for the
# cosine,
#
#     sin(r + nπ) = (−1)ⁿ sin r,     cos(r + (n + ½) π) = −(−1)ⁿ sin r,     sin r = r + r³ P(r²),   |r| ≤ π/2,
#
# so one polynomial is enough, which halves the number of operations; its relative error is below 2⁻⁶¹. r is
# rounded once, so results are within 2.2 ulp; near the function's zeros, within 1e-31.

PI = (3.141592653589793, 1.2246467991473532e-16)  # the remainder is 3e-33
HALF_TURNS = 50.0  # rad, largest angle
HALF_TURN_SINE = (
    -0.16666666666666666, 0.008333333333333207, -0.00019841269841212525, 2.755731921158683e-06,
    -2.505210690686505e-08, 1.6058941165171623e-10, -7.643024567164139e-13, 2.721483440748273e-15,
)  # fmt: skip


def near_sine(v: Instructions, x: str) -> str:
    """Emit sin x within 2.2 ulp for |x| up to HALF_TURNS."""
    shifted = v.fma(x, TWO_OVER_PI / 2, ROUND)
    return _half_turn_sine(v, x, shifted, v.sub(shifted, ROUND))


def near_cosine(v: Instructions, x: str) -> str:
    """Emit cos x within 2.2 ulp for |x| up to HALF_TURNS."""
    shifted = v.add(v.fma(x, TWO_OVER_PI / 2, 0.5), ROUND)  # n + 1, whose last bit gives the sign −(−1)ⁿ
    return _half_turn_sine(v, x, shifted, v.sub(v.sub(shifted, ROUND), 0.5))


def _half_turn_sine(v: Instructions, x: str, shifted: str, turns: str) -> str:
    """Emit (−1)ⁿ sin r with r = x − π turns; n is odd if the last bit of ``shifted`` is set."""
    r = v.fused_product_sum(turns, -PI[1], v.fused_product_sum(turns, -PI[0], x))
    return sine_of_remainder(v, r, shifted)


def sine_of_remainder(v: Instructions, r: str, shifted: str) -> str:
    """Emit (−1)ⁿ sin r for |r| ≤ π/2; n is odd if the last bit of ``shifted`` is set."""
    z = v.mul(r, r)
    sine = v.fma(v.mul(r, z), v.polynomial(z, HALF_TURN_SINE), r)
    return _flip_sign(v, sine, v.integer("shl", v.as_bits(shifted), 63))


# Angles that are bounded by 3.5 rad, such as C atan x with C up to 2.2, are not reduced at all:
#
#     sin x = x + x³ S(x²),     cos x = 1 + x² C(x²)
#
# with minimax polynomials of errors below 2⁻⁵⁸. The longest chain of operations takes about 24 cycles instead
# of 45, and the number of operations falls by a fifth. On x86-64 a vector of eight takes 0.55 times as long,
# and an evaluation of a car 0.95 times. Errors are below 1.5e-15; for sines of small angles this is the
# relative error.

SHORT_ANGLES = 3.5  # rad, largest angle
SHORT_SINE = (
    -0.16666666666666666, 0.008333333333333326, -0.00019841269841268743, 2.7557319223899385e-06,
    -2.505210838141621e-08, 1.6059043718027416e-10, -7.647161422720012e-13, 2.8114272811481126e-15,
    -8.218060484662106e-18, 1.943212413957484e-20, -3.421354503696291e-23,
)  # fmt: skip
SHORT_COSINE = (
    -0.49999999999999994, 0.04166666666666649, -0.001388888888888617, 2.4801587301372897e-05,
    -2.7557319214006924e-07, 2.0876756693325607e-09, -1.147073987098836e-11, 4.7794029706337514e-14,
    -1.5612815870463127e-16, 4.075334713933667e-19, -7.784956134159635e-22,
)  # fmt: skip


def short_sine(v: Instructions, x: str) -> str:
    """Emit sin x within 1.5e-15 for |x| up to SHORT_ANGLES."""
    z = v.mul(x, x)
    return v.fma(v.mul(x, z), v.polynomial(z, SHORT_SINE), x)


def short_cosine(v: Instructions, x: str) -> str:
    """Emit cos x within 1.5e-15 for |x| up to SHORT_ANGLES."""
    z = v.mul(x, x)
    return v.fma(z, v.polynomial(z, SHORT_COSINE), 1.0)


def _kernels(v: Instructions, r: str, e: str) -> tuple[str, str]:
    """Emit the sine and cosine of r − e."""
    w = v.fused_product_sum(v.mul(r, -0.5), r, v.mul(r, e))
    z = v.mul(r, r)
    square = v.mul(z, z)
    bend = v.fma(v.mul(w, r), v.polynomial(z, SINE, square), e)
    rest = v.fma(w, v.polynomial(z, COSINE, square), 1.0)
    return v.sub(r, bend), v.fused_product_sum(w, rest, 1.0)


def _flip_sign(v: Instructions, value: str, sign: str) -> str:
    """Emit the value with its sign changed if the top bit of ``sign`` is set."""
    return v.as_reals(v.integer("xor", v.as_bits(value), sign))
