"""Foreign functions, called by address through ctypes."""

from __future__ import annotations

import ctypes
import math
from types import SimpleNamespace

import numpy as np
import pytest

from armillary.algebra.block_functions import ForeignFunction
from armillary.algebra.calculus import derivative, evaluate
from armillary.algebra.expression import symbol
from armillary.errors import ExpressionError

SIGNATURE = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)
SIGNATURE_2 = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_double)
cube = SIGNATURE(lambda x: x**3)
three_squares = SIGNATURE(lambda x: 3 * x**2)
hypotenuse = SIGNATURE_2(math.hypot)


def test_values_at_numbers_and_arrays():
    f = ForeignFunction("hypotenuse", hypotenuse, 2)
    assert f(3.0, 4.0) == 5.0
    np.testing.assert_array_equal(f.value([3.0, 6.0], [4.0, 8.0]), [5.0, 10.0])
    assert evaluate(2 * f(symbol("x"), symbol("y")), {"x": 3, "y": 4}) == 10


def test_derivatives_are_those_given():
    f = ForeignFunction("cube", cube, 1, [ForeignFunction("slope", three_squares, 1)])
    x = symbol("x")
    slope = derivative(f(x**2), x)
    assert str(slope) == "2*x*slope(x^2)"
    assert evaluate(slope, {"x": 2.0}) == 2 * 2 * 3 * 16
    g = ForeignFunction("cube", cube, 1, [lambda x: 3 * x**2])
    assert str(derivative(g(x), x)) == "3*x^2"


def test_without_derivatives_the_error_says_so():
    x = symbol("x")
    with pytest.raises(ExpressionError, match="'cube' cannot be differentiated"):
        derivative(ForeignFunction("cube", cube, 1)(x), x)


def test_addresses_come_from_integers_ctypes_and_numba():
    address = ctypes.cast(cube, ctypes.c_void_p).value
    x = symbol("x")
    by_number, by_ctypes = ForeignFunction("cube", address, 1), ForeignFunction("cube", cube, 1)
    like_numba = ForeignFunction("cube", SimpleNamespace(address=address), 1)
    assert by_number == by_ctypes == like_numba
    assert by_number(x) is by_ctypes(x) is like_numba(x)
    assert like_numba(2.0) == 8


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ForeignFunction("f", 0, 1), "null address"),
        (lambda: ForeignFunction("f", "cos", 1), "has no address"),
        (lambda: ForeignFunction("f", cube, 0), "at least one argument"),
        (lambda: ForeignFunction("f", cube, 1, []), "0 partials"),
        (lambda: ForeignFunction("f", cube, 1)(1.0, 2.0), "takes 1 argument"),
    ],
)
def test_bad_use_is_named(make, message):
    with pytest.raises(ExpressionError, match=message):
        make()
