"""Memory of compilations: what LLVM makes on the way is freed, also what llvmlite 0.50 forgets."""

from __future__ import annotations

import ctypes
import gc
import platform

import pytest

from armillary.llvm import jit

# The fields of glibc's mallinfo2 (malloc/malloc.h), of which two are requested below.
FIELDS = (
    "arena",
    "ordblks",
    "smblks",
    "hblks",
    "hblkhd",
    "usmblks",
    "fsmblks",
    "uordblks",
    "fordblks",
    "keepcost",
)
LEFT_BEHIND = 1024  # bytes per compilation; without the care that `jit` takes 50,000


class MallInfo(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in FIELDS]


@pytest.fixture
def allocated():
    """Bytes that malloc has given out and not got back."""
    try:
        mallinfo = ctypes.CDLL(None).mallinfo2
    except AttributeError:
        pytest.skip("this C library has no mallinfo2")
    mallinfo.restype = MallInfo

    def measure() -> int:
        gc.collect()
        info = mallinfo()
        return info.uordblks + info.hblkhd

    return measure


def product(seed: int, factors: int = 60) -> str:
    """LLVM text of a function with constants that no other seed has."""
    lines = [f"  %x{k + 1} = fmul double %x{k}, {1.0 + seed + k / 64:.17e}" for k in range(factors)]
    return "\n".join(["define double @f(double %x0) {", *lines, f"  ret double %x{factors}", "}"])


@pytest.mark.parametrize(
    "compiled",
    [
        lambda text: jit.Compiled(text),
        lambda text: jit.engine("", lambda: [text, "declare double @f(double)"], 3, jit.Passes(3)),
    ],
    ids=["programs", "linked loops"],
)
def test_a_compilation_leaves_less_than_a_kilobyte_behind(compiled, allocated, monkeypatch):
    monkeypatch.setenv("ARMILLARY_CACHE", "off")
    for seed in range(10):
        compiled(product(seed))
    before, count = allocated(), 30
    for seed in range(10, 10 + count):
        compiled(product(seed))
    assert (allocated() - before) / count < LEFT_BEHIND


def test_features_of_the_processor_can_be_taken_away(monkeypatch):
    """So that one machine shows the numbers of another: here x·y + z with one rounding, and with two."""
    text = (
        "define double @f(double %x, double %y, double %z) {\n"
        "  %p = fmul contract double %x, %y\n  %s = fadd contract double %p, %z\n  ret double %s\n}"
    )
    x = 1.0 + 2.0**-30
    kind = ctypes.CFUNCTYPE(ctypes.c_double, *[ctypes.c_double] * 3)
    always = platform.machine().lower() in ("aarch64", "arm64")  # no processor of these lacks it
    optional = jit.features().get("fma", False)
    held = jit.Compiled(text)
    assert kind(held.address("f"))(x, x, -1.0) == 2.0**-29 + (2.0**-60 if always or optional else 0.0)
    monkeypatch.setenv("ARMILLARY_CPU", "-fma, -fma4, -avx512f")
    assert not jit.features().get("fma", False)
    held = jit.Compiled(text)
    assert kind(held.address("f"))(x, x, -1.0) == 2.0**-29
