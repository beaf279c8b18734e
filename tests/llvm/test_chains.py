"""Other groupings of products and sums: the same values to rounding, by no more operations, in less time."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any

import pytest

from armillary.llvm.arrangement.arranged_writer import ProductForms, shorten_chains, used_lines
from armillary.llvm.arrangement.arrangement import Line, latency
from armillary.llvm.instructions import ValueTypes

FORMS = ProductForms.of(ValueTypes(1, single=True))
PRODUCT, QUOTIENT = "fmul double $, $", "fdiv double $, $"
FUSED = "call double @llvm.fmuladd.f64(double $, double $, double $)"
Arithmetic = Mapping[str, Callable[..., Any]]
ARITHMETIC: Arithmetic = {
    PRODUCT: lambda a, b: a * b,
    QUOTIENT: lambda a, b: a / b,
    FUSED: lambda a, b, c: a * b + c,
}


def regrouped(lines: Sequence[Line], opposites: dict[str, str], stored: Sequence[str]) -> list[Line]:
    numbers = count(1000)

    def negative(name: str) -> str:
        made = f"%v{next(numbers)}"
        opposites[made] = name
        return made

    return shorten_chains(lines, opposites, stored, FORMS, negative, lambda: f"%v{next(numbers)}")


def values(
    lines: Sequence[Line],
    opposites: dict[str, str],
    given: Mapping[str, Any],
    arithmetic: Arithmetic = ARITHMETIC,
) -> dict[str, Any]:
    found = dict(given)
    for name, form, names in lines:
        operands = [-found[opposites[a]] if a in opposites else found[a] for a in names]
        found[name] = arithmetic[form](*operands)
    return found


def longest(lines: Sequence[Line], opposites: dict[str, str]) -> int:
    ends: dict[str, int] = {}
    for name, form, names in lines:
        ends[name] = latency(form) + max(ends.get(opposites.get(a, a), 0) for a in names)
    return max(ends.values())


def test_elimination_waits_for_reciprocals_and_unknowns_alone() -> None:
    """p₂ = a₂₂ − a₁₂·a₁₂/p₁ in L·D·Lᵀ of three equations, and back: one operation after each of them."""
    opposites = {f"%v{i + 50}": f"%v{i}" for i in range(50)}
    lines: list[
        Line
    ] = []  # %v0 is 1, %v1 … %v3 the diagonal, %v4 and %v5 beside it, %v6 … %v8 the right side
    for k in range(3):
        pivot = f"%v{20 + k}" if k else "%v1"
        if k:
            lines.append((f"%v{10 + k}", PRODUCT, [f"%v{30 + k - 1}", f"%v{3 + k}"]))
            lines.append((pivot, FUSED, [f"%v{60 + k}", f"%v{3 + k}", f"%v{1 + k}"]))
            right = f"%v{5 + k}" if k == 1 else "%v41"
            lines.append((f"%v{40 + k}", FUSED, [f"%v{60 + k}", right, f"%v{6 + k}"]))
        lines.append((f"%v{30 + k}", QUOTIENT, ["%v0", pivot]))
    lines.append(("%v47", PRODUCT, ["%v32", "%v42"]))
    lines.append(("%v45", FUSED, ["%v97", "%v5", "%v41"]))
    lines.append(("%v46", PRODUCT, ["%v31", "%v45"]))
    lines.append(("%v43", FUSED, ["%v96", "%v4", "%v6"]))
    lines.append(("%v44", PRODUCT, ["%v30", "%v43"]))
    stored = ["%v44", "%v46", "%v47"]
    given = dict(zip([f"%v{i}" for i in range(9)], (1, 2, 3, 4, 0.5, 0.7, 1.1, -0.3, 0.9), strict=True))
    before = values(lines, opposites, given)
    new = used_lines(regrouped(lines, opposites, stored), opposites, stored)
    after = values(new, opposites, given)
    x, y, z = (after[name] for name in stored)
    for a, b in ((2 * x + 0.5 * y, 1.1), (0.5 * x + 3 * y + 0.7 * z, -0.3), (0.7 * y + 4 * z, 0.9)):
        assert a == pytest.approx(b, abs=1e-15)
    assert [after[name] for name in stored] == pytest.approx([before[name] for name in stored], rel=1e-15)
    assert len(new) <= len(used_lines(lines, opposites, stored))
    assert longest(new, opposites) <= longest(lines, opposites) - 2 * latency(PRODUCT)


def test_random_lines_keep_their_values() -> None:
    """Of whole numbers modulo a prime, so without rounding; with opposites and squares. Operations are no
    more, and the longest chain is no longer.
    """
    prime = 2**61 - 1
    modular = {
        PRODUCT: lambda a, b: a * b % prime,
        QUOTIENT: lambda a, b: a * pow(b, prime - 2, prime) % prime,
        FUSED: lambda a, b, c: (a * b + c) % prime,
    }
    changed = 0
    for seed in range(40):
        chance = random.Random(seed)
        opposites = {f"%v{i + 300}": f"%v{i}" for i in range(300)}
        lines: list[Line] = []
        for i in range(10, 60):
            form = chance.choice((PRODUCT, PRODUCT, FUSED, FUSED, QUOTIENT))
            places = [i - 1, *[chance.choice((i - 2, *range(10))) for _ in form.split("$")[2:]]]
            chance.shuffle(places)
            lines.append((f"%v{i}", form, [f"%v{place + 300 * chance.randrange(2)}" for place in places]))
        given = {f"%v{i}": chance.randrange(1, prime) for i in range(10)}
        stored = [f"%v{i}" for i in (30, 345, 58, 59)]
        new = regrouped(lines, opposites, stored)
        before, after = (values(each, opposites, given, modular) for each in (lines, new))
        assert [after[opposites.get(a, a)] for a in stored] == [before[opposites.get(a, a)] for a in stored]
        old, kept = (used_lines(each, opposites, stored) for each in (lines, new))
        assert len(kept) <= len(old) and longest(kept, opposites) <= longest(old, opposites)
        changed += longest(kept, opposites) < longest(old, opposites)
    assert changed > 10
