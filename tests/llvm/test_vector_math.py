"""Elementary functions on vectors: errors in units of the last place, special values, lengths of vectors."""

from __future__ import annotations

import ctypes
import ctypes.util
import math
from functools import cache
from typing import Any

import numpy as np
import pytest

from armillary.llvm.sines import HALF_TURNS
from armillary.llvm.vector_math import BINARY, UNARY, function
from armillary.verification.rows import largest
from tests.later import later
from tests.llvm.vector_runner import Runner

pytestmark = pytest.mark.optimised

mpmath = later("mpmath")

NAMES = (*UNARY, *BINARY)
BOUND = {name: 1.0 for name in NAMES} | {
    "tan": 1.6,
    "pow": 1.3,
    "atan": 1.5,
}  # what each file claims, or less
FINE = np.finfo(np.longdouble).nmant >= 63  # long double has bits to spare


@cache
def vector(name: str, lanes: int = 8) -> Runner:
    symbol, text = function(name, lanes)
    return Runner(symbol, text, lanes, 2 if name in BINARY else 1)


def scattered(rng: np.random.Generator, low: float, high: float, count: int) -> np.ndarray:
    """Numbers of either sign whose sizes lie between two powers of two."""
    return rng.choice([-1.0, 1.0], count) * 2.0 ** rng.uniform(low, high, count)


def any_double(rng: np.random.Generator, count: int) -> np.ndarray:
    """Doubles of any bits but those of NaN."""
    found = rng.integers(0, 2**64, count, dtype=np.uint64).view(float)
    return np.where(np.isnan(found), 1.0, found)


def near_quarter_turns(rng: np.random.Generator, count: int) -> np.ndarray:
    return rng.integers(-509_000, 509_000, count) * (math.pi / 2)


# Where the functions are hard: beside their zeros, where a reduction changes its branch, at the ends.
REGIONS: dict[str, dict[str, Any]] = {
    "exp": {
        "all results": lambda r, n: (r.uniform(-745.2, 709.8, n),),
        "small": lambda r, n: (scattered(r, -60, 1, n),),
        "below the normal numbers": lambda r, n: (r.uniform(-746, -707, n),),
        "any": lambda r, n: (any_double(r, n),),
    },
    "log": {
        "any": lambda r, n: (np.abs(any_double(r, n)),),
        "beside 1": lambda r, n: (1 + scattered(r, -52, -3, n),),
        "beside √2": lambda r, n: (r.uniform(1.39, 1.42, n),),
        "beside √½": lambda r, n: (r.uniform(0.7, 0.72, n),),
        "below the normal numbers": lambda r, n: (2.0 ** r.uniform(-1074, -1020, n),),
    },
    "atan": {
        "any": lambda r, n: (any_double(r, n),),
        "middle": lambda r, n: (scattered(r, -3, 3, n),),
        "beside ½": lambda r, n: (r.uniform(0.45, 0.52, n),),
        "beside 2": lambda r, n: (r.uniform(1.9, 2.1, n),),
    },
    "atan2": {
        "any": lambda r, n: (any_double(r, n), any_double(r, n)),
        "middle": lambda r, n: (scattered(r, -3, 3, n), scattered(r, -3, 3, n)),
        "huge": lambda r, n: (scattered(r, 1020, 1024, n), scattered(r, 1020, 1024, n)),
        "tiny": lambda r, n: (scattered(r, -1074, -1020, n), scattered(r, -1074, -1020, n)),
        "tiny and not": lambda r, n: (scattered(r, -1074, -1020, n), scattered(r, -10, 10, n)),
        "tiny results": lambda r, n: (scattered(r, -550, -500, n), scattered(r, 480, 560, n)),
    },
    "asin": {
        "all": lambda r, n: (r.uniform(-1, 1, n),),
        "small": lambda r, n: (scattered(r, -1074, 0, n),),
        "beside ½": lambda r, n: (r.uniform(0.49, 0.53, n),),
        "beside 1": lambda r, n: (1 - 2.0 ** r.uniform(-53, -1, n),),
        "beside −1": lambda r, n: (-1 + 2.0 ** r.uniform(-53, -1, n),),
    },
    "acos": {
        "all": lambda r, n: (r.uniform(-1, 1, n),),
        "small": lambda r, n: (scattered(r, -1074, 0, n),),
        "beside ½": lambda r, n: (r.uniform(0.49, 0.53, n),),
        "beside 1": lambda r, n: (1 - 2.0 ** r.uniform(-53, -1, n),),
        "beside −1": lambda r, n: (-1 + 2.0 ** r.uniform(-53, -1, n),),
    },
    "tan": {
        "up to the limit": lambda r, n: (r.uniform(-8e5, 8e5, n),),
        "half a turn": lambda r, n: (r.uniform(-1.6, 1.6, n),),
        "small": lambda r, n: (scattered(r, -1074, 0, n),),
        "beside quarter turns": lambda r, n: (near_quarter_turns(r, n),),
        "beside eighths": lambda r, n: (near_quarter_turns(r, n) + math.pi / 4 + scattered(r, -30, -5, n),),
    },
    "tanh": {
        "any": lambda r, n: (any_double(r, n),),
        "middle": lambda r, n: (scattered(r, -6, 4.6, n),),
        "small": lambda r, n: (scattered(r, -1074, -5, n),),
        "where the exponent changes": lambda r, n: (0.25 * math.log(2) * (1 + scattered(r, -40, -3, n)),),
    },
    "pow": {
        "any": lambda r, n: (np.abs(any_double(r, n)), any_double(r, n)),
        "all results": lambda r, n: (2.0 ** r.uniform(-1074, 1024, n), scattered(r, -11, 1, n)),
        "beside 1": lambda r, n: (1 + scattered(r, -50, -3, n), scattered(r, 0, 58, n)),
        "beside √½": lambda r, n: (r.uniform(0.69, 0.72, n), r.uniform(-2100, 2100, n)),
        "beside √2": lambda r, n: (r.uniform(1.40, 1.43, n), r.uniform(-2100, 2100, n)),
        "whole powers": lambda r, n: (scattered(r, -3, 8, n), r.integers(-100, 100, n).astype(float)),
        "below the normal numbers": lambda r, n: (2.0 ** r.uniform(-1074, -1022, n), r.uniform(0.9, 1.1, n)),
    },
}  # fmt: skip
CASES = [(name, region) for name in NAMES for region in REGIONS[name]]

