"""Lookup tables on vectors: exactly the values of the scalar code, at any point and break."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from armillary.algebra.tables import Piecewise
from armillary.llvm.called_functions import FEW, lookup_function
from tests.llvm.vector_runner import Runner

pytestmark = pytest.mark.optimised

OUTSIDE = ("clamp", "extend", "zero")


def table(counts: tuple[int, ...], degrees: tuple[int, ...], outside: tuple[str, ...]) -> Piecewise:
    """A table of random breaks and coefficients."""
    rng = np.random.default_rng(sum(counts))
    breaks = [np.sort(rng.uniform(-3, 3, n + 1)) for n in counts]
    coefficients = rng.normal(size=(*counts, *degrees))
    return Piecewise("f", breaks, coefficients, outside, [None] * len(counts), None)


def points(breaks: np.ndarray) -> np.ndarray:
    """Inside and outside, breaks and their neighbours, and what is not a number."""
    beside = [breaks, np.nextafter(breaks, math.inf), np.nextafter(breaks, -math.inf)]
    strange = [0.0, -0.0, math.inf, -math.inf, math.nan]
    return np.concatenate([*beside, np.linspace(-4, 4, 101), strange])


def both(made: Piecewise, lanes: int) -> tuple[Any, Any]:
    """The scalar code lane by lane, which a vector of one calls, and the code on vectors."""
    passed = ", ".join(f"double %s{k}" for k in range(made.arity))
    taken = ", ".join(f"<1 x double> %x{k}" for k in range(made.arity))
    parts = "".join(f"  %s{k} = extractelement <1 x double> %x{k}, i64 0\n" for k in range(made.arity))
    wrapped = f"""{lookup_function("scalar", made)}
define internal <1 x double> @wrapped({taken}) {{
{parts}  %y = call double @scalar({passed})
  %r = insertelement <1 x double> undef, double %y, i64 0
  ret <1 x double> %r
}}"""
    scalar = Runner("wrapped", wrapped, 1, made.arity)
    return scalar, Runner("table", lookup_function("table", made, lanes), lanes, made.arity)


@pytest.mark.parametrize("count", [1, 2, 3, 7, FEW - 1, FEW, 64, 65, 1000])
@pytest.mark.parametrize("outside", OUTSIDE)
def test_tables_of_one_argument(count: int, outside: str) -> None:
    made = table((count,), (1 + count % 4,), (outside,))
    scalar, together = both(made, 8)
    x = points(made.breaks[0])
    expected = scalar(x)
    assert np.array_equal(together(x), expected, equal_nan=True)
    finite = np.isfinite(x)
    np.testing.assert_allclose(expected[finite], made.value(x[finite]), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("lanes", [1, 2, 4, 8, 16])
def test_tables_of_two_arguments_on_vectors_of_any_length(lanes: int) -> None:
    made = table((5, 40), (2, 4), ("clamp", "zero"))
    scalar, together = both(made, lanes)
    rng = np.random.default_rng(lanes)
    x, y = (rng.choice(points(breaks), 500) for breaks in made.breaks)
    assert np.array_equal(together(x, y), scalar(x, y), equal_nan=True)
