"""Lookup tables as LLVM functions: bisection on each axis, then Horner's rule.

The layout of breaks and coefficients is that of ``algebra/tables.py``; they become constant arrays beside
the code.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from armillary.llvm.vector_math.vectors import constant_array, real


def lookup_function(name: str, table: Any) -> str:
    """LLVM code of double name(double, …) for a piecewise polynomial of one or two arguments."""
    data = [constant_array(f"{name}_breaks{a}", breaks) for a, breaks in enumerate(table.breaks)]
    data.append(constant_array(f"{name}_coefficients", np.ravel(table.coefficients)))
    parameters = ", ".join(f"double %x{a}" for a in range(table.arity))
    lines: list[str] = []
    for axis in range(table.arity):
        lines += _axis(name, table, axis)
    lines += _horner(name, table)
    body = "\n".join(lines)
    return "\n".join(
        [*data, f"define internal double @{name}({parameters}) noinline nounwind {{\nentry:\n{body}\n}}"]
    )


def _axis(name: str, table: Any, axis: int) -> list[str]:
    """Interval i and distance s from its left break, along one axis; %z{axis} tells whether the value is
    zero there.
    """
    breaks, outside, a = table.breaks[axis], table.outside[axis], axis
    first, last = real(float(breaks[0])), real(float(breaks[-1]))
    n = len(breaks) - 1
    before = "%entry" if axis == 0 else f"%found{axis - 1}"
    lines = []
    if outside == "clamp":
        lines += [
            f"  %below{a} = fcmp olt double %x{a}, {first}",
            f"  %low{a} = select i1 %below{a}, double {first}, double %x{a}",
            f"  %above{a} = fcmp ogt double %low{a}, {last}",
            f"  %c{a} = select i1 %above{a}, double {last}, double %low{a}",
        ]
    else:
        lines.append(f"  %c{a} = fadd double %x{a}, 0.0")
    if outside == "zero":
        lines += [
            f"  %zl{a} = fcmp olt double %x{a}, {first}",
            f"  %zh{a} = fcmp ogt double %x{a}, {last}",
            f"  %z{a} = or i1 %zl{a}, %zh{a}",
        ]
    lines += [
        f"  br label %search{a}",
        f"search{a}:",
        f"  %lo{a} = phi i64 [ 0, {before} ], [ %nlo{a}, %turn{a} ]",
        f"  %hi{a} = phi i64 [ {n}, {before} ], [ %nhi{a}, %turn{a} ]",
        f"  %gap{a} = sub i64 %hi{a}, %lo{a}",
        f"  %more{a} = icmp ugt i64 %gap{a}, 1",
        f"  br i1 %more{a}, label %turn{a}, label %found{a}",
        f"turn{a}:",
        f"  %both{a} = add i64 %lo{a}, %hi{a}",
        f"  %mid{a} = lshr i64 %both{a}, 1",
        f"  %pm{a} = getelementptr inbounds double, ptr @{name}_breaks{a}, i64 %mid{a}",
        f"  %bm{a} = load double, ptr %pm{a}",
        f"  %right{a} = fcmp oge double %c{a}, %bm{a}",
        f"  %nlo{a} = select i1 %right{a}, i64 %mid{a}, i64 %lo{a}",
        f"  %nhi{a} = select i1 %right{a}, i64 %hi{a}, i64 %mid{a}",
        f"  br label %search{a}",
        f"found{a}:",
        f"  %pl{a} = getelementptr inbounds double, ptr @{name}_breaks{a}, i64 %lo{a}",
        f"  %bl{a} = load double, ptr %pl{a}",
        f"  %s{a} = fsub double %c{a}, %bl{a}",
    ]
    return lines


def _horner(name: str, table: Any) -> list[str]:
    """Σ coefficients · powers: along the last axis for each power of the first, then along the first."""
    shape = table.coefficients.shape
    degrees = shape[table.arity :]
    cell = int(np.prod(degrees))
    lines = []
    if table.arity == 1:
        lines.append(f"  %base = mul i64 %lo0, {cell}")
    else:
        lines += [
            f"  %row = mul i64 %lo0, {shape[1]}",
            "  %at = add i64 %row, %lo1",
            f"  %base = mul i64 %at, {cell}",
        ]
    lines.append(f"  %p = getelementptr inbounds double, ptr @{name}_coefficients, i64 %base")
    rows = degrees[0] if table.arity == 2 else 1
    inner = degrees[-1]
    values = []
    for row in range(rows):
        value = None
        for power in reversed(range(inner)):
            k = row * inner + power
            lines += [
                f"  %pc{k} = getelementptr inbounds double, ptr %p, i64 {k}",
                f"  %k{k} = load double, ptr %pc{k}",
            ]
            if value is None:
                value = f"%k{k}"
            else:
                lines += [
                    f"  %m{k} = fmul double {value}, %s{table.arity - 1}",
                    f"  %h{k} = fadd double %m{k}, %k{k}",
                ]
                value = f"%h{k}"
        values.append(value)
    result = values[-1]
    for row in reversed(range(rows - 1)):
        lines += [f"  %o{row} = fmul double {result}, %s0", f"  %q{row} = fadd double %o{row}, {values[row]}"]
        result = f"%q{row}"
    for axis, outside in enumerate(table.outside):
        if degrees[axis] == 1:  # a constant piece would not notice NaN
            lines += [
                f"  %u{axis} = fcmp uno double %x{axis}, 0.0",
                f"  %n{axis} = select i1 %u{axis}, double %x{axis}, double {result}",
            ]
            result = f"%n{axis}"
        if outside == "zero":
            lines.append(f"  %w{axis} = select i1 %z{axis}, double 0.0, double {result}")
            result = f"%w{axis}"
    return [*lines, f"  ret double {result}"]