LONG = {
    "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "exp": np.exp, "log": np.log,
    "atan2": np.arctan2, "pow": np.power, "tanh": np.tanh,
}  # fmt: skip


@pytest.mark.parametrize(("name", "region"), CASES)
def test_error_against_arithmetic_of_fifty_digits(name: str, region: str) -> None:
    arguments = REGIONS[name][region](np.random.default_rng(1), 400)
    found = vector(name)(*arguments)
    exact = getattr(mpmath, "power" if name == "pow" else name)
    with mpmath.workdps(50):
        errors = [
            _ulps(y, exact(*(mpmath.mpf(float(v)) for v in x)))
            for *x, y in zip(*arguments, found, strict=True)
            if _is_tame(name, *x)
        ]
    assert len(errors) > 100 and largest(errors) < BOUND[name]


@pytest.mark.parametrize("name", ["near_sin", "near_cos"])
def test_sines_of_angles_up_to_fifty_are_within_their_bounds(name: str) -> None:
    """2.2 ulp; beside zeros 1e-31. `test_error_against…` has the functions for all angles."""
    rng = np.random.default_rng(3)
    quarters = rng.integers(-31, 32, 200) * (math.pi / 2)
    angles = np.concatenate(
        [rng.uniform(-HALF_TURNS, HALF_TURNS, 400), quarters, quarters + scattered(rng, -50, -3, 200)]
    )
    angles = angles[np.abs(angles) <= HALF_TURNS]
    found = vector(name)(angles)
    with mpmath.workdps(50):
        for x, y in zip(angles, found, strict=True):
            exact = getattr(mpmath, name.removeprefix("near_"))(mpmath.mpf(float(x)))
            assert _ulps(y, exact) < 2.2 or abs(mpmath.mpf(float(y)) - exact) < 1e-31, x


def _is_tame(name: str, *x: float) -> bool:
    """Whether the result fits in a double and mpmath's numbers; what does not is left to special values."""
    if not all(math.isfinite(v) for v in x):
        return False
    exponent = {"exp": lambda: x[0], "pow": lambda: float(x[1]) * math.log(abs(x[0]))}.get(
        name, lambda: 0.0
    )()
    return -745 < exponent < 709.7


