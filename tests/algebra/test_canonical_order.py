"""The order of terms is the same whatever the last bits of coefficients are, and one for equal terms."""

import itertools
from weakref import ref

import pytest

import armillary as arm
from armillary.algebra.expression import number, scale, symbol
from armillary.algebra.node import settle
from armillary.algebra.units import LENGTH, ONE

NAMES = [symbol(f"x{i}") for i in range(12)]
x, y, z = NAMES[:3]


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
    a, b = arm.sin(x * y / 3), arm.sin(x * y * (1 / 3) * (1 + 1e-13))
    assert a is not b
    assert a + 2 * b is 2 * b + a
    assert a.rough == b.rough
    assert a.order != b.order


@pytest.mark.parametrize(
    "made", [lambda: x, lambda: x * y, lambda: 0.6 * x, lambda: arm.sin(x) ** 2 * y, lambda: x + y]
)
def test_an_opposite_is_one_node_however_it_is_made(made):
    value = made()
    other = -value
    assert other is not value and -other is value
    assert (-1 * value, value * -1, 0 * x - value, scale(scale(value, 2), -0.5)) == (other,) * 4
    assert z * other is -(z * value) and other * other is value * value


def test_an_opposite_has_the_place_of_a_product_and_the_rest_of_its_value():
    a = symbol("a", "parameter", dimension=LENGTH, smallness=1)
    for value in (a, a * x, number(0.1, None) * a, 0.123456789012 * a):
        other = settle(-value)
        factors = value.args if value.kind == "product" else (value,)
        size, exponents = value.data if value.kind == "product" else (1, (1,))
        assert (other.args, other.data) == (factors, (-size, exponents))
        assert other.rough == hash((22, *(f.rough for f in factors), (float(f"{-size:.9g}"), exponents)))
        assert other.digest == hash((22, *(f.digest for f in factors), (-size, exponents)))
        assert other.order == (22, "~", other.rough, other.digest)
        for name in ("constant", "dimension", "smallness", "squares", "traits"):
            assert getattr(other, name) == getattr(value, name)
        assert other.unit is (value.unit if value.kind == "product" else ONE)


def test_an_opposite_is_freed_with_its_last_user():
    kept = symbol("kept") * y
    first = ref(-kept)
    assert first() is None and -kept is -kept
    other = -(symbol("not kept") * y)
    value = ref(-other)
    assert value() is not None
    del other
    assert value() is None


def test_functions_and_roots_of_opposites_have_orders_of_their_own():
    """An opposite gets its digest where something is made of it."""
    u, v = -symbol("u"), -symbol("v")
    for a, b in ((arm.exp(u * y), arm.exp(v * y)), (u**0.5, v**0.5), (arm.max(u, y), arm.max(v, y))):
        assert a.digest != b.digest and a.order != b.order
