"""The order of terms is the same whatever the last bits of coefficients are, and one for equal terms."""

import itertools

import armillary as arm
from armillary.algebra.expression import symbol

NAMES = [symbol(f"x{i}") for i in range(12)]


def _waves(relative):
    """sin(cᵢ xᵢ xᵢ₊₁ + cᵢ₊₃ …), whose order depends on the digests of their arguments alone."""
    pairs = itertools.pairwise(NAMES)
    inner = [(0.1 * (i + 1) / 0.7) * (1 + relative) * a * b for i, (a, b) in enumerate(pairs)]
    return [arm.sin(a + b) for a, b in zip(inner, inner[3:], strict=False)]


def _order(relative):
    waves = _waves(relative)
    total = sum(waves, arm.cos(NAMES[0]))
    return [waves.index(a) if a in waves else -1 for a in total.args]


def test_last_bits_of_coefficients_do_not_order_terms():
    assert _order(0.0) == _order(4e-16) == _order(-7e-16) == _order(3e-13)
    assert _order(0.0) != _order(0.25)  # the coefficients themselves do


def test_terms_that_agree_to_nine_digits_have_one_order():
    x, y = NAMES[:2]
    a, b = arm.sin(x * y / 3), arm.sin(x * y * (1 / 3) * (1 + 1e-13))
    assert a is not b
    assert a + 2 * b is 2 * b + a
    assert a.rough == b.rough
    assert a.order != b.order
