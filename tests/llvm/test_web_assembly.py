"""WebAssembly made in this process: elementary functions against 40 digits, and what the linker refers to."""

from __future__ import annotations

import math

import numpy as np
import pytest

from armillary.llvm.web_assembly import STACK, Reader, signed_bytes, web_assembly, whole
from tests.export.wasm_host import instance
from tests.later import later

mpmath = later("mpmath")

UNARY = ("sin", "cos", "tan", "asin", "acos", "atan", "exp", "log", "tanh")
_FUSED = """\
declare double @llvm.fma.f64(double, double, double)
define double @product_less(double %a, double %b, double %c) {
  %r = call double @llvm.fma.f64(double %a, double %b, double %c)
  ret double %r
}
"""
_TABLE = """\
@table = internal constant [3 x double] [double 2.0, double 3.0, double 5.0]
@places = internal constant [2 x ptr] [ptr @table, ptr getelementptr (double, ptr @table, i32 2)]
define double @entry(i32 %k, i32 %i) {
  %at = getelementptr ptr, ptr @places, i32 %k
  %from = load ptr, ptr %at
  %room = alloca [64 x double]
  %r = getelementptr double, ptr %from, i32 %i
  %x = load double, ptr %r
  %mine = getelementptr double, ptr %room, i32 %i
  store volatile double %x, ptr %mine
  %y = load volatile double, ptr %mine
  ret double %y
}
define double @remainder(double %a, double %b) {
  %r = frem double %a, %b
  ret double %r
}
"""


@pytest.fixture(scope="module")
def functions():
    """The functions of a module by name."""
    declared = [f"declare double @{f}(double)" for f in UNARY]
    declared += [f"declare double @{f}(double, double)" for f in ("atan2", "pow")]
    made = web_assembly(
        ["\n".join([*declared, _FUSED, _TABLE])],
        [*UNARY, "atan2", "pow", "product_less", "entry", "remainder"],
        room=100,
    )
    assert sorted(made.imports) == ["Math.cos", "Math.fmod", "Math.sin", "Math.tan"]
    assert made.data_end > STACK
    store, found = instance(made.code)
    exported = found.exports(store)

    def called(name):
        return lambda *given: exported[name](store, *given)

    return {name: called(name) for name in [*UNARY, "atan2", "pow", "product_less", "entry", "remainder"]}


def _ulps(found: float, exact: mpmath.mpf) -> float:
    return float(abs(mpmath.mpf(found) - exact)) / math.ulp(float(exact))


@pytest.mark.parametrize("name", [*UNARY, "atan2", "pow"])
def test_elementary_functions_are_right_to_the_last_digits(functions, name: str) -> None:
    random = np.random.default_rng(5)
    sizes = {"asin": 1.0, "acos": 1.0, "exp": 300.0, "sin": 1e4, "cos": 1e4, "tan": 1e4}
    size, errors = sizes.get(name, 20.0), []
    with mpmath.workdps(40):
        for x, y in random.uniform(-size, size, (400, 2)):
            if name in ("log", "pow"):
                x = abs(x)
            given = (float(x), float(y)) if name in ("atan2", "pow") else (float(x),)
            exact = getattr(mpmath, "power" if name == "pow" else name)(*map(mpmath.mpf, given))
            errors.append(_ulps(functions[name](*given), exact))
    assert np.max(errors) < 2.0


@pytest.mark.parametrize(
    ("name", "given"),
    [("atan2", (0.0, -1.0)), ("atan2", (-0.0, -1.0)), ("atan2", (1e-310, 1e-310)),
     ("atan2", (math.inf, -math.inf)), ("atan", (math.inf,)), ("pow", (2.0, -1080.0)), ("pow", (1.0, 1e300)),
     ("pow", (0.0, 1e300)), ("exp", (-1000.0,)), ("tanh", (400.0,)), ("sin", (1e10,)),
     ("remainder", (7.5, 2.0))],
)  # fmt: skip
def test_ends_of_the_ranges_are_those_of_c(functions, name: str, given: tuple[float, ...]) -> None:
    wanted = math.fmod(*given) if name == "remainder" else getattr(math, name)(*given)
    found = functions[name](*given)
    assert found == wanted and math.copysign(1, found) == math.copysign(1, wanted)


@pytest.mark.parametrize("name", [*UNARY, "atan2", "pow"])
def test_functions_of_numbers_of_any_size_are_those_of_c(functions, name: str) -> None:
    """Fused operations would overflow beyond 2⁹⁹⁶: no function passes such arguments on to them."""
    random = np.random.default_rng(7)
    for low, high in ((990, 1024), (-1074, -960), (-1074, 1024)):
        sizes = 2.0 ** random.uniform(low, high, (60, 2)) * random.choice([-1, 1], (60, 2))
        for given in sizes[:, : 2 if name in ("atan2", "pow") else 1].tolist():
            try:
                wanted = getattr(math, name)(*given)
            except ValueError:
                wanted = math.nan
            except OverflowError:
                wanted = math.copysign(math.inf, given[0]) if name == "pow" and given[1] % 2 else math.inf
            assert functions[name](*given) == pytest.approx(wanted, rel=1e-14, nan_ok=True)


def test_a_product_without_its_rounding(functions) -> None:
    with mpmath.workdps(40):
        for a, b in np.random.default_rng(3).normal(size=(200, 2)).tolist():
            exact = mpmath.mpf(a) * mpmath.mpf(b) - mpmath.mpf(a * b)
            assert functions["product_less"](a, b, -a * b) == float(exact)


def test_constants_and_addresses_of_constants_are_found(functions) -> None:
    assert [functions["entry"](0, i) for i in range(3)] == [2.0, 3.0, 5.0]
    assert functions["entry"](1, 0) == 5.0


@pytest.mark.parametrize("value", [0, 1, 63, 64, 127, 128, -1, -64, -65, 624485, -123456, 2**31 - 1])
def test_numbers_of_seven_bits_are_read_as_they_are_written(value: int) -> None:
    assert Reader(signed_bytes(value)).whole(signed=True) == value
    if value >= 0:
        assert Reader(whole(value)).whole() == value
