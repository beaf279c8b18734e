"""Angles beyond the limit of the vector sines, replaced by equal ones: the way of Payne and Hanek (1983).

An angle x = m·2ᴱ, with a whole m below 2⁵³, is x/2π turns. Of 1/2π only the bits from 2⁻ᴱ on decide where in
its turn the angle is; 192 of them times m leave 128 that are right. The angle within its turn (from 3/8 on,
so that it is at least two of its quarters) is a double x' and a rest e, which goes into the third part of
π/2: sines of x' then take n·third − e from x' for n·third. No operation is added to the usual case.
"""

from __future__ import annotations

from functools import cache

from armillary.llvm.instructions import real
from armillary.llvm.vector_math.quarter_turns import LIMIT, PI_OVER_2, ROUND, TWO_OVER_PI

_WORDS = 21  # of 64 bits: none, then those of 1/2π, up to the largest exponent

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
    """LLVM code of void far_angle(x, ptr angle, ptr third): an angle below LIMIT that sines of x can be taken
    of, with the third part of π/2 for it; and of void far_angles(ptr state, count, ptr places, ptr angles,
    ptr thirds), which does that for some places of a state.
    """
    size = 64 * _WORDS
    turns = (1 << 2 * size) // _two_pi(size) >> 64  # 64 bits of the words are before the point
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
        table=", ".join(f"i64 {_signed(w)}" for w in table),
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
    """2π·2ᵇⁱᵗˢ, by Machin's formula π/4 = 4 arctan 1/5 − arctan 1/239."""
    unit = 1 << bits + 64
    return 8 * (4 * _arctangent(5, unit) - _arctangent(239, unit)) >> 64


def _arctangent(inverse: int, unit: int) -> int:
    total, power, n = 0, unit // inverse, 0
    while power:
        total += (-power if n % 2 else power) // (2 * n + 1)
        power //= inverse * inverse
        n += 1
    return total


def _signed(word: int) -> int:
    return word - (1 << 64) if word >> 63 else word
