"""The sine and cosine of generated code: within 1 ulp, for any angle and in any company."""

from __future__ import annotations

import ctypes
import math
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.llvm.jit import Compiled
from armillary.llvm.sections import for_this_machine, llvm_text, process_text
from armillary.llvm.sines import LIMIT, PI_OVER_2, sine_cosine_function
from armillary.stages.model import Model
from armillary.verification.rows import largest
from tests.llvm.exact_sines import error_in_ulps, sine_and_cosine

pytestmark = pytest.mark.optimised

_REALS = ctypes.POINTER(ctypes.c_double)


class Sines:
    """sin and cos of many angles by the generated code, so many at a time."""

    def __init__(self, lanes: int) -> None:
        vector = f"<{lanes} x double>"
        pair = f"{{ {vector}, {vector} }}"
        text = f"""
declare double @sin(double)
declare double @cos(double)
{sine_cosine_function("both", lanes)}
define void @all(i64 %n, ptr %x, ptr %s, ptr %c) {{
entry:
  br label %more
more:
  %i = phi i64 [ 0, %entry ], [ %next, %more ]
  %px = getelementptr double, ptr %x, i64 %i
  %ps = getelementptr double, ptr %s, i64 %i
  %pc = getelementptr double, ptr %c, i64 %i
  %v = load {vector}, ptr %px, align 8
  %found = call {pair} @both({vector} %v)
  %sines = extractvalue {pair} %found, 0
  %cosines = extractvalue {pair} %found, 1
  store {vector} %sines, ptr %ps, align 8
  store {vector} %cosines, ptr %pc, align 8
  %next = add i64 %i, {lanes}
  %again = icmp ult i64 %next, %n
  br i1 %again, label %more, label %done
done:
  ret void
}}
!0 = !{{!"branch_weights", i32 2000, i32 1}}
"""
        self.lanes = lanes
        self.code = Compiled(text)
        signature = ctypes.CFUNCTYPE(None, ctypes.c_int64, _REALS, _REALS, _REALS)
        self.function = signature(self.code.address("all"))

    def __call__(self, angles: Any) -> tuple[np.ndarray, np.ndarray]:
        x = np.resize(np.asarray(angles, dtype=float), -(-len(angles) // self.lanes) * self.lanes)
        s, c = np.empty_like(x), np.empty_like(x)
        self.function(len(x), *(a.ctypes.data_as(_REALS) for a in (x, s, c)))
        return s[: len(angles)], c[: len(angles)]


@cache
def sines(lanes: int = 4) -> Sines:
    return Sines(lanes)


def near_quarter_turns(rng: np.random.Generator, count: int) -> np.ndarray:
    """Doubles beside multiples of π/2, where all leading digits cancel."""
    n = rng.integers(-509_000, 509_000, count)
    beside = n * (math.pi / 2)
    return np.where(rng.random(count) < 0.5, np.nextafter(beside, np.inf), beside)


def odd_eighths(rng: np.random.Generator, count: int) -> np.ndarray:
    """Odd multiples of π/4, where the nearest quarter turn changes."""
    return (2 * rng.integers(-250_000, 250_000, count) + 1) * (math.pi / 4)


def scattered(rng: np.random.Generator, low: float, high: float, count: int) -> np.ndarray:
    """Numbers of either sign whose sizes lie between two powers of ten."""
    return rng.choice([-1, 1], count) * 10.0 ** rng.uniform(low, high, count)


REGIONS: dict[str, Any] = {
    "small": lambda rng, n: rng.uniform(-1, 1, n),
    "a turn": lambda rng, n: rng.uniform(-7, 7, n),
    "up to the limit": lambda rng, n: rng.uniform(-LIMIT, LIMIT, n),
    "beside quarter turns": near_quarter_turns,
    "near quarter turns": lambda rng, n: near_quarter_turns(rng, n) + scattered(rng, -15, -2, n),
    "between octants": lambda rng, n: odd_eighths(rng, n) + scattered(rng, -12, -6, n),
    "tiny": lambda rng, n: scattered(rng, -30, -3, n),
}


@pytest.mark.parametrize("region", REGIONS)
def test_error_is_below_one_ulp(region: str) -> None:
    """Against whole-number arithmetic with 190 bits; the largest error found is 0.78 ulp."""
    angles = REGIONS[region](np.random.default_rng(1), 600)
    angles = angles[np.abs(angles) < LIMIT]
    s, c = sines()(angles)
    exact = [sine_and_cosine(float(x)) for x in angles]
    assert largest([error_in_ulps(found, e[0]) for found, e in zip(s.tolist(), exact, strict=True)]) < 1.0
    assert largest([error_in_ulps(found, e[1]) for found, e in zip(c.tolist(), exact, strict=True)]) < 1.0


@pytest.mark.parametrize("region", REGIONS)
def test_a_hundred_thousand_angles_agree_with_the_library(region: str) -> None:
    """Both are within 1 ulp of the truth, so they differ by at most one double."""
    angles = REGIONS[region](np.random.default_rng(2), 100_000)
    s, c = sines()(angles)
    for found, expected in ((s, [math.sin(x) for x in angles]), (c, [math.cos(x) for x in angles])):
        difference = np.abs(found - expected)
        assert np.all(difference <= 1.5 * np.spacing(np.abs(expected)))


@pytest.mark.parametrize("x", [1e6, -1e9, 1e22, 5e300, 8.0e5, -8.0e5, np.nextafter(8.0e5, np.inf)])
def test_large_angles_are_those_of_the_library(x: float) -> None:
    s, c = sines()([x])
    assert (s[0], c[0]) == (math.sin(x), math.cos(x))


def test_infinity_and_nan_give_nan() -> None:
    for x in (math.inf, -math.inf, math.nan):
        s, c = sines()([x])
        assert np.isnan(s[0]) and np.isnan(c[0])


def test_zero_and_the_smallest_numbers() -> None:
    s, c = sines()([0.0, -0.0, 5e-324, -2.2e-308])
    assert s.tolist() == [0.0, 0.0, 5e-324, -2.2e-308] and c.tolist() == [1.0] * 4


@pytest.mark.parametrize("lanes", [1, 2, 4, 8])
def test_vectors_of_any_length_agree_with_each_other(lanes: int) -> None:
    angles = np.random.default_rng(3).uniform(-LIMIT, LIMIT, 800)
    assert np.array_equal(sines(lanes)(angles), sines(4)(angles))


def test_parts_of_half_pi_add_up_to_it() -> None:
    """The first has 53 bits and the second 33, so that n times the second is exact below 2²⁰."""
    assert PI_OVER_2[0] == math.pi / 2
    second = math.frexp(PI_OVER_2[1])[0] * 2**33
    assert second == int(second)
    exact = sine_and_cosine(math.pi / 2)[1]  # cos(π/2 − d) = sin d = d up to d³
    assert error_in_ulps(PI_OVER_2[1] + PI_OVER_2[2], exact) < 1.0
    left = float(exact - Fraction(PI_OVER_2[1]))
    assert PI_OVER_2[2] == pytest.approx(left, rel=1e-15)


# ---------------------------------------------------------------- groups of angles in a model


@cache
def fan(count: int) -> Model:
    """So many angles, with sine and cosine of each as outputs, of some only one."""
    s = arm.System("fan")
    for i in range(count):
        body = s.body(f"B{i}", joint=arm.Revolute("z"), mass=1, inertia=(1, 1, 1))
        s.output(f"sin{i}", arm.sin(body.q1))
        if i != 2:
            s.output(f"cos{i}", arm.cos(body.q1))
    return s.derive().compile()


@pytest.mark.parametrize("count", range(1, 10))
def test_groups_of_one_to_nine_angles(count: int) -> None:
    rng = np.random.default_rng(count)
    for _ in range(20):
        angles = rng.uniform(-100, 100, count)
        found = fan(count).outputs(0.0, np.concatenate([angles, np.zeros(count)]))
        for i, x in enumerate(angles):
            assert abs(found[f"sin{i}"] - math.sin(x)) <= 1.5 * np.spacing(abs(math.sin(x)))
            if i != 2:
                assert abs(found[f"cos{i}"] - math.cos(x)) <= 1.5 * np.spacing(abs(math.cos(x)))


@pytest.mark.parametrize("strange", [1e9, math.inf, math.nan])
@pytest.mark.parametrize("count", [1, 3, 4, 6, 9])
def test_a_strange_angle_spoils_only_itself(count: int, strange: float) -> None:
    """It sends its group to the library; the others there and in other groups keep their values."""
    for place in {0, count - 1, count // 2}:
        angles = np.linspace(-3, 4, count)
        angles[place] = strange
        found = fan(count).outputs(0.0, np.concatenate([angles, np.zeros(count)]))
        for i, x in enumerate(angles):
            if not math.isfinite(x):
                assert math.isnan(found[f"sin{i}"])
            else:
                assert found[f"sin{i}"] == pytest.approx(math.sin(x), rel=3e-16, abs=1e-300)


@pytest.mark.parametrize("count", [1, 3, 4])
def test_huge_angles_of_a_model_are_right(count: int) -> None:
    """Up to the largest doubles, of either sign; the library's functions are within 1 ulp, as these are."""
    rng = np.random.default_rng(count)
    for _ in range(60):
        angles = scattered(rng, 5.8, 308, count)
        found = fan(count).outputs(0.0, np.concatenate([angles, np.zeros(count)]))
        for i, x in enumerate(angles):
            assert abs(found[f"sin{i}"] - math.sin(x)) <= 1.5 * np.spacing(abs(math.sin(x)))
            if i != 2:
                assert abs(found[f"cos{i}"] - math.cos(x)) <= 1.5 * np.spacing(abs(math.cos(x)))


def test_a_huge_angle_beside_a_quarter_turn() -> None:
    """The double that comes nearest to one (Muller 2016, table 11.1), to 1e-31."""
    x = math.ldexp(6381956970095103, 797)
    found = fan(1).outputs(0.0, [x, 0.0])
    assert found["sin0"] == 1.0
    assert abs(found["cos0"] - -4.68716592425462761112e-19) < 1e-31


@pytest.mark.parametrize("angles", [1, 3])
def test_sines_compiled_once_are_those_of_a_programs_own(
    angles: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Code that is only translated calls sines that the process has compiled: the same bits, far out too."""
    monkeypatch.setenv("ARMILLARY_COMPILE", "quick")
    s = arm.System("links")
    for i in range(angles):
        joint = arm.Revolute("y")
        s.body(
            f"b{i}", s.bodies[f"b{i - 1}"] if i else s.ground, joint=joint, mass=1, com=(0, 0, 1), inertia=0
        )
    s.gravity(9.81, s.ground.x)
    program = s.derive("kane").program
    shared, own = process_text(program), llvm_text(for_this_machine(program))
    assert "define internal" not in shared and "define internal" in own
    found = []
    for text in (shared, own):
        code = Compiled(text)
        kind = ctypes.CFUNCTYPE(None, ctypes.c_double, *[ctypes.c_void_p] * 4)
        derivatives, out, rates = kind(code.address("derivatives")), np.empty(2 * angles), []
        constants = np.zeros(len(program.constants))
        for angle in (0.0, -0.0, 0.3, -2.0, 700.0, 1e9):
            state = np.concatenate([angle + np.arange(angles), np.ones(angles)])
            derivatives(0.0, *(a.ctypes.data for a in (state, constants, constants, out)))
            rates.append(out.copy())
        found.append(np.array(rates))
    assert np.all(np.isfinite(found[0])) and found[0][3, angles] != 0.0
    assert np.array_equal(*found)