def _ulps(found: float, exact: Any) -> float:
    near = abs(float(exact))
    return float(abs(mpmath.mpf(float(found)) - exact) / mpmath.mpf(float(np.spacing(near))))


@pytest.mark.skipif(not FINE, reason="long double is no longer than double here")
@pytest.mark.parametrize(("name", "region"), CASES)
def test_error_of_fifty_thousand_against_long_double(name: str, region: str) -> None:
    arguments = REGIONS[name][region](np.random.default_rng(2), 50_000)
    found = vector(name)(*arguments)
    with np.errstate(all="ignore"):
        exact = LONG[name](*(a.astype(np.longdouble) for a in arguments))
        near = exact.astype(float)
        errors = np.abs(found - exact) / np.spacing(np.abs(near))
    finite = np.isfinite(near)
    assert np.array_equal(found[~finite], near[~finite], equal_nan=True)
    assert np.max(errors[finite]) < BOUND[name]


SPECIAL = [
    0.0, 5e-324, 1e-310, 2.0**-1022, 1e-300, 1e-20, 0.25, 0.5, 1 - 2.0**-53, 1.0, 1 + 2.0**-52, 1.5, 2.0, 3.0,
    1e6 + 1, 2.0**52 + 1, 2.0**53 - 1, 2.0**53, 1e300, 1.7976931348623157e308, math.inf, math.nan,
]  # fmt: skip
SPECIAL += [-x for x in SPECIAL[:-1]]


@pytest.mark.parametrize("name", NAMES)
def test_special_values_are_those_of_c(name: str) -> None:
    """NaN, infinities, zeros and their signs exactly; else to the last places of both."""
    arity = 2 if name in BINARY else 1
    c = getattr(ctypes.CDLL(ctypes.util.find_library("m")), name)
    c.restype, c.argtypes = ctypes.c_double, [ctypes.c_double] * arity
    columns = np.array(np.meshgrid(*[SPECIAL] * arity)).reshape(arity, -1)
    expected = np.array([c(*x) for x in columns.T])
    found = vector(name)(*columns)
    exact = ~np.isfinite(expected) | (expected == 0)
    assert np.array_equal(found[exact], expected[exact], equal_nan=True)
    assert np.array_equal(np.signbit(found[expected == 0]), np.signbit(expected[expected == 0]))
    place = np.spacing(np.nextafter(np.abs(expected[~exact]), 0))
    assert np.max(np.abs(found[~exact] - expected[~exact]) / place) <= 2


def test_exact_values() -> None:
    assert vector("exp")([0.0, -0.0]).tolist() == [1.0, 1.0]
    assert vector("log")([1.0]).tolist() == [0.0]
    assert vector("atan")([math.inf, 1.0]).tolist() == [math.pi / 2, math.pi / 4]
    assert vector("atan2")([0.0, 1.0, -1.0], [-1.0, 0.0, -1.0]).tolist() == [
        math.pi, math.pi / 2, -3 * math.pi / 4,
    ]  # fmt: skip
    assert vector("acos")([1.0, 0.0, -1.0]).tolist() == [0.0, math.pi / 2, math.pi]
    whole = np.arange(-8.0, 9.0)
    assert vector("pow")(whole, np.full(17, 3.0)).tolist() == (whole**3).tolist()
    assert vector("pow")(np.full(2000, 2.0), np.arange(-1074.0, 926.0)).tolist() == [
        math.ldexp(1, k) for k in range(-1074, 926)
    ]


@pytest.mark.parametrize("name", NAMES)
def test_vectors_of_any_length_agree_with_each_other(name: str) -> None:
    region = next(iter(REGIONS[name]))
    arguments = REGIONS[name][region](np.random.default_rng(3), 320)
    expected = vector(name)(*arguments)
    for lanes in (1, 2, 4, 16):
        assert np.array_equal(vector(name, lanes)(*arguments), expected, equal_nan=True), lanes


@pytest.mark.parametrize("strange", [1e9, 5e300, math.inf, math.nan])
def test_a_large_angle_spoils_only_itself(strange: float) -> None:
    """It is the library's; the others keep their tangents to the last bit."""
    angles = np.linspace(-3, 4, 8)
    expected = vector("tan")(angles)
    angles[5] = strange
    expected[5] = math.tan(strange) if math.isfinite(strange) else math.nan
    assert np.array_equal(vector("tan")(angles), expected, equal_nan=True)
